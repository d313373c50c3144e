//! API keys: listing, making and revoking.
//!
//! A key's text is answered once, when it is made; the database keeps its hash and its first
//! characters. Several keys may be live at once, so that a rotation overlaps.

use zeroize::Zeroizing;

use crate::app::App;
use crate::domain::merchant::{ApiKey, KeyRights, KeyScope, Mode, key_hash, key_text};
use crate::domain::time::Span;
use crate::ops::OpError;
use crate::store::tables::{acts, merchants};
use crate::store::{Applied, IdKind};

/// Characters of a label.
const LABEL_MAX: usize = 100;
/// Characters of a key that its row shows.
const HINT_CHARS: usize = 12;
/// The longest life a key can be given; longer is meant as none at all.
const LIFE_MAX: Span = Span::days(3650);
/// Draws of random bytes before giving up; one draw fails less than once in 10^20.
const DRAWS_MAX: usize = 3;

/// Keys of a business that work; what is listed shows all of them.
const KEYS_MAX: usize = 200;

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    #[error("there is no business {0}")]
    UnknownBusiness(i64),
    #[error("the business waits for the operator and works in test mode alone; make a test key")]
    Waits,
    #[error("there is no key {0}")]
    Unknown(i64),
    #[error("the label must have 1 to 100 characters and no control characters")]
    Label,
    #[error("the business has {KEYS_MAX} keys that work; revoke those that nobody uses")]
    TooMany,
    #[error("a key must be valid for one second to ten years; without --expires it does not expire")]
    Life,
}

/// A key and its text, which is shown once.
#[derive(Debug)]
pub struct NewKey {
    pub key: ApiKey,
    pub text: Zeroizing<String>,
}

/// The keys of a business, ended ones too.
pub async fn list_keys(app: &App, business_id: i64) -> Result<Result<Vec<ApiKey>, KeyRefusal>, OpError> {
    if app.store.business(business_id).await?.is_none() {
        return Ok(Err(KeyRefusal::UnknownBusiness(business_id)));
    }
    Ok(Ok(app.store.api_keys(business_id).await?))
}

/// Makes a key for a business; `life` counts from now.
pub async fn add_key(
    app: &App,
    operator: &str,
    business_id: i64,
    scope: impl Into<KeyScope>,
    label: Option<&str>,
    life: Option<Span>,
) -> Result<Result<NewKey, KeyRefusal>, OpError> {
    let KeyScope { mode, rights } = scope.into();
    let label = label.map(str::trim);
    let is_label = |l: &str| !l.is_empty() && l.chars().count() <= LABEL_MAX && !l.contains(char::is_control);
    if !label.is_none_or(is_label) {
        return Ok(Err(KeyRefusal::Label));
    }
    if !life.is_none_or(|life| life >= Span::seconds(1) && life <= LIFE_MAX) {
        return Ok(Err(KeyRefusal::Life));
    }
    match app.store.business(business_id).await? {
        None => return Ok(Err(KeyRefusal::UnknownBusiness(business_id))),
        Some(business) if mode == Mode::Live && business.waits() => return Ok(Err(KeyRefusal::Waits)),
        Some(_) => {}
    }
    let now = app.now();
    let live = |key: &ApiKey| key.revoked_at.is_none() && key.expires_at.is_none_or(|at| at > now);
    if app.store.api_keys(business_id).await?.iter().filter(|key| live(key)).count() >= KEYS_MAX {
        return Ok(Err(KeyRefusal::TooMany));
    }
    let text = draw(app, mode)?;
    let key = ApiKey {
        id: app.store.id(IdKind::Key).await?,
        business_id,
        hint: text.chars().take(HINT_CHARS).collect(),
        label: label.map(str::to_owned),
        mode,
        rights,
        created_at: now,
        expires_at: life.map(|life| now + life),
        revoked_at: None,
        last_used_at: None,
    };
    let act_id = app.store.id(IdKind::Act).await?;
    let subject = format!("key {}", key.id);
    let told = match rights {
        KeyRights::Write => label.unwrap_or_default().to_owned(),
        KeyRights::Read => format!("{} (reads alone)", label.unwrap_or_default()).trim_start().to_owned(),
    };
    let noted = acts::record_of(business_id, act_id, operator, "key add", &subject, &told, now);
    let unit = app.store.unit(business_id).await?.step(merchants::add_key(&key, key_hash(&text))).step(noted);
    match app.store.apply(unit).await? {
        Applied::Done(_) => {
            // It may have been asked for, and be remembered as unknown.
            app.directory.forget();
            Ok(Ok(NewKey { key, text }))
        }
        other => Err(OpError::Fault(format!("a new key was refused: {other:?}"))),
    }
}

/// Ends a key at once; ending an ended one changes nothing.
pub async fn revoke_key(app: &App, operator: &str, id: i64) -> Result<Result<ApiKey, KeyRefusal>, OpError> {
    let now = app.now();
    let Some(key) = app.store.api_key(id).await? else { return Ok(Err(KeyRefusal::Unknown(id))) };
    let act_id = app.store.id(IdKind::Act).await?;
    let unit = app.store.unit(key.business_id).await?.step(merchants::revoke_key(id, now)).step(
        acts::record_of(key.business_id, act_id, operator, "key revoke", &format!("key {id}"), "", now),
    );
    match app.store.apply(unit).await? {
        Applied::Done(_) => app.directory.forget(),
        // Revoked before, which is what was wanted.
        Applied::Conflict { .. } => {}
        Applied::ConstraintViolation { statement } => {
            return Err(OpError::Fault(format!("{statement} was refused")));
        }
    }
    match app.store.api_key(id).await? {
        Some(key) => Ok(Ok(key)),
        None => Ok(Err(KeyRefusal::Unknown(id))),
    }
}

fn draw(app: &App, mode: Mode) -> Result<Zeroizing<String>, OpError> {
    for _ in 0..DRAWS_MAX {
        let mut bytes = Zeroizing::new([0; 64]);
        app.random.fill(bytes.as_mut());
        if let Some(text) = key_text(mode, bytes.as_ref()) {
            return Ok(Zeroizing::new(text));
        }
    }
    Err(OpError::Fault("the source of randomness repeats itself".into()))
}
