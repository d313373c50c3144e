//! The month before the demo: so that whoever signs in sees full pages. It is lived through, not drawn: payments are asked
//! for, the bank's mails are read by the real intake, webhooks are delivered and people decide, under a clock that is set
//! by hand. The same month every time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};

use super::payouts::Payouts;
use super::{Shop, bank_mail, weekday};
use crate::alert_reader::Banks;
use crate::app::App;
use crate::clock::{Clock, ManualClock};
use crate::directory::Caller;
use crate::domain::alert::AlertStatus;
use crate::domain::merchant::Website;
use crate::domain::money::Money;
use crate::domain::payment::PayerDetails;
use crate::domain::time::{Span, Timestamp};
use crate::mail_intake::ingest::{Arrival, Ingested, MailIngestor, Origin, ingest};
use crate::ops::alerts::approve::{Approve, approve_alert};
use crate::ops::alerts::dismiss::dismiss_alert;
use crate::ops::alerts::read::alert_totals;
use crate::ops::alerts::reverse::{Reverse, reverse_payment};
use crate::ops::figures::roll_up::roll_up;
use crate::ops::ledger::seal::seal;
use crate::ops::payments::create::{Created, NewPayment, create_payment};
use crate::ops::payments::sweep::sweep;
use crate::work::run_due;

const DAYS: i64 = 30;
/// Who decided what no rule could.
pub(super) const REVIEWER: &str = "ngozi@till.example";
const FIRST: [&str; 20] = [
    "Adaeze",
    "Babatunde",
    "Chidinma",
    "Danjuma",
    "Efosa",
    "Folasade",
    "Gbenga",
    "Hauwa",
    "Ikechukwu",
    "Jumoke",
    "Kelechi",
    "Lawal",
    "Maryam",
    "Nnamdi",
    "Obiageli",
    "Patience",
    "Rasheed",
    "Sekinat",
    "Tamuno",
    "Uchenna",
];
const LAST: [&str; 16] = [
    "Adeyemi", "Bello", "Chukwu", "Danladi", "Effiong", "Fashola", "Gwandu", "Hassan", "Iwu", "Jibril",
    "Kalu", "Lamidi", "Mohammed", "Nnaji", "Ogunleye", "Peters",
];

/// What happens to a payment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Paid,
    /// After it had expired, within the late window.
    PaidLate,
    /// By somebody of another name.
    PaidByAnother,
    /// Too little for the charges to explain.
    PaidShort,
    /// Credited, and the bank took it back.
    PaidBack,
    Unpaid,
    /// Money that nobody asked for.
    Stray,
}

/// One payment to come.
struct Plan {
    at: Timestamp,
    payer: String,
    naira: i64,
    fate: Fate,
}

/// The next number of a fixed row of numbers (Numerical Recipes' generator): the month is the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % bound
    }
}

/// What the month came to, in words.
pub(super) struct Lived {
    pub payments: usize,
    pub approved: usize,
    pub waiting: i64,
}

pub(super) struct Month<'a> {
    pub app: &'a Arc<App>,
    pub clock: &'a ManualClock,
    pub caller: Caller,
    pub website: Website,
    pub shop: &'a Shop,
    pub payouts: &'a Payouts<'a>,
    /// While it is set, the shop's receiver answers 500.
    pub is_down: &'a AtomicBool,
}

/// What is done about a payment, and when.
#[derive(Clone, Copy)]
enum Moment {
    Asked,
    Paid,
    /// A person looks at what no rule decided, or at what the bank took back.
    Settled,
}

/// What became of a plan so far.
#[derive(Default)]
struct Course {
    payment: Option<String>,
    alert: Option<(i64, AlertStatus)>,
}

