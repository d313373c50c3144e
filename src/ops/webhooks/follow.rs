//! Events of test mode as they happen, signed as their webhooks are, for a program on a developer's machine that no webhook
//! reaches. Read only; nothing is counted as delivered by it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::order::place_what_waits;
use super::pull::known_event;
use crate::app::App;
use crate::directory::Caller;
use crate::domain::merchant::Mode;
use crate::domain::webhook::sign;
use crate::ops::OpError;
use crate::ops::merchants::businesses::signing_secrets;
use crate::store::tables::event_order::Which;

/// An event with what its webhook's headers would say now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    pub place: i64,
    pub webhook_id: String,
    /// Seconds since 1970, as they were signed.
    pub timestamp: i64,
    pub signature: String,
    pub body: Vec<u8>,
}

/// What a mark of a place begins with; the rest is sealed, for places count the events of all businesses.
const MARK: &str = "from_";
/// Characters of a mark: a nonce, eight bytes and their seal, as base64.
const MARK_CHARS: usize = MARK.len() + 64;

/// Whether it can be a mark of a place.
pub fn is_mark(text: &str) -> bool {
    text.len() == MARK_CHARS && text.starts_with(MARK)
}

fn seal_place(business_id: i64) -> String {
    format!("events/{business_id}/from")
}

/// A mark of a place, by which a follower who has had no event yet goes on from where it began.
pub fn mark(app: &App, business_id: i64, place: i64) -> Result<String, OpError> {
    let sealed = app.vault.seal(&seal_place(business_id), &place.to_be_bytes(), app.random.as_ref());
    let sealed = sealed?;
    Ok(format!("{MARK}{}", URL_SAFE_NO_PAD.encode(sealed)))
}

fn place_of_mark(app: &App, business_id: i64, mark: &str) -> Option<i64> {
    let sealed = URL_SAFE_NO_PAD.decode(mark.strip_prefix(MARK)?).ok()?;
    let plain = app.vault.unseal(&seal_place(business_id), &sealed).ok()?;
    Some(i64::from_be_bytes(plain.as_slice().try_into().ok()?))
}

/// The place after which a follower reads: that of the event or the mark in `after`, or else the last one there is. `None`: there
/// is no such event of this business and mode.
pub async fn begin(app: &App, caller: &Caller, after: Option<&str>) -> Result<Option<i64>, OpError> {
    place_what_waits(app).await?;
    let Some(id) = after else { return Ok(Some(app.store.last_event_place().await?)) };
    if is_mark(id) {
        return Ok(place_of_mark(app, caller.business.id, id));
    }
    let Some(known) = known_event(app, caller, id).await? else { return Ok(None) };
    known.place.map(Some).ok_or(OpError::Contended)
}

/// Test events of a business after a place, in their order, as many as one read holds.
pub async fn next(app: &App, business_id: i64, after: i64) -> Result<Vec<Signed>, OpError> {
    let events = app.store.events_after(business_id, Mode::Test, after, Which::All).await?;
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let now = app.now();
    let secrets = signing_secrets(app, business_id, now).await?.unwrap_or_default();
    let timestamp = now.0.div_euclid(1_000_000);
    let signed = events.into_iter().map(|event| Signed {
        place: event.place,
        signature: sign(&secrets, &event.webhook_id, timestamp, &event.body),
        webhook_id: event.webhook_id,
        timestamp,
        body: event.body,
    });
    Ok(signed.collect())
}
