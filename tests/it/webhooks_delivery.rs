//! One merchant's webhooks: what is sent, when it is sent again, what a person can do.

use tillbell::domain::merchant::Mode;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::domain::webhook::{DeliveryOutcome, RETRY_SCHEDULE};
use tillbell::ops::look_back::Found;
use tillbell::ops::merchants::businesses::{self, BusinessChange};
use tillbell::ops::merchants::websites::{self, NewWebsite, WebsiteChange};
use tillbell::ops::webhooks::deliveries::{self, Search};
use tillbell::ops::webhooks::test_event::{TestOf, TestSent, Tested, send_test};
use tillbell::store::tables::deliveries::{Delivery, DeliveryStatus};

use crate::harness::receiver::{Answer, Receiver};
use crate::webhooks_world::{DEADLINE, World, verifies};

/// A test event that found a target.
async fn tested(world: &World, transaction_id: Option<&str>) -> TestSent {
    match send_test(&world.app, world.business, transaction_id.map_or(TestOf::Business, TestOf::Payment))
        .await
        .unwrap()
    {
        Tested::Sent(sent) => *sent,
        other => panic!("no test event: {other:?}"),
    }
}

/// What failed for good, newest first.
async fn failed(world: &World, limit: usize) -> Found<Delivery> {
    let status = Some(DeliveryStatus::Failed);
    let search = Search { business_id: None, payment_id: None, status, since: Timestamp::MIN, limit };
    deliveries::find(&world.app, &search).await.unwrap()
}

