//! The core in one thread, drawn from a seed: two nodes ask for payments and top-ups, take in mails, correct, sweep, approve,
//! dismiss and reverse by hand, seal, and ask for payouts, take them back, hand them to the bank and end them; after every call to the store the seed says whose turn it is, and at every Unit whether it is refused, made
//! without an answer, or the end of the process. Then everything is asked again by who was not answered, and nothing may be
//! lost or twice. A seed that fails fails again by itself: `TILLBELL_SEED=n ./test seeded`; `TILLBELL_SEEDS=n` plays
//! so many.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tillbell::app::App;
use tillbell::clock::{ManualClock, Random, SeededRandom};
use tillbell::config::Config;
use tillbell::domain::phone::Phone;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::OpError;
use tillbell::ops::payouts::end::Outcome;
use tillbell::ops::wallets::find::ensure;
use tillbell::store::gate::Gated;
use tillbell::store::{StoreError, StoreOptions};

use crate::harness::app::{START, TestApp};
use crate::harness::databases::{Engine, TestDatabase};
use crate::harness::mails::Alert;
use crate::payouts::world::{GIVEN, OWNER, funded, member, ready_account};
use deeds::{Actor, Acts, Deed, OfOrder, OfPayout, Order, Told, WALLET, What, Wish};
use hand::Hand;

mod deeds;
mod hand;
mod judge;

/// In a run of all tests.
const SEEDS: u64 = 60;
/// Played twice, to see that nothing but the seed decides.
const TWICE: u64 = 5;
const ACCOUNTS: [&str; 2] = ["0123454417", "0123455528"];
const NAMES: [&str; 6] =
    ["Halima Garba", "Garba Halima Sani", "Chike Nwosu", "Nwosu Chike", "Folake Adeyemi", "Emeka Okoro"];
const NAIRA: [i64; 4] = [5_000, 5_000, 7_500, 12_000];
/// A top-up is of this and one naira more for each before it, so that none is another one's.
const TOPUP: i64 = 3_000;
/// What every shop is owed at the beginning, less charges.
const OWED: i64 = 20_000;
/// The first payout accounts can be used by then.
const BEGIN: Span = Span::hours(72);
/// How often whoever is not answered asks again.
const ASKS_MAX: usize = 12;
/// A turn that takes as long waits for somebody whose turn never comes.
const STUCK_AFTER: Duration = Duration::from_secs(60);
/// Turns of one seed; a lock that is never given back ends here.
const TURNS_MAX: usize = 50_000;

/// Made once: a database with two shops and two accounts, which every seed copies.
struct Ground {
    world: TestApp,
    file: PathBuf,
    keys: Vec<String>,
    payout_accounts: Vec<i64>,
    _folder: tempfile::TempDir,
}

impl Ground {
    async fn new() -> Ground {
        let world = TestApp::start(TestDatabase::migrated(Engine::Sqlite).await).await;
        for number in ACCOUNTS {
            world.account(number).await;
        }
        let (mut keys, mut payout_accounts) = (Vec::new(), Vec::new());
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
            funded(&world, &shop, OWED).await;
            let owner = member(&world, &shop, &format!("{host}.{OWNER}"), MemberRole::Owner).await;
            payout_accounts.push(ready_account(&world, &shop, owner, &GIVEN).await.id);
        }
        ensure(&world.app, &Phone::parse(WALLET).unwrap()).await.unwrap();
        let folder = in_memory();
        let file = folder.path().join("ground.db");
        let from = rusqlite::Connection::open(path_of(world.database().url())).unwrap();
        from.execute("vacuum into ?1", [file.to_str().unwrap()]).unwrap();
        Ground { world, file, keys, payout_accounts, _folder: folder }
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
        let app = App::open_with(config, &options, clock.clone(), random).await.unwrap();
        app.prepare().await.unwrap();
        Arc::new(app)
    }
}

/// Whoever lost a race about an alert pauses for a time that is drawn; here it is none, so that no wall clock has a say.
struct WithoutPauses(SeededRandom, Arc<Hand>);

impl Random for WithoutPauses {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }

    fn next_u64(&self) -> u64 {
        let drawn = self.0.next_u64();
        if self.1.pauses() { 0 } else { drawn }
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
    wishes: Vec<Wish>,
    told: Arc<Told>,
    nodes: Vec<Arc<App>>,
    starts: u64,
}

