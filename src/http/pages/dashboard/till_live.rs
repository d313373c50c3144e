//! The living part of `/dashboard/till`: what is going on now in green, amber or red, who still pays, and the sales of the
//! day. Each state has its words here; green is for payments that are approved and not reversed, and for nothing else.

use askama::Template;
use askama::filters::HtmlSafe;

use super::frame::pager;
use crate::domain::alert::{BankTime, TimePrecision};
use crate::domain::arrival::ArrivalKind;
use crate::domain::time::Span;
use crate::http::pages::ask::Ask;
use crate::http::pages::here::Here;
use crate::http::pages::parts::{Naira, Pager, Tone};
use crate::http::pages::qr::{Qr, code_of};
use crate::http::pages::text::{Text, counted, sentence};
use crate::http::pages::times::{Time, Zone};
use crate::http::paths::DASHBOARD_TILL;
use crate::ops::payments::checkout::checkout_url;
use crate::ops::till::{CameForSale, PaidBy, Sale, SaleState, TOTALLED_MAX, TillView};

/// So long a paid sale stands in green above all others.
const PAID_IN_VIEW: Span = Span::minutes(2);
/// Of them so many; the others stand in the list.
const PAID_CARDS: usize = 3;
/// The script asks again no later than after so many seconds.
const AGAIN_MAX: i64 = 30;

/// The part that changes.
#[derive(Template)]
#[template(path = "dashboard/till_live.html")]
pub(super) struct Live {
    /// The service's clock, in milliseconds and for reading.
    now: i64,
    clock: String,
    /// In so many seconds it changes by itself.
    again: i64,
    rings: Vec<Ring>,
    reversed: Vec<Reversed>,
    came: Vec<Came>,
    paid: Vec<Paid>,
    waiting: Option<Waiting>,
    also_waiting: Vec<AlsoWaiting>,
    is_idle: bool,
    day: Text,
    total: Naira,
    count: String,
    today: Vec<Row>,
    carried: Vec<Row>,
    pager: Option<Pager>,
    csv: String,
}

impl HtmlSafe for Live {}

/// A payment that is rung for once.
struct Ring {
    id: Text,
    say: Text,
    /// Not in green above the others any more.
    is_old: bool,
}

struct Paid {
    amount: Naira,
    /// As the bank names the payer, if it does.
    name: Text,
    /// As the sale was asked for, where that differs.
    asked_as: Option<Text>,
    bank: Option<Text>,
    time: Option<Time>,
    proof: &'static str,
    is_small: bool,
}

/// Money that a person decides: never green.
struct Came {
    word: &'static str,
    amount: Naira,
    name: Text,
    note: Text,
}

struct Reversed {
    amount: Naira,
    name: Text,
    at: Option<Time>,
    why: Option<Text>,
}

struct Waiting {
    amount: Naira,
    name: Text,
    account: Option<Account>,
    until: i64,
    until_clock: Time,
    by: Text,
    /// The address of its checkout page.
    qr: Option<Qr>,
}

struct Account {
    number: String,
    bank: Text,
    name: Text,
}

struct AlsoWaiting {
    href: String,
    anchor: String,
    name: Text,
    amount: Naira,
    until: i64,
    until_clock: Time,
}

/// A sale in the list.
struct Row {
    tone: Tone,
    time: Time,
    name: Text,
    note: Text,
    by: Text,
    amount: Naira,
    word: &'static str,
}

impl Live {
    pub fn of(ask: &Ask, here: &Here, view: &TillView) -> Live {
        let zone = ask.zone();
        let is_new =
            |sale: &&Sale| sale.row.payment.approved_at.is_some_and(|at| at + PAID_IN_VIEW > view.now);
        let cards: Vec<&Sale> = view.paid.iter().filter(is_new).take(PAID_CARDS).collect();
        let chosen = choose(ask, view);
        let is_left = |(at, sale): &(usize, &Sale)| Some(*at) != chosen && came_of(view, sale).is_none();
        let also = view.waiting.iter().enumerate().filter(is_left).map(|(_, sale)| sale);
        let total = view.total;
        let count = match total.count {
            TOTALLED_MAX.. => format!("more than {TOTALLED_MAX} sales"),
            count => counted(count, "sale"),
        };
        Live {
            now: view.now.0 / 1000,
            clock: zone.second(view.now).text,
            again: again(view, &cards),
            rings: view
                .paid
                .iter()
                .map(|sale| ring(sale, !cards.iter().any(|card| is_same(card, sale))))
                .collect(),
            reversed: view.reversed.iter().map(|sale| reversed(&zone, sale)).collect(),
            came: view.came.iter().map(came_for).collect(),
            paid: cards.iter().enumerate().map(|(at, sale)| paid(&zone, sale, at > 0)).collect(),
            waiting: chosen.and_then(|at| view.waiting.get(at)).map(|sale| waiting(ask, &zone, sale)),
            also_waiting: also.map(|sale| also_waiting(here, &zone, sale)).collect(),
            is_idle: cards.is_empty()
                && view.waiting.is_empty()
                && view.came.is_empty()
                && view.reversed.is_empty(),
            day: zone.day(view.now).text.into(),
            total: Naira(total.amount),
            count,
            today: view.today.rows.iter().map(|sale| row(&zone, view, sale)).collect(),
            carried: view.carried.iter().map(|sale| row(&zone, view, sale)).collect(),
            pager: pager(ask, here, DASHBOARD_TILL, &view.today, &[]),
            csv: here.link(DASHBOARD_TILL, &[("format", "csv")]),
        }
    }
}

