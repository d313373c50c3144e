//! A whole tillbell in a test: a database, a clock that is set by hand, seeded randomness.
//!
//! `TestApp` owns one `App`; `restart` drops it and opens another on the same database, as after a
//! crash. When it is dropped the audit is run, so every test ends with proof that all money adds up; one that breaks
//! rows on purpose says so (`without_audit`).

use std::sync::{Arc, OnceLock};
use tillbell::ops::alerts::draft::{ReadAs, Taken};

use tillbell::alert_reader::{self, Banks, Intake};
use tillbell::app::App;
use tillbell::clock::{Clock, ManualClock, SeededRandom};
use tillbell::config::Config;
use tillbell::directory::Caller;
use tillbell::domain::merchant::{Mode, Website};
use tillbell::domain::money::Money;
use tillbell::domain::name::Folded;
use tillbell::domain::name::index::stored_keys;
use tillbell::domain::payment::{PayerDetails, Payment};
use tillbell::domain::time::{Span, Timestamp};
use tillbell::mail_intake::ingest::{Arrival, MailIngestor, Origin, ingest};
use tillbell::ops;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::merchants::accounts::NewAccount;
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};
use tillbell::ops::payments::like_names::move_rows;
use tillbell::outbound::messenger::Messenger;
use tillbell::store::engine::sql::{Sql, Text};
use tillbell::store::tables::{payment_names, payments};
use tillbell::store::{Step, StoreOptions};

use super::databases::TestDatabase;

/// Where the tests' world begins: 2026-03-10 09:00 in Lagos.
pub const START: Timestamp = Timestamp(1_773_129_600_000_000);

/// The one account of [`world`], and how long after the request its customers pay.
pub const ACCOUNT: &str = "0123454417";
pub const LATER: Span = Span::minutes(10);

/// Seals that a test's entries need at most.
const SEALS_MAX: usize = 100;

/// When the customers of [`world`] pay.
pub fn at() -> Timestamp {
    START + LATER
}

/// A world with one merchant and one account.
pub async fn world(database: TestDatabase) -> (TestApp, Merchant) {
    let t = TestApp::start(database).await;
    let merchant = t.merchant("adire.example").await;
    t.account(ACCOUNT).await;
    (t, merchant)
}

pub struct TestApp {
    pub app: Arc<App>,
    pub clock: Arc<ManualClock>,
    pub banks: Arc<Banks>,
    database: TestDatabase,
    folder: tempfile::TempDir,
    settings: String,
    messenger: Option<Messenger>,
    /// Why there is nothing to audit at the end.
    unaudited: OnceLock<&'static str>,
}

/// The audit, whoever thought of it.
impl Drop for TestApp {
    fn drop(&mut self) {
        self.database.without_audit("the world that it belongs to has its own");
        // A test that failed says why itself.
        if std::thread::panicking() || self.unaudited.get().is_some() {
            return;
        }
        let runtime = tokio::runtime::Handle::current();
        let t = &*self;
        let end = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(t.audited())).join());
        end.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}

/// One merchant of the test's world.
pub struct Merchant {
    pub id: i64,
    pub caller: Caller,
    pub website: Website,
}

impl TestApp {
    /// An empty world on a fresh database.
    pub async fn start(database: TestDatabase) -> TestApp {
        TestApp::start_with(database, "[server]\ndev = true\n").await
    }

    /// The same with settings of the test's own, as TOML.
    pub async fn start_with(database: TestDatabase, settings: &str) -> TestApp {
        TestApp::start_sending(database, settings, None).await
    }

    /// The same with a messenger of the test's own.
    pub async fn start_sending(
        database: TestDatabase,
        settings: &str,
        messenger: Option<Messenger>,
    ) -> TestApp {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let settings = settings.to_owned();
        let app = open(&database, &folder, clock.clone(), 1, &settings, messenger.clone()).await;
        let banks = Arc::new(Banks::embedded().unwrap());
        TestApp { app, clock, banks, database, folder, settings, messenger, unaudited: OnceLock::new() }
    }

    /// A second node on the same database, with the same clock and key.
    pub async fn another_node(&self) -> Arc<App> {
        let messenger = self.messenger.clone();
        open(&self.database, &self.folder, self.clock.clone(), 2, &self.settings, messenger).await
    }

    /// The root key of this world's secrets.
    pub fn key_file(&self) -> std::path::PathBuf {
        self.folder.path().join("test.key")
    }

    /// The database, for what the program itself has no need of.
    pub fn database(&self) -> &TestDatabase {
        &self.database
    }

    pub fn advance(&self, span: Span) {
        self.clock.advance(span);
    }

