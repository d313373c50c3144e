//! What people did, newest first: found for the command line, and page by page.

use crate::app::App;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::paging::{Cursor, PAGE_ROWS, Page, PageSize, Place, page_of};
pub use crate::store::tables::acts::{OperatorAct, Side, from_address};

/// Which acts are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// What was acted on, such as `alert 42`.
    pub subject: Option<&'a str>,
    pub business_id: Option<i64>,
    pub since: Timestamp,
    pub limit: usize,
}

/// The acts that fit, and whether there are more of them than the limit; `None` if there is no such business.
pub async fn find_acts(app: &App, search: &Search<'_>) -> Result<Option<(Vec<OperatorAct>, bool)>, OpError> {
    let Search { subject, business_id, since, limit } = *search;
    if let Some(id) = business_id
        && app.store.business(id).await?.is_none()
    {
        return Ok(None);
    }
    let mut acts = app.store.acts(subject, business_id, since, limit + 1).await?;
    let more = acts.len() > limit;
    acts.truncate(limit);
    Ok(Some((acts, more)))
}

/// A page of acts, newest first, of one business or of all.
pub async fn browse_acts(
    app: &App,
    business_id: Option<i64>,
    cursor: Option<Cursor>,
) -> Result<Page<OperatorAct>, OpError> {
    acts_within(app, business_id, cursor, PAGE_ROWS).await
}

/// The same of another size.
pub async fn acts_within(
    app: &App,
    business_id: Option<i64>,
    cursor: Option<Cursor>,
    rows: usize,
) -> Result<Page<OperatorAct>, OpError> {
    let cursor = cursor.unwrap_or(Cursor::BEGIN);
    let found = app.store.acts_before(business_id, cursor.place, rows + 1).await?;
    let found = found.into_iter().map(|act| (Place { at: act.at, id: act.id }, act)).collect();
    Ok(page_of(cursor, PageSize { rows, window: rows }, None, found))
}
