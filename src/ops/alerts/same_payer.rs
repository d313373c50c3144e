//! What the payer of a credit has sent to the account: just this amount, under just this name. It may be the same transfer,
//! told again a little later; or a second one, sent for the payment of before because the first was not seen to arrive
//! (contract/matching.md#m14). Read only; used by `similar`, `weigh` and `approve`.

use super::evidence;
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertRow, AlertStatus, Authenticity};
use crate::domain::matching::{Beneficiary, of_another_in_words};
use crate::domain::money::Money;
use crate::domain::payment::Payment;
use crate::domain::same_transfer::{is_credit, may_be_on_one_account, tells_of_loss, told_time};
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;

/// Who does not see a transfer arrive, or sees it come back, sends another on the same day or the next.
const SENT_AGAIN_WITHIN: Span = Span::days(2);
/// A bank may take a transfer back after this long; of those that it took, also older ones are looked at.
const TAKEN_BACK_WITHIN: Span = Span::days(30);
/// Credits of one payer and amount that are looked at.
const CREDITS_MAX: usize = 50;

/// Other credits of the amount and the payer, written as this one writes him, that may have come to its account, seen from
/// two days before the money came to two days after the mail; newest first. A mailbox may have been unread for long. Those
/// that paid and were reversed also from thirty days before. None where the alert shows no payer.
pub async fn credits_of_its_payer(
    app: &App,
    alert: &AlertRow,
    received: Money,
) -> Result<Vec<AlertRow>, OpError> {
    let Some(payer) = &alert.facts.payer_name else { return Ok(Vec::new()) };
    let came = told_time(alert).end.min(alert.first_seen);
    let seen = (came - SENT_AGAIN_WITHIN, alert.first_seen + SENT_AGAIN_WITHIN);
    let reversed_since = came - TAKEN_BACK_WITHIN;
    let realm = alert.simulated_for;
    let mut found =
        app.store.credits_of_payer(realm, payer, received, seen, reversed_since, CREDITS_MAX).await?;
    let accounts = app.directory.accounts().await?;
    found.retain(|other| other.id != alert.id && may_be_on_one_account(alert, other, &accounts));
    Ok(found)
}

/// Why a payment may not be meant though it fits: this payer has sent just this amount before, and it paid somebody else, or
/// nobody: it waits for a person who finds out whose it is, was set aside by one, or went back. He may have sent it once more.
///
/// `of_payer`: what [`credits_of_its_payer`] found.
pub async fn sent_for_another(
    app: &App,
    alert: &AlertRow,
    of_payer: &[AlertRow],
    payment: &Payment,
) -> Result<Option<String>, OpError> {
    let own = Beneficiary::of(payment);
    let accounts = app.directory.accounts().await?;
    for other in of_payer {
        let id = other.id;
        match other.status {
            AlertStatus::Matched => {
                let Some(paid) = other.payment_id else { continue };
                if let Some(paid) = app.store.payment(paid).await?
                    && Beneficiary::of(&paid) != own
                {
                    let theirs = of_another_in_words(&paid.transaction_id, paid.business_id);
                    return Ok(Some(format!(
                        "{theirs} was paid by alert {id} with this amount and under this name within two days: \
                         this may be a second transfer for it"
                    )));
                }
            }
            AlertStatus::Reversed => {
                if let Some(paid) = taken_back_from_another(app, alert, other, own).await? {
                    let theirs = of_another_in_words(&paid.transaction_id, paid.business_id);
                    return Ok(Some(format!(
                        "{theirs} was paid by alert {id} with this amount and under this name, and was reversed: \
                         this may be the same money, sent again for it"
                    )));
                }
            }
            status if status.is_waiting() || status == AlertStatus::Dismissed => {
                let is_silent = !is_money_of_nobody(other)
                    || is_its_own(&accounts, payment, own, other)
                    || waits_for_such_a_one(other);
                if !is_silent && is_older(app, other, payment).await? {
                    return Ok(Some(before_in_words(id, status)));
                }
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The same for a person who approves, whom the doubts for which the alert waits have not told of it. Whole doubts are
/// compared: a merchant's words stand within some reasons.
pub async fn untold_of_another(
    app: &App,
    alert: &AlertRow,
    of_payer: &[AlertRow],
    payment: &Payment,
) -> Result<Option<String>, OpError> {
    let why = sent_for_another(app, alert, of_payer, payment).await?;
    let told = if alert.status.is_waiting() { evidence::doubts_of(&alert.evidence).0 } else { Vec::new() };
    Ok(why.filter(|why| !told.contains(why)))
}

fn before_in_words(id: i64, status: AlertStatus) -> String {
    let how =
        if status == AlertStatus::Dismissed { "was dismissed by a person" } else { "waits for a person" };
    format!(
        "alert {id} of this amount and under this name {how}: this may be a second transfer for the same payment"
    )
}

/// Money that came, as the bank, a person or one of our own says; an attempt that failed is no transfer.
fn is_money_of_nobody(other: &AlertRow) -> bool {
    let is_told = other.authenticity.counts() || other.authenticity == Authenticity::Forwarded;
    is_told && is_credit(other) && !tells_of_loss(other)
}

/// On an account of one business nobody else can be meant.
fn is_its_own(accounts: &[ReceivingAccount], payment: &Payment, own: Beneficiary, other: &AlertRow) -> bool {
    let here = accounts.iter().find(|one| Some(one.id) == payment.account_id);
    let is_dedicated = here.is_some_and(|one| one.business_id == Some(payment.business_id));
    matches!(own, Beneficiary::Business(_)) && is_dedicated && other.account_id == payment.account_id
}

/// It came before the payment asked for this amount; what came since may be for it.
async fn is_older(app: &App, other: &AlertRow, payment: &Payment) -> Result<bool, OpError> {
    let came = told_time(other).end.min(other.first_seen);
    if came < payment.created_at {
        return Ok(true);
    }
    Ok(payment.corrections > 0 && app.store.is_corrected_after(payment.id, came).await?)
}

/// It waits for nothing but another one that waits. Else every purchase of a customer whose one transfer waits would speak
/// against the next, for ever.
fn waits_for_such_a_one(other: &AlertRow) -> bool {
    let (begin, end) = ("alert ", before_in_words(0, other.status).split_off("alert 0".len()));
    let is_such = |doubt: &String| {
        let id = doubt.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end.as_str()));
        id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (doubts, is_all) = evidence::doubts_of(&other.evidence);
    other.status == AlertStatus::Review && is_all && !doubts.is_empty() && doubts.iter().all(is_such)
}

/// The payment of another beneficiary that the credit paid, if the money was there within two days, or went back since.
async fn taken_back_from_another(
    app: &App,
    alert: &AlertRow,
    other: &AlertRow,
    own: Beneficiary,
) -> Result<Option<Payment>, OpError> {
    let since = told_time(alert).end.min(alert.first_seen) - SENT_AGAIN_WITHIN;
    for settlement in app.store.reversed_of_alert(other.id).await? {
        let went_back = settlement.reversed_at.unwrap_or(Timestamp::MIN);
        if other.first_seen < since && went_back < since {
            continue;
        }
        let paid = app.store.payment(settlement.payment_id).await?;
        if let Some(paid) = paid.filter(|paid| Beneficiary::of(paid) != own) {
            return Ok(Some(paid));
        }
    }
    Ok(None)
}
