//! Links to a password: what is behind one, and setting the password by it. Who asks for one without a user, or for a
//! disabled one, gets the same answer as everybody.

use zeroize::Zeroizing;

use super::passwords::{NewPassword, hashed};
use super::tries::{self, TooMany};
use super::users::link_address;
use crate::app::App;
use crate::domain::user::{FORGOT_LIFE, PasswordProblem, check_password, normal_email};
use crate::ops::OpError;
use crate::ops::notices::mails::forgot_mail;
use crate::store::tables::users::{self, LinkKind, LinkRow, UserRow};
use crate::store::tables::{acts, sessions};
use crate::store::{Applied, IdKind};
use crate::vault::Vault;

/// What is behind a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkView {
    Good {
        email: String,
        is_first: bool,
    },
    /// Used or expired.
    Over,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRefused {
    Unfit(PasswordProblem),
    Over,
    Unknown,
    Crowded,
}

pub async fn view_password_link(app: &App, token: &str) -> Result<LinkView, OpError> {
    Ok(match find(app, &Vault::token_hash(token)).await? {
        Found::Good(link, user) => {
            LinkView::Good { email: user.email, is_first: link.kind == LinkKind::Welcome }
        }
        Found::Over => LinkView::Over,
        Found::Unknown => LinkView::Unknown,
    })
}

/// Sets the password by a link, which is used up. All sessions end.
pub async fn set_password(
    app: &App,
    token: &str,
    password: &str,
) -> Result<Result<(), LinkRefused>, OpError> {
    let hash = Vault::token_hash(token);
    let (link, user) = match find(app, &hash).await? {
        Found::Good(link, user) => (link, *user),
        Found::Over => return Ok(Err(LinkRefused::Over)),
        Found::Unknown => return Ok(Err(LinkRefused::Unknown)),
    };
    if let Err(problem) = check_password(password, &user.email) {
        return Ok(Err(LinkRefused::Unfit(problem)));
    }
    let made = match hashed(app, password).await? {
        NewPassword::Made(made) => made,
        NewPassword::Crowded => return Ok(Err(LinkRefused::Crowded)),
    };
    let now = app.now();
    let act_id = app.store.id(IdKind::Act).await?;
    // A link to a new password comes by mail alone, so whoever opens it has the address.
    let is_vouched = user.is_vouched || link.kind == LinkKind::Reset;
    let after = UserRow { password: Some(made), is_vouched, ..user.clone() };
    let unit = app
        .store
        .unit(user.id)
        .await?
        .step(users::use_link(&hash, now))
        .step(users::set(&user, &after, now))
        .step(users::end_links(user.id, now))
        .step(sessions::end_all(user.id, now))
        .step(acts::record(act_id, &user.email, "password set", &format!("user {}", user.id), "", now));
    Ok(match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(()),
        // Used at the same moment.
        _ => Err(LinkRefused::Over),
    })
}

/// Lets a mail go to somebody who has forgotten his password. Whether there is such a user is looked for when it is sent,
/// so that neither the answer nor its time tells. It counts as a try, so that nobody is flooded with mails.
pub async fn forgot(app: &App, email: &str, address: &str) -> Result<Result<(), TooMany>, OpError> {
    let Some(email) = normal_email(email) else { return Ok(Ok(())) };
    if let Err(many) = tries::begin(app, &format!("forgot {email}"), address).await? {
        return Ok(Err(many));
    }
    let unit = app.store.unit(0).await?.steps(forgot_mail(app, &email).await?);
    if app.store.apply(unit).await?.is_done() {
        app.wake_workers();
    }
    Ok(Ok(()))
}

/// The link to a new password that a mail brings to the user of an address; `None`: there is none who may have one, or the
/// link was used. It is the same at each try of the mail, so that whichever copy of it arrives leads on, for an hour from
/// the last try. `mail`: its id, and random bytes of its row.
pub async fn make_reset_link(
    app: &App,
    email: &str,
    mail: (i64, &[u8]),
) -> Result<Option<Zeroizing<String>>, OpError> {
    let user = app.store.user_by_email(email).await?.filter(|user| user.disabled_at.is_none());
    let Some(user) = user else { return Ok(None) };
    let token = app.vault.reset_token(mail.0, mail.1);
    let (hash, until) = (Vault::token_hash(&token), app.now() + FORGOT_LIFE);
    let step = match app.store.user_link(&hash).await? {
        None => users::add_link(hash, user.id, LinkKind::Reset, until),
        Some(link) if link.used_at.is_none() && link.user_id == user.id => users::keep_link(&hash, until),
        Some(_) => return Ok(None),
    };
    let unit = app.store.unit(user.id).await?.step(users::unchanged(&user)).step(step);
    match app.store.apply(unit).await? {
        Applied::Done(_) => Ok(Some(link_address(app, &token))),
        // He changed at this moment: the mail is tried again.
        _ => Err(OpError::Contended),
    }
}

enum Found {
    Good(LinkRow, Box<UserRow>),
    Over,
    Unknown,
}

async fn find(app: &App, hash: &[u8; 32]) -> Result<Found, OpError> {
    let Some(link) = app.store.user_link(hash).await? else { return Ok(Found::Unknown) };
    if link.used_at.is_some() || link.expires_at <= app.now() {
        return Ok(Found::Over);
    }
    let user = app.store.user(link.user_id).await?.filter(|user| user.disabled_at.is_none());
    Ok(user.map_or(Found::Over, |user| Found::Good(link, Box::new(user))))
}
