//! Who asks, pays and reads, and when: a Poisson schedule that is drawn in advance of the answers.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tillbell::clock::{Clock, SystemClock};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use super::lanes::{Http, Lmtp};
use super::receiver::Receiver;
use crate::driver::{get, post};
use crate::mails::Alert;
use crate::people::as_banks_write;
use crate::reviews::price;
use crate::signing::Signer;
use crate::world::Dice;

/// A customer pays within so many seconds, or within a quarter of a short run.
const PAYS_WITHIN_S: f64 = 60.0;
/// Of a hundred mails: an amount nobody asked for, or somebody else's name; the same mail again.
const DOUBTFUL: usize = 5;
const DUPLICATE: usize = 1;
/// Of a hundred reads so many are a list.
const LISTS: usize = 10;
/// Before somebody asks again whom the server did not answer.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// What takes longer counts as this long.
const LONGEST_US: u64 = 600_000_000;
/// Of the payments that are read.
const KNOWN_MAX: usize = 100_000;

/// How long things took, from when they were due.
pub struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Times {
        Times(Histogram::new_with_bounds(1, LONGEST_US, 3).expect("three digits"))
    }
}

impl Times {
    fn add(&mut self, took: Duration) {
        self.0.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// In milliseconds, what this share of all did not exceed.
    pub fn at(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64 / 1_000.0
    }
}

#[derive(Default)]
pub struct Figures {
    pub created: Times,
    pub read: Times,
    pub listed: Times,
    /// From when a mail was due until it was answered with 250.
    pub taken: Times,
    /// From when a mail was due until the webhook came.
    pub told: Times,
    /// Creates without a free account.
    pub refused: u64,
    /// Mails that nobody's payment fits by itself.
    pub doubtful: u64,
    /// Webhooks that came once more.
    pub again: u64,
}

pub struct Load {
    http: Http,
    lmtp: Lmtp,
    keys: Vec<String>,
    receiver: Receiver,
    figures: Mutex<Figures>,
    /// Payments that are there, with the business's number.
    known: Mutex<Vec<(usize, String)>>,
    next: AtomicU64,
    /// Creates, reads and mails that are due and not answered.
    open: AtomicUsize,
}

impl Load {
    pub fn new(api: SocketAddr, mails: SocketAddr, keys: Vec<String>, receiver: Receiver) -> Load {
        Load {
            http: Http::new(api),
            lmtp: Lmtp::new(mails),
            keys,
            receiver,
            figures: Mutex::default(),
            known: Mutex::default(),
            next: AtomicU64::new(1),
            open: AtomicUsize::new(0),
        }
    }

    fn noted(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Vec<(usize, String)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was measured until now.
    pub fn begin(&self) {
        *self.noted() = Figures::default();
        self.receiver.with(|told| told.took.clear());
    }

    /// Payments and reads at this rate each; ends when all mails are answered.
    pub async fn run(self: Arc<Load>, rate: f64, time: Duration) {
        let begun = Instant::now();
        let mut dice = Dice(self.next.load(Ordering::Relaxed) ^ 0x6e61_7469_6f6e);
        let (mut asked, mut read) = (begun, begun);
        let mut tasks = JoinSet::new();
        let within = PAYS_WITHIN_S.min(time.as_secs_f64() / 4.0);
        loop {
            let due = asked.min(read);
            if due > begun + time {
                break;
            }
            sleep_until(due.into()).await;
            let load = self.clone();
            let own = Dice(dice.0 ^ (due - begun).as_nanos() as u64);
            if asked <= read {
                asked += gap(&mut dice, rate);
                tasks.spawn(load.pay(due, own, within));
            } else {
                read += gap(&mut dice, rate);
                tasks.spawn(load.look(due, own));
            }
            while tasks.try_join_next().is_some() {}
        }
        while let Some(ended) = tasks.join_next().await {
            ended.expect("a payer");
        }
    }

    /// One payment, from the request to the mail.
    async fn pay(self: Arc<Load>, due: Instant, mut dice: Dice, within: f64) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let business = dice.below(self.keys.len());
        let (id, naira, payer) = (format!("N{number}-{business}"), price(&mut dice), dice.name());
        let body = format!(
            r#"{{"transaction_id":"{id}","amount":{naira},"payer_name":"{payer}","webhook_url":"{}/hook"}}"#,
            self.receiver.origin()
        );
        let (status, answer) = self.asked("/api/v1/payment-request", business, Some(&body)).await;
        self.noted().created.add(due.elapsed());
        let Some(account) = (match status {
            // Under the id that an unanswered request had already taken.
            201 | 400 | 409 => self.account_of(business, &id, &answer).await,
            503 => None,
            other => panic!("a create was answered with {other}: {answer}"),
        }) else {
            self.noted().refused += 1;
            return;
        };
        {
            let mut known = self.known();
            let at = if known.len() < KNOWN_MAX { known.len() } else { dice.below(KNOWN_MAX) };
            known.truncate(KNOWN_MAX);
            if at == known.len() {
                known.push((business, id.clone()));
            } else {
                known[at] = (business, id.clone());
            }
        }
        let paid =
            due + Duration::from_secs_f64(1.0_f64.min(within) + part(&mut dice) * (within - 1.0).max(0.0));
        sleep_until(paid.into()).await;
        self.transfer(paid, &mut dice, &id, &account, naira, &payer).await;
    }

