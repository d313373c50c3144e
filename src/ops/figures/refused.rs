//! The requests of a merchant's programs that were refused, for the merchant to see why. Every process writes what it
//! holds (`app::requests`) every second.

use crate::app::App;
use crate::app::requests::{Held, Refusal};
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::paging::{Cursor, PAGE_ROWS, Page, PageSize, Place, Window, page_of};
use crate::store::tables::refused::{self, RefusedRequest as Row};
pub use crate::store::tables::refused::{RefusedRequest, RequestCounts};
use crate::store::{IdKind, Step};

/// How long refused requests are kept.
pub const REQUESTS_KEPT: Span = Span::days(7);
/// Rows of one Unit.
const UNIT_ROWS: usize = 500;

/// Writes what this process holds; what could not be written is held again.
pub async fn flush(app: &App) -> Result<(), OpError> {
    let mut held = app.requests.take();
    let mut counts: Vec<_> = held.counts.drain().collect();
    // In the same order on every node.
    counts.sort_unstable_by_key(|(key, _)| *key);
    while !(counts.is_empty() && held.refusals.is_empty()) {
        let some: Vec<_> = counts.drain(..counts.len().min(UNIT_ROWS)).collect();
        let refusals: Vec<Refusal> = held.refusals.drain(..held.refusals.len().min(UNIT_ROWS)).collect();
        let mut steps: Vec<Step> = some
            .iter()
            .map(|((business_id, day), of_day)| refused::count(*business_id, *day, of_day))
            .collect();
        let written = async {
            for refusal in &refusals {
                let id = app.store.id(IdKind::Refused).await?;
                steps.push(refused::add(&row(id, refusal)));
            }
            app.store.apply(app.store.unit(0).await?.steps(steps)).await
        };
        if let Err(error) = written.await {
            let counts = some.into_iter().chain(counts).collect();
            let refusals = refusals.into_iter().chain(held.refusals).collect();
            app.requests.give_back(Held { refusals, counts });
            return Err(error.into());
        }
    }
    Ok(())
}

fn row(id: i64, refusal: &Refusal) -> Row {
    Row {
        id,
        business_id: refusal.business_id,
        at: refusal.at,
        method: refusal.method.clone(),
        route: refusal.route.to_owned(),
        status: i64::from(refusal.status),
        code: refusal.code.map(str::to_owned),
        message: refusal.message.clone(),
        request_id: refusal.request_id.clone(),
    }
}

/// A page of refused requests of the business, newest first.
pub async fn refused_requests(
    app: &App,
    business_id: i64,
    cursor: Option<Cursor>,
) -> Result<Page<RefusedRequest>, OpError> {
    let since = Place::begin_of(app.now() - REQUESTS_KEPT);
    let cursor = cursor.unwrap_or(Cursor::BEGIN);
    // No row is judged.
    let size = PageSize { rows: PAGE_ROWS, window: PAGE_ROWS + 1 };
    let end = app.store.refused_window_end(business_id, cursor.place, size.window).await?;
    let end = end.filter(|end| *end > since);
    let window = Window { from: end.unwrap_or(since), until: cursor.place };
    let rows = app.store.refused_in(business_id, window, size.rows + 1).await?;
    let rows = rows.into_iter().map(|one| (Place { at: one.at, id: one.id }, one)).collect();
    Ok(page_of(cursor, size, end, rows))
}

/// How many requests of the business were answered within the days that refused ones are kept, today included.
pub async fn request_counts(app: &App, business_id: i64) -> Result<RequestCounts, OpError> {
    let from: Timestamp = app.now() - REQUESTS_KEPT;
    Ok(app.store.request_counts(business_id, from.lagos_day() + 1).await?)
}
