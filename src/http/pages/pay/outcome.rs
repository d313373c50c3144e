//! The result of a form, sealed into the address of the page that is shown next.
//!
//! Every form is answered with a 303 to its link, so that a browser's history holds no form and a reload sends
//! nothing a second time. What the state of the link cannot tell is in the address. The vault seals it for this
//! one link, with the time, so that nobody can forge such an address and every node can read it. It counts for
//! two minutes. Somebody who has only the link, such as the merchant, learns nothing. `after_form` says what it
//! means for the page.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use crate::app::App;
use crate::domain::time::{Span, Timestamp};

/// After this time the address is a plain look.
pub const BELIEVED_FOR: Span = Span::minutes(2);
/// Longest text that is decoded; ours are shorter.
const SEALED_MAX: usize = 480;

/// The result of a form that a look at the link would not tell.
#[derive(Serialize, Deserialize)]
pub enum FormOutcome {
    WrongPin {
        tries_left: i64,
    },
    /// The last wrong PIN: the payment was stopped.
    Failed,
    /// The text was not a PIN; it was not counted.
    NotAPin {
        why: String,
    },
    /// Wallet or shop may not pay now: the page says why.
    Refused,
    /// There is no PIN yet.
    NoPin,
    /// The PIN was right, and the balance too low.
    TooLow,
    /// Kobo over the day's limit.
    OverLimit {
        over: i64,
    },
    PinChanged,
    /// The link had ended.
    TooLate,
    /// The service was busy; nothing was counted.
    BusyPaying,
    BusySetting {
        typed: Typed,
    },
    /// Just now, by this form.
    PinSaved,
    PinIsSet,
    NoCode,
    WrongCode {
        tries_left: i64,
    },
    NotACode,
    NotTheSame {
        typed: Typed,
    },
    BadPin {
        why: String,
        typed: Typed,
    },
    /// The same form has asked for a code before, and that one has ended.
    AskedBefore,
    /// The next code may be asked for at this time.
    NoCodeNow {
        again_at: i64,
    },
    CodeNotSent,
    CodeDelayed,
    /// Too many forms on this link; the next is accepted at this time.
    Throttled {
        until: i64,
    },
    /// The database was away, or something is broken. `after` are seconds until it makes sense to come again.
    Unfinished {
        after: Option<i64>,
    },
}

/// A code that was typed and need not be typed again. It was neither checked nor counted.
#[derive(Default)]
pub struct Typed(pub Option<Zeroizing<String>>);

impl Serialize for Typed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.as_ref().map_or("", |typed| typed.as_str()))
    }
}

impl<'de> Deserialize<'de> for Typed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Typed, D::Error> {
        let typed = Zeroizing::new(String::deserialize(from)?);
        Ok(Typed(Some(typed).filter(|typed| !typed.is_empty())))
    }
}

#[derive(Serialize)]
struct Making<'a> {
    at: i64,
    came_to: &'a FormOutcome,
}

#[derive(Deserialize)]
struct Made {
    at: i64,
    came_to: FormOutcome,
}

/// Names the link, so that an address of another one does not open.
fn place(token: &str) -> String {
    format!("page/{token}/told")
}

impl FormOutcome {
    /// For the address of this link. `None` cannot come; the look would then tell the state alone.
    pub fn seal(&self, app: &App, token: &str) -> Option<String> {
        let plain =
            serde_json::to_vec(&Making { at: app.now().0, came_to: self }).ok().map(Zeroizing::new)?;
        let sealed = app.vault.seal(&place(token), &plain, app.random.as_ref()).ok()?;
        Some(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// What an address tells of this link; `None` for what is old, of another link, or none of ours.
    pub fn open(app: &App, token: &str, sealed: &str) -> Option<FormOutcome> {
        if sealed.len() > SEALED_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let plain = app.vault.unseal(&place(token), &bytes).ok()?;
        let made: Made = serde_json::from_slice(&plain).ok()?;
        // The clock of the node that made it may be ahead.
        let age = app.now().since(Timestamp(made.at)).0.checked_abs()?;
        (age < BELIEVED_FOR.0).then_some(made.came_to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_fits_into_an_address() {
        let why = "That PIN is too easy to guess: its digits count up or down. Choose another".to_owned();
        let typed = Typed(Some(Zeroizing::new("604218".to_owned())));
        let making = Making { at: i64::MAX, came_to: &FormOutcome::BadPin { why, typed } };
        let plain = serde_json::to_vec(&making).unwrap();
        // Nonce and tag come before base64.
        let longest = (plain.len() + 24 + 16).div_ceil(3) * 4;
        assert!(longest <= SEALED_MAX / 4 * 3, "{longest}");
        let made: Made = serde_json::from_slice(&plain).unwrap();
        assert!(
            matches!(made.came_to, FormOutcome::BadPin { typed: Typed(Some(code)), .. } if *code == "604218")
        );
        let none = serde_json::to_string(&FormOutcome::BusySetting { typed: Typed(None) }).unwrap();
        assert!(matches!(
            serde_json::from_str(&none).unwrap(),
            FormOutcome::BusySetting { typed: Typed(None) }
        ));
    }
}
