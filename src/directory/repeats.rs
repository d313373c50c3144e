//! Remembers for half a second which account a repeated request got. A business that repeatedly asks for the
//! same amount from the same payer gets the account of its newest such payment (contract/payments.md#p29). So
//! those many payments need not be read for each request. What is forgotten here is read again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::FRESH;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::Payment;

/// Different requests that are remembered; when it is full, all are forgotten.
const REPEATS_MAX: usize = 1_000;

/// The parts of a payment by which its account is chosen.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Asked {
    business_id: i64,
    is_live: bool,
    amount: Money,
    rule: Option<(Money, Money)>,
    payer_name: String,
}

impl Asked {
    fn of(payment: &Payment) -> Asked {
        Asked {
            business_id: payment.business_id,
            is_live: payment.mode == Mode::Live,
            amount: payment.amount,
            rule: payment.rule_bounds(),
            payer_name: payment.payer_name.clone(),
        }
    }
}

#[derive(Default)]
pub(super) struct Repeats {
    held: Mutex<HashMap<Asked, (i64, Instant)>>,
}

impl Repeats {
    /// The account that the same request got less than half a second ago.
    pub(super) fn get(&self, payment: &Payment) -> Option<i64> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_empty() {
            return None;
        }
        held.get(&Asked::of(payment)).filter(|(_, at)| at.elapsed() < FRESH).map(|(account, _)| *account)
    }

    pub(super) fn note(&self, payment: &Payment, account_id: i64) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= REPEATS_MAX {
            held.clear();
        }
        held.insert(Asked::of(payment), (account_id, Instant::now()));
    }

    pub(super) fn clear(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
