//! What a page says about the form that was sent before, next to the state of its link.
//!
//! The current state wins. The result of a form is not shown if it is no longer true, and never when the
//! payment was made.

use http::StatusCode;

use super::codes;
use super::figures::{clock_after, tries, whole_seconds};
use super::outcome::{FormOutcome, Typed};
use super::page::{FormField, Tone};
use super::told::{Then, Told};
use super::words;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::ops::wallet_payments::link_codes::LinkCodes;
use crate::ops::wallet_payments::page::{LinkView, OpenLink};

/// Seconds after which another try is likely to find a free place.
const BUSY_SECONDS: i64 = 2;
const BUSY: &str = "We are busy right now, so we could not check this. It was not counted as a try. Wait a moment, then try again.";

/// The note, and the status of the answer.
pub struct Answer {
    pub told: Told,
    pub status: StatusCode,
    pub retry_after: Option<i64>,
}

impl Answer {
    fn new(status: StatusCode, told: Told) -> Answer {
        Answer { told, status, retry_after: None }
    }

    /// Only the state is told.
    fn state(status: StatusCode) -> Answer {
        Answer::new(status, Told::default())
    }
}

/// For a link that is open, or has ended without payment. `contact` is whom a customer turns to.
pub fn answer(outcome: FormOutcome, view: &LinkView, contact: &str) -> Answer {
    match outcome {
        FormOutcome::TooLate | FormOutcome::NoPin => Answer::state(StatusCode::CONFLICT),
        FormOutcome::Failed => Answer::state(StatusCode::UNPROCESSABLE_ENTITY),
        FormOutcome::Refused => Answer::state(StatusCode::FORBIDDEN),
        FormOutcome::Throttled { .. } => Answer::state(StatusCode::OK),
        FormOutcome::PinSaved => match view {
            LinkView::Open(_) => {
                let told = Told::note(Tone::Good, "Your PIN is set.").then(Then::NotPaidYet);
                Answer::new(StatusCode::OK, told)
            }
            _ => Answer::state(StatusCode::OK),
        },
        FormOutcome::Unfinished { after } => {
            let text = "We could not finish what you asked for. This page shows your payment as it is now.";
            let status = match after {
                Some(_) => StatusCode::SERVICE_UNAVAILABLE,
                None => StatusCode::INTERNAL_SERVER_ERROR,
            };
            Answer { retry_after: after, ..Answer::new(status, Told::note(Tone::Bad, text)) }
        }
        FormOutcome::WrongPin { .. }
        | FormOutcome::NotAPin { .. }
        | FormOutcome::TooLow
        | FormOutcome::OverLimit { .. }
        | FormOutcome::PinChanged
        | FormOutcome::BusyPaying => match view {
            LinkView::Open(open) => paying(outcome, open, view),
            _ => Answer::state(StatusCode::CONFLICT),
        },
        FormOutcome::BusySetting { .. }
        | FormOutcome::PinIsSet
        | FormOutcome::NoCode
        | FormOutcome::WrongCode { .. }
        | FormOutcome::NotACode
        | FormOutcome::NotTheSame { .. }
        | FormOutcome::BadPin { .. } => match view.codes() {
            Some(codes) => setting(outcome, codes),
            None => Answer::state(StatusCode::CONFLICT),
        },
        FormOutcome::AskedBefore
        | FormOutcome::NoCodeNow { .. }
        | FormOutcome::CodeNotSent
        | FormOutcome::CodeDelayed => match view.codes() {
            Some(codes) => asking(outcome, codes, view, contact),
            None => Answer::state(StatusCode::CONFLICT),
        },
    }
}

/// A PIN was entered to pay.
fn paying(outcome: FormOutcome, open: &OpenLink, view: &LinkView) -> Answer {
    let conflict = |told| Answer::new(StatusCode::CONFLICT, told);
    match outcome {
        FormOutcome::WrongPin { tries_left } => {
            // Another window may have had one since.
            let text = match tries_left.min(open.tries_left).max(1) {
                _ if open.locks_next => format!("Wrong PIN. {}", words::last_before_lock(view)),
                1 => "Wrong PIN. You have 1 try left. One more wrong PIN and we will stop this payment."
                    .to_owned(),
                left => format!("Wrong PIN. You have {} left.", tries(left)),
            };
            Answer::new(StatusCode::UNPROCESSABLE_ENTITY, Told::wrong(FormField::Pin, text))
        }
        FormOutcome::NotAPin { why } => {
            let text = format!("{why}. We did not count this as a try.");
            Answer::new(StatusCode::UNPROCESSABLE_ENTITY, Told::wrong(FormField::Pin, text))
        }
        // The page says it by itself, unless the money has come in since.
        FormOutcome::TooLow if !open.balance_covers => conflict(Told::short(open.missing)),
        FormOutcome::TooLow => {
            let text = "Your wallet has enough money now. You have not paid yet.";
            conflict(Told::note(Tone::Plain, text).then(Then::EnterYourPin))
        }
        // A new day has begun, or the limit is another one.
        FormOutcome::OverLimit { .. } if open.within_daily_limit => {
            let text = "Your daily limit allows this payment now. You have not paid yet.";
            conflict(Told::note(Tone::Plain, text).then(Then::EnterYourPin))
        }
        FormOutcome::OverLimit { over } => {
            let text = "You have not paid: this is over your daily limit.";
            conflict(Told { over: Some(Money(over)), ..Told::note(Tone::Bad, text) })
        }
        FormOutcome::PinChanged => {
            conflict(Told::note(Tone::Bad, "Your PIN was changed just now. Enter the new one."))
        }
        _ => busy(Told::default()),
    }
}