    /// A business with an approved website `shopN.example`, its secret and a live key.
    pub async fn merchant(&self, host: &str) -> Merchant {
        self.merchant_with(host, ops::merchants::businesses::ChargeChange::default()).await
    }

    pub async fn merchant_with(
        &self,
        host: &str,
        charges: ops::merchants::businesses::ChargeChange,
    ) -> Merchant {
        let new = ops::merchants::businesses::NewBusiness {
            name: format!("{host} Ltd"),
            email: format!("till@{host}"),
            webhook_url: None,
            charges,
        };
        let business =
            ops::merchants::businesses::add_business(&self.app, "test", &new).await.unwrap().unwrap();
        let id = business.business.id;
        let new = ops::merchants::websites::NewWebsite {
            business_id: id,
            url: format!("https://{host}"),
            webhook_url: None,
            charges: ops::merchants::businesses::ChargeChange::default(),
            approve: true,
        };
        let website = ops::merchants::websites::add_website(&self.app, "test", &new).await.unwrap().unwrap();
        let key = ops::merchants::keys::add_key(&self.app, "test", id, Mode::Live, None, None)
            .await
            .unwrap()
            .unwrap();
        let key = key.text.to_string();
        let caller = self.app.directory.caller(&key).await.unwrap().expect("a fresh key is known");
        Merchant { id, caller, website }
    }

    /// A pool account at GTBank whose mask shows the last four digits.
    pub async fn account(&self, number: &str) -> i64 {
        self.account_for(number, None, Mode::Live).await
    }

    /// The merchant again, with a test key.
    pub async fn in_test_mode(&self, merchant: &Merchant) -> Merchant {
        let key = ops::merchants::keys::add_key(&self.app, "test", merchant.id, Mode::Test, None, None)
            .await
            .unwrap()
            .unwrap();
        let caller = self.app.directory.caller(&key.text).await.unwrap().expect("a fresh key is known");
        Merchant { id: merchant.id, caller, website: merchant.website.clone() }
    }

    pub async fn account_for(&self, number: &str, business_id: Option<i64>, mode: Mode) -> i64 {
        self.add_account(&NewAccount { mode, ..self.new_account("gtbank", (0, 4), number, business_id) })
            .await
    }

    /// An account of the shops' holder for live payments; its bank shows so many first and last digits.
    pub fn new_account(
        &self,
        bank: &str,
        (lead, trail): (usize, usize),
        number: &str,
        business_id: Option<i64>,
    ) -> NewAccount {
        let bank = self.banks.by_code(bank).expect("the bank has a template");
        NewAccount {
            number: number.into(),
            name: "TILL AND BELL LTD".into(),
            bank: ops::merchants::accounts::GivenBank::Known {
                code: bank.code.clone(),
                name: bank.name.clone(),
                mask: Some(ops::merchants::accounts::MaskDigits { lead, trail, hidden_end: 0 }),
                cbn_code: None,
            },
            business_id,
            via: None,
            mode: Mode::Live,
            force: true,
        }
    }

    pub async fn add_account(&self, new: &NewAccount) -> i64 {
        let added = ops::merchants::accounts::add_account(&self.app, "test", new).await.unwrap().unwrap();
        self.app.directory.forget();
        added.account.id
    }

    pub fn request(&self, merchant: &Merchant, naira: i64, payer: &str) -> NewPayment {
        NewPayment {
            transaction_id: None,
            base: Money(naira * 100),
            payer_name: payer.into(),
            payer: PayerDetails::default(),
            bvn: None,
            webhook_url: Some(format!("https://{}/hook", merchant.website.host)),
            website: Some(merchant.website.clone()),
            till_user_id: None,
            return_url: None,
        }
    }

    pub async fn create(&self, merchant: &Merchant, naira: i64, payer: &str) -> Payment {
        let new = self.request(merchant, naira, payer);
        match create_payment(&self.app, &merchant.caller, new, None).await.unwrap() {
            Created::Payment(view) => view.payment,
            other => panic!("not created: {other:?}"),
        }
    }

    /// Asked for on another account than that payment is: where several are free, the next one is taken in turn.
    pub async fn create_elsewhere(
        &self,
        merchant: &Merchant,
        naira: i64,
        payer: &str,
        than: &Payment,
    ) -> Payment {
        for _ in 0..20 {
            let payment = self.create(merchant, naira, payer).await;
            if payment.account_id != than.account_id {
                return payment;
            }
        }
        panic!("every account that was taken is that of {}", than.transaction_id);
    }

    /// A correction that was allowed before another one of the same moment was there to be seen.
    pub async fn correct_unasked(&self, payment: &Payment, naira: i64) {
        let before = self.payment(payment).await;
        let after = before.correct(Money(naira * 100), self.app.now(), 0, 0).unwrap();
        let unit = self.app.store.unit(before.business_id).await.unwrap();
        let unit = unit.step(payments::corrected(&before, &after)).steps(move_rows(&before, &after));
        assert!(self.app.store.apply(unit).await.unwrap().is_done());
    }

