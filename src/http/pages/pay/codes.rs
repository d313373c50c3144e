//! What the page says about one-time codes: the form for one that was sent, the button for the next, and when
//! no code can be sent.
//!
//! A look tells about the codes of this link, and whether those of the wallet are used up. Anything about other
//! links of the same wallet is told only to somebody who asked for a code, and never which links they are.

use super::figures::{at_clock, clock, clock_after, tries, unbroken};
use super::page::{CodeForm, Page, Tone};
use super::told::Told;
use crate::domain::intent::{CODE_PAUSE, CODE_TRIES};
use crate::domain::message::with_stop;
use crate::domain::time::{Span, Timestamp};
use crate::ops::wallet_payments::link_codes::{LinkCodes, OpenCode, UsedUp};
use crate::ops::wallet_payments::page::LinkView;

/// Told at once, and for as long as that code would have been valid.
const NOT_SENT: &str = "We could not send your code.";
/// To who asks on another link.
const ELSEWHERE: &str = "The code we just sent works only on the payment page where you asked for it.";

/// Where the code of this very link can be entered: that it was sent, and to whom; after that, that it has done its
/// work.
pub fn sent(view: &LinkView) -> Told {
    let (codes, order) = match view {
        LinkView::Open(open) => (Some(&open.codes), &open.order),
        LinkView::Ended(ended) => (ended.codes.as_ref(), &ended.order),
        LinkView::NotFound | LinkView::Paid(_) => return Told::default(),
    };
    let Some(codes) = codes else { return Told::default() };
    if codes.open.is_none() {
        let is_open = matches!(view, LinkView::Open(_));
        return if codes.set_pin && is_open { Told::pin_is_set() } else { Told::default() };
    }
    let soon = if codes.next_at.is_some() { " It can take a minute to arrive." } else { "" };
    let text = format!("We sent a code to {}.{soon}", unbroken(&order.masked_phone));
    Told::note(Tone::Good, text).setting()
}

/// No code came of it, and what to do.
pub fn not_sent(codes: &LinkCodes, contact: &str) -> String {
    let then = match codes.next_at {
        _ if !may_ask(codes, &Told::default()) => return NOT_SENT.to_owned(),
        Some(_) => "Wait a minute, then ask again.",
        None => "Ask again.",
    };
    with_stop(format!("{NOT_SENT} {then} If it happens again, contact {contact}"))
}

/// The way to a new PIN: the form for a code that was sent, and a button for the next one.
pub fn set_up(page: &mut Page, codes: &LinkCodes, has_pin: bool, told: &Told) {
    if let Some(code) = codes.open {
        let tells_tries = told.wrong.is_none() && code.tries_left < CODE_TRIES;
        let hint = code_hint(code, codes.now, tells_tries);
        let then = match has_pin {
            // The page begins with what comes after it.
            _ if page.over => None,
            true => Some("This only saves your PIN. You confirm the payment in the next step."),
            // The page begins with it.
            false => None,
        };
        page.code = Some(CodeForm { hint, then, typed: told.typed_code.clone(), unlocks: false });
    }
    // Told on every link of the wallet, because nobody is helped by a button that fails.
    if let Some(used_up) = &codes.used_up {
        page.send_hint = told.next_code_at.is_none().then(|| no_more(codes, used_up));
        return;
    }
    let has_slipped = told.wrong.is_some();
    let next = next_at(codes, told).filter(|_| told.next_code_at.is_none());
    let when = next.map(|at| next_code(codes, at, has_slipped));
    page.send_later = next_at(codes, told).is_some_and(|at| at > codes.now);
    if is_last_code(codes, told) {
        let then = match codes.open {
            Some(_) => "If this code does not work, ask the shop for a new link.",
            None => "To pay, ask the shop for a new link.",
        };
        page.send_hint = Some(when.map_or(then.to_owned(), |when| format!("{when} {then}")));
        return;
    }
    if next_at(codes, told).is_some_and(|at| at > codes.now + CODE_PAUSE) {
        return;
    }
    if codes.open.is_some() || !codes.failed {
        page.send_hint = send_hint(codes, told, when);
    }
    match codes.open {
        Some(_) => page.send_code = Some("Send a new code"),
        None if has_pin && !told.is_setting => page.reset = Some("Send a code"),
        None => page.send_code = Some("Send a code"),
    }
}

/// When the next code may be asked for, and which one counts. That none was sent, a note tells.
fn send_hint(codes: &LinkCodes, told: &Told, when: Option<String>) -> Option<String> {
    match (when, codes.open) {
        // Who has a code in hand does not wait for one.
        (Some(when), Some(_)) if told.wrong.is_none() => Some(format!("{when} Only the newest code works.")),
        (None, Some(_)) => Some("A new code replaces the old one.".to_owned()),
        (when, _) => when,
    }
}