on_both! {
    async fn a_webhook_arrives_signed_with_its_stored_bytes(db: TestDatabase) {
        let world = World::new(&db).await;
        let told = world.tell("/hook?shop=1").await;
        assert_eq!(world.work().await, 1);
        let request = world.receiver.wait_for(1, DEADLINE).await.remove(0);
        assert_eq!(request.target, "/hook?shop=1");
        assert_eq!(request.body, told.body);
        assert_eq!(request.header("content-type"), "application/json");
        assert!(verifies(&world.secret, &request));
        assert!(!verifies("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", &request));
        let delivery = world.delivery(&told).await;
        assert_eq!(request.header("webhook-id"), delivery.webhook_id);
        assert_eq!((delivery.outcome.as_deref(), delivery.tries), (Some("delivered"), 1));
        assert_eq!(delivery.attempts.len(), 1);
        assert_eq!(delivery.attempts[0].status, Some(200));
        assert_eq!(delivery.attempts[0].url.as_deref(), Some(world.receiver.url("/hook?shop=1").as_str()));
        assert_eq!(world.work().await, 0, "nothing is left");
    }

    async fn failures_are_tried_again_by_the_schedule_and_then_shown(db: TestDatabase) {
        let world = World::new(&db).await;
        world.receiver.answer_otherwise(Answer::status(500).body("the shop is closed"));
        let told = world.tell("/hook").await;
        for n in 1..=RETRY_SCHEDULE.len() {
            assert_eq!(world.work().await, 1, "attempt {n}");
            assert_eq!(world.work().await, 0, "attempt {n} only once");
            let delivery = world.delivery(&told).await;
            assert_eq!(delivery.attempts.len(), n);
            let Some(wait) = RETRY_SCHEDULE.get(n) else { break };
            let planned = delivery.run_at.since(world.app.now());
            assert!(planned >= *wait && planned.0 <= wait.0 + wait.0 / 10, "{n}: {planned:?}");
            world.advance(Span(wait.0 - 1));
            assert_eq!(world.work().await, 0, "not a moment earlier");
            world.advance(Span(wait.0 / 10 + 1));
        }
        let delivery = world.delivery(&told).await;
        assert_eq!(delivery.outcome.as_deref(), Some("failed"));
        assert_eq!(delivery.attempts[9].answer.as_deref(), Some("the shop is closed"));
        assert_eq!(delivery.note.as_deref(), Some("HTTP 500 Internal Server Error"));
        let requests = world.receiver.received();
        assert_eq!(requests.len(), 10);
        assert!(requests.iter().all(|one| one.body == told.body));
        assert!(requests.iter().all(|one| one.header("webhook-id") == delivery.webhook_id));
        // A resend starts the schedule anew and keeps the log.
        world.receiver.answer_otherwise(Answer::status(204));
        let resent = deliveries::resend(&world.app, "ada", &[delivery.id, 987_654_321]).await.unwrap();
        assert_eq!((resent.ids, resent.unknown), (vec![delivery.id], vec![987_654_321]));
        assert_eq!(world.work().await, 1);
        let again = world.delivery(&told).await;
        assert_eq!((again.outcome.as_deref(), again.attempts.len()), (Some("delivered"), 11));
        assert_eq!((again.attempts[10].number, again.webhook_id), (1, delivery.webhook_id));
    }

    async fn retry_after_lengthens(db: TestDatabase) {
        let world = World::new(&db).await;
        world.receiver.answer_next(Answer::status(503).header("retry-after", "600"));
        let told = world.tell("/hook").await;
        world.work().await;
        let planned = world.delivery(&told).await.run_at.since(world.app.now());
        assert_eq!(planned, Span::seconds(600));
    }

    async fn a_redirect_is_a_failure_and_is_not_followed(db: TestDatabase) {
        let world = World::new(&db).await;
        let elsewhere = Receiver::start().await;
        world.receiver.answer_next(Answer::status(307).header("location", &elsewhere.url("/stolen")));
        let told = world.tell("/hook").await;
        world.work().await;
        let delivery = world.delivery(&told).await;
        assert_eq!((delivery.outcome, delivery.attempts[0].status), (None, Some(307)));
        assert!(elsewhere.received().is_empty());
    }

    async fn a_410_pauses_the_target_until_a_resend(db: TestDatabase) {
        let world = World::new(&db).await;
        world.receiver.answer_next(Answer::status(410));
        let first = world.tell("/hook").await;
        world.work().await;
        let (second, elsewhere) = (world.tell("/hook").await, world.tell("/other").await);
        world.work().await;
        world.advance(Span::hours(5));
        world.work().await;
        assert_eq!(world.receiver.received().len(), 2, "the 410 and the other target");
        assert_eq!(world.delivery(&elsewhere).await.outcome.as_deref(), Some("delivered"));
        for told in [&first, &second] {
            let waiting = world.delivery(told).await;
            assert_eq!((waiting.outcome.as_deref(), waiting.done_at), (Some("paused"), None));
            assert_eq!(waiting.note.as_deref(), Some(world.receiver.url("/hook").as_str()));
        }
        assert_eq!(world.delivery(&second).await.tries, 0, "nothing was sent, no try is counted");
        assert_eq!(world.app.store.paused_targets().await.unwrap().len(), 1);
        assert_eq!(deliveries::paused_in_use(&world.app).await.unwrap(), 1, "two webhooks wait for it");
        let id = world.delivery(&first).await.id;
        deliveries::resend(&world.app, "ada", &[id]).await.unwrap();
        world.work().await;
        for told in [&first, &second] {
            assert_eq!(world.delivery(told).await.outcome.as_deref(), Some("delivered"));
        }
        assert!(world.app.store.paused_targets().await.unwrap().is_empty());
    }

    async fn what_fails_in_test_mode_is_no_trouble_of_live_payments(db: TestDatabase) {
        let world = World::with(&db, "retry_schedule = [\"0s\", \"1s\"]").await;
        let url = world.receiver.url("/hook");
        world.receiver.answer_next(Answer::status(410));
        let gone = world.tell_in(Mode::Test, &url, None).await;
        world.work().await;
        let ended = world.delivery(&gone).await;
        assert_eq!((ended.outcome.as_deref(), ended.note.as_deref()), (Some("failed"), Some("HTTP 410 Gone")));
        assert!(world.app.store.paused_targets().await.unwrap().is_empty());
        let live = world.tell("/hook").await;
        world.work().await;
        assert_eq!(world.delivery(&live).await.outcome.as_deref(), Some("delivered"));
        let failed = async |mode| {
            let trouble = world.app.store.deliveries_in_trouble(world.business, mode).await.unwrap();
            (trouble.failed.count, world.app.store.failed_count(None, mode).await.unwrap().count)
        };
        assert_eq!((failed(Mode::Test).await, failed(Mode::Live).await), ((1, 1), (0, 0)));
        let since = world.app.now() - Span::days(1);
        let days = async |mode| world.app.store.failed_webhooks_since(Some(world.business), mode, since).await.unwrap();
        assert_eq!((days(Mode::Test).await.len(), days(Mode::Live).await.len()), (1, 0));
    }

    async fn a_paused_target_goes_on_after_a_test_event_and_after_a_changed_url(db: TestDatabase) {
        let world = World::new(&db).await;
        let set_site_url = async |path: &str| {
            let change = WebsiteChange { webhook_url: Some(Some(world.receiver.url(path))), ..Default::default() };
            websites::set_website(&world.app, "tests", world.website, &change).await.unwrap().unwrap();
            world.app.directory.forget();
        };
        set_site_url("/site").await;
        let url = world.receiver.url("/site");
        let site = Some(world.website);
        world.receiver.answer_next(Answer::status(410));
        let first = world.tell_at(&world.receiver.url("/payment"), site).await;
        world.work().await;
        assert_eq!(world.delivery(&first).await.attempts[0].url.as_deref(), Some(url.as_str()));
        // One that fails leaves the pause as it is.
        world.receiver.answer_next(Answer::status(500).body("still down"));
        let failed = tested(&world, None).await;
        assert_eq!((failed.verdict, failed.resumed), (DeliveryOutcome::Failed, false));
        assert_eq!(failed.attempt.answer.as_deref(), Some("still down"));
        assert_eq!(world.work().await, 0);
        let TestSent { webhook_id, url: tried, verdict, resumed, .. } = tested(&world, None).await;
        assert_eq!((tried, verdict, resumed), (url, DeliveryOutcome::Delivered, true));
        world.work().await;
        assert_eq!(world.delivery(&first).await.outcome.as_deref(), Some("delivered"));
        let requests = world.receiver.received();
        assert_eq!(requests.len(), 4, "a test event is sent once, whatever comes of it");
        let test = requests.iter().find(|one| one.header("webhook-id") == webhook_id).unwrap();
        assert_eq!(test.json()["event"], "webhook.test");
        assert!(verifies(&world.secret, test));

        world.receiver.answer_next(Answer::status(410));
        let third = world.tell_at(&world.receiver.url("/payment"), site).await;
        world.work().await;
        assert_eq!(world.delivery(&third).await.outcome.as_deref(), Some("paused"));
        assert_eq!(deliveries::paused_in_use(&world.app).await.unwrap(), 1);
        set_site_url("/new").await;
        world.work().await;
        let delivery = world.delivery(&third).await;
        assert_eq!(delivery.outcome.as_deref(), Some("delivered"));
        assert_eq!(delivery.attempts[1].url.as_deref(), Some(world.receiver.url("/new").as_str()));
        // The replaced URL matters to nobody, until somebody saves it again.
        assert_eq!(world.app.store.paused_targets().await.unwrap().len(), 1);
        assert_eq!(deliveries::paused_in_use(&world.app).await.unwrap(), 0);
        set_site_url("/site").await;
        assert_eq!(deliveries::paused_in_use(&world.app).await.unwrap(), 1);
    }

    async fn a_test_event_goes_where_the_webhooks_of_a_payment_go(db: TestDatabase) {
        let world = World::new(&db).await;
        let (one, other) = (world.tell("/own").await, world.tell("/another?shop=2").await);
        for (told, path) in [(&one, "/own"), (&other, "/another?shop=2")] {
            world.receiver.answer_next(Answer::status(202).body("noted"));
            let sent = tested(&world, Some(&told.payment.transaction_id)).await;
            assert_eq!((sent.url, sent.verdict), (world.receiver.url(path), DeliveryOutcome::Delivered));
            assert_eq!((sent.attempt.status, sent.attempt.answer.as_deref()), (Some(202), Some("noted")));
            let request = world.receiver.received().pop().unwrap();
            assert_eq!(request.target, path);
            assert!(verifies(&world.secret, &request));
            assert_eq!(request.json()["event"], "webhook.test");
            assert!(request.json().get("transaction_id").is_none(), "nobody may take it for a payment's event");
            // It is kept, and is none of the payment's.
            let kept = world.app.store.delivery(sent.delivery_id).await.unwrap().unwrap();
            assert_eq!((kept.outcome.as_deref(), kept.payment_id, kept.attempts.len()), (Some("delivered"), None, 1));
        }
        assert_eq!(send_test(&world.app, world.business, TestOf::Payment("ADA-none")).await.unwrap(), Tested::UnknownPayment);
        assert_eq!(send_test(&world.app, 987_654, TestOf::Business).await.unwrap(), Tested::UnknownBusiness);
        assert!(matches!(send_test(&world.app, world.business, TestOf::Business).await.unwrap(), Tested::Nowhere(_)));
        // A 410 pauses the payment's target as a delivery's would.
        world.receiver.answer_next(Answer::status(410));
        assert_eq!(tested(&world, Some(&one.payment.transaction_id)).await.verdict, DeliveryOutcome::Gone);
        world.work().await;
        assert_eq!(world.delivery(&one).await.outcome.as_deref(), Some("paused"));
        assert_eq!(world.delivery(&other).await.outcome.as_deref(), Some("delivered"));
    }

    async fn a_domain_that_is_no_longer_approved_is_not_sent_to(db: TestDatabase) {
        let world = World::new(&db).await;
        let told = world.tell("/hook").await;
        websites::reject_website(&world.app, "tests", world.website, "sold").await.unwrap().unwrap();
        world.app.directory.forget();
        world.work().await;
        assert!(world.receiver.received().is_empty());
        let delivery = world.delivery(&told).await;
        let why = delivery.attempts[0].error.clone().unwrap();
        assert!(why.contains("not on an approved website domain"), "{why}");
        assert_eq!((delivery.tries, delivery.outcome), (1, None));
        websites::approve_website(&world.app, "tests", world.website).await.unwrap().unwrap();
        world.app.directory.forget();
        world.advance(Span::seconds(6));
        world.work().await;
        assert_eq!(world.delivery(&told).await.outcome.as_deref(), Some("delivered"));
    }

    async fn a_port_of_another_protocol_is_not_sent_to(db: TestDatabase) {
        let world = World::new(&db).await;
        let site = NewWebsite {
            business_id: world.business,
            url: "ankara.example".into(),
            webhook_url: None,
            charges: Default::default(),
            approve: true,
        };
        websites::add_website(&world.app, "tests", &site).await.unwrap().unwrap();
        world.app.directory.forget();
        // As they may have been stored before such ports were refused.
        for url in ["https://ankara.example:6379/hook", "https://ankara.example:25/", "http://127.0.0.1:0/hook"] {
            let told = world.tell_at(url, None).await;
            world.work().await;
            let delivery = world.delivery(&told).await;
            let why = delivery.attempts[0].error.clone().unwrap();
            assert!(why.contains("the webhook URL must not use"), "{url}: {why}");
            assert_eq!(delivery.outcome, None);
        }
    }

    async fn both_secrets_sign_during_a_rotation(db: TestDatabase) {
        let world = World::new(&db).await;
        let fresh = businesses::rotate_secret(&world.app, "tests", world.business).await.unwrap().unwrap();
        world.tell("/hook").await;
        world.work().await;
        let request = world.receiver.wait_for(1, DEADLINE).await.remove(0);
        assert_eq!(request.header("webhook-signature").split(' ').count(), 2);
        assert!(verifies(&world.secret, &request) && verifies(&fresh.secret, &request));
        world.clock.set(fresh.previous_until.unwrap());
        world.tell("/hook").await;
        world.work().await;
        let request = world.receiver.wait_for(2, DEADLINE).await.remove(1);
        assert_eq!(request.header("webhook-signature").split(' ').count(), 1);
    }

    async fn a_bulk_resend_leaves_reversed_payments_out(db: TestDatabase) {
        let world = World::with(&db, "retry_schedule = [\"0s\"]").await;
        world.receiver.answer_otherwise(Answer::status(500));
        let old = world.tell("/old").await;
        world.work().await;
        world.advance(Span::hours(30));
        let (kept, reversed) = (world.tell("/kept").await, world.tell("/reversed").await);
        world.work().await;
        world.reverse(&reversed).await;
        let two = failed(&world, 2).await;
        assert_eq!((two.rows.len(), two.more), (2, true));
        let all = failed(&world, 3).await;
        assert_eq!((all.rows.len(), all.more, all.rows[0].id), (3, false, two.rows[0].id));
        world.receiver.answer_otherwise(Answer::status(200));
        let id = world.delivery(&kept).await.id;
        assert_eq!(deliveries::resend_failed(&world.app, "ada", Span::hours(24)).await.unwrap(), [id]);
        assert_eq!(deliveries::resend_failed(&world.app, "ada", Span::hours(24)).await.unwrap(), Vec::<i64>::new());
        world.work().await;
        assert_eq!(world.delivery(&kept).await.outcome.as_deref(), Some("delivered"));
        for told in [&old, &reversed] {
            assert_eq!(world.delivery(told).await.outcome.as_deref(), Some("failed"));
        }
        // Nor by its own id: nobody is told of money that went back.
        let id = world.delivery(&reversed).await.id;
        let refused = deliveries::resend(&world.app, "ada", &[id]).await.unwrap();
        assert!(refused.ids.is_empty(), "{refused:?}");
        world.work().await;
        assert_eq!(world.delivery(&reversed).await.outcome.as_deref(), Some("failed"));
    }

    async fn an_approval_is_not_told_once_its_payment_is_reversed(db: TestDatabase) {
        let world = World::new(&db).await;
        // Before its first attempt, before a retry, and while its target is paused.
        let first = world.tell("/first").await;
        world.reverse(&first).await;
        world.receiver.answer_next(Answer::status(500));
        let again = world.tell("/again").await;
        world.work().await;
        world.reverse(&again).await;
        world.receiver.answer_next(Answer::status(410));
        let paused = world.tell("/paused").await;
        world.work().await;
        world.reverse(&paused).await;
        let kept = world.tell("/kept").await;
        world.advance(Span::hours(5));
        world.work().await;
        assert_eq!(world.delivery(&kept).await.outcome.as_deref(), Some("delivered"));
        assert_eq!(world.receiver.received().len(), 3, "one failed, one was gone, one is about money that stayed");
        for (told, note, attempts) in [
            (&first, "not sent: the payment was reversed", 0),
            (&again, "not sent again: the payment was reversed", 1),
            (&paused, "not sent again: the payment was reversed", 1),
        ] {
            let delivery = world.delivery(told).await;
            assert_eq!(delivery.outcome.as_deref(), Some("not_sent"), "{delivery:?}");
            assert!(delivery.note.as_deref().unwrap().starts_with(note), "{delivery:?}");
            assert!(delivery.done_at.is_some());
            assert_eq!((delivery.attempts.len(), delivery.tries), (attempts, i64::try_from(attempts).unwrap()));
        }
        world.advance(Span::hours(100));
        assert_eq!(world.work().await, 0);
        // What was delivered before stays so.
        world.reverse(&kept).await;
        assert_eq!(world.delivery(&kept).await.outcome.as_deref(), Some("delivered"));
    }

    async fn a_delivery_that_waits_for_its_host_looks_again(db: TestDatabase) {
        let world = World::new(&db).await;
        world.receiver.answer_next(Answer::status(500));
        let last = world.tell("/last").await;
        world.work().await;
        world.advance(Span::seconds(6));
        // First attempts take all places of the host; the retry waits behind them while its payment is reversed.
        world.receiver.answer_otherwise(Answer::status(200).after(std::time::Duration::from_secs(2)));
        let mut told = Vec::new();
        for n in 0..64 {
            told.push(world.tell(&format!("/{n}")).await);
        }
        let app = world.app.clone();
        let working = tokio::spawn(async move { tillbell::work::run_due(&app).await.unwrap() });
        world.receiver.wait_for(65, DEADLINE).await;
        world.reverse(&last).await;
        working.await.unwrap();
        world.work().await;
        assert_eq!(world.delivery(&last).await.outcome.as_deref(), Some("not_sent"));
        assert_eq!(world.receiver.received().iter().filter(|one| one.target == "/last").count(), 1);
        assert_eq!(world.delivery(&told[0]).await.outcome.as_deref(), Some("delivered"));
    }

    async fn a_test_event_goes_to_the_saved_url_that_wallet_payments_use(db: TestDatabase) {
        let world = World::new(&db).await;
        // The website is 127.0.0.1; this host is none.
        let saved = world.receiver.url("/till").replace("127.0.0.1", "localhost");
        let change = BusinessChange { webhook_url: Some(Some(saved.clone())), ..Default::default() };
        businesses::set_business(&world.app, "tests", world.business, &change).await.unwrap().unwrap();
        world.app.directory.forget();
        let sent = tested(&world, None).await;
        assert_eq!((sent.url, sent.verdict), (saved, DeliveryOutcome::Delivered));
    }

    async fn a_bulk_resend_leaves_test_events_out(db: TestDatabase) {
        let world = World::with(&db, "retry_schedule = [\"0s\"]").await;
        world.receiver.answer_otherwise(Answer::status(500));
        let told = world.tell("/hook").await;
        world.work().await;
        let url = Some(Some(world.receiver.url("/hook")));
        let change = businesses::BusinessChange { webhook_url: url, ..Default::default() };
        businesses::set_business(&world.app, "tests", world.business, &change).await.unwrap().unwrap();
        let sent = tested(&world, None).await;
        let failed = failed(&world, 9).await.rows;
        assert_eq!(failed.len(), 2, "{failed:?}");
        let id = world.delivery(&told).await.id;
        assert_eq!(deliveries::resend_failed(&world.app, "test", Span::hours(24)).await.unwrap(), [id]);
        // By its own id it can be sent.
        assert_eq!(deliveries::resend(&world.app, "test", &[sent.delivery_id]).await.unwrap().ids, [sent.delivery_id]);
    }
}
