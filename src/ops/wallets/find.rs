//! Finding and making wallets by phone number: one wallet per number, however it is spelt.
//!
//! The number is sealed in the row and found by its keyed hash; here both are made and undone. What a
//! business may ask about a wallet goes through here too. Changes by operators are in `wallet_desk`.

use crate::app::App;
use crate::domain::phone::{Phone, TEST_NUMBERS};
use crate::domain::wallet::{Tier, TierLimits, Wallet};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::wallets::{self, WalletRow};
use crate::store::{Applied, IdKind};

/// A wallet, and whether it was made just now.
#[derive(Debug)]
pub struct Ensured {
    pub wallet: Wallet,
    pub created: bool,
}

fn place(wallet_id: i64) -> String {
    format!("wallets/{wallet_id}/phone")
}

/// Under what a number's rows are found.
pub fn phone_hash(app: &App, phone: &Phone) -> [u8; 32] {
    app.vault.phone_hash(&phone.key())
}

/// The limits of a wallet's tier.
pub fn limits(app: &App, wallet: &Wallet) -> TierLimits {
    app.config.wallet.tiers.of(wallet.tier)
}

/// The number's wallet, if there is one.
pub async fn find(app: &App, phone: &Phone) -> Result<Option<Wallet>, OpError> {
    let row = app.store.wallet_row_by_phone(&phone_hash(app, phone)).await?;
    row.map(|row| opened(app, row)).transpose()
}

/// The test wallets of a business: one for each of its hundred numbers at most.
pub async fn of_tests(app: &App, business_id: i64) -> Result<Vec<Wallet>, OpError> {
    let rows = app.store.test_wallets(business_id, TEST_NUMBERS).await?;
    rows.into_iter().map(|row| opened(app, row)).collect()
}

pub async fn wallet(app: &App, id: i64) -> Result<Option<Wallet>, OpError> {
    app.store.wallet_row(id).await?.map(|row| opened(app, row)).transpose()
}

/// A wallet that another row names.
pub async fn known_wallet(app: &App, id: i64) -> Result<Wallet, OpError> {
    wallet(app, id).await?.ok_or_else(|| OpError::Fault(format!("wallet {id} is missing")))
}

/// The number's wallet, made if there is none. Any number of callers at once make one.
pub async fn ensure(app: &App, phone: &Phone) -> Result<Ensured, OpError> {
    let hash = phone_hash(app, phone);
    for _ in 0..RACES_MAX {
        if let Some(wallet) = find(app, phone).await? {
            return Ok(Ensured { wallet, created: false });
        }
        let id = app.store.id(IdKind::Wallet).await?;
        let sealed = app.vault.seal(&place(id), phone.key().as_bytes(), app.random.as_ref())?;
        let step = wallets::add(id, sealed, &hash, phone.test_of(), Tier::FIRST.number(), app.now());
        match app.store.apply(app.store.unit(id).await?.step(step)).await? {
            Applied::Done(_) => {
                tracing::info!(wallet = id, "wallet made");
                return Ok(Ensured { wallet: known_wallet(app, id).await?, created: true });
            }
            // Somebody else made it at this moment.
            Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => {}
        }
    }
    Err(OpError::Contended)
}

/// Opens the phone and reads the words of the row.
fn opened(app: &App, row: WalletRow) -> Result<Wallet, OpError> {
    let broken = |what: &str| OpError::Fault(format!("wallet {}: {what}", row.id));
    let plain =
        app.vault.unseal(&place(row.id), &row.sealed_phone).map_err(|error| broken(&error.to_string()))?;
    let phone = std::str::from_utf8(&plain).ok().and_then(Phone::from_key);
    Ok(Wallet {
        id: row.id,
        phone: phone.ok_or_else(|| broken("its phone number is not valid"))?,
        tier: Tier::new(row.tier).ok_or_else(|| broken("its tier is not valid"))?,
        suspended: row.suspended,
        locked_until: row.locked_until,
        pin: row.pin,
        pin_version: row.pin_version,
        balance: row.balance,
        spent_day: row.spent_day,
        spent: row.spent,
        pin_clock: row.pin_clock,
        wrote_at: row.wrote_at,
        created_at: row.created_at,
        version: row.version,
    })
}
