//! Goes back in time slice by slice, from the newest row, until there are as many as are wanted or as many were looked
//! at as one command may.
//!
//! For lists whose filters are judged row by row: a read costs what its slice holds, whatever is looked for.

use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::StoreError;

/// How far back a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Rows looked at in one read.
    pub rows: usize,
    /// Reads.
    pub slices: usize,
}

/// A million rows.
pub const REACH: Reach = Reach { rows: 100_000, slices: 10 };
/// Where names are compared rows come out of the database: two hundred thousand.
pub const NAMED_REACH: Reach = Reach { rows: 5_000, slices: 40 };

/// Rows that fit, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<T> {
    pub rows: Vec<T>,
    /// There are more than the limit.
    pub more: bool,
    /// What is older than this was not looked at.
    pub searched_back_to: Option<Timestamp>,
}

impl<T> Found<T> {
    /// The first `limit`. Nobody asks about what is older than the last one shown.
    pub fn first(mut self, limit: usize) -> Found<T> {
        self.more |= self.rows.len() > limit;
        self.rows.truncate(limit);
        self.searched_back_to = self.searched_back_to.filter(|_| !self.more);
        self
    }
}

/// Reads from the newest back to `since`, more than `limit` rows at most by one slice. `slice_end` tells where so many
/// rows of a time end, `read` those of a time that fit. Without a reach all is read at once.
pub(in crate::ops) async fn look_back<T>(
    since: Timestamp,
    limit: usize,
    reach: Option<Reach>,
    slice_end: impl AsyncFn((Timestamp, Timestamp), usize) -> Result<Option<Timestamp>, StoreError>,
    read: impl AsyncFn((Timestamp, Timestamp)) -> Result<Vec<T>, StoreError>,
) -> Result<Found<T>, OpError> {
    let (mut rows, mut until, mut searched_back_to) = (Vec::new(), Timestamp::MAX, None);
    for _ in 0..reach.map_or(1, |reach| reach.slices) {
        let end = match reach {
            Some(reach) => slice_end((since, until), reach.rows).await?,
            None => None,
        };
        rows.extend(read((end.unwrap_or(since), until)).await?);
        searched_back_to = end;
        match end {
            Some(end) if rows.len() <= limit => until = end,
            _ => break,
        }
    }
    let more = rows.len() > limit;
    Ok(Found { rows, more, searched_back_to })
}
