//! Where the page leads afterwards: which addresses are taken in, and what stands behind them.

use serde_json::{Value, json};
use tillbell::domain::merchant::Mode;
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::payments::create::NewPayment;

use super::world::{Desk, NAME};
use crate::wallet_pages::site::{NOT_DEV, exchange};

async fn create(desk: &Desk, return_url: &str) -> (u16, Value) {
    let key = add_key(&desk.t.app, "test", desk.shop.id, Mode::Live, None, None).await.unwrap().unwrap();
    let key = format!("X-API-Key: {}", key.text.as_str());
    let lines = [key.as_str(), "Content-Type: application/json"];
    let body = json!({
        "amount": 5000, "payer_name": NAME, "webhook_url": "https://adire.example/hook", "return_url": return_url,
    });
    let address = desk.running.address;
    let (status, _, body) =
        exchange(address, "POST", "/api/v1/payment-request", &lines, Some(&body.to_string())).await;
    (status, serde_json::from_slice(&body).unwrap())
}

on_both! {
    async fn an_address_that_is_not_the_shops_is_refused(db: TestDatabase) {
        let desk = Desk::with(db, NOT_DEV).await;
        for (url, status, code) in [
            ("https://elsewhere.example/done", 400, "website_not_approved"),
            ("https://adire.example.evil.example/", 400, "website_not_approved"),
            ("http://adire.example/done", 400, "return_url_not_allowed"),
            ("https://ada:secret@adire.example/done", 400, "return_url_not_allowed"),
            ("https://ada@adire.example/done", 400, "return_url_not_allowed"),
            ("ftp://adire.example/done", 400, "return_url_not_allowed"),
            ("https://adire.example:6379/", 400, "return_url_not_allowed"),
            ("http://localhost:4000/done", 400, "website_not_approved"),
            ("javascript:alert(1)", 422, "invalid_fields"),
            ("//adire.example/done", 422, "invalid_fields"),
            ("adire.example/done", 422, "invalid_fields"),
        ] {
            let (answered, told) = create(&desk, url).await;
            assert_eq!((answered, &told["code"]), (status, &json!(code)), "{url}: {told}");
            assert!(told["errors"]["return_url"].is_array() || status == 400, "{url}: {told}");
            assert!(status != 400 || told["message"].as_str().unwrap().starts_with("The return URL "), "{told}");
        }
        for url in ["https://adire.example/done", "https://www.adire.example/a?b=c", "https://shop.adire.example:8443/"] {
            let (status, told) = create(&desk, url).await;
            assert_eq!(status, 201, "{url}: {told}");
            assert!(!told.to_string().contains("return_url") && !told.to_string().contains("done"), "not echoed");
        }
        desk.close().await;
    }

    async fn the_page_leads_back_with_what_became_of_it(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let new = NewPayment {
            transaction_id: Some("a b&c".into()),
            return_url: Some("https://shop.adire.example/done?cart=7#pay".into()),
            ..desk.t.request(&desk.shop, 5_000, NAME)
        };
        let payment = desk.create(new).await;
        let path = desk.path(&payment);
        let back = async || desk.get(&path).await.attributes("a[target]", "href");
        let to = |status: &str| {
            vec![Some(format!("https://shop.adire.example/done?cart=7&transaction_id=a+b%26c&status={status}"))]
        };
        // Whoever does not want to pay finds the way back, too.
        assert_eq!(back().await, to("pending"));
        desk.came(5_000, NAME).await;
        assert_eq!(back().await, to("approved"));
        let page = desk.get(&path).await;
        assert_eq!(page.attributes("a[target]", "target"), [Some("_top".to_owned())], "out of a frame");
        // A website that is not approved any more leads nobody anywhere.
        tillbell::ops::merchants::websites::reject_website(&desk.t.app, "ada", desk.shop.website.id, "sold")
            .await
            .unwrap()
            .unwrap();
        desk.t.app.directory.forget();
        assert_eq!(back().await, Vec::<Option<String>>::new());
        let policy = desk.get(&path).await.header("content-security-policy").unwrap().to_owned();
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        desk.close().await;
    }
}
