//! What the payment page says in every state, and with which status.
//!
//! It makes a page of what ops found; it reads no database and changes nothing. The merchant has the link too.
//! So no page tells the balance, or more of the phone than its last digits. Only the answer to a right PIN
//! tells how much is missing. A page after a form differs from a plain look only by its note. Customers read
//! this on small phones: short sentences, what happens to the money first, and what to do next last.

use http::StatusCode;

use super::PageState;
use super::codes::{forgot, may_ask, not_sent, set_up, unlock};
use super::figures::{at_clock_after, clock, clock_after, left, moment, tries, unbroken};
use super::form::FormProblem;
use super::page::{FormField, Note, Page, Row, Shop, Tone, TopupHint};
use super::told::{Then, Told};
use crate::domain::intent::{IntentEnd, PLACES};
use crate::domain::message::with_stop;
use crate::domain::money::{Money, naira};
use crate::domain::time::{Span, Timestamp};
use crate::domain::wallet::{LOCKED_FOR, WalletStatus};
use crate::ops::wallet_payments::page::{EndedLink, LinkView, OpenLink, Receipt};

const NO_MONEY: &str = "No money has left your wallet.";
const NOT_CHANGED: &str = "This did not change your payment. Open it to see where it stands.";
const PIN_SET: &str = "Your PIN is set. You have not paid yet.";
/// Within this time, whoever looks has most likely just paid.
const JUST_PAID: Span = Span::minutes(10);

/// What every state of the page needs beside itself: the token of its forms, and whom a customer turns to.
#[derive(Clone, Copy)]
pub struct PageContext<'a> {
    pub form_token: &'a str,
    pub contact: &'a str,
}

/// The state of a link, with `told` on top where it is open.
pub fn link(view: LinkView, told: Told, status: StatusCode, context: PageContext<'_>) -> PageState {
    let page = match view {
        LinkView::NotFound => return not_found(),
        LinkView::Open(open) => self::open(*open, told, context),
        LinkView::Paid(receipt) => paid(&receipt),
        LinkView::Ended(ended) => self::ended(&ended, told, context),
    };
    PageState::new(status, page)
}

/// The one page for every link that leads nowhere.
pub fn not_found() -> PageState {
    let mut page = Page::bare("We could not find this payment");
    page.paragraphs = vec![
        "The link may be incomplete, or the payment ended a long time ago.".to_owned(),
        "Open the link again from your message. If it still does not work, ask the shop for a new one."
            .to_owned(),
    ];
    PageState::new(StatusCode::NOT_FOUND, page)
}

/// A link to the look with this query, which shows the result of a form. For browsers that do not follow the
/// redirect.
pub fn see(query: &str) -> PageState {
    let page = Page::lead("Open the payment", Vec::new());
    PageState { leads_to: query.to_owned(), ..PageState::new(StatusCode::SEE_OTHER, page) }
}

/// An open payment and nothing to do with it yet.
fn order(open: &OpenLink, context: PageContext<'_>) -> Page {
    let shop = Shop::new(&open.order);
    let mut page = Page::bare("Confirm your payment");
    page.title = format!("Pay {} to {}", shop.price(), shop.merchant);
    let until = format!("{} ({})", clock(open.expires_at, open.now), left(open.expires_at, open.now));
    page.rows = Vec::with_capacity(3);
    if let Some(charges) = open.order.charges {
        let order = Money(open.order.amount.kobo() - charges.kobo());
        page.rows.extend([Row::new("Order amount", naira(order)), Row::new("Charges", naira(charges))]);
        page.including = Some(format!("including charges of {}", naira(charges)));
    }
    page.rows.push(Row::new("Pay before", until));
    page.shop = Some(shop);
    page.form_token = context.form_token.to_owned();
    page
}

/// Asks before a payment is cancelled.
pub fn ask_cancel(open: &OpenLink, context: PageContext<'_>) -> PageState {
    let mut page = order(open, context);
    page.heading = "Cancel this payment?".to_owned();
    page.title = format!("{} {} to {}", page.heading, naira(open.order.amount), page.merchant());
    page.paragraphs = vec![
        "If you cancel, no money leaves your wallet and this link stops working. To pay later, you will need a new link \
         from the shop."
            .to_owned(),
    ];
    page.ask_cancel = true;
    PageState::new(StatusCode::OK, page)
}

