//! Gathers everything a decision about one alert rests on, and has the domain decide.
//!
//! Read only. Used when an alert is new, when a correction looks at waiting alerts, and when a
//! person asks for suggestions. All reads begin after the alert's own commit, so of an alert and a
//! correction that happen at the same moment at least one sees the other (decisions 6.8).

use super::OpError;
use super::name_marks::name_masks;
use super::similar::similar_alerts;
use super::wallets::{known_wallet, limits};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertRow, TimePrecision};
use crate::domain::matching::{
    Beneficiary, CANDIDATES_MAX, Candidate, Considered, Decision, Incoming, Interval, SUGGESTIONS_MAX,
    Verdicts, decide,
};
use crate::domain::money::Money;
use crate::domain::name::{Verdict, fold};
use crate::domain::payment::Payment;
use crate::domain::time::{Span, Timestamp};
use crate::store::settlements::ProvenName;

/// How far back suggestions reach.
pub const SUGGEST_WITHIN: Span = Span::days(30);
/// Payments found by name, and ended ones around the amount.
const SUGGESTIONS_READ: usize = 50;

/// What was decided and what it rests on.
pub struct Weighed {
    pub decision: Decision,
    pub payments: Vec<Payment>,
    pub account: Option<ReceivingAccount>,
    /// The debit or reversal that may have taken the money back.
    pub undone_by: Option<i64>,
    /// State of the account-and-amount clock before the similar alerts were read; the settling
    /// Unit is guarded by it.
    pub ticks: i64,
}

/// The alert's bank time; with nothing shown, anything up to the mail's Date.
pub fn interval(alert: &AlertRow) -> Interval {
    match alert.facts.occurred {
        Some(time) if time.precision != TimePrecision::None => Interval {
            begin: time.begin,
            end: time.end.min(alert.first_seen).max(time.begin.min(alert.first_seen)),
        },
        _ => {
            let end = alert.mailed_at.unwrap_or(alert.first_seen).min(alert.first_seen);
            Interval { begin: Timestamp::MIN, end }
        }
    }
}

/// What the caller knows that speaks against an approval by itself.
pub struct Objection {
    pub reason: String,
    /// The payment it is about, which a person must see among the suggestions.
    pub about: Option<Payment>,
}

pub async fn weigh(app: &App, alert: &AlertRow) -> Result<Weighed, OpError> {
    weigh_against(app, alert, None).await
}

/// As [`weigh`], under an objection: never an approval, and its payment is among the suggestions.
pub async fn weigh_against(
    app: &App,
    alert: &AlertRow,
    objection: Option<&Objection>,
) -> Result<Weighed, OpError> {
    let account = match alert.account_id {
        Some(id) => app.directory.accounts().await?.iter().find(|account| account.id == id).cloned(),
        None => None,
    };
    let (Some(account), Some(received)) = (account, alert.facts.amount) else {
        let mut reasons = alert.facts.doubts.clone();
        if alert.facts.amount.is_none() {
            reasons.push("the amount could not be read".into());
        }
        if reasons.is_empty() {
            reasons.push("the alert names no account of ours".into());
        }
        let decision = Decision { verdict: Verdicts::Review { reasons }, considered: Vec::new() };
        return Ok(Weighed { decision, payments: Vec::new(), account: None, undone_by: None, ticks: 0 });
    };
    let ticks = app.store.amount_ticks(account.id, received).await?;
    let mut doubts = alert.facts.doubts.clone();
    doubts.extend(objection.map(|objection| objection.reason.clone()));
    let similar = similar_alerts(app, alert, account.id, received).await?;
    for doubt in similar.doubts {
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    let open = app.store.candidates(account.id, received, CANDIDATES_MAX).await?;
    let limit_reached = open.len() >= CANDIDATES_MAX;
    let mut payments = open;
    let cut = cut_lengths(alert);
    let mut incoming = Incoming {
        received,
        payer_name: alert.facts.payer_name.as_deref(),
        cut: &cut,
        time: interval(alert),
        first_seen: alert.first_seen,
        holder: &account.name,
        doubts: &doubts,
        limit_reached,
    };
    let mut decision = decide(&incoming, &candidates(&payments, &[]));
    let proven = proven_payers(app, alert, &decision.considered).await?;
    if !proven.is_empty() {
        decision = decide(&incoming, &candidates(&payments, &proven));
    }
    let mut with_wallet = doubts.clone();
    if let Verdicts::Approve { payment_id, .. } = &decision.verdict
        && let Some(payment) = payments.iter().find(|payment| payment.id == *payment_id)
        && let Some(doubt) = wallet_doubt(app, payment, received).await?
    {
        with_wallet.push(doubt);
        incoming.doubts = &with_wallet;
        decision = decide(&incoming, &candidates(&payments, &proven));
    }
    if !matches!(decision.verdict, Verdicts::Approve { .. }) {
        // Nothing found here can be approved by itself: other amounts, and payments that ended.
        payments = with_suggestions(app, alert, account.id, received, payments).await?;
        decision = decide(&incoming, &candidates(&payments, &proven));
    }
    if let Some(about) = objection.and_then(|objection| objection.about.as_ref()) {
        show(&incoming, about, &mut decision);
        add_unknown(&mut payments, vec![about.clone()]);
    }
    Ok(Weighed { decision, payments, account: Some(account), undone_by: similar.undone_by, ticks })
}

/// Puts a payment among the suggestions, however many are likelier.
fn show(incoming: &Incoming<'_>, payment: &Payment, decision: &mut Decision) {
    if decision.considered.iter().any(|c| c.payment_id == payment.id) {
        return;
    }
    let alone = decide(incoming, &candidates(std::slice::from_ref(payment), &[]));
    decision.considered.truncate(SUGGESTIONS_MAX - 1);
    decision.considered.extend(alone.considered);
}

/// Lengths at which the payer's name may be cut: its own, if the reader says that it fills its field.
pub fn cut_lengths(alert: &AlertRow) -> Vec<usize> {
    match &alert.facts.payer_name {
        Some(name) if alert.facts.payer_name_cut => vec![name.chars().count()],
        _ => Vec::new(),
    }
}

fn candidates<'a>(payments: &'a [Payment], proven: &[i64]) -> Vec<Candidate<'a>> {
    payments
        .iter()
        .map(|payment| Candidate {
            payment,
            beneficiary: Beneficiary::of(payment),
            proven: proven.contains(&payment.id),
        })
        .collect()
}

