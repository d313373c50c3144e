//! Posting an alarm to the operator's own webhook: the work of a job.

use crate::app::App;
use crate::domain::time::Span;
use crate::ops::{JobEnd, OpError};

/// An alarm that nobody took within a day is old.
const GIVEN_UP_AFTER: Span = Span::hours(24);
const PAUSE: Span = Span::seconds(2);
const PAUSE_MAX: Span = Span::minutes(10);

/// Posts an alarm once. `tries` counts the posts before this one.
pub async fn post_alarm(app: &App, notice_id: i64, tries: i64) -> Result<JobEnd, OpError> {
    let Some(hook) = &app.hook else { return Ok(JobEnd::Done) };
    let Some(notice) = app.store.notice(notice_id).await? else { return Ok(JobEnd::Done) };
    let now = app.now();
    if now >= notice.at + GIVEN_UP_AFTER {
        tracing::error!(
            notice = notice_id,
            "an alarm was not taken by notify.webhook_url within a day and is given up"
        );
        return Ok(JobEnd::Done);
    }
    let text = format!("{}: {}\n{}", notice.kind.title(), notice.body, notice.kind.advice());
    let posted = hook.post(&text).await;
    if posted.status.is_some_and(|status| (200..300).contains(&status)) {
        return Ok(JobEnd::Done);
    }
    let why = match (posted.status, posted.error) {
        (Some(status), _) => format!("notify.webhook_url answered {status}"),
        (None, Some(error)) => format!("notify.webhook_url: {error}"),
        (None, None) => "notify.webhook_url did not answer".to_owned(),
    };
    tracing::warn!(
        notice = notice_id,
        why,
        "an alarm was not taken by the operator's webhook; it is posted again"
    );
    Ok(JobEnd::Later { at: now + pause_after(tries), why })
}

/// Doubled after each try, up to the longest.
pub(super) fn pause_after(tries: i64) -> Span {
    PAUSE.doubled(tries, PAUSE_MAX)
}
