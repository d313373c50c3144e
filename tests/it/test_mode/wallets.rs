//! Wallets of test mode: filled by simulated mails, paid with on the page as in earnest, and never near a real number.

use std::sync::Arc;

use serde_json::{Value, json};
use tillbell::alert_reader::Banks;
use tillbell::domain::merchant::Mode;
use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::mail_intake::ingest::MailIngestor;
use tillbell::ops::alerts::simulate::{Case, CaseAsk, CaseRefused, SimulateRefused, simulate_case};
use tillbell::ops::messages::shown::{Listed, of_business};
use tillbell::ops::wallet_payments::confirm::{Confirmed, confirm};
use tillbell::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin};
use tillbell::outbound::messenger::Messenger;

use super::world::{SIMULATE, World, with};
use crate::api::server::{Reply, Server};
use crate::harness::databases::TestDatabase;
use crate::wallet::world::{PHONE, PIN, Post, WRONG, fund};

const NUMBER: &str = "+2340000000007";
const WALLET: &str = "/api/v1/wallet";
const LIMITLESS: &str = "[wallet.tier1]\ndaily = \"900000\"\nbalance = \"900000\"\n";

/// A service whose messenger records, with a shop that has the wallet in live mode too.
async fn start(db: TestDatabase) -> (World, Arc<Post>) {
    let post = Arc::new(Post::default());
    let server = Server::sending(db, LIMITLESS, Some(Messenger::Other(post.clone()))).await;
    let shop = server.wallet_shop().await;
    let test_key = server.key(shop.id, Mode::Test).await;
    (World { server, shop, test_key }, post)
}

impl World {
    async fn wallet(&self, key: &str, route: &str, body: &Value) -> Reply {
        self.server.json("POST", key, &format!("{WALLET}/{route}"), &body.to_string()).await
    }

    /// The data of a good answer to a test key.
    async fn good(&self, route: &str, body: &Value) -> Value {
        let reply = self.wallet(&self.test_key, route, body).await;
        assert!(reply.status == 200 || reply.status == 201, "{route}: {reply:?}");
        reply.json()["data"].clone()
    }

    /// A wallet of the number that holds so much.
    async fn filled(&self, number: &str, naira: i64) -> Value {
        self.good("ensure", &json!({ "phone": number })).await;
        let top_up = json!({ "phone": number, "amount": naira, "payer_name": "Bisi Lawal" });
        let asked = self.good("topup", &top_up).await;
        assert_eq!(asked["bank_name"], "Tillbell Test Bank", "{asked}");
        let mail = json!({
            "transaction_id": asked["transaction_id"], "amount": asked["amount"], "payer_name": "BISI LAWAL",
        });
        assert_eq!(self.simulated(&mail).await["outcome"], "matched");
        self.good("lookup", &json!({ "phone": number })).await
    }

