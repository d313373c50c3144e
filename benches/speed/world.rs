//! A world to measure in: a database with businesses, a receiving account, and as many payments
//! and alerts as wanted, written through the store's own steps but many to a Unit.

use std::sync::Arc;
use std::time::Instant;

use tillbell::app::App;
use tillbell::config::Config;
use tillbell::domain::account::ReceivingAccount;
use tillbell::domain::alert::{
    AlertFacts, AlertKind, AlertRow, AlertStatus, Authenticity, BankTime, Direction, TimePrecision,
};
use tillbell::domain::charges::{Schedule, quote};
use tillbell::domain::merchant::{Mode, Website};
use tillbell::domain::money::Money;
use tillbell::domain::name::{Folded, may_match};
use tillbell::domain::payment::{PayerDetails, Payment, TransferRequest};
use tillbell::domain::time::Span;
use tillbell::ops;
use tillbell::ops::payments::like_names::add_payment;
use tillbell::store::engine::unit::UNIT_MAX_STEPS;
use tillbell::store::tables::alerts;
use tillbell::store::tables::jobs::{self, JobKind};
use tillbell::store::{Applied, IdKind, Step, StoreOptions};

use crate::people;

/// The vault's key, shared with the server that is started on the same database.
pub const KEY: &str = "0d9c8b7a695847362514039f8e7d6c5b4a3928170615243342516071829304a5";

/// Numbers that are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    /// The name of a made-up person that can be approved by the rule (not a title and one name).
    pub fn name(&mut self) -> String {
        loop {
            let name = people::name(self);
            if may_match(&Folded::new(&name)) {
                return name;
            }
        }
    }
}

pub struct World {
    pub app: Arc<App>,
    pub businesses: Vec<Merchant>,
    pub account: ReceivingAccount,
}

pub struct Merchant {
    pub id: i64,
    pub website: Website,
    pub key: String,
}

/// A payment with the alert that pays it, both in the database.
pub struct Pair {
    pub payment: Payment,
    pub alert: AlertRow,
}

impl World {
    /// `webhooks` is where every payment's webhook goes.
    pub async fn new(url: &str, businesses: usize, host: &str) -> World {
        let text = format!(
            "[database]\nurl = \"{url}\"\n[server]\ndev = true\n[secret]\nkey = \"{KEY}\"\n\
             [limits]\nrequests_per_minute = 1000000000\n"
        );
        let config = Config::load(&text, std::iter::empty()).expect("the configuration");
        let app = App::open(config, &StoreOptions::service(url)).await.expect("open the database");
        app.prepare().await.expect("a database");
        let app = Arc::new(app);
        let mut merchants = Vec::new();
        for n in 0..businesses {
            merchants.push(merchant(&app, n, host).await);
        }
        let account = account(&app, "0123454417").await;
        app.directory.forget();
        World { app, businesses: merchants, account }
    }

    /// The account of before and others, so many in all.
    pub async fn pool(&self, count: usize) -> Vec<ReceivingAccount> {
        let mut accounts = vec![self.account.clone()];
        for n in 1..count {
            accounts.push(account(&self.app, &format!("01234{:05}", 10_000 + n)).await);
        }
        self.app.directory.forget();
        accounts
    }

    /// An open payment that is not in the database yet; created an hour ago.
    pub async fn payment(&self, business: usize, amount: Money, name: String, webhook_url: &str) -> Payment {
        let now = self.app.now();
        let quote = quote(amount, &Schedule::DEFAULT).expect("an amount in range");
        let created = now - Span::hours(1);
        let id = self.app.store.id(IdKind::Payment).await.expect("an id");
        let merchant = &self.businesses[business % self.businesses.len()];
        Payment::requested(TransferRequest {
            id,
            business_id: merchant.id,
            transaction_id: format!("TXN-01J{id:023}"),
            mode: Mode::Live,
            quote,
            schedule: Schedule::DEFAULT,
            payer_name: name,
            payer: PayerDetails::default(),
            webhook_url: Some(webhook_url.to_owned()),
            website_id: Some(merchant.website.id),
            account_id: Some(self.account.id),
            till_user_id: None,
            link: None,
            at: created,
            expiry: Span::hours(24),
            late_window: Span::hours(24),
        })
    }

