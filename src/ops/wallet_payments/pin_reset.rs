//! Sets or resets a wallet's PIN, with a one-time code sent to the wallet's own number.
//!
//! The merchant holds the link as well, so the link proves nothing: only the code does. It is good for one
//! wallet and one intent, for ten minutes, once, and only the newest one counts, so the next is sent after a
//! pause; a try of it is counted before it is compared. Setting a PIN never pays, lifts a lock, and is told to
//! the customer. It is done on open links, and on one that wrong PINs stopped until its time is over: the
//! customer whose wallet they locked may have no other.

use std::sync::Arc;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::link_codes::used_up;
use super::page::{LinkView, intent_by_token, view};
use crate::app::App;
use crate::crash;
use crate::domain::intent::{CODE_DIGITS, CODE_LIFE, CODE_TRIES, FormKey, Intent, PinCode};
use crate::domain::message::MessageKind;
use crate::domain::pin::{Pin, PinProblem};
use crate::domain::time::Timestamp;
use crate::domain::wallet::{Wallet, WalletStatus};
use crate::ops::OpError;
use crate::ops::messages::outbox::{self, By, NOTES_VALID, Note, SentNow};
use crate::ops::wallets::find::known_wallet;
use crate::store::tables::{intents, wallets};
use crate::store::{IdKind, Unit};
use crate::vault::link::nonce;

/// Races a code may lose: every other code and every try of a PIN of the same wallet is one.
const CODE_RACES_MAX: usize = 20;

/// What became of asking for a code.
#[derive(Debug)]
pub enum CodeSent {
    Sent {
        masked_phone: String,
        expires_at: Timestamp,
    },
    /// The same form has asked before; nothing was sent and nothing counted.
    Again {
        masked_phone: String,
    },
    /// The wallet's codes for the hour or the day are used up.
    TooMany {
        again_at: Timestamp,
    },
    /// The newest code was sent moments ago and was not used yet; nothing was sent and nothing counted.
    TooSoon {
        again_at: Timestamp,
    },
    /// The message did not go out; why, in words for operators, not for the page.
    NotSent(String),
    /// It did not go out yet; workers go on while the code is good.
    Late(String),
    /// No code is sent for a link that has ended.
    NotOpen(LinkView),
    Suspended,
}

/// Sends a fresh code to the wallet's phone; it takes the place of any before. The same `form` gets one.
pub async fn send_code(app: &Arc<App>, token: &str, form: Option<FormKey>) -> Result<CodeSent, OpError> {
    let (intent, wallet) = match opened(app, token).await? {
        Ok(both) => both,
        Err(view) => return Ok(CodeSent::NotOpen(view)),
    };
    if wallet.suspended {
        return Ok(CodeSent::Suspended);
    }
    for _ in 0..CODE_RACES_MAX {
        let wallet = known_wallet(app, intent.wallet_id).await?;
        let now = app.now();
        let refused = not_now(app, &wallet, now).await?;
        // After that: what refuses it may be the code of another tap.
        if let Some(form) = &form
            && app.store.has_asked_for_code(intent.id, form).await?
        {
            return Ok(CodeSent::Again { masked_phone: wallet.phone.masked() });
        }
        if let Some(refused) = refused {
            return Ok(refused);
        }
        let code = PinCode {
            id: app.store.id(IdKind::PinCode).await?,
            wallet_id: wallet.id,
            intent_id: intent.id,
            nonce: nonce(app.random.as_ref()),
            tries: 0,
            used_at: None,
            unlocked: false,
            created_at: now,
            expires_at: now + CODE_LIFE,
        };
        let note = Note {
            to: &wallet.phone,
            business_id: Some(intent.business_id),
            wallet_id: Some(wallet.id),
            kind: MessageKind::Code,
            subject_id: code.id,
            text: None,
            valid_until: code.expires_at,
        };
        let composed = outbox::compose(app, &note, By::Us).await?;
        let unit = app
            .store
            .unit(intent.business_id)
            .await?
            .step(wallets::tick(wallet.id, wallet.pin_clock))
            .step(intents::add_code(&code, form.as_ref()))
            .steps(composed.steps);
        if app.store.apply(unit).await?.is_done() {
            crash::point("code.stored");
            return Ok(match outbox::send_now(app, composed.job).await {
                SentNow::Failed(why) | SentNow::Unknown(why) => CodeSent::NotSent(why),
                SentNow::Later(why) => CodeSent::Late(why),
                SentNow::Sent | SentNow::UnderWay => {
                    CodeSent::Sent { masked_phone: wallet.phone.masked(), expires_at: code.expires_at }
                }
            });
        }
    }
    Err(OpError::Contended)
}

