//! What the payer of a credit has sent to the account before: just this amount, under just this name. It may be the same
//! transfer, told again a little later; or a second one, sent for the payment of before because the first was not seen
//! to arrive (contract/matching.md#m14). Read only; used by `similar` and `weigh`.

use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::matching::{Beneficiary, of_another_in_words};
use crate::domain::money::Money;
use crate::domain::payment::Payment;
use crate::domain::time::Span;
use crate::ops::OpError;

/// Who does not see a transfer arrive sends another on the same day or the next.
const SENT_AGAIN_WITHIN: Span = Span::days(2);
/// Credits of one payer and amount that are looked at.
const CREDITS_MAX: usize = 50;

/// Other credits of the account, the amount and the payer, written as this one writes him, first seen up to two days before
/// or after it; newest first. None where the alert shows no account or no payer.
pub async fn credits_of_its_payer(
    app: &App,
    alert: &AlertRow,
    received: Money,
) -> Result<Vec<AlertRow>, OpError> {
    let (Some(account_id), Some(payer)) = (alert.account_id, &alert.facts.payer_name) else {
        return Ok(Vec::new());
    };
    let seen = (alert.first_seen - SENT_AGAIN_WITHIN, alert.first_seen + SENT_AGAIN_WITHIN);
    let mut found = app.store.credits_of_payer(account_id, received, payer, seen, CREDITS_MAX).await?;
    found.retain(|other| other.id != alert.id);
    Ok(found)
}

/// Why the payment that fits may not be meant: this payer has paid somebody else's payment with just this amount, and may
/// have sent it once more.
pub async fn has_paid_another(
    app: &App,
    alert: &AlertRow,
    received: Money,
    winner: &Payment,
) -> Result<Option<String>, OpError> {
    let own = Beneficiary::of(winner);
    for other in credits_of_its_payer(app, alert, received).await? {
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
