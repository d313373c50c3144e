//! Passkeys of a user: adding, listing and removing them, and what their authenticators are asked.
//!
//! What is asked is kept under the hash of the token in the cookie, sealed, and taken away by whoever brings the answer: so
//! one node may ask and another judge, and an answer counts once. Signing in with one is `passkey_sign_in`'s.

use zeroize::Zeroizing;

use super::second_factor::recovery_codes;
use super::sessions::{NewToken, Session, renewed};
use crate::app::App;
use crate::domain::text::is_plain_line;
use crate::domain::user::{CHALLENGE_LIFE, PASSKEYS_MAX};
use crate::ops::OpError;
use crate::store::tables::acts;
pub use crate::store::tables::passkeys::PasskeyRow;
use crate::store::tables::passkeys::{self, NewPasskey};
use crate::store::tables::users::{self, UserRow};
use crate::store::{IdKind, Step};
use crate::vault::Vault;
use crate::vault::passkey::{PasskeyFault, Question, RelyingParty};

/// Characters of a label.
const LABEL_MAX: usize = 60;

/// For what an authenticator was asked, of which user. The answer counts for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Add(i64),
    SignIn,
    Code(i64),
    Confirm(i64),
}

/// A passkey that was added.
#[derive(Debug)]
pub struct PasskeyAdded {
    pub token: NewToken,
    /// Shown once; none where there was a second factor before.
    pub recovery_codes: Vec<Zeroizing<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddRefused {
    /// Empty, too long, or not in plain characters.
    Label,
    /// No answer to what was asked here, or too late, or this passkey is there already.
    Wrong,
    /// There are as many as may be.
    Many,
}

/// Whether browsers have passkeys for our address.
pub fn are_possible(app: &App) -> bool {
    relying_party(app).is_some()
}

pub(super) fn relying_party(app: &App) -> Option<RelyingParty> {
    let name = app.config.pages.operator_name.as_deref().unwrap_or("tillbell");
    RelyingParty::of(&app.public_url(), app.config.server.dev, name)
}

pub(super) fn fault(error: PasskeyFault) -> OpError {
    OpError::Fault(error.to_string())
}

fn place(purpose: Purpose, hash: &[u8; 32]) -> String {
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("passkey_challenges/{hash}/{purpose:?}")
}

/// Keeps what was asked; answers what the browser is told.
pub(super) async fn ask(
    app: &App,
    hash: &[u8; 32],
    purpose: Purpose,
    question: Question,
) -> Result<String, OpError> {
    let sealed = app.vault.seal(&place(purpose, hash), &question.state, app.random.as_ref());
    let sealed = sealed.map_err(|error| OpError::Fault(error.to_string()))?;
    let step = passkeys::ask(hash, &sealed, app.now() + CHALLENGE_LIFE);
    match app.store.apply(app.store.unit(0).await?.step(step)).await?.is_done() {
        true => Ok(question.options),
        false => Err(OpError::Contended),
    }
}

/// Takes what was asked of whoever has this token: once, in time, and for this purpose; else `None`.
pub(super) async fn take(
    app: &App,
    hash: &[u8; 32],
    purpose: Purpose,
) -> Result<Option<Zeroizing<Vec<u8>>>, OpError> {
    let Some((sealed, expires_at)) = app.store.passkey_challenge(hash).await? else { return Ok(None) };
    let unit = app.store.unit(0).await?.step(passkeys::take(hash, &sealed));
    if !app.store.apply(unit).await?.is_done() || expires_at <= app.now() {
        return Ok(None);
    }
    // Asked for another purpose, it does not open.
    Ok(app.vault.unseal(&place(purpose, hash), &sealed).ok())
}

/// The passkeys of whoever has signed in.
pub async fn own_passkeys(app: &App, session: &Session) -> Result<Vec<PasskeyRow>, OpError> {
    Ok(app.store.passkeys(session.user_id).await?)
}

/// Asks for a new passkey; what the browser is told. `None`: there can be no passkeys here.
pub async fn begin_passkey(app: &App, session: &Session) -> Result<Option<String>, OpError> {
    let Some(party) = relying_party(app) else { return Ok(None) };
    let known = app.store.passkeys(session.user_id).await?;
    let known: Vec<&str> = known.iter().map(|one| one.credential.as_str()).collect();
    let handle = app.vault.passkey_handle(session.user_id);
    let question = party.ask_for_new(handle, &session.email, &known).map_err(fault)?;
    ask(app, &session.hash, Purpose::Add(session.user_id), question).await.map(Some)
}

/// Adds the passkey that was made. The user's other sessions end, and this one goes on under a new token.
pub async fn add_passkey(
    app: &App,
    session: &Session,
    label: &str,
    answer: &str,
) -> Result<Result<PasskeyAdded, AddRefused>, OpError> {
    let label = label.trim();
    if label.is_empty() || label.chars().count() > LABEL_MAX || !is_plain_line(label) {
        return Ok(Err(AddRefused::Label));
    }
    let Some(party) = relying_party(app) else { return Ok(Err(AddRefused::Wrong)) };
    let Some(state) = take(app, &session.hash, Purpose::Add(session.user_id)).await? else {
        return Ok(Err(AddRefused::Wrong));
    };
    let Some(made) = party.made(&state, answer).map_err(fault)? else { return Ok(Err(AddRefused::Wrong)) };
    let user = app.store.user(session.user_id).await?.filter(|user| user.disabled_at.is_none());
    let Some(user) = user else { return Ok(Err(AddRefused::Wrong)) };
    let known = app.store.passkeys(user.id).await?.len();
    if known >= PASSKEYS_MAX {
        return Ok(Err(AddRefused::Many));
    }
    let is_first_factor = user.totp.is_none() && known == 0;
    let (recovery_codes, codes) =
        if is_first_factor { recovery_codes(app, user.id) } else { (Vec::new(), Vec::new()) };
    let new = NewPasskey {
        id: app.store.id(IdKind::Passkey).await?,
        user_id: user.id,
        credential_id: &made.credential_id,
        credential: &made.credential,
        counter: made.counter,
        label,
        now: app.now(),
    };
    let steps = [vec![passkeys::add(&new)], codes].concat();
    let changed = change(app, session, &user, steps, ("passkey add", label)).await?;
    Ok(changed.map(|token| PasskeyAdded { token, recovery_codes }).ok_or(AddRefused::Wrong))
}

/// Removes one of a user's own passkeys; `None`: there is none, or the user changed at this moment. The user's other
/// sessions end, and this one goes on under a new token.
pub async fn end_passkey(app: &App, session: &Session, id: i64) -> Result<Option<NewToken>, OpError> {
    let Some(user) = app.store.user(session.user_id).await? else { return Ok(None) };
    let own = app.store.passkeys(user.id).await?;
    let Some(passkey) = own.iter().find(|one| one.id == id) else { return Ok(None) };
    let mut steps = vec![passkeys::remove(id, user.id)];
    if own.len() == 1 && user.totp.is_none() {
        steps.push(users::drop_codes(user.id));
    }
    change(app, session, &user, steps, ("passkey remove", &passkey.label)).await
}

/// The user's row changes with his passkeys, so that of two changes at one moment one counts. That a passkey was made proves
/// nothing of whoever made it: when the password was asked for last stays as it was.
async fn change(
    app: &App,
    session: &Session,
    user: &UserRow,
    steps: Vec<Step>,
    (act, told): (&str, &str),
) -> Result<Option<NewToken>, OpError> {
    let (renewed, token) = renewed(app, session, session.checked_at);
    let act_id = app.store.id(IdKind::Act).await?;
    let unit = app
        .store
        .unit(user.id)
        .await?
        .step(users::set(user, user, app.now()))
        .steps(steps)
        .steps(renewed)
        .step(acts::record(act_id, &user.email, act, &format!("user {}", user.id), told, app.now()));
    Ok(app.store.apply(unit).await?.is_done().then_some(token))
}

/// Under what is kept what the holder of a token was asked.
pub(super) fn hash_of(token: &str) -> [u8; 32] {
    Vault::token_hash(token)
}
