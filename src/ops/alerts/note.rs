//! A person writes down what is known of an alert, for whoever looks at it next. Nothing is decided by it.

use crate::app::App;
use crate::ops::{OpError, given_reason};
use crate::store::IdKind;
use crate::store::tables::acts;

/// What the act of a note is called.
pub const NOTE: &str = "note";

/// Why nothing was written. The texts are for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteRefused {
    #[error("there is no alert {0}")]
    NoAlert(i64),
    #[error("a note must have 1 to 500 characters and no control characters")]
    Note,
}

/// Keeps a note with the alert.
pub async fn note_alert(
    app: &App,
    alert_id: i64,
    operator: &str,
    note: &str,
) -> Result<Result<(), NoteRefused>, OpError> {
    let Some(note) = given_reason(note) else { return Ok(Err(NoteRefused::Note)) };
    if app.store.alert(alert_id).await?.is_none() {
        return Ok(Err(NoteRefused::NoAlert(alert_id)));
    }
    let act = app.store.id(IdKind::Act).await?;
    let step = acts::record(act, operator, NOTE, &format!("alert {alert_id}"), note, app.now());
    let _ = app.store.apply(app.store.unit(alert_id).await?.step(step)).await?;
    Ok(Ok(()))
}
