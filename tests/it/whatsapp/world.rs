//! A service that speaks to a double of the Cloud API: served over HTTP by the machine's clock ([`Desk`]),
//! or with a clock set by hand ([`still`]).

use std::sync::Arc;
use std::time::Duration;
use tillbell::ops::messages::shown::Listed;

use serde_json::Value;
use tillbell::config::Config;
use tillbell::domain::phone::Phone;
use tillbell::ops::wallets::find::ensure;
use tillbell::outbound::messenger::Messenger;
use tillbell::outbound::whatsapp::WhatsApp;

use crate::api::server::{Reply, Server, Shop, WALLET_HOOK};
use crate::harness::app::TestApp;
use crate::harness::cloud_api::{APP_SECRET, CloudApi, signature};
use crate::harness::databases::TestDatabase;
use crate::wallet::world::{HOOK, PHONE, Post, World, fund, oldest_first};

pub const DIGITS: &str = "2348035550142";
pub const WEBHOOK: &str = "/whatsapp/webhook";

pub struct Desk {
    pub api: CloudApi,
    pub server: Server,
    pub shop: Shop,
}

impl Desk {
    pub async fn open(db: TestDatabase) -> Desk {
        Desk::with(db, "").await
    }

    /// With further keys of `[whatsapp]`.
    pub async fn with(db: TestDatabase, more: &str) -> Desk {
        let api = CloudApi::start().await;
        let settings = format!("{}[server]\npublic_url = \"https://pay.example.com\"\n", api.settings(more));
        let server = Server::with(db, &settings).await;
        let shop = server.wallet_shop().await;
        Desk { api, server, shop }
    }

    pub async fn post(&self, route: &str, body: &Value) -> Reply {
        self.server.json("POST", &self.shop.key, &format!("/api/v1/wallet/{route}"), &body.to_string()).await
    }

    /// The customer has a wallet that holds so much.
    pub async fn fund(&self, naira: i64) {
        ensure(self.server.app(), &Phone::parse(PHONE).unwrap()).await.unwrap();
        fund(self.server.app(), naira).await;
    }

    pub async fn start(&self, key: &str) -> Reply {
        self.start_for(PHONE, key).await
    }

    pub async fn start_for(&self, phone: &str, key: &str) -> Reply {
        let body = serde_json::json!({
            "phone": phone, "amount": 5000, "order_reference": "A-7", "order_summary": "one\ntwo",
            "payer_name": "Ifeoma Danladi", "webhook_url": WALLET_HOOK, "idempotency_key": key
        });
        self.post("pay/start", &body).await
    }

    pub async fn text(&self, words: &str) -> Reply {
        self.post("send-message", &serde_json::json!({ "phone": PHONE, "message": words })).await
    }

    /// Meta calls with this body, signed as it should be.
    pub async fn told(&self, body: &str) -> Reply {
        self.told_with(body, &[&signature(body.as_bytes(), APP_SECRET)]).await
    }

    pub async fn told_with(&self, body: &str, headers: &[&str]) -> Reply {
        let mut all = vec!["Content-Type: application/json"];
        all.extend(headers);
        self.server.send("POST", WEBHOOK, &all, Some(body.as_bytes())).await
    }

    /// All messages, oldest first.
    pub async fn messages(&self) -> Vec<Listed> {
        oldest_first(self.server.app(), None).await
    }

    /// State and error of the newest message.
    pub async fn last(&self) -> (String, Option<String>) {
        let row = self.messages().await.pop().expect("a message").row;
        (row.status.as_str().to_owned(), row.error)
    }

    /// Waits until the newest message is in this state.
    pub async fn until(&self, status: &str) {
        let waiting = async {
            while self.last().await.0 != status {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let came = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(came.is_ok(), "{status} did not come: {:?}", self.last().await);
    }

    /// Now, in seconds.
    pub fn seconds(&self) -> i64 {
        self.server.app().now().0 / 1_000_000
    }
}

/// The wallet's world over the double, with a clock set by hand.
pub async fn still(db: TestDatabase) -> (CloudApi, World) {
    let api = CloudApi::start().await;
    let config = Config::load(&api.settings(""), std::iter::empty()).unwrap();
    let whatsapp = WhatsApp::new(config.messenger.whatsapp().unwrap()).unwrap();
    let messenger = Messenger::WhatsApp(Arc::new(whatsapp));
    let settings = "[server]\npublic_url = \"https://pay.example.com\"\n";
    let t = TestApp::start_sending(db, settings, Some(messenger)).await;
    let shop = t.merchant("adire.example").await;
    let mut world = World { t, shop, post: Arc::new(Post::default()) };
    world.shop = world.enabled(&world.shop, HOOK).await;
    (api, world)
}
