//! What is in trouble just now and needs somebody, for the desk. Each is also an alarm of the log and the metrics; here is
//! what of it still stands. Read only.

use crate::app::App;
use crate::domain::alert::AlertStatus;
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::mailboxes::standings;
use crate::ops::webhooks::deliveries::paused_in_use;

/// A decision that takes longer than this is in trouble: it takes less than a second.
const UNDECIDED_AFTER: Span = Span::minutes(2);
/// Credits whose money may have been taken back that are counted.
const TAKEN_BACK_MAX: usize = 1_000;

/// What is in trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeskAlarm {
    /// So many approved credits may have been taken back, and nobody has dealt with it.
    TakenBack(usize),
    /// The name of a mailbox, and why it is not read.
    MailboxSilent(String, String),
    /// Alerts that nobody can decide about until the program has.
    Undecided(i64),
    /// Businesses whose wallet payments are stopped.
    WrongPins(i64),
    /// Webhook addresses that answered 410 and for which somebody waits.
    Paused(usize),
}

/// The most urgent first.
pub async fn alarms(app: &App) -> Result<Vec<DeskAlarm>, OpError> {
    let mut all = Vec::new();
    let taken_back = app.store.open_alarms(TAKEN_BACK_MAX).await?.len();
    if taken_back > 0 {
        all.push(DeskAlarm::TakenBack(taken_back));
    }
    let totals = app.store.alert_totals().await?;
    let late = app.now() - UNDECIDED_AFTER;
    let undecided = totals.iter().find(|total| total.status == AlertStatus::New && total.oldest < late);
    all.extend(undecided.map(|total| DeskAlarm::Undecided(total.count)));
    for one in standings(app).await?.into_iter().filter(|one| one.is_silent(app)) {
        let was_read = one.row.last_read_at != Timestamp(0);
        let why = one.row.trouble.unwrap_or_else(|| {
            if was_read { "nothing was heard of it for too long" } else { "it was never read" }.to_owned()
        });
        all.push(DeskAlarm::MailboxSilent(one.row.name, why));
    }
    let stopped = app.store.stopped_wallet_businesses().await?;
    if stopped > 0 {
        all.push(DeskAlarm::WrongPins(stopped));
    }
    let paused = paused_in_use(app).await?;
    if paused > 0 {
        all.push(DeskAlarm::Paused(paused));
    }
    Ok(all)
}
