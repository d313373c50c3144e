//! Seals older values anew under the newest key, a few rows at a time, while nodes serve.
//!
//! Several nodes may do this at once: each step moves the place of the pass in the Unit that replaces the values, so of two
//! that take one step one is lost. A value that was changed meanwhile is not touched. The second pass, a week later, finds what a node
//! wrote that stood still over the change; then the older keys go.

use super::standing;
use crate::app::App;
use crate::app::keys::read_keys;
use crate::crash;
use crate::domain::time::Span;
use crate::ops::OpError;
use crate::store::tables::data_keys::{self, DataKeyRow};
use crate::store::tables::sealed::{SEALED, SealedTable};
use crate::store::{Applied, Step};

/// Rows in one step.
const ROWS: usize = 200;
/// Between the passes: no node stands still for longer and goes on.
pub const SECOND_PASS_AFTER: Span = Span::days(7);

/// How a step went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is under an older key, or the next pass is not due.
    Idle,
    /// The newest key does not seal yet.
    Waits,
    /// Rows were looked at; there may be more.
    Went { table: &'static str, looked_at: usize },
    /// A pass has come to its end.
    Ended(DataKeyRow),
}

/// One step of what is to be done.
pub async fn step(app: &App) -> Result<Progress, OpError> {
    let Some(standing) = standing(app).await? else { return Ok(Progress::Idle) };
    let (newest, now) = (standing.newest, app.now());
    match newest.pass_ended {
        Some(_) if newest.pass == 2 => {
            if standing.sealing_keys > 1 {
                forget_older(app, &newest).await?;
            }
            return Ok(Progress::Idle);
        }
        Some(ended) if now < ended + SECOND_PASS_AFTER => return Ok(Progress::Idle),
        Some(_) => {
            let again = DataKeyRow {
                pass: 2,
                target: String::new(),
                after_id: 0,
                pass_ended: None,
                ..newest.clone()
            };
            let unit = app.store.unit(0).await?.step(data_keys::at(&newest, &again));
            let _ = app.store.apply(unit).await?.is_done();
            return Ok(Progress::Waits);
        }
        None => {}
    }
    if app.vault.sealing() != newest.id {
        read_keys(app).await?;
        if app.vault.sealing() != newest.id {
            return Ok(Progress::Waits);
        }
    }
    let at = SEALED.iter().position(|table| table.table == newest.target).unwrap_or(0);
    let mut after = DataKeyRow { target: SEALED[at].table.to_owned(), ..newest.clone() };
    let (mut steps, looked_at) = resealed(app, &SEALED[at], &mut after).await?;
    if looked_at < ROWS {
        match SEALED.get(at + 1) {
            Some(next) => (after.target, after.after_id) = (next.table.to_owned(), 0),
            None => after.pass_ended = Some(now),
        }
    }
    steps.push(data_keys::at(&newest, &after));
    let unit = app.store.unit(0).await?.steps(steps);
    match app.store.apply(unit).await? {
        Applied::Done(_) => {}
        // Another node took this step.
        Applied::Conflict { .. } => return Ok(Progress::Went { table: SEALED[at].table, looked_at: 0 }),
        Applied::ConstraintViolation { statement } => {
            return Err(OpError::Fault(format!("values could not be sealed anew: {statement}")));
        }
    }
    crash::point("reseal.step");
    if after.pass_ended.is_none() {
        return Ok(Progress::Went { table: SEALED[at].table, looked_at });
    }
    tracing::info!(
        key = after.id,
        pass = after.pass,
        values = after.resealed,
        "values are sealed under the newest key"
    );
    Ok(Progress::Ended(after))
}

/// What replaces the values of the next rows, and how many rows these are.
async fn resealed(
    app: &App,
    table: &SealedTable,
    after: &mut DataKeyRow,
) -> Result<(Vec<Step>, usize), OpError> {
    let rows = app.store.sealed_rows(table, after.after_id, ROWS).await?;
    let looked_at = rows.len();
    let (mut steps, mut unreadable) = (Vec::new(), Vec::new());
    for row in rows {
        after.after_id = row.id;
        for (column, sealed) in table.columns.iter().zip(row.values) {
            let Some(sealed) = sealed else { continue };
            let place = table.place(row.id, column);
            match app.vault.reseal(&place, &sealed, app.random.as_ref()) {
                Ok(None) => {}
                Ok(Some(anew)) => {
                    steps.push(column.replace(row.id, sealed, anew));
                    after.resealed += 1;
                }
                // It was nobody's before: the pass must not end at it.
                Err(_) => unreadable.push(place),
            }
        }
    }
    if let Some(first) = unreadable.first() {
        let values = unreadable.len();
        tracing::error!(
            values,
            first,
            "values of these rows cannot be opened with any key, and stay as they are"
        );
    }
    Ok((steps, looked_at))
}

async fn forget_older(app: &App, newest: &DataKeyRow) -> Result<(), OpError> {
    let unit =
        app.store.unit(0).await?.step(data_keys::moved(newest)).steps(data_keys::remove_older(newest.id));
    if app.store.apply(unit).await?.is_done() {
        tracing::info!(key = newest.id, "the keys before it are forgotten");
    }
    Ok(())
}