    /// The bank's mail of a transfer, and now and then the same again.
    async fn transfer(
        &self,
        due: Instant,
        dice: &mut Dice,
        id: &str,
        account: &str,
        naira: i64,
        payer: &str,
    ) {
        let payer = as_banks_write(payer, dice);
        let mut alert = Alert::credit(account, naira, &payer, SystemClock.now());
        if dice.below(100) < DOUBTFUL {
            self.noted().doubtful += 1;
            if dice.below(2) == 0 {
                alert.amount = format!("{naira}.37");
            } else {
                alert.payer = as_banks_write(&dice.name(), dice);
            }
        } else {
            self.receiver.with(|told| told.due.insert(id.to_owned(), due));
        }
        let mail = Signer::bank().sign(&alert.text());
        let times = if dice.below(100) < DUPLICATE { 2 } else { 1 };
        self.open.fetch_add(1, Ordering::SeqCst);
        for _ in 0..times {
            while let Err(error) = self.lmtp.hand_in(&mail).await {
                assert!(due.elapsed() < Duration::from_secs(60), "a mail is not taken: {error}");
                sleep(AGAIN_AFTER).await;
            }
        }
        self.open.fetch_sub(1, Ordering::SeqCst);
        self.noted().taken.add(due.elapsed());
    }

    /// One payment is read, or the first page of a list.
    async fn look(self: Arc<Load>, due: Instant, mut dice: Dice) {
        let Some((business, id)) = ({
            let known = self.known();
            (!known.is_empty()).then(|| known[dice.below(known.len())].clone())
        }) else {
            return;
        };
        let is_list = dice.below(100) < LISTS;
        let path = if is_list { "/api/v1/payments".to_owned() } else { format!("/api/v1/payment/{id}") };
        let (status, answer) = self.asked(&path, business, None).await;
        assert_eq!(status, 200, "{answer}");
        let mut noted = self.noted();
        let times = if is_list { &mut noted.listed } else { &mut noted.read };
        times.add(due.elapsed());
    }

    /// Asks until it is answered.
    async fn asked(&self, path: &str, business: usize, body: Option<&str>) -> (u16, String) {
        let key = &self.keys[business];
        let request = body.map_or_else(|| get(path, key), |body| post(path, key, body));
        self.open.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        let answer = loop {
            match self.http.exchange(&request).await {
                Ok(answer) => break answer,
                Err(error) => assert!(began.elapsed() < Duration::from_secs(60), "no answer: {error}"),
            }
            sleep(AGAIN_AFTER).await;
        };
        self.open.fetch_sub(1, Ordering::SeqCst);
        answer
    }

    async fn account_of(&self, business: usize, id: &str, created: &str) -> Option<String> {
        let account = |text: &str| {
            let answer: serde_json::Value = serde_json::from_str(text).ok()?;
            Some(answer["data"]["account_number"].as_str()?.to_owned())
        };
        match account(created) {
            Some(number) => Some(number),
            None => account(&self.asked(&format!("/api/v1/payment/{id}"), business, None).await.1),
        }
    }

    pub async fn status_of(&self, id: &str) -> String {
        let business =
            id.rsplit('-').next().and_then(|business| business.parse().ok()).expect("an id of ours");
        let (_, answer) = self.asked(&format!("/api/v1/payment/{id}"), business, None).await;
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        answer["data"]["status"].as_str().unwrap_or_default().to_owned()
    }

    /// Until the server answers anything.
    pub async fn until_answered(&self) {
        let _ = self.asked("/api/v1/payments", 0, None).await;
    }

    /// Whether anything that was due is not answered or told, but for what came in this moment and what a person is asked about.
    pub fn is_behind(&self) -> bool {
        const THIS_MOMENT: Duration = Duration::from_millis(250);
        const A_PERSON: Duration = Duration::from_secs(30);
        let late = |due: &Instant| due.elapsed() > THIS_MOMENT && due.elapsed() < A_PERSON;
        self.receiver.with(|told| told.due.values().filter(|due| late(due)).count()) > self.left_to_people()
    }

    /// Of a few hundred honest payments some ask for a person by other merchants' payments.
    fn left_to_people(&self) -> usize {
        (self.noted().taken.len() / 100) as usize
    }

    /// Waits until everything is told; the payments that are not.
    pub async fn rest(&self, timeout: Duration) -> Vec<String> {
        let began = Instant::now();
        let mut last = (usize::MAX, Instant::now());
        loop {
            let waiting = self.receiver.with(|told| told.due.len());
            if waiting != last.0 {
                last = (waiting, Instant::now());
            }
            // What a person is asked about is never told.
            let is_still = last.1.elapsed() > Duration::from_secs(5);
            if waiting == 0 || is_still || began.elapsed() > timeout {
                return self.receiver.with(|told| std::mem::take(&mut told.due).into_keys().collect());
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// What was measured since `begin`.
    pub fn figures(&self) -> Figures {
        let mut figures = std::mem::take(&mut *self.noted());
        let (took, again) = self.receiver.with(|told| (std::mem::take(&mut told.took), told.again));
        took.into_iter().for_each(|took| figures.told.add(took));
        figures.again = again;
        figures
    }
}

/// Between two arrivals that know nothing of one another.
fn gap(dice: &mut Dice, rate: f64) -> Duration {
    Duration::from_secs_f64(-part(dice).ln() / rate)
}

/// Above nought, and one at most.
fn part(dice: &mut Dice) -> f64 {
    const STEPS: usize = 1 << 24;
    (dice.below(STEPS) + 1) as f64 / STEPS as f64
}
