//! `/dashboard/payments/{transaction_id}`: one payment with everything that happened to it, what came and from whom, what
//! it did to the balance, and what was told to the merchant's programs.

use askama::Template;
use axum::response::Response;

use super::form::{Acted, Forms, Refusal, in_row, refuse, sent};
use super::frame::frame;
use super::payments::{address, marks};
use super::simulate::{self, SIMULATE, Simulating, simulating};
use super::webhook::{answered, state};
use crate::domain::alert::Authenticity;
use crate::domain::money::Money;
use crate::domain::payment::{Kind as PaymentKind, Payment, Status};
use crate::domain::time::Timestamp;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Naira, Step, Timeline, Tone};
use crate::http::pages::plain::{not_allowed, unknown};
use crate::http::pages::rows::{Cell, Column, Facts, Rows};
use crate::http::pages::segment::of_segment;
use crate::http::pages::text::Text;
use crate::http::pages::text::sentence;
use crate::http::paths::{DASHBOARD_PAYMENTS, DASHBOARD_WEBHOOKS};
use crate::ops::OpError;
use crate::ops::payments::by_hand::{CorrectedByHand, correct_by_hand};
use crate::ops::payments::timeline::{Credit, PaymentTimeline, Settlement, payment_timeline};
use crate::ops::webhooks::browse::resend_of;
use crate::ops::webhooks::deliveries::Delivery;

const CORRECT: &str = "correct-amount";
const RESEND: &str = "resend-webhook";
/// Attempts of webhooks that the timeline tells; the others are on the page of webhooks.
const ATTEMPTS_TOLD: usize = 20;

#[derive(Template)]
#[template(path = "dashboard/payment.html")]
struct PaymentPage {
    frame: Frame,
    back: String,
    amount: Naira,
    payer: Text,
    marks: Vec<Cell>,
    /// What is not as it should be, in sentences.
    doubts: Vec<Text>,
    asked: Facts,
    /// Where the customer pays, while he may.
    pay_into: Option<Facts>,
    came: Vec<Facts>,
    ledger: Rows,
    timeline: Timeline,
    webhooks: Rows,
    all_webhooks: String,
    correct: Option<Form>,
    /// Of a test payment.
    simulating: Option<Simulating>,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    let Some(id) = of_segment(ask.behind("/dashboard/payments/")) else { return Ok(unknown(ask)) };
    let Some(found) = payment_timeline(ask.app(), here.id(), None, &id).await? else {
        return Ok(unknown(ask));
    };
    // Whatever the address says: test data is shown as such.
    let here = &Here { mode: found.history.view.payment.mode, ..here.clone() };
    let refusal = match sent(ask, act(ask, here, &found)).await? {
        Ok(refusal) => refusal,
        Err(response) => return Ok(response),
    };
    let path = address(here, &found.history.view.payment.transaction_id);
    let forms = Forms::at(ask, path, refusal.as_ref());
    let simulating = simulating(ask, here, &forms, &found.history.view.payment).await?;
    Ok(show(ask, here, &found, &forms, simulating))
}

