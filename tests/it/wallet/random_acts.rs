//! Random acts on one wallet beside a small model of it in memory: after every act the answer, the balance and
//! every payment's state are what the model says, and at the end the audit finds nothing. Prints its seed.

use tillbell::clock::{Random, SeededRandom, SystemRandom};
use tillbell::domain::intent::{IntentState, PLACES};
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::domain::wallet::{LOCK_AFTER, LOCKED_FOR, STOP_AFTER, STOP_SHARE, TRIES_WINDOW, WalletStatus};
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::end::expire_intents;
use tillbell::ops::wallet_payments::page::{Cancelled, cancel};
use tillbell::ops::wallet_payments::start::{Started, StartedPayment};
use tillbell::ops::wallets::desk::{Act, DeskRefusal, GivenCredit, act, credit};

use super::world::{HOOK, PHONE, PIN, WRONG, World, token};

const ACTS: usize = 250;
/// In kobo; so small that limits are met.
const CAP: i64 = 5_000_000;
const DAILY: i64 = 3_000_000;
const LIFE: Span = Span::minutes(30);

struct Paying {
    started: StartedPayment,
    link: String,
    wrong: i64,
    state: IntentState,
    reversed: bool,
}

impl Paying {
    fn new(started: StartedPayment) -> Paying {
        let link = token(&started);
        Paying { started, link, wrong: 0, state: IntentState::PendingPin, reversed: false }
    }
}

/// What the wallet and the business should be.
struct Model {
    balance: i64,
    merchant: i64,
    spent: (i64, i64),
    /// Wrong tries that count against the wallet, and all of them.
    wrong: Vec<Timestamp>,
    business_wrong: Vec<Timestamp>,
    locked_until: Option<Timestamp>,
    stopped: bool,
    all: Vec<Paying>,
}

impl Model {
    fn new(balance: i64, first: Paying) -> Model {
        Model {
            balance,
            merchant: 0,
            spent: (0, 0),
            wrong: Vec::new(),
            business_wrong: Vec::new(),
            locked_until: None,
            stopped: false,
            all: vec![first],
        }
    }

    fn is_locked(&self, now: Timestamp) -> bool {
        self.locked_until.is_some_and(|until| now < until)
    }

    fn spent_on(&self, now: Timestamp) -> i64 {
        if self.spent.0 == now.lagos_day() { self.spent.1 } else { 0 }
    }

    fn begins(&self, started: &Started, kobo: i64, now: Timestamp) -> bool {
        match started {
            Started::Stopped => self.stopped,
            _ if self.stopped => false,
            Started::NotActive(WalletStatus::Locked(until)) => {
                self.locked_until == Some(*until) && now < *until
            }
            _ if self.is_locked(now) => false,
            Started::InsufficientBalance(have) => have.kobo() == self.balance && self.balance < kobo,
            _ if self.balance < kobo => false,
            Started::OverDailyLimit => self.spent_on(now) + kobo > DAILY,
            Started::Waiting(started) => {
                self.spent_on(now) + kobo <= DAILY && started.intent.amount.kobo() == kobo
            }
            _ => false,
        }
    }

    /// Judges a try of a right PIN on an open payment, and does what follows.
    fn pays(&mut self, at: usize, confirmed: &Confirmed, now: Timestamp) -> bool {
        let kobo = self.all[at].started.intent.amount.kobo();
        match confirmed {
            Confirmed::Locked { until } => self.locked_until == Some(*until) && now < *until,
            _ if self.is_locked(now) => false,
            Confirmed::ShopStopped => self.stopped,
            _ if self.stopped => false,
            Confirmed::BalanceTooLow(missing) => missing.kobo() == kobo - self.balance && self.balance < kobo,
            _ if self.balance < kobo => false,
            Confirmed::OverDailyLimit(over) => {
                over.kobo() == self.spent_on(now) + kobo - DAILY && self.spent_on(now) + kobo > DAILY
            }
            Confirmed::Paid(_) => {
                let fits = self.spent_on(now) + kobo <= DAILY;
                self.spent = (now.lagos_day(), self.spent_on(now) + kobo);
                self.balance -= kobo;
                self.merchant += kobo - fee(kobo);
                self.wrong.clear();
                self.all[at].state = IntentState::Completed;
                fits
            }
            _ => false,
        }
    }

