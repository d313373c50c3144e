//! `tillbell demo`: a payment's whole way in a few seconds, with nothing to set up.
//!
//! Everything is real: a SQLite database in a temporary folder, the service itself on a free port,
//! a payment asked for over HTTP, a bank mail written to a file and read by the real intake, and a
//! receiver of the demo's own that checks the webhook's signature. Afterwards it keeps serving, so
//! that the lines it prints can be tried, with a bank's mail ready in a file; `--once` ends instead.

mod month;
mod payouts;
mod receiver;
mod testing;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use http::{HeaderName, HeaderValue};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tracing::subscriber::NoSubscriber;

use self::month::{Lived, Month, REVIEWER};
use self::payouts::Payouts;
use self::receiver::{Delivery, receive};
use super::database::CONFIG_VARIABLE;
use super::print::{Object, Printer};
use super::system::DemoArgs;
use crate::alert_reader::{Bank, Banks};
use crate::app::App;
use crate::app::StoreOptions;
use crate::clock::{Clock, ManualClock, SystemClock, SystemRandom};
use crate::config::Config;
use crate::domain::merchant::Mode;
use crate::domain::money::{Money, naira};
use crate::domain::time::{Span, Timestamp};
use crate::domain::user::{MemberRole, StaffRole};
use crate::domain::webhook::Secret;
use crate::domain::weburl::parse_target;
use crate::mail_intake::files::Mails;
use crate::mail_intake::given_bank::given_bank;
use crate::mail_intake::ingest::{Arrival, MailIngestor, Origin, ingest};
use crate::ops::merchants::accounts::{NewAccount, add_account};
use crate::ops::merchants::businesses::merchant_balance;
use crate::ops::merchants::businesses::{ChargeChange, NewBusiness, add_business};
use crate::ops::merchants::keys::add_key;
use crate::ops::merchants::websites::{NewWebsite, add_website};
use crate::ops::payments::read::read_payment;
use crate::ops::payouts::accounts::Owner;
use crate::ops::people::users::{Place, add_user};
use crate::serve::{self, Roles};
use crate::terminal::harmless_bytes;
use crate::vault::link::fresh_token;

const OPERATOR: &str = "demo";
/// Who signs in at the operator's desk, and who at the shop's dashboard.
const STAFF: &str = "staff@till.example";
const OWNER: &str = "owner@suya-spot.example";
const PASSWORD_LENGTH: usize = 16;
const BANK: &str = "gtbank";
const ACCOUNT: &str = "0123454417";
const HOLDER: &str = "SUYA SPOT LIMITED";
const PAYER: &str = "Amara Nwosu";
const NAIRA: i64 = 12_500;
/// The payment that the reader makes, and the mail that pays it.
const NEXT_PAYER: &str = "Halima Garba";
const NEXT_NAIRA: i64 = 7_350;
/// A payment takes no money that came before it, so the time in the waiting mail is kept at now.
const MAIL_EVERY: Duration = Duration::from_secs(15);
/// Long enough for a slow machine; a healthy one needs a few milliseconds.
const WEBHOOK_WITHIN: Duration = Duration::from_secs(5);
/// Webhooks waiting to be printed.
const DELIVERIES_MAX: usize = 64;

/// What the demo made and the reader may go on with.
struct Shop {
    base: String,
    key: String,
    test_key: String,
    hook: String,
    /// Of both who sign in.
    password: String,
}

/// What is told, step by step: to a person at once, to a program at the end.
struct Story<'a> {
    started: Instant,
    printer: &'a Printer,
    steps: Vec<Object>,
}

impl Story<'_> {
    fn tell(&mut self, what: &str, details: &[&str]) {
        let took = self.started.elapsed().as_millis();
        if self.printer.json {
            let details: Vec<&str> = details.to_vec();
            let step = Object::new().with("ms", i64::try_from(took).unwrap_or(i64::MAX));
            self.steps.push(step.with("what", what).with("details", details));
            return;
        }
        println!("  {took:>7} ms  {what}");
        for detail in details {
            println!("              {detail}");
        }
        println!();
    }
}

