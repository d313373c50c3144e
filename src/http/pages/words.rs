//! What the payment page says in every state, and with which status.
//!
//! Takes what ops found and makes a page of it; asks nobody and changes nothing. The merchant holds the
//! link too, so no page tells the balance or more of the phone than its last digits. A page that was asked
//! for by a form of its own differs from a plain look by its note alone. Customers read this on small phones:
//! short sentences, what happens to the money first, and what to do next last.

use http::StatusCode;
use zeroize::Zeroizing;

use super::Shown;
use super::form::FormProblem;
use super::page::{
    CodeForm, Field, Note, Page, Row, Shop, Tone, TopupHint, Wrong, clock, left, tries, unbroken, wait,
};
use crate::domain::intent::{CODE_PAUSE, CODE_TRIES, IntentEnd, PLACES};
use crate::domain::message::lagos_time;
use crate::domain::time::Timestamp;
use crate::domain::wallet::WalletStatus;
use crate::ops::wallet_page::{EndedLink, LinkView, OpenCode, OpenLink, Receipt};

const NO_MONEY: &str = "No money has left your wallet.";
/// Told at once, and for as long as that code would have been good.
pub const NOT_SENT: &str = "We could not send your code.";

/// What a form came to, beside the state of the link.
#[derive(Default)]
pub struct Told {
    pub note: Option<Note>,
    pub wrong: Option<Wrong>,
    /// The customer is setting a PIN: the payment itself comes after that.
    pub is_setting: bool,
    /// No code was sent: the next may be asked for then, which the note has told.
    pub next_code_at: Option<Timestamp>,
    /// The code of a form whose PIN has to be chosen anew. It was neither checked nor counted.
    pub typed_code: Option<Zeroizing<String>>,
}

impl Told {
    pub fn note(tone: Tone, text: impl Into<String>) -> Told {
        Told { note: Some(Note::new(tone, text)), ..Told::default() }
    }

    pub fn wrong(field: Field, text: impl Into<String>) -> Told {
        let is_setting = field != Field::Pin;
        Told { wrong: Some(Wrong { field, also: None, text: text.into() }), is_setting, ..Told::default() }
    }

    /// A new PIN that cannot be taken: the cursor is on it, and the code stays.
    pub fn new_pin(text: impl Into<String>, also: Option<Field>, code: Option<Zeroizing<String>>) -> Told {
        let wrong = Some(Wrong { field: Field::NewPin, also, text: text.into() });
        Told { wrong, is_setting: true, typed_code: code, ..Told::default() }
    }

    pub fn setting(self) -> Told {
        Told { is_setting: true, ..self }
    }
}

/// Who asks, and whom a customer turns to.
#[derive(Clone, Copy)]
pub struct Voice<'a> {
    pub form_token: &'a str,
    pub provider: &'a str,
}

/// The state of a link, with `told` on top where it is open.
pub fn link(view: LinkView, told: Told, status: StatusCode, voice: Voice<'_>) -> Shown {
    let page = match view {
        LinkView::NotFound => return not_found(),
        LinkView::Open(open) => self::open(*open, told, voice),
        LinkView::Paid(receipt) => {
            let again = "You have already paid. You will not be charged again.";
            paid(&receipt, Note::new(Tone::Good, again))
        }
        LinkView::Ended(ended) => self::ended(&ended, voice.provider),
    };
    Shown { status, page, retry_after: None }
}

/// The one page for every link that leads nowhere.
pub fn not_found() -> Shown {
    let mut page = Page::bare("We could not find this payment");
    page.paragraphs = vec![
        "The link may be incomplete, or the payment ended a long time ago.".to_owned(),
        "Open the link again from your message. If it still does not work, ask the shop for a new one."
            .to_owned(),
    ];
    Shown { status: StatusCode::NOT_FOUND, page, retry_after: None }
}

/// An open payment and nothing to do with it yet.
fn order(open: &OpenLink, voice: Voice<'_>) -> Page {
    let shop = Shop::new(&open.order);
    let mut page = Page::bare("Confirm your payment");
    page.title = format!("Pay {} to {}", shop.price(), shop.merchant);
    let until = format!("{} ({})", clock(open.expires_at, open.now), left(open.expires_at, open.now));
    page.rows = vec![Row::new("Open until", until)];
    page.shop = Some(shop);
    page.form_token = voice.form_token.to_owned();
    page
}

