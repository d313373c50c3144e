//! Webhooks on pages, of one business or of all: every delivery with every attempt, what was sent, and sending again what
//! failed. What is of another business is not there.
//!
//! Sending again is the same act as at the command line (`deliveries`).

use super::deliveries::{self, Resent};
use super::post;
use crate::app::App;
use crate::domain::payment::Payment;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::paging::{Cursor, PAGE_ROWS, Page, PageSize, Place, WINDOW_ROWS, Window, page_of};
pub use crate::store::tables::deliveries::pages::DeliveryFilter;
pub use crate::store::tables::deliveries::{ATTEMPTS_READ, Delivery, DeliveryStatus};
use crate::store::tables::events::DeliveryInput;
use crate::store::tables::jobs::CLAIM_BATCH;

/// Deliveries that one form sends again; send the form again for more.
pub const RESEND_MAX: usize = 1_000;

/// A page of deliveries, newest first, at most [`PAGE_ROWS`].
pub async fn browse_deliveries(
    app: &App,
    filter: &DeliveryFilter,
    cursor: Option<Cursor>,
) -> Result<Page<Delivery>, OpError> {
    browse_within(app, filter, cursor, PageSize { rows: PAGE_ROWS, window: WINDOW_ROWS }).await
}

/// The same of another size.
pub async fn browse_within(
    app: &App,
    filter: &DeliveryFilter,
    cursor: Option<Cursor>,
    size: PageSize,
) -> Result<Page<Delivery>, OpError> {
    let cursor = cursor.unwrap_or(Cursor::BEGIN);
    let end = app.store.delivery_window_end(filter, cursor.place, size.window).await?;
    let window = Window { from: end.unwrap_or(Place::begin_of(Timestamp::MIN)), until: cursor.place };
    let rows = app.store.deliveries_in(filter, window, size.rows + 1).await?;
    let rows = rows.into_iter().map(|delivery| (filter.place_of(&delivery), delivery)).collect();
    Ok(page_of(cursor, size, end, rows))
}

/// A page of the deliveries of all businesses, newest first, of one state or of any.
pub async fn browse_all_deliveries(
    app: &App,
    status: Option<DeliveryStatus>,
    cursor: Option<Cursor>,
) -> Result<Page<Delivery>, OpError> {
    let size = PageSize { rows: PAGE_ROWS, window: WINDOW_ROWS };
    let cursor = cursor.unwrap_or(Cursor::BEGIN);
    // Places are whole moments here: a cursor's own moment is read again, and its rows are left out.
    let until = Timestamp(cursor.place.at.0.saturating_add(1));
    let place = |delivery: &Delivery| Place { at: delivery.created_at, id: delivery.id };
    let end = app.store.event_slice_end((Timestamp::MIN, until), size.window).await?;
    let from = end.unwrap_or(Timestamp::MIN);
    let most = i64::try_from(size.rows + SAME_MOMENT).unwrap_or(i64::MAX);
    let mut rows = app.store.deliveries_found(None, status, (from, until), most).await?;
    rows.retain(|one| place(one) < cursor.place);
    rows.sort_by_key(|one| std::cmp::Reverse(place(one)));
    rows.truncate(size.rows + 1);
    let rows = rows.into_iter().map(|one| (place(&one), one)).collect();
    Ok(page_of(cursor, size, end.map(Place::begin_of), rows))
}

/// Deliveries of one moment, the rest of which a page reads again.
const SAME_MOMENT: usize = 50;

/// All deliveries about one payment of the business, newest first; none for an id that it does not have.
pub async fn deliveries_about(
    app: &App,
    filter: &DeliveryFilter,
    transaction_id: &str,
) -> Result<Vec<Delivery>, OpError> {
    let payment = app.store.payment_by_transaction(filter.business_id, transaction_id).await?;
    let is_shown = |payment: &Payment| filter.mode.is_none_or(|mode| mode == payment.mode);
    let Some(payment) = payment.filter(is_shown) else { return Ok(Vec::new()) };
    let mut rows = app.store.deliveries_of_payment(payment.id).await?;
    rows.retain(|one| {
        filter.status.is_none_or(|status| status.as_str() == one.status())
            && filter.event.as_ref().is_none_or(|event| *event == one.event)
    });
    rows.reverse();
    Ok(rows)
}

/// One delivery of the business.
pub async fn delivery_of(app: &App, business_id: i64, id: i64) -> Result<Option<Delivery>, OpError> {
    let found = app.store.delivery(id).await?;
    Ok(found.filter(|delivery| delivery.business_id == business_id))
}

/// A request as it went, or goes, to the merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentRequest {
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What each attempt of some deliveries sent, in their order; what a delivery without an attempt would send now. The body
/// is the very one; the signature is made again, and differs from that of the time if the secret was replaced since.
pub async fn requests_of(app: &App, deliveries: &[Delivery]) -> Result<Vec<Vec<SentRequest>>, OpError> {
    let mut all = Vec::with_capacity(deliveries.len());
    for some in deliveries.chunks(CLAIM_BATCH) {
        let events: Vec<i64> = some.iter().map(|delivery| delivery.event_id).collect();
        let inputs = app.store.inputs(&events).await?;
        for delivery in some {
            let times: Vec<Timestamp> = match delivery.attempts.as_slice() {
                [] => vec![app.now()],
                attempts => attempts.iter().map(|attempt| attempt.at).collect(),
            };
            let input = inputs.get(&delivery.event_id);
            let sent = times.into_iter().filter_map(|at| input.map(|input| sent_at(app, input, at)));
            all.push(sent.collect::<Result<_, _>>()?);
        }
    }
    Ok(all)
}

/// What the attempt at a time sent.
pub async fn request_at(
    app: &App,
    delivery: &Delivery,
    at: Timestamp,
) -> Result<Option<SentRequest>, OpError> {
    let inputs = app.store.inputs(&[delivery.event_id]).await?;
    inputs.get(&delivery.event_id).map(|input| sent_at(app, input, at)).transpose()
}

fn sent_at(app: &App, input: &DeliveryInput, at: Timestamp) -> Result<SentRequest, OpError> {
    let headers = post::headers(app, input, at).map_err(OpError::Fault)?;
    let plain = headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    Ok(SentRequest { headers: plain.collect(), body: input.body.clone() })
}

/// Sends one delivery of the business again; `None`: it has no such delivery.
pub async fn resend_of(
    app: &App,
    operator: &str,
    business_id: i64,
    id: i64,
) -> Result<Option<Resent>, OpError> {
    if delivery_of(app, business_id, id).await?.is_none() {
        return Ok(None);
    }
    deliveries::resend(app, operator, &[id]).await.map(Some)
}

/// What a bulk resend came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkResent {
    pub count: usize,
    /// There may be more than [`RESEND_MAX`].
    pub more: bool,
}

/// Sends again what failed for good since a time, of this business alone.
pub async fn resend_failed_of(
    app: &App,
    operator: &str,
    business_id: i64,
    since: Timestamp,
) -> Result<BulkResent, OpError> {
    let ids = deliveries::resend_failed_since(app, operator, since, Some(business_id), RESEND_MAX).await?;
    Ok(BulkResent { count: ids.len(), more: ids.len() >= RESEND_MAX })
}

/// The same of all businesses, within the last `since`.
pub async fn resend_failed_everywhere(app: &App, operator: &str, since: Span) -> Result<BulkResent, OpError> {
    let ids = deliveries::resend_failed_since(app, operator, app.now() - since, None, RESEND_MAX).await?;
    Ok(BulkResent { count: ids.len(), more: ids.len() >= RESEND_MAX })
}
