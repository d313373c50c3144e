//! Passkeys where somebody proves who he is: instead of the password, as the second factor after it, and where the password
//! is asked for again.
//!
//! Signing in takes no e-mail address: the authenticator says whose passkey it is, so what is asked is the same for
//! everybody. Each answer is a try that counts, of the user or, if nobody has such a passkey, of the passkey it names.

use super::passkeys::{Purpose, ask, fault, hash_of, relying_party, take};
use super::sessions::{NewToken, Session, awaiting_code};
use super::sign_in::{From, SignInRefused, begin_session, noted};
use super::tries;
use crate::app::App;
use crate::ops::OpError;
use crate::store::tables::acts;
use crate::store::tables::passkeys::{self, PasskeyRow};
use crate::store::tables::sessions::{self, Stage};
use crate::store::tables::users::{self, UserRow};
use crate::store::{Applied, IdKind, Step};
use crate::vault::Vault;
use crate::vault::link::fresh_token;
use crate::vault::passkey::{AnswerRefused, credential_of};

/// Asks for any passkey, of somebody who has yet to sign in; what the browser is told. `None`: there can be none here.
pub async fn begin_sign_in(app: &App, token: &str) -> Result<Option<String>, OpError> {
    let Some(party) = relying_party(app) else { return Ok(None) };
    let question = party.ask_for_any().map_err(fault)?;
    ask(app, &hash_of(token), Purpose::SignIn, question).await.map(Some)
}

/// Asks for a passkey instead of the code. `None`: no code is awaited, or there is no passkey.
pub async fn begin_code(app: &App, token: &str) -> Result<Option<String>, OpError> {
    let Some(row) = awaiting_code(app, token).await? else { return Ok(None) };
    begin_own(app, &hash_of(token), row.user_id, Purpose::Code(row.user_id)).await
}

/// Asks for a passkey instead of the password that is asked for again. `None`: there is none.
pub async fn begin_confirm(app: &App, session: &Session) -> Result<Option<String>, OpError> {
    begin_own(app, &session.hash, session.user_id, Purpose::Confirm(session.user_id)).await
}

async fn begin_own(
    app: &App,
    hash: &[u8; 32],
    user_id: i64,
    purpose: Purpose,
) -> Result<Option<String>, OpError> {
    let Some(party) = relying_party(app) else { return Ok(None) };
    let own = app.store.passkeys(user_id).await?;
    if own.is_empty() {
        return Ok(None);
    }
    let own: Vec<&str> = own.iter().map(|one| one.credential.as_str()).collect();
    let question = party.ask_for(&own).map_err(fault)?;
    ask(app, hash, purpose, question).await.map(Some)
}

/// Whether whoever has given a password may give a passkey instead of the code.
pub async fn has_passkey(app: &App, token: &str) -> Result<bool, OpError> {
    let row = awaiting_code(app, token).await?;
    Ok(row.is_some_and(|row| row.has_passkey) && relying_party(app).is_some())
}

/// Signs in with a passkey alone.
pub async fn sign_in_by_passkey(
    app: &App,
    token: &str,
    answer: &str,
    from: From<'_>,
) -> Result<Result<NewToken, SignInRefused>, OpError> {
    let row = named(app, answer).await?;
    let user = match &row {
        Some(row) => app.store.user(row.user_id).await?,
        None => None,
    };
    // Whoever tries passkeys of nobody is slowed down as whoever tries those of somebody.
    let whose = match &user {
        Some(user) => user.email.clone(),
        None => format!("passkey {answer_id:?}", answer_id = credential_of(answer).unwrap_or_default()),
    };
    let this_try = match tries::begin(app, &whose, from.address).await? {
        Ok(begun) => begun,
        Err(many) => return Ok(Err(SignInRefused::TooMany(many))),
    };
    let (user, used, label) = match prove(app, (token, Purpose::SignIn), answer, row.zip(user)).await? {
        Ok(proven) => proven,
        Err(refused) => return Ok(Err(refused)),
    };
    let (token, begun) = begin_session(app, &user, Stage::Whole, from).await?;
    let unit = app
        .store
        .unit(user.id)
        .await?
        .steps(used)
        .step(begun)
        .steps(this_try.was_right())
        .step(noted(app, &user, &format!("passkey: {label}")).await?);
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(token),
        _ => Err(SignInRefused::Wrong),
    })
}

