//! Passwords: hashing a new one, checking one, changing one's own, and asking for it again before what matters.

use zeroize::Zeroizing;

use super::sessions::{NewToken, Session, change_own};
use super::tries::{self, TooMany};
use crate::app::App;
use crate::domain::user::{PasswordProblem, check_password};
use crate::ops::{OpError, RACES_MAX};
use crate::store::Applied;
use crate::store::tables::sessions;
use crate::store::tables::users::{self, UserRow};
use crate::vault::Vault;
use crate::vault::hasher::{Crowded, nobodys};
use crate::vault::link::fresh_token;

/// What is kept of a new password.
pub(super) enum NewPassword {
    Made(Vec<u8>),
    Crowded,
}

/// Why a password was not taken, or a new one not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordRefusal {
    Wrong,
    Unfit(PasswordProblem),
    TooMany(TooMany),
    Crowded,
    /// The session has ended meanwhile.
    SignedOut,
}

pub(super) async fn hashed(app: &App, password: &str) -> Result<NewPassword, OpError> {
    let bytes = Zeroizing::new(password.as_bytes().to_vec());
    let made = match app.passwords.enter() {
        Ok(permit) => permit.make(bytes, app.random.as_ref()).await,
        Err(crowded) => Err(crowded),
    };
    match made {
        Ok(Some(hash)) => Ok(NewPassword::Made(hash)),
        Ok(None) => Err(OpError::Fault("there is no memory to hash a password".into())),
        Err(Crowded) => Ok(NewPassword::Crowded),
    }
}

/// Whether it is the user's password; of nobody, or of one who has none, it takes as long and never is.
pub(super) async fn is_right(app: &App, user: Option<&UserRow>, password: &str) -> Result<bool, Crowded> {
    let stored = user.and_then(|user| user.password.clone()).unwrap_or_else(nobodys);
    let bytes = Zeroizing::new(password.as_bytes().to_vec());
    app.passwords.enter()?.check(bytes, &stored).await
}

/// Checks the password of somebody who has signed in, as a try that counts.
pub(super) async fn check_own(
    app: &App,
    session: &Session,
    password: &str,
    address: &str,
) -> Result<Result<(UserRow, tries::Try), PasswordRefusal>, OpError> {
    let this_try = match tries::begin(app, &session.email, address).await? {
        Ok(begun) => begun,
        Err(many) => return Ok(Err(PasswordRefusal::TooMany(many))),
    };
    let user = app.store.user(session.user_id).await?.filter(|user| user.disabled_at.is_none());
    Ok(match (is_right(app, user.as_ref(), password).await, user) {
        (Ok(true), Some(user)) => Ok((user, this_try)),
        (Err(Crowded), _) => Err(PasswordRefusal::Crowded),
        _ => Err(PasswordRefusal::Wrong),
    })
}

/// Asks for the password again. The session goes on under a new token.
pub async fn confirm_password(
    app: &App,
    session: &Session,
    password: &str,
    address: &str,
) -> Result<Result<NewToken, PasswordRefusal>, OpError> {
    let (user, this_try) = match check_own(app, session, password, address).await? {
        Ok(both) => both,
        Err(refused) => return Ok(Err(refused)),
    };
    let token = fresh_token(app.random.as_ref());
    let unit = app
        .store
        .unit(user.id)
        .await?
        .step(users::unchanged(&user))
        .step(sessions::renew(session.id, &session.hash, Vault::token_hash(&token), app.now()))
        .steps(this_try.was_right());
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(NewToken(token)),
        _ => Err(PasswordRefusal::SignedOut),
    })
}

/// Changes one's own password. All other sessions end, and this one goes on under a new token.
pub async fn change_password(
    app: &App,
    session: &Session,
    (old, new): (&str, &str),
    address: &str,
) -> Result<Result<NewToken, PasswordRefusal>, OpError> {
    if let Err(problem) = check_password(new, &session.email) {
        return Ok(Err(PasswordRefusal::Unfit(problem)));
    }
    for _ in 0..RACES_MAX {
        let (user, this_try) = match check_own(app, session, old, address).await? {
            Ok(both) => both,
            Err(refused) => return Ok(Err(refused)),
        };
        let hash = match hashed(app, new).await? {
            NewPassword::Made(hash) => hash,
            NewPassword::Crowded => return Ok(Err(PasswordRefusal::Crowded)),
        };
        let after = UserRow { password: Some(hash), ..user.clone() };
        let (unit, token) = change_own(app, session, (&user, &after), this_try, "password change").await?;
        if app.store.apply(unit.step(users::end_links(user.id, app.now()))).await?.is_done() {
            return Ok(Ok(token));
        }
        if super::sessions::by_hash(app, &session.hash).await?.is_none() {
            return Ok(Err(PasswordRefusal::SignedOut));
        }
    }
    Err(OpError::Contended)
}
