//! The payment that money in a wallet is meant for: a top-up's message leads back to it.

use crate::app::App;
use crate::domain::intent::{Intent, IntentState};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::wallets::find::known_wallet;

/// The newest payment of a wallet that waits for the PIN at that time, if the balance covers it. A message that was sent goes on
/// saying what it said, so one that was paid since counts as one that waited.
pub(super) async fn waiting(
    app: &App,
    wallet_id: Option<i64>,
    at: Timestamp,
) -> Result<Option<Intent>, OpError> {
    let Some(wallet_id) = wallet_id else { return Ok(None) };
    let Some(intent) = app.store.intent_waiting_at(wallet_id, at).await? else { return Ok(None) };
    let is_covered = intent.state == IntentState::Completed
        || known_wallet(app, wallet_id).await?.balance >= intent.amount;
    Ok(Some(intent).filter(|_| is_covered))
}
