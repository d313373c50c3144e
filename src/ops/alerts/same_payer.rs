//! What the payer of a credit has sent to the account: just this amount, under just this name. It may be the same transfer,
//! told again a little later; or a second one, sent for the payment of before because the first was not seen to arrive
//! (contract/matching.md#m14). Read only; used by `similar`, `weigh` and `approve`.

use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::matching::{Beneficiary, of_another_in_words};
use crate::domain::money::Money;
use crate::domain::payment::Payment;
use crate::domain::same_transfer::{is_credit, is_vouched, may_be_on_one_account, tells_of_loss, told_time};
use crate::domain::time::Span;
use crate::ops::OpError;

/// Who does not see a transfer arrive sends another on the same day or the next.
const SENT_AGAIN_WITHIN: Span = Span::days(2);
/// Credits of one payer and amount that are looked at.
const CREDITS_MAX: usize = 50;

/// Other credits of the amount and the payer, written as this one writes him, that may have come to its account, seen from
/// two days before the money came to two days after the mail; newest first. A mailbox may have been unread for long. None
/// where the alert shows no payer.
pub async fn credits_of_its_payer(
    app: &App,
    alert: &AlertRow,
    received: Money,
) -> Result<Vec<AlertRow>, OpError> {
    let Some(payer) = &alert.facts.payer_name else { return Ok(Vec::new()) };
    let came = told_time(alert).end.min(alert.first_seen);
    let seen = (came - SENT_AGAIN_WITHIN, alert.first_seen + SENT_AGAIN_WITHIN);
    let mut found =
        app.store.credits_of_payer(alert.simulated_for, payer, received, seen, CREDITS_MAX).await?;
    let accounts = app.directory.accounts().await?;
    found.retain(|other| other.id != alert.id && may_be_on_one_account(alert, other, &accounts));
    Ok(found)
}

/// Why a payment may not be meant though it fits: this payer has paid somebody else's payment with just this amount, or has
/// sent it before the payment was asked for, and it waits for a person who finds out whose it is. He may have sent it once
/// more.
///
/// `of_payer`: what [`credits_of_its_payer`] found.
pub async fn sent_for_another(
    app: &App,
    of_payer: &[AlertRow],
    payment: &Payment,
) -> Result<Option<String>, OpError> {
    let own = Beneficiary::of(payment);
    for other in of_payer {
        // An attempt that failed is no transfer; and what came since the payment was asked for may be for it.
        let is_money = is_credit(other) && is_vouched(other) && !tells_of_loss(other);
        let is_older = told_time(other).end < payment.created_at;
        if other.status.is_waiting() && is_money && is_older {
            return Ok(Some(format!(
                "alert {} of this amount and under this name waits for a person: this may be a second transfer for the \
                 same payment",
                other.id
            )));
        }
        let paid = other.payment_id.filter(|_| other.status == AlertStatus::Matched);
        let Some(paid) = paid else { continue };
        if let Some(payment) = app.store.payment(paid).await?
            && Beneficiary::of(&payment) != own
        {
            let theirs = of_another_in_words(&payment.transaction_id, payment.business_id);
            return Ok(Some(format!(
                "{theirs} was paid by alert {} with this amount and under this name within two days: this may be a \
                 second transfer for it",
                other.id
            )));
        }
    }
    Ok(None)
}

/// The same for a person who approves, whom the reason for which the alert waits has not told of it.
pub async fn untold_of_another(
    app: &App,
    alert: &AlertRow,
    of_payer: &[AlertRow],
    payment: &Payment,
) -> Result<Option<String>, OpError> {
    let why = sent_for_another(app, of_payer, payment).await?;
    Ok(why.filter(|why| !(alert.status.is_waiting() && alert.reason.contains(why))))
}
