//! The webhooks of one business: every delivery with its attempts, filters, what was sent, and what failed sent again, of
//! this business alone.

use std::sync::Arc;

use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::csv::{CsvReader, CsvSource};
use tillbell::ops::figures::waiting::waiting_of;
use tillbell::ops::paging::{Cursor, PageSize};
use tillbell::ops::webhooks::browse::{
    ATTEMPTS_READ, BulkResent, DeliveryFilter, browse_deliveries, browse_within, deliveries_about,
    delivery_of, request_at, resend_failed_of, resend_of,
};
use tillbell::ops::webhooks::deliveries::DeliveryStatus;
use tillbell::store::tables::deliveries::{Attempt, record_attempt};

use crate::harness::receiver::Answer;
use crate::webhooks_world::{DEADLINE, World};

const SMALL: PageSize = PageSize { rows: 2, window: 3 };
const PAGES_MAX: usize = 50;
/// No business of these tests.
const NOBODY: i64 = 77;

async fn all_pages(world: &World, filter: &DeliveryFilter) -> Vec<i64> {
    let (mut ids, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = browse_within(&world.app, filter, cursor, SMALL).await.unwrap();
        ids.extend(page.rows.iter().map(|delivery| delivery.id));
        let Some(next) = page.next else { return ids };
        cursor = Some(Cursor::parse(&next.to_string()).unwrap());
    }
    panic!("the list has no end: {ids:?}");
}