/// Gives a passkey instead of the code.
pub async fn enter_passkey(
    app: &App,
    token: &str,
    answer: &str,
    from: From<'_>,
) -> Result<Result<NewToken, SignInRefused>, OpError> {
    let Some(row) = awaiting_code(app, token).await? else { return Ok(Err(SignInRefused::Over)) };
    let this_try = match tries::begin(app, &row.email, from.address).await? {
        Ok(begun) => begun,
        Err(many) => return Ok(Err(SignInRefused::TooMany(many))),
    };
    let own = own(app, answer, row.user_id).await?;
    let (user, used, label) = match prove(app, (token, Purpose::Code(row.user_id)), answer, own).await? {
        Ok(proven) => proven,
        Err(refused) => return Ok(Err(refused)),
    };
    let (token, begun) = begin_session(app, &user, Stage::Whole, from).await?;
    let unit = app
        .store
        .unit(user.id)
        .await?
        .step(sessions::end_open(row.id, user.id, app.now()))
        .steps(used)
        .step(begun)
        .steps(this_try.was_right())
        .step(noted(app, &user, &format!("password and passkey: {label}")).await?);
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(token),
        _ => Err(SignInRefused::Wrong),
    })
}

/// Gives a passkey instead of the password that is asked for again. The session goes on under a new token.
pub async fn confirm_by_passkey(
    app: &App,
    session: &Session,
    token: &str,
    answer: &str,
    address: &str,
) -> Result<Result<NewToken, SignInRefused>, OpError> {
    let this_try = match tries::begin(app, &session.email, address).await? {
        Ok(begun) => begun,
        Err(many) => return Ok(Err(SignInRefused::TooMany(many))),
    };
    let own = own(app, answer, session.user_id).await?;
    let (user, used, _) = match prove(app, (token, Purpose::Confirm(session.user_id)), answer, own).await? {
        Ok(proven) => proven,
        Err(refused) => return Ok(Err(refused)),
    };
    let fresh = fresh_token(app.random.as_ref());
    let unit = app
        .store
        .unit(user.id)
        .await?
        .steps(used)
        .step(sessions::renew(session.id, &session.hash, Vault::token_hash(&fresh), app.now()))
        .steps(this_try.was_right());
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(NewToken(fresh)),
        _ => Err(SignInRefused::Over),
    })
}

/// The passkey that an answer names.
async fn named(app: &App, answer: &str) -> Result<Option<PasskeyRow>, OpError> {
    match credential_of(answer) {
        Some(id) => Ok(app.store.passkey_by_credential(&id).await?),
        None => Ok(None),
    }
}

/// The same, if it is this user's, with the user.
async fn own(app: &App, answer: &str, user_id: i64) -> Result<Option<(PasskeyRow, UserRow)>, OpError> {
    let row = named(app, answer).await?.filter(|row| row.user_id == user_id);
    Ok(row.zip(app.store.user(user_id).await?))
}

type Proven = (UserRow, [Step; 2], String);

/// Judges an answer, and takes what was asked whatever comes of it. The steps are lost if the user changed meanwhile, or
/// the passkey was removed or used.
async fn prove(
    app: &App,
    (token, purpose): (&str, Purpose),
    answer: &str,
    whose: Option<(PasskeyRow, UserRow)>,
) -> Result<Result<Proven, SignInRefused>, OpError> {
    let Some(party) = relying_party(app) else { return Ok(Err(SignInRefused::Wrong)) };
    let state = take(app, &hash_of(token), purpose).await?;
    let whose = whose.filter(|(_, user)| user.disabled_at.is_none());
    let (Some(state), Some((row, user))) = (state, whose) else { return Ok(Err(SignInRefused::Wrong)) };
    let handle = app.vault.passkey_handle(user.id);
    let judged = party.judge(&state, answer, (&row.credential, row.counter), handle).map_err(fault)?;
    Ok(match judged {
        Ok(used) => {
            let used = passkeys::used(&row, &used.credential, used.counter, app.now());
            Ok((user.clone(), [users::unchanged(&user), used], row.label))
        }
        Err(AnswerRefused::Wrong) => Err(SignInRefused::Wrong),
        Err(AnswerRefused::Copied) => {
            let id = app.store.id(IdKind::Act).await?;
            let (subject, why) =
                (format!("user {}", user.id), format!("{}: its counter did not grow", row.label));
            let act = acts::record(id, &user.email, "passkey refused", &subject, &why, app.now());
            let _ = app.store.apply(app.store.unit(user.id).await?.step(act)).await?;
            Err(SignInRefused::Copied)
        }
    })
}
