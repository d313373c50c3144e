//! What businesses are called, for lists of what is theirs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::app::App;
use crate::ops::OpError;

/// The names of the businesses of a page's rows, at most a second old.
pub async fn names_of(app: &App, ids: Vec<i64>) -> Result<HashMap<i64, String>, OpError> {
    let mut names = HashMap::new();
    for id in ids {
        if let Entry::Vacant(place) = names.entry(id)
            && let Some(business) = app.directory.business(id).await?
        {
            place.insert(business.name.clone());
        }
    }
    Ok(names)
}
