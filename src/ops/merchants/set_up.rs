//! What a business has yet to do until its first customer's money is told to its programs. Read only, and at the cost of
//! a few index look-ups, however old the business is.

use crate::app::App;
use crate::domain::ledger::LedgerAccount;
use crate::domain::merchant::WebsiteStatus;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;

/// What is done of the way to the first payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetUp {
    pub website_approved: bool,
    /// A website waits for its approval.
    pub website_waits: bool,
    /// A live key that works.
    pub key: bool,
    pub webhook_address: bool,
    /// Money has come for a payment.
    pub test_payment: bool,
    pub live_payment: bool,
}

impl SetUp {
    pub fn is_done(&self) -> bool {
        self.website_approved && self.key && self.webhook_address && self.test_payment && self.live_payment
    }
}

/// A key that ends soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndingKey {
    pub label: String,
    pub at: Timestamp,
}

pub async fn set_up(app: &App, business_id: i64) -> Result<SetUp, OpError> {
    let store = &app.store;
    let websites = store.websites(business_id).await?;
    let business = store.business(business_id).await?;
    let now = app.now();
    let is = |status| websites.iter().any(|website| website.status == status);
    let approved = websites.iter().filter(|website| website.status == WebsiteStatus::Approved);
    let own_address = business.is_some_and(|business| business.webhook_url.is_some());
    let webhook_address = own_address || approved.clone().any(|website| website.webhook_url.is_some());
    Ok(SetUp {
        website_approved: is(WebsiteStatus::Approved),
        website_waits: is(WebsiteStatus::Pending),
        key: store.api_keys(business_id).await?.iter().any(|key| key.is_live_at(now)),
        webhook_address,
        test_payment: store.has_postings(LedgerAccount::TestMerchant(business_id)).await?,
        live_payment: store.has_postings(LedgerAccount::Merchant(business_id)).await?,
    })
}

/// Keys of the business that end within a time and are in use until then, the next one first.
pub async fn ending_keys(app: &App, business_id: i64, within: Span) -> Result<Vec<EndingKey>, OpError> {
    let now = app.now();
    let keys = app.store.api_keys(business_id).await?;
    let soon = keys.into_iter().filter(|key| key.is_live_at(now) && key.last_used_at.is_some());
    let mut ending: Vec<EndingKey> = soon
        .filter_map(|key| {
            let at = key.expires_at.filter(|at| *at < now + within)?;
            Some(EndingKey { label: key.label.unwrap_or(key.hint), at })
        })
        .collect();
    ending.sort_by_key(|key| key.at);
    Ok(ending)
}
