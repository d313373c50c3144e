//! What members of a business are told: webhooks that have not arrived for a quarter of an hour, and keys that will expire.
//! Owners and developers hear of both. Looked for by the clock, by way of indexes that hold nothing else.

use super::tell::{Telling, tell};
use crate::app::App;
use crate::domain::merchant::Mode;
use crate::domain::message::lagos_time;
use crate::domain::notice::NoticeKind;
use crate::domain::time::{Span, Timestamp};
use crate::domain::user::MemberRight;
use crate::ops::OpError;
use crate::store::Step;
use crate::store::tables::notices::{self, TROUBLED_MAX};

/// Webhooks that did not arrive for so long are told of.
const FAILING_AFTER: Span = Span::minutes(15);
/// A key that expires within these is told of, once for each.
const EXPIRING: [(Span, &str); 2] = [(Span::days(7), "week"), (Span::days(1), "day")];
/// Members who get one notice.
const RECIPIENTS_MAX: usize = 20;

const WHY: &str =
    "You get this as a member of this business. Its settings in the dashboard switch these mails off.";

/// Looks for what is to be told. What a business has switched off is not.
pub async fn look(app: &App) -> Result<(), OpError> {
    look_at_webhooks(app).await?;
    look_at_keys(app).await
}

async fn look_at_webhooks(app: &App) -> Result<(), OpError> {
    let mut behind = 0;
    loop {
        let troubled = app.store.troubled_businesses(behind).await?;
        for id in &troubled {
            if let Some((count, since)) = not_arrived(app, *id).await? {
                tell_of_webhooks(app, *id, count, since).await?;
            }
        }
        match troubled.last() {
            Some(last) if troubled.len() == TROUBLED_MAX => behind = *last,
            _ => return Ok(()),
        }
    }
}

/// How many webhooks of a business wait though they were tried or put aside, and since when the oldest of them, if that is
/// long enough.
async fn not_arrived(app: &App, business_id: i64) -> Result<Option<(i64, Timestamp)>, OpError> {
    let trouble = app.store.deliveries_in_trouble(business_id, Mode::Live).await?;
    let oldest = [trouble.retried.oldest, trouble.paused.oldest].into_iter().flatten().min();
    let is_long = oldest.filter(|oldest| app.now() >= *oldest + FAILING_AFTER);
    Ok(is_long.map(|since| (trouble.retried.count + trouble.paused.count, since)))
}

async fn tell_of_webhooks(app: &App, business_id: i64, count: i64, since: Timestamp) -> Result<(), OpError> {
    let Some(name) = business_name(app, business_id).await? else { return Ok(()) };
    let number = if count == 1 { "1 webhook has".to_owned() } else { format!("{count} webhooks have") };
    let body = format!("{number} not reached the server of {name}; the oldest since {}.", lagos_time(since));
    let page = format!("/dashboard/webhooks?business={business_id}");
    tell_members(app, business_id, NoticeKind::WebhooksFailing, "webhooks", &body, &page).await
}

async fn look_at_keys(app: &App) -> Result<(), OpError> {
    let now = app.now();
    for (within, word) in EXPIRING {
        for key in app.store.keys_expiring(now, now + within).await? {
            let Some(name) = business_name(app, key.business_id).await? else { continue };
            let (label, at) =
                (if key.label.is_empty() { "without a label" } else { &key.label }, key.expires_at);
            let body = format!("The API key {} ({label}) of {name} expires on {}.", key.hint, lagos_time(at));
            let page = format!("/dashboard/keys?business={}", key.business_id);
            let cause = format!("key {} {word}", key.id);
            tell_members(app, key.business_id, NoticeKind::KeyExpiring, &cause, &body, &page).await?;
        }
    }
    Ok(())
}

async fn business_name(app: &App, id: i64) -> Result<Option<String>, OpError> {
    Ok(app.store.business(id).await?.filter(|business| business.active).map(|business| business.name))
}

async fn tell_members(
    app: &App,
    business_id: i64,
    kind: NoticeKind,
    cause: &str,
    body: &str,
    page: &str,
) -> Result<(), OpError> {
    if app.store.notices_off(business_id).await?.contains(&kind) {
        return Ok(());
    }
    let members = app.store.members(business_id).await?.into_iter();
    let to: Vec<String> = members
        .filter(|member| member.role.may(MemberRight::Integrate) && member.has_begun && !member.is_disabled)
        .map(|member| member.email)
        .take(RECIPIENTS_MAX)
        .collect();
    let telling = Telling {
        business_id: Some(business_id),
        kind,
        cause,
        body,
        page,
        to: &to,
        why: WHY,
        is_posted: false,
        is_once: kind == NoticeKind::KeyExpiring,
    };
    tell(app, &telling).await.map(drop)
}

/// What a business has switched off.
pub async fn switched_off(app: &App, business_id: i64) -> Result<Vec<NoticeKind>, OpError> {
    Ok(app.store.notices_off(business_id).await?)
}

/// The steps that switch kinds on or off, for the op that sets a business's settings.
pub(in crate::ops) fn switched(business_id: i64, on: &[NoticeKind]) -> Vec<Step> {
    let all = NoticeKind::OF_MERCHANTS.into_iter();
    all.map(|kind| notices::switch(business_id, kind, on.contains(&kind))).collect()
}
