//! Money of a wallet that may not be there: a top-up that the bank may have taken back, with which nobody has dealt yet. Until
//! somebody has, the wallet pays nothing: who spends it first leaves the operator without the money. And the shops that it
//! has paid since, whose payouts wait. Read only.

use crate::app::App;
use crate::domain::time::{Span, Timestamp};
use crate::domain::wallet::{Wallet, WalletStatus};
use crate::ops::OpError;

/// A bank takes a transfer back within this time.
const TAKEN_BACK_WITHIN: Span = Span::days(90);
/// Shops of one wallet that are asked for.
const SHOPS_MAX: usize = 1_000;

/// The debit or reversal that may have taken a top-up back.
pub async fn alarm_of(app: &App, wallet: &Wallet) -> Result<Option<i64>, OpError> {
    Ok(app.store.alarm_of_wallet(wallet.id, app.now() - TAKEN_BACK_WITHIN).await?)
}

/// What the wallet may do now.
pub async fn standing(app: &App, wallet: &Wallet, now: Timestamp) -> Result<WalletStatus, OpError> {
    match wallet.status(now) {
        WalletStatus::Active if alarm_of(app, wallet).await?.is_some() => Ok(WalletStatus::Suspended),
        status => Ok(status),
    }
}

/// Businesses that a wallet has paid since then.
pub async fn paid_since(app: &App, wallet_id: i64, since: Timestamp) -> Result<Vec<i64>, OpError> {
    Ok(app.store.businesses_paid_by_wallet(wallet_id, since, SHOPS_MAX).await?)
}