pub(super) async fn run(args: &DemoArgs, printer: &Printer) -> anyhow::Result<()> {
    let mut story = Story { started: Instant::now(), printer, steps: Vec::new() };
    let folder = tempfile::Builder::new().prefix("tillbell-demo-").tempdir().context("a temporary folder")?;
    let (receiver, port) = listen().await?;
    if !printer.json {
        println!("\ntillbell demo: a payment from the request to the signed webhook\n");
    }
    let (sender, mut deliveries) = mpsc::channel(DELIVERIES_MAX);
    let (mut shop, lived) = before(folder.path().to_owned(), (receiver, port), sender).await?;
    // The story's own webhook is yet to come.
    while deliveries.try_recv().is_ok() {}
    story.tell(
        "A shop with a month of business, lived through under a clock that was set back",
        &[
            "Suya Spot, its website, its key and a receiving account",
            &format!("GTBank {ACCOUNT} {HOLDER}"),
            &format!(
                "{} payments, {} approved by themselves, {} wait for a person",
                lived.payments, lived.approved, lived.waiting
            ),
        ],
    );
    let app = open(folder.path(), None).await?;
    let running = serve::start(app.clone(), Roles::ALL).await?;
    shop.base = running.url();
    story.tell(
        "The service runs on this machine only, with a throw-away SQLite database",
        &[&running.url(), &folder.path().display().to_string()],
    );
    let paid = pay(&app, &shop, folder.path(), &mut story).await?;
    let delivery = first_webhook(&mut deliveries).await?;
    story.tell(
        "The webhook arrived, and its signature is valid",
        &[&format!("webhook-id {}", delivery.id), &String::from_utf8_lossy(&delivery.body)],
    );
    let next = Next::new(folder.path());
    if !args.once {
        testing::live(&shop.base, &shop.test_key).await?;
        next.write_mail(app.now()).context("writing the bank's next mail")?;
    }
    if printer.json {
        let serving = (!args.once).then(|| next.object(&shop));
        let told = paid.with("webhook_id", &delivery.id).with("verified", delivery.verified);
        printer.object(&told.with("steps", story.steps).with("serving", serving))?;
    }
    if !args.once {
        if !printer.json {
            next.invite(&shop);
        }
        serve_on(&app, &next, printer, deliveries).await;
    }
    running.stop().await;
    Ok(())
}

/// A payment is asked for, the bank tells of the money, the payment is approved; answers what became of it.
async fn pay(app: &App, shop: &Shop, folder: &Path, story: &mut Story<'_>) -> anyhow::Result<Object> {
    let transaction_id = ask_for_payment(app, shop).await?;
    story.tell(
        &format!("The shop requests {} over HTTP", naira(Money(NAIRA * 100))),
        &[
            &format!("POST {}/api/v1/payment-request", shop.base),
            &format!("payment {transaction_id}, pending"),
        ],
    );
    let mail = folder.join("alert.eml");
    std::fs::write(&mail, bank_mail(app.now(), PAYER, NAIRA)).context("writing the bank's mail")?;
    let outcome = take_mail(app, &mail).await?;
    story.tell("The customer pays; the bank's alert mail arrives", &[&mail.display().to_string(), &outcome]);

    let payment = read_payment(app, 1, None, &transaction_id).await?.context("the payment is gone")?;
    let balance = merchant_balance(app, 1).await?.unwrap_or_default();
    let status = payment.payment.status.as_str();
    story.tell(
        &format!("The payment is {status}"),
        &[&format!("the shop's balance in the ledger: {}", naira(balance))],
    );
    let told = Object::new().with("transaction_id", &transaction_id).with("status", status);
    Ok(told.with("balance", balance))
}

async fn first_webhook(deliveries: &mut mpsc::Receiver<Delivery>) -> anyhow::Result<Delivery> {
    let delivery = tokio::time::timeout(WEBHOOK_WITHIN, deliveries.recv())
        .await
        .ok()
        .flatten()
        .context("the webhook did not arrive within 5 s")?;
    if !delivery.verified {
        bail!("the webhook arrived, but its signature does not verify");
    }
    Ok(delivery)
}

async fn listen() -> anyhow::Result<(TcpListener, u16)> {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let receiver = TcpListener::bind(address).await.context("a port for the shop's receiver")?;
    let port = receiver.local_addr()?.port();
    Ok((receiver, port))
}

