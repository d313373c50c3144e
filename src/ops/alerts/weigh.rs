//! Gathers everything a decision about one alert rests on, and has the domain decide.
//!
//! Read only. Used when an alert is new, when a correction looks at waiting alerts, and when a
//! person asks for suggestions. All reads begin after the alert's own commit, so of an alert and a
//! correction that happen at the same moment at least one sees the other (contract/matching.md#m21).

use super::other_accounts::{on_fitting_accounts, on_other_accounts};
use super::similar::{Similar, similar_alerts};
use crate::app::App;
use crate::domain::account::{ReceivingAccount, is_full_account_number};
use crate::domain::alert::AlertRow;
use crate::domain::matching::{
    Beneficiary, CANDIDATES_MAX, Candidate, Considered, Decision, Incoming, NEAR_MISS, SUGGESTIONS_MAX,
    Verdicts, WhichAccount, consider_on, decide, has_ended_lately, similar_amounts,
};
use crate::domain::money::Money;
use crate::domain::name::index::Likeness;
use crate::domain::name::{Folded, NameVerdict, fold, verdict_folded};
use crate::domain::payment::{Payment, Status};
use crate::domain::same_transfer::interval;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::payments::like_names::{
    ANY_AMOUNT, Found, Wanted, add_unknown, is_index_unfinished, of_others, payments_like,
};
use crate::ops::wallet_payments::topup::{HeldTopup, held_topup};
use crate::store::tables::settlements::ProvenName;

/// How far back suggestions reach.
const SUGGEST_WITHIN: Span = Span::days(30);
/// Open payments of the very amount that are read whatever their names. Where there are more, they are found by
/// name (`like_names`), or, where a name cannot be looked for, up to the second number is read.
const OF_AMOUNT_MAX: usize = 8;
const OF_AMOUNT_MOST: usize = 2_000;
/// Ended payments that are read where names cannot be looked for: those of the days for which they speak, and more.
const ENDED_SINCE: Span = Span::days(8);
/// Payments found by name, and ended ones around the amount.
const SUGGESTIONS_READ: usize = 50;

/// What was decided and what it rests on.
pub struct Weighed {
    pub decision: Decision,
    pub payments: Vec<Payment>,
    pub account: Option<ReceivingAccount>,
    /// The debit or reversal that may have taken the money back.
    pub undone_by: Option<i64>,
    /// Of what kind the doubts were under which was decided; the domain knows those of its own reasons.
    pub doubt_kinds: Vec<&'static str>,
    /// The top-up that it would pay but for its wallet.
    pub held: Option<HeldTopup>,
    /// Version of the amount on its account before the similar alerts were read; the settling
    /// Unit is guarded by it.
    pub amount_version: i64,
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
        return without_account(app, alert).await;
    };
    let holding_account = account.holding_account();
    let amount_version = app.store.amount_version(holding_account, received).await?;
    let mut doubts = alert.facts.doubts.clone();
    doubts.extend(objection.map(|objection| objection.reason.clone()));
    let similar = similar_alerts(app, alert, account.id, received).await?;
    let mut doubt_kinds = kinds_of_doubts(alert, objection, &similar);
    for doubt in similar.doubts {
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    let cut = alert.facts.cut_lengths();
    let Read { mut payments, of_other_names, is_about_amount, limit_reached } =
        read_open_payments(app, alert, account.id, received).await?;
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
    if let Verdicts::Approve { payment_id, .. } = &decision.verdict
        && let Some(winner) = payments.iter().find(|payment| payment.id == *payment_id)
        && !is_about_amount
    {
        // Others of the payer's name may be meant, too, where people round or mistype.
        let more = about_amount(app, alert, winner).await?;
        let known = payments.len();
        add_unknown(&mut payments, open_or_ended_lately(alert, more.payments));
        if payments.len() > known || more.may_be_more {
            incoming.limit_reached |= more.may_be_more;
            decision = decide(&incoming, &candidates(&payments, &proven));
        }
    }
    if let Verdicts::Approve { payment_id, .. } = &decision.verdict
        && let Some(winner) = payments.iter().find(|payment| payment.id == *payment_id)
        && is_about_amount
    {
        let missed = missed_by_index(app, alert, winner, received).await?;
        let known = payments.len();
        add_unknown(&mut payments, missed);
        if payments.len() > known {
            decision = decide(&incoming, &candidates(&payments, &proven));
        }
    }
    let (mut with_wallet, mut held) = (doubts.clone(), None);
    if let Verdicts::Approve { payment_id, .. } = &decision.verdict
        && let Some(payment) = payments.iter().find(|payment| payment.id == *payment_id)
        && let Some(topup) = held_topup(app, payment, received).await?
    {
        held = Some(topup);
        with_wallet.push(topup.doubt.to_string());
        doubt_kinds.push("wallet");
        incoming.doubts = &with_wallet;
        decision = decide(&incoming, &candidates(&payments, &proven));
    }
    if !matches!(decision.verdict, Verdicts::Approve { .. }) {
        // Nothing found here can be approved by itself: other names, other amounts, and payments that ended.
        add_unknown(&mut payments, of_other_names);
        payments = with_suggestions(app, alert, account.id, received, payments).await?;
        decision = decide(&incoming, &candidates(&payments, &proven));
        // After the verdict, in which they have no part.
        let since = alert.first_seen - SUGGEST_WITHIN;
        let elsewhere = on_other_accounts(app, alert, &account, received, since).await?.payments;
        decision.show_elsewhere(consider_on(WhichAccount::Another, &incoming, &candidates(&elsewhere, &[])));
    }
    if let Some(about) = objection.and_then(|objection| objection.about.as_ref()) {
        show(&incoming, alert.account_id, about, &mut decision);
        add_unknown(&mut payments, vec![about.clone()]);
    }
    let undone_by = similar.undone_by;
    Ok(Weighed { decision, payments, account: Some(account), undone_by, doubt_kinds, held, amount_version })
}

