//! Reads payments of a business: one by its transaction id, alone or with its history, or a page of them, newest
//! first.

use super::checkout::checkout_url;
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::merchant::{Mode, Website};
use crate::domain::payment::{Payment, Status};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
pub use crate::store::tables::deliveries::Delivery;
use crate::store::tables::payment_list::Page;
pub use crate::store::tables::settlements::Settlement;

/// `total` of a listing is exact up to here (contract/payments.md#p47).
pub const TOTAL_MAX: i64 = 100_000;
/// A page number so far back that skipping to it would cost more than a cursor should.
pub const OFFSET_MAX: i64 = 1_000_000;

/// A payment with what its answers show besides.
#[derive(Clone, Debug)]
pub struct PaymentView {
    pub payment: Payment,
    pub account: Option<ReceivingAccount>,
    pub website: Option<Website>,
    /// Where its payer is shown how it stands.
    pub checkout_url: Option<String>,
}

/// The position after which a listing goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub created_at: Timestamp,
    pub id: i64,
}

/// What a listing is asked for. `from` inclusive, `until` exclusive.
#[derive(Clone, Debug)]
pub struct ListFilter {
    pub status: Option<Status>,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub website_id: Option<i64>,
    /// Only payments that were reversed, or only the others.
    pub reversed: Option<bool>,
    pub mode: Mode,
    pub per_page: i64,
    /// From 1; ignored when there is a cursor.
    pub page: i64,
    pub cursor: Option<Cursor>,
}

#[derive(Clone, Debug)]
pub struct Listed {
    pub rows: Vec<PaymentView>,
    /// Exact up to [`TOTAL_MAX`].
    pub total: i64,
    pub total_is_capped: bool,
    pub next: Option<Cursor>,
}

/// The newest payments of a business that came from wallets.
pub async fn wallet_payments(
    app: &App,
    business_id: i64,
    mode: Mode,
    limit: u32,
) -> Result<Vec<Payment>, OpError> {
    Ok(app.store.wallet_payments(business_id, mode, i64::from(limit)).await?)
}

/// A payment of the business, of any kind and mode; for its operators.
pub async fn find_payment(
    app: &App,
    business_id: i64,
    transaction_id: &str,
) -> Result<Option<Payment>, OpError> {
    Ok(app.store.payment_by_transaction(business_id, transaction_id).await?)
}

/// Whether the business, or any where none is given, has a payment with this id, of whatever kind.
pub async fn is_known(app: &App, business_id: Option<i64>, transaction_id: &str) -> Result<bool, OpError> {
    Ok(match business_id {
        Some(id) => app.store.payment_by_transaction(id, transaction_id).await?.is_some(),
        None => !app.store.businesses_with(transaction_id, 1).await?.is_empty(),
    })
}

/// A payment with all that happened to it.
#[derive(Clone, Debug)]
pub struct PaymentHistory {
    pub view: PaymentView,
    /// Oldest first; at most one of them is not reversed.
    pub settlements: Vec<Settlement>,
    pub deliveries: Vec<Delivery>,
    /// The alert that may have taken the money back, with which nobody has dealt yet.
    pub alarm: Option<i64>,
}

/// The same as [`find_payment`] with its history.
pub async fn payment_history(
    app: &App,
    business_id: i64,
    transaction_id: &str,
) -> Result<Option<PaymentHistory>, OpError> {
    let Some(payment) = find_payment(app, business_id, transaction_id).await? else { return Ok(None) };
    let settlements = app.store.settlements_of(payment.id).await?;
    let credit = settlements.iter().find(|one| one.reversed_at.is_none()).and_then(|one| one.alert_id);
    let alarm = match credit {
        Some(id) => app.store.alarm_of(id).await?,
        None => None,
    };
    let deliveries = app.store.deliveries_of_payment(payment.id).await?;
    Ok(Some(PaymentHistory { view: view(app, payment).await?, settlements, deliveries, alarm }))
}

/// One payment of the business; `None` for unknown ids, top-ups, and another business's.
pub async fn read_payment(
    app: &App,
    business_id: i64,
    mode: Option<Mode>,
    transaction_id: &str,
) -> Result<Option<PaymentView>, OpError> {
    let payment = app.store.payment_by_transaction(business_id, transaction_id).await?;
    let visible =
        |p: &Payment| p.kind != crate::domain::payment::Kind::Topup && mode.is_none_or(|mode| mode == p.mode);
    match payment.filter(visible) {
        Some(payment) => Ok(Some(view(app, payment).await?)),
        None => Ok(None),
    }
}

/// Adds account and website to a payment.
pub async fn view(app: &App, payment: Payment) -> Result<PaymentView, OpError> {
    let account = match payment.account_id {
        Some(id) => app.directory.accounts().await?.iter().find(|account| account.id == id).cloned(),
        None => None,
    };
    let website = match payment.website_id {
        Some(id) => {
            app.directory.websites(payment.business_id).await?.iter().find(|site| site.id == id).cloned()
        }
        None => None,
    };
    let checkout_url = checkout_url(app, &payment);
    Ok(PaymentView { payment, account, website, checkout_url })
}

pub async fn list_payments(app: &App, business_id: i64, filter: &ListFilter) -> Result<Listed, OpError> {
    let until = filter.until.unwrap_or(Timestamp::MAX);
    let (position, before_id, offset) = match filter.cursor {
        Some(cursor) if cursor.created_at < until => (cursor.created_at, cursor.id, 0),
        _ => (until, 0, (filter.page - 1).saturating_mul(filter.per_page)),
    };
    let page = Page {
        status: filter.status,
        // Ids begin at 1: numbers below are all the same nobody's.
        website_id: filter.website_id.map(|id| id.max(0)),
        reversed: filter.reversed,
        mode: filter.mode,
        from: filter.from.unwrap_or(Timestamp::MIN),
        until: position,
        before_id,
        // One more than asked tells whether anything follows.
        limit: filter.per_page + 1,
        offset,
    };
    let mut payments =
        if offset > OFFSET_MAX { Vec::new() } else { app.store.list_payments(business_id, &page).await? };
    let more = payments.len() as i64 > filter.per_page;
    payments.truncate(usize::try_from(filter.per_page).unwrap_or(0));
    let next =
        payments.last().filter(|_| more).map(|last| Cursor { created_at: last.created_at, id: last.id });
    let counted = app.store.count_payments(business_id, &page, until, TOTAL_MAX + 1).await?;
    let mut rows = Vec::with_capacity(payments.len());
    for payment in payments {
        rows.push(view(app, payment).await?);
    }
    Ok(Listed { rows, total: counted.min(TOTAL_MAX), total_is_capped: counted > TOTAL_MAX, next })
}
