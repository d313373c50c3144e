//! Users: adding one with a link to a first password, listing, disabling, and a reset by an administrator.
//!
//! A link's token is answered once, when it is made; the database keeps its hash.

use zeroize::Zeroizing;

use super::passwords::{NewPassword, hashed};
use crate::app::App;
use crate::domain::user::{
    MemberRole, PasswordProblem, StaffRole, WELCOME_LIFE, check_password, normal_email,
};
use crate::ops::notices::mails::text_mail;
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::users::{self, LinkKind};
pub use crate::store::tables::users::{Member, Membership, UserRow, Which};
use crate::store::tables::{acts, passkeys, sessions};
use crate::store::{Applied, IdKind, Step};
use crate::vault::Vault;
use crate::vault::link::fresh_token;

/// In which zone times are shown until a user chooses another.
pub const TIME_ZONE: &str = "Africa/Lagos";

/// As what somebody is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Staff(StaffRole),
    Member(i64, MemberRole),
}

impl Place {
    pub(super) fn in_words(self) -> String {
        match self {
            Place::Staff(role) => format!("staff, {}", role.as_str()),
            Place::Member(business, role) => format!("{} of business {business}", role.as_str()),
        }
    }
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserRefusal {
    #[error("{0:?} is not an e-mail address")]
    Email(String),
    #[error("there is no business {0}")]
    UnknownBusiness(i64),
    #[error("there is no user {0}")]
    Unknown(i64),
    #[error("{email} is already {place}")]
    Already { email: String, place: String },
    #[error("user {0} is disabled; no password or link of theirs works")]
    Disabled(i64),
    #[error("{0} is a member of another business, and nothing proves the address; ask the operator")]
    Unproven(String),
    #[error("the business has too many members; remove some first")]
    TooMany,
    #[error("many people were invited just now; try again in {0} seconds")]
    Often(i64),
    #[error("{0} has a password already; it was not changed, because they alone may change it")]
    HasPassword(String),
    #[error(transparent)]
    Password(#[from] PasswordProblem),
    #[error("too many passwords are being checked at this moment; try again")]
    Crowded,
    #[error("user {0} has just changed; look again")]
    Changed(i64),
}

/// Somebody who was added, and the link to a first password: none where there is one already.
#[derive(Debug)]
pub struct Added {
    pub user: UserRow,
    pub link: Option<Zeroizing<String>>,
}

/// The address of the page behind a link's token.
pub fn link_address(app: &App, token: &str) -> Zeroizing<String> {
    Zeroizing::new(format!("{}/welcome/{token}", app.public_url()))
}

/// Adds somebody, or gives a user who is there another place. `password`: set at once, instead of a link.
pub async fn add_user(
    app: &App,
    operator: &str,
    email: &str,
    place: Place,
    password: Option<&str>,
) -> Result<Result<Added, UserRefusal>, OpError> {
    let Some(email) = normal_email(email) else { return Ok(Err(UserRefusal::Email(email.to_owned()))) };
    if let Place::Member(business, _) = place
        && app.store.business(business).await?.is_none()
    {
        return Ok(Err(UserRefusal::UnknownBusiness(business)));
    }
    if let Some(Err(problem)) = password.map(|password| check_password(password, &email)) {
        return Ok(Err(problem.into()));
    }
    for _ in 0..RACES_MAX {
        let known = app.store.user_by_email(&email).await?;
        let password = match (password, known.as_ref().and_then(|user| user.password.as_ref())) {
            (Some(_), Some(_)) => return Ok(Err(UserRefusal::HasPassword(email))),
            (Some(password), None) => match hashed(app, password).await? {
                NewPassword::Made(hash) => Some(hash),
                NewPassword::Crowded => return Ok(Err(UserRefusal::Crowded)),
            },
            (None, _) => None,
        };
        let done = match known {
            Some(user) => give_place(app, operator, user, place, password).await?,
            None => add_new(app, operator, (&email, Proof::Operator), place, password).await?,
        };
        if let Some(answer) = done {
            return Ok(answer);
        }
    }
    Err(OpError::Contended)
}

/// What proves that an address is that of the person who gets the link to it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Proof<'a> {
    /// The operator says so.
    Operator,
    /// The link goes there by mail, to somebody who was invited to this business.
    Mail(&'a str),
    /// Nothing but a member's word.
    Nothing,
}

/// `None`: somebody of this address was added at the same moment.
pub(super) async fn add_new(
    app: &App,
    operator: &str,
    (email, proof): (&str, Proof<'_>),
    place: Place,
    password: Option<Vec<u8>>,
) -> Result<Option<Result<Added, UserRefusal>>, OpError> {
    let now = app.now();
    let staff = match place {
        Place::Staff(role) => Some(role),
        Place::Member(..) => None,
    };
    let user = UserRow {
        id: app.store.id(IdKind::User).await?,
        email: email.to_owned(),
        password,
        staff,
        totp: None,
        totp_begun: None,
        totp_step: 0,
        time_zone: TIME_ZONE.to_owned(),
        disabled_at: None,
        created_at: now,
        version: 1,
        is_vouched: !matches!(proof, Proof::Nothing),
    };
    let (link, steps) = invited(app, &user, proof).await?;
    let unit = app.store.unit(user.id).await?.step(users::add(&user)).steps(steps);
    let unit =
        unit.steps(membership(place, &user, app)).step(noted(app, operator, "user add", &user, place).await?);
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => Some(Ok(Added { user, link })),
        _ => None,
    })
}

/// A link for whoever has no password yet; answered, unless it goes to the address by mail.
pub(super) async fn invited(
    app: &App,
    user: &UserRow,
    proof: Proof<'_>,
) -> Result<(Option<Zeroizing<String>>, Vec<Step>), OpError> {
    let (link, step) = welcome(app, user);
    let mut steps: Vec<Step> = step.into_iter().collect();
    let (Proof::Mail(business), Some(address)) = (proof, &link) else { return Ok((link, steps)) };
    let text = Zeroizing::new(format!(
        "You were invited to {business}. This link lets you choose a password; it works once, for 72 hours:\n\n{}\n",
        address.as_str()
    ));
    steps.extend(text_mail(app, &user.email, "You were invited", &text).await?);
    Ok((None, steps))
}

/// `None`: the user changed at the same moment.
async fn give_place(
    app: &App,
    operator: &str,
    user: UserRow,
    place: Place,
    password: Option<Vec<u8>>,
) -> Result<Option<Result<Added, UserRefusal>>, OpError> {
    if user.disabled_at.is_some() {
        return Ok(Some(Err(UserRefusal::Disabled(user.id))));
    }
    let already = match place {
        Place::Staff(_) => user.staff.map(Place::Staff),
        Place::Member(business, _) => {
            let memberships = app.store.memberships(user.id).await?;
            let one = memberships.into_iter().find(|one| one.business_id == business);
            one.map(|one| Place::Member(business, one.role))
        }
    };
    if let Some(already) = already {
        return Ok(Some(Err(UserRefusal::Already { email: user.email, place: already.in_words() })));
    }
    let staff = match place {
        Place::Staff(role) => Some(role),
        Place::Member(..) => user.staff,
    };
    // Whoever opened the account of an address that nothing vouches for may be anybody: a new beginning.
    let known = if user.is_vouched { user.clone() } else { begun_anew(&user) };
    let password = password.or_else(|| known.password.clone());
    let after = UserRow { staff, password, is_vouched: true, ..known };
    let (link, steps) = welcome(app, &after);
    // What a session may do has changed: its holder signs in again.
    let mut unit = app.store.unit(user.id).await?.step(users::set(&user, &after, app.now())).steps(steps);
    if !user.is_vouched {
        unit = unit.step(users::end_links(user.id, app.now())).steps(drop_factors(user.id));
    }
    let unit = unit.step(sessions::end_all(user.id, app.now())).steps(membership(place, &after, app));
    let unit = unit.step(noted(app, operator, "user add", &after, place).await?);
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => Some(Ok(Added { user: after, link })),
        _ => None,
    })
}

