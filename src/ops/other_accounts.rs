//! Payments on other accounts than the one that money came to: customers pay into the account that they were
//! given last time. Read only.
//!
//! These are for the eyes of a person, who may approve one against the obstacle that is named then. Nothing here
//! takes part in a verdict: the account that money came to is half of what tells whose it is.

use super::OpError;
use super::like_names::{Wanted, add_unknown, payments_like};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::AlertRow;
use crate::domain::money::Money;
use crate::domain::name::index::Likeness;
use crate::domain::payment::{Payment, Status};
use crate::domain::time::Timestamp;

/// Payments read by name: of exactly what was received, and that the charges rule may fit. Nobody should be able
/// to push another's payment out of the first by making many.
const EXACT_MAX: usize = 500;
const BY_RULE_MAX: usize = 50;

/// Payments made since then that a person may still approve, of names like the payer's and about the amount. For
/// money on an account of one business these are its own payments alone. Test payments and live ones never meet.
pub async fn on_other_accounts(
    app: &App,
    alert: &AlertRow,
    account: &ReceivingAccount,
    received: Money,
    since: Timestamp,
) -> Result<Vec<Payment>, OpError> {
    let Some(payer_name) = alert.facts.payer_name.as_deref() else { return Ok(Vec::new()) };
    let named = |amounts, limit| Wanted {
        account_id: None,
        payer_name,
        likeness: Likeness::NotDifferent,
        amounts,
        open_after: Timestamp(0),
        limit,
    };
    let above = Money(received.kobo().saturating_add(1));
    let by_rule = (above, Money(received.kobo().saturating_mul(2)));
    let (exact, by_rule) = (named((received, received), EXACT_MAX), named(by_rule, BY_RULE_MAX));
    let (exact, by_rule) = tokio::try_join!(payments_like(app, &exact), payments_like(app, &by_rule))?;
    let mut found = exact.payments;
    add_unknown(&mut found, by_rule.payments);
    found.retain(|payment| {
        let may_be_approved =
            payment.status == Status::Pending || (payment.status == Status::Rejected && payment.swept);
        may_be_approved
            && payment.account_id != Some(account.id)
            && payment.mode == account.mode
            && account.business_id.is_none_or(|owner| owner == payment.business_id)
            && payment.created_at >= since
    });
    Ok(found)
}
