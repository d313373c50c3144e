//! Alarms: what an operator must hear of though nobody looks at the screen. Counted in the metrics, kept for the desk, and
//! sent, unless the operator switched that off.

use super::tell::{Telling, steps, tell};
use crate::app::App;
use crate::domain::notice::NoticeKind;
use crate::domain::time::{Span, Timestamp};
use crate::log_limit::warn_of;
use crate::ops::OpError;
use crate::store::Step;
pub use crate::store::tables::notices::Notice;

/// Alarms of one kind that are sent within [`FLOOD`]; those beyond are at the desk alone.
const SENT_MAX: i64 = 20;
const FLOOD: Span = Span::hours(1);
/// Alarms that the desk lists.
const LISTED_MAX: usize = 100;

const WHY: &str = "You get this because notify.operators of your gateway's configuration names you; notify.off switches kinds \
                   off. One cause is told at most once an hour.";
const LAST_OF_FLOOD: &str =
    "There are many alarms of this kind. Further ones of this hour are not sent: look at the desk.";

/// Raises an alarm about a cause such as `alert 57`. That it cannot be kept stops nobody: the log has it.
/// `body`: what happened, in sentences; `page`: where it is to be seen.
pub async fn raise(app: &App, kind: NoticeKind, cause: &str, body: &str, page: &str) {
    count(kind);
    note(app, kind, cause, body, page).await;
}

/// The same of an alarm that was counted where it was seen.
pub async fn note(app: &App, kind: NoticeKind, cause: &str, body: &str, page: &str) {
    if let Err(error) = keep(app, kind, cause, body, page).await {
        warn_of!(app, &error, { kind = kind.as_str(), }, "an alarm could not be kept and is sent to nobody; the log has it");
    }
}

async fn keep(app: &App, kind: NoticeKind, cause: &str, body: &str, page: &str) -> Result<(), OpError> {
    let (told, is_sent) = as_sent(app, kind, body).await?;
    tell(app, &telling(app, kind, cause, (&told, page), is_sent)).await.map(drop)
}

/// The steps that tell operators of what happens in this very Unit, and happens once. It is counted by whoever applies them.
pub(in crate::ops) async fn told_with(
    app: &App,
    kind: NoticeKind,
    cause: &str,
    body: &str,
    page: &str,
) -> Result<Vec<Step>, OpError> {
    let (told, is_sent) = as_sent(app, kind, body).await?;
    steps(app, &telling(app, kind, cause, (&told, page), is_sent)).await
}

/// One more of this kind, in the metrics.
pub(in crate::ops) fn count(kind: NoticeKind) {
    metrics::counter!("tillbell_alarms_total", "kind" => kind.as_str()).increment(1);
}

/// What is told of an alarm, and whether it is sent.
async fn as_sent(app: &App, kind: NoticeKind, body: &str) -> Result<(String, bool), OpError> {
    let lately = app.store.alarms_lately(kind, app.now() - FLOOD, SENT_MAX).await?;
    let told = match lately + 1 == SENT_MAX {
        true => format!("{body}\n\n{LAST_OF_FLOOD}"),
        false => body.to_owned(),
    };
    Ok((told, lately < SENT_MAX && !app.config.notify.off.contains(&kind)))
}

fn telling<'a>(
    app: &'a App,
    kind: NoticeKind,
    cause: &'a str,
    (body, page): (&'a str, &'a str),
    is_sent: bool,
) -> Telling<'a> {
    let notify = &app.config.notify;
    Telling {
        business_id: None,
        kind,
        cause,
        body,
        page,
        to: if is_sent { &notify.operators } else { &[] },
        why: WHY,
        is_posted: is_sent && notify.webhook_url.is_some(),
        is_once: false,
    }
}

/// Alarms since a time, newest first.
pub async fn alarms_since(app: &App, since: Timestamp) -> Result<Vec<Notice>, OpError> {
    Ok(app.store.alarms_since(since, LISTED_MAX).await?)
}
