//! Pages of long lists: a page is filled from one window of an index, so that it costs no more than the window holds.
//! Where few rows of a window fit, the page has fewer rows and says where the next one begins; only a page without a
//! next one is the last.

use crate::domain::time::Timestamp;
pub use crate::store::tables::places::{Place, Window};

/// Rows of a page for people.
pub const PAGE_ROWS: usize = 50;
/// Rows that one page looks at, where the database judges them.
pub const WINDOW_ROWS: usize = 10_000;
/// Where names are compared, rows come out of the database.
pub const NAMED_WINDOW_ROWS: usize = 5_000;

/// Where a list goes on; written into links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The next page begins after this row.
    pub place: Place,
    /// What was found by its id or reference was shown on the first page already.
    pub known_shown: bool,
}

impl Cursor {
    /// The list from its first row.
    pub const BEGIN: Cursor = Cursor { place: Place::END, known_shown: false };

    /// `None` if nobody wrote this.
    pub fn parse(text: &str) -> Option<Cursor> {
        let (known_shown, rest) = match text.strip_prefix('k') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (at, id) = rest.split_once('.')?;
        Some(Cursor { place: Place { at: Timestamp(at.parse().ok()?), id: id.parse().ok()? }, known_shown })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Place { at, id } = self.place;
        write!(out, "{}{}.{id}", if self.known_shown { "k" } else { "" }, at.0)
    }
}

/// Some rows of a list, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// Where the next page begins; `None`: this is the last.
    pub next: Option<Cursor>,
    /// The page is not full because few of the rows looked at fit, and there are more to look at. With the time back
    /// to which it looked.
    pub looked_back_to: Option<Timestamp>,
}

impl<T> Page<T> {
    pub fn empty() -> Page<T> {
        Page { rows: Vec::new(), next: None, looked_back_to: None }
    }

    pub fn map<U>(self, to: impl FnMut(T) -> U) -> Page<U> {
        let Page { rows, next, looked_back_to } = self;
        Page { rows: rows.into_iter().map(to).collect(), next, looked_back_to }
    }
}

/// How large a page may be, and how much may be looked at for it.
#[derive(Clone, Copy, Debug)]
pub struct PageSize {
    pub rows: usize,
    pub window: usize,
}

/// A page of the rows that fit in one window. The window began behind `cursor` and ended with `end`, or with the list
/// itself; of its rows one more was read than a page has, in the order of the list, each with its place.
pub(in crate::ops) fn page_of<T>(
    cursor: Cursor,
    size: PageSize,
    end: Option<Place>,
    mut rows: Vec<(Place, T)>,
) -> Page<T> {
    let goes_on = |place| Some(Cursor { place, ..cursor });
    let (next, looked_back_to) = if rows.len() > size.rows {
        rows.truncate(size.rows);
        (goes_on(rows.last().map_or(cursor.place, |(place, _)| *place)), None)
    } else {
        (end.and_then(goes_on), end.map(|place| place.at))
    };
    Page { rows: rows.into_iter().map(|(_, row)| row).collect(), next, looked_back_to }
}

/// A page of a list that is held whole, because there is a limit on its length; `id` is what its order goes by. The page
/// that holds the row `holding`, or else the one behind the cursor.
pub fn page_of_whole<T>(
    mut all: Vec<T>,
    cursor: Option<Cursor>,
    holding: Option<i64>,
    id: impl Fn(&T) -> i64,
) -> Page<T> {
    let held = holding.and_then(|wanted| all.iter().position(|one| id(one) == wanted));
    let goes_up = all.first().zip(all.last()).is_some_and(|(first, last)| id(first) < id(last));
    let is_before = |one: &T, place: i64| if goes_up { id(one) <= place } else { id(one) >= place };
    let begin = match (held, cursor) {
        (Some(at), _) => at / PAGE_ROWS * PAGE_ROWS,
        // The row that the cursor names may be gone.
        (None, Some(cursor)) => all.partition_point(|one| is_before(one, cursor.place.id)),
        (None, None) => 0,
    };
    let mut rows = all.split_off(begin);
    let more = rows.len() > PAGE_ROWS;
    rows.truncate(PAGE_ROWS);
    let last = rows.last().filter(|_| more).map(|last| Place { at: Timestamp(0), id: id(last) });
    let next = last.map(|place| Cursor { place, known_shown: false });
    Page { rows, next, looked_back_to: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_list_is_shown_page_by_page_in_either_order() {
        for all in [(1..=120).collect::<Vec<i64>>(), (1..=120).rev().collect()] {
            let (mut seen, mut cursor, mut sizes) = (Vec::new(), None, Vec::new());
            loop {
                let page = page_of_whole(all.clone(), cursor, None, |id| *id);
                sizes.push(page.rows.len());
                seen.extend(page.rows);
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!((seen, sizes), (all.clone(), vec![50, 50, 20]));
            let held = page_of_whole(all.clone(), None, Some(all[70]), |id| *id);
            assert_eq!(held.rows, all[50..100]);
            // A row that went away meanwhile is not where the list begins anew.
            let first = page_of_whole(all.clone(), None, None, |id| *id);
            let rest: Vec<i64> = all.iter().copied().filter(|id| *id != all[49]).collect();
            assert_eq!(page_of_whole(rest, first.next, None, |id| *id).rows, all[50..100]);
        }
        assert_eq!(page_of_whole(Vec::<i64>::new(), Some(Cursor::BEGIN), Some(3), |id| *id), Page::empty());
    }

    #[test]
    fn a_cursor_is_read_as_it_is_written_and_nothing_else_is() {
        for known_shown in [true, false] {
            let cursor = Cursor { place: Place { at: Timestamp(1_773), id: -4 }, known_shown };
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }
        for text in ["", "k", "5", "5.", ".5", "a.b", "1.2.3", "kk1.2", "99999999999999999999.1"] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }
}
