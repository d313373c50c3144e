//! Operators' acts on wallets, by the ops and by the real command.

use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::ops::wallets::desk::{DeskRefusal, GivenCredit, credit, statement};
use tillbell::ops::wallets::find::ensure;

use super::world::{PHONE, World};
use crate::cli::Desk;

fn given(naira: i64, reference: Option<&str>) -> GivenCredit<'_> {
    GivenCredit { phone: PHONE, amount: Money(naira * 100), reason: "goodwill", reference }
}

on_both! {
    async fn a_credit_is_posted_once(db: TestDatabase) {
        let w = World::start(db).await;
        let none = credit(&w.t.app, "ada", &given(100, None)).await.unwrap().unwrap_err();
        assert_eq!(none, DeskRefusal::NoWallet);
        ensure(&w.t.app, &w.phone()).await.unwrap();
        let one = given(100, None);
        let (a, b) = tokio::join!(credit(&w.t.app, "ada", &one), credit(&w.t.app, "bo", &one));
        let done = [a.unwrap(), b.unwrap()];
        assert_eq!(done.iter().filter(|result| result.is_ok()).count(), 1, "{done:?}");
        assert!(done.contains(&Err(DeskRefusal::Twice(Money(10_000)))), "{done:?}");
        credit(&w.t.app, "ada", &given(100, Some("R-1"))).await.unwrap().unwrap();
        let again = credit(&w.t.app, "ada", &given(100, Some("R-1"))).await.unwrap().unwrap_err();
        assert_eq!(again, DeskRefusal::ReferenceTaken("R-1".into()));
        w.t.advance(Span::minutes(10));
        credit(&w.t.app, "ada", &given(100, None)).await.unwrap().unwrap();
        let over = credit(&w.t.app, "ada", &given(50_000, None)).await.unwrap().unwrap_err();
        assert!(matches!(over, DeskRefusal::OverTier { tier: 1, .. }), "{over:?}");
        let blank = GivenCredit { reason: " ", ..given(1, None) };
        assert_eq!(credit(&w.t.app, "ada", &blank).await.unwrap().unwrap_err(), DeskRefusal::Reason);
        let statement = statement(&w.t.app, PHONE).await.unwrap().unwrap();
        assert_eq!((statement.wallet.balance, statement.lines.len()), (Money(30_000), 3));
    }

    async fn the_commands_of_a_wallet(db: TestDatabase) {
        let desk = Desk::new(&db);
        assert!(desk.refused(&["wallet", "show", "08035550142"]).contains("no wallet"));
        assert!(desk.refused(&["wallet", "show", "0123"]).contains("Nigerian mobile number"));
        // Wallets are made by the API alone.
        let text = format!("[database]\nurl = {:?}\n[secret]\nkey_file = {:?}\n", db.url(), desk.path().join("test.key"));
        let config = tillbell::config::Config::load(&text, std::iter::empty()).unwrap();
        let app = tillbell::app::App::open(config, &tillbell::store::StoreOptions::command(db.url())).await.unwrap();
        app.prepare().await.unwrap();
        ensure(&app, &tillbell::domain::phone::Phone::parse(PHONE).unwrap()).await.unwrap();
        drop(app);
        let credited = desk.json_text(&["wallet", "credit", "0803 555 0142", "2500.50", "--reason", "goodwill", "--ref", "R-1"]);
        assert!(credited.starts_with(r#"{"wallet_id":1,"phone":"+2348035550142","tier":1,"status":"active""#), "{credited}");
        assert!(credited.contains(r#""balance":2500.50,"balance_limit":50000.00"#), "{credited}");
        assert!(desk.refused(&["wallet", "credit", PHONE, "2500.50", "--reason", "goodwill", "--ref", "R-1"]).contains("R-1"));
        assert!(desk.refused(&["wallet", "credit", PHONE, "2500.50", "--reason", "again"]).contains("--ref"));
        assert_eq!(desk.json(&["wallet", "tier", PHONE, "2"])["tier"], 2);
        assert!(desk.refused(&["wallet", "tier", PHONE, "4"]).contains("1, 2 or 3"));
        assert_eq!(desk.json(&["wallet", "suspend", PHONE, "--reason", "asked for"])["status"], "suspended");
        assert_eq!(desk.json(&["wallet", "resume", PHONE, "--reason", "sorted"])["status"], "active");
        assert_eq!(desk.json(&["wallet", "unlock", PHONE])["status"], "active");
        let shown = desk.json(&["wallet", "show", PHONE]);
        assert_eq!(shown["statement"][0]["kind"], "credit by an operator");
        assert_eq!((&shown["statement"][0]["memo"], &shown["statement"][0]["amount"]), (&"goodwill".into(), &2500.5.into()));
        assert_eq!(shown["statement"][0]["reference"], "R-1");
        assert_eq!(desk.json_text(&["message", "list"]), r#"{"messages":[],"more":false}"#);
        assert_eq!(desk.json(&["audit"])["ok"], true);
    }
}