fn is_same(one: &Sale, other: &Sale) -> bool {
    one.row.payment.id == other.row.payment.id
}

/// What came for a sale and waits for a person.
fn came_of<'a>(view: &'a TillView, sale: &Sale) -> Option<&'a CameForSale> {
    view.came.iter().find(|came| came.payment.id == sale.row.payment.id)
}

/// What stands in amber. Whose money it is, is told to nobody here.
fn came_for(came: &CameForSale) -> Came {
    let (got, asked) = (Naira(came.received), Naira(came.payment.amount));
    let checks = "A person looks at it.";
    let (word, note) = match came.kind {
        ArrivalKind::Late => ("Too late", format!("It came after the time of this sale. {checks}")),
        ArrivalKind::TooLittle => ("Too little", format!("{} was asked for. {checks}", asked.text())),
        ArrivalKind::TooMuch => ("Too much", format!("{} was asked for. {checks}", asked.text())),
        ArrivalKind::OtherName => (
            "Another name",
            format!("It came in another name, or in one that is only like this one. {checks}"),
        ),
        ArrivalKind::Waiting => ("Being checked", checks.to_owned()),
    };
    Came { word, amount: got, name: (&came.payment.payer_name).into(), note: note.into() }
}

/// Which waiting sale is large: the one that the address names, else the newest of whoever looks, else the newest.
fn choose(ask: &Ask, view: &TillView) -> Option<usize> {
    let named = ask.query("sale");
    let own = ask.session.as_ref().map(|session| session.user_id);
    let find = |is_it: &dyn Fn(&Sale) -> bool| {
        view.waiting.iter().position(|sale| came_of(view, sale).is_none() && is_it(sale))
    };
    let by_name = named.and_then(|id| find(&|sale| sale.row.payment.transaction_id == id));
    by_name.or_else(|| find(&|sale| sale.row.payment.till_user_id == own)).or_else(|| find(&|_| true))
}

/// When what is shown changes though nothing happens: in so many seconds.
fn again(view: &TillView, cards: &[&Sale]) -> i64 {
    let ends = cards.iter().filter_map(|sale| Some(sale.row.payment.approved_at? + PAID_IN_VIEW));
    let expiries = view.waiting.iter().map(|sale| sale.row.payment.expires_at);
    let seconds = ends.chain(expiries).map(|at| at.since(view.now).0 / 1_000_000 + 1);
    seconds.min().unwrap_or(AGAIN_MAX).clamp(1, AGAIN_MAX)
}

fn amount_of(sale: &Sale) -> Naira {
    let payment = &sale.row.payment;
    Naira(payment.received.unwrap_or(payment.amount))
}

/// The name that the bank tells, else the one that was asked for.
fn named(sale: &Sale) -> &str {
    let told = sale.row.told.as_ref().and_then(|told| told.payer_name.as_deref());
    told.unwrap_or(&sale.row.payment.payer_name)
}

fn ring(sale: &Sale, is_old: bool) -> Ring {
    let say = format!("Paid: {} from {}", amount_of(sale).text(), named(sale));
    Ring { id: (&sale.row.payment.transaction_id).into(), say: say.into(), is_old }
}

fn proof(by: PaidBy) -> &'static str {
    match by {
        PaidBy::Bank => "proven by the bank's signature",
        PaidBy::Operator => "on the operator's word, without the bank's signature",
        PaidBy::TestMode => "no money: the mail was simulated",
        PaidBy::Person { signed: true } => "approved by a person; the bank's mail is signed",
        PaidBy::Person { signed: false } => "approved by a person, without the bank's signature",
    }
}

fn proof_of(sale: &Sale) -> &'static str {
    match sale.state {
        SaleState::Paid(by) => proof(by),
        _ => "",
    }
}

fn paid(zone: &Zone, sale: &Sale, is_small: bool) -> Paid {
    let (asked, name) = (&sale.row.payment.payer_name, named(sale));
    let told = sale.row.told.as_ref();
    Paid {
        amount: amount_of(sale),
        name: name.into(),
        asked_as: (!asked.eq_ignore_ascii_case(name)).then(|| asked.into()),
        bank: sale.account.as_ref().map(|account| (&account.bank_name).into()),
        time: told.and_then(|told| told.occurred).and_then(|occurred| bank_time(zone, occurred)),
        proof: proof_of(sale),
        is_small,
    }
}

