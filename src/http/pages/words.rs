//! What the payment page says in every state, and with which status.
//!
//! Takes what ops found and makes a page of it; asks nobody and changes nothing. The merchant holds the
//! link too, so no page tells the balance or more of the phone than its last digits. A page that was asked
//! for by a form of its own differs from a plain look by its note alone.

use http::StatusCode;

use super::Shown;
use super::form::FormProblem;
use super::page::{
    CodeForm, Field, Note, Page, Row, Shop, Tone, TopupHint, Wrong, clock, left, tries, unbroken,
};
use crate::domain::intent::{IntentEnd, PLACES};
use crate::domain::message::lagos_time;
use crate::domain::time::Timestamp;
use crate::domain::wallet::WalletStatus;
use crate::ops::wallet_page::{EndedLink, LinkView, OpenCode, OpenLink, Receipt};

const NO_MONEY: &str = "No money has left your wallet.";

/// What a form came to, beside the state of the link.
#[derive(Default)]
pub struct Told {
    pub note: Option<Note>,
    pub wrong: Option<Wrong>,
    /// The customer is setting a PIN: the payment itself comes after that.
    pub is_setting: bool,
    /// No further code is to be had now.
    pub no_more_codes: bool,
}

impl Told {
    pub fn note(tone: Tone, text: impl Into<String>) -> Told {
        Told { note: Some(Note::new(tone, text)), ..Told::default() }
    }

    pub fn wrong(field: Field, text: impl Into<String>) -> Told {
        let is_setting = field != Field::Pin;
        Told { wrong: Some(Wrong { field, text: text.into() }), is_setting, ..Told::default() }
    }

    pub fn setting(self) -> Told {
        Told { is_setting: true, ..self }
    }
}

/// The state of a link, with `told` on top where it is open.
pub fn link(view: LinkView, told: Told, status: StatusCode, form_token: &str) -> Shown {
    let page = match view {
        LinkView::NotFound => return not_found(),
        LinkView::Open(open) => self::open(*open, told, form_token),
        LinkView::Paid(receipt) => {
            let again = "Already paid. Nothing more is due, and it cannot be paid twice.";
            paid(&receipt, Note::new(Tone::Good, again))
        }
        LinkView::Ended(ended) => self::ended(&ended),
    };
    Shown { status, page, retry_after: None }
}

/// The one page for every link that leads nowhere.
pub fn not_found() -> Shown {
    let mut page = Page::bare("This link leads nowhere");
    page.paragraphs = vec![
        "It may be incomplete, or the payment is long over.".to_owned(),
        "Open the link again from the message you got. If it still does not work, ask the shop for a new one."
            .to_owned(),
    ];
    Shown { status: StatusCode::NOT_FOUND, page, retry_after: None }
}

fn open(open: OpenLink, told: Told, form_token: &str) -> Page {
    let shop = Shop::new(&open.order);
    let mut page = Page::bare("Confirm your payment");
    page.title = format!("Pay {} to {}", shop.price(), shop.merchant);
    let until = format!("{} Lagos time,", clock(open.expires_at, open.now));
    page.rows = vec![Row::new("Open until", until).and(left(open.expires_at, open.now))];
    page.shop = Some(shop);
    page.form_token = form_token.to_owned();
    page.cancel = true;
    match open.wallet {
        WalletStatus::Suspended => {
            page.heading = "Your wallet is suspended".to_owned();
            page.tone = Some(Tone::Bad);
            page.paragraphs = vec![format!("It cannot pay now. {NO_MONEY} Ask your wallet's operator.")];
        }
        status if !open.shop_may => {
            page.heading = "This payment cannot be confirmed now".to_owned();
            page.tone = Some(Tone::Bad);
            page.paragraphs = vec![format!("{NO_MONEY} Ask the shop.")];
            page.look_again = Some("Look again");
            // A lock is the wallet's, whoever's link is open.
            if matches!(status, WalletStatus::Locked(_)) {
                set_up(&mut page, &open, &told);
            }
        }
        WalletStatus::Locked(until) => {
            page.heading = "Your wallet is locked".to_owned();
            page.tone = Some(Tone::Bad);
            let until = clock(until, open.now);
            page.paragraphs = vec![format!(
                "There were too many wrong PINs. {NO_MONEY} The lock ends at {until}, Lagos time, or at once if you \
                 set a new PIN with a code that we send to {}.",
                unbroken(&open.order.masked_phone)
            )];
            set_up(&mut page, &open, &told);
        }
        WalletStatus::Active if !open.has_pin => {
            page.heading = "Choose a PIN to pay".to_owned();
            let phone = unbroken(&open.order.masked_phone);
            page.paragraphs = vec![match open.code {
                None => format!(
                    "Your wallet has no PIN yet. We send a code to {phone}; with it you choose your PIN. That does not \
                     pay yet."
                ),
                Some(_) => {
                    format!("Your wallet has no PIN yet. Choose one with the code that we sent to {phone}.")
                }
            }];
            set_up(&mut page, &open, &told);
        }
        WalletStatus::Active => payable(&mut page, &open, &told),
    }
    tell(&mut page, told);
    page
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
        page.reset = Some("Forgot your PIN? Set a new one");
    }
    if !open.balance_covers {
        page.heading = "Your balance is too low".to_owned();
        page.tone = Some(Tone::Bad);
        page.paragraphs = vec![format!("{NO_MONEY} Top up your wallet, then confirm here with your PIN.")];
        page.topup = Some(TopupHint { open: open.topups.clone() });
    } else if !open.within_daily_limit {
        page.heading = "Over today's limit".to_owned();
        page.tone = Some(Tone::Bad);
        page.paragraphs = vec![format!(
            "This amount is more than your wallet may still pay out today. {NO_MONEY} A new day begins at midnight, \
             Lagos time; if the link is no longer open then, ask the shop for a new one."
        )];
    } else if open.tries_left < PLACES && told.wrong.is_none() && told.note.is_none() {
        page.note = Some(Note::new(Tone::Plain, format!("You have {} left.", tries(open.tries_left))));
    }
}