async fn act(ask: &Ask, here: &Here, found: &PaymentTimeline) -> Result<Acted, OpError> {
    let payment = &found.history.view.payment;
    let done =
        |told: String| Ok(Ok(ask.see(&address(here, &payment.transaction_id), Some(Flash::done(told)))));
    match ask.field("act") {
        CORRECT => {
            if !here.may_write_payments() {
                return Ok(Ok(not_allowed(ask, &MemberRight::WritePayments.roles())));
            }
            let refused = |why: &str| Ok(Err(Refusal::new(CORRECT, "new_amount", sentence(why))));
            let Ok(amount) = Money::typed(ask.field("new_amount")) else {
                return refused("write an amount in naira, such as 5200 or 5200.50");
            };
            let place = (here.id(), here.mode);
            match correct_by_hand(ask.app(), ask.operator(), place, &payment.transaction_id, amount).await? {
                Ok(view) => {
                    let now = Naira(view.payment.amount).text();
                    done(format!("The payment asks for {now} now. Tell your customer."))
                }
                Err(CorrectedByHand::Unknown) => Ok(Ok(unknown(ask))),
                Err(why) => refused(&why.to_string()),
            }
        }
        SIMULATE if here.is_test() => Box::pin(simulate::act(ask, here, payment)).await,
        RESEND => {
            if let Some(refusal) = refuse(ask, here, MemberRight::Integrate) {
                return Ok(Ok(refusal));
            }
            let event = ask.field("event").parse::<i64>().unwrap_or(0);
            let deliveries = &found.history.deliveries;
            let Some(at) = deliveries.iter().position(|one| one.id == event) else {
                return Ok(Ok(unknown(ask)));
            };
            match resend_of(ask.app(), ask.operator(), here.id(), event).await? {
                None => Ok(Ok(unknown(ask))),
                Some(resent) if resent.ids.is_empty() => {
                    let why = "It is not sent again, because its payment was reversed.";
                    Ok(Err(Refusal::new(in_row(RESEND, at + 1), "", why)))
                }
                Some(_) => done("The webhook is sent again.".to_owned()),
            }
        }
        _ => Ok(Err(Refusal::unknown())),
    }
}

fn show(
    ask: &Ask,
    here: &Here,
    found: &PaymentTimeline,
    forms: &Forms<'_>,
    simulating: Option<Simulating>,
) -> Response {
    let payment = &found.history.view.payment;
    let page = PaymentPage {
        frame: forms.told(frame(ask, here, "Payment", DASHBOARD_PAYMENTS)),
        back: here.link(DASHBOARD_PAYMENTS, &[]),
        amount: Naira(payment.amount),
        payer: (&payment.payer_name).into(),
        marks: marks(payment),
        doubts: doubts(found),
        asked: asked(ask, found),
        pay_into: pay_into(ask, found),
        came: found.credits.iter().map(|credit| came(ask, found, credit)).collect(),
        ledger: ledger(ask, &found.history.settlements),
        timeline: timeline(ask, found),
        webhooks: webhooks(ask, here, forms, found),
        all_webhooks: here.link(DASHBOARD_WEBHOOKS, &[("transaction", &payment.transaction_id)]),
        correct: correct(ask, here, forms, payment),
        simulating,
    };
    ask.html(forms.status(), &page)
}

fn correct(ask: &Ask, here: &Here, forms: &Forms<'_>, payment: &Payment) -> Option<Form> {
    let is_open = payment.kind == PaymentKind::Transfer
        && payment.status == Status::Pending
        && !payment.is_expired(ask.app().now());
    let field = forms.field(CORRECT, "new_amount", "New amount", Kind::Amount).hint(
        "Before charges. Your customer then owes the new amount; money of the old one is looked at again.",
    );
    let form = forms.form(CORRECT, "Correct the amount").look(Look::Plain).field(field);
    (is_open && here.may_write_payments()).then_some(form)
}

fn doubts(found: &PaymentTimeline) -> Vec<Text> {
    let payment = &found.history.view.payment;
    let mismatch = payment.mismatch_reason.as_deref().map(sentence);
    let name = payment.name_mismatch.then(|| {
        "The money came under another name than the payer's; a person approved it all the same.".to_owned()
    });
    let alarm = found.history.alarm.map(|_| {
        "The bank may have taken this money back. The operator looks at it; your balance has not changed yet."
            .to_owned()
    });
    [mismatch, name, alarm].into_iter().flatten().map(Text::from).collect()
}

