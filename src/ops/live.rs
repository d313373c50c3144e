//! What has changed of everything that somebody watches, asked at once: payments, and businesses with their latest
//! payments and the money that waits. Read only; what it is now, whoever watches asks the op of his page.

use crate::app::App;
use crate::ops::OpError;
pub use crate::store::tables::marks::Mark;

/// Rows asked for in one statement.
pub const ASKED_AT_ONCE: usize = 500;

/// Something that can be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// The payment by its id, and money that waits for it.
    Payment(i64),
    /// The latest payments of a business, of either mode, and money that waits for any of them.
    Business(i64),
    /// The sales at the tills of a business, of either mode, and money that waits for any of them.
    Till(i64),
    /// The events of a business in test mode.
    TestEvents(i64),
}

/// A mark of each topic that exists; what changed has another one than before. One statement for so many topics of a
/// kind as are asked for at once.
pub async fn marks(app: &App, topics: &[Topic]) -> Result<Vec<(Topic, Mark)>, OpError> {
    let (mut payments, mut businesses, mut tills) = (Vec::new(), Vec::new(), Vec::new());
    let mut events = Vec::new();
    for topic in topics {
        match topic {
            Topic::Payment(id) => payments.push(*id),
            Topic::Business(id) => businesses.push(*id),
            Topic::Till(id) => tills.push(*id),
            Topic::TestEvents(id) => events.push(*id),
        }
    }
    let mut all = Vec::with_capacity(topics.len());
    for ids in payments.chunks(ASKED_AT_ONCE) {
        let found = app.store.payment_marks(ids).await?;
        all.extend(found.into_iter().map(|(id, mark)| (Topic::Payment(id), mark)));
    }
    for ids in businesses.chunks(ASKED_AT_ONCE) {
        let found = app.store.business_marks(ids).await?;
        all.extend(found.into_iter().map(|(id, mark)| (Topic::Business(id), mark)));
    }
    for ids in tills.chunks(ASKED_AT_ONCE) {
        let found = app.store.till_marks(ids).await?;
        all.extend(found.into_iter().map(|(id, mark)| (Topic::Till(id), mark)));
    }
    for ids in events.chunks(ASKED_AT_ONCE) {
        let found = app.store.test_event_marks(ids).await?;
        all.extend(found.into_iter().map(|(id, mark)| (Topic::TestEvents(id), mark)));
    }
    Ok(all)
}
