//! The second factor: setting up an authenticator app, recovery codes, and ending it. Passkeys are `passkeys`'.

use zeroize::Zeroizing;

use super::passwords::{PasswordRefusal, check_own};
use super::sessions::{NewToken, Session, change_own};
use super::tries::{self, TooMany};
use crate::app::App;
use crate::domain::totp::{self, RECOVERY_BYTES, RECOVERY_CODES, SECRET_BYTES};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::users::{self, UserRow};
use crate::store::{Applied, Step};

/// Where a secret is sealed.
fn place(user_id: i64) -> String {
    format!("users/{user_id}/totp")
}

/// The secret as an app has it.
pub(super) fn opened(app: &App, user_id: i64, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpError> {
    app.vault.unseal(&place(user_id), sealed).map_err(OpError::from)
}

/// A secret that an app has to take in: its address is what the QR code holds.
#[derive(Debug)]
pub struct Begun {
    pub address: Zeroizing<String>,
}

#[derive(Debug)]
pub struct Confirmed {
    /// Shown once.
    pub recovery_codes: Vec<Zeroizing<String>>,
    pub token: NewToken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorRefused {
    /// The code is not the app's, at least not now.
    Wrong,
    TooMany(TooMany),
    /// Nothing was begun, or there is a second factor already.
    NotBegun,
}

/// Begins with a fresh secret; one that was begun before counts no more. `None`: there is a second factor already.
pub async fn begin_totp(app: &App, session: &Session) -> Result<Option<Begun>, OpError> {
    for _ in 0..RACES_MAX {
        let Some(user) = app.store.user(session.user_id).await?.filter(|user| user.totp.is_none()) else {
            return Ok(None);
        };
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        app.random.fill(secret.as_mut());
        let sealed = app.vault.seal(&place(user.id), secret.as_ref(), app.random.as_ref());
        let sealed = sealed?;
        let after = UserRow { totp_begun: Some(sealed), ..user.clone() };
        let unit = app.store.unit(user.id).await?.step(users::set(&user, &after, app.now()));
        if app.store.apply(unit).await?.is_done() {
            return begun(app, &user, secret.as_ref()).map(Some);
        }
    }
    Err(OpError::Contended)
}

/// What was begun, to be shown again; `None` if nothing was.
pub async fn begun_totp(app: &App, session: &Session) -> Result<Option<Begun>, OpError> {
    let Some(user) = app.store.user(session.user_id).await?.filter(|user| user.totp.is_none()) else {
        return Ok(None);
    };
    let Some(sealed) = &user.totp_begun else { return Ok(None) };
    let secret = opened(app, user.id, sealed)?;
    begun(app, &user, &secret).map(Some)
}

fn begun(app: &App, user: &UserRow, secret: &[u8]) -> Result<Begun, OpError> {
    let issuer = app.config.pages.operator_name.as_deref().unwrap_or("tillbell");
    let address = totp::address(secret, issuer, &user.email);
    address
        .map(|address| Begun { address })
        .ok_or_else(|| OpError::Fault("no address for an authenticator app".into()))
}

/// Confirms it with a code of the app. The session goes on under a new token.
pub async fn confirm_totp(
    app: &App,
    session: &Session,
    code: &str,
    address: &str,
) -> Result<Result<Confirmed, FactorRefused>, OpError> {
    let this_try = match tries::begin(app, &session.email, address).await? {
        Ok(begun) => begun,
        Err(many) => return Ok(Err(FactorRefused::TooMany(many))),
    };
    let user = app.store.user(session.user_id).await?.filter(|user| user.totp.is_none());
    let Some((user, sealed)) = user.and_then(|user| user.totp_begun.clone().map(|sealed| (user, sealed)))
    else {
        return Ok(Err(FactorRefused::NotBegun));
    };
    let secret = opened(app, user.id, &sealed)?;
    let Some(step) = totp::step_of(&secret, code, app.now()) else { return Ok(Err(FactorRefused::Wrong)) };
    let after = UserRow { totp: Some(sealed), totp_begun: None, totp_step: step, ..user.clone() };
    let (codes, steps) = recovery_codes(app, user.id);
    let (unit, token) = change_own(app, session, (&user, &after), this_try, "totp on").await?;
    Ok(match app.store.apply(unit.steps(steps)).await? {
        Applied::Done(_) => Ok(Confirmed { recovery_codes: codes, token }),
        _ => Err(FactorRefused::NotBegun),
    })
}

/// Ends the authenticator app; asks for the password. Recovery codes stay while there is a passkey. The session goes on under a new token.
pub async fn end_totp(
    app: &App,
    session: &Session,
    password: &str,
    address: &str,
) -> Result<Result<NewToken, PasswordRefusal>, OpError> {
    let (user, this_try) = match check_own(app, session, password, address).await? {
        Ok(both) => both,
        Err(refused) => return Ok(Err(refused)),
    };
    let after = UserRow { totp: None, totp_begun: None, ..user.clone() };
    let (mut unit, token) = change_own(app, session, (&user, &after), this_try, "totp off").await?;
    if app.store.passkeys(user.id).await?.is_empty() {
        unit = unit.step(users::drop_codes(user.id));
    }
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(token),
        _ => Err(PasswordRefusal::SignedOut),
    })
}

/// Fresh recovery codes, which take the place of those of before, and the steps that keep them.
pub(super) fn recovery_codes(app: &App, user_id: i64) -> (Vec<Zeroizing<String>>, Vec<Step>) {
    let mut codes: Vec<Zeroizing<String>> = Vec::with_capacity(RECOVERY_CODES);
    // Two equal ones are one in 10^15; then there is one less.
    for _ in 0..RECOVERY_CODES {
        let mut bytes = Zeroizing::new([0; RECOVERY_BYTES]);
        app.random.fill(bytes.as_mut());
        let code = totp::recovery_code(&bytes);
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    let hashes = codes.iter().map(|code| users::add_code(user_id, app.vault.recovery_hash(user_id, code)));
    let steps = std::iter::once(users::drop_codes(user_id)).chain(hashes).collect();
    (codes, steps)
}