/// Asks before a payment is cancelled.
pub fn ask_cancel(open: &OpenLink, voice: Voice<'_>) -> Shown {
    let mut page = order(open, voice);
    page.heading = "Cancel this payment?".to_owned();
    page.title = format!("{} {}", page.heading, page.title);
    page.paragraphs = vec![
        "If you cancel, no money leaves your wallet and this link stops working. To pay later, you will need a new link \
         from the shop."
            .to_owned(),
    ];
    page.ask_cancel = true;
    Shown { status: StatusCode::OK, page, retry_after: None }
}

fn open(open: OpenLink, told: Told, voice: Voice<'_>) -> Page {
    let mut page = order(&open, voice);
    page.cancel = true;
    match open.wallet {
        WalletStatus::Suspended => {
            page.heading = "Your wallet is on hold".to_owned();
            page.tone = Some(Tone::Bad);
            let ask =
                format!("{NO_MONEY} You cannot pay from it for now. Contact {} for help.", voice.provider);
            page.paragraphs = vec![ask];
        }
        status if !open.shop_may => {
            page.heading = "You cannot pay this shop right now".to_owned();
            page.tone = Some(Tone::Bad);
            page.paragraphs = vec![format!("{NO_MONEY} Ask the shop what to do next.")];
            page.look_again = Some("Check again");
            // A lock is the wallet's, whoever's link is open.
            if matches!(status, WalletStatus::Locked(_)) {
                let locked = "Your wallet is locked too, because the PIN was wrong too many times.";
                let unlock = unlock(&open, &told).unwrap_or_default();
                page.paragraphs.push(format!("{locked} {unlock}").trim_end().to_owned());
                set_up(&mut page, &open, &told);
            }
        }
        WalletStatus::Locked(until) => {
            page.heading = "Your wallet is locked".to_owned();
            page.tone = Some(Tone::Bad);
            let unlock =
                unlock(&open, &told).map(|how| format!("{how} Or wait: it")).unwrap_or("It".to_owned());
            page.paragraphs = vec![format!(
                "The PIN was wrong too many times, so we locked your wallet to protect your money. {NO_MONEY} {unlock} \
                 unlocks at {}.",
                clock(until, open.now)
            )];
            set_up(&mut page, &open, &told);
        }
        WalletStatus::Active if !open.has_pin => {
            page.heading = "Create your wallet PIN".to_owned();
            page.paragraphs = vec![match open.code {
                None if is_last_code(&open, &told) => format!("You need a PIN to pay. {NO_MONEY}"),
                None => format!(
                    "You need a PIN to pay. We will send a code to {}. Use it to create your PIN, then confirm the \
                     payment. No money leaves your wallet before that.",
                    unbroken(&open.order.masked_phone)
                ),
                Some(_) => "Enter the code from your message and choose a PIN. You confirm the payment in the next step."
                    .to_owned(),
            }];
            set_up(&mut page, &open, &told);
        }
        WalletStatus::Active => payable(&mut page, &open, &told),
    }
    let asks = page.send_code.is_some() || page.reset.is_some() || page.forgot.is_some();
    if open.code_failed && (asks || page.send_hint.is_some()) && told.wrong.is_none() {
        page.note.get_or_insert(Note::new(Tone::Bad, NOT_SENT));
    }
    tell(&mut page, told);
    page
}

/// How a locked wallet is unlocked before its time, if it can be by this link.
fn unlock(open: &OpenLink, told: &Told) -> Option<String> {
    match open.code {
        None if is_last_code(open, told) => None,
        None => {
            let phone = unbroken(&open.order.masked_phone);
            Some(format!("To unlock it now, set a new PIN with a code that we send to {phone}."))
        }
        Some(_) => Some("To unlock it now, set a new PIN with the code from your message.".to_owned()),
    }
}

/// A wallet that may pay, if the PIN is right and the balance covers it.
fn payable(page: &mut Page, open: &OpenLink, told: &Told) {
    if told.is_setting {
        page.heading = "Set a new PIN".to_owned();
        set_up(page, open, told);
        page.look_again = Some("Back to the payment");
        return;
    }
    page.pin = true;
    if open.code.is_some() {
        set_up(page, open, told);
    } else {
        let phone = unbroken(&open.order.masked_phone);
        page.forgot = Some(format!(
            "We will send a code to {phone}. Enter it on this page and choose a new PIN. Your old PIN works until \
             then. No money leaves your wallet."
        ));
    }
    let until = clock(open.expires_at, open.now);
    if !open.balance_covers {
        page.heading = "Your balance is too low".to_owned();
        page.tone = Some(Tone::Bad);
        page.paragraphs = vec![format!(
            "{NO_MONEY} Top up your wallet, then come back here by {until} and enter your PIN to pay."
        )];
        page.topup = Some(TopupHint { open: open.topups.clone() });
    } else if !open.within_daily_limit {
        page.heading = "This is over your daily limit".to_owned();
        page.tone = Some(Tone::Bad);
        page.paragraphs = vec![format!(
            "{NO_MONEY} This payment would take you over the amount that your wallet can spend in one day. Try again after \
             midnight. If this link has expired by then, ask the shop for a new one."
        )];
    } else if open.tries_left < PLACES && told.wrong.is_none() && told.note.is_none() {
        let text = format!("You have {} left to enter your PIN.", tries(open.tries_left));
        page.note = Some(Note::new(Tone::Plain, text));
    }
}