impl Month<'_> {
    /// Lives through the month up to `until`.
    pub async fn live(&self, until: Timestamp) -> anyhow::Result<Lived> {
        let intake = MailIngestor::new(&self.app.config, Arc::new(Banks::embedded()?));
        let plans = plans(until);
        let mut courses: Vec<Course> = plans.iter().map(|_| Course::default()).collect();
        let mut day = 0;
        for (at, moment, number) in moments(&plans, until) {
            if at.lagos_day() != day {
                day = at.lagos_day();
                self.end_of_day(at).await?;
            }
            self.go_on(at);
            // One afternoon the shop's server was down.
            let ago = until.since(at);
            self.is_down.store(ago > Span::hours(72) && ago < Span::hours(75), Ordering::Relaxed);
            let (plan, course) = (&plans[number], &mut courses[number]);
            match moment {
                Moment::Asked => course.payment = self.asked(plan).await?,
                Moment::Paid => {
                    let alert = self.paid(&intake, plan).await?.outcome;
                    course.alert = Some((alert.alert_id, alert.status));
                    run_due(self.app).await?;
                }
                Moment::Settled => {
                    self.settled(plan, course).await?;
                    run_due(self.app).await?;
                }
            }
        }
        self.go_on(until);
        self.end_of_day(until).await?;
        self.payouts.evening().await?;
        let alerts = || courses.iter().filter_map(|course| course.alert);
        let approved = alerts().filter(|(_, status)| *status == AlertStatus::Matched).count();
        let waiting = alert_totals(self.app).await?.iter().map(|total| total.count).sum();
        Ok(Lived {
            payments: courses.iter().filter(|course| course.payment.is_some()).count(),
            approved,
            waiting,
        })
    }

    /// Time never goes back.
    fn go_on(&self, at: Timestamp) {
        self.clock.set(at.max(self.clock.now()));
    }

    async fn end_of_day(&self, at: Timestamp) -> anyhow::Result<()> {
        self.go_on(at);
        self.payouts.morning(at).await?;
        sweep(self.app).await?;
        run_due(self.app).await?;
        seal(self.app).await?;
        roll_up(self.app).await?;
        Ok(())
    }

    /// Its transaction id; `None` where nobody asked for it.
    async fn asked(&self, plan: &Plan) -> anyhow::Result<Option<String>> {
        if plan.fate == Fate::Stray {
            return Ok(None);
        }
        let new = NewPayment {
            transaction_id: None,
            base: Money(plan.naira * 100),
            payer_name: plan.payer.clone(),
            payer: PayerDetails::default(),
            bvn: None,
            webhook_url: Some(self.shop.hook.clone()),
            website: Some(self.website.clone()),
            till_user_id: None,
            return_url: None,
        };
        match create_payment(self.app, &self.caller, new, None).await? {
            Created::Payment(view) => Ok(Some(view.payment.transaction_id)),
            other => bail!("the demo's payment was not taken: {other:?}"),
        }
    }

    /// What the bank's mail came to.
    async fn paid(&self, intake: &MailIngestor, plan: &Plan) -> anyhow::Result<Ingested> {
        let (payer, naira) = match plan.fate {
            Fate::PaidByAnother => ("Blessing Okonkwo", plan.naira),
            Fate::PaidShort => (plan.payer.as_str(), plan.naira - 500),
            _ => (plan.payer.as_str(), plan.naira),
        };
        let raw = bank_mail(self.clock.now(), payer, naira).into_bytes();
        let origin = Origin::File { trusted: true };
        let arrival = Arrival { raw, source: "demo".into(), origin, in_mailbox: None };
        // From the bank's time to ours, as such mails take.
        self.clock.advance(Span::seconds(2 + naira % 40));
        Ok(ingest(self.app, intake, arrival).await?)
    }

    /// What a person made of it.
    async fn settled(&self, plan: &Plan, course: &Course) -> anyhow::Result<()> {
        let Some((alert, status)) = course.alert else { return Ok(()) };
        let Some(payment) = &course.payment else {
            let _ = dismiss_alert(self.app, alert, REVIEWER, "Rent of the kiosk, not a customer").await?;
            return Ok(());
        };
        if plan.fate == Fate::PaidBack {
            return self.reversed(payment, alert).await;
        }
        if !status.is_waiting() {
            return Ok(());
        }
        let despite = match plan.fate {
            Fate::PaidByAnother => "The customer's sister paid; she showed the receipt",
            _ => "The customer paid the rest in cash",
        };
        let wanted = Approve {
            alert_id: alert,
            business_id: self.caller.business.id,
            transaction_id: payment,
            operator: REVIEWER,
            despite: Some(despite),
            seen: None,
        };
        let _ = approve_alert(self.app, &wanted).await?;
        Ok(())
    }

    async fn reversed(&self, payment: &str, alert: i64) -> anyhow::Result<()> {
        let ask = Reverse {
            business_id: self.caller.business.id,
            transaction_id: payment,
            reason: "The bank took it back: the sender reported a mistake",
            operator: REVIEWER,
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(self.app, &ask).await?.context("the demo's reversal")?;
        // The money waits for nobody: it is gone.
        let _ = dismiss_alert(self.app, alert, REVIEWER, "The bank has taken the money back").await?;
        Ok(())
    }
}

