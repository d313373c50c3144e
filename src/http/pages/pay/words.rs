//! What the payment page says in every state, and with which status.
//!
//! It makes a page of what ops found; it reads no database and changes nothing. The merchant has the link too.
//! So no page tells the balance, or more of the phone than its last digits. Only the answer to a right PIN
//! tells how much is missing. A page after a form differs from a plain look only by its note. Customers read
//! this on small phones: short sentences, what happens to the money first, and what to do next last.

use http::StatusCode;

use super::answer::PageState;
use super::astray::not_found;
use super::codes::{forgot, may_ask, not_sent, set_up, unlock};
use super::figures::{clock, clock_after, day, left, tries, unbroken};
use super::page::{FormField, Note, Page, Row, Shop, Tone, TopupHint};
use super::told::{Then, Told};
use crate::domain::intent::{IntentEnd, PLACES};
use crate::domain::message::{MessageStatus, with_stop};
use crate::domain::money::{Money, naira};
use crate::domain::time::{Span, Timestamp};
use crate::domain::wallet::{LOCKED_FOR, WalletStatus};
use crate::ops::wallet_payments::link_codes::LinkCodes;
use crate::ops::wallet_payments::page::{EndedLink, LinkView, OpenLink, Receipt};

const NO_MONEY: &str = "No money has left your wallet.";
/// As long as this, whoever looks has most likely just paid.
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

fn open(open: OpenLink, told: Told, context: PageContext<'_>) -> Page {
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
                let locked = "Your wallet is locked too, because of too many wrong PINs.";
                let unlock = unlock(&open.codes, &told, &open.order.masked_phone).unwrap_or_default();
                page.paragraphs.push(format!("{locked} {unlock}").trim_end().to_owned());
                set_up(&mut page, &open.codes, open.has_pin, &told);
                unlocks(&mut page);
            }
        }
        WalletStatus::Locked(until) => locked(&mut page, &open, until, &told),
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
        WalletStatus::Active => payable(&mut page, &open, &told, context),
    }
    // What cannot be paid at this step is not titled so.
    if !page.pin || page.tone == Some(Tone::Bad) {
        page.title = format!("{}: {} to {}", page.heading, naira(open.order.amount), page.merchant());
    }
    let asks = page.send_code.is_some() || page.reset.is_some() || page.forgot.is_some();
    if open.codes.failed && (asks || page.send_hint.is_some()) && told.wrong.is_none() {
        page.note.get_or_insert(Note::new(Tone::Bad, not_sent(&open.codes, context.contact)));
    }
    tell(&mut page, told);
    page
}

/// For a customer who cannot pay now: to look again and to leave, next to cancelling.
fn ways_on(page: &mut Page) {
    page.look_again = Some("Check again");
    page.back = true;
}

/// A code and a new PIN lift the lock.
fn unlocks(page: &mut Page) {
    if let Some(form) = &mut page.code {
        form.unlocks = true;
        // The page begins with what comes after it.
        form.then = None;
    }
}

/// A locked wallet, whose payment still waits.
fn locked(page: &mut Page, open: &OpenLink, until: Timestamp, told: &Told) {
    let lasts = clock_after(until, open.now);
    set_up(page, &open.codes, open.has_pin, told);
    unlocks(page);
    if page.code.is_some() {
        page.heading = "Unlock your wallet".to_owned();
        page.paragraphs = vec![
            "Enter the code from your message and choose a new PIN. You confirm the payment in the next step.".to_owned(),
            format!("Your wallet is locked until {lasts}. {NO_MONEY}"),
        ];
        return;
    }
    page.heading = "Your wallet is locked".to_owned();
    page.tone = Some(Tone::Bad);
    let is_late = until >= open.expires_at;
    let then = match unlock(&open.codes, told, &open.order.masked_phone) {
        Some(how) if is_late => {
            format!("{how} If you wait until then, you will need a new link from the shop.")
        }
        Some(how) => format!("{how} Or wait until then, and enter your PIN here."),
        None if is_late => "To pay after that, ask the shop for a new link.".to_owned(),
        None => "After that, enter your PIN here to pay.".to_owned(),
    };
    let why = format!("Too many wrong PINs. We locked your wallet until {lasts}. No money has left it.");
    page.paragraphs = vec![why, then];
    page.reset = page.reset.map(|_| "Send a code to unlock");
}

