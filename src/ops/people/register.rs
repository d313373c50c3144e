//! Opening a business oneself: what was asked for waits until the link that goes to the address by mail is opened.
//!
//! Asking looks nothing up, so neither the answer nor its time tells whether the address is somebody's. Behind the link a
//! new person gives the password chosen when asking, else whoever asks under another's address would have an account there
//! that the other one opens for him. Whoever has an account already signs in to it, and the password that was asked with
//! counts for nothing.

use zeroize::Zeroizing;

use super::passwords::{NewPassword, hashed};
use super::sessions::Session;
use super::tries::{self, TooMany};
use super::users::{Place, TIME_ZONE, membership, noted};
use crate::app::App;
use crate::config::Registration;
use crate::domain::notice::NoticeKind;
use crate::domain::user::{MemberRole, PasswordProblem, REGISTRATION_LIFE, check_password, normal_email};
use crate::ops::merchants::businesses::{ChargeChange, NewBusiness, is_name, made_business};
use crate::ops::notices::alarms;
use crate::ops::notices::mails::{are_sent, text_mail};
use crate::ops::{OpError, RACES_MAX};
use crate::store::tables::registrations::{self, RegistrationRow};
use crate::store::tables::users::{self, UserRow};
use crate::store::{Applied, IdKind, Step};
use crate::vault::Vault;
use crate::vault::hasher::Crowded;
use crate::vault::link::fresh_token;

/// Businesses that may wait for the operator; then no more are opened until he has decided about some.
const WAITING_MAX: usize = 1_000;
/// Businesses that somebody may be a member of and still open another one himself.
const BUSINESSES_OF_ONE: usize = 20;

/// What somebody asks for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub business: &'a str,
    pub email: &'a str,
    pub password: &'a str,
}

/// Why nothing was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterRefused {
    Business,
    Email,
    Password(PasswordProblem),
    TooMany(TooMany),
    Crowded,
}

/// The address of the page behind a link's token.
fn address(app: &App, token: &str) -> Zeroizing<String> {
    Zeroizing::new(format!("{}/register/{token}", app.public_url()))
}

/// Keeps what somebody asks for, and lets a link go to the address. The link is answered where no mails are sent, as in
/// dev mode.
pub async fn register(
    app: &App,
    wanted: Wanted<'_>,
    from: &str,
) -> Result<Result<Option<Zeroizing<String>>, RegisterRefused>, OpError> {
    let business = wanted.business.trim();
    if !is_name(business) {
        return Ok(Err(RegisterRefused::Business));
    }
    let Some(email) = normal_email(wanted.email) else { return Ok(Err(RegisterRefused::Email)) };
    if let Err(problem) = check_password(wanted.password, &email) {
        return Ok(Err(RegisterRefused::Password(problem)));
    }
    if let Err(many) = tries::begin(app, &format!("register {email}"), from).await? {
        return Ok(Err(RegisterRefused::TooMany(many)));
    }
    let password = match hashed(app, wanted.password).await? {
        NewPassword::Made(hash) => Some(hash),
        NewPassword::Crowded => return Ok(Err(RegisterRefused::Crowded)),
    };
    let (token, now, is_mailed) = (fresh_token(app.random.as_ref()), app.now(), are_sent(app));
    let link = address(app, &token);
    // Not the name: it would be a stranger's words, in a mail of ours to whomever he likes.
    let text = Zeroizing::new(format!(
        "Somebody wants to open a business with this address. This link opens it; it works once, for 24 \
         hours:\n\n{}\n\nIf you have an account already, you are asked to sign in, and the business is added to it. If \
         it was not you, do nothing: without the link nothing is opened.\n",
        link.as_str()
    ));
    let mail = text_mail(app, &email, "Open your business", &text).await?;
    let row = RegistrationRow {
        email,
        business: business.to_owned(),
        password,
        is_mailed,
        expires_at: now + REGISTRATION_LIFE,
        used_at: None,
    };
    let unit = app.store.unit(0).await?.step(registrations::add(Vault::token_hash(&token), &row, now));
    match app.store.apply(unit.steps(mail)).await? {
        Applied::Done(_) => app.wake_workers(),
        other => return Err(OpError::Fault(format!("a registration was refused: {other:?}"))),
    }
    Ok(Ok((!is_mailed).then_some(link)))
}

/// Who opens the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opener {
    /// The address is nobody's yet: the password is asked for.
    New,
    /// He has signed in to the account of the address.
    Owner,
    /// The address has an account, and he has not signed in to it.
    Stranger,
}

/// What is behind a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationView {
    Good {
        business: String,
        email: String,
        opener: Opener,
    },
    /// Used or expired.
    Over,
    Unknown,
}

pub async fn view_registration(
    app: &App,
    token: &str,
    session: Option<&Session>,
) -> Result<RegistrationView, OpError> {
    let Some(row) = app.store.registration(&Vault::token_hash(token)).await? else {
        return Ok(RegistrationView::Unknown);
    };
    if row.used_at.is_some() || row.expires_at <= app.now() {
        return Ok(RegistrationView::Over);
    }
    let user = app.store.user_by_email(&row.email).await?;
    let opener = match (&user, session) {
        (None, _) => Opener::New,
        (Some(user), Some(session)) if session.user_id == user.id => Opener::Owner,
        _ => Opener::Stranger,
    };
    Ok(RegistrationView::Good { business: row.business, email: row.email, opener })
}

/// A business that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    pub business_id: i64,
    pub business: String,
    pub email: String,
    pub is_live: bool,
}