/// Without password and second factor; what is not in the user's row goes by [`drop_factors`].
pub(super) fn begun_anew(user: &UserRow) -> UserRow {
    UserRow { password: None, totp: None, totp_begun: None, ..user.clone() }
}

/// Recovery codes and passkeys.
pub(super) fn drop_factors(user_id: i64) -> [Step; 2] {
    [users::drop_codes(user_id), passkeys::drop_all(user_id)]
}

pub(super) fn membership(place: Place, user: &UserRow, app: &App) -> Option<Step> {
    match place {
        Place::Staff(_) => None,
        Place::Member(business, role) => Some(users::add_member(business, user.id, role, app.now())),
    }
}

/// A link for whoever has no password yet.
fn welcome(app: &App, user: &UserRow) -> Link {
    if user.password.is_some() {
        return (None, None);
    }
    let token = fresh_token(app.random.as_ref());
    let hash = Vault::token_hash(&token);
    let step = users::add_link(hash, user.id, LinkKind::Welcome, app.now() + WELCOME_LIFE);
    (Some(link_address(app, &token)), Some(step))
}

pub(super) async fn noted(
    app: &App,
    operator: &str,
    act: &str,
    user: &UserRow,
    place: Place,
) -> Result<Step, OpError> {
    let business = match place {
        Place::Staff(_) => None,
        Place::Member(business, _) => Some(business),
    };
    let id = app.store.id(IdKind::Act).await?;
    let (subject, what) = (format!("user {}", user.id), format!("{}: {}", user.email, place.in_words()));
    Ok(acts::record_of(business, id, operator, act, &subject, &what, app.now()))
}

