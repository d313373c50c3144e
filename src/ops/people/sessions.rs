//! Sessions of people who have signed in: whose a token is, signing out, and what a user sees of his sessions.
//!
//! A session is read at every request, with its user, so that an end, a role taken away and a disabled user count at
//! once on every node. Its token is in the cookie alone; here is its hash.

use zeroize::Zeroizing;

use super::tries::Try;
use crate::app::App;
use crate::domain::time::{Span, Timestamp};
use crate::domain::user::{
    CHECK_LIFE, CODE_STAGE, MemberRight, MemberRole, SESSION_IDLE, SESSION_LIFE, StaffRight, StaffRole,
};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::acts;
pub use crate::store::tables::sessions::OpenSession;
use crate::store::tables::sessions::{self, SessionRow, Stage};
pub use crate::store::tables::users::Membership;
use crate::store::tables::users::{self, UserRow};
use crate::store::{IdKind, Step, Unit};
use crate::vault::Vault;
use crate::vault::link::fresh_token;

/// A session's use is noted at most so often.
const NOTE_EVERY: Span = Span::minutes(1);
/// So long after it, a form may be filled with what was typed before the password was asked for.
const JUST_CHECKED: Span = Span::minutes(2);
/// Clocks of several nodes differ by less.
const CLOCKS_APART: Span = Span::minutes(5);
/// Names of time zones are short.
const ZONE_MAX: usize = 64;

/// A token that was just made, for the cookie.
#[derive(Debug)]
pub struct NewToken(pub Zeroizing<String>);

/// Somebody who has signed in.
#[derive(Clone, Debug)]
pub struct Session {
    pub id: i64,
    pub user_id: i64,
    pub email: String,
    pub staff: Option<StaffRole>,
    pub time_zone: String,
    pub has_totp: bool,
    pub has_passkey: bool,
    /// SHA-256 of the token.
    pub(super) hash: [u8; 32],
    pub(super) checked_at: Timestamp,
    /// What is demanded of staff is not there yet: nothing but setting it up may be done.
    pub must_set_up_factor: bool,
}

impl Session {
    /// Whether the password was asked for lately enough for keys, payouts, the team and the like.
    pub fn is_checked(&self, now: Timestamp) -> bool {
        now < self.checked_at + CHECK_LIFE
    }

    /// The password was given a moment ago: whoever asks comes from there.
    pub fn was_just_checked(&self, now: Timestamp) -> bool {
        now < self.checked_at + JUST_CHECKED
    }

    pub fn may(&self, right: StaffRight) -> bool {
        self.staff.is_some_and(|role| role.may(right))
    }
}

/// A member's place in one business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtBusiness {
    pub business_id: i64,
    pub business: String,
    pub role: MemberRole,
    /// It may take real money; one that waits for the operator may not.
    pub is_live: bool,
}

impl AtBusiness {
    pub fn may(&self, right: MemberRight) -> bool {
        self.role.may(right)
    }
}

/// Whose this token is; `None` if it is nobody's, or the session's time is over.
pub async fn session_of(app: &App, token: &str) -> Result<Option<Session>, OpError> {
    by_hash(app, &Vault::token_hash(token)).await
}

pub(super) async fn by_hash(app: &App, hash: &[u8; 32]) -> Result<Option<Session>, OpError> {
    let now = app.now();
    let Some(row) = app.store.session(hash).await?.filter(|row| is_alive(row, now)) else { return Ok(None) };
    if row.seen_at + NOTE_EVERY <= now {
        app.store.session_seen(row.id, now).await?;
    }
    Ok(Some(Session {
        id: row.id,
        user_id: row.user_id,
        must_set_up_factor: row.staff.is_some()
            && !(row.has_totp || row.has_passkey)
            && app.config.users.staff_totp,
        email: row.email,
        staff: row.staff,
        time_zone: row.time_zone,
        has_totp: row.has_totp,
        has_passkey: row.has_passkey,
        hash: *hash,
        checked_at: row.checked_at,
    }))
}

/// Neither too old nor idle for too long; nor from a time to come, which a clock that was set back leaves: it would live
/// on for as long as the clock was wrong.
fn is_alive(row: &SessionRow, now: Timestamp) -> bool {
    let is_from_now = row.created_at.max(row.seen_at) <= now + CLOCKS_APART;
    let is_young = now < row.created_at + SESSION_LIFE && now < row.seen_at + SESSION_IDLE;
    row.stage == Stage::Whole && is_from_now && is_young
}

