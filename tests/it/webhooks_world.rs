//! A merchant with a receiver, and payments whose webhooks are to be delivered.
//!
//! The service's own parts do everything but the approval: events are recorded as an approval
//! records them. The clock starts at the present, because the official verifier of signatures
//! insists on it, and moves only when told. Used by the other `webhooks_*` modules.

use std::sync::Arc;
use std::time::Duration;

use standardwebhooks::Webhook;
use tillbell::app::App;
use tillbell::clock::{Clock, ManualClock, SystemClock, SystemRandom};
use tillbell::config::Config;
use tillbell::domain::charges::{Charges, Quote, Schedule};
use tillbell::domain::event::EventKind;
use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{Approval, Approver, PayerDetails, Payment, TransferRequest};
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::merchants::businesses::{self, NewBusiness};
use tillbell::ops::merchants::websites::{self, NewWebsite};
use tillbell::ops::webhooks::body::{self, About};
use tillbell::ops::webhooks::event::{self, Fact};
use tillbell::store::tables::deliveries::Delivery;
use tillbell::store::tables::payments;
use tillbell::store::{Applied, IdKind, StoreOptions};

use crate::harness::databases::TestDatabase;
use crate::harness::receiver::{Received, Receiver};

pub const DEADLINE: Duration = Duration::from_secs(30);
/// The key that seals its secrets.
pub const KEY: &str = "5f1d0c3b2a49586776859403f2e1d0c9b8a7968574635241302f1e0d9c8b7a69";

pub struct World {
    pub app: Arc<App>,
    pub clock: Arc<ManualClock>,
    pub receiver: Receiver,
    pub business: i64,
    pub website: i64,
    pub secret: String,
    settings: String,
    database: String,
}

/// An event about a payment of its own.
pub struct Told {
    pub payment: Payment,
    pub body: Vec<u8>,
}

async fn open(database: &str, settings: &str, clock: Arc<dyn Clock>) -> Arc<App> {
    let file = format!(
        "[database]\nurl = \"{database}\"\n[server]\ndev = true\n[secret]\nkey = \"{KEY}\"\n[webhooks]\n{settings}\n"
    );
    let config = Config::load(&file, std::iter::empty()).unwrap();
    let options = StoreOptions { readers: 2, writers: 2, id_block: 512, ..StoreOptions::service(database) };
    let app = App::open_with(config, &options, clock, Arc::new(SystemRandom)).await.unwrap();
    app.prepare().await.unwrap();
    Arc::new(app)
}

impl World {
    pub async fn new(db: &TestDatabase) -> World {
        World::with(db, "").await
    }

    /// `settings` are lines of the section `webhooks`.
    pub async fn with(db: &TestDatabase, settings: &str) -> World {
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        let app = open(db.url(), settings, clock.clone()).await;
        let receiver = Receiver::start().await;
        let new = NewBusiness {
            name: "Ada Stores".into(),
            email: "ada@shop.example".into(),
            webhook_url: None,
            charges: Default::default(),
        };
        let made = businesses::add_business(&app, "tests", &new).await.unwrap().unwrap();
        let business = made.business.id;
        let site = NewWebsite {
            business_id: business,
            url: receiver.url(""),
            webhook_url: None,
            charges: Default::default(),
            approve: true,
        };
        let website = websites::add_website(&app, "tests", &site).await.unwrap().unwrap().id;
        app.directory.forget();
        let (settings, database) = (settings.to_owned(), db.url().to_owned());
        World { app, clock, receiver, business, website, secret: made.secret.to_string(), settings, database }
    }

    /// Another node on the same database, with the same clock.
    pub async fn node(&self) -> Arc<App> {
        open(&self.database, &self.settings, self.clock.clone()).await
    }

    /// Another node with a clock that runs, so that what was put off comes back.
    pub async fn running_node(&self) -> Arc<App> {
        open(&self.database, &self.settings, Arc::new(SystemClock)).await
    }

