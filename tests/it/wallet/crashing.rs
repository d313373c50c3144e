//! Killed between any two steps of a payment: the link is still good, or the money has moved; never both,
//! and never half of it.
//!
//! The process that dies is this test binary itself, started again with a variable that makes the test
//! `child` do one act at the world's own time.

use std::process::{Command, Stdio};
use std::sync::Arc;

use tillbell::app::App;
use tillbell::clock::{ManualClock, SeededRandom};
use tillbell::config::Config;
use tillbell::directory::Caller;
use tillbell::domain::intent::IntentState;
use tillbell::domain::merchant::{KeyRights, Mode};
use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::messages::send_text::{TextSent, send_text, text_sent_before};
use tillbell::ops::payments::idempotency::{Claimed, claim};
use tillbell::ops::wallet_payments::confirm::{Confirmed, confirm};
use tillbell::ops::wallet_payments::pin_reset::{CodeSent, PinSet, send_code, set_pin};
use tillbell::ops::wallet_payments::start::{StartRequest, Started, start_wallet_payment};
use tillbell::store::StoreOptions;

use super::world::{HOOK, PHONE, PIN, WRONG, World, token};

const CHILD_VARIABLE: &str = "TILLBELL_TEST_WALLET_CHILD";
const CRASH_VARIABLE: &str = "TILLBELL_CRASH_AT";

/// What the child does.
enum Doing<'a> {
    Confirm { link: &'a str, pin: &'a str },
    SetPin { link: &'a str, code: &'a str, pin: &'a str },
    Start { key: &'a str },
    Text { key: &'a str },
}

/// Runs the act in a process of its own until the crash point. Answers whether it died there.
async fn killed(w: &World, doing: &Doing<'_>, point: &str) -> bool {
    let act = match doing {
        Doing::Confirm { link, pin } => format!("confirm {link} {pin}"),
        Doing::SetPin { link, code, pin } => format!("set_pin {link} {code} {pin}"),
        Doing::Start { key } => format!("start {key} {}", w.shop.id),
        Doing::Text { key } => format!("text {key} {}", w.shop.id),
    };
    let now = w.t.app.now().0;
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "wallet::crashing::child", "--nocapture"])
        .env(CHILD_VARIABLE, format!("{} {} {now} {act}", w.t.database().url(), w.t.key_file().display()))
        .env(CRASH_VARIABLE, point)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.code().is_none() || status.success(), "{point}: the child failed by itself");
    w.t.database().until_idle().await;
    status.code().is_none()
}

/// Not a test by itself: what [`killed`] runs. Without the variable there is nothing to do.
#[test]
fn child() {
    let Ok(order) = std::env::var(CHILD_VARIABLE) else { return };
    let words: Vec<&str> = order.split(' ').collect();
    let [url, key_file, now, act @ ..] = words.as_slice() else { panic!("{order}") };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let text =
            format!("[server]\ndev = true\n[database]\nurl = {url:?}\n[secret]\nkey_file = {key_file:?}\n");
        let config = Config::load(&text, std::iter::empty()).unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp(now.parse().unwrap())));
        let options = StoreOptions { readers: 2, writers: 2, id_block: 64, ..StoreOptions::service(url) };
        let seed = u64::from(std::process::id());
        let app = App::open_with(config, &options, clock, Arc::new(SeededRandom::new(seed))).await.unwrap();
        app.prepare().await.unwrap();
        let app = Arc::new(app);
        match act {
            ["confirm", link, pin] => drop(confirm(&app, link, pin, None).await.unwrap()),
            ["set_pin", link, code, pin] => drop(set_pin(&app, link, code, pin, pin, None).await.unwrap()),
            ["start", key, business] => {
                let business = app.directory.business(business.parse().unwrap()).await.unwrap().unwrap();
                let caller = Caller { business, mode: Mode::Live, rights: KeyRights::Write };
                drop(start_wallet_payment(&app, &caller, &request(key)).await.unwrap());
            }
            ["text", key, business] => {
                let business = app.directory.business(business.parse().unwrap()).await.unwrap().unwrap();
                let caller = Caller { business, mode: Mode::Live, rights: KeyRights::Write };
                let Claimed::New(claim) = claim(&app, caller.business.id, key, &[7; 32]).await.unwrap()
                else {
                    panic!("{key} is not free")
                };
                drop(send_text(&app, &caller, &request(key).phone, "hello", Some(claim)).await.unwrap());
            }
            other => panic!("{other:?}"),
        }
    });
}

/// The same in the child and in the test.
fn request(key: &str) -> StartRequest {
    StartRequest {
        phone: tillbell::domain::phone::Phone::parse(PHONE).unwrap(),
        base: Money(10_000),
        order_reference: "ORDER".into(),
        order_summary: None,
        payer_name: "Ifeoma Danladi".into(),
        webhook_url: Some(HOOK.into()),
        idempotency_key: key.into(),
        fingerprint: [7; 32],
    }
}