/// Why it was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenRefused {
    Wrong,
    TooMany(TooMany),
    Crowded,
    /// The address has an account: its user signs in first.
    SignInFirst,
    /// He has many businesses already.
    Enough,
    /// Too many wait for the operator.
    Full,
    Over,
    Unknown,
}

/// Opens the business of a link, which is used up. `session`: of whoever has signed in; `password`: of a new person.
pub async fn open_business(
    app: &App,
    token: &str,
    (session, password): (Option<&Session>, &str),
    from: &str,
) -> Result<Result<Opened, OpenRefused>, OpError> {
    let hash = Vault::token_hash(token);
    let is_live = match app.config.users.registration {
        Registration::Off => return Ok(Err(OpenRefused::Unknown)),
        Registration::Open => false,
        Registration::Live => true,
    };
    for _ in 0..RACES_MAX {
        let Some(row) = app.store.registration(&hash).await? else { return Ok(Err(OpenRefused::Unknown)) };
        if row.used_at.is_some() || row.expires_at <= app.now() {
            return Ok(Err(OpenRefused::Over));
        }
        if !is_live && app.store.businesses_waiting(WAITING_MAX).await?.len() >= WAITING_MAX {
            return Ok(Err(OpenRefused::Full));
        }
        let (user, steps) = match app.store.user_by_email(&row.email).await? {
            None => match new_owner(app, &row, password, from).await? {
                Ok(made) => made,
                Err(refused) => return Ok(Err(refused)),
            },
            Some(user) => match known_owner(app, &row, user, session).await? {
                Ok(known) => known,
                Err(refused) => return Ok(Err(refused)),
            },
        };
        let new = NewBusiness {
            name: row.business.clone(),
            email: row.email.clone(),
            webhook_url: None,
            charges: ChargeChange::default(),
        };
        let (made, business) = match made_business(app, &row.email, &new, is_live).await? {
            Ok(made) => made,
            Err(refusal) => return Err(OpError::Fault(format!("a registered business is unfit: {refusal}"))),
        };
        let id = made.business.id;
        let place = Place::Member(id, MemberRole::Owner);
        let unit = app
            .store
            .unit(id)
            .await?
            .step(registrations::use_up(&hash, app.now()))
            .steps(steps)
            .steps(business)
            .steps(membership(place, &user, app))
            .step(noted(app, &row.email, "user register", &user, place).await?)
            .steps(if is_live { Vec::new() } else { wait_told(app, id, &row.email).await? });
        if app.store.apply(unit).await?.is_done() {
            if !is_live {
                alarms::count(NoticeKind::Registration);
                app.wake_workers();
            }
            return Ok(Ok(Opened { business_id: id, business: row.business, email: row.email, is_live }));
        }
        // The link was used, or somebody got the address, at the same moment.
    }
    Err(OpError::Contended)
}

/// The steps that tell the operators of a business that waits for them. Not its name: it would be a stranger's words.
async fn wait_told(app: &App, id: i64, email: &str) -> Result<Vec<Step>, OpError> {
    let waiting = app.store.businesses_waiting(WAITING_MAX).await?.len() + 1;
    let body = match waiting {
        1 => format!("{email} has opened a business, number {id}. It waits for you."),
        _ => format!("{email} has opened a business, number {id}. It waits for you, one of {waiting}."),
    };
    let page = format!("/operator/businesses/{id}");
    alarms::told_with(app, NoticeKind::Registration, &format!("business {id}"), &body, &page).await
}

/// Somebody whom the mail and his password prove.
async fn new_owner(
    app: &App,
    row: &RegistrationRow,
    password: &str,
    from: &str,
) -> Result<Result<(UserRow, Vec<Step>), OpenRefused>, OpError> {
    let this_try = match tries::begin(app, &row.email, from).await? {
        Ok(begun) => begun,
        Err(many) => return Ok(Err(OpenRefused::TooMany(many))),
    };
    let stored = row.password.clone().unwrap_or_default();
    let typed = Zeroizing::new(password.as_bytes().to_vec());
    let is_right = match app.passwords.enter() {
        Ok(permit) => permit.check(typed, &stored).await,
        Err(crowded) => Err(crowded),
    };
    match is_right {
        Ok(true) => {}
        Ok(false) => return Ok(Err(OpenRefused::Wrong)),
        Err(Crowded) => return Ok(Err(OpenRefused::Crowded)),
    }
    let user = UserRow {
        id: app.store.id(IdKind::User).await?,
        email: row.email.clone(),
        password: Some(stored),
        staff: None,
        totp: None,
        totp_begun: None,
        totp_step: 0,
        time_zone: TIME_ZONE.to_owned(),
        disabled_at: None,
        created_at: app.now(),
        version: 1,
        is_vouched: row.is_mailed,
    };
    let mut steps = vec![users::add(&user)];
    steps.extend(this_try.was_right());
    Ok(Ok((user, steps)))
}

/// Somebody who has an account, if he has signed in to it.
async fn known_owner(
    app: &App,
    row: &RegistrationRow,
    user: UserRow,
    session: Option<&Session>,
) -> Result<Result<(UserRow, Vec<Step>), OpenRefused>, OpError> {
    if session.is_none_or(|session| session.user_id != user.id) || user.disabled_at.is_some() {
        return Ok(Err(OpenRefused::SignInFirst));
    }
    if app.store.memberships(user.id).await?.len() >= BUSINESSES_OF_ONE {
        return Ok(Err(OpenRefused::Enough));
    }
    // Whoever has the password and opens what was mailed has the address.
    let after = UserRow { is_vouched: user.is_vouched || row.is_mailed, ..user.clone() };
    let steps = vec![users::set(&user, &after, app.now())];
    Ok(Ok((after, steps)))
}
