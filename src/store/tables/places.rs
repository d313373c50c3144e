//! Where a row stands in a list that is ordered by time and, within one moment, by id: what a page ends with and the
//! next one begins after.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::Sql;
use crate::store::{Store, StoreError, Value};

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

impl Window {
    /// Its bounds and how many rows of it are read, in the order in which the statements of lists take them.
    pub(super) fn params(self, limit: usize) -> [Value; 5] {
        let Window { from, until } = self;
        [until.at.into(), until.id.into(), from.at.into(), from.id.into(), (limit as i64).into()]
    }
}

impl Store {
    /// The place that a statement finds, such as the end of a window; `at` is what its answer calls the time. `None` when
    /// there are not as many rows.
    pub(super) async fn place(
        &self,
        sql: &'static Sql,
        params: Vec<Value>,
        (table, at): (&'static str, &'static str),
    ) -> Result<Option<Place>, StoreError> {
        let Some(row) = self.read_one(sql, params).await? else { return Ok(None) };
        let mut r = row.reader(table);
        Ok(Some(Place { at: r.time(at)?, id: r.int("id")? }))
    }
}
