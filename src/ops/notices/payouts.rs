//! What members of a business are told of its payouts, in the Unit of what happens. Of payout accounts all owners hear,
//! whatever the business has switched off: it is how they notice that somebody else sits at an owner's desk.

use super::mails;
use super::tell::{Telling, text};
use crate::app::App;
use crate::domain::notice::NoticeKind;
use crate::domain::payout::Payout;
use crate::domain::user::{MemberRight, MemberRole};
use crate::ops::OpError;
use crate::store::tables::notices::{self, Notice};
use crate::store::tables::users::Member;
use crate::store::{IdKind, Step};

/// Members who are told of a payout, and owners who are told of an account: more than any business has.
const RECIPIENTS_MAX: usize = 20;
const OWNERS_MAX: usize = 200;
const PAGE: &str = "/dashboard/payouts";
const ACCOUNT_SUBJECT: &str = "A payout account has changed";
const WHY: &str =
    "You get this as a member of this business. Its settings in the dashboard switch these mails off.";
const ACCOUNT_WHY: &str = "You get this as an owner of this business. It cannot be switched off.";

/// The steps that tell those who may ask for payouts that one has changed.
pub(in crate::ops) async fn payout_changed(
    app: &App,
    payout: &Payout,
    body: &str,
) -> Result<Vec<Step>, OpError> {
    let kind = NoticeKind::PayoutChanged;
    if app.store.notices_off(payout.business_id).await?.contains(&kind) {
        return Ok(Vec::new());
    }
    let may_ask = |member: &Member| member.role.may(MemberRight::AskPayout) && member.has_begun;
    let to = emails(app, payout.business_id, may_ask, RECIPIENTS_MAX).await?;
    let cause = format!("payout {}", payout.id);
    told(app, (payout.business_id, kind.title()), &cause, body, (&to, WHY)).await
}

/// The steps that tell all owners that an account was added or removed.
pub(in crate::ops) async fn account_changed(
    app: &App,
    business_id: i64,
    body: &str,
) -> Result<Vec<Step>, OpError> {
    // Also one who was invited and has not answered yet, or whose password is being reset at this moment.
    let is_owner = |member: &Member| member.role == MemberRole::Owner;
    let to = emails(app, business_id, is_owner, OWNERS_MAX).await?;
    let body = format!(
        "{body} If no owner did this, remove the account or add it again, cancel payouts that go to it, and set a new \
         password."
    );
    told(app, (business_id, ACCOUNT_SUBJECT), "payout accounts", &body, (&to, ACCOUNT_WHY)).await
}

async fn emails(
    app: &App,
    business_id: i64,
    is_told: impl Fn(&Member) -> bool,
    most: usize,
) -> Result<Vec<String>, OpError> {
    let members = app.store.members(business_id).await?.into_iter();
    let told = members.filter(|member| is_told(member) && !member.is_disabled);
    Ok(told.map(|member| member.email).take(most).collect())
}

async fn told(
    app: &App,
    (business_id, subject): (i64, &str),
    cause: &str,
    body: &str,
    (to, why): (&[String], &str),
) -> Result<Vec<Step>, OpError> {
    let kind = NoticeKind::PayoutChanged;
    let notice = Notice {
        id: app.store.id(IdKind::Notice).await?,
        business_id: Some(business_id),
        kind,
        cause: cause.to_owned(),
        body: body.to_owned(),
        at: app.now(),
    };
    let page = format!("{PAGE}?business={business_id}");
    let telling = Telling {
        business_id: Some(business_id),
        kind,
        cause,
        body,
        page: &page,
        to,
        why,
        is_posted: false,
        is_once: false,
    };
    let mut steps = vec![notices::add(&notice)];
    for one in to {
        steps.extend(mails::text_mail(app, one, subject, &text(app, &telling)).await?);
    }
    Ok(steps)
}