fn open(open: OpenLink, mut told: Told, context: PageContext<'_>) -> Page {
    let mut page = order(&open, context);
    page.cancel = true;
    match open.wallet {
        WalletStatus::Suspended => {
            page.heading = "Your wallet is on hold".to_owned();
            page.tone = Some(Tone::Bad);
            let ask =
                format!("{NO_MONEY} You cannot pay from it for now. Contact {} for help.", context.contact);
            page.paragraphs = vec![ask];
            ways_on(&mut page);
        }
        status if !open.shop_may => {
            page.heading = "You cannot pay this shop right now".to_owned();
            page.tone = Some(Tone::Bad);
            page.paragraphs = vec![format!("{NO_MONEY} Try again later, or pay another way.")];
            ways_on(&mut page);
            // A lock is the wallet's, whoever's link is open.
            if matches!(status, WalletStatus::Locked(_)) {
                let locked = "Your wallet is locked too, because the PIN was wrong too many times.";
                let unlock = unlock(&open.codes, &told, &open.order.masked_phone).unwrap_or_default();
                page.paragraphs.push(format!("{locked} {unlock}").trim_end().to_owned());
                set_up(&mut page, &open.codes, open.has_pin, &told);
            }
        }
        WalletStatus::Locked(until) => {
            page.heading = "Your wallet is locked".to_owned();
            page.tone = Some(Tone::Bad);
            let unlock = unlock(&open.codes, &told, &open.order.masked_phone)
                .map_or("It".to_owned(), |how| format!("{how} Or wait: it"));
            let then = if until < open.expires_at { "" } else { " You will need a new link then." };
            page.paragraphs = vec![format!(
                "The PIN was wrong too many times, so we locked your wallet to protect your money. {NO_MONEY} {unlock} \
                 unlocks {}.{then}",
                at_clock_after(until, open.now)
            )];
            set_up(&mut page, &open.codes, open.has_pin, &told);
            ask_first(&mut page, "Send a code to unlock");
        }
        WalletStatus::Active if !open.has_pin => {
            page.heading = "Create your wallet PIN".to_owned();
            page.paragraphs = vec![match open.codes.open {
                None if !may_ask(&open.codes, &told) => format!("You need a PIN to pay. {NO_MONEY}"),
                None => format!(
                    "You need a PIN to pay. We will send a code to {}. Use it to create your PIN, then confirm the \
                     payment. No money leaves your wallet before that.",
                    unbroken(&open.order.masked_phone)
                ),
                Some(_) => "Enter the code from your message and choose a PIN. You confirm the payment in the next step."
                    .to_owned(),
            }];
            set_up(&mut page, &open.codes, open.has_pin, &told);
        }
        WalletStatus::Active => payable(&mut page, &open, &mut told, context),
    }
    // What cannot be paid at this step is not titled so.
    if !page.pin || page.tone == Some(Tone::Bad) {
        page.title = format!("{}: {} to {}", page.heading, naira(open.order.amount), page.merchant());
    }
    let asks = page.send_code.is_some() || page.reset.is_some() || page.forgot.is_some();
    if open.codes.failed && (asks || page.send_hint.is_some()) && told.wrong.is_none() {
        page.note.get_or_insert(Note::new(Tone::Bad, not_sent(Some(&open.codes))));
    }
    tell(&mut page, told);
    page
}

/// For a customer who cannot pay now: to look again and to leave, next to cancelling.
fn ways_on(page: &mut Page) {
    page.look_again = Some("Check again");
    page.back = true;
}

/// The button for a code comes right below the text that leads to it, and says what it is for.
fn ask_first(page: &mut Page, text: &'static str) {
    page.ask_first = page.code.is_none();
    if page.code.is_none() {
        page.reset = page.reset.map(|_| text);
    }
}

/// A wallet that may pay, if the PIN is right and the balance covers it.
fn payable(page: &mut Page, open: &OpenLink, told: &mut Told, context: PageContext<'_>) {
    if told.is_setting {
        page.heading = "Set a new PIN".to_owned();
        if open.codes.open.is_some() {
            page.paragraphs = vec!["Enter the code from your message and choose a new PIN.".to_owned()];
        } else if may_ask(&open.codes, told) {
            let phone = unbroken(&open.order.masked_phone);
            page.paragraphs = vec![format!("We will send a code to {phone}. Use it to choose a new PIN.")];
        }
        set_up(page, &open.codes, open.has_pin, told);
        page.look_again = Some("Back to the payment");
        return;
    }
    // What no PIN can change while the link is open asks for none.
    page.pin = open.within_daily_limit || !ends_today(open);
    if open.codes.open.is_some() {
        set_up(page, &open.codes, open.has_pin, told);
    } else if page.pin {
        forgot(page, &open.codes, &open.order.masked_phone);
    }
    let until = clock(open.expires_at, open.now);
    if !open.within_daily_limit && (open.balance_covers || !page.pin) {
        page.heading = "This is over your daily limit".to_owned();
        page.tone = Some(Tone::Bad);
        let then = match page.pin {
            false => "Ask the shop for a new link after midnight, or for a smaller amount.".to_owned(),
            true => {
                format!("Try again after midnight, before {until}. Or ask the shop for a smaller amount.")
            }
        };
        let why = told.short.map_or_else(
            || {
                "This payment would take you over the amount that your wallet can spend in one day."
                    .to_owned()
            },
            |over| format!("This payment is {} over what you can still spend today.", unbroken(&naira(over))),
        );
        page.paragraphs = vec![format!("{NO_MONEY} {why} {then}")];
        ways_on(page);
    } else if !open.balance_covers {
        page.heading = "Your balance is too low".to_owned();
        page.tone = Some(Tone::Bad);
        let missing = told
            .short
            .map(|missing| format!("You need {} more. ", unbroken(&naira(missing))))
            .unwrap_or_default();
        page.paragraphs = vec![format!(
            "You have not paid. {NO_MONEY} {missing}Top up your wallet, then come back here by {until} and enter your \
             PIN to pay."
        )];
        let (now, contact) = (open.now, context.contact.to_owned());
        page.topup = Some(TopupHint { open: open.topups.clone(), now, until: Some(until), contact });
    } else if open.codes.set_pin && told.is_look() {
        let tries = if open.tries_left < PLACES { tries_left(open) } else { String::new() };
        told.note = Some(Note::new(Tone::Good, format!("{PIN_SET} {tries}").trim_end()));
    } else if open.tries_left < PLACES && told.wrong.is_none() && told.note.is_none() {
        page.note = Some(Note::new(Tone::Plain, tries_left(open)));
    }
}

