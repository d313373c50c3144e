//! One merchant with the wallet switched on, one customer, and a messenger that records.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tillbell::outbound::message::{Outgoing, SendOutcome};

use tillbell::app::App;
use tillbell::directory::Caller;
use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Payment;
use tillbell::domain::phone::Phone;
use tillbell::domain::wallet::Wallet;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::messages::shown::{self, Listed};
use tillbell::ops::wallet_payments::confirm::{Confirmed, confirm};
use tillbell::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin};
use tillbell::ops::wallet_payments::start::{StartRequest, Started, StartedPayment, start_wallet_payment};
use tillbell::ops::wallets::desk::{GivenCredit, credit};
use tillbell::ops::wallets::find::{ensure, find};
use tillbell::outbound::messenger::{Carrier, Messenger};

use crate::harness::app::{Merchant, TestApp};
use crate::harness::databases::TestDatabase;

pub const PHONE: &str = "08035550142";
pub const PIN: &str = "4071";
pub const WRONG: &str = "4072";
pub const HOOK: &str = "https://adire.example/hook";

/// Gives the customer's wallet, which is there already, so much.
pub async fn fund(app: &App, naira: i64) -> Wallet {
    let given = GivenCredit { phone: PHONE, amount: Money(naira * 100), reason: "opening", reference: None };
    credit(app, "ada", &given).await.unwrap().unwrap()
}

/// Messages to one phone or to all, as an operator sees them.
pub async fn oldest_first(app: &App, phone: Option<&Phone>) -> Vec<Listed> {
    let (mut found, more) = shown::list(app, phone, 1_000).await.unwrap();
    assert!(!more);
    found.reverse();
    found
}

/// What a messenger was given.
#[derive(Clone, Debug)]
pub struct Seen {
    pub to: String,
    pub kind: MessageKind,
    pub text: String,
    pub code: Option<String>,
    pub is_window_open: bool,
}

/// A messenger that takes everything, unless it is told otherwise.
#[derive(Default)]
pub struct Post {
    seen: Mutex<Vec<Seen>>,
    next: Mutex<VecDeque<(Duration, SendOutcome)>>,
}

impl Post {
    /// The next message meets this instead of being taken.
    pub fn answer(&self, outcome: SendOutcome) {
        self.answer_after(Duration::ZERO, outcome);
    }

    pub fn answer_after(&self, delay: Duration, outcome: SendOutcome) {
        self.next.lock().unwrap().push_back((delay, outcome));
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn count(&self, kind: MessageKind) -> usize {
        self.seen().iter().filter(|seen| seen.kind == kind).count()
    }

    pub fn last(&self, kind: MessageKind) -> Seen {
        let seen = self.seen();
        seen.iter().rev().find(|seen| seen.kind == kind).unwrap_or_else(|| panic!("no {kind:?}")).clone()
    }
}

impl Carrier for Post {
    fn send(&self, outgoing: Outgoing) -> Pin<Box<dyn Future<Output = SendOutcome> + Send + '_>> {
        let provider_id = format!("wamid.{}", outgoing.message_id);
        self.seen.lock().unwrap().push(Seen {
            to: outgoing.to.e164(),
            kind: outgoing.kind,
            text: outgoing.text.to_string(),
            code: outgoing.code.map(|code| code.to_string()),
            is_window_open: outgoing.is_window_open,
        });
        let next = self.next.lock().unwrap().pop_front();
        Box::pin(async move {
            match next {
                None => SendOutcome::Sent { provider_id },
                Some((delay, outcome)) => {
                    tokio::time::sleep(delay).await;
                    outcome
                }
            }
        })
    }
}

pub struct World {
    pub t: TestApp,
    pub shop: Merchant,
    pub post: Arc<Post>,
}

impl World {
    pub async fn start(db: TestDatabase) -> World {
        World::with(db, "[server]\ndev = true\n").await
    }

