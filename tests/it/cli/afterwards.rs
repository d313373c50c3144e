//! What people are told after an act, and of what was undone: reversals, dismissals, obstacles, damaged rows.

use serde_json::Value;
use tillbell::config::Config;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::naira;
use tillbell::domain::payment::Payment;
use tillbell::domain::time::Span;
use tillbell::ops::mailboxes;
use tillbell::ops::messages::send_text::{TextSent, send_text};
use tillbell::store::tables::mailboxes::MailboxKey;

use super::Desk;
use super::lists::desk_of;
use super::payments::{now, pay, shop};
use super::terminal::on_terminal_of;
use crate::audits::by_hand;
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, world};
use crate::harness::mails::Alert;
use crate::taken_back::debit_of;
use crate::wallet::world::{PIN, World, token};

const NUMBER: &str = "0123451173";

/// A payment that was approved by its mail, and the id of that alert.
async fn approved(t: &TestApp, shop: &Merchant, naira: i64, payer: &str) -> (Payment, i64) {
    let payment = t.create(shop, naira, payer).await;
    t.advance(LATER);
    let paid = t.ingest(&Alert::credit(ACCOUNT, naira, payer, t.app.now() - Span::minutes(2)).text()).await;
    assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
    (payment, paid.alert_id)
}

