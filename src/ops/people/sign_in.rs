//! Signing in: the password, then the code of whoever has a second factor. A passkey instead of either is
//! `passkey_sign_in`'s.
//!
//! An e-mail address that nobody has, a user who is disabled and a wrong password take the same way and answer the same.

use super::passwords::is_right;
use super::second_factor::opened;
use super::sessions::{NewToken, awaiting_code};
use super::tries::{self, TooMany};
use crate::app::App;
use crate::domain::text::is_invisible;
use crate::domain::totp;
use crate::domain::user::normal_email;
use crate::ops::OpError;
use crate::store::tables::acts;
use crate::store::tables::sessions::{self, NewSession, Stage};
use crate::store::tables::users::{self, UserRow};
use crate::store::{Applied, IdKind, Step};
use crate::vault::Vault;
use crate::vault::hasher::Crowded;
use crate::vault::link::fresh_token;

/// Characters of a browser's name of itself that are kept.
const AGENT_MAX: usize = 200;

/// From where somebody signs in.
#[derive(Clone, Copy, Debug)]
pub struct From<'a> {
    /// As requests are counted by.
    pub address: &'a str,
    /// What the browser calls itself.
    pub agent: &'a str,
}

/// What came of a password.
#[derive(Debug)]
pub enum SignedIn {
    Whole(NewToken),
    /// The code is still to come, under this token.
    CodeNeeded(NewToken),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInRefused {
    /// Of e-mail address, password or code; which of them is not told.
    Wrong,
    TooMany(TooMany),
    Crowded,
    /// The passkey's counter did not grow: there may be a copy of it.
    Copied,
    /// Between password and code there was too much time, or something changed: from the beginning.
    Over,
}

/// Tries a password.
pub async fn sign_in(
    app: &App,
    email: &str,
    password: &str,
    from: From<'_>,
) -> Result<Result<SignedIn, SignInRefused>, OpError> {
    let this_try = match tries::begin(app, email, from.address).await? {
        Ok(begun) => begun,
        Err(many) => return Ok(Err(SignInRefused::TooMany(many))),
    };
    let user = match normal_email(email) {
        Some(email) => app.store.user_by_email(&email).await?.filter(|user| user.disabled_at.is_none()),
        None => None,
    };
    let user = match (is_right(app, user.as_ref(), password).await, user) {
        (Ok(true), Some(user)) => user,
        (Err(Crowded), _) => return Ok(Err(SignInRefused::Crowded)),
        _ => return Ok(Err(SignInRefused::Wrong)),
    };
    let has_factor = user.totp.is_some() || !app.store.passkeys(user.id).await?.is_empty();
    let stage = if has_factor { Stage::Code } else { Stage::Whole };
    let (token, begun) = begin_session(app, &user, stage, from).await?;
    let mut unit = app.store.unit(user.id).await?.step(users::unchanged(&user)).step(begun);
    if stage == Stage::Whole {
        unit = unit.steps(this_try.was_right()).step(noted(app, &user, "").await?);
    }
    match (app.store.apply(unit).await?, stage) {
        (Applied::Done(_), Stage::Whole) => Ok(Ok(SignedIn::Whole(token))),
        (Applied::Done(_), Stage::Code) => Ok(Ok(SignedIn::CodeNeeded(token))),
        _ => Ok(Err(SignInRefused::Over)),
    }
}

/// Tries a code, of the app or a recovery code.
pub async fn enter_code(
    app: &App,
    token: &str,
    code: &str,
    from: From<'_>,
) -> Result<Result<NewToken, SignInRefused>, OpError> {
    let Some(row) = awaiting_code(app, token).await? else { return Ok(Err(SignInRefused::Over)) };
    let this_try = match tries::begin(app, &row.email, from.address).await? {
        Ok(begun) => begun,
        Err(many) => return Ok(Err(SignInRefused::TooMany(many))),
    };
    let Some(user) = app.store.user(row.user_id).await? else { return Ok(Err(SignInRefused::Over)) };
    let Some(used) = judge_code(app, &user, code)? else { return Ok(Err(SignInRefused::Wrong)) };
    let (token, begun) = begin_session(app, &user, Stage::Whole, from).await?;
    let unit = app
        .store
        .unit(user.id)
        .await?
        .step(sessions::end_open(row.id, user.id, app.now()))
        .steps(used)
        .step(begun)
        .steps(this_try.was_right())
        .step(noted(app, &user, "").await?);
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(token),
        // The code counted at the same moment, or is a recovery code that is nobody's or used up.
        _ => Err(SignInRefused::Wrong),
    })
}

/// The steps by which a code is used up; `None` if it cannot be one. Of a recovery code the step finds out.
pub(super) fn judge_code(app: &App, user: &UserRow, code: &str) -> Result<Option<Vec<Step>>, OpError> {
    let now = app.now();
    let secret = user.totp.as_ref().map(|sealed| opened(app, user.id, sealed)).transpose()?;
    if let Some(step) = secret.and_then(|secret| totp::step_of(&secret, code, now)) {
        let after = UserRow { totp_step: step, ..user.clone() };
        return Ok((step > user.totp_step).then(|| vec![users::set(user, &after, now)]));
    }
    Ok(totp::normal_recovery_code(code).map(|code| {
        let hash = app.vault.recovery_hash(user.id, &code);
        vec![users::unchanged(user), users::use_code(user.id, hash, now)]
    }))
}

pub(super) async fn begin_session(
    app: &App,
    user: &UserRow,
    stage: Stage,
    from: From<'_>,
) -> Result<(NewToken, Step), OpError> {
    let token = fresh_token(app.random.as_ref());
    let agent: String =
        from.agent.chars().filter(|c| !c.is_control() && !is_invisible(*c)).take(AGENT_MAX).collect();
    let new = NewSession {
        id: app.store.id(IdKind::Session).await?,
        hash: Vault::token_hash(&token),
        user_id: user.id,
        stage,
        address: from.address,
        agent: &agent,
        now: app.now(),
    };
    Ok((NewToken(token), sessions::add(&new)))
}

/// `how`: in words, where it was not by the password.
pub(super) async fn noted(app: &App, user: &UserRow, how: &str) -> Result<Step, OpError> {
    let id = app.store.id(IdKind::Act).await?;
    Ok(acts::record(id, &user.email, "sign in", &format!("user {}", user.id), how, app.now()))
}
