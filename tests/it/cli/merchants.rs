//! Businesses and keys.

use super::{Desk, fields};

on_both! {
    async fn a_business_is_added_shown_and_changed(db: TestDatabase) {
        let desk = Desk::new(&db);
        let added = desk.json_text(&["business", "add", "--name", " Ijo Fabrics ", "--email", "pay@ijo.example"]);
        assert!(added.starts_with(r#"{"id":1,"name":"Ijo Fabrics","email":"pay@ijo.example","webhook_url":null,"#), "{added}");
        assert!(added.contains(r#""percentage":1.00,"fixed":50.00,"cap":null,"paid_by_customer":false,"charges_enabled":true"#), "{added}");
        let parsed: serde_json::Value = serde_json::from_str(&added).unwrap();
        assert!(parsed["webhook_secret"].as_str().unwrap().starts_with("whsec_"));
        let shown = desk.json_text(&["business", "show", "1"]);
        assert!(shown.ends_with(r#","balance":0.00}"#), "{shown}");
        assert!(!shown.contains("whsec_"), "the secret is shown once");
        let set = desk.json_text(&[
            "business", "set", "1", "--wallet", "on", "--rate-limit", "600", "--percentage", "1.5", "--fixed", "0",
            "--cap", "2000", "--paid-by-customer", "--webhook-url", "https://ijo.example/hook",
        ]);
        assert!(set.contains(r#""wallet":true,"rate_limit":600,"wallet_rate_limit":null,"events":null,"percentage":1.50,"fixed":0.00,"cap":2000.00,"paid_by_customer":true,"#), "{set}");
        let set = desk.json(&["business", "set", "1", "--rate-limit", "default", "--no-cap", "--no-charges", "--active", "off", "--no-webhook-url"]);
        assert_eq!(set["rate_limit"], serde_json::Value::Null);
        assert_eq!((&set["charges_enabled"], &set["active"], &set["webhook_url"]), (&false.into(), &false.into(), &serde_json::Value::Null));
        let list = desk.json_text(&["business", "list"]);
        assert!(list.starts_with(r#"{"businesses":[{"id":1,"#) && list.ends_with("]}"), "{list}");
        assert!(desk.text(&["business", "show", "1"]).contains("balance:           NGN 0.00"));
    }

    async fn a_business_that_waits_is_shown_so_and_activated(db: TestDatabase) {
        use tillbell::domain::merchant::Business;
        use tillbell::store::tables::merchants::set_business;
        let desk = Desk::new(&db);
        desk.business("Shop");
        desk.business("Zobo Corner");
        let app = desk.app().await;
        let one = app.store.business(2).await.unwrap().unwrap();
        let unit = app.store.unit(2).await.unwrap().step(set_business(&Business { live: false, ..one }, app.now()));
        assert!(app.store.apply(unit).await.unwrap().is_done());
        assert_eq!(desk.json(&["business", "show", "2"])["waits_for_operator"], true);
        let list = desk.json(&["business", "list"]);
        assert_eq!((&list["businesses"][0]["waits_for_operator"], &list["businesses"][1]["waits_for_operator"]), (&false.into(), &true.into()));
        assert!(desk.refused(&["key", "add", "2"]).contains("works in test mode alone"));
        let set = desk.json(&["business", "set", "2", "--active", "on"]);
        assert_eq!((&set["active"], &set["waits_for_operator"]), (&true.into(), &serde_json::Value::Null));
        desk.json(&["key", "add", "2"]);
        assert!(!desk.text(&["business", "list"]).contains("waits"), "where nobody registers, nothing is told of it");
    }

    async fn a_business_whose_wallet_payments_are_stopped_is_shown_so(db: TestDatabase) {
        use tillbell::store::tables::wallets;
        let desk = Desk::new(&db);
        desk.business("Shop");
        desk.json(&["business", "set", "1", "--wallet", "on"]);
        let app = desk.app().await;
        let now = app.now();
        let unit = app.store.unit(1).await.unwrap();
        let unit = unit.step(wallets::know_business(1)).step(wallets::stop_business(1, now));
        assert!(app.store.apply(unit).await.unwrap().is_done());
        let shown = desk.json(&["business", "show", "1"]);
        assert_eq!((&shown["wallet"], &shown["wallet_stop_reason"]), (&true.into(), &"wrong PINs".into()));
        assert_eq!(shown["wallet_stopped_at"], now.to_string());
        desk.json(&["business", "set", "1", "--wallet", "on"]);
        assert_eq!(desk.json(&["business", "show", "1"])["wallet_stopped_at"], serde_json::Value::Null);
    }

    async fn a_business_is_refused_with_one_line(db: TestDatabase) {
        let desk = Desk::new(&db);
        let add = |extra: &[&str]| {
            let base = ["business", "add", "--name", "Shop", "--email", "a@b.example"];
            desk.refused(&[&base[..], extra].concat())
        };
        assert_eq!(add(&["--webhook-url", "http://shop.example/x"]), "tillbell: the webhook URL must use https");
        assert!(add(&["--webhook-url", "https://shop.example:25/x"]).contains("the webhook URL must not use a port"));
        assert!(add(&["--percentage", "100.01"]).contains("percentage"));
        assert!(add(&["--fixed", "1000000000.00"]).contains("fixed part"));
        assert!(desk.refused(&["business", "add", "--name", " ", "--email", "a@b.example"]).contains("name"));
        assert!(desk.refused(&["business", "add", "--name", "x", "--email", "nobody"]).contains("e-mail"));
        assert_eq!(desk.refused(&["business", "show", "9"]), "tillbell: there is no business 9");
        assert_eq!(desk.refused(&["business", "set", "9", "--active", "off"]), "tillbell: there is no business 9");
        desk.business("Shop");
        assert!(desk.refused(&["business", "set", "1", "--rate-limit", "0"]).contains("at least 1"));
        assert_eq!(desk.json(&["business", "list"])["businesses"].as_array().unwrap().len(), 1, "refused ones are stored");
    }

    async fn a_secret_is_sealed_and_rotates(db: TestDatabase) {
        let desk = Desk::new(&db);
        let first = desk.json(&["business", "add", "--name", "Shop", "--email", "a@b.example"]);
        let second = desk.json(&["business", "rotate-secret", "1"]);
        assert_ne!(first["webhook_secret"], second["webhook_secret"]);
        assert!(second["previous_secret_valid_until"].as_str().unwrap().ends_with('Z'));
        let both = signing(&desk).await;
        assert_eq!(both, [text(&second), text(&first)]);
        let third = desk.json(&["business", "rotate-secret", "1"]);
        assert_eq!(signing(&desk).await, [text(&third), text(&second)]);
    }

    async fn a_key_is_shown_once_and_revoked(db: TestDatabase) {
        let desk = Desk::new(&db);
        let business = desk.business("Shop");
        let added = desk.json(&["key", "add", &business, "--label", "till 1", "--expires", "90d"]);
        let key = added["key"].as_str().unwrap();
        assert_eq!(added["id"], 1);
        assert!(key.starts_with("tb_live_") && key.len() == 46, "{key}");
        let test = desk.json(&["key", "add", &business, "--test"]);
        assert!(test["key"].as_str().unwrap().starts_with("tb_test_"));
        let list = desk.json_text(&["key", "list", &business]);
        assert!(!list.contains(&key[12..]), "a list shows a key");
        let parsed: serde_json::Value = serde_json::from_str(&list).unwrap();
        let keys = parsed["keys"].as_array().unwrap();
        assert_eq!((keys[0]["id"].as_i64(), keys[1]["id"].as_i64()), (Some(2), Some(1)), "newest first");
        assert_eq!((&keys[1]["label"], &keys[1]["active"]), (&"till 1".into(), &true.into()));
        let told = desk.text(&["key", "list", &business]);
        assert!(told.contains("test") && told.contains("STATE") && told.contains("active"), "{told}");
        assert!(!told.split_whitespace().any(|word| word == "live:"), "{told}");
        let ended = desk.json(&["key", "revoke", "1"]);
        assert_eq!(ended["active"], false);
        assert_eq!(desk.json(&["key", "revoke", "1"])["revoked_at"], ended["revoked_at"], "revoking twice is once");
        assert_eq!(desk.refused(&["key", "revoke", "7"]), "tillbell: there is no key 7");
        assert_eq!(desk.refused(&["key", "add", "7"]), "tillbell: there is no business 7");
        assert_eq!(desk.refused(&["key", "list", "7"]), "tillbell: there is no business 7");
        assert!(desk.refused(&["key", "add", &business, "--expires", "0s"]).contains("must be valid for"));
    }
}

fn text(made: &serde_json::Value) -> String {
    made["webhook_secret"].as_str().unwrap().to_owned()
}

/// The secrets that would sign now, read as the service reads them.
async fn signing(desk: &Desk<'_>) -> Vec<String> {
    use tillbell::ops::merchants::businesses::signing_secrets;
    let app = desk.app().await;
    let now = app.now();
    let secrets = signing_secrets(&app, 1, now).await.unwrap().unwrap();
    let later = now + tillbell::domain::time::Span::hours(25);
    assert_eq!(signing_secrets(&app, 1, later).await.unwrap().unwrap().len(), 1, "the old one ends");
    assert!(signing_secrets(&app, 99, now).await.unwrap().is_none());
    secrets.iter().map(|secret| secret.text().to_string()).collect()
}

on_both! {
    async fn answers_name_their_fields_as_documented(db: TestDatabase) {
        let desk = Desk::new(&db);
        let business = [
            "id", "name", "email", "webhook_url", "active", "wallet", "rate_limit", "wallet_rate_limit", "events",
            "percentage", "fixed", "cap", "paid_by_customer", "charges_enabled", "created_at",
        ];
        let added = desk.json_text(&["business", "add", "--name", "Shop", "--email", "a@b.example"]);
        assert_eq!(fields(&added), [&business[..], &["webhook_secret"]].concat());
        assert_eq!(fields(&desk.json_text(&["business", "show", "1"])), [&business[..], &["balance"]].concat());
        assert_eq!(
            fields(&desk.json_text(&["key", "add", "1"])),
            ["id", "key", "business_id", "label", "mode", "rights", "created_at", "expires_at"]
        );
        assert_eq!(
            fields(&desk.json_text(&["website", "add", "1", "shop.example"])),
            [
                "id", "business_id", "url", "host", "webhook_url", "status", "approved", "reject_reason",
                "percentage", "fixed", "cap", "paid_by_customer", "charges_enabled", "created_at",
            ]
        );
    }
}
