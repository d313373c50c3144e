//! What the business does, one verb a file, each read from top to bottom: read, decide in pure
//! code, hand a Unit to the store, read again and decide again if somebody was faster.
//!
//! Doors call these; they answer values, refusals included, and never speak HTTP or SQL.

pub mod accounts;
pub mod businesses;
pub mod keys;
pub mod mailboxes;
pub mod message_quota;
pub mod message_reports;
pub mod messages;
pub mod wallets;
pub mod webhook_body;
pub mod webhook_post;
pub mod webhook_target;
pub mod webhook_test;
pub mod webhooks;
pub mod websites;

mod alert_keys;
mod alert_log;
pub mod approve_alert;
pub mod audit;
mod audit_told;
pub mod choose_website;
pub mod confirm;
pub mod correct_amount;
pub mod create_payment;
pub mod decide;
pub mod dismiss_alert;
pub mod end_intent;
pub mod evidence;
pub mod find_payments;
pub mod idempotency;
pub mod like_names;
pub mod link_codes;
mod other_accounts;
pub mod pin_reset;
pub mod prove_later;
pub mod read_payments;
pub mod rematch;
pub mod reread;
pub mod reverse;
pub mod seal;
pub mod send_text;
pub mod settle;
mod settle_wallet;
pub mod shown_messages;
mod similar;
pub mod start_wallet_payment;
pub mod sweep;
pub mod take_alert;
mod taken_back;
pub mod topup;
pub mod wallet_desk;
pub mod wallet_page;
pub mod weigh;
mod weigh_corrected;

use std::time::Duration;

use tokio::sync::MutexGuard;

use crate::app::App;
use crate::log_limit::MayBeAway;
use crate::store::StoreError;

/// How often an op reads and decides again after losing a race before it says so.
pub const RACES_MAX: usize = 3;

/// Characters of a reason that a person gives.
const REASON_MAX: usize = 500;

/// How long an op waits for its turn; each one before it takes a few reads and a commit.
const TURN_WAIT_MAX: Duration = Duration::from_secs(5);

/// The turn of an op whose guard counts rows that its own Unit adds one to. Units of one node may go into one
/// transaction, where neither would be in the other's count; nodes wait for a row that the Unit takes first.
async fn counting_turn(app: &App) -> Result<MutexGuard<'_, ()>, OpError> {
    let turn = tokio::time::timeout(TURN_WAIT_MAX, app.counting_turn.lock()).await;
    turn.map_err(|_| OpError::Contended)
}

/// A person's reason, trimmed; `None` if it says nothing, is too long, or could move a cursor.
fn given_reason(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_good = !text.is_empty() && text.chars().count() <= REASON_MAX && !text.contains(char::is_control);
    is_good.then_some(text)
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