/// A user with the businesses he is a member of.
#[derive(Clone, Debug)]
pub struct Listed {
    pub user: UserRow,
    pub memberships: Vec<Membership>,
}

/// Some users, in the order in which they were added.
#[derive(Clone, Debug)]
pub struct UserPage {
    pub rows: Vec<Listed>,
    /// The next page begins behind this id; `None`: there are no more.
    pub after: Option<i64>,
}

/// At most `limit` users, of those behind an id.
pub async fn browse_users(
    app: &App,
    which: Which,
    after: Option<i64>,
    limit: usize,
) -> Result<UserPage, OpError> {
    let mut users = app.store.users(which, after.unwrap_or(0), limit + 1).await?;
    let more = users.len() > limit;
    users.truncate(limit);
    Ok(UserPage {
        after: users.last().filter(|_| more).map(|last| last.id),
        rows: with_places(app, users).await?,
    })
}

/// The user with an e-mail address, as a list shows him.
pub async fn find_user(app: &App, email: &str) -> Result<Vec<Listed>, OpError> {
    let Some(email) = normal_email(email) else { return Ok(Vec::new()) };
    with_places(app, app.store.user_by_email(&email).await?.into_iter().collect()).await
}

/// Users in the order of their ids, each with the businesses he is a member of.
async fn with_places(app: &App, users: Vec<UserRow>) -> Result<Vec<Listed>, OpError> {
    let (Some(first), Some(last)) = (users.first(), users.last()) else { return Ok(Vec::new()) };
    let places = app.store.memberships_of(first.id, last.id).await?;
    let mut listed = Vec::with_capacity(users.len());
    for user in users {
        let memberships = match &places {
            Some(places) => {
                places.iter().filter(|(whose, _)| *whose == user.id).map(|(_, place)| place.clone()).collect()
            }
            None => app.store.memberships(user.id).await?,
        };
        listed.push(Listed { user, memberships });
    }
    Ok(listed)
}

/// Ends a user: no password, link or session of his works from now on. Disabling a disabled one changes nothing.
pub async fn disable_user(
    app: &App,
    operator: &str,
    id: i64,
) -> Result<Result<UserRow, UserRefusal>, OpError> {
    change(app, operator, id, "user disable", |user| {
        let disabled_at = user.disabled_at.or(Some(app.now()));
        (UserRow { disabled_at, ..user.clone() }, (None, None))
    })
    .await
    .map(|changed| changed.map(|(user, _)| user))
}

/// A new beginning for somebody who cannot sign in, or whose password others know: the password, the second factor and passkeys go,
/// all sessions end, and a link leads to a new password.
pub async fn reset_user(app: &App, operator: &str, id: i64) -> Result<Result<Added, UserRefusal>, OpError> {
    if app.store.user(id).await?.is_some_and(|user| user.disabled_at.is_some()) {
        return Ok(Err(UserRefusal::Disabled(id)));
    }
    let changed = change(app, operator, id, "user reset", |user| {
        let after = UserRow { is_vouched: true, ..begun_anew(user) };
        let link = welcome(app, &after);
        (after, link)
    });
    Ok(changed.await?.map(|(user, link)| Added { user, link }))
}

/// The address of a link, and the step that adds it.
type Link = (Option<Zeroizing<String>>, Option<Step>);

/// Changes a user so that every session and link of before ends.
async fn change(
    app: &App,
    operator: &str,
    id: i64,
    act: &str,
    to: impl Fn(&UserRow) -> (UserRow, Link),
) -> Result<Result<(UserRow, Option<Zeroizing<String>>), UserRefusal>, OpError> {
    for _ in 0..RACES_MAX {
        let Some(user) = app.store.user(id).await? else { return Ok(Err(UserRefusal::Unknown(id))) };
        let now = app.now();
        let (after, (link, step)) = to(&user);
        let act_id = app.store.id(IdKind::Act).await?;
        let mut unit = app
            .store
            .unit(id)
            .await?
            .step(users::set(&user, &after, now))
            .step(users::end_links(id, now))
            .step(sessions::end_all(id, now))
            .steps(step)
            .step(acts::record(act_id, operator, act, &format!("user {id}"), &user.email, now));
        if after.password.is_none() {
            unit = unit.steps(drop_factors(id));
        }
        if app.store.apply(unit).await?.is_done() {
            return Ok(Ok((after, link)));
        }
    }
    Ok(Err(UserRefusal::Changed(id)))
}