/// An alert without an amount, or whose account is not settled, always goes to a person, who is shown what fits on
/// the accounts that it may be about.
async fn without_account(app: &App, alert: &AlertRow) -> Result<Weighed, OpError> {
    let mut reasons = alert.facts.doubts.clone();
    let mut doubt_kinds = Vec::new();
    if alert.facts.amount.is_none() {
        reasons.push("the amount could not be read".into());
        doubt_kinds.push("no_amount");
    }
    if reasons.is_empty() {
        reasons.push("the alert names no registered account".into());
    }
    if alert.account_id.is_none() {
        doubt_kinds.push("no_account");
    }
    let verdict = Verdicts::Review { reasons, kinds: Vec::new() };
    let mut decision = Decision { verdict, considered: Vec::new() };
    if let (None, Some(received)) = (alert.account_id, alert.facts.amount) {
        let (which_account, payments) =
            on_fitting_accounts(app, alert, received, alert.first_seen - SUGGEST_WITHIN).await?;
        let cut = alert.facts.cut_lengths();
        let incoming = Incoming {
            received,
            payer_name: alert.facts.payer_name.as_deref(),
            cut: &cut,
            time: interval(alert),
            first_seen: alert.first_seen,
            holder: "",
            doubts: &[],
            limit_reached: false,
        };
        decision.show_elsewhere(consider_on(which_account, &incoming, &candidates(&payments, &[])));
    }
    let (payments, account, undone_by, amount_version) = (Vec::new(), None, None, 0);
    Ok(Weighed { decision, payments, account, undone_by, doubt_kinds, held: None, amount_version })
}

/// Where the doubts come from: the mail or the account, a correction, other alerts of the same money.
fn kinds_of_doubts(alert: &AlertRow, objection: Option<&Objection>, similar: &Similar) -> Vec<&'static str> {
    let told_again = similar.doubts.len() > usize::from(similar.undone_by.is_some());
    [
        (!alert.facts.doubts.is_empty(), "mail_doubt"),
        (objection.is_some(), "amount_corrected"),
        (similar.undone_by.is_some(), "taken_back"),
        (told_again, "another_alert"),
    ]
    .into_iter()
    .filter_map(|(is_there, kind)| is_there.then_some(kind))
    .collect()
}