fn asked(ask: &Ask, found: &PaymentTimeline) -> Facts {
    let (payment, view, zone) = (&found.history.view.payment, &found.history.view, ask.zone());
    let mut facts = Facts::new()
        .fact("Transaction id", Cell::code(&payment.transaction_id))
        .fact("Asked for", payment.amount)
        .fact("Charges", payment.charges.total())
        .fact("You receive", payment.business_receives);
    if let Some(received) = payment.received {
        facts = facts.fact("Came", received);
    }
    let texts = [
        ("What it is for", payment.payer.service.as_ref()),
        ("Your reference", payment.external_reference.as_ref()),
        ("Website", view.website.as_ref().map(|website| &website.host)),
    ];
    for (label, text) in texts {
        if let Some(text) = text {
            facts = facts.fact(label, Cell::text(text));
        }
    }
    if let Some(url) = &view.checkout_url {
        facts = facts.fact("Checkout page", Cell::link(url, url));
    }
    let kind = if payment.kind == PaymentKind::Wallet { "From a wallet" } else { "Bank transfer" };
    facts
        .fact("How", Cell::text(kind))
        .fact("Made", zone.exact(payment.created_at))
        .fact("Valid until", zone.time(payment.expires_at))
}

fn pay_into(ask: &Ask, found: &PaymentTimeline) -> Option<Facts> {
    let payment = &found.history.view.payment;
    let account = found.history.view.account.as_ref()?;
    let is_open = payment.status == Status::Pending && !payment.is_expired(ask.app().now());
    is_open.then(|| {
        Facts::new()
            .fact("Bank", Cell::text(&account.bank_name))
            .fact("Account number", Cell::code(&account.number))
            .fact("Account name", Cell::text(&account.name))
            .fact("Exactly", payment.amount)
    })
}

fn came(ask: &Ask, found: &PaymentTimeline, credit: &Credit) -> Facts {
    let zone = ask.zone();
    let ours = found.history.view.account.as_ref().map(|account| account.bank_name.clone());
    let mut facts = Facts::new();
    if let Some(amount) = credit.amount {
        facts = facts.fact("Amount", amount);
    }
    let texts = [
        ("From", &credit.payer_name),
        ("Payer's bank", &credit.payer_bank),
        ("Into the account at", &ours),
        ("What the bank noted", &credit.narration),
    ];
    for (label, text) in texts {
        if let Some(text) = text {
            facts = facts.fact(label, Cell::text(text));
        }
    }
    if let Some(time) = credit.occurred {
        facts = facts.fact("The bank's own time", zone.exact(time.begin));
    }
    let proof = match credit.authenticity {
        Authenticity::Proven => Cell::badge(Tone::Good, "The bank's signature"),
        Authenticity::Simulated => Cell::badge(Tone::Muted, "Nothing: it was simulated"),
        _ => Cell::badge(Tone::Info, "The operator's word"),
    };
    facts.fact("Proven by", proof)
}

/// What the payment did to the balance.
fn ledger(ask: &Ask, settlements: &[Settlement]) -> Rows {
    let columns = vec![
        Column::new("What"),
        Column::figure("To your balance"),
        Column::figure("Charges"),
        Column::new("When"),
    ];
    let empty = Empty::new("Nothing yet", "When the money is here, your balance grows by what you receive.");
    let mut rows = Rows::new("Balance", columns, empty);
    let zone = ask.zone();
    for one in settlements {
        rows.row(vec![
            Cell::text("Approved"),
            one.business_receives.into(),
            one.charge.into(),
            zone.exact(one.settled_at).into(),
        ]);
        if let Some(at) = one.reversed_at {
            let back = |amount: Money| Cell::text(format!("\u{2212}{}", Naira(amount).text()));
            rows.row(vec![
                Cell::text("Reversed"),
                back(one.business_receives),
                back(one.charge),
                zone.exact(at).into(),
            ]);
        }
    }
    rows
}