    /// How to open another node elsewhere, for instance in a runtime of its own.
    pub fn opener(
        &self,
    ) -> impl FnOnce() -> futures_util::future::BoxFuture<'static, Arc<App>> + Send + 'static {
        let (database, settings, clock) = (self.database.clone(), self.settings.clone(), self.clock.clone());
        move || Box::pin(async move { open(&database, &settings, clock).await })
    }

    /// A payment with its event, to be sent to this path of the receiver.
    pub async fn tell(&self, path: &str) -> Told {
        self.tell_at(&self.receiver.url(path), None).await
    }

    pub async fn tell_at(&self, url: &str, website: Option<i64>) -> Told {
        self.tell_in(Mode::Live, url, website).await
    }

    pub async fn tell_in(&self, mode: Mode, url: &str, website: Option<i64>) -> Told {
        let store = &self.app.store;
        let now = self.app.now();
        let id = store.id(IdKind::Payment).await.unwrap();
        let payment = Payment { mode, ..pending(id, self.business, url, website, now) };
        let mut body = Vec::new();
        let fact = Fact::of(&payment, EventKind::PaymentApproved, now);
        let steps = event::record(&self.app, fact, |id| {
            body = body::payment_approved(id, About { payment: &payment, account: None, alert: None });
            body.clone()
        });
        let steps = steps.await.unwrap();
        let unit = store.unit(self.business).await.unwrap();
        let unit = unit.step(payments::add(&payment, None)).steps(steps);
        assert!(matches!(store.apply(unit).await.unwrap(), Applied::Done(_)));
        Told { payment, body }
    }

    /// Approves and then reverses the payment, as far as its own row goes.
    pub async fn reverse(&self, told: &Told) {
        let (store, now) = (&self.app.store, self.app.now());
        let approval = Approval {
            settlement_id: told.payment.id,
            received: told.payment.amount,
            charges: told.payment.charges,
            business_receives: told.payment.business_receives,
            is_mismatch: false,
            mismatch_reason: None,
            name_mismatch: false,
            matched_at: Some(now),
            at: now,
        };
        let approved = told.payment.approve(approval, Approver::Rule).unwrap();
        for step in [payments::approved(&told.payment, &approved), payments::reversed(&approved, now)] {
            let unit = store.unit(self.business).await.unwrap().step(step);
            assert!(matches!(store.apply(unit).await.unwrap(), Applied::Done(_)));
        }
    }

    /// Does what is due and answers how many jobs that were.
    pub async fn work(&self) -> usize {
        tillbell::work::run_due(&self.app).await.unwrap()
    }

    pub async fn deliveries(&self) -> Vec<Delivery> {
        self.app.store.deliveries(false, 1_000).await.unwrap()
    }

    pub async fn delivery(&self, told: &Told) -> Delivery {
        let mut all = self.app.store.deliveries_of_payment(told.payment.id).await.unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    pub fn advance(&self, span: Span) {
        self.clock.advance(span);
    }
}

fn pending(id: i64, business_id: i64, url: &str, website_id: Option<i64>, now: Timestamp) -> Payment {
    Payment::requested(TransferRequest {
        id,
        business_id,
        transaction_id: format!("ADA-{id}"),
        mode: Mode::Live,
        quote: Quote {
            amount: Money(730_000),
            charges: Charges { percentage: Money(7_300), fixed: Money(5_000) },
            business_receives: Money(717_700),
        },
        schedule: Schedule::DEFAULT,
        payer_name: "Ngozi Balogun".into(),
        payer: PayerDetails::default(),
        webhook_url: Some(url.to_owned()),
        website_id,
        account_id: None,
        till_user_id: None,
        link: None,
        at: now,
        expiry: Span::hours(24),
        late_window: Span::hours(24),
    })
}

/// Whether the official verifier takes the request under this secret.
pub fn verifies(secret: &str, request: &Received) -> bool {
    Webhook::new(secret).unwrap().verify(&request.body, &request.headers).is_ok()
}
