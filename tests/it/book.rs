//! The ledger against a model: random operations through the real ops, and beside them a small
//! in-memory book that knows what must have come of each. The seed is printed; a failing one is
//! repeated with `TILLBELL_TEST_SEED=n ./test book`.

use std::collections::BTreeMap;
use tillbell::ops::payments::reject::reject_payment;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::charges::{Schedule, quote};
use tillbell::domain::matching::CLOCK_SLACK;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::payments::correct::{Corrected, correct_amount};
use tillbell::ops::payments::sweep::sweep;

use crate::harness::app::{Merchant, TestApp};
use crate::harness::mails::Alert;

const STEPS: usize = 120;
const ACCOUNTS: [&str; 2] = ["0123454417", "0123459982"];
/// People of whom no two could be taken for one another.
const NAMES: [&str; 6] = [
    "Halima Garba",
    "Chinedu Okafor",
    "Tamuno Briggs",
    "Oluwaseun Adeyemi",
    "Efosa Igbinedion",
    "Terver Akaa",
];

/// What the book knows of a payment.
struct Line {
    payment: Payment,
    merchant: usize,
    status: Status,
    reversed: bool,
    credited: i64,
}

struct Book {
    lines: Vec<Line>,
    balances: Vec<i64>,
    next_amount: i64,
    last_mail: Option<String>,
    seen: BTreeMap<&'static str, usize>,
}

impl Book {
    fn pick(&self, rng: &mut StdRng, want: impl Fn(&Line) -> bool) -> Option<usize> {
        let fitting: Vec<usize> =
            self.lines.iter().enumerate().filter(|(_, line)| want(line)).map(|(i, _)| i).collect();
        if fitting.is_empty() { None } else { Some(fitting[rng.random_range(0..fitting.len())]) }
    }

    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }
}

