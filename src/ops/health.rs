//! Whether the database answers.

use crate::app::App;
use crate::ops::OpError;

pub async fn ping(app: &App) -> Result<(), OpError> {
    Ok(app.store.ping().await?)
}

/// Whether the database cannot be reached at all, unlike one that fails or is slow.
pub fn is_cut_off(app: &App) -> bool {
    app.store.is_cut_off()
}
