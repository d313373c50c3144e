//! A business with a live and a test key, on a whole service.

use serde_json::{Value, json};
use tillbell::domain::merchant::Mode;
use tillbell::ops::ledger::{audit::audit, seal::seal};

use crate::api::server::{CREATE, Reply, Server, Shop};
use crate::harness::databases::TestDatabase;

pub const SIMULATE: &str = "/api/v1/test/alerts";

pub struct World {
    pub server: Server,
    pub shop: Shop,
    pub test_key: String,
}

impl World {
    pub async fn new(db: TestDatabase) -> World {
        let server = Server::start(db).await;
        let shop = server.shop("kola.example").await;
        let test_key = server.key(shop.id, Mode::Test).await;
        World { server, shop, test_key }
    }

    /// A test payment; answers its data.
    pub async fn payment(&self, naira: i64, payer: &str) -> Value {
        self.payment_of(&self.shop, &self.test_key, naira, payer).await
    }

    pub async fn payment_of(&self, shop: &Shop, key: &str, naira: i64, payer: &str) -> Value {
        let members = json!({ "amount": naira.to_string(), "payer_name": payer }).to_string();
        let body = shop.body(members.trim_start_matches('{').trim_end_matches('}'));
        let reply = self.server.json("POST", key, CREATE, &body).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()["data"].clone()
    }

    pub async fn simulate(&self, body: &Value) -> Reply {
        self.server.json("POST", &self.test_key, SIMULATE, &body.to_string()).await
    }

    /// What came of a mail that was simulated.
    pub async fn simulated(&self, body: &Value) -> Value {
        let reply = self.simulate(body).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()["data"].clone()
    }

    pub async fn status(&self, payment: &Value) -> String {
        let id = payment["transaction_id"].as_str().unwrap();
        let reply = self.server.get(&self.test_key, &format!("/api/v1/payment/{id}")).await;
        reply.json()["data"]["status"].as_str().unwrap().to_owned()
    }

    /// Everything adds up, and nothing of test mode has paid anything live.
    pub async fn audited(&self) {
        seal(self.server.app()).await.unwrap();
        for check in audit(self.server.app()).await.unwrap() {
            assert_eq!(check.violations, 0, "audit: {check:?}");
        }
    }
}

/// The mail that pays a payment exactly.
pub fn exact(payment: &Value) -> Value {
    json!({
        "transaction_id": payment["transaction_id"],
        "amount": payment["amount"],
        "payer_name": payment["payer_name"],
    })
}

/// The same with other members.
pub fn with(body: Value, more: Value) -> Value {
    let (Value::Object(mut body), Value::Object(more)) = (body, more) else { panic!("objects") };
    body.extend(more);
    Value::Object(body)
}
