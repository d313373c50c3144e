//! Money that the bank may have taken back: told beside the payment and in a list, until a person deals with it.

use serde_json::Value;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Payment;
use tillbell::domain::time::Span;

use super::Desk;
use super::lists::desk_of;
use super::terminal::on_terminal_of;
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, at, world};
use crate::harness::mails::Alert;
use crate::taken_back::debit_of;

fn alarms(desk: &Desk<'_>, options: &[&str]) -> Vec<(i64, i64)> {
    let list = desk.json(&[&["alert", "list", "--alarms"], options].concat());
    let id = |row: &Value, field: &str| row[field].as_i64().unwrap_or_else(|| panic!("{field}: {row}"));
    let rows = list["alerts"].as_array().unwrap();
    rows.iter().map(|row| (id(row, "id"), id(row, "alarm_alert_id"))).collect()
}

fn alarm_of(desk: &Desk<'_>, payment: &Payment) -> Value {
    let shown = desk.json(&["payment", "show", &payment.transaction_id])["alarm_alert_id"].clone();
    let list = desk.json(&["payment", "list", "--amount", &payment.amount.to_string()]);
    assert_eq!(list["payments"][0]["alarm_alert_id"], shown, "{list}");
    shown
}

/// A payment that was approved, and a debit of its money: the payment, its credit and the debit.
async fn taken_back(t: &TestApp, shop: &Merchant, naira: i64, payer: &str) -> (Payment, i64, i64) {
    let payment = t.create(shop, naira, payer).await;
    t.advance(LATER);
    let credit = Alert::credit(ACCOUNT, naira, payer, t.app.now() - Span::minutes(2));
    let paid = t.ingest(&credit.text()).await;
    assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
    let debit = Alert { at: credit.at + Span::minutes(1), ..debit_of(&credit) };
    let back = t.ingest(&debit.text()).await;
    assert_eq!(back.status, AlertStatus::Ignored, "{back:?}");
    (payment, paid.alert_id, back.alert_id)
}

on_both! {
    async fn an_open_alarm_is_told_until_its_payment_is_reversed(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let calm = t.create(&shop, 2_310, "Boma Alagoa").await;
        t.advance(LATER);
        t.ingest(&Alert::credit(ACCOUNT, 2_310, "Boma Alagoa", at()).text()).await;
        let (payment, credit, back) = taken_back(&t, &shop, 6_470, "Tonye Briggs").await;
        let desk = desk_of(&t);
        assert_eq!(alarms(&desk, &[]), [(credit, back)]);
        assert_eq!((alarm_of(&desk, &payment), alarm_of(&desk, &calm)), (back.into(), Value::Null));
        assert_eq!(alarms(&desk, &["--amount", "6470", "--name", "briggs"]), [(credit, back)]);
        assert_eq!(alarms(&desk, &["--amount", "2310"]), []);
        let told = format!("alert {back} may have taken this money back");
        for args in [&["payment", "show", &payment.transaction_id][..], &["payment", "list"], &["alert", "list", "--alarms"]] {
            assert!(desk.text(args).contains(&told), "{args:?}: {}", desk.text(args));
            let narrow = on_terminal_of(&desk, 80, &[], args);
            assert!(narrow.contains(&told), "{args:?}: {narrow}");
        }
        assert!(!desk.text(&["payment", "show", &calm.transaction_id]).contains("may have taken"));
        assert!(desk.text(&["alert", "list"]).contains("`alert list --alarms`"), "the list of all points at them");
        let usage = desk.run(&["alert", "list", "--alarms", "--outcome", "review"]);
        assert_eq!(usage.status.code(), Some(2));

        let by = back.to_string();
        desk.text(&["payment", "reverse", &payment.transaction_id, "--reason", "the bank did", "--alert", &by]);
        assert_eq!(alarms(&desk, &[]), []);
        assert_eq!(alarm_of(&desk, &payment), Value::Null);
        assert!(!desk.text(&["payment", "list"]).contains("may have taken"));
        assert!(!desk.text(&["alert", "list"]).contains("--alarms"));
    }

    async fn a_debit_that_undid_another_payment_or_was_overridden_is_no_open_alarm(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (_, first, back) = taken_back(&t, &shop, 6_480, "Preye Dokubo").await;
        let (second, _, other_back) = taken_back(&t, &shop, 1_990, "Timi Cookey").await;
        // The debit comes before its credit, which waits; a person approves it nevertheless.
        let payment = t.create(&shop, 3_330, "Dein Fubara").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 3_330, "Dein Fubara", t.app.now() - Span::minutes(2));
        let debit = Alert { at: credit.at + Span::minutes(1), ..debit_of(&credit) };
        t.ingest(&debit.text()).await;
        let held = t.ingest(&credit.text()).await;
        assert_eq!(held.status, AlertStatus::Review, "{held:?}");
        let desk = desk_of(&t);
        let (held, txn) = (held.alert_id.to_string(), &payment.transaction_id);
        desk.text(&["alert", "approve", &held, "--payment", txn, "--despite", "the bank says that it is there"]);
        assert_eq!(alarm_of(&desk, &payment), Value::Null);
        assert_eq!(alarms(&desk, &[]).len(), 2);
        // The debit of the first was that of the second.
        let by = back.to_string();
        let args = ["payment", "reverse", &second.transaction_id, "--reason", "wrong sum", "--alert", &by, "--despite", "both"];
        desk.text(&args);
        assert_eq!(alarms(&desk, &[]), [], "{first} {other_back}");
    }

    async fn a_wrong_match_is_reversed_as_such_though_an_alarm_about_it_is_open(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (payment, _, back) = taken_back(&t, &shop, 6_490, "Tari Horsfall").await;
        let desk = desk_of(&t);
        let args = ["payment", "reverse", &payment.transaction_id, "--reason", "wrong match"];
        let refused = desk.refused(&args);
        assert!(refused.contains(&format!("alert {back}")) && refused.contains("--despite"), "{refused}");
        let told = desk.text(&[&args[..], &["--despite", "the debit is our rent"]].concat());
        assert!(told.contains("is in review again"), "{told}");
    }

    async fn a_debit_that_takes_nothing_back_is_dismissed(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (payment, credit, back) = taken_back(&t, &shop, 6_490, "Tari Horsfall").await;
        let desk = desk_of(&t);
        assert_eq!(alarms(&desk, &[]), [(credit, back)]);
        desk.text(&["alert", "dismiss", &back.to_string(), "--reason", "our payout to the landlord"]);
        assert_eq!(alarms(&desk, &[]), []);
        assert_eq!(alarm_of(&desk, &payment), Value::Null);
        let about = format!("alert {back}");
        let acts = t.app.store.acts(Some(&about), None, tillbell::domain::time::Timestamp::MIN, 5).await.unwrap();
        assert_eq!((acts.len(), &*acts[0].act), (1, "dismiss"));
        let again = desk.refused(&["alert", "dismiss", &back.to_string(), "--reason", "again"]);
        assert!(again.contains("is dismissed"), "{again}");
        // A copy of its mail raises none.
    }
}
