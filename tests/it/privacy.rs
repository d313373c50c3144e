//! Who paid is taken out of a payment on request, wherever he stood, and nothing is credited twice because he was forgotten. The
//! text of events goes after its time.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::privacy::{DISPUTED_FOR, EraseRefused, erase_payer, known_of_payer};
use tillbell::ops::retention::forget_old;
use tillbell::ops::webhooks::deliveries::resend;

use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::databases::{Engine, TestDatabase, connect};
use crate::harness::mails::Alert;
use crate::retention::by_hand;
use crate::webhooks_world::World;

const PAYER: &str = "Ngozi Adaeze Umeadi";
/// Words that tell of the payer, as they may stand in any column.
const TOLD: [&str; 4] = ["umeadi", "adaeze", "kuda", "her gift"];

/// Tables and columns in which one of the words stands, in whatever letters.
async fn places_of(db: &TestDatabase, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut look = |table: &str, row: String| {
        let row = row.to_lowercase();
        for word in words {
            if row.contains(word) {
                found.push(format!("{table}: {word}"));
            }
        }
    };
    match db.engine() {
        Engine::Sqlite => {
            let file = rusqlite::Connection::open(db.url().strip_prefix("sqlite:").unwrap()).unwrap();
            let mut names = file
                .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite%'")
                .unwrap();
            let names: Vec<String> =
                names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
            for table in names {
                let mut all = file.prepare(&format!("select * from {table}")).unwrap();
                let columns = all.column_count();
                let mut rows = all.query([]).unwrap();
                while let Some(row) = rows.next().unwrap() {
                    for at in 0..columns {
                        let bytes = match row.get_ref(at).unwrap() {
                            rusqlite::types::ValueRef::Text(bytes)
                            | rusqlite::types::ValueRef::Blob(bytes) => bytes,
                            _ => continue,
                        };
                        look(&table, String::from_utf8_lossy(bytes).into_owned());
                    }
                }
            }
        }
        Engine::Postgres => {
            let client = connect(db.url()).await;
            client.batch_execute("set bytea_output = 'escape'").await.unwrap();
            let tables = "select relname::text from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace";
            for table in client.query(tables, &[]).await.unwrap() {
                let table: String = table.get(0);
                let rows = client.query(&format!("select t::text from {table} t"), &[]).await.unwrap();
                rows.iter().for_each(|row| look(&table, row.get(0)));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn mail(naira: i64, seconds: i64) -> String {
    let mail = Alert::credit(ACCOUNT, naira, &PAYER.to_uppercase(), at() + Span::seconds(seconds)).text();
    mail.replace("<td>Remarks</td><td>:</td><td></td>", "<td>Remarks</td><td>:</td><td>her gift</td>")
}

async fn paid(t: &TestApp, payment: &Payment) -> (String, AlertOutcome) {
    t.advance(LATER + Span::seconds(20));
    let mail = mail(payment.amount.kobo() / 100, 0);
    let told = t.ingest(&mail).await;
    assert_eq!(told.status, AlertStatus::Matched, "{told:?}");
    (mail, told)
}

async fn deliveries_end(t: &TestApp) {
    by_hand(
        t.database(),
        "update jobs set done_at = created_at, outcome = 'delivered' where kind = 'deliver'",
    )
    .await
    .unwrap();
}

async fn erase(t: &TestApp, payment: &Payment) -> Result<(), EraseRefused> {
    let done =
        erase_payer(&t.app, payment.business_id, &payment.transaction_id, "ada", "asked by letter").await;
    done.unwrap().map(drop)
}

on_both! {
    async fn who_paid_is_nowhere_afterwards_and_his_money_counts_once(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_400, PAYER).await;
        let (mail, told) = paid(&t, &payment).await;
        // Another mail of the same transfer, which is a copy.
        let again = t.ingest(&mail.replace("Message-ID: <", "Message-ID: <again-")).await;
        assert_ne!(again.status, AlertStatus::Matched, "{again:?}");
        if again.status == AlertStatus::Review {
            dismiss_alert(&t.app, again.alert_id, "ada", "told twice").await.unwrap().unwrap();
        }
        let known = known_of_payer(&t.app, shop.id, &payment.transaction_id).await.unwrap().unwrap();
        assert_eq!(known.payment.payer_name, PAYER);
        assert!(known.alerts.iter().any(|alert| alert.id == told.alert_id));
        assert!(known.alerts.iter().any(|alert| alert.id == again.alert_id), "the copy is not found");
        assert_eq!(known.events.len(), 1);

        let Err(EraseRefused::Disputed { until, .. }) = erase(&t, &payment).await else { panic!("too early") };
        assert!(until >= t.app.now() + DISPUTED_FOR - Span::days(3), "{until}");
        t.advance(DISPUTED_FOR + Span::days(2));
        let undelivered = Err(EraseRefused::Undelivered(payment.transaction_id.clone()));
        assert_eq!(erase(&t, &payment).await, undelivered, "its webhook is still to be sent");
        deliveries_end(&t).await;
        // A reason that a person may have typed says nothing of what was taken out.
        by_hand(t.database(), "update alerts set reason = '[erased]'").await.unwrap();
        // A receiver that repeats what it was sent.
        let answer = "insert into attempts (id, job_id, try, duration_ms, attempted_at, answer) \
                      select 9000001, min(id), 1, 5, 1, 'thank you, Umeadi' from jobs where kind = 'deliver'";
        by_hand(t.database(), answer).await.unwrap();
        assert!(!places_of(t.database(), &TOLD).await.is_empty());
        erase(&t, &payment).await.unwrap();
        assert_eq!(places_of(t.database(), &TOLD).await, Vec::<String>::new());
        t.audited().await;

        let after = t.payment(&payment).await;
        assert_eq!((after.status, after.received, after.payer_name.as_str()), (Status::Approved, Some(payment.amount), "[erased]"));
        let Err(EraseRefused::Done(..)) = erase(&t, &payment).await else { panic!("twice") };
        let delivery = t.app.store.deliveries_of_payment(payment.id).await.unwrap().remove(0);
        assert_eq!(resend(&t.app, "ada", &[delivery.id]).await.unwrap().superseded.len(), 1, "it has no text to send");
        // The transfer is told once more: it pays nobody, and a new one of the same payer pays as ever.
        let next = t.create(&shop, 6_400, PAYER).await;
        t.advance(LATER);
        let told = t.ingest(&mail.replace("Message-ID: <", "Message-ID: <late-")).await;
        assert_ne!(told.status, AlertStatus::Matched, "{told:?}");
        assert_eq!(t.payment(&next).await.status, Status::Pending);
    }

    async fn nobody_is_taken_out_whose_money_is_still_asked_about(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_400, PAYER).await;
        let unknown = erase_payer(&t.app, shop.id, "TXN-0", "ada", "asked").await.unwrap();
        assert_eq!(unknown.unwrap_err(), EraseRefused::NoPayment(shop.id, "TXN-0".into()));
        assert_eq!(erase(&t, &payment).await, Err(EraseRefused::Pending(payment.transaction_id.clone())));
        let nothing = erase_payer(&t.app, shop.id, &payment.transaction_id, "ada", " ").await.unwrap();
        assert_eq!(nothing.unwrap_err(), EraseRefused::Reason);
        let (_, told) = paid(&t, &payment).await;
        deliveries_end(&t).await;
        t.advance(DISPUTED_FOR + Span::days(2));
        // A debit that may have taken it back, and was seen only now.
        let debit = Alert { direction: "DEBIT", ..Alert::credit(ACCOUNT, 6_400, &format!("RVSL {PAYER}"), at()) };
        let back = t.ingest(&debit.text()).await;
        assert_eq!(t.app.store.alarm_of(told.alert_id).await.unwrap(), Some(back.alert_id));
        assert!(matches!(erase(&t, &payment).await, Err(EraseRefused::Alarmed(_))));
        assert_eq!(t.payment(&payment).await.payer_name, PAYER);
    }

    async fn anothers_transfer_in_the_same_name_is_neither_shown_nor_touched(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let payment = t.create(&shop, 6_400, PAYER).await;
        let (_, own) = paid(&t, &payment).await;
        t.advance(Span::days(20));
        // Another person of this name, of whose transfer the bank tells twice.
        let theirs = t.create(&other, 6_400, PAYER).await;
        t.advance(LATER + Span::seconds(20));
        let mail = Alert::credit(ACCOUNT, 6_400, &PAYER.to_uppercase(), t.app.now() - Span::seconds(20)).text();
        let told = t.ingest(&mail).await;
        let copy = t.ingest(&mail).await;
        if told.status.is_waiting() {
            dismiss_alert(&t.app, told.alert_id, "ada", "for this test").await.unwrap().unwrap();
        }
        deliveries_end(&t).await;
        let known = known_of_payer(&t.app, shop.id, &payment.transaction_id).await.unwrap().unwrap();
        assert_eq!(known.alerts.iter().map(|alert| alert.id).collect::<Vec<_>>(), [own.alert_id]);
        t.advance(DISPUTED_FOR + Span::days(2));
        erase(&t, &payment).await.unwrap();
        let name = |id: i64| { let store = &t.app.store; async move { store.alert(id).await.unwrap().unwrap().facts.payer_name } };
        assert_eq!(name(own.alert_id).await, None);
        assert!(name(told.alert_id).await.is_some() && name(copy.alert_id).await.is_some());
        assert_eq!(t.payment(&theirs).await.payer_name, PAYER);
    }

    async fn who_decides_about_waiting_money_still_knows_who_was_to_pay(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_400, PAYER).await;
        t.advance(LATER + Span::seconds(20));
        // A close name waits for a person, until the sweep has ended the payment and long after.
        let close = t.ingest(&Alert::credit(ACCOUNT, 6_400, "N UMEADI", at()).text()).await;
        assert_eq!(close.status, AlertStatus::Review, "{close:?}");
        reject_payment(&t.app, shop.id, &payment.transaction_id, "ada", "left").await.unwrap().unwrap();
        deliveries_end(&t).await;
        t.advance(DISPUTED_FOR + Span::days(3));
        assert_eq!(erase(&t, &payment).await, Err(EraseRefused::Waits(close.alert_id)));
        dismiss_alert(&t.app, close.alert_id, "ada", "sent back").await.unwrap().unwrap();
        erase(&t, &payment).await.unwrap();
    }

    async fn what_is_told_of_the_money_afterwards_is_taken_out_as_well(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_400, PAYER).await;
        let (mail, _) = paid(&t, &payment).await;
        deliveries_end(&t).await;
        t.advance(DISPUTED_FOR + Span::days(2));
        erase(&t, &payment).await.unwrap();
        let late = t.ingest(&mail).await;
        assert_eq!(late.status, AlertStatus::Duplicate, "{late:?}");
        let known = known_of_payer(&t.app, shop.id, &payment.transaction_id).await.unwrap().unwrap();
        assert!(known.alerts.iter().any(|alert| alert.id == late.alert_id), "{late:?}");
        assert!(matches!(erase(&t, &payment).await, Err(EraseRefused::Disputed { .. })));
        t.advance(DISPUTED_FOR + Span::days(2));
        erase(&t, &payment).await.unwrap();
        assert_eq!(places_of(t.database(), &TOLD).await, Vec::<String>::new());
        assert!(matches!(erase(&t, &payment).await, Err(EraseRefused::Done(..))));
    }

    async fn of_two_who_take_him_out_at_once_one_is_told_that_it_is_done(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 6_400, PAYER).await;
        paid(&t, &payment).await;
        deliveries_end(&t).await;
        t.advance(DISPUTED_FOR + Span::days(2));
        let node = t.another_node().await;
        let on = |app| erase_payer(app, payment.business_id, &payment.transaction_id, "ada", "asked");
        let (one, other) = tokio::join!(on(&t.app), on(&node));
        let done = [one.unwrap().is_ok(), other.unwrap().is_ok()];
        assert_eq!(done.iter().filter(|done| **done).count(), 1);
        assert_eq!(places_of(t.database(), &["umeadi"]).await, Vec::<String>::new());
    }

    async fn an_event_loses_its_text_after_its_time_and_not_before_it_is_told(db: TestDatabase) {
        let w = World::new(&db).await;
        let (told, open) = (w.tell("/hook").await, w.tell("/hook").await);
        w.work().await;
        let job = w.delivery(&open).await.id;
        by_hand(&db, &format!("update jobs set done_at = null, outcome = 'paused' where id = {job}")).await.unwrap();
        w.advance(Span::days(399));
        assert_eq!(forget_old(&w.app).await.unwrap().events, 0);
        w.advance(Span::days(2));
        let nodes = [w.node().await, w.node().await];
        let (one, other) = tokio::join!(forget_old(&nodes[0]), forget_old(&nodes[1]));
        assert!(one.unwrap().events + other.unwrap().events >= 1);
        assert_eq!(forget_old(&w.app).await.unwrap().events, 0, "once");
        let inputs = w.app.store.inputs(&[w.delivery(&told).await.event_id, w.delivery(&open).await.event_id]).await.unwrap();
        let body = |id: i64| String::from_utf8(inputs[&id].body.clone()).unwrap();
        let left = body(w.delivery(&told).await.event_id);
        assert!(left.contains(r#""payer_name":"[erased]""#) && left.contains(r#""amount":7300.00"#), "{left}");
        assert!(left.contains(r#""reduced_at":""#) && left.contains(&told.payment.transaction_id), "{left}");
        assert_eq!(body(w.delivery(&open).await.event_id).into_bytes(), open.body, "it is still to be told");
        // Nothing has its text to send.
        let resent = resend(&w.app, "ada", &[w.delivery(&told).await.id]).await.unwrap();
        assert_eq!((resent.ids.len(), resent.superseded.len()), (0, 1));
        w.work().await;
        let sent = w.receiver.received();
        assert!(sent.iter().all(|one| !String::from_utf8_lossy(&one.body).contains("reduced_at")), "{sent:?}");
        // By hand neither it nor another can be changed.
        for change in [
            "body = body", "reduced_at = reduced_at + 1", "kind = 'payment.reversed', reduced_at = 1",
            "created_at = created_at + 1, reduced_at = 1",
        ] {
            let refused = by_hand(&db, &format!("update events set {change}")).await.unwrap_err();
            assert!(refused.contains("append only"), "{change}: {refused}");
        }
        let refused = by_hand(&db, "delete from events").await.unwrap_err();
        assert!(refused.contains("append only"), "{refused}");
    }

    async fn a_missing_guard_of_events_is_told(db: TestDatabase) {
        let (t, _) = world(db).await;
        let lost = || async { t.app.store.append_only_guards().await.unwrap().1 };
        assert!(lost().await.is_empty());
        let drop = match t.database().engine() {
            Engine::Sqlite => "drop trigger events_no_update",
            Engine::Postgres => "drop trigger events_reduced_once on events",
        };
        t.without_audit("a trigger is dropped by hand");
        by_hand(t.database(), drop).await.unwrap();
        assert_eq!(lost().await, ["events"]);
    }
}
