//! Whether checking PINs starves payments: reading a payment over HTTP while 50 customers' PINs are in
//! flight, beside the same reading with none.
//!
//! One process does both, as a node does. The PINs are right and the balances too low, so every try goes the
//! whole way (place, hash, refusal, place given back) and the same 50 customers can try without an end. They
//! are posted to the links' pages over kept connections, with the form's token, and the look that follows is
//! asked for. The server is in dev mode, because pages have a limit per address otherwise.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tillbell::app::App;
use tillbell::config::Config;
use tillbell::directory::Caller;
use tillbell::domain::intent::CODE_DIGITS;
use tillbell::domain::merchant::{KeyRights, Mode};
use tillbell::domain::money::Money;
use tillbell::domain::phone::Phone;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::wallet_payments::confirm::{Confirmed, confirm};
use tillbell::ops::wallet_payments::pin_reset::{PinSet, send_code, set_pin};
use tillbell::ops::wallet_payments::start::{StartRequest, Started, start_wallet_payment};
use tillbell::ops::wallets::desk::{GivenCredit, credit};
use tillbell::ops::wallets::find::ensure;
use tillbell::serve::{Roles, Running, start};
use tillbell::store::StoreOptions;
use tokio::net::TcpStream;

use crate::driver::{Requests, exchange, form, get, paced};
use crate::report::{Goal, Report, median};
use crate::server::Postgres;
use crate::world::{KEY, World};
use crate::{Size, scratch};

/// PINs in flight at every moment.
const PINS: usize = 50;
/// Readers, and each one's pause between two readings: about 800 readings a second.
const READERS: usize = 8;
const PAUSE: Duration = Duration::from_millis(10);
/// What p99 may be however fast it is without PINs, in ms.
const FLOOR_MS: f64 = 20.0;
/// And how many times the value without them.
const TIMES: f64 = 5.0;
const PIN: &str = "4071";
/// Bytes of a page with its head.
const PAGE_MAX: usize = 64 * 1024;
const HOOK: &str = "https://shop0.example/hook";

/// A customer with a PIN, and a link whose amount the wallet does not hold any more.
async fn customer(app: &Arc<App>, caller: &Caller, n: usize) -> String {
    let phone = Phone::parse(&format!("0803{n:07}")).expect("a number");
    ensure(app, &phone).await.expect("a wallet");
    let given = GivenCredit {
        phone: &phone.e164(),
        amount: Money(100_000),
        reason: "bench",
        reference: Some(&format!("bench-{n}")),
    };
    credit(app, "bench", &given).await.expect("a store").expect("a credit");
    let kept = begin(app, caller, &phone, &format!("kept-{n}")).await;
    let paid = begin(app, caller, &phone, &format!("paid-{n}")).await;
    send_code(app, &kept, None).await.expect("a code");
    let wallet = ensure(app, &phone).await.expect("a wallet").wallet;
    let code = app.store.newest_code(wallet.id).await.expect("a store").expect("a code");
    let digits = app.vault.code(code.id, &code.nonce, CODE_DIGITS);
    let set = set_pin(app, &kept, &digits, PIN, PIN, None).await.expect("a store");
    assert!(matches!(set, PinSet::Done), "{set:?}");
    let confirmed = confirm(app, &paid, PIN, None).await.expect("a store");
    assert!(matches!(confirmed, Confirmed::Paid(_)), "{confirmed:?}");
    kept
}

async fn begin(app: &Arc<App>, caller: &Caller, phone: &Phone, key: &str) -> String {
    let request = StartRequest {
        phone: phone.clone(),
        base: Money(90_000),
        order_reference: key.into(),
        order_summary: None,
        payer_name: "Ada Obi".into(),
        webhook_url: Some(HOOK.into()),
        idempotency_key: key.into(),
        fingerprint: [0; 32],
    };
    match start_wallet_payment(app, caller, &request).await.expect("a store") {
        Started::Waiting(started) => started.confirm_url.rsplit('/').next().unwrap_or_default().to_owned(),
        other => panic!("not started: {other:?}"),
    }
}

/// p99 of reading in ms.
fn p99(address: SocketAddr, requests: &Requests, size: &Size) -> f64 {
    let time = Duration::from_secs(size.seconds);
    let mut all = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| paced(address, READERS, time, PAUSE, requests)).join().expect("the readers")
        })
    });
    all.sort();
    let at = all.len().saturating_sub(1) * 99 / 100;
    all.get(at).map_or(f64::NAN, |took| took.as_secs_f64() * 1_000.0)
}

/// The look that a form is answered with.
fn led_to(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    let location = text.lines().find_map(|line| line.strip_prefix("location: "));
    format!("/pay/{}", location.unwrap_or_else(|| panic!("leads nowhere: {text}")))
}

