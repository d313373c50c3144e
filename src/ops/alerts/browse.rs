//! The desk's list of alerts: of one state or of all, newest or oldest first, searched by an amount, a name, a reference or
//! a session id. Read only.
//!
//! What a session id or a reference begins with is found by its index, however old, and stands on the first page; other
//! rows come window by window (`ops::paging`).

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::paging::{
    Cursor, NAMED_WINDOW_ROWS, PAGE_ROWS, Page, PageSize, Place, WINDOW_ROWS, Window, page_of,
};
use crate::ops::payments::browse::{BrowseRefused, bears_beginnings, is_too_long};
use crate::ops::payments::find::words_of;
use crate::store::tables::alerts::walk::AlertOrder;
use crate::store::tables::alerts::walk::AlertTexts;

/// Alerts that an index may know by what is looked for.
const KNOWN_MAX: usize = 40;
/// A session id or reference is found by this many of its first characters or more.
const PREFIX_MIN: usize = 4;

/// What the desk shows.
#[derive(Clone, Debug, Default)]
pub struct BrowseAlerts {
    pub state: DeskState,
    pub oldest_first: bool,
    /// An amount in naira, the beginnings of a name's words, or of a reference or session id.
    pub query: Option<String>,
}

/// Which alerts the desk shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeskState {
    #[default]
    Review,
    Unmatched,
    Quarantined,
    Unreadable,
    All,
}

impl DeskState {
    pub const ALL: [DeskState; 5] = [
        DeskState::Review,
        DeskState::Unmatched,
        DeskState::Quarantined,
        DeskState::Unreadable,
        DeskState::All,
    ];

    pub fn as_str(self) -> &'static str {
        self.status().map_or("all", AlertStatus::as_str)
    }

    pub fn parse(word: &str) -> Option<DeskState> {
        DeskState::ALL.into_iter().find(|state| state.as_str() == word)
    }

    fn status(self) -> Option<AlertStatus> {
        match self {
            DeskState::Review => Some(AlertStatus::Review),
            DeskState::Unmatched => Some(AlertStatus::Unmatched),
            DeskState::Quarantined => Some(AlertStatus::Quarantined),
            DeskState::Unreadable => Some(AlertStatus::Unreadable),
            DeskState::All => None,
        }
    }
}

/// A page of alerts, at most [`PAGE_ROWS`]. Alerts of every state are shown newest first.
pub async fn browse_alerts(
    app: &App,
    browse: &BrowseAlerts,
    cursor: Option<Cursor>,
) -> Result<Result<Page<AlertRow>, BrowseRefused>, OpError> {
    let window = if browse.query.is_some() { NAMED_WINDOW_ROWS } else { WINDOW_ROWS };
    browse_within(app, browse, cursor, PageSize { rows: PAGE_ROWS, window }).await
}

/// The same of another size.
pub async fn browse_within(
    app: &App,
    browse: &BrowseAlerts,
    cursor: Option<Cursor>,
    size: PageSize,
) -> Result<Result<Page<AlertRow>, BrowseRefused>, OpError> {
    let order = match browse.state.status() {
        Some(status) if browse.oldest_first => AlertOrder::OldestFirst(status),
        status => AlertOrder::NewestFirst(status),
    };
    let query = browse.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
    match query {
        Some(query) if is_too_long(query) => Ok(Err(BrowseRefused::TooLong)),
        Some(query) => searched(app, order, query, cursor, size).await.map(Ok),
        None => {
            let (cursor, end, window) = window(app, order, cursor, size).await?;
            let rows = app.store.alerts_in(order, window, size.rows + 1).await?;
            let rows = rows.into_iter().map(|alert| (place_of(&alert), alert)).collect();
            Ok(Ok(page_of(cursor, size, end, rows)))
        }
    }
}

fn place_of(alert: &AlertRow) -> Place {
    Place { at: alert.first_seen, id: alert.id }
}

/// The rows that a page looks at behind its cursor, in either order, and where they end if there are more.
async fn window(
    app: &App,
    order: AlertOrder,
    cursor: Option<Cursor>,
    size: PageSize,
) -> Result<(Cursor, Option<Place>, Window), OpError> {
    let is_oldest = matches!(order, AlertOrder::OldestFirst(_));
    let oldest = Place::begin_of(Timestamp::MIN);
    let (begin, last) = if is_oldest { (oldest, Place::END) } else { (Place::END, oldest) };
    let cursor = cursor.unwrap_or(Cursor { place: begin, known_shown: false });
    let end = app.store.alert_window_end(order, cursor.place, size.window).await?;
    let (near, far) = (cursor.place, end.unwrap_or(last));
    let (from, until) = if is_oldest { (near, far) } else { (far, near) };
    Ok((cursor, end, Window { from, until }))
}

