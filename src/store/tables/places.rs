//! Where a row stands in a list that is ordered by time and, within one moment, by id: what a page ends with and the
//! next one begins after.

use crate::domain::time::Timestamp;

/// A row's time and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub at: Timestamp,
    pub id: i64,
}

impl Place {
    /// Before the first row of a time, whatever its id.
    pub const fn begin_of(at: Timestamp) -> Place {
        Place { at, id: i64::MIN }
    }

    /// Behind the last row.
    pub const END: Place = Place { at: Timestamp::MAX, id: i64::MAX };
}

/// Rows that are looked at for one page: from `from` (itself included) until before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: Place,
    pub until: Place,
}
