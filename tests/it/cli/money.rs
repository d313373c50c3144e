//! From a mail file to an approved payment and back, by commands alone.

use tillbell::domain::money::Money;
use tillbell::domain::payment::PayerDetails;
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};

use super::terminal::typed_on_terminal;
use super::{Desk, fields};
use crate::harness::mails::Alert;

/// One business with website, key and account, all made by commands; answers the key.
pub(super) fn furnish(desk: &Desk<'_>) -> String {
    let business = desk.business("Ijo Fabrics");
    desk.json(&["website", "add", &business, "ijo.example", "--approve"]);
    desk.account("0123456781");
    desk.json(&["key", "add", &business])["key"].as_str().unwrap().to_owned()
}

/// A payment as the API makes it, at this moment.
pub(super) async fn pay(desk: &Desk<'_>, key: &str, naira: i64, payer: &str) -> String {
    let app = desk.app().await;
    let caller = app.directory.caller(key).await.unwrap().unwrap();
    let new = NewPayment {
        transaction_id: None,
        base: Money(naira * 100),
        payer_name: payer.into(),
        payer: PayerDetails::default(),
        bvn: None,
        webhook_url: Some("https://ijo.example/hook".into()),
        website: Some(app.store.website(1).await.unwrap().unwrap().website),
        till_user_id: None,
    };
    match create_payment(&app, &caller, new, None).await.unwrap() {
        Created::Payment(view) => view.payment.transaction_id,
        other => panic!("{other:?}"),
    }
}

pub(super) fn now() -> tillbell::domain::time::Timestamp {
    tillbell::clock::Clock::now(&tillbell::clock::SystemClock)
}