/// The month before the demo, under a clock of its own: the shop, its people, and what they did. In silence, for the log
/// would tell of it as if it happened now. The shop's receiver lives on.
async fn before(
    folder: PathBuf,
    receiver: (TcpListener, u16),
    sender: mpsc::Sender<Delivery>,
) -> anyhow::Result<(Shop, Lived)> {
    let serving = Handle::current();
    let lived = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        tracing::subscriber::with_default(NoSubscriber::new(), || {
            runtime.block_on(live_before(&folder, receiver, sender, &serving))
        })
    });
    lived.await.context("the month before the demo")?
}

async fn live_before(
    folder: &Path,
    (receiver, port): (TcpListener, u16),
    sender: mpsc::Sender<Delivery>,
    serving: &Handle,
) -> anyhow::Result<(Shop, Lived)> {
    let now = SystemClock.now();
    let clock = Arc::new(ManualClock::new(now - Span::days(31)));
    let app = open(folder, Some(clock.clone())).await?;
    let (shop, secret, owner_id) = set_up(&app, port).await?;
    let is_down = Arc::new(AtomicBool::new(false));
    serving.spawn(receive(receiver, secret, is_down.clone(), sender));
    let caller = app.directory.caller(&shop.key).await?.context("the demo's key is not known")?;
    let website = app.directory.websites(caller.business.id).await?.first().cloned();
    let website = website.context("the demo's website is gone")?;
    let owner = Owner { business_id: caller.business.id, user_id: owner_id, email: OWNER };
    let payouts = Payouts::open(&app, owner, REVIEWER).await?;
    let month = Month {
        app: &app,
        clock: &clock,
        caller,
        website,
        shop: &shop,
        payouts: &payouts,
        is_down: &is_down,
    };
    let lived = month.live(now).await?;
    is_down.store(false, Ordering::Relaxed);
    Ok((shop, lived))
}

/// With a clock that is set by hand, or the machine's.
async fn open(folder: &Path, clock: Option<Arc<ManualClock>>) -> anyhow::Result<Arc<App>> {
    let text = format!(
        "[database]\nurl = {:?}\n[server]\nlisten = \"127.0.0.1:0\"\ndev = true\n",
        format!("sqlite:{}", folder.join("demo.db").display())
    );
    let config = Config::load(&text, std::iter::empty())?;
    let options = StoreOptions::service(config.database_url());
    let app = match clock {
        Some(clock) => App::open_with(config, &options, clock, Arc::new(SystemRandom)).await?,
        None => App::open(config, &options).await?,
    };
    Ok(Arc::new(app))
}

/// The shop, what signs its webhooks, and the id of its owner.
async fn set_up(app: &App, port: u16) -> anyhow::Result<(Shop, Secret, i64)> {
    app.prepare().await?;
    let hook = format!("http://127.0.0.1:{port}/hook");
    let new = NewBusiness {
        name: "Suya Spot".into(),
        email: "till@suya-spot.example".into(),
        webhook_url: Some(hook.clone()),
        charges: ChargeChange::default(),
    };
    let business = add_business(app, OPERATOR, &new).await??;
    let id = business.business.id;
    let new = NewWebsite {
        business_id: id,
        url: format!("http://127.0.0.1:{port}"),
        webhook_url: None,
        charges: ChargeChange::default(),
        approve: true,
    };
    add_website(app, OPERATOR, &new).await??;
    let key = add_key(app, OPERATOR, id, Mode::Live, Some("demo"), None).await??;
    let test_key = add_key(app, OPERATOR, id, Mode::Test, Some("demo"), None).await??;
    let banks = Banks::embedded()?;
    let bank = banks.by_code(BANK).context("the demo's bank has no template")?;
    add_account(app, OPERATOR, &account(bank)).await??;
    let secret = Secret::parse(&business.secret).map_err(|_| anyhow::anyhow!("a secret of our own"))?;
    let password: String = fresh_token(app.random.as_ref()).chars().take(PASSWORD_LENGTH).collect();
    add_user(app, OPERATOR, STAFF, Place::Staff(StaffRole::Admin), Some(&password)).await??;
    let place = Place::Member(id, MemberRole::Owner);
    let owner = add_user(app, OPERATOR, OWNER, place, Some(&password)).await??;
    let (key, test_key) = (key.text.to_string(), test_key.text.to_string());
    Ok((Shop { base: String::new(), key, test_key, hook, password }, secret, owner.user.id))
}