/// Why no code is sent now, if none is. Read after the wallet: a code that is made meanwhile moves its clock,
/// so of two nodes that both find none one loses, and finds the other's.
async fn not_now(app: &App, wallet: &Wallet, now: Timestamp) -> Result<Option<CodeSent>, OpError> {
    if let Some(used_up) = used_up(app, wallet.id, now).await? {
        return Ok(Some(CodeSent::TooMany { again_at: used_up.again_at }));
    }
    let newest = app.store.newest_code(wallet.id).await?;
    Ok(newest.and_then(|code| code.alone_until(now)).map(|again_at| CodeSent::TooSoon { again_at }))
}

/// The intent of a link on which a PIN may be set, with its wallet, or what the link leads to instead.
async fn opened(app: &App, token: &str) -> Result<Result<(Intent, Wallet), LinkView>, OpError> {
    let Some(intent) = intent_by_token(app, token).await? else { return Ok(Err(LinkView::NotFound)) };
    if !intent.may_set_pin(app.now()) {
        return Ok(Err(view(app, &intent).await?));
    }
    let wallet = known_wallet(app, intent.wallet_id).await?;
    Ok(Ok((intent, wallet)))
}

/// What became of setting a PIN.
#[derive(Debug)]
pub enum PinSet {
    Done,
    NotOpen(LinkView),
    Suspended,
    /// The two PINs are not the same; nothing was counted.
    NotTheSame,
    /// The PIN has a wrong form or is too easy; nothing was counted.
    BadPin(PinProblem),
    /// What came is no code of six digits; nothing was counted.
    NotACode,
    /// The newest code has set the PIN already: the same form again, or another window. Nothing was counted.
    AlreadySet,
    /// No code counts: none was sent for this link, a newer one was, or it is used up or too old.
    NoCode,
    WrongCode {
        /// 0: the code has ended, a new one must be asked for.
        tries_left: i64,
    },
    /// Other PINs are being checked; nothing was counted.
    Busy,
}

/// Sets the PIN of the link's wallet if the code is right. Does not pay. The same `form` tries the code once.
pub async fn set_pin(
    app: &Arc<App>,
    token: &str,
    code: &str,
    new_pin: &str,
    new_pin_again: &str,
    form: Option<FormKey>,
) -> Result<PinSet, OpError> {
    let (intent, wallet) = match opened(app, token).await? {
        Ok(both) => both,
        Err(view) => return Ok(PinSet::NotOpen(view)),
    };
    if wallet.suspended {
        return Ok(PinSet::Suspended);
    }
    // Whatever was typed: there is nothing left to mend in it.
    let newest = app.store.newest_code(wallet.id).await?;
    if newest.is_some_and(|code| code.intent_id == intent.id && code.used_at.is_some()) {
        return Ok(PinSet::AlreadySet);
    }
    let Some(given) = typed_code(code) else { return Ok(PinSet::NotACode) };
    if new_pin.trim() != new_pin_again.trim() {
        return Ok(PinSet::NotTheSame);
    }
    let pin = match Pin::choose(new_pin) {
        Ok(pin) => pin,
        Err(problem) => return Ok(PinSet::BadPin(problem)),
    };
    // Goes on when the caller goes away: a code that was right must not be used up for nothing.
    let app = app.clone();
    let setting = tokio::spawn(async move { with_code(&app, &intent, &given, &pin, form).await });
    setting.await.map_err(|_| OpError::Fault("a PIN could not be set".into()))?
}

/// The digits of what was typed as a code, if it has the form of one.
pub fn typed_code(text: &str) -> Option<Zeroizing<String>> {
    let given: Zeroizing<String> = Zeroizing::new(text.chars().filter(|c| !c.is_whitespace()).collect());
    let is_code = given.len() == CODE_DIGITS && given.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then_some(given)
}