/// The way to a new PIN: the form for a code that was sent, and a button for the next one.
fn set_up(page: &mut Page, open: &OpenLink, told: &Told) {
    if let Some(code) = open.code {
        let tells_tries = told.wrong.is_none() && code.tries_left < CODE_TRIES;
        let hint = code_hint(code, open.now, tells_tries);
        page.code = Some(CodeForm { hint, typed: told.typed_code.clone() });
    }
    let next_at = told.next_code_at.or(open.next_code_at);
    let when = next_at.filter(|_| told.next_code_at.is_none()).map(|at| next_code(open, at));
    if is_last_code(open, told) {
        let then = match open.code {
            Some(_) => "If this code does not work, ask the shop for a new link.",
            None => "To pay, ask the shop for a new link.",
        };
        page.send_hint = Some(when.map_or(then.to_owned(), |when| format!("{when} {then}")));
        return;
    }
    if next_at.is_some_and(|at| at > open.now + CODE_PAUSE) {
        return;
    }
    page.send_hint = match (when, open.code) {
        (Some(when), Some(_)) => Some(format!("{when} Use the newest code.")),
        (None, Some(_)) => Some("A new code replaces the old one. Use the newest code.".to_owned()),
        (when, None) => when,
    };
    match open.code {
        Some(_) => page.send_code = Some("Send me a new code"),
        None if open.has_pin && !told.is_setting => page.reset = Some("Send me a code"),
        None => page.send_code = Some("Send me a code"),
    }
}

/// The next code could only come when the link has ended.
fn is_last_code(open: &OpenLink, told: &Told) -> bool {
    told.next_code_at.or(open.next_code_at).is_some_and(|at| at >= open.expires_at)
}

/// When the next code may be asked for: seconds for a pause, a time for what is longer.
fn next_code(open: &OpenLink, at: Timestamp) -> String {
    if at >= open.expires_at {
        let until = clock(open.expires_at, open.now);
        format!("We cannot send another code before this link expires at {until}.")
    } else if at > open.now + CODE_PAUSE {
        format!("You can ask for another code at {}.", clock(at, open.now))
    } else {
        format!("You can ask for another code in {}.", wait(at, open.now))
    }
}

/// No code was sent now: what became of the one before, and when the next may be asked for. Of two quick taps
/// this answers the second, and a browser shows no other answer.
pub fn no_code_now(open: &OpenLink, again_at: Timestamp) -> Told {
    let (tone, before) = match open.code {
        Some(_) => (Tone::Plain, "We have already sent you a code."),
        None if open.code_failed => (Tone::Bad, NOT_SENT),
        None => (Tone::Bad, ""),
    };
    let text = format!("{before} {}", next_code(open, again_at)).trim_start().to_owned();
    Told { next_code_at: Some(again_at), ..Told::note(tone, text).setting() }
}

fn code_hint(code: OpenCode, now: Timestamp, tells_tries: bool) -> String {
    let until = clock(code.expires_at, now);
    let left =
        if tells_tries { format!(", and you have {} left", tries(code.tries_left)) } else { String::new() };
    format!("6 digits. It works until {until}{left}. Never share it with anyone, including the shop.")
}

fn tell(page: &mut Page, told: Told) {
    let first = told.wrong.as_ref().map(|wrong| &wrong.text).or(told.note.as_ref().map(|note| &note.text));
    if let Some(text) = first {
        // What is read out first.
        page.title = format!("{text} {}", page.title);
    }
    page.wrong = told.wrong;
    page.note = told.note.or(page.note.take());
}