/// What comes before a code is sent to somebody who forgot the PIN, or that none can be sent.
pub fn forgot(page: &mut Page, codes: &LinkCodes, masked_phone: &str) {
    match &codes.used_up {
        Some(used_up) => page.send_hint = Some(format!("Forgot your PIN? {}", no_more(codes, used_up))),
        None => {
            page.forgot = Some(format!(
                "We will send a code to {}. Enter it on this page and choose a new PIN. Your old PIN works until \
                 then. No money leaves your wallet.",
                unbroken(masked_phone)
            ));
        }
    }
}

/// How a locked wallet is unlocked before its time, if it can be by this link now.
pub fn unlock(codes: &LinkCodes, told: &Told, masked_phone: &str) -> Option<String> {
    match codes.open {
        None if !may_ask(codes, told) => None,
        None => {
            let phone = unbroken(masked_phone);
            Some(format!("To unlock it now, set a new PIN with a code that we send to {phone}."))
        }
        Some(_) => Some("To unlock it now, set a new PIN with the code from your message.".to_owned()),
    }
}

/// A code may be asked for, now or after a pause.
pub fn may_ask(codes: &LinkCodes, told: &Told) -> bool {
    codes.used_up.is_none() && !is_last_code(codes, told)
}

/// When the pause ends; nothing is promised that the limits forbid.
fn next_at(codes: &LinkCodes, told: &Told) -> Option<Timestamp> {
    told.next_code_at.or(codes.next_at).filter(|_| codes.used_up.is_none())
}

/// The next code could only come when the link has ended.
fn is_last_code(codes: &LinkCodes, told: &Told) -> bool {
    next_at(codes, told).is_some_and(|at| at >= codes.ends_at)
}

/// When the next code may be asked for, by the clock: nothing on the page counts down.
fn next_code(codes: &LinkCodes, at: Timestamp, has_slipped: bool) -> String {
    if at >= codes.ends_at {
        let another = if codes.failed { "a" } else { "another" };
        let until = at_clock(codes.ends_at, codes.now);
        format!("We cannot send {another} code before this link expires {until}.")
    } else if codes.open.is_some() && at <= codes.now + CODE_PAUSE && !has_slipped {
        format!("No code yet? You can get a new one from {}.", clock_after(at, codes.now))
    } else {
        format!("You can get a new code from {}.", clock_after(at, codes.now))
    }
}

/// The codes of the hour or the day are used up. A new link before then would have none either.
fn no_more(codes: &LinkCodes, used_up: &UsedUp) -> String {
    let window = if used_up.window > Span::hours(1) { "a day" } else { "an hour" };
    let again = match codes.open {
        Some(_) => "If this code does not work, you can get another",
        None => "You can get another",
    };
    let at = clock_after(used_up.again_at, codes.now);
    let then = if used_up.again_at < codes.ends_at { "" } else { " Ask the shop for a new link after that." };
    format!("You have had {} codes in {window}. {again} from {at}.{then}", used_up.count)
}

/// No code was sent now: what became of the one before, and when the next may be asked for. Of two quick taps
/// this answers the second, and a browser shows no other answer.
pub fn no_code_now(codes: &LinkCodes, again_at: Timestamp, contact: &str) -> Told {
    let when = match &codes.used_up {
        Some(used_up) => no_more(codes, used_up),
        None if codes.sent_elsewhere && again_at < codes.ends_at => {
            format!("Use it there, or get one here from {}.", clock_after(again_at, codes.now))
        }
        None => next_code(codes, again_at, false),
    };
    let (tone, before) = match codes.open {
        Some(_) => (Tone::Plain, "We have already sent you a code."),
        None if codes.failed && codes.used_up.is_none() => {
            let told = Told::note(Tone::Bad, not_sent(codes, contact)).setting();
            return Told { next_code_at: Some(again_at), ..told };
        }
        None if codes.failed => (Tone::Bad, NOT_SENT),
        None if codes.sent_elsewhere => (Tone::Plain, ELSEWHERE),
        None => (Tone::Plain, ""),
    };
    let text = format!("{before} {when}").trim_start().to_owned();
    Told { next_code_at: Some(again_at), ..Told::note(tone, text).setting() }
}

fn code_hint(code: OpenCode, now: Timestamp, tells_tries: bool) -> String {
    let until = clock(code.expires_at, now);
    let left =
        if tells_tries { format!(", and you have {} left", tries(code.tries_left)) } else { String::new() };
    format!("6 digits. It works until {until}{left}. Never share it with anyone, including the shop.")
}