async fn with_code(
    app: &App,
    intent: &Intent,
    given: &str,
    pin: &Pin,
    form: Option<FormKey>,
) -> Result<PinSet, OpError> {
    let Ok(ticket) = app.pins.enter() else { return Ok(PinSet::Busy) };
    let now = app.now();
    let newest = app.store.newest_code(intent.wallet_id).await?;
    let code = match newest.filter(|code| code.intent_id == intent.id) {
        Some(code) if code.used_at.is_some() => return Ok(PinSet::AlreadySet),
        Some(code) if now < code.expires_at => code,
        _ => return Ok(PinSet::NoCode),
    };
    if !is_counted(app, intent, &code, form.as_ref(), now).await? {
        let after = app.store.pin_code(code.id).await?;
        let is_used = after.is_some_and(|code| code.used_at.is_some());
        return Ok(if is_used { PinSet::AlreadySet } else { PinSet::NoCode });
    }
    crash::point("code.try_counted");
    let right = app.vault.code(code.id, &code.nonce, CODE_DIGITS);
    if !bool::from(right.as_bytes().ct_eq(given.as_bytes())) {
        let after = app.store.pin_code(code.id).await?;
        let tries = after.map_or(CODE_TRIES, |code| code.tries);
        return Ok(PinSet::WrongCode { tries_left: (CODE_TRIES - tries).max(0) });
    }
    let plain = Zeroizing::new(pin.as_bytes().to_vec());
    let made =
        ticket.make(plain, app.random.as_ref()).await.map_err(|error| OpError::Fault(error.to_string()))?;
    let hashed = made.ok_or_else(|| OpError::Fault("a PIN could not be hashed".into()))?;
    store_pin(app, intent, &code, hashed).await
}

/// Counts a try of a code, unless its form has been counted; `false`: the code has ended.
async fn is_counted(
    app: &App,
    intent: &Intent,
    code: &PinCode,
    form: Option<&FormKey>,
    now: Timestamp,
) -> Result<bool, OpError> {
    let has_tried = async || match form {
        Some(form) => app.store.has_tried_code(code.id, form).await,
        None => Ok(false),
    };
    if has_tried().await? {
        return Ok(true);
    }
    if !code.is_good(now) {
        return Ok(false);
    }
    let mut unit = app.store.unit(intent.business_id).await?.step(intents::try_code(code.id, now));
    if let Some(form) = form {
        unit = unit.step(intents::add_code_try(code.id, form, now));
    }
    // Another tap of the same form may have been faster.
    Ok(app.store.apply(unit).await?.is_done() || has_tried().await?)
}

/// One Unit: the code is used, the PIN is new, wrong tries are forgotten, the customer is told. Guarded by
/// the wallet's clock, under which no newer code was sent.
async fn store_pin(app: &App, intent: &Intent, code: &PinCode, hashed: Vec<u8>) -> Result<PinSet, OpError> {
    for _ in 0..CODE_RACES_MAX {
        let wallet = known_wallet(app, intent.wallet_id).await?;
        if wallet.suspended {
            return Ok(PinSet::Suspended);
        }
        // A code sent meanwhile takes the place of this one; one that was used has set a PIN.
        let newest = app.store.newest_code(wallet.id).await?;
        match newest.filter(|newest| newest.id == code.id) {
            None => return Ok(PinSet::NoCode),
            Some(newest) if newest.used_at.is_some() => return Ok(PinSet::AlreadySet),
            Some(_) => {}
        }
        let unit = set_unit(app, intent, code, &wallet, hashed.clone()).await?;
        if app.store.apply(unit).await?.is_done() {
            crash::point("pin.set");
            tracing::info!(wallet = wallet.id, "a wallet's PIN was set");
            app.wake_workers();
            return Ok(PinSet::Done);
        }
    }
    Err(OpError::Contended)
}

async fn set_unit(
    app: &App,
    intent: &Intent,
    code: &PinCode,
    wallet: &Wallet,
    hashed: Vec<u8>,
) -> Result<Unit, OpError> {
    let now = app.now();
    let note = Note {
        to: &wallet.phone,
        business_id: Some(intent.business_id),
        wallet_id: Some(wallet.id),
        kind: MessageKind::PinChanged,
        subject_id: wallet.pin_version + 1,
        text: None,
        valid_until: now + NOTES_VALID,
    };
    let composed = outbox::compose(app, &note, By::Workers).await?;
    let unit = app.store.unit(intent.business_id).await?;
    Ok(unit
        .step(intents::use_code(code.id, matches!(wallet.status(now), WalletStatus::Locked(_)), now))
        .step(wallets::tick(wallet.id, wallet.pin_clock))
        .step(wallets::set_pin(wallet.id, wallet.pin_version, hashed, now))
        .step(intents::clear_tries(wallet.id))
        .steps(composed.steps))
}
