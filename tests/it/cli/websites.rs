//! Websites: whose host is whose, also when two are approved at the same moment.

use std::sync::Arc;

use tillbell::ops::merchants::businesses::{ChargeChange, NewBusiness, add_business};
use tillbell::ops::merchants::websites::{NewWebsite, WebsiteRefusal, add_website, approve_website};

use super::{Desk, open_app};

/// Businesses that want overlapping hosts at the same moment, and how often that is tried.
const RIVALS: usize = 6;
const ROUNDS: usize = 5;

on_both! {
    async fn a_website_is_added_approved_and_rejected(db: TestDatabase) {
        let desk = Desk::new(&db);
        let one = desk.business("One");
        let added = desk.json(&["website", "add", &one, "https://www.Shop.example/", "--webhook-url", "https://pay.shop.example/h"]);
        assert_eq!((&added["id"], &added["approved"], &added["status"]), (&1.into(), &false.into(), &"pending".into()));
        assert_eq!((&added["url"], &added["host"]), (&"https://www.Shop.example/".into(), &"shop.example".into()));
        let approved = desk.json(&["website", "approve", "1"]);
        assert_eq!((&approved["id"], &approved["approved"]), (&1.into(), &true.into()));
        assert_eq!(desk.json(&["website", "approve", "1"])["approved"], true, "twice is once");
        let rejected = desk.json(&["website", "reject", "1", "--reason", "sells nothing"]);
        assert_eq!((&rejected["approved"], &rejected["reject_reason"]), (&false.into(), &"sells nothing".into()));
        assert_eq!(desk.json(&["website", "approve", "1"])["reject_reason"], serde_json::Value::Null);
        let straight = desk.json(&["website", "add", &one, "blog.shop.example", "--approve"]);
        assert_eq!((&straight["url"], &straight["approved"]), (&"https://blog.shop.example".into(), &true.into()));
        let set = desk.json_text(&["website", "set", "2", "--percentage", "2", "--paid-by-customer"]);
        assert!(set.contains(r#""percentage":2.00,"fixed":50.00,"cap":null,"paid_by_customer":true,"#), "{set}");
        assert_eq!(desk.json(&["website", "set", "2", "--inherit-charges"])["percentage"], serde_json::Value::Null);
        let list = desk.json(&["website", "list", &one]);
        assert_eq!(list["websites"].as_array().unwrap().len(), 2);
    }

    async fn a_host_has_one_owner(db: TestDatabase) {
        let desk = Desk::new(&db);
        let (one, two) = (desk.business("One"), desk.business("Two"));
        desk.json(&["website", "add", &one, "shop.example", "--approve"]);
        for host in ["shop.example", "www.shop.example", "a.shop.example", "b.a.shop.example"] {
            let said = desk.refused(&["website", "add", &two, host, "--approve"]);
            assert!(said.contains("approved for shop.example"), "{said}");
        }
        assert_eq!(desk.json(&["website", "list", &two])["websites"], serde_json::json!([]));
        // Waiting for approval is not refused, approving is.
        let waiting = desk.json(&["website", "add", &two, "pay.shop.example"])["id"].to_string();
        desk.refused(&["website", "approve", &waiting]);
        desk.json(&["website", "add", &two, "myshop.example", "--approve"]);
        desk.json(&["website", "add", &two, "deep.down.other.example", "--approve"]);
        assert!(desk.refused(&["website", "add", &one, "other.example", "--approve"]).contains("deep.down.other.example"));
        desk.json(&["website", "add", &one, "more.shop.example", "--approve"]);
        desk.json(&["website", "reject", "1", "--reason", "sold"]);
        let taken = desk.refused(&["website", "add", &two, "more.shop.example", "--approve"]);
        assert!(taken.contains("more.shop.example"), "the rest of the first one's hosts stay its own: {taken}");
        assert_eq!(desk.json(&["website", "approve", &waiting])["approved"], true, "its rival is gone");
    }

    async fn what_cannot_be_a_website_is_refused(db: TestDatabase) {
        let desk = Desk::new(&db);
        let one = desk.business("One");
        for (url, why) in [
            ("com.ng", "public suffix"),
            ("https://10.0.0.1/", "IP address"),
            ("https://a:b@shop.example", "user name"),
            ("ftp://shop.example", "http or https"),
            ("http://127.0.0.1:9", "IP address"),
            ("http://localhost:9", "localhost, which is allowed in dev mode only"),
            ("till-server", "full domain name"),
        ] {
            let said = desk.refused(&["website", "add", &one, url]);
            assert!(said.contains(why), "{url}: {said}");
        }
        desk.json(&["website", "add", &one, "shop.example"]);
        assert!(desk.refused(&["website", "add", &one, "WWW.shop.example."]).contains("website 1"));
        assert_eq!(desk.refused(&["website", "approve", "8"]), "tillbell: there is no website 8");
        assert_eq!(desk.refused(&["website", "add", "8", "x.example"]), "tillbell: there is no business 8");
        assert!(desk.refused(&["website", "reject", "1", "--reason", " "]).contains("reason"));
        assert!(desk.refused(&["website", "set", "1", "--webhook-url", "http://shop.example"]).contains("https"));
        let hook = ["website", "set", "1", "--webhook-url", "http://localhost:9/hook"];
        assert!(desk.refused(&hook).contains("dev mode only"));
    }

    async fn in_dev_mode_businesses_share_the_loopback(db: TestDatabase) {
        let desk = Desk::dev(&db);
        for name in ["One", "Two"] {
            let id = desk.business(name);
            let added = desk.json(&["website", "add", &id, "http://127.0.0.1:8099", "--approve"]);
            assert_eq!(added["approved"], true);
            desk.json(&["website", "add", &id, "http://localhost:8099", "--approve"]);
        }
    }

    async fn of_approvals_at_the_same_moment_one_wins(db: TestDatabase) {
        let folder = tempfile::tempdir().unwrap();
        let mut apps = Vec::new();
        // One App each: as many processes on one database.
        for _ in 0..RIVALS {
            apps.push(Arc::new(open_app(&db, folder.path()).await));
        }
        let mut businesses = Vec::new();
        for _ in 0..RIVALS {
            let (name, email) = ("Rival".to_owned(), "r@rival.example".to_owned());
            let new = NewBusiness { name, email, webhook_url: None, charges: ChargeChange::default() };
            businesses.push(add_business(&apps[0], "test", &new).await.unwrap().unwrap().business.id);
        }
        for round in 0..ROUNDS {
            let mut waiting = Vec::new();
            for (n, business) in businesses.iter().enumerate() {
                // Equal, above and below one another: `r.example`, `a.r.example`, `a.a.r.example`, `r.example`...
                let url = format!("{}r{round}.example", "a.".repeat(n % 3));
                let new = NewWebsite {
                    business_id: *business, url, webhook_url: None, charges: ChargeChange::default(), approve: false,
                };
                waiting.push(add_website(&apps[0], "test", &new).await.unwrap().unwrap().id);
            }
            let tasks: Vec<_> = waiting
                .into_iter()
                .zip(&apps)
                .map(|(id, app)| {
                    let app = app.clone();
                    tokio::spawn(async move { approve_website(&app, "test", id).await })
                })
                .collect();
            let mut won = 0;
            for task in tasks {
                match task.await.unwrap() {
                    Ok(Ok(_)) => won += 1,
                    Ok(Err(WebsiteRefusal::Taken { .. })) => {}
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(won, 1, "round {round}");
        }
    }
}
