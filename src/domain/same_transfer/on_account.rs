//! About which of our accounts alerts may be, where they do not say it for certain.

use super::is_forwarded;
use crate::domain::account::{ReceivingAccount, mask_fits};
use crate::domain::alert::AlertRow;

/// The account that holds the money of the account `id` ([`ReceivingAccount::holding_account`]).
pub fn holding_account_of(accounts: &[ReceivingAccount], id: i64) -> i64 {
    accounts.iter().find(|account| account.id == id).map_or(id, ReceivingAccount::holding_account)
}

/// Money moves between accounts of ours under one session id: a debit of one is no reversal on another. An alert
/// whose account could not be told may be about any that fits what it shows; a forwarded one about any at all.
pub fn may_be_on_one_account(a: &AlertRow, b: &AlertRow, accounts: &[ReceivingAccount]) -> bool {
    if is_forwarded(a) || is_forwarded(b) {
        return true;
    }
    match (a.account_id, b.account_id) {
        (Some(x), Some(y)) => holding_account_of(accounts, x) == holding_account_of(accounts, y),
        (Some(x), None) => may_be_on(b, x, accounts),
        (None, Some(y)) => may_be_on(a, y, accounts),
        (None, None) => a.facts.bank.is_none() || b.facts.bank.is_none() || a.facts.bank == b.facts.bank,
    }
}

/// Whether an alert may be about an account, or about the one that it is settled through.
pub fn may_be_on(alert: &AlertRow, id: i64, accounts: &[ReceivingAccount]) -> bool {
    let of = |id: i64| accounts.iter().find(|account| account.id == id);
    of(id).is_none_or(|account| {
        may_be_about(alert, account)
            || account.via.and_then(of).is_some_and(|behind| may_be_about(alert, behind))
    })
}

/// Whether an alert may be about an account, or about one that is settled through it.
pub fn may_be_about(alert: &AlertRow, account: &ReceivingAccount) -> bool {
    match (alert.account_id, &alert.facts.account_number) {
        (Some(id), _) => account.id == id || account.via == Some(id),
        // It names none, so it may be any of the bank's; or it shows too little to tell which of those that fit.
        (None, shown) => {
            let at_bank = alert.facts.bank.as_ref().is_none_or(|bank| *bank == account.bank);
            at_bank && shown.as_ref().is_none_or(|shown| mask_fits(shown, &account.number))
        }
    }
}
