//! Refused requests of a merchant's program are shown with their request ids; a flood is listed in part, counted in full
//! and forgotten in time.

use tillbell::app::requests::{LISTED_PER_MINUTE, Refusal};
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::figures::refused::{
    REQUESTS_KEPT, RequestCounts, flush, refused_requests, request_counts,
};
use tillbell::ops::retention::forget_old;

use crate::api::server::{CREATE, Server};
use crate::harness::app::{TestApp, world};

fn refusal(business_id: i64, at: Timestamp, n: usize) -> Refusal {
    Refusal {
        business_id,
        at,
        method: "GET".into(),
        route: "/api/v1/payments",
        status: 422,
        code: Some("validation_error"),
        message: "status must be pending".into(),
        request_id: format!("r-{n}"),
    }
}

async fn shown(t: &TestApp, business_id: i64) -> usize {
    let (mut count, mut cursor) = (0, None);
    for _ in 0..100 {
        let page = refused_requests(&t.app, business_id, cursor).await.unwrap();
        count += page.rows.len();
        cursor = page.next;
        if cursor.is_none() {
            return count;
        }
    }
    panic!("the list has no end");
}

on_both! {
    async fn a_refused_request_is_shown_with_its_id_and_its_reason(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let other = server.shop("other.example").await;
        assert_eq!(server.get(&shop.key, "/api/v1/payments").await.status, 200);
        let missing = server.get(&shop.key, "/api/v1/payment/none").await;
        let (id, message) = (missing.header("x-request-id").unwrap().to_owned(), missing.message());
        server.get(&shop.key, CREATE).await.fails(405, "");
        server.get("sk_no_such_key", "/api/v1/payments").await.fails(401, "");
        flush(server.app()).await.unwrap();
        let page = refused_requests(server.app(), shop.id, None).await.unwrap();
        let told: Vec<(i64, &str)> = page.rows.iter().map(|one| (one.status, one.method.as_str())).collect();
        assert_eq!(told, [(405, "GET"), (404, "GET")]);
        let one = &page.rows[1];
        assert_eq!((one.request_id.as_str(), one.message.as_str()), (id.as_str(), message.as_str()));
        assert_eq!((one.route.as_str(), one.code.as_deref()), ("/api/v1/payment/{transaction_id}", Some("payment_not_found")));
        assert_eq!(page.next, None);
        let counts = request_counts(server.app(), shop.id).await.unwrap();
        assert_eq!(counts, RequestCounts { good: 1, refused: 2, unlisted: 0 });
        assert!(refused_requests(server.app(), other.id, None).await.unwrap().rows.is_empty());
    }

    async fn a_flood_is_listed_in_part_counted_in_full_and_forgotten_in_time(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let listed = LISTED_PER_MINUTE as usize;
        for minute in 0..2 {
            for n in 0..300 {
                t.app.requests.note_refused(refusal(shop.id, t.app.now(), 300 * minute + n));
            }
            t.advance(Span::minutes(1));
        }
        flush(&t.app).await.unwrap();
        flush(&t.app).await.unwrap();
        assert_eq!(shown(&t, shop.id).await, 2 * listed);
        let first = refused_requests(&t.app, shop.id, None).await.unwrap();
        assert_eq!((first.rows.len(), first.next.is_some()), (50, true));
        assert!(first.rows.windows(2).all(|pair| pair[0].at >= pair[1].at));
        let counts = request_counts(&t.app, shop.id).await.unwrap();
        assert_eq!(counts, RequestCounts { good: 0, refused: 600, unlisted: 600 - 2 * listed as i64 });
        t.advance(Span(REQUESTS_KEPT.0 - Span::minutes(1).0));
        t.app.requests.note_refused(refusal(shop.id, t.app.now(), 700));
        flush(&t.app).await.unwrap();
        assert_eq!(shown(&t, shop.id).await, listed + 1, "older ones are not shown");
        assert_eq!(forget_old(&t.app).await.unwrap().refused, listed);
        t.advance(Span::days(8));
        assert_eq!(forget_old(&t.app).await.unwrap().refused, listed + 1);
        assert_eq!(request_counts(&t.app, shop.id).await.unwrap(), RequestCounts::default());
    }
}