impl Play<'_> {
    fn pick<T: Clone>(&self, of: &[T]) -> T {
        of[self.hand.draw(of.len() as u64) as usize].clone()
    }

    fn orders(&mut self) {
        for n in 0..3 + self.hand.draw(4) as usize {
            let (mut naira, payer) = (self.pick(&NAIRA), self.pick(&NAMES));
            let is_topup = self.hand.draw(5) == 0;
            if is_topup {
                naira = TOPUP + n as i64;
            }
            let session = format!("100004260310{n:018}");
            let mut alert = Alert::credit(
                self.pick(&ACCOUNTS),
                naira,
                payer,
                START + BEGIN + Span::minutes(10 + n as i64),
            );
            alert.session.clone_from(&session);
            alert.message_id = format!("<{n}.{}@gens.example>", self.seed);
            alert.balance = format!("{}.00", 20_000 + n);
            let shop = self.hand.draw(2) as usize;
            let (id, mail) = (format!("T{n}"), alert.text());
            self.orders.push(Order { id, is_topup, shop, naira, payer, mail, session });
        }
        for n in 0..self.hand.draw(4) {
            let shop = self.hand.draw(2) as usize;
            let (account, naira) = (self.ground.payout_accounts[shop], self.pick(&NAIRA));
            self.wishes.push(Wish { reference: format!("P{n}"), shop, account, naira });
        }
    }

    /// Everything that will be done, in no order.
    fn deeds(&self) -> Vec<Deed> {
        let mut deeds = Vec::new();
        let any = || self.hand.draw(2) as usize;
        for order in 0..self.orders.len() {
            let own = order % 2;
            let mut add = |what, node| deeds.push(Deed { what: What::OfOrder(order, what), node });
            add(OfOrder::Ask, own);
            for _ in 0..self.hand.draw(3) {
                add(OfOrder::Mail, any());
            }
            match self.hand.draw(12) {
                0..3 => add(OfOrder::Correct(self.pick(&NAIRA)), own),
                3 => add(OfOrder::Sweep, any()),
                4..6 => add(OfOrder::ByHand, own),
                6 => add(OfOrder::Dismiss, any()),
                7 => add(OfOrder::Reverse, any()),
                8 => add(OfOrder::Seal, any()),
                _ => {}
            }
        }
        for wish in 0..self.wishes.len() {
            let mut add = |what| deeds.push(Deed { what: What::OfPayout(wish, what), node: any() });
            add(OfPayout::Ask);
            for _ in 0..self.hand.draw(4) {
                let outcome = self.pick(&[Outcome::Paid, Outcome::Refused]);
                add(self.pick(&[OfPayout::Cancel, OfPayout::Export, OfPayout::Mark(outcome)]));
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

    fn task(&self, deed: Deed) -> Task {
        let (app, told) = (self.nodes[deed.node].clone(), self.told.clone());
        let acts = match deed.what {
            What::OfOrder(n, what) => {
                let order = self.orders[n].clone();
                let taken = self.ground.world.taken(&order.mail, true);
                Acts::OnOrder(what, order, Box::new(taken))
            }
            What::OfPayout(n, what) => Acts::OnPayout(what, self.wishes[n].clone()),
        };
        let key = self.ground.keys[acts.shop()].clone();
        Box::pin(async move {
            let actor = Actor { app: &app, key: &key, told: &told };
            for _ in 0..ASKS_MAX {
                match actor.act(&acts).await {
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
                left.iter().enumerate().map(|(n, deed)| (n, (*deed, self.task(*deed)))).collect();
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
                let (deed, task) = tasks.get_mut(&of).unwrap();
                self.hand.turn(of, matches!(deed.what, What::OfOrder(..)));
                let driven = tokio::time::timeout(STUCK_AFTER, drive(task, of, &self.hand)).await;
                let is_done = driven
                    .unwrap_or_else(|_| panic!("seed {}: {deed:?} is stuck: {:?}", self.seed, self.hand));
                if is_done {
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
}

/// One turn of a task: until its next call to the store, or its end.
async fn drive(task: &mut Task, of: usize, hand: &Hand) -> bool {
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

/// Plays one seed to its end, and answers everything that happened in one number.
async fn play(ground: &Ground, seed: u64) -> (u64, u64) {
    let folder = in_memory();
    let file = folder.path().join("play.db");
    std::fs::copy(&ground.file, &file).unwrap();
    let mut play = Play {
        ground,
        hand: Arc::new(Hand::new(seed)),
        clock: Arc::new(ManualClock::new(START + BEGIN + Span::minutes(30))),
        file,
        seed,
        orders: Vec::new(),
        wishes: Vec::new(),
        told: Arc::default(),
        nodes: Vec::new(),
        starts: 0,
    };
    play.start().await;
    play.orders();
    let deeds = play.deeds();
    play.chaos(&deeds).await;
    play.nodes.clear();
    judge::judge(&play, &deeds).await;
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