fn account_number(payment: &Payment, accounts: &[(i64, &'static str)]) -> &'static str {
    accounts.iter().find(|(id, _)| Some(*id) == payment.account_id).map(|(_, number)| *number).unwrap()
}

async fn pay(t: &TestApp, book: &mut Book, i: usize, accounts: &[(i64, &'static str)], short: bool) {
    let line = &mut book.lines[i];
    let total = line.payment.charges.total().kobo();
    let received = line.payment.amount.kobo() - if short { total } else { 0 };
    assert_eq!(received % 100, 0, "the model pays whole naira");
    // Within the clock slack a corrected payment would be asked about.
    t.advance(CLOCK_SLACK + Span::seconds(30));
    let number = account_number(&line.payment, accounts);
    let mail = Alert::credit(number, received / 100, &line.payment.payer_name, t.app.now()).text();
    let outcome = t.ingest(&mail).await;
    assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?} for {:?}", line.payment);
    assert_eq!(outcome.transaction_id.as_deref(), Some(line.payment.transaction_id.as_str()));
    line.status = Status::Approved;
    line.credited = received - total;
    book.balances[line.merchant] += received - total;
    book.last_mail = Some(mail);
    book.count(if short { "paid short" } else { "paid" });
}

async fn step(
    t: &TestApp,
    book: &mut Book,
    merchants: &[Merchant],
    accounts: &[(i64, &'static str)],
    rng: &mut StdRng,
) {
    let pending = |line: &Line| line.status == Status::Pending;
    match rng.random_range(0..100) {
        0..35 => {
            let merchant = rng.random_range(0..merchants.len());
            // Far enough apart that no charges rule reaches from one to the next.
            book.next_amount += 1_000 * rng.random_range(1..4);
            // A person who pays two businesses about the same amount is asked about: nobody here does.
            let each = NAMES.len() / merchants.len();
            let name = NAMES[merchant * each + rng.random_range(0..each)];
            let payment = t.create(&merchants[merchant], book.next_amount, name).await;
            book.lines.push(Line {
                payment,
                merchant,
                status: Status::Pending,
                reversed: false,
                credited: 0,
            });
            book.count("created");
        }
        35..60 => {
            if let Some(i) = book.pick(rng, pending) {
                pay(t, book, i, accounts, false).await;
            }
        }
        60..70 => {
            if let Some(i) =
                book.pick(rng, |line| pending(line) && line.payment.charges.total().kobo() % 100 == 0)
            {
                pay(t, book, i, accounts, true).await;
            }
        }
        70..78 => {
            if let Some(mail) = book.last_mail.clone() {
                assert_eq!(t.ingest(&mail).await.status, AlertStatus::Duplicate);
                book.count("repeated");
            }
        }
        78..85 => {
            if let Some(i) = book.pick(rng, pending) {
                book.next_amount += 1_000;
                let base = Money(book.next_amount * 100);
                let caller = &merchants[book.lines[i].merchant].caller;
                let id = book.lines[i].payment.transaction_id.clone();
                let Corrected::Payment(view) = correct_amount(&t.app, caller, &id, base, None).await.unwrap()
                else {
                    panic!("a pending payment can be corrected");
                };
                assert_eq!(view.payment.amount, quote(base, &Schedule::DEFAULT).unwrap().amount);
                book.lines[i].payment = view.payment;
                book.count("corrected");
            }
        }
        85..90 => {
            if let Some(i) = book.pick(rng, pending) {
                let line = &mut book.lines[i];
                let business = merchants[line.merchant].id;
                reject_payment(&t.app, business, &line.payment.transaction_id, "model", "no")
                    .await
                    .unwrap()
                    .unwrap();
                line.status = Status::Rejected;
                book.count("rejected");
            }
        }
        90..97 => {
            if let Some(i) = book.pick(rng, |line| line.status == Status::Approved && !line.reversed) {
                let line = &mut book.lines[i];
                let ask = Reverse {
                    business_id: merchants[line.merchant].id,
                    transaction_id: &line.payment.transaction_id,
                    reason: "model",
                    operator: "model",
                    undoing_alert: None,
                    despite: None,
                };
                reverse_payment(&t.app, &ask).await.unwrap().unwrap();
                line.reversed = true;
                book.balances[line.merchant] -= line.credited;
                book.count("reversed");
            }
        }
        _ => {
            t.advance(Span::hours(49));
            sweep(&t.app).await.unwrap();
            for line in book.lines.iter_mut().filter(|line| line.status == Status::Pending) {
                line.status = Status::Rejected;
            }
            book.count("swept");
        }
    }
}

on_both! {
    async fn the_ledger_agrees_with_the_model(db: TestDatabase) {
        let seed = match std::env::var("TILLBELL_TEST_SEED") {
            Ok(text) => text.parse().unwrap(),
            Err(_) => u64::from(std::process::id()),
        };
        println!("seed {seed}");
        let mut rng = StdRng::seed_from_u64(seed);
        let t = TestApp::start(db).await;
        let merchants = [t.merchant("adire.example").await, t.merchant("bolu.example").await];
        let mut accounts = Vec::new();
        for number in ACCOUNTS {
            accounts.push((t.account(number).await, number));
        }
        let mut book = Book {
            lines: Vec::new(),
            balances: vec![0; merchants.len()],
            next_amount: 10_000,
            last_mail: None,
            seen: BTreeMap::new(),
        };
        for _ in 0..STEPS {
            step(&t, &mut book, &merchants, &accounts, &mut rng).await;
        }
        println!("{:?}", book.seen);
        for line in &book.lines {
            let now = t.payment(&line.payment).await;
            assert_eq!((now.status, now.reversed_at.is_some()), (line.status, line.reversed), "{now:?}");
        }
        for (merchant, expected) in merchants.iter().zip(&book.balances) {
            let balance = t.app.store.merchant_balance(merchant.id).await.unwrap();
            assert_eq!(balance, Some(Money(*expected)), "seed {seed}");
        }
    }
}