/// After a wrong PIN, when the next one locks the wallet. A lock lasts 24 hours, so its
/// end is told by the time of day.
pub fn last_before_lock(view: &LinkView) -> String {
    let LinkView::Open(open) = view else { return String::new() };
    let at = clock_after(open.now + LOCKED_FOR, open.now);
    let at = at.rsplit(' ').next().unwrap_or_default();
    let forgot = match open.codes.open {
        Some(_) => " Not sure? Use your code for a new PIN below.",
        None if may_ask(&open.codes, &Told::default()) => " Not sure? Use “Forgot your PIN?” below.",
        None => "",
    };
    format!("One more wrong PIN locks your wallet until tomorrow, {at}.{forgot}")
}

fn tries_left(open: &OpenLink) -> String {
    format!("You have {} left to enter your PIN.", tries(open.tries_left))
}

/// The link ends before a new day begins.
fn ends_today(open: &OpenLink) -> bool {
    Timestamp(open.expires_at.0 - 1).lagos_day() <= open.now.lagos_day()
}

fn tell(page: &mut Page, mut told: Told) {
    // Of a field that is no longer there nothing is wrong.
    told.wrong = told.wrong.filter(|wrong| match wrong.field {
        FormField::Pin => page.pin,
        FormField::Code | FormField::NewPin | FormField::NewPinAgain => page.code.is_some(),
    });
    if let Some(note) = &mut told.note {
        let asks = page.send_code.is_some() || page.reset.is_some() || page.forgot.is_some();
        match &told.then {
            Some(Then::AskForCode { from: Some(from) }) if asks => {
                note.text.push_str(&format!(" Ask for a new one from {from}."));
            }
            Some(Then::AskForCode { from: None }) if asks => note.text.push_str(" Ask for a new one."),
            Some(Then::EnterPin) if page.pin => note.text.push_str(" Enter it to pay."),
            _ => {}
        }
    }
    let first = told.wrong.as_ref().map(|wrong| &wrong.text).or(told.note.as_ref().map(|note| &note.text));
    // What is read out first.
    if let Some(text) = first {
        page.title = format!("{text} {}", page.title);
    }
    page.wrong = told.wrong;
    page.note = told.note.or(page.note.take());
}

/// A payment that was made, with its receipt.
fn paid(receipt: &Receipt) -> Page {
    let text = if receipt.now < receipt.paid_at + JUST_PAID {
        let phone = unbroken(&receipt.order.masked_phone);
        format!("Your payment is complete. We are sending your receipt to {phone}.")
    } else {
        "You have already paid. You will not be charged again.".to_owned()
    };
    let shop = Shop::new(&receipt.order);
    let mut page = Page::bare("Paid");
    page.title = format!("Paid: {} to {}", shop.price(), shop.merchant);
    page.note = Some(Note::new(Tone::Good, text));
    page.rows =
        vec![Row::at("Paid on", receipt.paid_at), Row::own("Receipt number", receipt.transaction_id.clone())];
    if let Some(at) = receipt.reversed_at {
        page.heading = "Payment refunded".to_owned();
        page.title = format!("Refunded: {} from {}", shop.price(), shop.merchant);
        page.note = None;
        page.paragraphs = vec!["This payment was refunded. The money is back in your wallet.".to_owned()];
        page.tone = Some(Tone::Plain);
        page.rows.insert(1, Row::at("Refunded on", at));
    }
    if shop.website.is_none() {
        page.paragraphs.push("You can close this page.".to_owned());
    }
    if let Some(charges) = receipt.order.charges {
        page.including = Some(format!("including charges of {}", naira(charges)));
    }
    page.shop = Some(shop);
    page.back = true;
    page
}