/// What a command says that fails, all lines of it.
fn failed(desk: &Desk<'_>, args: &[&str]) -> String {
    let output = desk.run(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn fits(shown: &str, columns: usize) {
    // A link stays whole, so that it can be copied.
    let mut lines = shown.lines().filter(|line| !line.contains("/c/"));
    assert!(lines.all(|line| line.chars().count() <= columns), "{shown}");
}

on_both! {
    async fn a_reversal_says_what_became_of_the_money_and_what_is_left_to_do(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (payment, credit) = approved(&t, &shop, 6_840, "Ebiere Dokubo").await;
        let desk = desk_of(&t);
        let reverse = ["payment", "reverse", &payment.transaction_id, "--reason", "wrong match"];
        let told = on_terminal_of(&desk, 80, &[], &[&reverse[..], &["--yes"]].concat());
        fits(&told, 80);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let receives = naira(t.payment(&payment).await.business_receives);
        for part in [
            "status: reversed",
            &format!("{receives} was taken out of the balance of business 1, which is now NGN 0.00."),
            "The webhook payment.reversed tells the merchant; the API shows `reversed_at`.",
            &format!("Alert {credit}, which paid it, is in review again: `alert show {credit}`."),
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        // With the bank's own debit nothing is left to approve.
        let (second, credit) = approved(&t, &shop, 2_150, "Ibifuro Harry").await;
        let mail = Alert::credit(ACCOUNT, 2_150, "Ibifuro Harry", t.app.now() - Span::minutes(2));
        let back = t.ingest(&Alert { at: t.app.now() - Span::minutes(1), ..debit_of(&mail) }.text()).await.alert_id;
        let args = ["payment", "reverse", &second.transaction_id, "--reason", "the bank did", "--alert", &back.to_string()];
        let told = desk.text(&args);
        assert!(told.contains(&format!("Alert {credit}, which paid it, is reversed: alert {back} took its money back.")), "{told}");
    }

    async fn an_alert_names_the_payments_that_were_reversed(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (payment, credit) = approved(&t, &shop, 6_850, "Ebiere Dokubo").await;
        let desk = desk_of(&t);
        let id = credit.to_string();
        assert_eq!(desk.json(&["alert", "show", &id])["reversed_payments"], serde_json::json!([]));
        assert!(!desk.text(&["alert", "show", &id]).contains("reversed_payments"));
        desk.text(&["payment", "reverse", &payment.transaction_id, "--reason", "wrong match"]);
        let shown = desk.json(&["alert", "show", &id]);
        assert_eq!(shown["transaction_id"], Value::Null, "it funds none now");
        let was = &shown["reversed_payments"][0];
        assert_eq!((&was["transaction_id"], &was["business_id"]), (&payment.transaction_id.as_str().into(), &shop.id.into()));
        assert_eq!((&was["reverse_reason"], was["reversed_at"].is_string()), (&"wrong match".into(), true));
        // The evidence stays as it was taken; what became of its payments stands beside it.
        assert_eq!(shown["evidence"]["considered"][0]["status"], "pending", "{shown}");
        let considered = &shown["considered_now"][0];
        assert_eq!((&considered["status"], &considered["is_reversed"]), (&"approved".into(), &true.into()));
        for columns in [80, 200] {
            let told = on_terminal_of(&desk, columns, &[], &["alert", "show", &id]);
            fits(&told, columns);
            assert!(told.contains("pending (now approved, reversed)") && told.contains("reversed_payments:"), "{told}");
            let amount = told.lines().find(|line| line.trim_start().starts_with("amount:") && line.starts_with("      "));
            assert!(amount.is_some_and(|line| line.ends_with("NGN 6,850.00")), "as everywhere: {told}");
        }
        // A suggestion that was reversed before it was considered.
        let other = t.ingest(&Alert::credit(ACCOUNT, 6_850, "Ebiere Dokubo", t.app.now()).text()).await;
        let told = desk.text(&["alert", "show", &other.alert_id.to_string()]);
        assert!(told.contains("approved, reversed"), "{told}");
    }

    async fn a_reference_in_place_of_a_transaction_id_is_told_with_the_payments_that_have_it(db: TestDatabase) {
        let w = World::start(db).await;
        let (started, link) = w.ready(9_000, 3_400).await;
        w.confirm(&link, PIN).await;
        let desk = desk_of(&w.t);
        let txn = &started.transaction_id;
        for verb in ["reverse", "reject"] {
            let told = desk.refused(&["payment", verb, "ORDER k-1", "--reason", "x"]);
            let command = format!("is not a transaction id but the reference of a payment: `payment {verb} {txn} --business 1`");
            assert!(told.contains(&command), "{told}");
        }
        assert_eq!(desk.json(&["payment", "show", txn])["status"], "approved", "nothing was done");
        let again = w.begin(1_200, "k-2").await;
        assert_ne!(token(&again), link);
        assert!(desk.refused(&["payment", "reverse", "ORDER k-9", "--reason", "x"]).ends_with("no business has a payment ORDER k-9"));
        // The wallet's customer has the money back, and the merchant has not.
        let told = desk.text(&["payment", "reverse", txn, "--reason", "returned"]);
        assert!(told.contains("went back to the customer's wallet.") && told.contains("balance of business 1, which is now NGN 0.00"), "{told}");
    }

    async fn a_dismissal_says_what_was_dismissed_and_how_to_undo_it(db: TestDatabase) {
        let (t, _shop) = world(db).await;
        let mut ids = Vec::new();
        for (naira, payer) in [(4_410, "Preye Alamieyeseigha"), (4_420, "Timi Dakolo"), (4_430, "Ine Pepple")] {
            ids.push(t.ingest(&Alert::credit(ACCOUNT, naira, payer, t.app.now()).text()).await.alert_id.to_string());
        }
        let desk = desk_of(&t);
        let told = on_terminal_of(&desk, 80, &[], &["alert", "dismiss", &ids[0], "--reason", "our own deposit"]);
        fits(&told, 80);
        for part in ["NGN 4,410.00", "PREYE ALAMIEYESEIGHA", "was:", "unmatched", "first_seen_at:", "our own deposit"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(told.contains(&format!("`alert approve {} --payment TXN`", ids[0])), "{told}");
        assert!(told.contains(&format!("alert show {}", ids[0])), "{told}");
        let told = on_terminal_of(&desk, 200, &[], &["alert", "dismiss", &ids[1], &ids[2], "--reason", "deposits"]);
        for part in ["NGN 4,420.00", "TIMI DAKOLO", "NGN 4,430.00", "INE PEPPLE", "2 dismissed", "`alert approve ID --payment TXN`"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    async fn each_obstacle_has_a_line_of_its_own(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_210, "Dagogo Princewill").await;
        let paid = t.ingest(&Alert::credit(ACCOUNT, 9_990, "Ruth Ikpeba", t.app.now() - Span::minutes(30)).text()).await;
        let desk = desk_of(&t);
        let (id, txn) = (paid.alert_id.to_string(), &payment.transaction_id);
        let told = failed(&desk, &["alert", "approve", &id, "--payment", txn]);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], format!("alert {id} is not approved onto payment {txn}:"), "{told}");
        let (last, obstacles) = lines[1..].split_last().unwrap();
        assert_eq!(*last, "tillbell: to approve it anyway, give your reason with --despite");
        assert!(obstacles.len() > 1 && obstacles.iter().all(|line| line.starts_with("- ")), "{told}");
        let (approved, _) = approved(&t, &shop, 3_270, "Ada Pepple").await;
        let other = Alert::credit(ACCOUNT, 1_110, "Ruth Ikpeba", t.app.now() - Span::minutes(30));
        let back = t.ingest(&Alert { at: t.app.now() - Span::minutes(29), ..debit_of(&other) }.text()).await;
        let args = ["payment", "reverse", &approved.transaction_id, "--reason", "x", "--alert", &back.alert_id.to_string()];
        let told = failed(&desk, &args);
        assert!(told.lines().filter(|line| line.starts_with("- ")).count() > 1, "{told}");
        assert!(told.ends_with("tillbell: to reverse it anyway, give your reason with --despite\n"), "{told}");
    }

    async fn a_payment_past_its_expiry_says_until_when_money_may_come(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        desk.account(NUMBER);
        let mut app = desk.app().await;
        let text = "[payments]\nexpiry = \"1ms\"\nlate_window = \"3h\"\n";
        app.config.payments = Config::load(text, std::iter::empty()).unwrap().payments;
        pay(&app, &key, "a-1", 5_300, "Sade Ayo Balogun").await;
        let shown = desk.json(&["payment", "show", "a-1"]);
        let time = |field: &str| shown[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_microsecond();
        assert_eq!(time("late_transfers_until") - time("expires_at"), Span::hours(3).0);
        assert!(time("expires_at") < now().0, "{shown}");
        let told = on_terminal_of(&desk, 80, &[], &["payment", "show", "a-1"]);
        fits(&told, 80);
        let until = shown["late_transfers_until"].as_str().unwrap()[..19].replace('T', " ");
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("late transfers are taken until {until} UTC")), "{told}");
        desk.text(&["payment", "reject", "a-1", "--reason", "left"]);
        assert_eq!(desk.json(&["payment", "show", "a-1"])["late_transfers_until"], Value::Null);
        assert!(!desk.text(&["payment", "show", "a-1"]).contains("late transfers are taken"));
    }

    async fn one_message_that_cannot_be_decrypted_hides_no_other(db: TestDatabase) {
        let w = World::start(db).await;
        for text in ["Your blue order is ready", "Your red order is ready", "Your green order is ready"] {
            let done = send_text(&w.t.app, &w.shop.caller, &w.phone(), text, None).await.unwrap();
            assert!(matches!(done, TextSent::Sent { .. }), "{done:?}");
            w.t.advance(Span::seconds(7));
        }
        let desk = desk_of(&w.t);
        let ids: Vec<i64> = desk.json(&["message", "list"])["messages"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
        let spoilt = ids[1];
        w.t.without_audit("a sealed value is spoilt by hand");
        by_hand(
            &w.t,
            &format!("update messages set text = x'0102', phone = x'0102' where id = {spoilt}"),
            &format!("update messages set text = '\\x0102'::bytea, phone = '\\x0102'::bytea where id = {spoilt}"),
        )
        .await;
        let output = desk.run(&["message", "list"]);
        let (told, noted) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(0), "{noted}");
        assert!(told.contains("blue order") && told.contains("green order") && !told.contains("red order"), "{told}");
        assert!(told.contains("cannot be read with this key"), "{told}");
        assert!(noted.starts_with(&format!("warning: 1 message could not be read ({spoilt}): ")), "{noted}");
        let list = desk.json(&["message", "list"]);
        let row = list["messages"].as_array().unwrap().iter().find(|row| row["id"] == spoilt).unwrap();
        assert_eq!((&row["text"], &row["phone"], &row["status"]), (&Value::Null, &Value::Null, &"sent".into()));
        fits(&on_terminal_of(&desk, 200, &[], &["message", "list"]), 200);
        assert!(desk.text(&["message", "show", &spoilt.to_string()]).contains("cannot be read with this key"));
    }

    async fn a_mailbox_whose_distance_is_not_known_says_so(db: TestDatabase) {
        let desk = Desk::new(&db);
        let app = desk.app().await;
        let key = |login: &str| MailboxKey { host: "imap.shop.example".into(), port: 993, login: login.into(), folder: "INBOX".into() };
        mailboxes::configure(&app, &key("till"), "alerts").await.unwrap();
        mailboxes::configure(&app, &key("old"), "before").await.unwrap();
        std::fs::write(
            desk.path().join("till.toml"),
            "[[mail.imap]]\nname = \"alerts\"\nhost = \"imap.shop.example\"\nuser = \"till\"\npassword = \"p\"\n",
        )
        .unwrap();
        let args = ["--config", "till.toml", "mailbox", "list"];
        let list = desk.json(&args);
        assert_eq!(list["mailboxes"][0]["behind"], Value::Null, "nobody has looked: {list}");
        for columns in [80, 200] {
            let told = on_terminal_of(&desk, columns, &[], &args);
            assert!(told.contains("unknown (nobody reads it)") && told.contains("unknown (removed)"), "{told}");
        }
    }
}