/// The bank's own time, as exact as the bank tells it.
fn bank_time(zone: &Zone, occurred: BankTime) -> Option<Time> {
    match occurred.precision {
        TimePrecision::Second => Some(zone.second(occurred.begin)),
        TimePrecision::Minute => Some(zone.clock(occurred.begin)),
        TimePrecision::Day => Some(zone.day(occurred.begin)),
        TimePrecision::None => None,
    }
}

fn reversed(zone: &Zone, sale: &Sale) -> Reversed {
    Reversed {
        amount: amount_of(sale),
        name: named(sale).into(),
        at: sale.row.payment.reversed_at.map(|at| zone.clock(at)),
        why: sale.row.reverse_reason.as_deref().map(|why| sentence(why).into()),
    }
}

fn waiting(ask: &Ask, zone: &Zone, sale: &Sale) -> Waiting {
    let payment = &sale.row.payment;
    Waiting {
        amount: Naira(payment.amount),
        name: (&payment.payer_name).into(),
        account: sale.account.as_ref().map(|account| Account {
            number: in_groups(&account.number),
            bank: (&account.bank_name).into(),
            name: (&account.name).into(),
        }),
        until: payment.expires_at.0 / 1000,
        until_clock: zone.clock(payment.expires_at),
        by: by(sale),
        qr: checkout_url(ask.app(), payment).and_then(|url| code_of(&url)),
    }
}

fn also_waiting(here: &Here, zone: &Zone, sale: &Sale) -> AlsoWaiting {
    let payment = &sale.row.payment;
    AlsoWaiting {
        href: here.link(DASHBOARD_TILL, &[("sale", &payment.transaction_id)]),
        anchor: format!("also-{}", payment.id),
        name: (&payment.payer_name).into(),
        amount: Naira(payment.amount),
        until: payment.expires_at.0 / 1000,
        until_clock: zone.clock(payment.expires_at),
    }
}

/// Who asked: what stands before the `@`, in a shop of people who know one another.
fn by(sale: &Sale) -> Text {
    let email = sale.row.asked_by.as_deref().unwrap_or("somebody who has left");
    email.split('@').next().unwrap_or(email).into()
}

fn row(zone: &Zone, view: &TillView, sale: &Sale) -> Row {
    let payment = &sale.row.payment;
    let came = came_of(view, sale).map(came_for);
    let (tone, word, note) = match (sale.state, came) {
        (SaleState::Waits | SaleState::Expired | SaleState::Ended, Some(came)) => {
            (Tone::Warn, came.word, format!("{} came; not paid yet", came.amount.text()))
        }
        (state, _) => told(zone, sale, state),
    };
    let is_over = matches!(sale.state, SaleState::Paid(_) | SaleState::Reversed);
    Row {
        tone,
        time: zone.clock(payment.created_at),
        name: if is_over { named(sale).into() } else { (&payment.payer_name).into() },
        note: note.into(),
        by: by(sale),
        amount: if is_over { amount_of(sale) } else { Naira(payment.amount) },
        word,
    }
}

/// How a sale stands in the list: its look, its word, and what else is to be said.
fn told(zone: &Zone, sale: &Sale, state: SaleState) -> (Tone, &'static str, String) {
    let payment = &sale.row.payment;
    match state {
        SaleState::Waits => {
            let until = payment.expires_at;
            let is_of_its_day = zone.date(until) == zone.date(payment.created_at);
            let until = if is_of_its_day { zone.clock(until) } else { zone.time(until) };
            (Tone::Info, "Waiting", format!("until {}", until.text))
        }
        SaleState::Expired => (Tone::Muted, "Expired", "no money came in time".to_owned()),
        SaleState::Ended if payment.swept => (Tone::Muted, "Expired", "no money came".to_owned()),
        SaleState::Ended => (Tone::Muted, "Rejected", "ended by a person".to_owned()),
        SaleState::Reversed => {
            let at = payment.reversed_at.map(|at| zone.clock(at).text).unwrap_or_default();
            (Tone::Bad, "Reversed", format!("the money was taken back at {at}"))
        }
        SaleState::Paid(by) => (Tone::Good, "Paid", paid_note(zone, sale, by)),
    }
}

fn paid_note(zone: &Zone, sale: &Sale, by: PaidBy) -> String {
    let payment = &sale.row.payment;
    let at = sale.row.told.as_ref().and_then(|told| bank_time(zone, told.occurred?)).map(|time| time.text);
    let mut note = match at {
        Some(at) => format!("{at}, {}", proof(by)),
        None => proof(by).to_owned(),
    };
    if payment.is_mismatch {
        note.push_str(&format!("; asked for {}", Naira(payment.amount).text()));
    }
    note
}

/// `0123 456 789` is easier to type than ten digits in a row.
fn in_groups(number: &str) -> String {
    let is_usual = number.len() == 10 && number.bytes().all(|byte| byte.is_ascii_digit());
    match is_usual {
        true => format!("{} {} {}", &number[..4], &number[4..7], &number[7..]),
        false => number.to_owned(),
    }
}