/// A wallet that may pay, if the PIN is right and the balance covers it.
fn payable(page: &mut Page, open: &OpenLink, told: &Told, context: PageContext<'_>) {
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
        let left = told.over.map(|over| Money(open.order.amount.kobo().saturating_sub(over.kobo())));
        let left = left.filter(|left| *left > Money::ZERO);
        let why = "This payment would take you over the amount that your wallet can spend in one day.";
        let today = left.map(|left| format!(" You can still spend {} today.", unbroken(&naira(left))));
        let then = match (page.pin, &today) {
            (false, None) => "Ask the shop for a new link after midnight, or pay another way.".to_owned(),
            (false, Some(_)) => {
                "Ask the shop for a smaller amount, or for a new link after midnight.".to_owned()
            }
            (true, None) => format!("Try again after midnight, before {until}."),
            (true, Some(_)) => {
                format!("Ask the shop for a smaller amount, or try again after midnight, before {until}.")
            }
        };
        page.paragraphs = vec![format!("{NO_MONEY} {why}{} {then}", today.unwrap_or_default())];
        page.back = true;
    } else if !open.balance_covers {
        page.heading = "Your balance is too low".to_owned();
        page.tone = Some(Tone::Bad);
        let missing = told.short.map(|missing| unbroken(&naira(missing)));
        let more = missing.as_ref().map(|missing| format!("You need {missing} more. ")).unwrap_or_default();
        page.paragraphs = vec![format!(
            "You have not paid. {NO_MONEY} {more}Top up your wallet, then come back here by {until} and enter your \
             PIN to pay."
        )];
        let (now, contact) = (open.now, context.contact.to_owned());
        let open = open.topups.clone();
        page.topup = Some(TopupHint { open, now, until: Some(until), contact, missing });
    } else if open.tries_left < PLACES && told.wrong.is_none() {
        match &told.note {
            Some(_) => page.paragraphs.push(tries_left(open)),
            None => page.note = Some(Note::new(Tone::Plain, tries_left(open))),
        }
    }
}

