//! Reads the payments that an alert may be meant for, before the domain weighs them: those of the amount, those of like
//! names, those that ended lately or asked for it before a correction, and those that a person should see. Read only.
//!
//! Used by `weigh`. However many payments others make, none is pushed out of what is read here without it being said
//! (contract/matching.md#m11, #m14).

use crate::app::App;
use crate::domain::alert::AlertRow;
use crate::domain::matching::{CANDIDATES_MAX, NEAR_MISS, has_ended_lately, similar_amounts, speaks_since};
use crate::domain::money::Money;
use crate::domain::name::index::Likeness;
use crate::domain::name::{self, Folded};
use crate::domain::payment::{Payment, Status};
use crate::domain::same_transfer::interval;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::payments::like_names::{
    ANY_AMOUNT, Found, Wanted, add_unknown, is_index_unfinished, of_others, payments_like,
};
use crate::store::tables::corrections::AskedBefore;
use crate::store::tables::payments::Own;

/// How far back suggestions reach.
pub const SUGGEST_WITHIN: Span = Span::days(30);
/// Open payments of the very amount that are read whatever their names. Where there are more, they are found by
/// name (`like_names`), or, where a name cannot be looked for, up to the second number is read.
const OF_AMOUNT_MAX: usize = 8;
const OF_AMOUNT_MOST: usize = 2_000;
/// Corrections that are read: a business may make 700 in the days for which they speak.
const CORRECTIONS_MAX: usize = 5_000;
/// Payments found by name, and ended ones around the amount.
const SUGGESTIONS_READ: usize = 50;

/// The payments that an alert may be meant for: open ones, and those of like names that have ended lately.
pub struct Read {
    pub payments: Vec<Payment>,
    /// Some of the amount whose names are other people's, for a person to see.
    pub of_other_names: Vec<Payment>,
    /// Some may be missing.
    pub limit_reached: bool,
    pub by_name: ByName,
}

/// What the index of names has to say of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByName {
    /// It finds all names like the payer's, but for what it may miss of a hard one.
    Finds,
    /// It did: those about the amount are among the payments that were read.
    Found,
    /// The bank cut the name, or rows of payments of before are missing.
    Blind,
}