    /// The same of a wrong one.
    fn counts(&mut self, at: usize, confirmed: &Confirmed, now: Timestamp) -> bool {
        if self.is_locked(now) {
            return matches!(confirmed, Confirmed::Locked { until } if self.locked_until == Some(*until));
        }
        if self.stopped {
            return matches!(confirmed, Confirmed::ShopStopped);
        }
        for times in [&mut self.wrong, &mut self.business_wrong] {
            times.retain(|at| *at > now - TRIES_WINDOW);
            times.push(now);
        }
        let one = &mut self.all[at];
        one.wrong += 1;
        let is_last = one.wrong == PLACES;
        if is_last {
            one.state = IntentState::Failed;
        }
        let locks = self.wrong.len() as i64 >= LOCK_AFTER;
        if locks {
            self.locked_until = Some(now + LOCKED_FOR);
        }
        // There is one wallet.
        self.stopped |= (self.business_wrong.len() as i64).min(STOP_SHARE) >= STOP_AFTER;
        match confirmed {
            Confirmed::Failed(_) => is_last,
            Confirmed::Locked { .. } => locks && !is_last,
            Confirmed::WrongPin { tries_left } => !is_last && !locks && *tries_left == PLACES - one.wrong,
            _ => false,
        }
    }

    fn expires(&mut self, now: Timestamp) {
        for one in &mut self.all {
            if one.state == IntentState::PendingPin && now >= one.started.intent.created_at + LIFE {
                one.state = IntentState::Expired;
            }
        }
    }
}

/// 1 % + 50.00, no more than there is.
fn fee(kobo: i64) -> i64 {
    ((kobo + 50) / 100 + 5_000).min(kobo)
}

/// A world, its model, and the dice.
struct Run {
    w: World,
    model: Model,
    random: SeededRandom,
}

impl Run {
    fn below(&self, n: u64) -> u64 {
        self.random.next_u64() % n
    }

    /// One of the payments of which `is_wanted` holds.
    fn pick(&self, is_wanted: impl Fn(&Paying) -> bool) -> Option<usize> {
        let all: Vec<usize> =
            (0..self.model.all.len()).filter(|at| is_wanted(&self.model.all[*at])).collect();
        (!all.is_empty()).then(|| all[self.below(all.len() as u64) as usize])
    }

    fn pick_open(&self) -> Option<usize> {
        self.pick(|one| one.state == IntentState::PendingPin)
    }