fn account(bank: &Bank) -> NewAccount {
    NewAccount {
        number: ACCOUNT.into(),
        name: HOLDER.into(),
        bank: given_bank(Some(bank), BANK),
        business_id: None,
        via: None,
        mode: Mode::Live,
        force: false,
    }
}

/// Asks as a shop would: over HTTP, with its key.
async fn ask_for_payment(app: &App, shop: &Shop) -> anyhow::Result<String> {
    let url = parse_target(&format!("{}/api/v1/payment-request", shop.base), true)
        .map_err(|problem| anyhow::anyhow!("our own address {}", problem.reason()))?;
    let headers = [
        (HeaderName::from_static("x-api-key"), HeaderValue::from_str(&shop.key)?),
        (HeaderName::from_static("content-type"), HeaderValue::from_static("application/json")),
    ];
    let body = format!(r#"{{"amount": {NAIRA}, "payer_name": "{PAYER}", "webhook_url": "{}"}}"#, shop.hook);
    let answer = app.outbound.post(&url, &headers, body.into()).await;
    if answer.answered() != Some(201) {
        bail!("the request was answered with {:?}: {}", answer.status, answer.body_excerpt);
    }
    let answer: serde_json::Value = serde_json::from_str(&answer.body_excerpt)?;
    answer["data"]["transaction_id"].as_str().map(str::to_owned).context("an answer without transaction_id")
}

/// Of a day of Lagos, from 0, a Sunday. 1 January 1970 was a Thursday.
fn weekday(lagos_day: i64) -> i64 {
    (lagos_day + 4).rem_euclid(7)
}

/// An alert as the bank sends it today: HTML rows, the direction in a sentence.
fn bank_mail(now: Timestamp, payer: &str, naira: i64) -> String {
    // RFC 5322 wants a date of its own form; the rows show Lagos time.
    let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(1));
    let local = jiff::Timestamp::from_microsecond(now.0).unwrap_or_default().to_zoned(zone);
    let (date, day, time) = (
        local.strftime("%a, %d %b %Y %H:%M:%S %z"),
        local.strftime("%Y-%m-%d"),
        local.strftime("%-I:%M:%S %p"),
    );
    let session = format!("100004{}{naira:012}", local.strftime("%y%m%d%H%M%S"));
    let payer = payer.to_uppercase();
    format!(
        "From: GeNS@gtbank.com\r\nTo: alerts@suya-spot.example\r\nSubject: Transaction Notification\r\n\
         Date: {date}\r\nMessage-ID: <{session}@gtbank.com>\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/html; charset=utf-8\r\n\r\n\
         <table><tr><td colspan=\"2\">Dear  {HOLDER}</td></tr>\r\n\
         <tr><td>We wish to inform you that a CREDIT transaction occurred on your account with us.</td></tr></table>\r\n\
         <table><tr><td>Account Number</td><td>:</td><td colspan=\"8\">******{tail}</td></tr>\r\n\
         <tr><td>Transaction Location</td><td>:</td><td>205</td></tr>\r\n\
         <tr><td>Description</td><td>:</td><td>{session}-SUYA-OPAY-{payer}</td></tr>\r\n\
         <tr><td>Amount</td><td>:</td><td>NGN {naira}</td></tr>\r\n\
         <tr><td>Value Date</td><td>:</td><td>{day}</td></tr>\r\n\
         <tr><td>Remarks</td><td>:</td><td></td></tr>\r\n\
         <tr><td>Time of Transaction</td><td>:</td><td>{time}</td></tr>\r\n\
         <tr><td>Document Number</td><td>:</td><td></td></tr>\r\n\
         <tr><td>Available Balance</td><td>:</td><td>NGN 91000.5</td></tr></table>\r\n",
        tail = &ACCOUNT[6..],
    )
}

async fn take_mail(app: &App, path: &Path) -> anyhow::Result<String> {
    let room = MailIngestor::new(&app.config, Arc::new(Banks::embedded()?));
    let path = path.to_str().context("a path that is no text")?;
    let mut told = String::from("nothing was read");
    for item in Mails::open(path)? {
        let raw = item.raw.map_err(|why| anyhow::anyhow!(why))?;
        let origin = Origin::File { trusted: true };
        let arrival = Arrival { raw, source: "demo".into(), origin, in_mailbox: None };
        let ingested = ingest(app, &room, arrival).await?;
        let outcome = ingested.outcome;
        told = format!("{}: {}", outcome.status.as_str(), outcome.reason);
    }
    Ok(told)
}