/// Who runs these tests, as the system knows it.
fn real_user() -> String {
    let output = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

on_both! {
    async fn a_mail_approves_a_payment_and_a_reversal_takes_it_back(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let txn = pay(&desk, &key, 7_500, "Sade Ayo Balogun").await;
        let mail = Alert::credit("0123456781", 7_500, "Balogun Sade Ayo", now()).text();
        std::fs::write(desk.path().join("one.eml"), mail).unwrap();
        let text = desk.json_text(&["alert", "ingest", "one.eml", "--trusted"]);
        assert_eq!(
            fields(&text),
            [
                "results", "file", "alert_id", "outcome", "direction", "amount", "payer_name", "account_number",
                "bank", "reference", "occurred_at", "transaction_id", "reason",
            ]
        );
        assert!(text.contains(r#""outcome":"matched","direction":"credit","amount":7500.00,"#), "{text}");
        assert!(text.contains(r#""bank":"GTBank""#) && text.contains(&txn), "{text}");
        let shown = desk.json_text(&["payment", "show", &txn, "--business", "1"]);
        assert!(shown.contains(r#""status":"approved","amount":7500.00,"received_amount":7500.00"#), "{shown}");
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["settlements"][0]["evidence"]["verdict"], "approve");
        assert_eq!(shown["deliveries"][0]["event"], "payment.approved");
        assert_eq!(desk.json(&["webhook", "list"])["webhooks"][0]["status"], "waiting");
        assert!(desk.json_text(&["business", "show", "1"]).ends_with(r#""balance":7375.00}"#));
        let audit = desk.json(&["audit"]);
        assert_eq!(audit["ok"], true);
        assert!(audit["checks"].as_array().unwrap().iter().all(|check| check["violations"] == 0));
        let reversed = desk.json(&["payment", "reverse", &txn, "--business", "1", "--reason", "wrong payer"]);
        assert!(reversed["reversed_at"].is_string());
        assert!(desk.refused(&["payment", "reverse", &txn, "--business", "1", "--reason", "again"]).contains("reversed"));
        assert!(desk.json_text(&["business", "show", "1"]).ends_with(r#""balance":0.00}"#));
        assert_eq!(desk.json(&["alert", "show", "1"])["outcome"], "review");
        let again = desk.refused(&["alert", "approve", "1", "--payment", &txn]);
        assert!(again.contains("approved and then reversed"), "{again}");
        assert!(desk.text(&["payment", "list"]).contains("REVERSED"));
        assert_eq!(desk.json(&["audit"])["ok"], true);
    }

    async fn a_person_decides_what_the_rules_leave(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let txn = pay(&desk, &key, 9_000, "Sade Ayo Balogun").await;
        let mail = Alert::credit("0123456781", 8_000, "Balogun Sade Ayo", now()).text();
        std::fs::write(desk.path().join("short.eml"), &mail).unwrap();
        let result = desk.json(&["alert", "ingest", "short.eml", "--trusted"]);
        assert_eq!(result["results"][0]["outcome"], "review");
        let list = desk.json(&["alert", "list", "--outcome", "review"]);
        assert_eq!((list["alerts"].as_array().unwrap().len(), &list["waiting"]["count"]), (1, &1.into()));
        assert!(desk.json_text(&["alert", "list"]).contains(r#""waiting":{"count":1,"amount":8000.00,"#));
        assert_eq!(desk.json(&["alert", "list", "--outcome", "matched"])["alerts"], serde_json::json!([]));
        assert!(list["alerts"][0]["age"].is_i64() && list["more"] == false, "{list}");
        assert_eq!(desk.run(&["alert", "show", "1", "--mail"]).stdout, mail.as_bytes());
        let approve = ["alert", "approve", "1", "--payment", &txn, "--business"];
        for empty in [
            &["alert", "dismiss", "1", "--reason", " "][..],
            &["payment", "reject", &txn, "--business", "1", "--reason", ""],
            &["payment", "reverse", &txn, "--business", "1", "--reason", "\t"],
            &[&approve[..], &["1", "--despite", ""]].concat(),
        ] {
            assert!(desk.refused(empty).contains("a reason is required"), "{empty:?}");
        }
        let told = desk.text(&["alert", "show", "1"]);
        assert!(told.contains("evidence:\n  verdict:") && !told.contains('{'), "laid out for people: {told}");
        assert!(desk.refused(&[&approve[..], &["7"]].concat()).contains("business 7"));
        let dismissed = desk.json(&["alert", "dismiss", "1", "--reason", "cash"]);
        assert_eq!(dismissed["outcome"], "dismissed");
        let again = desk.refused(&["alert", "dismiss", "1", "--reason", "cash"]);
        assert!(again.contains("only alerts in review, unmatched, quarantined or unreadable, credits set aside") && again.ends_with("can be dismissed"), "{again}");
        let approved = desk.json(&[&approve[..], &["1", "--despite", "the rest came in cash"]].concat());
        assert_eq!((&approved["status"], &approved["is_mismatch"]), (&"approved".into(), &true.into()));
        // USER says ada, which anybody can set.
        assert_eq!(approved["settlements"][0]["operator"], format!("command line: {}", real_user()));
        assert!(desk.json(&["alert", "show", "1"])["dismissed_from"].is_null(), "it is matched now");
        let evidence = &approved["settlements"][0]["evidence"];
        assert_eq!(evidence["despite"], "the rest came in cash");
        assert_eq!(evidence["before"]["verdict"], "review", "what the rules had seen is kept");
        assert_eq!(desk.json(&["audit"])["ok"], true);
        let other = pay(&desk, &key, 100, "Someone Else Entirely").await;
        let rejected = desk.json(&["payment", "reject", &other, "--business", "1", "--reason", "left"]);
        assert_eq!((&rejected["status"], &rejected["reject_reason"]), (&"rejected".into(), &"left".into()));
        assert!(desk.refused(&["payment", "show", "TXN-none", "--business", "1"]).contains("TXN-none"));
        assert!(desk.refused(&["alert", "show", "99"]).contains("99"));
        std::fs::write(desk.path().join("later.eml"), mail.replace("Balogun", "Ekong")).unwrap();
        desk.json(&["alert", "ingest", "later.eml"]);
        let newest = desk.json(&["alert", "list", "--limit", "1"]);
        assert_eq!((&newest["alerts"][0]["id"], &newest["more"]), (&2.into(), &true.into()));
        assert!(desk.text(&["alert", "list", "--limit", "1"]).contains("only the newest one is shown"));
    }

    async fn what_cannot_be_taken_is_told_and_the_rest_is_taken(db: TestDatabase) {
        let desk = Desk::new(&db);
        furnish(&desk);
        std::fs::write(desk.path().join("empty.eml"), "").unwrap();
        let mail = Alert::credit("0123456781", 300, "Balogun Sade Ayo", now()).text();
        std::fs::write(desk.path().join("one.eml"), mail).unwrap();
        let output = desk.run(&["--json", "alert", "ingest", "empty.eml", "one.eml"]);
        assert_eq!(output.status.code(), Some(1), "an empty file is no mail");
        let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(results["results"][0]["outcome"], "refused");
        assert_eq!(results["results"][1]["outcome"], "quarantined", "not proven, not trusted");
        let output = desk.run(&["--json", "alert", "ingest", "none.eml", "one.eml", "--trusted"]);
        assert_eq!(output.status.code(), Some(1));
        let parsed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(parsed["results"].as_array().unwrap().len(), 1, "the file that is there is taken");
        assert!(String::from_utf8_lossy(&output.stderr).contains("none.eml cannot be opened"));
    }

    async fn webhooks_are_resent_by_id_or_in_bulk(db: TestDatabase) {
        let desk = Desk::new(&db);
        assert_eq!(desk.json_text(&["webhook", "list", "--failed"]), r#"{"webhooks":[],"more":false}"#);
        assert_eq!(desk.json_text(&["webhook", "resend", "--failed", "--since", "24h"]), r#"{"resent":[]}"#);
        assert_eq!(desk.refused(&["webhook", "resend", "41", "42"]), "tillbell: there is no delivery 41, 42");
        let audit = desk.json_text(&["audit"]);
        assert!(audit.starts_with(r#"{"ok":true,"checks":[{"name":""#), "empty tables: {audit}");
    }

    async fn who_acted_is_told_by_the_system_and_what_sudo_says_stands_beside_it(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let txn = pay(&desk, &key, 4_400, "Sade Ayo Balogun").await;
        let mail = Alert::credit("0123456781", 4_300, "Balogun Sade Ayo", now()).text();
        std::fs::write(desk.path().join("short.eml"), &mail).unwrap();
        desk.json(&["alert", "ingest", "short.eml", "--trusted"]);
        let mut command = desk.command(&["--json", "alert", "approve", "1", "--payment", &txn]);
        let output = command.env("SUDO_USER", "bola\u{1b}[2J").env("LOGNAME", "chi").output().unwrap();
        let approved: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let expected = format!("command line: {} (SUDO_USER says bola[2J)", real_user());
        assert_eq!(approved["settlements"][0]["operator"], expected);
    }

    async fn a_reversal_is_confirmed_on_a_terminal_and_not_in_a_script(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let txn = pay(&desk, &key, 6_600, "Sade Ayo Balogun").await;
        let mail = Alert::credit("0123456781", 6_600, "Balogun Sade Ayo", now()).text();
        std::fs::write(desk.path().join("one.eml"), mail).unwrap();
        desk.json(&["alert", "ingest", "one.eml", "--trusted"]);
        let help = desk.text(&["payment", "reverse", "--help"]);
        assert!(help.contains("cannot be undone") && help.contains("--yes"), "{help}");
        let reverse = ["payment", "reverse", &txn, "--reason", "wrong match"];
        let is_reversed = || !desk.json(&["payment", "show", &txn])["reversed_at"].is_null();
        for (typed, expected) in [("no\n", false), ("\n", false), ("yes\n", true)] {
            let shown = typed_on_terminal(&desk, &reverse, typed);
            assert!(shown.contains("NGN 6,600.00") && shown.contains("cannot be undone"), "{shown}");
            assert_eq!(is_reversed(), expected, "{typed:?}: {shown}");
        }
        let other = pay(&desk, &key, 2_200, "Sade Ayo Balogun").await;
        let mail = Alert::credit("0123456781", 2_200, "Balogun Sade Ayo", now()).text();
        std::fs::write(desk.path().join("two.eml"), mail).unwrap();
        desk.json(&["alert", "ingest", "two.eml", "--trusted"]);
        let done = desk.json(&["payment", "reverse", &other, "--reason", "wrong match"]);
        assert!(!done["reversed_at"].is_null(), "a script is asked nothing: {done}");
    }

    async fn what_a_reason_overrides_is_confirmed_on_a_terminal_and_told_in_a_script(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = furnish(&desk);
        let told = "only NGN 2,100.00 was received, less than half of NGN 5,300.00";
        let take = async |name: &str| {
            let txn = pay(&desk, &key, 5_300, "Sade Ayo Balogun").await;
            let mail = Alert::credit("0123456781", 2_100, "Balogun Sade Ayo", now()).text();
            std::fs::write(desk.path().join(name), mail).unwrap();
            let taken = desk.json(&["alert", "ingest", name, "--trusted"]);
            (txn, taken["results"][0]["alert_id"].to_string())
        };
        let (txn, alert) = take("one.eml").await;
        let plain = ["alert", "approve", &alert, "--payment", &txn];
        let shown = typed_on_terminal(&desk, &plain, "");
        assert!(shown.contains(told) && shown.contains("--despite"), "{shown}");
        let approve = [&plain[..], &["--despite", "the rest in cash"]].concat();
        let is_approved = || desk.json(&["payment", "show", &txn])["status"] == "approved";
        for (typed, expected) in [("no\n", false), ("\n", false), ("yes\n", true)] {
            let shown = typed_on_terminal(&desk, &approve, typed);
            assert!(shown.contains(&format!("You override:\n  - {told}\n")), "{shown}");
            assert_eq!(is_approved(), expected, "{typed:?}: {shown}");
        }
        let (txn, alert) = take("two.eml").await;
        let done = desk.text(&["alert", "approve", &alert, "--payment", &txn, "--despite", "the rest in cash"]);
        assert!(done.contains("You overrode:") && done.contains(told), "a script is asked nothing: {done}");
    }
}