/// After a wrong PIN, where the next locks the wallet.
pub fn last_before_lock(view: &LinkView) -> String {
    let LinkView::Open(open) = view else { return String::new() };
    let until = clock_after(open.now + LOCKED_FOR, open.now);
    let forgot = match open.codes.open {
        Some(_) => " Not sure? Use your code for a new PIN below.",
        None if may_ask(&open.codes, &Told::default()) => " Not sure? Use “Forgot your PIN?” below.",
        None => "",
    };
    format!("One more wrong PIN locks your wallet until {until}.{forgot}")
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
    // Nothing else stands in the way.
    let may_pay = page.pin && page.tone != Some(Tone::Bad);
    // Nobody waits for word of a PIN that cannot be used here.
    if told.then == Some(Then::EnterPin) && !page.pin {
        told.note = None;
    }
    if let Some(note) = &mut told.note {
        let asks = page.send_code.is_some() || page.reset.is_some() || page.forgot.is_some();
        match &told.then {
            Some(Then::AskForCode { from: Some(from) }) if asks => {
                note.text.push_str(&format!(" You can get a new code from {from}."));
            }
            Some(Then::AskForCode { from: None }) if asks => note.text.push_str(" Ask for a new one."),
            Some(Then::EnterPin) if may_pay => note.text.push_str(" Enter it to pay."),
            Some(Then::EnterYourPin) if may_pay => note.text.push_str(" Enter your PIN to pay."),
            Some(Then::NotPaidYet) if may_pay => note.text.push_str(" You have not paid yet."),
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
    let is_fresh = receipt.now < receipt.paid_at + JUST_PAID;
    let phone = unbroken(&receipt.order.masked_phone);
    let of_receipt = match receipt.message {
        Some(MessageStatus::Failed) => {
            " We could not send your receipt. Keep this page as your receipt.".to_owned()
        }
        Some(MessageStatus::Queued) if is_fresh => format!(" We are sending your receipt to {phone}."),
        Some(_) if is_fresh => format!(" Your receipt was sent to {phone}."),
        _ => String::new(),
    };
    let text = match is_fresh {
        true => format!("Your payment is complete.{of_receipt}"),
        false => format!("You have already paid. You will not be charged again.{of_receipt}"),
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
    let at = day(ended.at, ended.now);
    let (heading, text, tone) = match ended.end {
        IntentEnd::Expired => ("This link has expired", format!("The link worked until {at}."), Tone::Plain),
        IntentEnd::WrongPins => ("Payment stopped", String::new(), Tone::Bad),
        IntentEnd::Cancelled => {
            ("Payment cancelled", format!("This payment was cancelled {}.", on(&at)), Tone::Plain)
        }
        IntentEnd::Rejected => {
            ("Payment stopped", "This payment was stopped before you confirmed it.".to_owned(), Tone::Plain)
        }
        // Paid links are shown with their receipt; this is the rest of a state that cannot be.
        IntentEnd::Paid => ("Payment over", String::new(), Tone::Plain),
    };
    let mut page = Page::bare(heading);
    page.tone = Some(tone);
    page.paragraphs = match (ended.end, ended.locked_until) {
        (IntentEnd::WrongPins, _) => stopped(ended, &told, context),
        (_, Some(until)) => {
            let until = clock_after(until, ended.now);
            let locked = format!(
                "Your wallet is locked until {until} because of too many wrong PINs. To pay after that, ask the shop for a \
                 new link. To unlock your wallet sooner, contact {}",
                context.contact
            );
            vec![format!("{text} {NO_MONEY}").trim().to_owned(), with_stop(locked)]
        }
        (_, None) => {
            let then = "Still want to pay? Ask the shop for a new link.".to_owned();
            vec![format!("{text} {NO_MONEY}").trim().to_owned(), then]
        }
    };
    let shop = Shop::new(&ended.order);
    page.title = format!("{heading}: {} to {}", shop.price(), shop.merchant);
    page.shop = Some(shop);
    page.back = true;
    page.over = true;
    if !ended.topups.is_empty() {
        let (open, contact) = (ended.topups.clone(), context.contact.to_owned());
        page.topup = Some(TopupHint { open, now: ended.now, until: None, contact, missing: None });
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
        new_pin_after(&mut page, ended.locked_until.is_some(), codes, &told);
        if codes.failed && told.wrong.is_none() {
            page.note = Some(Note::new(Tone::Bad, not_sent(codes, context.contact)));
        }
    }
    tell(&mut page, told);
    page
}

/// `on 12 Mar 2026, 14:35`; `today, 14:35` needs no word.
fn on(day: &str) -> String {
    if day.starts_with(|c: char| c.is_ascii_digit()) { format!("on {day}") } else { day.to_owned() }
}

/// A payment that wrong PINs stopped: what became of it and of the wallet, and the way on.
fn stopped(ended: &EndedLink, told: &Told, context: PageContext<'_>) -> Vec<String> {
    let phone = &ended.order.masked_phone;
    let codes = ended.codes.as_ref().filter(|codes| !codes.used);
    let Some(until) = ended.locked_until else {
        let then = match codes {
            Some(_) => {
                "To try again, ask the shop for a new link. If you forgot your PIN, set a new one here first."
            }
            None => "To try again, ask the shop for a new link.",
        };
        return vec![format!("Too many wrong PINs. We stopped this payment. {NO_MONEY}"), then.to_owned()];
    };
    let until = clock_after(until, ended.now);
    let then = match codes.and_then(|codes| unlock(codes, told, phone)) {
        Some(how) => format!("{how} To pay, ask the shop for a new link."),
        None => {
            let sooner = with_stop(format!("To unlock it sooner, contact {}", context.contact));
            format!("To pay after that, ask the shop for a new link. {sooner}")
        }
    };
    let what = "Too many wrong PINs. We stopped this payment and locked your wallet until";
    vec![format!("{what} {until}. No money has left it."), then]
}

/// The way to a new PIN, where wrong ones stopped the payment; once a code was sent, it is what the page is about.
fn new_pin_after(page: &mut Page, is_locked: bool, codes: &LinkCodes, told: &Told) {
    set_up(page, codes, true, told);
    page.reset =
        page.reset.map(|_| if is_locked { "Send a code to unlock" } else { "Send a code for a new PIN" });
    if page.code.is_none() {
        return;
    }
    let rest = page.title.split_once(": ").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    page.heading = if is_locked { "Unlock your wallet" } else { "Set a new PIN" }.to_owned();
    page.title = format!("{}: {rest}", page.heading);
    page.tone = None;
    page.paragraphs = vec![
        "Enter the code from your message and choose a new PIN. Then ask the shop for a new link.".to_owned(),
        format!("We stopped this payment. {NO_MONEY}"),
    ];
    if is_locked {
        unlocks(page);
    }
}
