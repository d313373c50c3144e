//! How many messages a merchant may have sent: to one number in a minute and a day, in all in a day.
//!
//! Texts and links count alike, in the Unit that writes the message, so that the quotas are exact over all
//! nodes and nobody's phone is flooded with either. What customers ask for themselves (codes) and what tells
//! of their money (receipts) is not counted here. Used by `send_text` and `start_wallet_payment`.

use crate::app::App;
use crate::domain::phone::Phone;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::wallets::find::phone_hash;
use crate::store::Step;
pub use crate::store::tables::messages::QuotaScope;
use crate::store::tables::messages::use_quota;

/// A quota that is used up, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverQuota {
    pub scope: QuotaScope,
    pub until: Timestamp,
}

/// What one message to a number uses.
pub struct Quota {
    phone_hash: [u8; 32],
    /// Under what the business's are counted: test messages are not counted among real ones.
    business: Vec<u8>,
    now: Timestamp,
}

impl Quota {
    pub fn of(app: &App, business_id: i64, phone: &Phone) -> Quota {
        let mut business = business_id.to_be_bytes().to_vec();
        if phone.is_test() {
            business.extend(b"test");
        }
        Quota { phone_hash: phone_hash(app, phone), business, now: app.now() }
    }

    fn key(&self, scope: QuotaScope) -> Vec<u8> {
        match scope {
            QuotaScope::RecipientMinute | QuotaScope::RecipientDay => self.phone_hash.to_vec(),
            QuotaScope::BusinessDay => self.business.clone(),
        }
    }

    /// Go into the message's Unit, which is lost if one of them is used up.
    pub fn steps(&self) -> Vec<Step> {
        QuotaScope::ALL.into_iter().map(|scope| use_quota(scope, &self.key(scope), self.now)).collect()
    }

    /// After such a loss: which quota, if it was one.
    pub async fn used_up(&self, app: &App) -> Result<Option<OverQuota>, OpError> {
        for scope in QuotaScope::ALL {
            if let Some(until) = app.store.quota_ends(scope, &self.key(scope), self.now).await? {
                return Ok(Some(OverQuota { scope, until }));
            }
        }
        Ok(None)
    }
}