/// Puts a payment among the suggestions, however many are likelier.
fn show(incoming: &Incoming<'_>, account_id: Option<i64>, payment: &Payment, decision: &mut Decision) {
    if decision.considered.iter().any(|c| c.payment_id == payment.id) {
        return;
    }
    let candidates = candidates(std::slice::from_ref(payment), &[]);
    let alone = match payment.account_id == account_id {
        true => decide(incoming, &candidates).considered,
        false => consider_on(WhichAccount::Another, incoming, &candidates),
    };
    decision.considered.truncate(SUGGESTIONS_MAX - 1);
    decision.considered.extend(alone);
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

/// Adds payments of the same name whatever their amount, and ended ones of about the amount.
async fn with_suggestions(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
    mut payments: Vec<Payment>,
) -> Result<Vec<Payment>, OpError> {
    let since = alert.first_seen - SUGGEST_WITHIN;
    if let Some(payer_name) = &alert.facts.payer_name {
        let wanted = Wanted {
            account_id: Some(account_id),
            payer_name,
            likeness: Likeness::NotDifferent,
            amounts: ANY_AMOUNT,
            open_after: Timestamp(0),
            limit: SUGGESTIONS_READ,
        };
        let named = payments_like(app, &wanted).await?.payments;
        add_unknown(&mut payments, named.into_iter().filter(|payment| payment.created_at >= since).collect());
    }
    // A range wide enough for the charges rule of most amounts.
    let amounts = (received, Money(received.kobo().saturating_add(received.kobo() / 10)));
    let ended = app.store.ended_payments(account_id, amounts, since, SUGGESTIONS_READ).await?;
    add_unknown(&mut payments, ended);
    Ok(payments)
}

/// The payments that an alert may be meant for: open ones, and those of like names that have ended lately.
struct Read {
    payments: Vec<Payment>,
    /// Some of the amount whose names are other people's, for a person to see.
    of_other_names: Vec<Payment>,
    /// Those of the payer's name and about the amount are among them.
    is_about_amount: bool,
    /// Some may be missing.
    limit_reached: bool,
}

/// Reads the open payments that the received amount would approve: all, while they are few. Where many share the
/// amount, those that may bear a name like the payer's, so that no number of others hides one.
async fn read_open_payments(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
) -> Result<Read, OpError> {
    let (mut payments, many) = of_amount(app, account_id, received, OF_AMOUNT_MAX).await?;
    let Some(payer_name) = alert.facts.payer_name.as_deref().filter(|_| many) else {
        let of_other_names = Vec::new();
        return Ok(Read { payments, of_other_names, is_about_amount: false, limit_reached: false });
    };
    let named = |amounts| Wanted {
        account_id: Some(account_id),
        payer_name,
        likeness: Likeness::NotDifferent,
        amounts,
        open_after: open_after(alert),
        limit: CANDIDATES_MAX,
    };
    if !alert.facts.payer_name_cut && !is_index_unfinished(app).await? {
        let found = payments_like(app, &named(possible_amounts(received))).await?;
        let mut like = open_or_ended_lately(alert, found.payments);
        if !found.may_be_more {
            let (mut of_other_names, mut limit_reached) = (payments, false);
            if found.misses_close_ones {
                let (all, many) = of_amount(app, account_id, received, OF_AMOUNT_MOST).await?;
                add_unknown(&mut like, all);
                of_other_names.clear();
                limit_reached = many;
            }
            return Ok(Read { payments: like, of_other_names, is_about_amount: true, limit_reached });
        }
        add_unknown(&mut payments, like);
        // The person who decides sees what asks for exactly this amount, however many of others there are.
        let exact = payments_like(app, &named((received, received))).await?;
        add_unknown(&mut payments, open_or_ended_lately(alert, exact.payments));
    }
    let (all, limit_reached) = of_amount(app, account_id, received, OF_AMOUNT_MOST).await?;
    add_unknown(&mut payments, all);
    Ok(Read { payments, of_other_names: Vec::new(), is_about_amount: false, limit_reached })
}

/// Open payments that the received amount would approve; `true` when there are as many as are read.
async fn of_amount(
    app: &App,
    account_id: i64,
    received: Money,
    most: usize,
) -> Result<(Vec<Payment>, bool), OpError> {
    let (exact, by_rule) = tokio::join!(
        app.store.open_payments(account_id, received, most),
        app.store.open_payments_by_rule(account_id, received, most)
    );
    let (mut payments, by_rule) = (exact?, by_rule?);
    let many = payments.len() >= most || by_rule.len() >= most;
    add_unknown(&mut payments, by_rule);
    Ok((payments, many))
}

/// Payments of the payer's name whose amount is about what was received, or may be it less the charges. Where not all
/// names like it can be looked for, because its bank cut it, it is a business of one word, or the index is not
/// finished, all open payments of about the amount, and those that have ended lately.
async fn about_amount(app: &App, alert: &AlertRow, winner: &Payment) -> Result<Found, OpError> {
    let (Some(account_id), Some(received), Some(payer_name)) =
        (winner.account_id, alert.facts.amount, &alert.facts.payer_name)
    else {
        return Err(OpError::Fault("an approval without account, amount or name".into()));
    };
    let amounts = possible_amounts(received);
    if !alert.facts.payer_name_cut && !is_index_unfinished(app).await? {
        let (likeness, open_after) = (Likeness::NotDifferent, open_after(alert));
        let (account_id, limit) = (Some(account_id), CANDIDATES_MAX);
        let wanted = Wanted { account_id, payer_name, likeness, amounts, open_after, limit };
        let found = payments_like(app, &wanted).await?;
        if !found.may_be_more {
            return Ok(found);
        }
    }
    let since = alert.first_seen - ENDED_SINCE;
    let (open, ended) = tokio::try_join!(
        app.store.open_payments_between(account_id, similar_amounts(received), OF_AMOUNT_MOST),
        app.store.ended_payments(account_id, similar_amounts(received), since, OF_AMOUNT_MOST),
    )?;
    let may_be_more = open.len() >= OF_AMOUNT_MOST || ended.len() >= OF_AMOUNT_MOST;
    let payments = open.into_iter().chain(ended).collect();
    Ok(Found { payments, may_be_more, misses_close_ones: false })
}

/// Others' payments of the very amount whose names are like the payer's, by the name rule alone. Where the index told
/// which payments may be meant, it excuses nobody from looking at these.
async fn missed_by_index(
    app: &App,
    alert: &AlertRow,
    winner: &Payment,
    received: Money,
) -> Result<Vec<Payment>, OpError> {
    let (Some(account_id), Some(payer_name)) = (winner.account_id, &alert.facts.payer_name) else {
        return Ok(Vec::new());
    };
    let (payer, cut) = (Folded::new(payer_name), alert.facts.cut_lengths());
    let is_like = |name: &str| verdict_folded(&Folded::new(name), &payer, &cut) != NameVerdict::Different;
    of_others(app, (account_id, received, winner.business_id), is_like).await
}

/// Amounts of payments that may be meant: about what was received, and by the charges rule up to twice that.
fn possible_amounts(received: Money) -> (Money, Money) {
    let (low, high) = similar_amounts(received);
    (low, high.max(Money(received.kobo().saturating_mul(2))))
}

/// A payment whose late window was over before this time does not fit the alert, nor nearly.
fn open_after(alert: &AlertRow) -> Timestamp {
    Timestamp(interval(alert).begin.0.saturating_sub(NEAR_MISS.0).max(0))
}

/// Those that have a say: open, or ended lately.
fn open_or_ended_lately(alert: &AlertRow, payments: Vec<Payment>) -> Vec<Payment> {
    let time = interval(alert);
    let has_a_say = |payment: &Payment| {
        payment.status == Status::Pending || has_ended_lately(payment, time, alert.first_seen)
    };
    payments.into_iter().filter(has_a_say).collect()
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
    for c in considered.iter().filter(|c| c.name == NameVerdict::Close && c.amount_fit.approves()) {
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