on_both! {
    async fn who_sends_one_again_and_again_makes_no_page_long_and_hides_no_neighbour(db: TestDatabase) {
        let world = World::with(&db, "retry_schedule = [\"0s\"]").await;
        world.receiver.answer_otherwise(Answer::status(500));
        let (often, once) = (world.tell("/often").await, world.tell("/once").await);
        world.work().await;
        let often = world.delivery(&often).await.id;
        let tried = |number: i64| Attempt {
            id: 1_000_000 + number, job_id: often, number, url: None, status: Some(500), error: None, answer: None,
            duration_ms: 1, at: world.app.now() + Span::seconds(number),
        };
        for number in 2..=130 {
            let unit = world.app.store.unit(0).await.unwrap().step(record_attempt(&tried(number)));
            assert!(world.app.store.apply(unit).await.unwrap().is_done());
        }
        let filter = DeliveryFilter { business_id: world.business, status: None, event: None, mode: None };
        let page = browse_deliveries(&world.app, &filter, None).await.unwrap();
        let attempts = |id: i64| page.rows.iter().find(|one| one.id == id).unwrap().attempts.clone();
        let (many, one) = (attempts(often), attempts(world.delivery(&once).await.id));
        assert_eq!((many.len(), one.len()), (ATTEMPTS_READ, 1));
        assert_eq!((many[0].number, many.last().unwrap().number), (31, 130), "the newest, the oldest of them first");
    }

    async fn deliveries_of_a_business_are_listed_to_the_end(db: TestDatabase) {
        let world = World::with(&db, "retry_schedule = [\"0s\"]").await;
        world.receiver.answer_otherwise(Answer::status(500));
        let mut failed = Vec::new();
        for n in 0..5 {
            world.advance(Span::seconds(1));
            failed.insert(0, world.tell(&format!("/f{n}")).await);
        }
        world.work().await;
        world.receiver.answer_otherwise(Answer::status(204));
        let mut delivered = Vec::new();
        for n in 0..4 {
            world.advance(Span::seconds(1));
            delivered.insert(0, world.tell(&format!("/d{n}")).await);
        }
        world.work().await;
        world.advance(Span::seconds(1));
        let waiting = world.tell("/w").await;
        let filter = |status, event: Option<&str>| DeliveryFilter {
            business_id: world.business, status, event: event.map(str::to_owned), mode: None,
        };
        let mut ids = Vec::new();
        for told in std::iter::once(&waiting).chain(&delivered).chain(&failed) {
            ids.push(world.delivery(told).await.id);
        }
        assert_eq!(all_pages(&world, &filter(None, None)).await, ids);
        for (status, wanted) in [
            (DeliveryStatus::Waiting, &ids[..1]), (DeliveryStatus::Delivered, &ids[1..5]), (DeliveryStatus::Failed, &ids[5..]),
            (DeliveryStatus::Paused, &[][..]), (DeliveryStatus::NotSent, &[][..]),
        ] {
            assert_eq!(all_pages(&world, &filter(Some(status), None)).await, wanted, "{status:?}");
            assert_eq!(all_pages(&world, &filter(Some(status), Some("webhook.test"))).await, Vec::<i64>::new());
            assert_eq!(all_pages(&world, &filter(Some(status), Some("payment.approved"))).await, wanted);
        }
        let theirs = DeliveryFilter { business_id: NOBODY, status: None, event: None, mode: None };
        assert_eq!(all_pages(&world, &theirs).await, Vec::<i64>::new());
        let transaction = &failed[2].payment.transaction_id;
        let about = deliveries_about(&world.app, &filter(None, None), transaction).await.unwrap();
        assert_eq!(about.iter().map(|one| one.id).collect::<Vec<_>>(), [ids[7]]);
        assert!(deliveries_about(&world.app, &theirs, transaction).await.unwrap().is_empty());
        let page = browse_deliveries(&world.app, &filter(Some(DeliveryStatus::Failed), None), None).await.unwrap();
        assert_eq!((page.rows[0].attempts.len(), page.rows[0].attempts[0].status), (1, Some(500)));
        let source = CsvSource::Deliveries(filter(None, None));
        let mut reader = CsvReader::open(Arc::clone(&world.app), source).unwrap();
        let mut lines = 0;
        while let Some(piece) = reader.next().await.unwrap() {
            lines += piece.lines().count();
        }
        assert_eq!(lines, 11);
    }

    async fn what_was_sent_is_shown_as_it_went(db: TestDatabase) {
        let world = World::new(&db).await;
        let told = world.tell("/hook").await;
        world.work().await;
        let received = world.receiver.wait_for(1, DEADLINE).await.remove(0);
        let id = world.delivery(&told).await.id;
        let delivery = delivery_of(&world.app, world.business, id).await.unwrap().unwrap();
        assert_eq!(delivery_of(&world.app, NOBODY, id).await.unwrap(), None);
        let sent = request_at(&world.app, &delivery, delivery.attempts[0].at).await.unwrap().unwrap();
        assert_eq!(sent.body, told.body);
        for (name, value) in &sent.headers {
            assert_eq!(received.header(name), value.as_str(), "{name}");
        }
        assert_eq!(sent.headers.len(), 4);
    }

    async fn what_failed_is_sent_again_of_one_business_alone(db: TestDatabase) {
        let world = World::with(&db, "retry_schedule = [\"0s\"]").await;
        world.receiver.answer_otherwise(Answer::status(500));
        let old = world.tell("/old").await;
        world.work().await;
        world.advance(Span::hours(30));
        let (one, two, reversed) = (world.tell("/1").await, world.tell("/2").await, world.tell("/3").await);
        world.work().await;
        world.reverse(&reversed).await;
        let in_trouble = async || {
            let waits = waiting_of(&world.app, world.business, tillbell::domain::merchant::Mode::Live).await.unwrap();
            (waits.webhooks.failed.count, waits.webhooks.retried.count, waits.webhooks.paused.count)
        };
        assert_eq!(in_trouble().await, (4, 0, 0));
        let since = world.app.now() - Span::hours(24);
        let nobodys = resend_failed_of(&world.app, "ada", NOBODY, since).await.unwrap();
        assert_eq!(nobodys, BulkResent::default());
        assert_eq!(resend_of(&world.app, "ada", NOBODY, world.delivery(&one).await.id).await.unwrap(), None);
        assert_eq!(world.work().await, 0, "nothing was sent again for somebody else");
        world.receiver.answer_otherwise(Answer::status(200));
        let mine = resend_failed_of(&world.app, "ada", world.business, since).await.unwrap();
        assert_eq!(mine, BulkResent { count: 2, more: false });
        assert_eq!(resend_failed_of(&world.app, "ada", world.business, since).await.unwrap().count, 0);
        world.work().await;
        for (told, outcome) in [(&one, "delivered"), (&two, "delivered"), (&old, "failed"), (&reversed, "failed")] {
            assert_eq!(world.delivery(told).await.outcome.as_deref(), Some(outcome));
        }
        let resent = resend_of(&world.app, "ada", world.business, world.delivery(&old).await.id).await.unwrap();
        assert_eq!(resent.unwrap().ids.len(), 1);
        assert_eq!(in_trouble().await, (1, 0, 0));
        let acts = world.app.store.acts(None, Some(world.business), Timestamp::MIN, 10).await.unwrap();
        assert_eq!(acts.iter().filter(|act| act.act == "webhook resend").count(), 2, "{acts:?}");
    }

    async fn what_is_tried_again_and_what_is_paused_is_told(db: TestDatabase) {
        let world = World::new(&db).await;
        world.receiver.answer_otherwise(Answer::status(500));
        world.tell("/again").await;
        world.work().await;
        world.receiver.answer_otherwise(Answer::status(410));
        world.advance(Span::seconds(1));
        let paused = world.tell("/gone").await;
        world.work().await;
        let waits = waiting_of(&world.app, world.business, tillbell::domain::merchant::Mode::Live).await.unwrap();
        let webhooks = waits.webhooks;
        assert_eq!((webhooks.failed.count, webhooks.retried.count, webhooks.paused.count), (0, 1, 1));
        assert_eq!(webhooks.paused.oldest, Some(paused.payment.created_at));
        let filter = DeliveryFilter { business_id: world.business, status: Some(DeliveryStatus::Paused), event: None, mode: None };
        assert_eq!(all_pages(&world, &filter).await, [world.delivery(&paused).await.id]);
    }
}
