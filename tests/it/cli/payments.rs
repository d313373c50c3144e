//! Finding payments by commands alone, and money that came to another account.

use tillbell::app::App;
use tillbell::domain::money::Money;
use tillbell::domain::payment::PayerDetails;
use tillbell::domain::time::Timestamp;
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};

use super::Desk;
use crate::harness::mails::Alert;

const NUMBER: &str = "0123452215";
const OTHER: &str = "0123458826";

/// A business with an approved website; answers a key.
pub(super) fn shop(desk: &Desk<'_>, name: &str, host: &str, mode: &[&str]) -> String {
    let id = desk.business(name);
    desk.json(&["website", "add", &id, host, "--approve"]);
    desk.json(&[&["key", "add", &id], mode].concat())["key"].as_str().unwrap().to_owned()
}

/// A payment as the API makes it, at this moment.
pub(super) async fn pay(app: &App, key: &str, transaction_id: &str, naira: i64, payer: &str) {
    let caller = app.directory.caller(key).await.unwrap().unwrap();
    let website = app.directory.websites(caller.business.id).await.unwrap()[0].clone();
    let new = NewPayment {
        transaction_id: Some(transaction_id.into()),
        base: Money(naira * 100),
        payer_name: payer.into(),
        payer: PayerDetails::default(),
        bvn: None,
        webhook_url: Some(format!("https://{}/hook", website.host)),
        website: Some(website),
        till_user_id: None,
    };
    let created = create_payment(app, &caller, new, None).await.unwrap();
    assert!(matches!(created, Created::Payment(_)), "{created:?}");
}

pub(super) fn now() -> Timestamp {
    tillbell::clock::Clock::now(&tillbell::clock::SystemClock)
}

fn ingest(desk: &Desk<'_>, number: &str, naira: i64, payer: &str) -> serde_json::Value {
    std::fs::write(desk.path().join("one.eml"), Alert::credit(number, naira, payer, now()).text()).unwrap();
    desk.json(&["alert", "ingest", "one.eml", "--trusted"])["results"][0].clone()
}

fn found(desk: &Desk<'_>, options: &str) -> Vec<String> {
    let args: Vec<&str> = ["payment", "list"].into_iter().chain(options.split_whitespace()).collect();
    let list = desk.json(&args);
    assert_eq!(list["more"], false, "{list}");
    let rows = list["payments"].as_array().unwrap();
    rows.iter().map(|row| row["transaction_id"].as_str().unwrap().to_owned()).collect()
}