    /// The payment as a program of before the index of names left it.
    pub async fn forget_name_rows(&self, payment: &Payment) {
        static UNKEY: Sql = Sql::new("UNKEY", Text::Plain("update payments set name_keys = 0 where id = $1"));
        let keys = stored_keys(&Folded::new(&payment.payer_name));
        let unit = self.app.store.unit(payment.business_id).await.unwrap();
        let unit = unit
            .steps(payment_names::remove(payment, &keys))
            .step(Step::one(&UNKEY, vec![payment.id.into()]));
        assert!(self.app.store.apply(unit).await.unwrap().is_done());
    }

    /// A statement about one payment that this program has no need of.
    pub async fn run(&self, text: &'static str, payment: &Payment) {
        let sql: &'static Sql = Box::leak(Box::new(Sql::new("BY_HAND", Text::Plain(text))));
        let unit = self.app.store.unit(payment.business_id).await.unwrap();
        assert!(
            self.app.store.apply(unit.step(Step::one(sql, vec![payment.id.into()]))).await.unwrap().is_done()
        );
    }

    pub async fn payment(&self, payment: &Payment) -> Payment {
        self.app.store.payment(payment.id).await.unwrap().unwrap()
    }

    /// Takes a mail in as trusted, through the real reader.
    pub async fn ingest(&self, mail: &str) -> AlertOutcome {
        self.ingest_on(&self.app, mail).await
    }

    pub async fn ingest_on(&self, app: &App, mail: &str) -> AlertOutcome {
        take_alert(app, &self.taken(mail, true)).await.unwrap()
    }

    /// What the reader makes of a mail that it can read.
    pub fn taken(&self, mail: &str, trusted: bool) -> Taken {
        let taken = self.taken_if_unreadable_too(mail, trusted);
        assert_ne!(taken.read_as, ReadAs::Unreadable, "{taken:?}");
        taken
    }

    pub fn taken_if_unreadable_too(&self, mail: &str, trusted: bool) -> Taken {
        let now = self.clock.now();
        let intake = Intake { now, trusted, ..Intake::default() };
        let reading = alert_reader::read(mail.as_bytes(), &self.banks, &intake);
        MailIngestor::new(&self.app.config, self.banks.clone()).taken(&reading, file_of(mail, trusted))
    }

    /// Takes a trusted file in by the whole way of the intake, whatever can be read of it.
    pub async fn arrived(&self, mail: &str) -> AlertOutcome {
        let ingestor = MailIngestor::new(&self.app.config, self.banks.clone());
        ingest(&self.app, &ingestor, file_of(mail, true)).await.unwrap().outcome
    }

    /// This world is broken on purpose, and its audit would say so.
    pub fn without_audit(&self, why: &'static str) {
        assert!(why.len() > 10, "without a reason");
        self.unaudited.get_or_init(|| why);
    }

    /// The audit, without a violation. A test that ends asks for it by that alone.
    pub async fn audited(&self) {
        let is_sealed = || async { self.app.store.unsealed_entries(1).await.unwrap().is_empty() };
        // A service that still runs may be faster with a seal.
        for _ in 0..SEALS_MAX {
            ops::ledger::seal::seal(&self.app).await.unwrap();
            if is_sealed().await {
                break;
            }
        }
        assert!(is_sealed().await, "entries stay unsealed");
        for check in ops::ledger::audit::audit(&self.app).await.unwrap() {
            assert_eq!(check.violations, 0, "audit: {check:?}");
        }
    }
}

async fn open(
    database: &TestDatabase,
    folder: &tempfile::TempDir,
    clock: Arc<ManualClock>,
    seed: u64,
    settings: &str,
    messenger: Option<Messenger>,
) -> Arc<App> {
    let key_file = folder.path().join("test.key");
    let text =
        format!("[database]\nurl = {:?}\n[secret]\nkey_file = {:?}\n{settings}", database.url(), key_file,);
    let config = Config::load(&text, std::iter::empty()).unwrap();
    let options =
        StoreOptions { readers: 3, writers: 3, id_block: 64, ..StoreOptions::service(database.url()) };
    let mut app = App::open_with(config, &options, clock, Arc::new(SeededRandom::new(seed))).await.unwrap();
    app.messenger = messenger.unwrap_or(app.messenger);
    app.prepare().await.unwrap();
    Arc::new(app)
}

fn file_of(mail: &str, trusted: bool) -> Arrival {
    Arrival { raw: mail.into(), source: "test".into(), origin: Origin::File { trusted }, in_mailbox: None }
}