    pub async fn with(db: TestDatabase, settings: &str) -> World {
        let post = Arc::new(Post::default());
        let t = TestApp::start_sending(db, settings, Some(Messenger::Other(post.clone()))).await;
        let shop = t.merchant("adire.example").await;
        let mut world = World { t, shop, post };
        world.shop = world.enabled(&world.shop, HOOK).await;
        world
    }

    /// The merchant with the wallet on and a saved webhook URL.
    pub async fn enabled(&self, shop: &Merchant, hook: &str) -> Merchant {
        let change = BusinessChange {
            wallet_enabled: Some(true),
            webhook_url: Some(Some(hook.to_owned())),
            ..BusinessChange::default()
        };
        set_business(&self.t.app, "test", shop.id, &change).await.unwrap().unwrap();
        self.t.app.directory.forget();
        let business = self.t.app.directory.business(shop.id).await.unwrap().unwrap();
        let caller = Caller { business, ..shop.caller.clone() };
        Merchant { id: shop.id, caller, website: shop.website.clone() }
    }

    pub fn phone(&self) -> Phone {
        Phone::parse(PHONE).unwrap()
    }

    /// The customer's wallet as it is.
    pub async fn wallet(&self) -> Wallet {
        find(&self.t.app, &self.phone()).await.unwrap().unwrap()
    }

    /// A wallet that holds so much.
    pub async fn funded(&self, naira: i64) -> Wallet {
        ensure(&self.t.app, &self.phone()).await.unwrap();
        fund(&self.t.app, naira).await
    }

    pub fn request(&self, naira: i64, key: &str) -> StartRequest {
        StartRequest {
            phone: self.phone(),
            base: Money(naira * 100),
            order_reference: format!("ORDER {key}"),
            order_summary: Some("2 x ankara\n1 x gele".into()),
            payer_name: "Ifeoma Danladi".into(),
            webhook_url: Some(HOOK.into()),
            idempotency_key: key.into(),
            fingerprint: [7; 32],
        }
    }

    pub async fn try_start(&self, request: &StartRequest) -> Started {
        start_wallet_payment(&self.t.app, &self.shop.caller, request).await.unwrap()
    }

    pub async fn begin(&self, naira: i64, key: &str) -> StartedPayment {
        match self.try_start(&self.request(naira, key)).await {
            Started::Waiting(started) => *started,
            other => panic!("not started: {other:?}"),
        }
    }

    /// Sets the customer's PIN through a link.
    pub async fn set_pin(&self, token: &str, pin: &str) {
        let sent = send_code(&self.t.app, token, None).await.unwrap();
        assert!(matches!(sent, CodeSent::Sent { .. }), "{sent:?}");
        let code = self.post.last(MessageKind::Code).code.unwrap();
        let set = set_pin(&self.t.app, token, &code, pin, pin, None).await.unwrap();
        assert!(matches!(set, PinSet::Done), "{set:?}");
    }

    /// A funded wallet with a PIN and a payment that waits for it; answers the link's token.
    pub async fn ready(&self, funds: i64, naira: i64) -> (StartedPayment, String) {
        self.funded(funds).await;
        let started = self.begin(naira, "k-1").await;
        let token = token(&started);
        self.set_pin(&token, PIN).await;
        (started, token)
    }

    pub async fn confirm(&self, token: &str, pin: &str) -> Confirmed {
        confirm(&self.t.app, token, pin, None).await.unwrap()
    }

    pub async fn payment(&self, started: &StartedPayment) -> Payment {
        self.t.app.store.payment(started.intent.payment_id).await.unwrap().unwrap()
    }

    pub async fn merchant_balance(&self) -> Money {
        self.t.app.store.merchant_balance(self.shop.id).await.unwrap().unwrap()
    }

    /// Sends what workers are to send; webhooks to hosts that do not exist fail, which is no matter here.
    pub async fn send_messages(&self) {
        tillbell::work::run_due(&self.t.app).await.unwrap();
    }
}

/// The last part of the link.
pub fn token(started: &StartedPayment) -> String {
    started.confirm_url.rsplit('/').next().unwrap().to_owned()
}