on_both! {
    async fn a_payment_is_found_by_what_a_customer_can_tell(db: TestDatabase) {
        let desk = Desk::new(&db);
        let ijo = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        let kola = shop(&desk, "Kola Foods", "kola.example", &[]);
        desk.account(NUMBER);
        let app = desk.app().await;
        pay(&app, &ijo, "a-1", 7_500, "Sade Ayo Balogun").await;
        pay(&app, &kola, "b-1", 7_500, "Mohammed Bello Danjuma").await;
        pay(&app, &ijo, "a-2", 300, "Chidinma Okoro").await;
        assert_eq!(ingest(&desk, NUMBER, 7_375, "BALOGUN SADE")["transaction_id"], "a-1");
        for (options, ids) in [
            ("", &["a-2", "b-1", "a-1"][..]),
            ("--business 1", &["a-2", "a-1"]),
            ("--status pending", &["a-2", "b-1"]),
            ("--status approved --business 2", &[]),
            ("--amount 7500", &["b-1", "a-1"]),
            ("--amount 7500 --business 2", &["b-1"]),
            ("--amount 7375.00", &["a-1"]),
            ("--amount 7,500.00", &["b-1", "a-1"]),
            ("--amount 7,375.00", &["a-1"]),
            ("--amount 0", &[]),
            ("--name balo", &["a-1"]),
            ("--name OKORO", &["a-2"]),
            ("--name adeyemi", &[]),
            ("--name balo --status pending", &[]),
            ("--account 0123452215", &["a-2", "b-1", "a-1"]),
            ("--since 1h", &["a-2", "b-1", "a-1"]),
            ("--since 2020-02-29", &["a-2", "b-1", "a-1"]),
            ("--since 2099-01-01", &[]),
        ] {
            assert_eq!(found(&desk, options), ids, "{options}");
        }
        // As lists print it.
        for amount in ["NGN 7,500.00", "NGN 7,500", "ngn 7500", " 7,500.00 "] {
            let list = desk.json(&["payment", "list", "--amount", amount, "--business", "1"]);
            assert_eq!(list["payments"][0]["transaction_id"], "a-1", "{amount}: {list}");
        }
        for wrong in ["75,00", "7,500,00", ",750", "7,5000", "7500,000", "NGN", "NGN NGN 5", "USD 5", "1,000.000"] {
            let output = desk.run(&["payment", "list", "--amount", wrong]);
            assert_eq!(output.status.code(), Some(2), "{wrong}");
        }
        // Another spelling, by the index of names.
        let like = desk.json(&["payment", "list", "--name", "Muhammad Danjuma", "--business", "2"]);
        assert_eq!(like["payments"][0]["transaction_id"], "b-1", "{like}");
        let kept = desk.json(&["payment", "list", "--name", "Muhammad Danjuma", "--business", "1"]);
        assert_eq!(kept["payments"], serde_json::json!([]));

        let two = desk.json_text(&["payment", "list", "--limit", "2"]);
        assert!(two.starts_with(r#"{"payments":[{"transaction_id":"a-2","business_id":1,"kind":"transfer","mode":"live","status":"pending","amount":300.00,"received_amount":null,"#), "{two}");
        assert!(two.ends_with(r#""more":true}"#) && !two.contains("a-1"), "{two}");
        let text = desk.text(&["payment", "list", "--limit", "2"]);
        assert!(text.contains("only the newest 2 are shown") && text.contains("Mohammed Bello Danjuma"), "{text}");
        assert!(text.contains(NUMBER) && text.contains("NGN 7,500.00") && !text.contains("MODE"), "{text}");
        assert!(desk.text(&["payment", "list", "--name", "adeyemi"]).ends_with("no payments"));
        for (wrong, told) in [
            (["--business", "9"], "there is no business 9"),
            (["--account", "0000000000"], "there is no receiving account with the number 0000000000"),
            (["--name", "..."], "must contain a letter or a digit"),
        ] {
            assert!(desk.refused(&[&["payment", "list"], &wrong[..]].concat()).contains(told), "{wrong:?}");
        }
        for usage in [["--status", "paid"], ["--since", "yesterday"], ["--amount", "x"], ["--limit", "0"]] {
            assert_eq!(desk.run(&[&["payment", "list"], &usage[..]].concat()).status.code(), Some(2), "{usage:?}");
        }
        let trial = shop(&desk, "Ada Shoes", "ada.example", &["--test"]);
        let add = ["account", "add", "--number", OTHER, "--name", "TILL AND BELL LTD", "--bank", "GTBank", "--test"];
        desk.json(&add);
        app.directory.forget();
        pay(&app, &trial, "t-1", 300, "Chidinma Okoro").await;
        let text = desk.text(&["payment", "list"]);
        assert!(text.contains("MODE") && text.contains("test"), "a test payment is told as one: {text}");
    }

    async fn the_business_is_named_only_where_several_have_the_id(db: TestDatabase) {
        let desk = Desk::new(&db);
        let ijo = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        let kola = shop(&desk, "Kola Foods", "kola.example", &[]);
        desk.account(NUMBER);
        let app = desk.app().await;
        pay(&app, &ijo, "basket-9", 7_500, "Sade Ayo Balogun").await;
        pay(&app, &kola, "basket-9", 2_000, "Musa Danladi").await;
        pay(&app, &kola, "basket-10", 2_500, "Musa Danladi").await;
        assert_eq!(desk.json(&["payment", "show", "basket-10"])["business_id"], 2);
        let none = desk.refused(&["payment", "show", "basket-11"]);
        assert_eq!(none, "tillbell: no business has a payment basket-11");
        let several = "tillbell: several businesses have a payment basket-9: 1 (Ijo Fabrics), 2 (Kola Foods); \
                       choose one with --business";
        for act in [&["show", "basket-9"][..], &["reject", "basket-9", "--reason", "left"], &["reverse", "basket-9", "--reason", "left"]] {
            assert_eq!(desk.refused(&[&["payment"], act].concat()), several, "{act:?}");
        }
        assert_eq!(desk.refused(&["alert", "approve", "1", "--payment", "basket-9"]), several);
        assert_eq!(desk.json(&["payment", "show", "basket-9", "--business", "2"])["amount"], 2_000.0);
        let rejected = desk.json(&["payment", "reject", "basket-10", "--reason", "left"]);
        assert_eq!((&rejected["status"], &rejected["business_id"]), (&"rejected".into(), &2.into()));
        assert_eq!(found(&desk, "--status rejected"), ["basket-10"]);
        assert_eq!(found(&desk, "--status pending"), ["basket-9", "basket-9"]);
    }

    async fn money_on_another_account_is_shown_with_the_payment_it_may_be_for(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        desk.account(NUMBER);
        pay(&desk.app().await, &key, "a-1", 7_500, "Sade Ayo Balogun").await;
        desk.account(OTHER);
        let result = ingest(&desk, OTHER, 7_500, "BALOGUN SADE");
        assert_eq!((&result["outcome"], &result["transaction_id"]), (&"unmatched".into(), &serde_json::Value::Null));
        assert!(result["reason"].as_str().unwrap().contains("payment \"a-1\" of business 1 on another account"), "{result}");
        let shown = desk.json(&["alert", "show", "1"]);
        let suggestion = &shown["evidence"]["considered"][0];
        assert_eq!((&suggestion["transaction_id"], &suggestion["account"]), (&"a-1".into(), &"another account".into()));
        let text = desk.text(&["alert", "show", "1"]);
        let line = text.lines().find(|line| line.contains("another account") && line.trim_start().starts_with("account:"));
        assert!(line.is_some(), "{text}");
        let approve = ["alert", "approve", "1", "--payment", "a-1", "--business", "1"];
        let refused = desk.refused(&approve);
        for part in ["a different account", OTHER, NUMBER, "--despite"] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        assert_eq!(desk.json(&["payment", "show", "a-1"])["status"], "pending");
        let approved = desk.json(&[&approve[..], &["--despite", "she paid where she paid last time"]].concat());
        assert_eq!(approved["status"], "approved");
        assert_eq!(approved["settlements"][0]["evidence"]["before"]["considered"][0]["account"], "another account");
        assert_eq!(desk.json(&["audit"])["ok"], true);
    }
}