/// Who has given the password and not yet the code.
pub(super) async fn awaiting_code(app: &App, token: &str) -> Result<Option<SessionRow>, OpError> {
    let row = app.store.session(&Vault::token_hash(token)).await?;
    Ok(row.filter(|row| row.stage == Stage::Code && app.now() < row.created_at + CODE_STAGE))
}

/// Whether a code is awaited from whoever has this token.
pub async fn is_code_awaited(app: &App, token: &str) -> Result<bool, OpError> {
    Ok(awaiting_code(app, token).await?.is_some())
}

/// The businesses of which somebody is a member.
pub async fn businesses_of(app: &App, session: &Session) -> Result<Vec<AtBusiness>, OpError> {
    let memberships = app.store.memberships(session.user_id).await?;
    let place = |one: Membership| AtBusiness {
        business_id: one.business_id,
        business: one.business,
        role: one.role,
        is_live: one.is_live,
    };
    Ok(memberships.into_iter().map(place).collect())
}

/// Ends the session of a token, if it has one.
pub async fn sign_out(app: &App, token: &str) -> Result<(), OpError> {
    let Some(row) = app.store.session(&Vault::token_hash(token)).await? else { return Ok(()) };
    end(app, row.user_id, row.id).await.map(drop)
}

/// The sessions of a user that are not over, newest first.
pub async fn open_sessions(app: &App, session: &Session) -> Result<Vec<OpenSession>, OpError> {
    let now = app.now();
    let mut open = app.store.open_sessions(session.user_id, now - SESSION_LIFE).await?;
    open.retain(|one| now < one.seen_at + SESSION_IDLE);
    Ok(open)
}

/// Ends one of a user's own sessions; of others' nothing happens, and it says so.
pub async fn end_session(app: &App, session: &Session, id: i64) -> Result<bool, OpError> {
    end(app, session.user_id, id).await
}

/// `false`: the user has no such session that goes on.
async fn end(app: &App, user_id: i64, id: i64) -> Result<bool, OpError> {
    let unit = app.store.unit(user_id).await?.step(sessions::end(id, user_id, app.now()));
    Ok(app.store.apply(unit).await?.is_done())
}

/// Changes the user of a session, after a try that was right: the user's other sessions end, and this one goes on under a
/// new token. The unit is lost if the user changed meanwhile, or the session ended.
pub(super) async fn change_own(
    app: &App,
    session: &Session,
    (before, after): (&UserRow, &UserRow),
    this_try: Try,
    act: &str,
) -> Result<(Unit, NewToken), OpError> {
    let now = app.now();
    let (renewed, token) = renewed(app, session, now);
    let act_id = app.store.id(IdKind::Act).await?;
    let unit = app
        .store
        .unit(before.id)
        .await?
        .step(users::set(before, after, now))
        .steps(renewed)
        .steps(this_try.was_right())
        .step(acts::record(act_id, &before.email, act, &format!("user {}", before.id), "", now));
    Ok((unit, token))
}

/// The other sessions of a user end, and this one goes on under a new token. `checked_at`: when he last proved that it is
/// he.
pub(super) fn renewed(app: &App, session: &Session, checked_at: Timestamp) -> ([Step; 2], NewToken) {
    let token = fresh_token(app.random.as_ref());
    let steps = [
        sessions::end_others(session.user_id, session.id, app.now()),
        sessions::renew(session.id, &session.hash, Vault::token_hash(&token), checked_at),
    ];
    (steps, NewToken(token))
}

/// In which zone a user sees times; `false` if there is none of this name.
pub async fn set_time_zone(app: &App, session: &Session, zone: &str) -> Result<bool, OpError> {
    if zone.len() > ZONE_MAX || jiff::tz::TimeZone::get(zone).is_err() {
        return Ok(false);
    }
    for _ in 0..RACES_MAX {
        let Some(user) = app.store.user(session.user_id).await? else { return Ok(false) };
        let after = UserRow { time_zone: zone.to_owned(), ..user.clone() };
        let unit = app.store.unit(user.id).await?.step(users::set(&user, &after, app.now()));
        if app.store.apply(unit).await?.is_done() {
            return Ok(true);
        }
    }
    Err(OpError::Contended)
}
