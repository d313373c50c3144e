//! The core in one thread, drawn from a seed: two nodes ask for payments, take in mails, correct, sweep and approve by hand;
//! after every call to the store the seed says whose turn it is, and at every Unit whether it is refused, made
//! without an answer, or the end of the process. Then everything is asked again by who was not answered, and nothing may be
//! lost or twice. A seed that fails fails again by itself: `TILLBELL_SEED=n ./test seeded`; `TILLBELL_SEEDS=n` plays
//! so many.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tillbell::app::App;
use tillbell::clock::{ManualClock, Random, SeededRandom};
use tillbell::config::Config;
use tillbell::domain::money::Money;
use tillbell::domain::payment::PayerDetails;
use tillbell::domain::time::Span;
use tillbell::ops::OpError;
use tillbell::ops::alerts::approve::{Approve, approve_alert};
use tillbell::ops::alerts::draft::Taken;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::correct_amount;
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};
use tillbell::ops::payments::sweep::sweep;
use tillbell::store::gate::Gated;
use tillbell::store::{StoreError, StoreOptions};

use crate::harness::app::{START, TestApp};
use crate::harness::databases::{Engine, TestDatabase};
use crate::harness::mails::Alert;
use hand::Hand;

mod hand;

/// In a run of all tests.
const SEEDS: u64 = 60;
/// Played twice, to see that nothing but the seed decides.
const TWICE: u64 = 5;
const ACCOUNTS: [&str; 2] = ["0123454417", "0123455528"];
const NAMES: [&str; 6] =
    ["Halima Garba", "Garba Halima Sani", "Chike Nwosu", "Nwosu Chike", "Folake Adeyemi", "Emeka Okoro"];
const NAIRA: [i64; 4] = [5_000, 5_000, 7_500, 12_000];
/// How often whoever is not answered asks again.
const ASKS_MAX: usize = 12;
/// Turns of one seed; a lock that is never given back ends here.
const TURNS_MAX: usize = 50_000;

/// What somebody does about a payment at a node, and does again until he is answered.
#[derive(Clone, Debug)]
struct Deed {
    what: What,
    payment: usize,
    node: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Ask,
    Mail,
    /// To so many naira.
    Correct(i64),
    /// Of all payments.
    Sweep,
    ByHand,
}

/// A payment as its customer knows it.
#[derive(Clone, Debug)]
struct Order {
    id: String,
    shop: usize,
    naira: i64,
    payer: &'static str,
    mail: String,
    session: String,
}

/// Made once: a database with two shops and two accounts, which every seed copies.
struct Ground {
    world: TestApp,
    file: PathBuf,
    keys: Vec<String>,
    _folder: tempfile::TempDir,
}

impl Ground {
    async fn new() -> Ground {
        let world = TestApp::start(TestDatabase::migrated(Engine::Sqlite).await).await;
        let mut keys = Vec::new();
        for host in ["adire.example", "suya.example"] {
            let shop = world.merchant(host).await;
            let key = tillbell::ops::merchants::keys::add_key(
                &world.app,
                "test",
                shop.id,
                tillbell::domain::merchant::Mode::Live,
                None,
                None,
            );
            keys.push(key.await.unwrap().unwrap().text.to_string());
        }
        for number in ACCOUNTS {
            world.account(number).await;
        }
        let folder = in_memory();
        let file = folder.path().join("ground.db");
        let from = rusqlite::Connection::open(path_of(world.database().url())).unwrap();
        from.execute("vacuum into ?1", [file.to_str().unwrap()]).unwrap();
        Ground { world, file, keys, _folder: folder }
    }

    async fn open(&self, file: &Path, clock: &Arc<ManualClock>, hand: &Arc<Hand>, seed: u64) -> Arc<App> {
        let url = format!("sqlite:{}", file.display());
        let text = format!(
            "[database]\nurl = {url:?}\n[secret]\nkey_file = {:?}\n[server]\ndev = true\n",
            self.world.key_file()
        );
        let config = Config::load(&text, std::iter::empty()).unwrap();
        let options = StoreOptions {
            readers: 1,
            id_block: 16,
            gate: Some(Gated(hand.clone())),
            ..StoreOptions::command(&url)
        };
        let random = Arc::new(WithoutPauses(SeededRandom::new(seed), hand.clone()));
        Arc::new(App::open_with(config, &options, clock.clone(), random).await.unwrap())
    }
}

/// Whoever lost a race pauses for a time that is drawn; here it is none, so that no wall clock has a say.
struct WithoutPauses(SeededRandom, Arc<Hand>);

impl Random for WithoutPauses {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }

    fn next_u64(&self) -> u64 {
        self.1.pauses();
        0
    }
}