async fn searched(
    app: &App,
    order: AlertOrder,
    query: &str,
    cursor: Option<Cursor>,
    size: PageSize,
) -> Result<Page<AlertRow>, OpError> {
    let mut known = Vec::new();
    if query.chars().count() >= PREFIX_MIN {
        known = app.store.alerts_by_prefix(query, KNOWN_MAX + 1).await?;
        if known.len() > KNOWN_MAX {
            known.clear();
        }
    }
    let mut shown = HashSet::new();
    known
        .retain(|alert| order.status().is_none_or(|status| status == alert.status) && shown.insert(alert.id));
    let is_first = cursor.is_none_or(|cursor| !cursor.known_shown);
    let room = if is_first { size.rows.saturating_sub(known.len()) } else { size.rows };
    let wanted = Wanted::of(query);
    let size = PageSize { rows: room, ..size };
    let (cursor, end, window) = window(app, order, cursor, size).await?;
    let texts = app.store.alert_texts_in(order, window, size.window).await?;
    let meant = texts.into_iter().filter(|texts| !shown.contains(&texts.place.id) && wanted.fits(texts));
    let meant = meant.take(size.rows + 1).map(|texts| (texts.place, texts.place.id)).collect();
    let found = page_of(cursor, size, end, meant);
    let mut rows = of_ids(app, &found.rows).await?;
    if is_first {
        rows.extend(known);
        match order {
            AlertOrder::OldestFirst(_) => rows.sort_by_key(place_of),
            AlertOrder::NewestFirst(_) => rows.sort_by_key(|alert| Reverse(place_of(alert))),
        }
    }
    let next = found.next.map(|next| Cursor { known_shown: true, ..next });
    Ok(Page { rows, next, looked_back_to: found.looked_back_to })
}

/// What a text may mean; any of it will do.
struct Wanted<'a> {
    text: &'a str,
    amount: Option<Money>,
    words: Vec<String>,
}

impl<'a> Wanted<'a> {
    fn of(text: &'a str) -> Wanted<'a> {
        Wanted { text, amount: Money::typed(text).ok(), words: words_of(text).unwrap_or_default() }
    }

    fn fits(&self, texts: &AlertTexts) -> bool {
        let begins = |text: &Option<String>| text.as_deref().is_some_and(|text| text.starts_with(self.text));
        let name = texts.payer_name.as_ref().or(texts.narration.as_ref());
        self.amount.is_some() && self.amount == texts.amount
            || begins(&texts.reference)
            || begins(&texts.session_id)
            || name.is_some_and(|name| bears_beginnings(name, &self.words))
    }
}

/// Alerts in the order of their ids.
async fn of_ids(app: &App, ids: &[i64]) -> Result<Vec<AlertRow>, OpError> {
    let read = app.store.alerts_by_ids(ids).await?;
    let mut by_id: HashMap<i64, AlertRow> = read.into_iter().map(|alert| (alert.id, alert)).collect();
    Ok(ids.iter().filter_map(|id| by_id.remove(id)).collect())
}

/// Alerts that are looked at for a neighbour, where names are compared.
const NEIGHBOUR_WINDOW: usize = 500;

/// The alert that stands behind this one in a view, or before it; without one, the first. `None`: there is none near.
pub async fn neighbour(
    app: &App,
    browse: &BrowseAlerts,
    of: Option<&AlertRow>,
    is_next: bool,
) -> Result<Option<AlertRow>, OpError> {
    if !is_next && browse.state == DeskState::All {
        // All of them have an index in one direction alone.
        return Ok(None);
    }
    let oldest_first = browse.oldest_first == is_next;
    let browse = BrowseAlerts { oldest_first, ..browse.clone() };
    let cursor = of.map(|of| Cursor { place: place_of(of), known_shown: true });
    let size = PageSize { rows: 1, window: NEIGHBOUR_WINDOW };
    let page = browse_within(app, &browse, cursor, size).await?.ok();
    Ok(page.and_then(|page| page.rows.into_iter().next()))
}