/// The way to a new PIN: the form for a code that was sent, and a button for the next one.
fn set_up(page: &mut Page, open: &OpenLink, told: &Told) {
    if let Some(code) = open.code {
        page.code = Some(CodeForm { hint: code_hint(code, open.now) });
    }
    match (&open.code, told) {
        (_, Told { no_more_codes: true, .. }) => {}
        (Some(_), _) => page.send_code = Some("Send me a new code"),
        (None, Told { is_setting: false, .. }) if open.has_pin => {
            page.reset = Some("Set a new PIN with a code")
        }
        (None, _) => page.send_code = Some("Send me a code"),
    }
}

fn code_hint(code: OpenCode, now: Timestamp) -> String {
    format!(
        "6 digits, good until {} Lagos time, {} left. Never give it to anybody, not to the shop either.",
        clock(code.expires_at, now),
        tries(code.tries_left)
    )
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
        vec![Row::at("Paid on", receipt.paid_at), Row::new("Receipt", receipt.transaction_id.clone())];
    if let Some(at) = receipt.reversed_at {
        page.heading = "Paid, and paid back".to_owned();
        page.title = format!("Paid back: {} from {}", shop.price(), shop.merchant);
        page.note = None;
        page.paragraphs =
            vec!["This payment was taken back, and the money is in your wallet again.".to_owned()];
        page.tone = Some(Tone::Plain);
        page.rows.push(Row::at("Paid back on", at));
    }
    page.shop = Some(shop);
    page
}

fn ended(ended: &EndedLink) -> Page {
    let at = lagos_time(ended.at);
    let (heading, text, tone) = match ended.end {
        IntentEnd::Expired => {
            ("This link has expired", format!("It was open until {at}, Lagos time."), Tone::Plain)
        }
        IntentEnd::WrongPins => ("Payment failed", "The PIN was wrong too often.".to_owned(), Tone::Bad),
        IntentEnd::Cancelled => {
            ("Payment cancelled", format!("It was cancelled on {at}, Lagos time."), Tone::Plain)
        }
        IntentEnd::Rejected => {
            ("Payment stopped", "It was stopped before you confirmed it.".to_owned(), Tone::Plain)
        }
        // Paid links are shown with their receipt; this is the rest of a state that cannot be.
        IntentEnd::Paid => ("Payment over", String::new(), Tone::Plain),
    };
    let mut page = Page::bare(heading);
    page.tone = Some(tone);
    let after = match (ended.end, ended.locked_until) {
        (_, Some(until)) => format!(
            "Your wallet is locked after too many wrong PINs, until {}, Lagos time. To pay after all, ask the shop for \
             a new link then, or your wallet's operator to end the lock.",
            lagos_time(until)
        ),
        (IntentEnd::WrongPins, None) => {
            "To pay after all, ask the shop for a new link; there you can also set a new \
                                         PIN, if you forgot yours."
                .to_owned()
        }
        (_, None) => "To pay after all, ask the shop for a new link.".to_owned(),
    };
    page.paragraphs = vec![format!("{text} {NO_MONEY}").trim().to_owned(), after];
    let shop = Shop::new(&ended.order);
    page.title = format!("{heading}: {} to {}", shop.price(), shop.merchant);
    page.shop = Some(shop);
    page
}

/// Too many requests from one address, or on one link.
pub fn throttled(seconds: i64) -> Shown {
    let mut page = Page::bare("Too many requests");
    page.paragraphs = vec![format!(
        "There were too many requests in a short time. Nothing was done. Wait {seconds} seconds, then open the link again."
    )];
    Shown { status: StatusCode::TOO_MANY_REQUESTS, page, retry_after: Some(seconds) }
}

/// A form that did not come from our page.
pub fn foreign() -> Shown {
    let mut page = Page::bare("This did not come from our page");
    page.paragraphs = vec![format!(
        "To be safe, nothing was done. {NO_MONEY} Open the link from your message and try again there."
    )];
    page.look_again = Some("Open the payment");
    Shown { status: StatusCode::FORBIDDEN, page, retry_after: None }
}

pub fn unusable(problem: FormProblem) -> Shown {
    let (status, why) = match problem {
        FormProblem::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "The form was too large."),
        FormProblem::Slow => (StatusCode::REQUEST_TIMEOUT, "The form did not arrive in time."),
        FormProblem::NotAForm => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "What came was not a form."),
        FormProblem::Broken => (StatusCode::BAD_REQUEST, "The form was not complete."),
    };
    let mut page = Page::bare("That did not work");
    page.paragraphs = vec![format!("{why} Nothing was done.")];
    page.look_again = Some("Open the payment again");
    Shown { status, page, retry_after: None }
}

/// The database was away, or something is broken; what a form came to is then not known.
pub fn trouble(status: StatusCode, seconds: Option<i64>) -> Shown {
    let mut page = Page::bare("We could not finish this");
    page.paragraphs = vec![
        "Something is wrong on our side.".to_owned(),
        "Open the page again in a moment: it shows whether the payment was made. It cannot be paid twice."
            .to_owned(),
    ];
    page.look_again = Some("Open the payment again");
    Shown { status, page, retry_after: seconds }
}