/// Where a commit needs no disk, if there is such a place.
fn in_memory() -> tempfile::TempDir {
    let place = Path::new("/dev/shm");
    let place = if place.is_dir() { place.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("tillbell-seeded-").tempdir_in(place).unwrap()
}

fn path_of(url: &str) -> &str {
    url.strip_prefix("sqlite:").unwrap()
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// One seed's world.
struct Play<'a> {
    ground: &'a Ground,
    hand: Arc<Hand>,
    clock: Arc<ManualClock>,
    file: PathBuf,
    seed: u64,
    orders: Vec<Order>,
    nodes: Vec<Arc<App>>,
    starts: u64,
}

impl Play<'_> {
    fn pick<T: Clone>(&self, of: &[T]) -> T {
        of[self.hand.draw(of.len() as u64) as usize].clone()
    }

    fn orders(&mut self) {
        for n in 0..3 + self.hand.draw(4) as usize {
            let (naira, payer) = (self.pick(&NAIRA), self.pick(&NAMES));
            let session = format!("100004260310{n:018}");
            let mut alert =
                Alert::credit(self.pick(&ACCOUNTS), naira, payer, START + Span::minutes(10 + n as i64));
            alert.session.clone_from(&session);
            alert.message_id = format!("<{n}.{}@gens.example>", self.seed);
            alert.balance = format!("{}.00", 20_000 + n);
            let shop = self.hand.draw(2) as usize;
            self.orders.push(Order { id: format!("T{n}"), shop, naira, payer, mail: alert.text(), session });
        }
    }

    /// Everything that will be done, in no order.
    fn deeds(&self) -> Vec<Deed> {
        let mut deeds = Vec::new();
        for payment in 0..self.orders.len() {
            let mut add = |what, node| deeds.push(Deed { what, payment, node });
            let (own, any) = (payment % 2, || self.hand.draw(2) as usize);
            add(What::Ask, own);
            for _ in 0..self.hand.draw(3) {
                add(What::Mail, any());
            }
            match self.hand.draw(10) {
                0..3 => add(What::Correct(self.pick(&NAIRA)), own),
                3 => add(What::Sweep, any()),
                4..6 => add(What::ByHand, own),
                _ => {}
            }
        }
        deeds
    }

    /// A start asks nothing that could be told apart, and nothing goes wrong in it.
    async fn start(&mut self) {
        self.nodes.clear();
        self.hand.pause();
        for node in 0..2 {
            self.starts += 1;
            let seed = self.seed.wrapping_mul(1_000).wrapping_add(self.starts * 2 + node);
            self.nodes.push(self.ground.open(&self.file, &self.clock, &self.hand, seed).await);
        }
        self.hand.go_on();
    }

    fn task(&self, deed: &Deed) -> Task {
        let (app, order, deed) =
            (self.nodes[deed.node].clone(), self.orders[deed.payment].clone(), deed.clone());
        let key = self.ground.keys[order.shop].clone();
        let taken = self.ground.world.taken(&order.mail, true);
        Box::pin(async move {
            for _ in 0..ASKS_MAX {
                match act(&app, deed.what, &order, &key, &taken).await {
                    Ok(()) => return,
                    Err(OpError::Store(StoreError::Unavailable(_)) | OpError::Contended) => {}
                    Err(error) => panic!("{deed:?}: {error}"),
                }
            }
            panic!("{deed:?} was never answered");
        })
    }

    /// Does all deeds, by turns, over every death.
    async fn chaos(&mut self, deeds: &[Deed]) {
        let mut left = deeds.to_vec();
        let mut turns = 0;
        while !left.is_empty() {
            let mut tasks: BTreeMap<usize, (Deed, Task)> =
                left.iter().enumerate().map(|(n, deed)| (n, (deed.clone(), self.task(deed)))).collect();
            while !tasks.is_empty() && !self.hand.is_dead() {
                turns += 1;
                assert!(turns < TURNS_MAX, "seed {}: this does not end", self.seed);
                let names: Vec<usize> = tasks.keys().copied().collect();
                let of = self.pick(&names);
                if self.hand.draw(200) == 0 {
                    self.clock.advance(Span::minutes(1 + self.hand.draw(30) as i64));
                }
                // What a node remembers for a moment, it remembers by the wall clock.
                self.nodes.iter().for_each(|node| node.directory.forget());
                let (_, task) = tasks.get_mut(&of).unwrap();
                if drive(task, of, &self.hand).await {
                    tasks.remove(&of);
                }
            }
            left = tasks.into_values().map(|(deed, _)| deed).collect();
            if self.hand.is_dead() {
                self.hand.revive();
                self.start().await;
            }
        }
    }

    /// What an operator sees afterwards: everything is decided, nothing twice, and the books are true.
    async fn judge(&self, deeds: &[Deed]) {
        self.hand.open();
        let app = self.ground.open(&self.file, &self.clock, &self.hand, self.seed).await;
        for _ in 0..3 {
            tillbell::work::run_due(&app).await.unwrap();
            self.clock.advance(Span::minutes(10));
        }
        while !app.store.unsealed_entries(1).await.unwrap().is_empty() {
            tillbell::ops::ledger::seal::seal(&app).await.unwrap();
        }
        let seed = self.seed;
        for check in tillbell::ops::ledger::audit::audit(&app).await.unwrap() {
            assert_eq!(check.violations, 0, "seed {seed}: {check:?}");
        }
        drop(app);
        let file = rusqlite::Connection::open(&self.file).unwrap();
        let count = |text: &str| file.query_row(text, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(
            count("select count(*) from alerts where status = 'new'"),
            0,
            "seed {seed}: left undecided"
        );
        for (payment, order) in self.orders.iter().enumerate() {
            let one =
                |text: &str, value: &str| file.query_row(text, [value], |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(
                one("select count(*) from payments where transaction_id = ?1", &order.id),
                1,
                "seed {seed}: {order:?}"
            );
            let paid = one(
                "select count(*) from alerts where session_id = ?1 and status = 'matched'",
                &order.session,
            );
            assert!(paid <= 1, "seed {seed}: paid {paid} times: {order:?}");
            let was_told = deeds.iter().any(|deed| deed.what == What::Mail && deed.payment == payment);
            let is_kept = one("select count(*) from alerts where session_id = ?1", &order.session) > 0;
            assert_eq!(is_kept, was_told, "seed {seed}: {order:?}");
        }
        let settled = "select count(*) from settlements";
        let approved = "select count(*) from payments where status = 'approved'";
        assert_eq!(count(settled), count(approved), "seed {seed}");
        self.hand.note(count(approved) as u64);
        self.hand.note(count("select coalesce(sum(received_kobo), 0) from settlements") as u64);
        self.hand.note(count("select count(*) from alerts where status = 'review'") as u64);
    }
}

/// One turn of a task: until its next call to the store, or its end.
async fn drive(task: &mut Task, of: usize, hand: &Hand) -> bool {
    hand.turn(of);
    let step = |task: &mut Task, cx: &mut std::task::Context<'_>| match task.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending if hand.is_dead() || hand.is_quiet() => Poll::Ready(false),
        Poll::Pending => Poll::Pending,
    };
    if poll_fn(|cx| step(task, cx)).await {
        return true;
    }
    // It lines up, or waits for somebody who is not done.
    if hand.is_dead() || hand.is_waiting(of) || !hand.is_pausing() {
        return false;
    }
    poll_fn(|cx| match task.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending if hand.is_dead() || hand.is_quiet() && hand.is_waiting(of) => Poll::Ready(false),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// Done, or refused as it should be.
async fn act(app: &App, what: What, order: &Order, key: &str, taken: &Taken) -> Result<(), OpError> {
    if what == What::Sweep {
        return sweep(app).await.map(drop);
    }
    let caller = app.directory.caller(key).await?.expect("a known key");
    match what {
        What::Ask => {
            let new = NewPayment {
                transaction_id: Some(order.id.clone()),
                base: Money(order.naira * 100),
                payer_name: order.payer.into(),
                payer: PayerDetails::default(),
                bvn: None,
                webhook_url: None,
                website: None,
                till_user_id: None,
                return_url: None,
            };
            match create_payment(app, &caller, new, None).await? {
                Created::Payment(_) | Created::DuplicateTransactionId => {}
                other => panic!("{order:?}: {other:?}"),
            }
        }
        What::Mail => drop(take_alert(app, taken).await?),
        What::Correct(naira) => {
            drop(correct_amount(app, &caller, &order.id, Money(naira * 100), None).await?);
        }
        What::ByHand => {
            let waiting = app.store.alerts_by_session(None, &order.session, None, 1).await?;
            if let Some(alert) = waiting.first() {
                let ask = Approve {
                    alert_id: alert.id,
                    business_id: caller.business.id,
                    transaction_id: &order.id,
                    operator: "test",
                    despite: Some("the customer showed the receipt of this transfer"),
                    seen: None,
                };
                drop(approve_alert(app, &ask).await?);
            }
        }
        What::Sweep => {}
    }
    Ok(())
}

/// Plays one seed to its end, and answers everything that happened in one number.
async fn play(ground: &Ground, seed: u64) -> (u64, u64) {
    let folder = in_memory();
    let file = folder.path().join("play.db");
    std::fs::copy(&ground.file, &file).unwrap();
    let hand = Arc::new(Hand::new(seed));
    let clock = Arc::new(ManualClock::new(START + Span::minutes(30)));
    let mut play = Play { ground, hand, clock, file, seed, orders: Vec::new(), nodes: Vec::new(), starts: 0 };
    play.start().await;
    play.orders();
    let deeds = play.deeds();
    play.chaos(&deeds).await;
    play.nodes.clear();
    play.judge(&deeds).await;
    play.hand.trace()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a whole number"))
}

#[tokio::test]
async fn whatever_the_order_and_wherever_it_breaks_nothing_is_lost_or_twice_sqlite() {
    let ground = Ground::new().await;
    if let Some(seed) = number("TILLBELL_SEED") {
        let (trace, passes) = play(&ground, seed).await;
        println!("seed {seed}: {passes} passes, {trace:016x}");
        return;
    }
    let mut passes = 0;
    for seed in 1..=number("TILLBELL_SEEDS").unwrap_or(SEEDS) {
        let (trace, of_seed) = play(&ground, seed).await;
        passes += of_seed;
        if seed <= TWICE {
            assert_eq!(play(&ground, seed).await.0, trace, "seed {seed} went another way the second time");
        }
    }
    println!("{passes} passes of the store's gate");
}