/// Reads the open payments that the received amount would approve: all, while they are few. Where many share the
/// amount, those that may bear a name like the payer's, so that no number of others hides one.
pub async fn read_open_payments(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
) -> Result<Read, OpError> {
    // Asked before the index is: a row that is missing then is missed by it.
    let ((mut payments, many), is_unfinished) =
        tokio::try_join!(of_amount(app, account_id, received, OF_AMOUNT_MAX), is_index_unfinished(app))?;
    let by_name = if is_unfinished || alert.facts.payer_name_cut { ByName::Blind } else { ByName::Finds };
    let all_read =
        |payments, limit_reached| Read { payments, of_other_names: Vec::new(), limit_reached, by_name };
    let payer_name = match (&alert.facts.payer_name, many) {
        (_, false) => return Ok(all_read(payments, false)),
        // Nothing says which of them: all are anybody's.
        (None, true) => {
            let (all, cut) = of_amount(app, account_id, received, OF_AMOUNT_MOST).await?;
            return Ok(all_read(all, cut));
        }
        (Some(name), true) => name.as_str(),
    };
    if by_name == ByName::Finds {
        let found = like(app, alert, (account_id, payer_name), possible_amounts(received)).await?;
        let mut like_named = open_or_ended_lately(alert, found.payments);
        if !found.may_be_more {
            let (mut of_other_names, mut limit_reached) = (payments, false);
            if found.misses_close_ones {
                let (all, many) = of_amount(app, account_id, received, OF_AMOUNT_MOST).await?;
                add_unknown(&mut like_named, all);
                of_other_names.clear();
                limit_reached = many;
            }
            let by_name = if found.misses_close_ones { by_name } else { ByName::Found };
            return Ok(Read { payments: like_named, of_other_names, limit_reached, by_name });
        }
        add_unknown(&mut payments, like_named);
        // The person who decides sees what asks for exactly this amount, however many of others there are.
        let exact = like(app, alert, (account_id, payer_name), (received, received)).await?;
        add_unknown(&mut payments, open_or_ended_lately(alert, exact.payments));
    }
    let (all, limit_reached) = of_amount(app, account_id, received, OF_AMOUNT_MOST).await?;
    add_unknown(&mut payments, all);
    Ok(all_read(payments, limit_reached))
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

/// Who else may be meant: others of the payer's name, where people round or mistype, and payments that asked for it before
/// they were corrected. Where those of the name were read, those that the index of names may have missed, of all beneficiaries
/// but one.
pub async fn others_meant(
    app: &App,
    alert: &AlertRow,
    (account_id, received, own): (i64, Money, Own),
    by_name: ByName,
) -> Result<(Found, AskedBefore), OpError> {
    let others = async {
        match (by_name, &alert.facts.payer_name) {
            (ByName::Found, Some(payer_name)) => {
                let price = (account_id, received, own);
                let payments = missed_by_index(app, alert, price, payer_name).await?;
                Ok(Found { payments, may_be_more: false, misses_close_ones: false })
            }
            _ => about_amount(app, alert, (account_id, received), by_name).await,
        }
    };
    tokio::try_join!(others, asked_before(app, alert, account_id, received))
}

/// Payments, open or ended lately, that asked before a correction for what was received, or about as much.
pub async fn asked_before(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
) -> Result<AskedBefore, OpError> {
    let since = speaks_since(interval(alert), alert.first_seen);
    let amounts = possible_amounts(received);
    let asked = app.store.payments_asked_before(account_id, amounts, since, CORRECTIONS_MAX).await?;
    Ok(AskedBefore { payments: open_or_ended_lately(alert, asked.payments), ..asked })
}

/// Payments of the payer's name, open or ended lately, whose amount is about what was received, or may be it less the
/// charges. Where not all names like it can be looked for, because its bank cut it, it has an initial or is a single
/// word, or the index is not finished, all of about the amount. None where the alert shows no name.
async fn about_amount(
    app: &App,
    alert: &AlertRow,
    (account_id, received): (i64, Money),
    by_name: ByName,
) -> Result<Found, OpError> {
    let mut payments = Vec::new();
    let Some(payer_name) = alert.facts.payer_name.as_deref() else {
        return Ok(Found { payments, may_be_more: false, misses_close_ones: true });
    };
    if by_name != ByName::Blind {
        let found = like(app, alert, (account_id, payer_name), possible_amounts(received)).await?;
        payments = open_or_ended_lately(alert, found.payments);
        if !found.may_be_more && !found.misses_close_ones {
            return Ok(Found { payments, may_be_more: false, misses_close_ones: false });
        }
    }
    let similar = similar_amounts(received);
    let (open, (ended, is_cut)) = tokio::try_join!(
        async { Ok(app.store.open_payments_between(account_id, similar, OF_AMOUNT_MOST).await?) },
        ended_lately(app, alert, account_id, (similar, received))
    )?;
    let may_be_more = open.len() >= OF_AMOUNT_MOST || is_cut;
    add_unknown(&mut payments, open);
    add_unknown(&mut payments, ended);
    Ok(Found { payments, may_be_more, misses_close_ones: false })
}

/// Payments of the account that ended lately, whatever their names, of an amount between two or which the charges rule
/// lets so much received pay; and whether there are more of them than are read.
pub async fn ended_lately(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    amounts: ((Money, Money), Money),
) -> Result<(Vec<Payment>, bool), OpError> {
    let since = speaks_since(interval(alert), alert.first_seen);
    // Where no time is told, those that ended lately and could be approved in the month before.
    let approvable_after = interval(alert).begin.max(since - SUGGEST_WITHIN);
    let times = (approvable_after, since);
    let ended = app.store.unpaid_payments(account_id, amounts, times, OF_AMOUNT_MOST).await?;
    let is_cut = ended.len() >= OF_AMOUNT_MOST;
    Ok((open_or_ended_lately(alert, ended), is_cut))
}

/// Others' payments of the very amount whose names are like the payer's, by the name rule alone. Where the index told
/// which payments may be meant, it excuses nobody from looking at these.
async fn missed_by_index(
    app: &App,
    alert: &AlertRow,
    price: (i64, Money, Own),
    payer_name: &str,
) -> Result<Vec<Payment>, OpError> {
    let (payer, cut) = (Folded::new(payer_name), alert.facts.cut_lengths());
    let is_like = |name: &str| name::is_like(&Folded::new(name), &payer, &cut);
    Ok(of_others(app, price, is_like).await?.payments)
}

/// Adds payments of the same name whatever their amount, and ended ones of about the amount.
pub async fn with_suggestions(
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

/// Payments on the account of like names and of these amounts, by the index.
pub(super) async fn like(
    app: &App,
    alert: &AlertRow,
    (account_id, payer_name): (i64, &str),
    amounts: (Money, Money),
) -> Result<Found, OpError> {
    let wanted = Wanted {
        account_id: Some(account_id),
        payer_name,
        likeness: Likeness::NotDifferent,
        amounts,
        open_after: open_after(alert),
        limit: CANDIDATES_MAX,
    };
    payments_like(app, &wanted).await
}

/// Amounts of payments that may be meant: about what was received, and by the charges rule up to twice that.
pub(super) fn possible_amounts(received: Money) -> (Money, Money) {
    let (low, high) = similar_amounts(received);
    (low, high.max(Money(received.kobo().saturating_mul(2))))
}

/// A payment whose late window was over before this time does not fit the alert, nor nearly.
fn open_after(alert: &AlertRow) -> Timestamp {
    Timestamp(interval(alert).begin.0.saturating_sub(NEAR_MISS.0).max(0))
}

/// Those that have a say: open, or ended lately.
pub(super) fn open_or_ended_lately(alert: &AlertRow, payments: Vec<Payment>) -> Vec<Payment> {
    let time = interval(alert);
    let has_a_say = |payment: &Payment| {
        payment.status == Status::Pending || has_ended_lately(payment, time, alert.first_seen)
    };
    payments.into_iter().filter(has_a_say).collect()
}