fn timeline(ask: &Ask, found: &PaymentTimeline) -> Timeline {
    let (payment, zone) = (&found.history.view.payment, ask.zone());
    let step = |tone, at: Timestamp, title: &str| (at, Step::new(tone, zone.exact(at), title));
    let first = found.corrections.first().map_or(payment.amount, |correction| correction.before);
    let mut steps = vec![step(Tone::Info, payment.created_at, "Asked for")];
    steps[0].1.lines.push(format!("{} from {}.", Naira(first).text(), payment.payer_name).into());
    for one in &found.corrections {
        let (at, corrected) = step(Tone::Info, one.at, "Amount corrected");
        let told = format!("From {} to {}.", Naira(one.before).text(), Naira(one.after).text());
        steps.push((at, corrected.line(told)));
    }
    for one in &found.history.settlements {
        steps.extend(settled(ask, one));
    }
    if let Some(at) = payment.rejected_at {
        let title = if payment.swept { "Ended unpaid" } else { "Rejected" };
        let (at, mut rejected) = step(Tone::Bad, at, title);
        rejected.lines.extend(payment.reject_reason.as_deref().map(|why| sentence(why).into()));
        steps.push((at, rejected));
    } else if payment.status == Status::Pending && payment.is_expired(ask.app().now()) {
        let (at, expired) = step(Tone::Warn, payment.expires_at, "Not valid any more");
        let until = zone.time(payment.approvable_until).text;
        steps.push((at, expired.line(format!("Money that comes until {until} still counts."))));
    }
    let attempts = found
        .history
        .deliveries
        .iter()
        .flat_map(|delivery| delivery.attempts.iter().map(move |attempt| (delivery, attempt)));
    for (delivery, attempt) in attempts.take(ATTEMPTS_TOLD) {
        let is_good = attempt.status.is_some_and(|status| (200..300).contains(&status));
        let (tone, title) =
            if is_good { (Tone::Good, "Webhook arrived") } else { (Tone::Bad, "Webhook did not arrive") };
        let (at, told) = step(tone, attempt.at, title);
        steps.push((at, told.line(format!("{}: {}", delivery.event, answered(attempt)))));
    }
    // What stands at one moment keeps its order.
    steps.sort_by_key(|(at, _)| *at);
    Timeline { steps: steps.into_iter().map(|(_, step)| step).collect() }
}

fn settled(ask: &Ask, one: &Settlement) -> Vec<(Timestamp, Step)> {
    let zone = ask.zone();
    let approved = Step::new(Tone::Good, zone.exact(one.settled_at), "Approved")
        .line(format!(
            "{} came; you receive {}.",
            Naira(one.received).text(),
            Naira(one.business_receives).text()
        ))
        .line(sentence(&one.rule));
    // Whose hand it was is the operator's own matter.
    let approved = if one.operator.is_some() { approved.by("a person at the operator's") } else { approved };
    let mut steps = vec![(one.settled_at, approved)];
    if let Some(at) = one.reversed_at {
        let reversed = Step::new(Tone::Bad, zone.exact(at), "Reversed")
            .line(format!("{} went off your balance.", Naira(one.business_receives).text()));
        let why = one.reverse_reason.as_deref().map(sentence);
        steps.push((at, why.map_or(reversed.clone(), |why| reversed.line(why))));
    }
    steps
}

fn webhooks(ask: &Ask, here: &Here, forms: &Forms<'_>, found: &PaymentTimeline) -> Rows {
    let columns = vec![
        Column::new("Event"),
        Column::new("State"),
        Column::new("Last answer"),
        Column::new("Sent"),
        Column::acts("Send again"),
    ];
    let empty = Empty::new("None yet", "Your program is told when the payment is approved.");
    let mut rows = Rows::new("Webhooks", columns, empty);
    let zone = ask.zone();
    for (at, delivery) in found.history.deliveries.iter().enumerate() {
        let last = delivery.attempts.last();
        rows.row(vec![
            Cell::code(&delivery.event),
            state(delivery),
            last.map_or(Cell::None, |attempt| Cell::text(answered(attempt))),
            last.map_or(Cell::None, |attempt| zone.exact(attempt.at).into()),
            resend(here, forms, at + 1, delivery),
        ]);
    }
    rows
}

fn resend(here: &Here, forms: &Forms<'_>, number: usize, delivery: &Delivery) -> Cell {
    if !here.may(MemberRight::Integrate) || delivery.superseded().is_some() {
        return Cell::None;
    }
    forms.in_row(RESEND, number, "Send again").hidden("event", delivery.id.to_string()).small().into()
}
