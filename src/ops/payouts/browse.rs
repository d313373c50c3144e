//! Lists of payouts, newest first: of a business, or of all for the operator. Read only.

use crate::app::App;
use crate::domain::payout::PayoutStatus;
use crate::ops::OpError;
use crate::ops::paging::{Cursor, PAGE_ROWS, Page, PageSize, Place, WINDOW_ROWS, Window, page_of};
pub use crate::store::tables::payouts::{PayoutRow, PayoutsWaiting};

/// So many waiting payouts are counted.
const WAITING_MAX: usize = 10_000;

/// Which payouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PayoutFilter {
    /// `None`: of all.
    pub business_id: Option<i64>,
    pub status: Option<PayoutStatus>,
}

pub async fn browse_payouts(
    app: &App,
    filter: PayoutFilter,
    cursor: Option<Cursor>,
) -> Result<Page<PayoutRow>, OpError> {
    payouts_within(app, filter, cursor, PageSize { rows: PAGE_ROWS, window: WINDOW_ROWS }).await
}

/// The same of another size.
pub async fn payouts_within(
    app: &App,
    filter: PayoutFilter,
    cursor: Option<Cursor>,
    size: PageSize,
) -> Result<Page<PayoutRow>, OpError> {
    let PayoutFilter { business_id, status } = filter;
    let cursor = cursor.unwrap_or(Cursor::BEGIN);
    let (end, rows) = if business_id.is_none() && status == Some(PayoutStatus::Pending) {
        // These have an index of their own.
        (None, app.store.pending_payouts(cursor.place, size.rows + 1).await?)
    } else {
        let end = app.store.payouts_window_end(business_id, cursor.place, size.window).await?;
        let from = end.unwrap_or(Place::begin_of(crate::domain::time::Timestamp(0)));
        let window = Window { from, until: cursor.place };
        (end, app.store.payouts_in(business_id, status, window, size.rows + 1).await?)
    };
    let place = |row: &PayoutRow| Place { at: row.payout.created_at, id: row.payout.id };
    Ok(page_of(cursor, size, end, rows.into_iter().map(|row| (place(&row), row)).collect()))
}

/// A payout; of this business alone if one is given.
pub async fn find_payout(app: &App, business_id: Option<i64>, id: i64) -> Result<Option<PayoutRow>, OpError> {
    let found = app.store.payout(id).await?;
    Ok(found.filter(|row| business_id.is_none_or(|business| business == row.payout.business_id)))
}

/// Payouts that wait for the operator.
pub async fn payouts_waiting(app: &App) -> Result<PayoutsWaiting, OpError> {
    Ok(app.store.payouts_waiting(WAITING_MAX).await?)
}