/// Keeps one PIN in flight on each link's page until `stop`; answers how many were checked.
fn trying(running: &Running, links: &[String], stop: &Arc<AtomicBool>) -> Vec<tokio::task::JoinHandle<u64>> {
    let one = |link: &String| {
        let (address, stop) = (running.address, stop.clone());
        let token = running.app.vault.form_token(link, &[7; 16]);
        let request = form(&format!("/pay/{link}"), &format!("form_token={}&pin={PIN}", token.as_str()));
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.expect("connect to the server");
            stream.set_nodelay(true).expect("nodelay");
            let mut buffer = vec![0u8; PAGE_MAX];
            let mut checked = 0;
            while !stop.load(Ordering::Relaxed) {
                let (_, length) = exchange(&mut stream, &request, &mut buffer).await;
                let look = get(&led_to(&buffer[..length]), "");
                let (status, length) = exchange(&mut stream, &look, &mut buffer).await;
                match status {
                    // The right PIN, and a balance that is too low.
                    409 => checked += 1,
                    // No place was free; the customer tries again.
                    429 => {}
                    _ => panic!("{}", String::from_utf8_lossy(&buffer[..length])),
                }
            }
            checked
        })
    };
    links.iter().map(one).collect()
}

async fn measure(report: &mut Report, size: &Size, name: &str, url: &str) {
    let world = World::new(url, 1, "").await;
    let shop = &world.businesses[0];
    let text = format!(
        "[database]\nurl = \"{url}\"\n[server]\nlisten = \"127.0.0.1:0\"\ndev = true\n[wallet]\nlink_lifetime = \"120m\"\n\
         [secret]\nkey = \"{KEY}\"\n[limits]\nrequests_per_minute = 1000000000\n"
    );
    let config = Config::load(&text, std::iter::empty()).expect("the configuration");
    let app = App::open(config, &StoreOptions::service(url)).await.expect("open the database");
    app.prepare().await.expect("a database");
    let change = BusinessChange {
        webhook_url: Some(Some(HOOK.into())),
        wallet_enabled: Some(true),
        ..BusinessChange::default()
    };
    set_business(&app, "bench", shop.id, &change).await.expect("a store").expect("a business");
    let running = start(Arc::new(app), Roles::parse("api,pages").expect("a role")).await.expect("a server");
    let app = running.app.clone();
    let business = app.directory.business(shop.id).await.expect("a store").expect("a business");
    let caller = Caller { business, mode: Mode::Live, rights: KeyRights::Write };
    let mut links = Vec::with_capacity(PINS);
    for n in 0..PINS {
        links.push(customer(&app, &caller, n).await);
    }
    let payment = app.store.intent_by_key(shop.id, "kept-0").await.expect("a store").expect("an intent");
    let payment = app.store.payment(payment.payment_id).await.expect("a store").expect("a payment");
    let requests =
        Requests::fixed(vec![get(&format!("/api/v1/payment/{}", payment.transaction_id), &shop.key)]);
    p99(running.address, &requests, &Size { seconds: 1, ..*size });
    let (mut idle, mut busy) = (Vec::new(), Vec::new());
    let checked = AtomicU64::new(0);
    for _ in 0..size.runs {
        idle.push(p99(running.address, &requests, size));
        let stop = Arc::new(AtomicBool::new(false));
        let tries = trying(&running, &links, &stop);
        busy.push(p99(running.address, &requests, size));
        stop.store(true, Ordering::Relaxed);
        for one in tries {
            checked.fetch_add(one.await.expect("a customer"), Ordering::Relaxed);
        }
    }
    let (idle, busy) = (median(idle), median(busy));
    let per_second = checked.load(Ordering::Relaxed) as f64 / (size.seconds * size.runs as u64) as f64;
    report.add(
        &format!("p99 of reading while {PINS} PINs are in flight, {name}"),
        "ms",
        busy,
        (idle * TIMES).max(FLOOR_MS),
        Goal::Below,
        &format!(
            "yardstick: the larger of {TIMES} x the value without PINs ({idle:.2} ms) and {FLOOR_MS} ms; {READERS} readers \
             that pause {} ms; {per_second:.0} PINs checked a second",
            PAUSE.as_millis()
        ),
    );
    running.stop().await;
}

pub async fn run(report: &mut Report, size: &Size, postgres: Option<&Postgres>) {
    let folder = scratch();
    measure(report, size, "SQLite", &format!("sqlite:{}", folder.path().join("pins.db").display())).await;
    if let Some(server) = postgres {
        measure(report, size, "PostgreSQL", &server.database("pins")).await;
    }
}
