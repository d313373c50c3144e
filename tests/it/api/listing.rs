//! `GET /payments`: pages, cursors, filters, and what is refused.

use super::server::{Reply, Server, Shop, names};
use crate::audits::by_hand_on;

fn ids(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.status, 200, "{reply:?}");
    let json = reply.json();
    let rows = json["data"].as_array().unwrap();
    rows.iter().map(|row| row["transaction_id"].as_str().unwrap().to_owned()).collect()
}

/// Payments p0 to p(n-1), oldest first, of amounts far enough apart.
async fn fill(server: &Server, shop: &Shop, n: usize) {
    for at in 0..n {
        let reply =
            server.create(shop, &format!(r#""transaction_id": "p{at}", "amount": {}"#, 100 + at * 300)).await;
        assert_eq!(reply.status, 201, "{reply:?}");
    }
}

async fn fill_one_more(server: &Server, shop: &Shop) {
    let reply = server.create(shop, r#""transaction_id": "last", "amount": 12345"#).await;
    assert_eq!(reply.status, 201, "{reply:?}");
}

on_both! {
    async fn newest_first_by_page_and_by_cursor(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let empty = server.get(&shop.key, "/api/v1/payments").await;
        assert_eq!(empty.body, r#"{"success":true,"data":[],"meta":{"current_page":1,"per_page":15,"last_page":1,"total":0,"next_cursor":null}}"#);
        fill(&server, &shop, 17).await;
        let first = server.get(&shop.key, "/api/v1/payments").await;
        assert_eq!(ids(&first), (2..17).rev().map(|n| format!("p{n}")).collect::<Vec<_>>());
        let meta = &first.json()["meta"];
        assert_eq!((meta["total"].as_i64(), meta["last_page"].as_i64(), meta["per_page"].as_i64()), (Some(17), Some(2), Some(15)));
        assert_eq!(names(meta).len(), 5, "total_is_capped only where it is");
        let read = server.get(&shop.key, "/api/v1/payment/p16").await;
        assert_eq!(first.json()["data"][0], read.json()["data"], "rows as in read");
        let second = server.get(&shop.key, "/api/v1/payments?page=2").await;
        assert_eq!(ids(&second), ["p1", "p0"]);
        assert!(second.json()["meta"]["next_cursor"].is_null());
        assert!(ids(&server.get(&shop.key, "/api/v1/payments?page=3").await).is_empty());

        let mut seen = Vec::new();
        let mut path = "/api/v1/payments?per_page=4".to_owned();
        for _ in 0..5 {
            let reply = server.get(&shop.key, &path).await;
            seen.extend(ids(&reply));
            match reply.json()["meta"]["next_cursor"].as_str() {
                Some(cursor) => path = format!("/api/v1/payments?per_page=4&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(seen, (0..17).rev().map(|n| format!("p{n}")).collect::<Vec<_>>());
        let other = server.shop("other.example").await;
        server.get(&other.key, &path).await.fails_on(&["cursor"]);
        assert!(ids(&server.get(&other.key, "/api/v1/payments").await).is_empty());
    }

    async fn filters_and_their_mistakes(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        fill(&server, &shop, 3).await;
        let day = server.app().now().to_string()[..10].to_owned();
        let id = shop.website;
        for (query, count) in [
            ("status=pending".to_owned(), 3),
            ("status=approved".into(), 0),
            (format!("from_date={day}&to_date={day}"), 3),
            ("to_date=2020-01-01".into(), 0),
            ("from_date=2099-01-01".into(), 0),
            (format!("website_id={id}"), 3),
            ("website_id=987654".into(), 0),
            ("status=&page=&unknown=1".into(), 3),
            ("per_page=2".into(), 2),
        ] {
            let reply = server.get(&shop.key, &format!("/api/v1/payments?{query}")).await;
            assert_eq!(ids(&reply).len(), count, "{query}");
        }
        for (query, fields) in [
            ("status=paid", vec!["status"]),
            ("from_date=2026-02-30", vec!["from_date"]),
            ("to_date=tomorrow", vec!["to_date"]),
            ("from_date=2026-02-02&to_date=2026-02-01", vec!["from_date"]),
            ("per_page=0&page=0", vec!["per_page", "page"]),
            ("per_page=101", vec!["per_page"]),
            ("cursor=abc", vec!["cursor"]),
        ] {
            server.get(&shop.key, &format!("/api/v1/payments?{query}")).await.fails_on(&fields);
        }
    }

    async fn a_total_is_exact_up_to_its_limit_and_then_says_that_it_is_capped(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        fill(&server, &shop, 1).await;
        let columns = "business_id, kind, mode, status, version, amount_kobo, charge_percentage_kobo, \
            charge_fixed_kobo, business_receives_kobo, schedule_rate, schedule_fixed_kobo, \
            is_schedule_paid_by_customer, is_schedule_enabled, payer_name, webhook_url, corrections, \
            created_at, updated_at, expires_at, approvable_until_at, is_swept, is_mismatch, is_name_mismatch";
        let more = format!(
            "insert into payments (id, transaction_id, {columns}) \
             with recursive more(n) as (select 1 union all select n + 1 from more where n < 99999) \
             select 1000000 + n, 'more-' || cast(n as text), {columns} from more, (select * from payments limit 1) as first"
        );
        by_hand_on(&server.database, &more, &more).await;
        let totals = async || {
            let reply = server.get(&shop.key, "/api/v1/payments?per_page=100").await;
            let meta = reply.json()["meta"].clone();
            (meta["total"].as_i64().unwrap(), meta["last_page"].as_i64().unwrap(), meta["total_is_capped"].clone())
        };
        assert_eq!(totals().await, (100_000, 1_000, serde_json::Value::Null));
        fill_one_more(&server, &shop).await;
        assert_eq!(totals().await, (100_000, 1_000, true.into()));
    }
}
