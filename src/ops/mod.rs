//! What the business does, one verb a file, each read from top to bottom: read, decide in pure
//! code, hand a Unit to the store, read again and decide again if somebody was faster.
//!
//! Doors call these and never the store; they answer values, refusals included, and never speak HTTP or SQL. Where an
//! op answers a row as the store decodes it, it names the row's type on, so that a door finds both in one place.

pub mod activity;
pub mod alerts;
pub mod csv;
pub mod data_keys;
pub mod figures;
pub mod health;
pub mod holds;
pub mod ledger;
pub mod live;
pub mod look_back;
pub mod mailboxes;
pub mod merchants;
pub mod messages;
pub mod notices;
pub mod paging;
pub mod payments;
pub mod payouts;
pub mod people;
pub mod privacy;
pub mod retention;
pub mod till;
pub mod wallet_payments;
pub mod wallets;
pub mod webhooks;

use crate::app::keys::KeysProblem;
use crate::domain::time::Timestamp;
use crate::log_limit::MayBeAway;
pub use crate::store::StoreError;
use crate::vault::VaultError;

/// How often an op reads and decides again after losing a race before it says so.
pub const RACES_MAX: usize = 3;

/// Characters of a reason that a person gives.
const REASON_MAX: usize = 500;

/// A person's reason, trimmed; `None` if it says nothing, is too long, or could move a cursor.
fn given_reason(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_good = !text.is_empty() && text.chars().count() <= REASON_MAX && !text.contains(char::is_control);
    is_good.then_some(text)
}

/// How one more try of a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// It is settled, one way or the other.
    Done,
    /// What it needs is still not to be had.
    Later { at: Timestamp, why: String },
}

/// Why an op has no answer at all; refusals are values of each op.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Lost the race every time: too much is going on around this row; try again.
    #[error("too many changes at the same time; try again")]
    Contended,
    /// A fault of the program or its environment, told in words for operators.
    #[error("{0}")]
    Fault(String),
}

impl From<VaultError> for OpError {
    fn from(error: VaultError) -> OpError {
        OpError::Fault(error.to_string())
    }
}

impl From<KeysProblem> for OpError {
    fn from(problem: KeysProblem) -> OpError {
        match problem {
            KeysProblem::Store(error) => error.into(),
            KeysProblem::Vault(error) => error.into(),
        }
    }
}

impl MayBeAway for KeysProblem {
    fn is_away(&self) -> bool {
        matches!(self, KeysProblem::Store(error) if error.is_away())
    }
}

impl MayBeAway for StoreError {
    fn is_away(&self) -> bool {
        matches!(self, StoreError::Unavailable(_))
    }
}

impl MayBeAway for OpError {
    fn is_away(&self) -> bool {
        matches!(self, OpError::Store(error) if error.is_away())
    }
}