    /// A payment that waits for the PIN; its data and its link's token.
    async fn started(&self, number: &str, naira: i64, key: &str) -> (Value, String) {
        let started = self.good("pay/start", &asks(number, naira, key)).await;
        let token = started["confirm_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        (started, token)
    }

    /// What the dashboard shows of messages, newest first.
    async fn shown(&self, mode: Mode) -> Vec<Listed> {
        of_business(self.server.app(), self.shop.id, mode, 100).await.unwrap()
    }

    async fn newest(&self, kind: MessageKind) -> Listed {
        let shown = self.shown(Mode::Test).await;
        shown.into_iter().find(|one| one.row.kind == kind).unwrap_or_else(|| panic!("no {kind:?}"))
    }

    async fn set_test_pin(&self, token: &str) {
        let sent = send_code(&self.server.running.app, token, None).await.unwrap();
        assert!(matches!(sent, CodeSent::Sent { .. }), "{sent:?}");
        let text = self.newest(MessageKind::Code).await.text.unwrap();
        let code = text.split(|c: char| !c.is_ascii_digit()).find(|run| run.len() == 6);
        let set = set_pin(
            &self.server.running.app,
            token,
            code.unwrap_or_else(|| panic!("{text}")),
            PIN,
            PIN,
            None,
        );
        assert!(matches!(set.await.unwrap(), PinSet::Done));
    }
}

fn asks(number: &str, naira: i64, key: &str) -> Value {
    json!({
        "phone": number, "amount": naira, "order_reference": "A-7", "payer_name": "Bisi Lawal",
        "idempotency_key": key,
    })
}

on_both! {
    async fn a_test_wallet_is_filled_and_pays_as_in_earnest(db: TestDatabase) {
        let (w, post) = start(db).await;
        // Without the operator.
        w.server.change(w.shop.id, |change| change.wallet_enabled = Some(false)).await;
        let held = w.filled(NUMBER, 20_000).await;
        assert_eq!((held["balance"].to_string().as_str(), &held["phone"]), ("20000.0", &json!(NUMBER)), "{held}");
        let (started, token) = w.started(NUMBER, 5_000, "k-1").await;
        let link = w.newest(MessageKind::Link).await;
        let url = started["confirm_url"].as_str().unwrap();
        assert_eq!(link.link.as_deref(), Some(url));
        assert!(link.text.unwrap().contains(url));
        let page = w.server.get("", &format!("/pay/{token}")).await;
        assert!(page.status == 200 && page.body.contains("Test payment."), "{page:?}");
        w.set_test_pin(&token).await;
        let wrong = confirm(&w.server.running.app, &token, WRONG, None).await.unwrap();
        assert!(matches!(wrong, Confirmed::WrongPin { tries_left: 4 }), "{wrong:?}");
        let paid = confirm(&w.server.running.app, &token, PIN, None).await.unwrap();
        assert!(matches!(paid, Confirmed::Paid(_)), "{paid:?}");
        let read = format!("/api/v1/payment/{}", started["transaction_id"].as_str().unwrap());
        assert_eq!(w.server.get(&w.test_key, &read).await.json()["data"]["status"], "approved");
        let left = w.good("lookup", &json!({ "phone": NUMBER })).await;
        let receives: f64 = 20_000.0 - 5_000.0;
        assert_eq!((left["balance"].as_f64(), &left["has_pin"]), (Some(receives), &json!(true)), "{left}");
        let events = w.server.get(&w.test_key, "/api/v1/events").await.json();
        let told = &events["data"][0];
        assert_eq!((&told["event"], &told["test"]), (&json!("payment.approved"), &json!(true)), "{events}");
        w.good("send-message", &json!({ "phone": NUMBER, "message": "Your parcel is on its way." })).await;
        let own = w.newest(MessageKind::Merchant).await;
        assert!(own.text.unwrap().contains("parcel"));
        // Nothing of it went out, and nothing of it is live.
        assert!(post.seen().is_empty(), "{:?}", post.seen());
        assert!(w.shown(Mode::Live).await.is_empty());
        let balance = w.server.get(&w.shop.key, "/api/v1/balance").await.json();
        assert_eq!(balance["data"]["available"].to_string(), "0.0", "{balance}");
        assert_eq!(w.server.get(&w.shop.key, "/api/v1/events").await.json()["data"], json!([]));
        w.audited().await;
    }

    async fn real_numbers_and_those_of_others_are_never_met(db: TestDatabase) {
        let (w, post) = start(db).await;
        let body = |number: &str| with(asks(number, 100, "k-9"), json!({ "message": "Good morning", "webhook_url": "https://kola.example/hook" }));
        for route in ["lookup", "ensure", "topup", "send-message", "pay/start"] {
            let live = w.wallet(&w.shop.key, route, &body(NUMBER)).await.fails(422, "");
            assert_eq!(live["error_codes"]["phone"][0], "invalid_phone", "{live}");
            assert!(live["errors"]["phone"][0].as_str().unwrap().contains("test number"), "{live}");
            let test = w.wallet(&w.test_key, route, &body(PHONE)).await.fails(422, "");
            assert!(test["errors"]["phone"][0].as_str().unwrap().contains("from +2340000000000"), "{test}");
        }
        assert!(post.seen().is_empty(), "{:?}", post.seen());
        // The same number of another business is another wallet.
        w.filled(NUMBER, 3_000).await;
        let other = w.server.shop("zobo.example").await;
        let theirs = w.server.key(other.id, Mode::Test).await;
        let looked = w.wallet(&theirs, "lookup", &json!({ "phone": NUMBER })).await.json();
        assert_eq!(looked["data"]["wallet_id"], Value::Null, "{looked}");
        w.wallet(&theirs, "pay/start", &asks(NUMBER, 100, "k-1")).await.fails(404, "no wallet");
        let made = w.wallet(&theirs, "ensure", &json!({ "phone": NUMBER })).await.json();
        assert_eq!(made["data"]["balance"].to_string(), "0.0", "{made}");
        w.wallet(&theirs, "pay/start", &asks(NUMBER, 100, "k-1")).await.fails(400, "Insufficient balance");
        let mine = w.good("lookup", &json!({ "phone": NUMBER })).await;
        assert_ne!(mine["wallet_id"], made["data"]["wallet_id"]);
        assert!(of_business(w.server.app(), other.id, Mode::Test, 10).await.unwrap().is_empty());
        // A live payment and a test one may have the same key.
        w.started(NUMBER, 100, "order-1").await;
        w.wallet(&w.shop.key, "ensure", &json!({ "phone": PHONE })).await;
        fund(w.server.app(), 2_000).await;
        let live = with(asks(PHONE, 100, "order-1"), json!({ "webhook_url": "https://kola.example/hook" }));
        assert_eq!(w.wallet(&w.shop.key, "pay/start", &live).await.status, 201);
        let again = w.wallet(&w.shop.key, "pay/start", &with(live.clone(), json!({ "webhook_url": null }))).await;
        again.fails(422, "webhook URL");
        assert_eq!(w.wallet(&w.test_key, "pay/start", &with(live, json!({ "phone": PHONE }))).await.status, 422);
        // A simulated mail fills no real wallet.
        let asked = json!({ "phone": PHONE, "amount": 700, "payer_name": "Bisi Lawal" });
        w.server.account("2200110011", Mode::Live).await;
        let asked = w.wallet(&w.shop.key, "topup", &asked).await.json()["data"].clone();
        let mail = json!({ "transaction_id": asked["transaction_id"], "amount": 700, "payer_name": "Bisi Lawal" });
        w.server.json("POST", &w.test_key, SIMULATE, &mail.to_string()).await.fails(422, "");
        assert_eq!(post.count(MessageKind::Link), 1);
        w.audited().await;
    }

    async fn no_case_of_a_mail_ends_what_a_wallet_pays(db: TestDatabase) {
        let (w, _) = start(db).await;
        w.filled(NUMBER, 3_000).await;
        let (started, token) = w.started(NUMBER, 1_000, "k-1").await;
        let app = w.server.app();
        let desk = MailIngestor::new(&app.config, Arc::new(Banks::embedded().unwrap()));
        for case in Case::ALL {
            let ask = CaseAsk {
                business_id: w.shop.id,
                transaction_id: started["transaction_id"].as_str().unwrap(),
                case,
                amount: None,
                payer_name: None,
                operator: "ada",
            };
            let refused = simulate_case(app, &desk, &ask).await.unwrap();
            assert_eq!(refused.err(), Some(CaseRefused::Other(SimulateRefused::Wallet)), "{case:?}");
        }
        w.set_test_pin(&token).await;
        let paid = confirm(&w.server.running.app, &token, PIN, None).await.unwrap();
        assert!(matches!(paid, Confirmed::Paid(_)), "{paid:?}");
        w.audited().await;
    }

    async fn wrong_pins_on_test_wallets_stop_nobody(db: TestDatabase) {
        let (w, _) = start(db).await;
        for n in 0..8 {
            let number = format!("+23400000000{n:02}");
            w.filled(&number, 1_000 + n).await;
            let (_, token) = w.started(&number, 100, &format!("k-{n}")).await;
            w.set_test_pin(&token).await;
            for left in (1..=4).rev() {
                let wrong = confirm(&w.server.running.app, &token, WRONG, None).await.unwrap();
                assert!(matches!(wrong, Confirmed::WrongPin { tries_left } if tries_left == left), "{number}: {wrong:?}");
            }
        }
        // 24 and more would have stopped a business.
        w.wallet(&w.shop.key, "ensure", &json!({ "phone": PHONE })).await;
        let held = fund(w.server.app(), 2_000).await;
        assert_eq!(held.balance, Money(200_000));
        let live = with(asks(PHONE, 100, "k-live"), json!({ "webhook_url": "https://kola.example/hook" }));
        assert_eq!(w.wallet(&w.shop.key, "pay/start", &live).await.status, 201);
        assert_eq!(w.server.app().store.stopped_wallet_businesses().await.unwrap(), 0);
        w.audited().await;
    }
}
