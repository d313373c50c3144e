//! What test mode's own mails may do (docs/decisions/0081-test-mode.md). A [`Simulated`] is made of a test account and its
//! business alone, and without one nothing is believed that the program wrote.

use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertRow, Authenticity};
use crate::domain::merchant::Mode;
use crate::domain::payment::Payment;

/// Whose test mode wrote a mail, and for which account it counts.
#[derive(Clone, Debug)]
pub struct Simulated {
    business_id: i64,
    account: ReceivingAccount,
    is_forged: bool,
    by: Option<String>,
}

impl Simulated {
    /// `None` for a live account, and for one of another business.
    pub(super) fn on(business_id: i64, account: &ReceivingAccount, bank: &str) -> Option<Simulated> {
        let is_its = account.business_id.is_none_or(|owner| owner == business_id);
        let kept = ReceivingAccount { bank: bank.to_owned(), via: None, ..account.clone() };
        (account.mode == Mode::Test && is_its).then_some(Simulated {
            business_id,
            account: kept,
            is_forged: false,
            by: None,
        })
    }

    /// As if it were forged, and by whom it was asked for on a page.
    pub(super) fn asked(self, is_forged: bool, by: Option<&str>) -> Simulated {
        Simulated { is_forged, by: by.map(str::to_owned), ..self }
    }

    pub fn business_id(&self) -> i64 {
        self.business_id
    }

    /// As kept at the bank that the mail is of.
    pub fn account(&self) -> &ReceivingAccount {
        &self.account
    }

    /// As if it came from the network, and nothing proved it.
    pub fn is_forged(&self) -> bool {
        self.is_forged
    }

    /// Whoever asked for it on a page.
    pub fn by(&self) -> Option<&str> {
        self.by.as_deref()
    }
}

/// The wall between test mode and money: what a simulation wrote pays test payments of its own business on test accounts,
/// and nothing else pays what asks for money at the test bank.
pub(super) fn may_pay(alert: &AlertRow, payment: &Payment, account: &ReceivingAccount) -> bool {
    let is_simulated = alert.authenticity == Authenticity::Simulated || alert.simulated_for.is_some();
    let is_test = payment.mode == Mode::Test && account.mode == Mode::Test;
    match is_simulated {
        true => is_test && alert.simulated_for == Some(payment.business_id),
        false => !account.is_of_test_bank(),
    }
}
