//! Payments without a webhook address of their own, as a till makes them: they are approved as any other, their event goes
//! to the business's own address, and is kept where it has none.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};
use tillbell::ops::payments::read::payment_history;
use tillbell::ops::webhooks::deliveries;
use tillbell::store::tables::deliveries::Delivery;
use tillbell::work::run_due;

use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, at, world};
use crate::harness::mails::Alert;
use crate::harness::receiver::{Answer, Receiver};

const PAYER: &str = "Halima Garba";

/// A payment that names no address, and the alert that pays it.
async fn paid(t: &TestApp, shop: &Merchant) -> Payment {
    let new = NewPayment { webhook_url: None, website: None, ..t.request(shop, 5_000, PAYER) };
    let Created::Payment(made) = create_payment(&t.app, &shop.caller, new, None).await.unwrap() else {
        panic!("not created")
    };
    assert_eq!((&made.payment.webhook_url, &made.website), (&None, &None));
    t.advance(LATER + Span::seconds(20));
    let taken = t.ingest(&Alert::credit(ACCOUNT, 5_000, PAYER, at()).text()).await;
    assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
    let payment = t.payment(&made.payment).await;
    assert_eq!((payment.status, payment.webhook_url.as_deref()), (Status::Approved, None));
    payment
}

async fn told_at(t: &TestApp, shop: &Merchant, url: Option<String>) {
    let change = BusinessChange { webhook_url: Some(url), ..BusinessChange::default() };
    set_business(&t.app, "ada", shop.id, &change).await.unwrap().unwrap();
    t.app.directory.forget();
}

async fn delivery(t: &TestApp, payment: &Payment) -> Delivery {
    let mut all = t.app.store.deliveries_of_payment(payment.id).await.unwrap();
    assert_eq!(all.len(), 1, "one event, with one delivery");
    all.remove(0)
}

async fn work_until_idle(t: &TestApp) {
    while run_due(&t.app).await.unwrap() > 0 {}
}

on_both! {
    async fn the_event_of_an_approval_is_kept_where_nobody_gave_an_address(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = paid(&t, &shop).await;
        work_until_idle(&t).await;
        let kept = delivery(&t, &payment).await;
        assert_eq!((kept.outcome.as_deref(), kept.tries, kept.attempts.len()), (Some("not_sent"), 0, 0), "{kept:?}");
        assert_eq!(kept.note.as_deref(), Some("not sent: the business has no webhook URL"));
        // Nothing failed: no list of failures shows it, and a resend of all that failed leaves it alone.
        assert!(t.app.store.deliveries(true, 10).await.unwrap().is_empty());
        assert!(deliveries::resend_failed(&t.app, "ada", Span::hours(24)).await.unwrap().is_empty());
        // A day later nothing is tried again.
        t.advance(Span::hours(25));
        work_until_idle(&t).await;
        assert_eq!(delivery(&t, &payment).await, kept);
        let inputs = t.app.store.inputs(&[kept.event_id]).await.unwrap();
        let body = String::from_utf8(inputs[&kept.event_id].body.clone()).unwrap();
        assert!(body.contains("payment.approved") && body.contains(&payment.transaction_id), "{body}");
        let history = payment_history(&t.app, shop.id, &payment.transaction_id).await.unwrap().unwrap();
        assert_eq!(history.deliveries.len(), 1, "it stands in the payment's history");
    }

    async fn the_businesss_own_address_is_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let receiver = Receiver::start().await;
        // On no website of the business, as that of a shop that has none.
        told_at(&t, &shop, Some(receiver.url("/own"))).await;
        let payment = paid(&t, &shop).await;
        work_until_idle(&t).await;
        let sent = delivery(&t, &payment).await;
        assert_eq!(sent.outcome.as_deref(), Some("delivered"), "{sent:?}");
        assert_eq!(receiver.received().len(), 1);
        assert_eq!(receiver.received()[0].target, "/own");
    }

    async fn a_kept_event_is_sent_by_hand_once_there_is_an_address(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = paid(&t, &shop).await;
        work_until_idle(&t).await;
        let kept = delivery(&t, &payment).await;
        let receiver = Receiver::start().await;
        told_at(&t, &shop, Some(receiver.url("/own"))).await;
        work_until_idle(&t).await;
        assert!(receiver.received().is_empty(), "what was kept is not sent by itself");
        assert_eq!(deliveries::resend(&t.app, "ada", &[kept.id]).await.unwrap().ids, [kept.id]);
        work_until_idle(&t).await;
        let sent = delivery(&t, &payment).await;
        assert_eq!((sent.outcome.as_deref(), &sent.webhook_id), (Some("delivered"), &kept.webhook_id));
        assert_eq!(receiver.received().len(), 1);
    }

    async fn an_address_that_is_taken_away_ends_the_tries(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let receiver = Receiver::start().await;
        receiver.answer_otherwise(Answer::status(500));
        told_at(&t, &shop, Some(receiver.url("/own"))).await;
        let payment = paid(&t, &shop).await;
        run_due(&t.app).await.unwrap();
        assert_eq!(delivery(&t, &payment).await.tries, 1);
        told_at(&t, &shop, None).await;
        t.advance(Span::minutes(1));
        work_until_idle(&t).await;
        let ended = delivery(&t, &payment).await;
        assert_eq!((ended.outcome.as_deref(), ended.tries, ended.attempts.len()), (Some("not_sent"), 1, 1));
        assert_eq!(ended.note.as_deref(), Some("not sent again: the business has no webhook URL"));
    }
}
