//! Telling one cause: the notice, its mails and its post, in one Unit with the note that it was told.

use super::mails;
use crate::app::App;
use crate::domain::notice::{NoticeKind, next_telling};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::jobs::{self, JobKind};
use crate::store::tables::notices::{self, Notice};
use crate::store::{IdKind, Step};

/// What is to be told, and to whom.
pub(super) struct Telling<'a> {
    /// `None`: it is the operator's.
    pub business_id: Option<i64>,
    pub kind: NoticeKind,
    /// What it is about, such as `alert 57`.
    pub cause: &'a str,
    pub body: &'a str,
    /// The page that shows it, without our address.
    pub page: &'a str,
    /// E-mail addresses.
    pub to: &'a [String],
    /// Why they get it, and how not to.
    pub why: &'a str,
    pub is_posted: bool,
    /// However long it goes on.
    pub is_once: bool,
}

/// Tells a cause, unless it was told lately. Answers whether it was told now.
pub(super) async fn tell(app: &App, telling: &Telling<'_>) -> Result<bool, OpError> {
    let Telling { business_id, kind, cause, .. } = *telling;
    let key = format!("{} {} {cause}", business_id.unwrap_or(0), kind.as_str());
    for _ in 0..RACES_MAX {
        let (now, last) = (app.now(), app.store.cause_told(&key).await?);
        let Some(next) = next_telling(last, now).filter(|_| !(telling.is_once && last.is_some())) else {
            return Ok(false);
        };
        let unit = app.store.unit(business_id.unwrap_or(0)).await?;
        let unit = unit.step(notices::tell_cause(&key, last, next)).steps(steps(app, telling).await?);
        if app.store.apply(unit).await?.is_done() {
            app.wake_workers();
            return Ok(true);
        }
    }
    // Somebody else told it each time.
    Ok(false)
}

/// The notice, its mails and its post.
pub(super) async fn steps(app: &App, telling: &Telling<'_>) -> Result<Vec<Step>, OpError> {
    let (kind, now) = (telling.kind, app.now());
    let notice = Notice {
        id: app.store.id(IdKind::Notice).await?,
        business_id: telling.business_id,
        kind,
        cause: telling.cause.to_owned(),
        body: telling.body.to_owned(),
        at: now,
    };
    let mut steps = vec![notices::add(&notice)];
    for to in telling.to {
        steps.extend(mails::text_mail(app, to, kind.title(), &text(app, telling)).await?);
    }
    if telling.is_posted {
        let job = app.store.id(IdKind::Job).await?;
        steps.push(jobs::enqueue(job, JobKind::Notify, 0, notice.id, now, now));
    }
    Ok(steps)
}

pub(super) fn text(app: &App, telling: &Telling<'_>) -> String {
    let base = app.public_url();
    format!(
        "{}\n\n{}\n\n{base}{}\n\n--\n{}\n",
        telling.body,
        telling.kind.advice(),
        telling.page,
        telling.why
    )
}
