//! How a payout is called in acts and in mails.

use crate::domain::money::naira;
use crate::domain::payout::{Payout, PayoutAccount};
use crate::store::tables::payouts::PayoutRow;

/// As acts name it.
pub fn subject(payout: &Payout) -> String {
    format!("payout {}", payout.id)
}

pub fn account_subject(account: &PayoutAccount) -> String {
    format!("payout account {}", account.id)
}

/// `NGN 5,000.00 to ******3311 at GTBank`.
pub fn in_words(row: &PayoutRow) -> String {
    to_account(&row.payout, &row.number, &row.bank)
}

pub fn to_account(payout: &Payout, number: &str, bank: &str) -> String {
    let shown = number.len().saturating_sub(4);
    let end = number.get(shown..).unwrap_or_default();
    format!("{} to the account ending in {end} at {bank}", naira(payout.amount))
}