fn busy(told: Told) -> Answer {
    let told = Told { note: Told::note(Tone::Bad, BUSY).note, ..told };
    Answer { retry_after: Some(BUSY_SECONDS), ..Answer::new(StatusCode::TOO_MANY_REQUESTS, told) }
}

/// A code and a new PIN were entered.
fn setting(outcome: FormOutcome, codes: &LinkCodes) -> Answer {
    let refused = |told| Answer::new(StatusCode::UNPROCESSABLE_ENTITY, told);
    let Some(code) = codes.open else {
        return match outcome {
            // By this code, in another window or before.
            _ if codes.set_pin => pin_is_set(),
            FormOutcome::PinIsSet => pin_is_set(),
            FormOutcome::WrongCode { tries_left: 0 } => {
                let text = "Wrong code. That was the last try, so this code no longer works.";
                refused(ask_anew(codes, text))
            }
            FormOutcome::BusySetting { .. } => busy(Told::default().setting()),
            _ => refused(no_code(codes)),
        };
    };
    match outcome {
        FormOutcome::PinIsSet => pin_is_set(),
        FormOutcome::NoCode => refused(no_code(codes)),
        // A new one was sent since.
        FormOutcome::WrongCode { tries_left: 0 } => Answer::new(StatusCode::OK, Told::default().setting()),
        FormOutcome::WrongCode { .. } => {
            let left = tries(code.tries_left);
            let text = format!("Wrong code. You have {left} left. Use the code from your newest message.");
            refused(Told::wrong(FormField::Code, text))
        }
        FormOutcome::NotTheSame { typed: Typed(typed) } => {
            let text = "The two PINs do not match. Enter the same PIN in both boxes.";
            refused(Told::new_pin(text, Some(FormField::NewPinAgain), typed))
        }
        FormOutcome::BadPin { why, typed: Typed(typed) } => {
            refused(Told::new_pin(format!("{why}."), None, typed))
        }
        FormOutcome::BusySetting { typed: Typed(typed_code) } => {
            busy(Told { typed_code, ..Told::default().setting() })
        }
        _ => refused(Told::wrong(FormField::Code, "The code must be 6 digits. Check your message.")),
    }
}

fn pin_is_set() -> Answer {
    Answer::new(StatusCode::CONFLICT, Told::pin_is_set())
}

fn no_code(codes: &LinkCodes) -> Told {
    ask_anew(codes, "This code no longer works. Your PIN was not saved.")
}

/// A new code is needed, which may have to wait.
fn ask_anew(codes: &LinkCodes, text: &str) -> Told {
    let at =
        codes.next_at.filter(|at| codes.used_up.is_none() && codes.open.is_none() && *at < codes.ends_at);
    let from = at.map(|at| clock_after(at, codes.now));
    let told = Told::note(Tone::Bad, text).setting().then(Then::AskForCode { from });
    Told { next_code_at: at, ..told }
}

/// A code was asked for, and none was sent.
fn asking(outcome: FormOutcome, codes: &LinkCodes, view: &LinkView, contact: &str) -> Answer {
    match outcome {
        // A code has done its work since, and no pause comes after that.
        _ if codes.set_lately || (codes.set_pin && codes.used_up.is_none()) => match view {
            LinkView::Open(_) => Answer::new(StatusCode::OK, Told::pin_is_set()),
            _ => Answer::state(StatusCode::OK),
        },
        FormOutcome::NoCodeNow { again_at } if codes.now < Timestamp(again_at) => {
            let again_at = Timestamp(again_at);
            let told = codes::no_code_now(codes, again_at, contact);
            let retry_after = Some(whole_seconds(again_at, codes.now));
            Answer { retry_after, ..Answer::new(StatusCode::TOO_MANY_REQUESTS, told) }
        }
        FormOutcome::CodeNotSent => {
            let told = Told::note(Tone::Bad, codes::not_sent(codes, contact)).setting();
            Answer::new(StatusCode::BAD_GATEWAY, told)
        }
        FormOutcome::CodeDelayed => {
            let text = "Your code is taking longer than usual. We are still trying to send it.";
            Answer::new(StatusCode::BAD_GATEWAY, Told::note(Tone::Plain, text).setting())
        }
        _ if codes.open.is_some() => Answer::new(StatusCode::OK, codes::sent(view)),
        _ => Answer::new(StatusCode::OK, Told::default().setting()),
    }
}