/// Points between any two statements and around any commit, as far as an act passes them.
const STORE_POINTS: [&str; 3] = ["store.before_commit", "store.after_commit", "store.between_statements"];
/// More passes of one point than any act here makes.
const PASSES_MAX: usize = 150;

/// Goes through every pass of every point of the store: `act` does it with one of them armed and answers
/// whether the child died there. Answers how often it did.
async fn at_every_point(mut act: impl AsyncFnMut(&str) -> bool) -> usize {
    let mut died = 0;
    for point in STORE_POINTS {
        for pass in 1.. {
            assert!(pass < PASSES_MAX, "{point} is passed without an end");
            if !act(&format!("{point}:{pass}")).await {
                break;
            }
            died += 1;
        }
    }
    died
}

/// A child is killed at `point` with a right PIN; then the link is still good or the money has moved.
/// Answers whether it died, and whether the money had moved by then.
async fn confirm_killed_at(w: &World, point: &str) -> (bool, bool) {
    // Tries that nobody ended count as wrong for a minute.
    w.t.advance(Span::seconds(61));
    let started = w.begin(100, point).await;
    let link = token(&started);
    let before = w.wallet().await.balance;
    let died = killed(w, &Doing::Confirm { link: &link, pin: PIN }, point).await;
    let intent = w.t.app.store.intent(started.intent.id).await.unwrap().unwrap();
    let payment = w.payment(&started).await;
    let events = w.t.app.store.deliveries_of_payment(payment.id).await.unwrap().len();
    let moved = intent.state == IntentState::Completed;
    if moved {
        assert_eq!((payment.status, events), (Status::Approved, 1), "{point}");
        assert_eq!(w.wallet().await.balance, Money(before.kobo() - 10_000), "{point}");
        assert!(matches!(w.confirm(&link, PIN).await, Confirmed::AlreadyPaid(_)), "{point}");
    } else {
        let state = (intent.state, payment.status, events);
        assert_eq!(state, (IntentState::PendingPin, Status::Pending, 0), "{point}");
        assert_eq!(w.wallet().await.balance, before, "{point}");
        let again = w.confirm(&link, PIN).await;
        assert!(matches!(again, Confirmed::Paid(_)), "{point}: {again:?}");
    }
    (died, moved)
}

