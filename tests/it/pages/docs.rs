//! The API's pages at `/docs`: read without scripts, tried with them, and a key that is typed there is nowhere else.

use serde_json::json;
use tillbell::domain::merchant::Mode;
use tillbell::ops::merchants::keys::add_key;

use super::dashboard_world::Shops;
use crate::harness::browser::Browser;
use crate::harness::document::DOCUMENT;

/// Bytes of a page with all that its first view loads.
const FIRST_VIEW_MAX: usize = 150_000;
/// Of the page alone; the longest tells of every webhook.
const HTML_MAX: usize = 70_000;
const PARTS: [&str; 9] =
    ["", "/payments", "/wallet", "/events", "/balance", "/test-mode", "/service", "/webhooks", "/errors"];
/// Keeps what the policy forbade.
const LISTEN: &str = "window.forbidden = [];
    document.addEventListener('securitypolicyviolation', one => window.forbidden.push(one.violatedDirective + ' ' + one.blockedURI));";
const EVERYWHERE: &str =
    "return [location.href, document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage),
    document.documentElement.outerHTML, JSON.stringify(history.state)].join(' ');";

on_one! {
    async fn every_route_and_event_and_code_is_shown_without_scripts(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut visitor = shops.pages.visitor();
        let mut all = String::new();
        for part in PARTS {
            let page = visitor.get(&format!("/docs{part}")).await;
            assert_eq!(page.status, 200, "{part}");
            assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'; script-src 'self'"));
            assert!(page.body.len() < HTML_MAX, "{part}: {} bytes", page.body.len());
            assert!(page.header("set-cookie").is_none_or(|cookie| !cookie.contains("tb_")));
            all.push_str(&page.body);
        }
        for (path, item) in DOCUMENT.whole["paths"].as_object().unwrap() {
            for operation in item.as_object().unwrap().values() {
                let id = operation["operationId"].as_str().unwrap();
                assert!(all.contains(&format!("id=\"{id}\"")), "{path} is on no page");
                assert!(all.contains(&format!("#{id}\"")), "no way leads to {id}");
                for response in operation["responses"].as_object().unwrap().values() {
                    for code in response["x-codes"].as_array().into_iter().flatten() {
                        assert!(all.contains(&format!("<code>{}</code>", code.as_str().unwrap())), "{code}");
                    }
                }
            }
        }
        for event in DOCUMENT.whole["webhooks"].as_object().unwrap().keys() {
            assert!(all.contains(&format!("<code>{event}</code>")), "{event}");
        }
        assert_eq!(visitor.get("/docs/nothing").await.status, 404);
        shops.close().await;
    }

    async fn a_route_is_tried_with_a_key_that_is_kept_nowhere(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let added = add_key(&shops.t().app, "ada", shops.shop.id, Mode::Test, None, None).await.unwrap().unwrap();
        let (key, base) = (added.text.to_string(), shops.pages.running.url());
        let browser = Browser::with_scripts();
        browser.resize((1280, 900));
        browser.open(&format!("{base}/docs/payments"));
        browser.execute(LISTEN, json!([]));
        let send = "#listPayments [data-send]";
        let told = "#listPayments [data-told]";
        browser.click(send);
        browser.shows("Type an API key at the top of the page first.");
        browser.fill("[data-try-key]", &key);
        browser.click(send);
        browser.wait_for("#listPayments [data-answer]:not([hidden])");
        assert!(browser.texts(told)[0].starts_with("200 OK in "), "{:?}", browser.texts(told));
        assert!(browser.texts("#listPayments [data-answer]")[0].contains("\"per_page\": 15"));
        // What is wrong is shown as it comes.
        browser.fill("#listPayments-status-try", "paid");
        browser.click(send);
        browser.shows("422 Unprocessable");
        browser.fill("#readPayment-transaction_id-try", "no/such one");
        browser.click("#readPayment [data-send]");
        browser.shows("payment_not_found");
        // To another page, without typing the key again.
        browser.click("nav.side a[href='/docs/wallet#lookUpWallet']");
        browser.wait_for("#lookUpWallet");
        browser.click("#lookUpWallet [data-send]");
        browser.shows("\"wallet_id\": null");
        assert_eq!(browser.execute("return window.forbidden", json!([])), json!([]), "the policy forbade something");
        let everywhere = browser.execute(EVERYWHERE, json!([]));
        assert!(!everywhere.as_str().unwrap().contains(&key), "{everywhere}");
        // A page that is loaded anew knows nothing of it.
        browser.reload();
        browser.wait_for("[data-try-key]");
        assert_eq!(browser.value("[data-try-key]"), "");
        let loaded = browser.execute(
            "return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
                .map(one => [one.name, one.decodedBodySize]);",
            json!([]),
        );
        let loaded = loaded.as_array().unwrap();
        let bytes: u64 = loaded.iter().map(|one| one[1].as_u64().unwrap()).sum();
        assert!(bytes > 0 && (bytes as usize) < FIRST_VIEW_MAX, "{bytes} bytes: {loaded:?}");
        assert!(loaded.iter().all(|one| one[0].as_str().unwrap().starts_with(&base)), "{loaded:?}");
        shops.close().await;
    }
}
