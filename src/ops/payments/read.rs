//! Reads payments of a business: one by its transaction id, or a page of them, newest first.

use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::merchant::{Mode, Website};
use crate::domain::payment::{Payment, Status};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::tables::payment_list::Page;

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
    Ok(PaymentView { payment, account, website })
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
