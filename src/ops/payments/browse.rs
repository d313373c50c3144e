//! The list of payments on pages, of a business or of all: filters that combine freely, newest first. Read only.
//!
//! What an id or a reference begins with is found by its index, however old, and stands on the first page; other rows
//! come window by window (`ops::paging`). Names are found by the beginnings of their words.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::find::words_of;
use crate::app::App;
use crate::domain::money::Money;
use crate::domain::name::fold;
use crate::domain::payment::Payment;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::paging::{
    Cursor, NAMED_WINDOW_ROWS, PAGE_ROWS, Page, PageSize, Place, WINDOW_ROWS, Window, page_of,
};
pub use crate::store::tables::payment_walk::PaymentFilter;
use crate::store::tables::payment_walk::PaymentTexts;

/// Payments that an index may know by what is looked for; where more begin so, the newest are near anyway.
const KNOWN_MAX: usize = 40;
/// Businesses that are asked whether they have a transaction id.
const BUSINESSES_MAX: usize = 20;
/// Characters of what is looked for.
pub const QUERY_MAX: usize = 100;

/// What a list shows.
#[derive(Clone, Debug, Default)]
pub struct Browse {
    pub filter: PaymentFilter,
    /// Made at this time or later.
    pub from: Option<Timestamp>,
    /// Made before this time.
    pub until: Option<Timestamp>,
    /// What is looked for, see [`Wanted`].
    pub query: Option<String>,
}

/// Why there is no list. The texts are for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrowseRefused {
    #[error("Type at most {QUERY_MAX} characters.")]
    TooLong,
}

/// Whether nothing may be looked for that is this long.
pub(in crate::ops) fn is_too_long(query: &str) -> bool {
    query.trim().chars().count() > QUERY_MAX
}

/// A page of payments, at most [`PAGE_ROWS`].
pub async fn browse_payments(
    app: &App,
    browse: &Browse,
    cursor: Option<Cursor>,
) -> Result<Result<Page<Payment>, BrowseRefused>, OpError> {
    let window = if browse.query.is_some() { NAMED_WINDOW_ROWS } else { WINDOW_ROWS };
    browse_within(app, browse, cursor, PageSize { rows: PAGE_ROWS, window }).await
}

/// The same of another size.
pub async fn browse_within(
    app: &App,
    browse: &Browse,
    cursor: Option<Cursor>,
    size: PageSize,
) -> Result<Result<Page<Payment>, BrowseRefused>, OpError> {
    let begin = browse.until.map_or(Place::END, Place::begin_of);
    let cursor = cursor.unwrap_or(Cursor::BEGIN);
    let cursor = Cursor { place: cursor.place.min(begin), ..cursor };
    let query = browse.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
    match query {
        Some(query) if is_too_long(query) => Ok(Err(BrowseRefused::TooLong)),
        Some(query) => searched(app, browse, query, cursor, size).await.map(Ok),
        None => all(app, browse, cursor, size).await.map(Ok),
    }
}

async fn all(app: &App, browse: &Browse, cursor: Cursor, size: PageSize) -> Result<Page<Payment>, OpError> {
    let (end, window) = window(app, browse, cursor, size).await?;
    let rows = app.store.payments_in(&browse.filter, window, size.rows + 1).await?;
    let rows = rows.into_iter().map(|payment| (place_of(&payment), payment)).collect();
    Ok(page_of(cursor, size, end, rows))
}

/// The rows that a page looks at behind its cursor, and where they end if there are more.
async fn window(
    app: &App,
    browse: &Browse,
    cursor: Cursor,
    size: PageSize,
) -> Result<(Option<Place>, Window), OpError> {
    let back_to = browse.from.unwrap_or(Timestamp::MIN);
    let end = app.store.payment_window_end(&browse.filter, cursor.place, back_to, size.window).await?;
    Ok((end, Window { from: end.unwrap_or(Place::begin_of(back_to)), until: cursor.place }))
}

fn place_of(payment: &Payment) -> Place {
    Place { at: payment.created_at, id: payment.id }
}

/// What an index knows stands on the first page; the other pages hold the rest.
async fn searched(
    app: &App,
    browse: &Browse,
    query: &str,
    cursor: Cursor,
    size: PageSize,
) -> Result<Page<Payment>, OpError> {
    let known = known(app, browse, query).await?;
    let shown: HashSet<i64> = known.iter().map(|payment| payment.id).collect();
    let is_first = !cursor.known_shown;
    let room = if is_first { size.rows.saturating_sub(known.len()) } else { size.rows };
    let wanted = Wanted::of(app, browse, query).await?;
    let found = texts(app, browse, cursor, PageSize { rows: room, ..size }, |texts: &PaymentTexts| {
        !shown.contains(&texts.place.id) && wanted.is_meant(texts)
    })
    .await?;
    let mut rows = of_ids(app, &found.rows).await?;
    if is_first {
        rows.extend(known);
        rows.sort_by_key(|payment| Reverse(place_of(payment)));
    }
    let next = found.next.map(|next| Cursor { known_shown: true, ..next });
    Ok(Page { rows, next, looked_back_to: found.looked_back_to })
}

