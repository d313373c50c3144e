//! What operators did, newest first.

use crate::app::App;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
pub use crate::store::tables::acts::OperatorAct;

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
