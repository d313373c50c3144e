//! Inviting somebody into a business, by a member of it.
//!
//! Where mails are sent, the link goes to the address itself, and whoever opens it has the address. Where none are, the
//! inviter hands it on, and nothing proves whose the address is: such a user belongs to this business alone. Else an owner
//! could open an account under another's address, keep its password, and wait until somebody gives the address a place.

use super::tries;
use super::users::{
    Added, Place, Proof, UserRefusal, add_new, begun_anew, drop_factors, invited, membership, noted,
};
use crate::app::App;
use crate::domain::user::{MemberRole, normal_email};
use crate::ops::notices::mails::{are_sent, text_mail};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::sessions;
use crate::store::tables::users::{self, UserRow};

/// Members of one business: what a list shows.
const MEMBERS_MAX: usize = 500;

/// Adds a member. The link is answered where no mails are sent; else it goes to the address.
pub async fn invite_member(
    app: &App,
    operator: &str,
    business_id: i64,
    email: &str,
    role: MemberRole,
) -> Result<Result<Added, UserRefusal>, OpError> {
    let Some(email) = normal_email(email) else { return Ok(Err(UserRefusal::Email(email.to_owned()))) };
    let Some(business) = app.store.business(business_id).await? else {
        return Ok(Err(UserRefusal::UnknownBusiness(business_id)));
    };
    if app.store.members(business_id).await?.len() >= MEMBERS_MAX {
        return Ok(Err(UserRefusal::TooMany));
    }
    // Each may be a mail to a stranger.
    if are_sent(app) {
        let of = format!("invitations of business {business_id}");
        if let Err(many) = tries::begin(app, &of, &of).await? {
            return Ok(Err(UserRefusal::Often(many.seconds)));
        }
    }
    // Of one that nobody has looked at, the name could be anything that a stranger wants to have sent.
    let name = if business.waits() { "a new business" } else { &business.name };
    let place = Place::Member(business_id, role);
    for _ in 0..RACES_MAX {
        let Some(user) = app.store.user_by_email(&email).await? else {
            let proof = if are_sent(app) { Proof::Mail(name) } else { Proof::Nothing };
            match add_new(app, operator, (&email, proof), place, None).await? {
                Some(answer) => {
                    app.wake_workers();
                    return Ok(answer);
                }
                None => continue,
            }
        };
        if user.disabled_at.is_some() {
            return Ok(Err(UserRefusal::Disabled(user.id)));
        }
        let memberships = app.store.memberships(user.id).await?;
        if let Some(one) = memberships.iter().find(|one| one.business_id == business_id) {
            let place = Place::Member(business_id, one.role).in_words();
            return Ok(Err(UserRefusal::Already { email, place }));
        }
        if !user.is_vouched && memberships.is_empty() && user.staff.is_none() {
            // Nobody's: an invitation that was lost, or a member who was removed.
            match invite_anew(app, operator, &user, place, name).await? {
                Some(added) => return Ok(Ok(added)),
                None => continue,
            }
        }
        if !user.is_vouched {
            return Ok(Err(UserRefusal::Unproven(email)));
        }
        // What he may do elsewhere stays as it is, and so do his sessions.
        let text = format!("You are a member of {name} now. Sign in at {}/sign-in.\n", app.public_url());
        let unit = app.store.unit(user.id).await?.step(users::unchanged(&user));
        let unit = unit
            .steps(membership(place, &user, app))
            .step(noted(app, operator, "user add", &user, place).await?);
        let unit = unit.steps(text_mail(app, &email, "You were invited", &text).await?);
        if app.store.apply(unit).await?.is_done() {
            app.wake_workers();
            return Ok(Ok(Added { user, link: None }));
        }
    }
    Err(OpError::Contended)
}

/// A new beginning for an account that belongs nowhere. `None`: the user changed at this moment.
async fn invite_anew(
    app: &App,
    operator: &str,
    user: &UserRow,
    place: Place,
    business: &str,
) -> Result<Option<Added>, OpError> {
    let now = app.now();
    let proof = if are_sent(app) { Proof::Mail(business) } else { Proof::Nothing };
    let after = UserRow { is_vouched: are_sent(app), ..begun_anew(user) };
    let (link, steps) = invited(app, &after, proof).await?;
    let unit = app
        .store
        .unit(user.id)
        .await?
        .step(users::set(user, &after, now))
        .step(users::end_links(user.id, now))
        .steps(drop_factors(user.id))
        .step(sessions::end_all(user.id, now))
        .steps(steps)
        .steps(membership(place, &after, app))
        .step(noted(app, operator, "user add", &after, place).await?);
    if !app.store.apply(unit).await?.is_done() {
        return Ok(None);
    }
    app.wake_workers();
    Ok(Some(Added { user: after, link }))
}
