//! What the messages of the API say: the type that is wanted, the scheme that is allowed, where a URL is wrong;
//! and which characters a name may not have.

use serde_json::{Value, json};
use tillbell::domain::merchant::Mode;
use tillbell::ops::merchants::accounts::{AccountRefusal, GivenBank, NewAccount, add_account};
use tillbell::ops::merchants::businesses::{BusinessRefusal, ChargeChange, NewBusiness, add_business};
use tillbell::ops::merchants::websites::{NewWebsite, WebsiteRefusal, add_website};
use tillbell::outbound::messenger::Messenger;

use super::server::{CREATE, Server};
use crate::wallet::routes::{WALLET, start_body};
use crate::wallet::world::{PHONE, Post};

/// What changes the direction of text, and what nobody sees.
const UNSEEN: [char; 16] = [
    '\u{202a}',
    '\u{202e}',
    '\u{2066}',
    '\u{2069}',
    '\u{200e}',
    '\u{200f}',
    '\u{61c}',
    '\u{200b}',
    '\u{200d}',
    '\u{2028}',
    '\u{2029}',
    '\u{ad}',
    '\u{feff}',
    '\u{3164}',
    '\u{2060}',
    '\u{e0041}',
];

on_both! {
    async fn messages_say_what_is_wanted_in_plain_words(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let asked = r#""amount": 5000, "webhook_url": "https://kola.example/in""#;
        for (members, field, told) in [
            (r#""payer_name": 5"#, "payer_name", "The payer name must be a string."),
            (r#""name": "Ada Obi", "bvn": {}"#, "bvn", "The BVN must be a string."),
            (r#""payer_name": "\ud800""#, "payer_name",
                "The payer name must be valid Unicode: it has an unpaired surrogate (\\ud800 to \\udfff)."),
            (r#""name": "Ada Obi", "transaction_id": "..""#, "transaction_id",
                "The transaction ID must not be '.' or '..'."),
            (r#""name": "Ada Obi", "business_website_id": 987654"#, "business_website_id",
                "The business website ID must be that of one of your approved websites."),
        ] {
            let reply = server.json("POST", &shop.key, CREATE, &format!("{{{asked}, {members}}}")).await;
            assert_eq!(reply.fails_on(&[field])["errors"][field], json!([told]), "{members}");
        }
        let twice = server.json("POST", &shop.key, CREATE, r#"{"amount": 1, "amount": 2}"#).await;
        twice.fails(400, r#"The body contains the field "amount" more than once"#);
        server.get(&shop.key, "/api/v1/payments?cursor=abc").await.fails(422, "cursor is not valid");
        let wrong = server.get(&shop.key, "/api/v1/payments?page=0").await;
        wrong.fails(422, "page must be a whole number of at least 1.");
        let keyed = async |amount: i64| {
            let body = shop.body(&format!(r#""amount": {amount}"#));
            server.json_with("POST", &shop.key, CREATE, &body, &["Idempotency-Key: a"]).await
        };
        assert_eq!(keyed(2_000).await.status, 201);
        keyed(2_001).await.fails(422, "This Idempotency-Key was already used for a different request.");
    }

    async fn the_schemes_that_the_mode_allows_are_named(db: TestDatabase) {
        let settings = "[server]\ndev = true\n";
        let server = Server::sending(db, settings, Some(Messenger::Other(std::sync::Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        server.account("2200110011", Mode::Live).await;
        for url in ["ftp://kola.example/in", "ws://kola.example/in"] {
            let members = format!(r#""webhook_url": "{url}""#);
            server.create(&shop, &members).await.fails(400, "The webhook URL must use http or https");
            let start = server.json("POST", &shop.key, &format!("{WALLET}/pay/start"), &start_body(&members)).await;
            start.fails(400, "one of its approved websites");
        }
        let taken = server.create(&shop, r#""webhook_url": "http://kola.example/in""#).await;
        assert_eq!(taken.status, 201, "{taken:?}");
    }

    async fn a_refused_webhook_url_is_told_by_its_field_too(db: TestDatabase) {
        let server = Server::sending(db, "", Some(Messenger::Other(std::sync::Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        let told = |reply: &super::server::Reply, code: &str, words: &str| {
            let json = reply.fails(400, words);
            assert_eq!(json["code"], code);
            assert_eq!(json["error_codes"], json!({ "webhook_url": [code] }));
            let message = format!("{}.", json["message"].as_str().unwrap());
            assert_eq!(json["errors"], json!({ "webhook_url": [message] }));
        };
        for url in ["https://elsewhere.example/in", "ftp://elsewhere.example/in"] {
            let members = format!(r#""webhook_url": "{url}""#);
            told(&server.create(&shop, &members).await, "website_not_approved", "must be from the approved website domain");
            let start = server.json("POST", &shop.key, &format!("{WALLET}/pay/start"), &start_body(&members)).await;
            told(&start, "webhook_url_not_saved", "must be one that is saved for your business");
        }
        // Other refusals are about no field.
        let missing = server.get(&shop.key, "/api/v1/payment/none").await.fails(404, "");
        assert!(missing.get("errors").is_none(), "{missing}");
    }

    async fn a_name_with_characters_that_nobody_sees_is_refused(db: TestDatabase) {
        let server = Server::sending(db, "", Some(Messenger::Other(std::sync::Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        server.account("2200110011", Mode::Live).await;
        let texts = ["payer_name", "name", "fname", "lname", "bank", "service", "registration_number", "transaction_id"];
        for c in UNSEEN {
            for field in texts {
                let member = json!({ field: format!("Ada{c}Obi") }).to_string();
                let reply = server.create(&shop, &member[1..member.len() - 1]).await;
                println!("{field} {:x}", u32::from(c));
                let json = reply.fails_on(&[field]);
                assert_eq!(json["error_codes"], json!({ field: ["invisible_characters"] }));
            }
            let body = json!({ "phone": PHONE, "amount": 500, "payer_name": format!("Ada Obi{c}!") }).to_string();
            let reply = server.json("POST", &shop.key, &format!("{WALLET}/topup"), &body).await;
            assert_eq!(reply.fails_on(&["payer_name"])["error_codes"], json!({ "payer_name": ["invisible_characters"] }));
            let start = start_body(&json!({ "payer_name": format!("Ada{c}Obi") }).to_string().replace(['{', '}'], ""));
            let reply = server.json("POST", &shop.key, &format!("{WALLET}/pay/start"), &start).await;
            assert_eq!(reply.fails_on(&["payer_name"])["error_codes"], json!({ "payer_name": ["invisible_characters"] }));
        }
        let turned = json!({ "phone": PHONE, "message": "one\n\u{202e}two" }).to_string();
        server.json("POST", &shop.key, &format!("{WALLET}/send-message"), &turned).await.fails_on(&["message"]);
        let members = r#""transaction_id": "№ 7/ọ", "payer_name": "Ọlá Zoë D’Souza-Bello", "service": "Cake ☺\ufe0f"#;
        let good = server.create(&shop, &format!("{members}\"")).await;
        assert_eq!(good.status, 201, "{good:?}");
        let read: Value = server.get(&shop.key, "/api/v1/payment/%E2%84%96%207%2F%E1%BB%8D").await.json();
        assert_eq!(read["data"]["payer_name"], "Ọlá Zoë D’Souza-Bello");
    }

    async fn no_answer_of_the_api_is_kept_on_the_way(db: TestDatabase) {
        let server = Server::sending(db, "", Some(Messenger::Other(std::sync::Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        server.account("2200110011", Mode::Live).await;
        let made = server.create(&shop, r#""transaction_id": "n-1""#).await;
        assert_eq!(made.status, 201, "{made:?}");
        let lookup = json!({ "phone": PHONE }).to_string();
        let all = [
            made,
            server.create(&shop, r#""transaction_id": "n-1""#).await,
            server.get(&shop.key, "/api/v1/payment/n-1").await,
            server.get(&shop.key, "/api/v1/payment/n-2").await,
            server.get(&shop.key, "/api/v1/payments").await,
            server.get("tb_live_wrong", "/api/v1/payments").await,
            server.get(&shop.key, "/api/v1/nothing").await,
            server.get(&shop.key, CREATE).await,
            server.json("PATCH", &shop.key, "/api/v1/payment/n-1/amount", r#"{"new_amount": 7}"#).await,
            server.json("POST", &shop.key, &format!("{WALLET}/lookup"), &lookup).await,
        ];
        for reply in &all {
            assert_eq!(reply.header("cache-control"), Some("no-store"), "{reply:?}");
        }
        let statuses: Vec<u16> = all.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses, [201, 422, 200, 404, 200, 401, 404, 405, 200, 200]);
    }

    async fn a_business_and_an_account_have_names_that_can_be_seen(db: TestDatabase) {
        let server = Server::start(db).await;
        for c in UNSEEN {
            let new = NewBusiness {
                name: format!("Ada{c}Stores"),
                email: "till@shop.example".into(),
                webhook_url: None,
                charges: ChargeChange::default(),
            };
            let refused = add_business(server.app(), "test", &new).await.unwrap().err();
            assert_eq!(refused, Some(BusinessRefusal::Name), "{:x}", u32::from(c));
            let new = NewAccount {
                number: "2200110011".into(),
                name: format!("ADA{c}STORES"),
                bank: GivenBank::Unknown("Corner Bank".into()),
                business_id: None,
                via: None,
                mode: Mode::Live,
                force: true,
            };
            let refused = add_account(server.app(), "test", &new).await.unwrap().err();
            assert!(matches!(refused, Some(AccountRefusal::Name)), "{:x}: {refused:?}", u32::from(c));
        }
    }
}

on_one! {
    async fn a_url_with_characters_that_nobody_sees_is_refused(db: TestDatabase) {
        let server = Server::sending(db, "", Some(Messenger::Other(std::sync::Arc::new(Post::default())))).await;
        let shop = server.wallet_shop().await;
        server.account("2200110011", Mode::Live).await;
        for c in UNSEEN {
            let url = format!("https://kola.example/a{c}b");
            for field in ["webhook_url", "website_url"] {
                let member = json!({ field: url }).to_string();
                let reply = server.create(&shop, &member[1..member.len() - 1]).await;
                println!("{field} {:x}", u32::from(c));
                assert_eq!(reply.fails_on(&[field])["error_codes"], json!({ field: ["invisible_characters"] }));
            }
            let start = start_body(&json!({ "webhook_url": url }).to_string().replace(['{', '}'], ""));
            let reply = server.json("POST", &shop.key, &format!("{WALLET}/pay/start"), &start).await;
            assert_eq!(reply.fails_on(&["webhook_url"])["error_codes"], json!({ "webhook_url": ["invisible_characters"] }));
            let new = NewWebsite {
                business_id: shop.id,
                url,
                webhook_url: None,
                charges: ChargeChange::default(),
                approve: true,
            };
            let refused = add_website(server.app(), "test", &new).await.unwrap().err();
            assert!(matches!(refused, Some(WebsiteRefusal::Url(_))), "{refused:?}");
        }
        let good = server.create(&shop, r#""webhook_url": "https://kola.example/ọjà?q=%E2%80%8B""#).await;
        assert_eq!(good.status, 201, "{good:?}");
    }

    async fn a_byte_order_mark_is_named(db: TestDatabase) {
        let (server, shop) = Server::with_shop(db).await;
        let body = format!("\u{feff}{}", shop.body(""));
        let reply = server.json("POST", &shop.key, CREATE, &body).await;
        let told = "The body is not valid JSON: it starts with a byte-order mark (line 1, column 1)";
        assert_eq!(reply.fails(400, told)["code"], "invalid_json");
    }
}