    /// One random act, compared with the model; answers what it was.
    async fn act(&mut self, n: usize) -> &'static str {
        match self.below(20) {
            0..=5 => self.start(n).await,
            6..=9 => self.try_pin(PIN).await,
            10..=14 => self.try_pin(WRONG).await,
            15 => self.cancel().await,
            16 => self.credit(n).await,
            17 => self.reverse().await,
            18 => self.unlock().await,
            _ => self.wait().await,
        }
    }

    async fn start(&mut self, n: usize) -> &'static str {
        let naira = 1 + self.below(12_000) as i64;
        let started = self.w.try_start(&self.w.request(naira, &format!("m-{n}"))).await;
        assert!(
            self.model.begins(&started, naira * 100, self.w.t.app.now()),
            "start of {naira}: {started:?}"
        );
        if let Started::Waiting(started) = started {
            self.model.all.push(Paying::new(*started));
        }
        "start"
    }

    async fn try_pin(&mut self, pin: &'static str) -> &'static str {
        let Some(at) = self.pick_open() else { return "nothing to confirm" };
        let now = self.w.t.app.now();
        let confirmed = self.w.confirm(&self.model.all[at].link, pin).await;
        let is_expected = if pin == PIN {
            self.model.pays(at, &confirmed, now)
        } else {
            self.model.counts(at, &confirmed, now)
        };
        assert!(is_expected, "{pin}: {confirmed:?}");
        "PIN"
    }

    async fn cancel(&mut self) -> &'static str {
        let Some(at) = self.pick_open() else { return "nothing to cancel" };
        let one = &mut self.model.all[at];
        assert!(matches!(cancel(&self.w.t.app, &one.link).await.unwrap(), Cancelled::Done(_)));
        one.state = IntentState::Failed;
        "cancel"
    }

    async fn credit(&mut self, n: usize) -> &'static str {
        let kobo = 100 + 100 * self.below(30_000) as i64;
        let reference = format!("R-{n}");
        let given =
            GivenCredit { phone: PHONE, amount: Money(kobo), reason: "model", reference: Some(&reference) };
        let fits = self.model.balance + kobo <= CAP;
        match credit(&self.w.t.app, "ada", &given).await.unwrap() {
            Ok(_) => assert!(fits),
            Err(other) => assert!(!fits && matches!(other, DeskRefusal::OverTier { .. }), "{other}"),
        }
        self.model.balance += if fits { kobo } else { 0 };
        "credit"
    }

    async fn reverse(&mut self) -> &'static str {
        let paid = self.pick(|one| one.state == IntentState::Completed && !one.reversed);
        let Some(at) = paid else { return "nothing to reverse" };
        let one = &mut self.model.all[at];
        let ask = Reverse {
            business_id: self.w.shop.id,
            transaction_id: &one.started.transaction_id,
            reason: "model",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&self.w.t.app, &ask).await.unwrap().unwrap();
        one.reversed = true;
        let kobo = one.started.intent.amount.kobo();
        self.model.balance += kobo;
        self.model.merchant -= kobo - fee(kobo);
        "reverse"
    }

    async fn unlock(&mut self) -> &'static str {
        act(&self.w.t.app, "ada", PHONE, Act::Unlock, "").await.unwrap().unwrap();
        self.model.locked_until = None;
        self.model.wrong.clear();
        if self.below(2) == 0 {
            self.w.enabled(&self.w.shop, HOOK).await;
            if std::mem::take(&mut self.model.stopped) {
                self.model.business_wrong.clear();
                self.w.t.advance(Span::seconds(1));
                expire_intents(&self.w.t.app).await.unwrap();
                self.model.expires(self.w.t.app.now());
            }
        }
        "unlock"
    }

    async fn wait(&mut self) -> &'static str {
        let most = if self.below(5) == 0 { 1_500 } else { 12 };
        self.w.t.advance(Span::minutes(1 + self.below(most) as i64));
        expire_intents(&self.w.t.app).await.unwrap();
        self.model.expires(self.w.t.app.now());
        "wait"
    }

    async fn compare(&self) {
        let (w, model, now) = (&self.w, &self.model, self.w.t.app.now());
        let wallet = w.wallet().await;
        assert_eq!(wallet.balance.kobo(), model.balance);
        assert_eq!(w.merchant_balance().await.kobo(), model.merchant);
        assert_eq!(matches!(wallet.status(now), WalletStatus::Locked(_)), model.is_locked(now));
        for one in &model.all {
            let intent = w.t.app.store.intent(one.started.intent.id).await.unwrap().unwrap();
            let payment = w.payment(&one.started).await;
            let expected = match one.state {
                IntentState::PendingPin => Status::Pending,
                IntentState::Completed => Status::Approved,
                IntentState::Expired | IntentState::Failed => Status::Rejected,
            };
            let found = (intent.state, intent.wrong_tries, payment.status, payment.reversed_at.is_some());
            assert_eq!(found, (one.state, one.wrong, expected, one.reversed), "{}", payment.transaction_id);
        }
    }
}

on_both! {
    async fn random_acts_do_what_the_model_says(db: TestDatabase) {
        let seed = match std::env::var("TILLBELL_TEST_SEED") {
            Ok(text) => text.parse().unwrap(),
            Err(_) => SystemRandom.next_u64(),
        };
        println!("seed {seed}");
        let limits = format!("balance = \"{}\"\ndaily = \"{}\"\n", CAP / 100, DAILY / 100);
        let w = World::with(db, &format!("[server]\ndev = true\n[wallet.tier1]\n{limits}")).await;
        let (first, _) = w.ready(20_000, 100).await;
        let mut run = Run { w, model: Model::new(2_000_000, Paying::new(first)), random: SeededRandom::new(seed) };
        for n in 0..ACTS {
            let what = run.act(n).await;
            println!("act {n}: {what}");
            run.compare().await;
        }
    }
}