/// All that happens, in the order of time; what would be decided within the last day is left for the newcomer.
fn moments(plans: &[Plan], until: Timestamp) -> Vec<(Timestamp, Moment, usize)> {
    let mut moments = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        if plan.fate != Fate::Stray {
            moments.push((plan.at, Moment::Asked, number));
        }
        let after = match plan.fate {
            Fate::Unpaid => continue,
            Fate::PaidLate => Span::hours(26),
            Fate::Paid | Fate::PaidBack | Fate::Stray => Span::minutes(4),
            Fate::PaidByAnother => Span::minutes(9),
            Fate::PaidShort => Span::minutes(6),
        };
        let paid = plan.at + after;
        moments.push((paid, Moment::Paid, number));
        if paid < until - Span::days(1) {
            moments.push((paid + Span::minutes(20), Moment::Settled, number));
        }
    }
    moments.retain(|(at, ..)| *at < until);
    moments.sort_by_key(|(at, ..)| *at);
    moments
}

/// Five to ten payments a day between nine and seven, more on Fridays and Saturdays; none within the last hour.
fn plans(until: Timestamp) -> Vec<Plan> {
    let mut dice = Dice(20_260_310);
    let mut plans = Vec::new();
    for day in (0..=DAYS).rev() {
        let begin = Timestamp::begin_of_lagos_day(until.lagos_day() - day);
        let is_busy = matches!(weekday(until.lagos_day() - day), 5 | 6);
        let number = 5 + dice.below(4) + if is_busy { 3 } else { 0 };
        for _ in 0..number {
            let at = begin + Span::minutes(9 * 60 + dice.below(10 * 60)) + Span::seconds(dice.below(60));
            let payer = format!("{} {}", FIRST[dice.below(20) as usize], LAST[dice.below(16) as usize]);
            let naira = 1_000 + 50 * dice.below(400) + if dice.below(3) == 0 { 0 } else { dice.below(50) };
            let fate = match dice.below(100) {
                0..=84 => Fate::Paid,
                85..=87 => Fate::PaidLate,
                88..=90 => Fate::PaidByAnother,
                91..=92 => Fate::PaidShort,
                93 => Fate::PaidBack,
                94..=95 => Fate::Stray,
                _ => Fate::Unpaid,
            };
            plans.push(Plan { at, payer, naira, fate });
        }
    }
    // What the newcomer finds at the desk, whatever the hour is.
    for (minutes, payer, naira, fate) in [
        (95, "Oluwaseun Adebayo", 18_250, Fate::PaidByAnother),
        (80, "Fatima Sani", 6_420, Fate::PaidShort),
        (70, "Godwin Etim", 4_900, Fate::Stray),
    ] {
        plans.push(Plan { at: until - Span::minutes(minutes), payer: payer.to_owned(), naira, fate });
    }
    plans.retain(|plan| plan.at <= until - Span::hours(1));
    plans.sort_by_key(|plan| plan.at);
    plans
}