/// With what the reader goes on.
struct Next {
    database: PathBuf,
    mail: PathBuf,
}

impl Next {
    fn new(folder: &Path) -> Next {
        Next { database: folder.join("demo.db"), mail: folder.join("next-alert.eml") }
    }

    /// The mail appears whole: a reader never meets half of one.
    fn write_mail(&self, now: Timestamp) -> std::io::Result<()> {
        let beside = self.mail.with_extension("new");
        std::fs::write(&beside, bank_mail(now, NEXT_PAYER, NEXT_NAIRA))?;
        std::fs::rename(&beside, &self.mail)
    }

    /// The line that feeds the mail to the demo's database, and to no other that the reader's shell names.
    fn ingest(&self) -> String {
        let program =
            std::env::current_exe().map_or_else(|_| "tillbell".to_owned(), |p| p.display().to_string());
        let is_configured = std::env::var_os(CONFIG_VARIABLE).is_some_and(|name| !name.is_empty());
        let none = if is_configured { "TILLBELL_CONFIG= " } else { "" };
        format!(
            "{none}TILLBELL_DATABASE__URL=sqlite:{} TILLBELL_SERVER__DEV=true {program} alert ingest --trusted {}",
            self.database.display(),
            self.mail.display()
        )
    }

    fn create(&self, Shop { base, key, hook, .. }: &Shop) -> String {
        format!(
            "curl -s -w '\\n' {base}/api/v1/payment-request -H 'X-API-Key: {key}' -H 'Content-Type: application/json' \
             -d '{{\"amount\": {NEXT_NAIRA}, \"payer_name\": \"{NEXT_PAYER}\", \"webhook_url\": \"{hook}\"}}'"
        )
    }

    fn object(&self, shop: &Shop) -> Object {
        Object::new()
            .with("url", &shop.base)
            .with("api", format!("{}/api/v1", shop.base))
            .with("key", &shop.key)
            .with("test_key", &shop.test_key)
            .with("sign_in", format!("{}/sign-in", shop.base))
            .with("staff", STAFF)
            .with("owner", OWNER)
            .with("password", &shop.password)
            .with("webhook_url", &shop.hook)
            .with("database", self.database.display().to_string())
            .with("mail", self.mail.display().to_string())
            .with("create", self.create(shop))
            .with("ingest", self.ingest())
    }

    fn invite(&self, shop: &Shop) {
        let Shop { base, key, test_key, password, .. } = shop;
        println!("Now try it yourself. Ctrl-C ends the demo and deletes its folder.\n");
        println!("  pages      {base}/sign-in");
        println!("  operator   {STAFF}, password {password}");
        println!("  merchant   {OWNER}, the same password\n");
        println!("  API        {base}/api/v1");
        println!("  key        {key}");
        println!("  test key   {test_key}");
        println!("  database   {}", self.database.display());
        println!("  bank mail  {}\n", self.mail.display());
        println!("  List the payments:\n    curl -s -w '\\n' {base}/api/v1/payments -H 'X-API-Key: {key}'\n");
        println!("  Request a payment:\n    {}\n", self.create(shop));
        println!("  Then pay it with the bank mail (its time is kept current):\n    {}\n", self.ingest());
    }
}

/// Keeps the waiting mail fresh, and prints what arrives until Ctrl-C.
async fn serve_on(app: &App, next: &Next, printer: &Printer, mut deliveries: mpsc::Receiver<Delivery>) {
    let ended = serve::until_told();
    tokio::pin!(ended);
    let mut fresh = tokio::time::interval(MAIL_EVERY);
    loop {
        tokio::select! {
            () = &mut ended => return,
            _ = fresh.tick() => {
                if let Err(error) = next.write_mail(app.now()) {
                    tracing::warn!(%error, "the bank's next mail could not be written");
                }
            }
            delivery = deliveries.recv() => {
                let Some(delivery) = delivery else { return };
                if printer.json {
                    continue;
                }
                let verified = if delivery.verified { "signature valid" } else { "SIGNATURE NOT VALID" };
                let body = harmless_bytes(&delivery.body);
                println!("  webhook {} ({verified}): {body}", delivery.id);
            }
        }
    }
}