fn ended(ended: &EndedLink, told: Told, context: PageContext<'_>) -> Page {
    let at = moment(ended.at);
    let (heading, text, tone) = match ended.end {
        IntentEnd::Expired => ("This link has expired", format!("The link worked until {at}."), Tone::Plain),
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
    let phone = &ended.order.masked_phone;
    let unlock =
        ended.codes.as_ref().filter(|codes| !codes.used).and_then(|codes| unlock(codes, &told, phone));
    let after = match (ended.end, ended.locked_until) {
        (_, Some(until)) => format!(
            "Your wallet is locked until {} because of too many wrong PINs. To pay after that, ask the shop for a new \
             link. {}",
            clock_after(until, ended.now),
            unlock.unwrap_or(with_stop(format!("To unlock your wallet sooner, contact {}", context.contact)))
        ),
        (IntentEnd::WrongPins, None) if ended.codes.as_ref().is_some_and(|codes| !codes.used) => {
            "To try again, ask the shop for a new link. If you forgot your PIN, set a new one here first."
                .to_owned()
        }
        (IntentEnd::WrongPins, None) => "To try again, ask the shop for a new link.".to_owned(),
        (_, None) => "Still want to pay? Ask the shop for a new link.".to_owned(),
    };
    page.paragraphs = vec![format!("{text} {NO_MONEY}").trim().to_owned(), after];
    let shop = Shop::new(&ended.order);
    page.title = format!("{heading}: {} to {}", shop.price(), shop.merchant);
    page.shop = Some(shop);
    page.back = true;
    page.over = true;
    if !ended.topups.is_empty() {
        let (open, contact) = (ended.topups.clone(), context.contact.to_owned());
        page.topup = Some(TopupHint { open, now: ended.now, until: None, contact });
    }
    if let Some(codes) = &ended.codes {
        page.form_token = context.form_token.to_owned();
        // One that has set the PIN has done what can be done here.
        if codes.used {
            let unlocked = if codes.unlocked { "Your wallet is unlocked. " } else { "" };
            let text = format!("{unlocked}You have not paid. Ask the shop for a new link.");
            page.heading = "Your new PIN is set".to_owned();
            page.title = format!("{}. {text} {}", page.heading, page.title);
            (page.tone, page.paragraphs) = (Some(Tone::Good), vec![text]);
            return page;
        }
        set_up(&mut page, codes, true, &told);
        let text = match ended.locked_until {
            Some(_) => "Send a code to unlock",
            None => "Send a code for a new PIN",
        };
        ask_first(&mut page, text);
        if codes.failed && told.wrong.is_none() {
            page.note = Some(Note::new(Tone::Bad, not_sent(Some(codes))));
        }
    }
    tell(&mut page, told);
    page
}

/// Why a request has to wait: too many from one address, or too many forms on one link.
pub const CROWDED: &str = "Too many people are using this connection.";
pub const TAPPED: &str = "There were too many tries on this link in a short time.";

pub fn throttled(why: &str, seconds: i64) -> PageState {
    let wait = if seconds == 1 { "1 second".to_owned() } else { format!("{seconds} seconds") };
    let text = format!("{why} Your payment has not changed. Try again in {wait}.");
    let page = Page::lead("Please wait a moment", vec![text]);
    PageState { retry_after: Some(seconds), ..PageState::new(StatusCode::TOO_MANY_REQUESTS, page) }
}

/// A form that did not come from our page.
pub fn foreign() -> PageState {
    let text = "We could not accept that form. Please open the payment again.".to_owned();
    let page = Page::lead("Open the payment again", vec![text, NOT_CHANGED.to_owned()]);
    PageState::new(StatusCode::FORBIDDEN, page)
}

pub fn unusable(problem: FormProblem) -> PageState {
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
    PageState::new(status, Page::lead("Please try again", vec![format!("{why} {NOT_CHANGED}")]))
}

/// The database is away (for a number of seconds, if that is known), or something is broken. The result of a
/// form is then unknown; a look has no result.
pub fn trouble(retry_after: Option<i64>, is_form: bool) -> PageState {
    let status = match retry_after {
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
        None => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let (heading, text) = match is_form {
        true => (
            "Something went wrong on our side",
            "We are sorry. Open the payment again in a moment to see whether you have paid. You cannot be charged twice.",
        ),
        false => (
            "We cannot show this payment right now",
            "You have not paid anything by opening it. Try again in a minute.",
        ),
    };
    PageState { retry_after, ..PageState::new(status, Page::lead(heading, vec![text.to_owned()])) }
}
