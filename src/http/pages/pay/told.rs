//! The result of a form, in addition to the state of its link. `words` puts it on the page.

use zeroize::Zeroizing;

use super::page::{FormField, Note, Tone, Wrong};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;

#[derive(Default)]
pub struct Told {
    pub note: Option<Note>,
    pub wrong: Option<Wrong>,
    /// What the note goes on with, where the page has what it takes.
    pub then: Option<Then>,
    /// The customer is setting a PIN; the payment comes after that.
    pub is_setting: bool,
    /// No code was sent: the next may be asked for then, which the note has told.
    pub next_code_at: Option<Timestamp>,
    /// What the balance is short of: for the owner alone, who has just entered the right PIN.
    pub short: Option<Money>,
    /// How much over the day's limit the amount is, for the same.
    pub over: Option<Money>,
    /// The code of a form whose PIN has to be chosen anew. It was neither checked nor counted.
    pub typed_code: Option<Zeroizing<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// There is a button for it, which works from then on, or now.
    AskForCode { from: Option<String> },
    /// There is a field for it: `Enter it to pay.`
    EnterPin,
    /// The same after a word of something else: `Enter your PIN to pay.`
    EnterYourPin,
    /// A PIN was set, which is no payment.
    NotPaidYet,
}

impl Told {
    pub fn note(tone: Tone, text: impl Into<String>) -> Told {
        Told { note: Some(Note::new(tone, text)), ..Told::default() }
    }

    pub fn wrong(field: FormField, text: impl Into<String>) -> Told {
        let is_setting = field != FormField::Pin;
        Told { wrong: Some(Wrong { field, also: None, text: text.into() }), is_setting, ..Told::default() }
    }

    /// A new PIN that cannot be taken: the cursor is on it, and the code stays.
    pub fn new_pin(
        text: impl Into<String>,
        also: Option<FormField>,
        code: Option<Zeroizing<String>>,
    ) -> Told {
        let wrong = Some(Wrong { field: FormField::NewPin, also, text: text.into() });
        Told { wrong, is_setting: true, typed_code: code, ..Told::default() }
    }

    pub fn pin_is_set() -> Told {
        Told::note(Tone::Good, "Your PIN is already set.").then(Then::EnterPin)
    }

    pub fn short(amount: Money) -> Told {
        Told { short: Some(amount), ..Told::default() }
    }

    pub fn setting(self) -> Told {
        Told { is_setting: true, ..self }
    }

    pub fn then(self, then: Then) -> Told {
        Told { then: Some(then), ..self }
    }
}
