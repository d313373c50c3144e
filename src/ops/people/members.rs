//! The members of a business: who they are, another role, and an end. Inviting one is `invite`'s.

use crate::app::App;
use crate::domain::user::MemberRole;
use crate::ops::OpError;
pub use crate::store::tables::users::Member;
use crate::store::tables::{acts, sessions, users};
use crate::store::{IdKind, Step};

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemberRefusal {
    #[error("user {0} is no member of this business")]
    Unknown(i64),
    #[error("{0} is the only owner who has signed in; make somebody else an owner first")]
    LastOwner(String),
    #[error("the member has just changed; look again")]
    Changed,
}

pub async fn members(app: &App, business_id: i64) -> Result<Vec<Member>, OpError> {
    Ok(app.store.members(business_id).await?)
}

/// Gives a member another role; his sessions end, so that what they may do is what he sees.
pub async fn set_role(
    app: &App,
    operator: &str,
    (business_id, user_id): (i64, i64),
    role: MemberRole,
) -> Result<Result<(), MemberRefusal>, OpError> {
    change(app, operator, (business_id, user_id), Some(role)).await
}

/// Ends a membership; the user stays, without this business.
pub async fn remove_member(
    app: &App,
    operator: &str,
    business_id: i64,
    user_id: i64,
) -> Result<Result<(), MemberRefusal>, OpError> {
    change(app, operator, (business_id, user_id), None).await
}

async fn change(
    app: &App,
    operator: &str,
    (business_id, user_id): (i64, i64),
    role: Option<MemberRole>,
) -> Result<Result<(), MemberRefusal>, OpError> {
    let members = app.store.members(business_id).await?;
    let Some(member) = members.iter().find(|member| member.user_id == user_id) else {
        return Ok(Err(MemberRefusal::Unknown(user_id)));
    };
    if role == Some(member.role) {
        return Ok(Ok(()));
    }
    let is_owner = |one: &&Member| one.role == MemberRole::Owner && !one.is_disabled && one.has_begun;
    let other = members.iter().filter(is_owner).find(|one| one.user_id != user_id);
    let stays = match (member.role, other) {
        (MemberRole::Owner, None) => return Ok(Err(MemberRefusal::LastOwner(member.email.clone()))),
        // Of two owners who end each other at one moment one stays.
        (MemberRole::Owner, Some(other)) => Some(users::still_owner(business_id, other.user_id)),
        _ => None,
    };
    // What somebody may do elsewhere is nobody's business here: his sessions see the change, and go on.
    let is_staff = app.store.user(user_id).await?.is_some_and(|user| user.staff.is_some());
    let is_here_alone = !is_staff && app.store.memberships(user_id).await?.len() == 1;
    let step: Step = match role {
        Some(role) => users::set_member(business_id, user_id, (member.role, role)),
        None => users::remove_member(business_id, user_id, member.role),
    };
    let now = app.now();
    let (act, what) = match role {
        Some(role) => (
            "member role",
            format!("{}: {} instead of {}", member.email, role.as_str(), member.role.as_str()),
        ),
        None => ("member remove", member.email.clone()),
    };
    let act_id = app.store.id(IdKind::Act).await?;
    let subject = format!("user {user_id}");
    let unit = app
        .store
        .unit(business_id)
        .await?
        .step(step)
        .steps(stays)
        .steps(is_here_alone.then(|| sessions::end_all(user_id, now)))
        .step(acts::record_of(business_id, act_id, operator, act, &subject, &what, now));
    Ok(if app.store.apply(unit).await?.is_done() { Ok(()) } else { Err(MemberRefusal::Changed) })
}