/// What speaks against putting money into the wallet of a top-up without a person (decisions 11).
pub async fn wallet_doubt(app: &App, payment: &Payment, received: Money) -> Result<Option<String>, OpError> {
    let Beneficiary::Wallet(id) = Beneficiary::of(payment) else { return Ok(None) };
    let wallet = known_wallet(app, id).await?;
    if wallet.suspended {
        return Ok(Some("the wallet that is topped up is suspended".into()));
    }
    let fits = wallet.may_hold(received, Money::ZERO, limits(app, &wallet));
    Ok((!fits).then(|| "the top-up would lift the wallet over the limit of its tier".into()))
}

/// Adds payments of the same name whatever their amount, and ended ones of about the amount.
async fn with_suggestions(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
    mut payments: Vec<Payment>,
) -> Result<Vec<Payment>, OpError> {
    let since = alert.first_seen - SUGGEST_WITHIN;
    let masks = alert.facts.payer_name.as_deref().map(name_masks).unwrap_or_default();
    let named = app.store.payments_named_like(account_id, &masks, since, SUGGESTIONS_READ).await?;
    add_unknown(&mut payments, named);
    // A range wide enough for the charges rule of most amounts.
    let amounts = (received, Money(received.kobo().saturating_add(received.kobo() / 10)));
    let ended = app.store.ended_payments(account_id, amounts, since, SUGGESTIONS_READ).await?;
    add_unknown(&mut payments, ended);
    Ok(payments)
}

fn add_unknown(payments: &mut Vec<Payment>, more: Vec<Payment>) {
    for payment in more {
        if payments.iter().all(|known| known.id != payment.id) {
            payments.push(payment);
        }
    }
}

/// Payments whose close name a person has accepted for this very payer account.
async fn proven_payers(app: &App, alert: &AlertRow, considered: &[Considered]) -> Result<Vec<i64>, OpError> {
    let (Some(received), Some(bank), Some(account)) =
        (&alert.facts.payer_name, &alert.facts.payer_bank, &alert.facts.payer_account_number)
    else {
        return Ok(Vec::new());
    };
    if !is_full_account_number(account) {
        return Ok(Vec::new());
    }
    let received = fold(received);
    let mut proven = Vec::new();
    for c in considered.iter().filter(|c| c.name == Verdict::Close && c.amount_fit.approves()) {
        let expected = fold(&c.expected_name);
        let name = ProvenName {
            business_id: c.business_id,
            expected: &expected,
            received: &received,
            payer_bank: bank,
            payer_account: account,
        };
        if app.store.is_name_proven(&name).await? {
            proven.push(c.payment_id);
        }
    }
    Ok(proven)
}

/// Ten digits and no mask.
pub fn is_full_account_number(text: &str) -> bool {
    text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}