    /// The alert that pays a payment exactly, not in the database yet.
    pub async fn alert(&self, payment: &Payment) -> AlertRow {
        let now = self.app.now();
        let id = self.app.store.id(IdKind::Alert).await.expect("an id");
        AlertRow {
            id,
            status: AlertStatus::New,
            version: 1,
            settlement_id: None,
            source: "bench".into(),
            authenticity: Authenticity::Proven,
            facts: AlertFacts {
                bank: Some("gtbank".into()),
                template: Some("gtbank-credit".into()),
                direction: Some(Direction::Credit),
                kind: Some(AlertKind::Payment),
                amount: Some(payment.amount),
                currency: Some("NGN".into()),
                account_number: Some("******4417".into()),
                payer_name: Some(payment.payer_name.to_uppercase()),
                payer_bank: Some("Kuda Bank".into()),
                narration: Some(format!("TRANSFER FROM {}", payment.payer_name.to_uppercase())),
                session_id: Some(format!("0900{id:026}")),
                occurred: Some(BankTime { begin: now, end: now, precision: TimePrecision::Second }),
                ..AlertFacts::default()
            },
            account_id: Some(self.account.id),
            message_id: Some(format!("<{id}@bank.example>")),
            mail_from: Some("alerts@bank.example".into()),
            subject: Some("Transaction alert".into()),
            mailed_at: Some(now),
            first_seen: now,
            decided_at: None,
            payment_id: None,
            linked_alert_id: None,
            reason: String::new(),
            evidence: String::new(),
            authentic_by: None,
            dismissed_from: None,
            simulated_for: None,
        }
    }

    /// Payments and their alerts, spread over the businesses, all of different amounts.
    pub async fn pairs(&self, count: usize, first: i64, webhook_url: &str) -> Vec<Pair> {
        let mut dice = Dice(first as u64);
        let mut pairs = Vec::with_capacity(count);
        let mut steps = Vec::new();
        for n in 0..count {
            // 3 naira apart: no amount is another's less its charges by chance of being next to it.
            let amount = Money(1_000_000 + (first + n as i64) * 300);
            let payment = self.payment(n, amount, dice.name(), webhook_url).await;
            let alert = self.alert(&payment).await;
            let job = self.app.store.id(IdKind::Job).await.expect("an id");
            let mut some = payment_steps(&payment);
            some.push(alerts::add(&alert));
            some.push(alerts::raise_amount_version(self.account.id, amount));
            // Far in the future: the workers must not decide what the bench is about to.
            let later = self.app.now() + Span::days(1);
            some.push(jobs::enqueue(job, JobKind::Decide, 0, alert.id, later, later));
            self.pour(&mut steps, some).await;
            pairs.push(Pair { payment, alert });
        }
        self.flush(steps).await;
        pairs
    }

    /// Adds steps to a big Unit, which is written when it is full.
    pub async fn pour(&self, steps: &mut Vec<Step>, some: Vec<Step>) {
        if steps.len() + some.len() > UNIT_MAX_STEPS {
            self.flush(std::mem::take(steps)).await;
        }
        steps.extend(some);
    }

    pub async fn flush(&self, steps: Vec<Step>) {
        let unit = self.app.store.unit(0).await.expect("an id").steps(steps);
        match self.app.store.apply(unit).await.expect("the store") {
            Applied::Done(_) => {}
            other => panic!("filling the database: {other:?}"),
        }
    }
}

/// What a create writes.
pub fn payment_steps(payment: &Payment) -> Vec<Step> {
    add_payment(payment, &Folded::new(&payment.payer_name), None)
}

async fn account(app: &App, number: &str) -> ReceivingAccount {
    let new = ops::merchants::accounts::NewAccount {
        number: number.into(),
        name: "TILL AND BELL LTD".into(),
        bank: ops::merchants::accounts::GivenBank::Known {
            code: "gtbank".into(),
            name: "GTBank".into(),
            mask: Some(ops::merchants::accounts::MaskDigits { lead: 0, trail: 4, hidden_end: 0 }),
            cbn_code: None,
        },
        business_id: None,
        via: None,
        mode: Mode::Live,
        force: true,
    };
    let added = ops::merchants::accounts::add_account(app, "bench", &new).await;
    added.expect("a store").expect("an account").account
}

async fn merchant(app: &App, n: usize, host: &str) -> Merchant {
    let new = ops::merchants::businesses::NewBusiness {
        name: format!("Shop {n} Ltd"),
        email: format!("till@shop{n}.example"),
        webhook_url: None,
        charges: Default::default(),
    };
    let business = ops::merchants::businesses::add_business(app, "bench", &new)
        .await
        .expect("a store")
        .expect("a business");
    let id = business.business.id;
    let host = if host.is_empty() { format!("https://shop{n}.example") } else { host.to_owned() };
    let new = ops::merchants::websites::NewWebsite {
        business_id: id,
        url: host,
        webhook_url: None,
        charges: Default::default(),
        approve: true,
    };
    let website =
        ops::merchants::websites::add_website(app, "bench", &new).await.expect("a store").expect("a website");
    let key = ops::merchants::keys::add_key(app, "bench", id, Mode::Live, None, None)
        .await
        .expect("a store")
        .expect("a key");
    Merchant { id, website, key: key.text.to_string() }
}

/// Says how long a preparation took.
pub fn said(what: &str, began: Instant) {
    println!("  ({what}: {:.1} s)", began.elapsed().as_secs_f64());
}
