//! What a link opens and what not: guessed, cut, of another kind, of another deployment.

use tillbell::domain::time::Span;
use tillbell::store::engine::sql::{Sql, Text};
use tillbell::vault::link::TOKEN_CHARS;

use super::world::{Desk, NAME};
use crate::wallet_pages::site::exchange;

on_both! {
    async fn every_link_that_leads_nowhere_has_the_same_answer(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (payment, path) = desk.open().await;
        let token = path.strip_prefix("/c/").unwrap();
        assert_eq!(token.len(), TOKEN_CHARS);
        let link = payment.link.clone().unwrap();
        // The token of a confirm link, made of the same row.
        let confirm = desk.t.app.vault.link_token(payment.id, &link.nonce).to_string();
        assert_eq!(desk.get(&format!("/pay/{token}")).await.status, 404, "nor the other way round");
        let other = desk.t.create(&desk.shop, 6_000, NAME).await;
        let nonce = &other.link.as_ref().unwrap().nonce;
        let mixed = desk.t.app.vault.checkout_token(payment.id, nonce).to_string();
        let mut turned = token.to_owned();
        turned.replace_range(..1, if token.starts_with('A') { "B" } else { "A" });
        let unknown = desk.get(&format!("/c/{}", "A".repeat(TOKEN_CHARS))).await;
        unknown.is(404, "We could not find this payment");
        let bare = ["/c", "/c/"].map(str::to_owned);
        let guessed = [confirm, mixed, turned, token[1..].to_owned(), format!("{token}A"), "x".repeat(5_000), "%00".into(), "..%2f".into()];
        for path in guessed.map(|guess| format!("/c/{guess}")).into_iter().chain(bare) {
            let answer = desk.get(&path).await;
            assert_eq!((answer.status, &answer.body), (404, &unknown.body), "{path}");
            assert_eq!(answer.header("content-security-policy"), unknown.header("content-security-policy"));
            // What programs ask for is answered in their form.
            for part in ["state", "events"].iter().filter(|_| path.len() > "/c/".len()) {
                let answer = desk.get(&format!("{path}/{part}")).await;
                let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
                assert_eq!((answer.status, body["code"].as_str()), (404, Some("checkout_not_found")), "{path}");
                assert_eq!(answer.header("cache-control"), Some("no-store"));
            }
        }
        assert!(unknown.header("content-security-policy").unwrap().ends_with("frame-ancestors 'none'"));
        // A slash behind it is how some fingers write a link.
        assert_eq!(desk.get(&format!("{path}/")).await.status, 200);
        assert_eq!(desk.get(&format!("{path}/other")).await.status, 404);
        let (status, ..) = exchange(desk.running.address, "POST", &path, &[], Some("")).await;
        assert_eq!(status, 405);
        let (status, _, body) = exchange(desk.running.address, "HEAD", &path, &[], None).await;
        assert_eq!((status, body.len()), (200, 0));
        desk.close().await;
    }

    async fn two_payments_that_share_the_number_of_their_links_are_told_apart(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (payment, path) = desk.open().await;
        let other = desk.t.create(&desk.shop, 6_000, NAME).await;
        static ALIKE: Sql = Sql::new("ALIKE", Text::Plain("update payments set link_key = $2 where id = $1"));
        let key = payment.link.as_ref().unwrap().key;
        let written = desk.t.app.store.write(&ALIKE, vec![other.id.into(), key.into()]).await.unwrap();
        assert!(written.is_done());
        desk.get(&path).await.is(200, "NGN 5,000.00");
        desk.close().await;
    }

    async fn the_link_is_in_the_answers_of_the_api(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let key = tillbell::ops::merchants::keys::add_key(
            &desk.t.app, "test", desk.shop.id, tillbell::domain::merchant::Mode::Live, None, None,
        ).await.unwrap().unwrap();
        let key = format!("X-API-Key: {}", key.text.as_str());
        let lines = [key.as_str(), "Content-Type: application/json"];
        let ask = async |method: &str, path: &str, body: Option<&str>| {
            let (status, _, body) = exchange(desk.running.address, method, path, &lines, body).await;
            let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
            (status, json)
        };
        let body = r#"{"transaction_id": "o-1", "amount": 5000, "payer_name": "Halima Garba", "webhook_url": "https://adire.example/hook"}"#;
        let (status, made) = ask("POST", "/api/v1/payment-request", Some(body)).await;
        assert_eq!(status, 201, "{made}");
        let url = made["data"]["checkout_url"].as_str().unwrap().to_owned();
        let path = url.strip_prefix(&desk.t.app.public_url()).unwrap().to_owned();
        desk.get(&path).await.is(200, "Waiting for your transfer");
        let (_, read) = ask("GET", "/api/v1/payment/o-1", None).await;
        let (_, list) = ask("GET", "/api/v1/payments", None).await;
        let (_, corrected) = ask("PATCH", "/api/v1/payment/o-1/amount", Some(r#"{"new_amount": 5100}"#)).await;
        for told in [&read["data"], &list["data"][0], &corrected["data"]] {
            assert_eq!(told["checkout_url"], url.as_str(), "{told}");
        }
        desk.close().await;
    }

    async fn a_link_outlives_the_end_of_its_payment_by_thirty_days(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        desk.came(5_000, NAME).await;
        desk.t.advance(Span::days(29));
        assert_eq!(desk.get(&path).await.status, 200);
        desk.t.advance(Span::days(1) + Span::seconds(1));
        assert_eq!(desk.get(&path).await.status, 404);
        assert_eq!(desk.get(&format!("{path}/events")).await.status, 404);
        desk.close().await;
    }
}
