//! The payment that money in a wallet is meant for: a top-up's message leads back to it.

use crate::app::App;
use crate::domain::intent::Intent;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::wallets::find::known_wallet;

/// The newest payment of a wallet that waits for the PIN, if the balance covers it.
pub(super) async fn waiting(
    app: &App,
    wallet_id: Option<i64>,
    now: Timestamp,
) -> Result<Option<Intent>, OpError> {
    let Some(wallet_id) = wallet_id else { return Ok(None) };
    let Some(intent) = app.store.open_intent_of_wallet(wallet_id, now).await? else { return Ok(None) };
    let is_covered = known_wallet(app, wallet_id).await?.balance >= intent.amount;
    Ok(Some(intent).filter(|_| is_covered))
}