/// A payment that was made, with its receipt.
pub fn paid(receipt: &Receipt, note: Note) -> Page {
    let shop = Shop::new(&receipt.order);
    let mut page = Page::bare("Paid");
    page.title = format!("Paid: {} to {}", shop.price(), shop.merchant);
    page.note = Some(note);
    page.rows =
        vec![Row::at("Paid on", receipt.paid_at), Row::own("Receipt number", receipt.transaction_id.clone())];
    if let Some(at) = receipt.reversed_at {
        page.heading = "Payment returned".to_owned();
        page.title = format!("Returned: {} from {}", shop.price(), shop.merchant);
        page.note = None;
        page.paragraphs = vec!["This payment was reversed. The money is back in your wallet.".to_owned()];
        page.tone = Some(Tone::Plain);
        page.rows.insert(1, Row::at("Returned on", at));
    }
    page.shop = Some(shop);
    page.back = true;
    page
}

fn ended(ended: &EndedLink, provider: &str) -> Page {
    let at = lagos_time(ended.at);
    let (heading, text, tone) = match ended.end {
        IntentEnd::Expired => ("This link has expired", format!("It was open until {at}."), Tone::Plain),
        IntentEnd::WrongPins => {
            let text = "The PIN was wrong too many times, so we stopped this payment to protect your money.";
            ("Payment failed", text.to_owned(), Tone::Bad)
        }
        IntentEnd::Cancelled => {
            ("Payment cancelled", format!("This payment was cancelled on {at}."), Tone::Plain)
        }
        IntentEnd::Rejected => {
            ("Payment stopped", "This payment was stopped before you confirmed it.".to_owned(), Tone::Plain)
        }
        // Paid links are shown with their receipt; this is the rest of a state that cannot be.
        IntentEnd::Paid => ("Payment over", String::new(), Tone::Plain),
    };
    let mut page = Page::bare(heading);
    page.tone = Some(tone);
    let after = match (ended.end, ended.locked_until) {
        (_, Some(until)) => format!(
            "Your wallet is locked until {} because of too many wrong PINs. To pay after that, ask the shop for a new \
             link. To unlock your wallet sooner, contact {provider}.",
            lagos_time(until)
        ),
        (IntentEnd::WrongPins, None) => {
            "To try again, ask the shop for a new link. If you forgot your PIN, you can set \
                                         a new one there."
                .to_owned()
        }
        (_, None) => "Still want to pay? Ask the shop for a new link.".to_owned(),
    };
    page.paragraphs = vec![format!("{text} {NO_MONEY}").trim().to_owned(), after];
    let shop = Shop::new(&ended.order);
    page.title = format!("{heading}: {} to {}", shop.price(), shop.merchant);
    page.shop = Some(shop);
    page.back = true;
    page
}

/// Too many requests from one address, or on one link.
pub fn throttled(seconds: i64) -> Shown {
    let mut page = Page::bare("Please wait a moment");
    let wait = if seconds == 1 { "1 second".to_owned() } else { format!("{seconds} seconds") };
    page.paragraphs = vec![format!(
        "There were too many requests in a short time, so we did not go on with this one. Nothing was charged. Wait \
         {wait}, then open your link again."
    )];
    Shown { status: StatusCode::TOO_MANY_REQUESTS, page, retry_after: Some(seconds) }
}

/// A form that did not come from our page.
pub fn foreign() -> Shown {
    let mut page = Page::bare("Open the payment again");
    page.paragraphs = vec![
        "What you sent did not come from our payment page, so we stopped it to keep you safe. Nothing was charged. Open \
         the payment and try again there."
            .to_owned(),
    ];
    page.look_again = Some("Open the payment");
    Shown { status: StatusCode::FORBIDDEN, page, retry_after: None }
}

pub fn unusable(problem: FormProblem) -> Shown {
    const INCOMPLETE: &str = "We did not receive your form completely.";
    let (status, why) = match problem {
        FormProblem::TooLarge => {
            (StatusCode::PAYLOAD_TOO_LARGE, "Your browser sent more than this page accepts.")
        }
        FormProblem::Slow => (StatusCode::REQUEST_TIMEOUT, INCOMPLETE),
        FormProblem::NotAForm => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "We could not read the form that your browser sent.")
        }
        FormProblem::Broken => (StatusCode::BAD_REQUEST, INCOMPLETE),
    };
    let mut page = Page::bare("Please try again");
    page.paragraphs = vec![format!("{why} Nothing was charged. Open the payment and try again.")];
    page.look_again = Some("Open the payment");
    Shown { status, page, retry_after: None }
}

/// The database was away, or something is broken; what a form came to is then not known.
pub fn trouble(status: StatusCode, seconds: Option<i64>) -> Shown {
    let mut page = Page::bare("Something went wrong on our side");
    page.paragraphs = vec![
        "We are sorry. Open the payment again in a moment to see whether you have paid. You cannot be charged twice."
            .to_owned(),
    ];
    page.look_again = Some("Open the payment");
    Shown { status, page, retry_after: seconds }
}