/// Ids of the payments whose texts are meant, newest first.
async fn texts(
    app: &App,
    browse: &Browse,
    cursor: Cursor,
    size: PageSize,
    is_meant: impl Fn(&PaymentTexts) -> bool,
) -> Result<Page<i64>, OpError> {
    let (end, window) = window(app, browse, cursor, size).await?;
    let rows = app.store.payment_texts_in(&browse.filter, window, size.window).await?;
    let meant = rows.into_iter().filter(is_meant).take(size.rows + 1);
    let rows = meant.map(|texts| (texts.place, texts.place.id)).collect();
    Ok(page_of(cursor, size, end, rows))
}

/// What somebody may mean by a text: the beginning of an id, of a reference or of words of a name, an amount, the number of one
/// of our accounts, or a business by its name.
struct Wanted<'a> {
    query: &'a str,
    /// Ids of ours are in capitals, however somebody types them.
    in_capitals: String,
    words: Vec<String>,
    amount: Option<Money>,
    accounts: Vec<i64>,
    businesses: Vec<i64>,
}

impl Wanted<'_> {
    async fn of<'a>(app: &App, browse: &Browse, query: &'a str) -> Result<Wanted<'a>, OpError> {
        let words = words_of(query).unwrap_or_default();
        let accounts = app.directory.accounts().await?;
        let accounts = accounts.iter().filter(|one| one.number == query).map(|one| one.id).collect();
        let businesses = match browse.filter.business_id {
            Some(_) => Vec::new(),
            None => app.store.businesses().await?,
        };
        let businesses = businesses.into_iter().filter(|one| bears_beginnings(&one.name, &words));
        Ok(Wanted {
            query,
            in_capitals: query.to_ascii_uppercase(),
            amount: Money::typed(query).ok().filter(|amount| *amount > Money::ZERO),
            accounts,
            businesses: businesses.map(|one| one.id).collect(),
            words,
        })
    }

    fn is_meant(&self, texts: &PaymentTexts) -> bool {
        texts.transaction_id.starts_with(self.query)
            || texts.transaction_id.starts_with(&self.in_capitals)
            || texts.reference.as_deref().is_some_and(|reference| reference.starts_with(self.query))
            || self.amount == Some(texts.amount)
            || texts.account_id.is_some_and(|id| self.accounts.contains(&id))
            || self.businesses.contains(&texts.business_id)
            || bears_beginnings(&texts.payer_name, &self.words)
    }
}

/// Whether words of a name begin with these, in any order.
pub(in crate::ops) fn bears_beginnings(name: &str, words: &[String]) -> bool {
    if words.is_empty() {
        return false;
    }
    let folded = fold(name);
    words.iter().all(|wanted| folded.split(' ').any(|word| word.starts_with(wanted.as_str())))
}

/// NIP's own id of a transfer: 30 digits.
fn is_session_id(text: &str) -> bool {
    text.len() == 30 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Payments that fit whose id or reference begins with what is looked for; none where there are too many.
async fn known(app: &App, browse: &Browse, query: &str) -> Result<Vec<Payment>, OpError> {
    let store = &app.store;
    let filter = &browse.filter;
    let mut found = match filter.business_id {
        Some(id) => store.payments_by_transaction_prefix(id, query, KNOWN_MAX + 1).await?,
        None => {
            let mut found = Vec::new();
            for id in store.businesses_with(query, BUSINESSES_MAX).await? {
                found.extend(store.payment_by_transaction(id, query).await?);
            }
            found
        }
    };
    // Of a transfer's session id, by the alert that shows it.
    if is_session_id(query) {
        let alerts = store.alerts_by_session(None, query, None, KNOWN_MAX).await?;
        let paid: Vec<i64> = alerts.iter().filter_map(|alert| alert.payment_id).collect();
        let paid = store.payments_by_ids(&paid).await?;
        found
            .extend(paid.into_iter().filter(|one| filter.business_id.is_none_or(|id| id == one.business_id)));
    }
    if found.len() > KNOWN_MAX {
        found.clear();
    }
    let referenced = store.payments_by_reference_prefix(filter.business_id, query, KNOWN_MAX + 1).await?;
    if found.len() + referenced.len() <= KNOWN_MAX {
        found.extend(referenced);
    }
    let mut seen = HashSet::new();
    found.retain(|payment| {
        filter.fits(payment)
            && browse.from.is_none_or(|from| payment.created_at >= from)
            && browse.until.is_none_or(|until| payment.created_at < until)
            && seen.insert(payment.id)
    });
    Ok(found)
}

/// Payments in the order of their ids.
async fn of_ids(app: &App, ids: &[i64]) -> Result<Vec<Payment>, OpError> {
    let read = app.store.payments_by_ids(ids).await?;
    let mut by_id: HashMap<i64, Payment> = read.into_iter().map(|payment| (payment.id, payment)).collect();
    Ok(ids.iter().filter_map(|id| by_id.remove(id)).collect())
}