on_both! {
    async fn a_right_pin_killed_at_any_point_moves_the_money_once_or_not_at_all(db: TestDatabase) {
        let w = World::start(db).await;
        w.ready(40_000, 100).await;
        for (point, has_moved) in
            [("pin.place_taken:1", false), ("pin.checked:1", false), ("wallet.before_debit:1", false), ("wallet.after_debit:1", true)]
        {
            assert_eq!(confirm_killed_at(&w, point).await, (true, has_moved), "{point}");
        }
        let mut moved = 0;
        let died = at_every_point(async |point: &str| {
            let (died, has_moved) = confirm_killed_at(&w, point).await;
            moved += usize::from(died && has_moved);
            died
        })
        .await;
        // After the last commit, and nowhere before it.
        assert!(died > 30 && moved == 1, "{died} died, {moved} of them after the money had moved");
    }

    async fn a_wrong_pin_killed_at_any_point_gives_no_further_try(db: TestDatabase) {
        let w = World::start(db).await;
        w.ready(30_000, 100).await;
        let mut counted = 0;
        let mut try_at = async |point: &str| {
            // No wrong PIN of another round counts against the wallet or the business.
            w.t.advance(Span::hours(25));
            let started = w.begin(100, point).await;
            let link = token(&started);
            let died = killed(&w, &Doing::Confirm { link: &link, pin: WRONG }, point).await;
            let after = w.t.app.store.intent(started.intent.id).await.unwrap().unwrap();
            assert!(after.wrong_tries <= after.tries && after.tries <= 1, "{point}: {after:?}");
            if !point.starts_with("store.") {
                assert!(died && after.tries == 1, "{point}: a PIN that may have been checked has used up a place");
            }
            counted += usize::from(died && after.wrong_tries == 1);
            let mut checked = 0;
            for _ in 0..6 {
                let confirmed = w.confirm(&link, WRONG).await;
                checked += i64::from(matches!(confirmed, Confirmed::WrongPin { .. } | Confirmed::Failed(_)));
            }
            assert_eq!(checked, 5 - after.tries, "{point}");
            died
        };
        for point in ["pin.place_taken:1", "pin.checked:1", "pin.wrong_counted:1"] {
            try_at(point).await;
        }
        let died = at_every_point(try_at).await;
        assert!(died > 15 && counted >= 2, "{died} died, {counted} of them after the count");
    }

    async fn a_new_pin_killed_at_any_point_is_set_or_not(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(30_000).await;
        let mut pins = ["4071", "8305", "6274"].into_iter().cycle();
        let mut set = 0;
        let mut set_at = async |point: &str| {
            // Five codes a day.
            w.t.advance(Span::hours(6));
            let link = token(&w.begin(100, point).await);
            assert!(matches!(send_code(&w.t.app, &link, None).await.unwrap(), CodeSent::Sent { .. }), "{point}");
            let code = w.post.last(MessageKind::Code).code.unwrap();
            let pin = pins.next().unwrap();
            let before = w.wallet().await.pin_version;
            let died = killed(&w, &Doing::SetPin { link: &link, code: &code, pin }, point).await;
            if w.wallet().await.pin_version == before {
                let again = set_pin(&w.t.app, &link, &code, pin, pin, None).await.unwrap();
                assert!(matches!(again, PinSet::Done), "{point}: {again:?}");
            } else {
                set += usize::from(died);
                let again = set_pin(&w.t.app, &link, &code, pin, pin, None).await.unwrap();
                assert!(matches!(again, PinSet::AlreadySet), "{point}: used once: {again:?}");
            }
            assert_eq!(w.wallet().await.pin_version, before + 1, "{point}");
            assert!(matches!(w.confirm(&link, pin).await, Confirmed::Paid(_)), "{point}");
            died
        };
        for point in ["code.try_counted:1", "pin.set:1"] {
            assert!(set_at(point).await, "{point}");
        }
        let died = at_every_point(set_at).await;
        assert!(died > 8 && set == 2, "{died} died, {set} of them with the PIN set");
    }

    async fn a_text_killed_at_any_point_is_never_sent_again_under_its_key(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(1).await;
        let mut bound = 0;
        let mut text_at = async |point: &str| {
            let died = killed(&w, &Doing::Text { key: point }, point).await;
            w.t.advance(Span::seconds(31));
            w.send_messages().await;
            let rows = w.t.app.store.messages(None, 1_000).await.unwrap().len();
            match claim(&w.t.app, w.shop.id, point, &[7; 32]).await.unwrap() {
                // The key stands for the message, which nobody sends any more.
                Claimed::Replay(200, kept) => {
                    bound += usize::from(died);
                    let before = text_sent_before(&w.t.app, &kept).await.unwrap();
                    assert!(matches!(before, TextSent::Unknown(_) | TextSent::Sent { .. }), "{point}: {before:?}");
                }
                // Nothing had happened.
                Claimed::New(claim) => {
                    let sent = send_text(&w.t.app, &w.shop.caller, &w.phone(), "hello", Some(claim)).await.unwrap();
                    assert!(died && matches!(sent, TextSent::Sent { .. }), "{point}: {sent:?}");
                    assert_eq!(w.t.app.store.messages(None, 1_000).await.unwrap().len(), rows + 1, "{point}");
                }
                _ => panic!("{point}: neither done nor free"),
            }
            died
        };
        for point in ["text.stored:1", "message.before_send:1", "message.after_send:1"] {
            assert!(text_at(point).await, "{point}");
        }
        let died = at_every_point(text_at).await;
        assert!(died > 8 && bound > 3, "{died} died, {bound} of them with the message written");
    }

    async fn a_start_killed_at_any_point_is_taken_up_by_the_same_request(db: TestDatabase) {
        let w = World::start(db).await;
        w.funded(30_000).await;
        let start_at = async |point: &str| {
            let died = killed(&w, &Doing::Start { key: point }, point).await;
            // The dead process holds the message for half a minute; then a worker takes it up.
            w.t.advance(Span::seconds(31));
            w.send_messages().await;
            let Started::Waiting(started) = start_wallet_payment(&w.t.app, &w.shop.caller, &request(point)).await.unwrap() else {
                panic!("{point}: not started")
            };
            assert_eq!(w.payment(&started).await.status, Status::Pending);
            let again = start_wallet_payment(&w.t.app, &w.shop.caller, &request(point)).await.unwrap();
            assert!(matches!(again, Started::Waiting(same) if same.intent.id == started.intent.id), "{point}");
            let sent = w.post.seen().iter().filter(|seen| seen.text.contains(&started.confirm_url)).count();
            // The child's messenger is the log: what it sent and wrote down is not seen here.
            assert!(sent == 1 || (sent == 0 && point.starts_with("store.")), "{point}: sent {sent} times");
            died
        };
        for point in ["intent.stored:1", "message.before_send:1", "message.after_send:1"] {
            assert!(start_at(point).await, "{point}");
        }
        let died = at_every_point(start_at).await;
        assert!(died > 10, "{died}");
    }
}
