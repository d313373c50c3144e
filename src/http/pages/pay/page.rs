//! What a payment page is made of, and the template it is written with. No decisions: `words` makes them.
//!
//! Every text is escaped by the template. Texts of merchants are shown without the characters that turn
//! the direction of writing, and a summary only as far as the page stays small.

use askama::Template;
use zeroize::Zeroizing;

use super::figures::{Piece, day_clock, moment, pieces, reach_link, unbroken};
use crate::domain::message::with_stop;
use crate::domain::money::{Money, naira};
use crate::domain::time::Timestamp;
use crate::http::pages::text::plain;
use crate::ops::wallet_payments::page::{OpenTopup, Order, ShopSite};

/// The one stylesheet; the policy names it by its hash.
pub const STYLE: &str = include_str!("../../../../assets/pay.css");

/// Bytes of a summary as it is written; all of a page stays under 30 KB.
const SUMMARY_MAX: usize = 10 * 1024;
/// Of a longer summary only the beginning is shown at first, so that the form stays in reach.
const SUMMARY_LINES: usize = 9;
const SUMMARY_CHARS: usize = 420;
/// The part of such a summary that is shown at first.
const OPEN_LINES: usize = 5;
const OPEN_CHARS: usize = 240;

/// How a note looks, and how urgently it is read out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Good,
    Plain,
    Bad,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Plain => "plain",
            Tone::Bad => "bad",
        }
    }

    fn role(self) -> &'static str {
        if self == Tone::Bad { "alert" } else { "status" }
    }
}

pub struct Note {
    pub tone: Tone,
    pub text: String,
}

impl Note {
    pub fn new(tone: Tone, text: impl Into<String>) -> Note {
        Note { tone, text: text.into() }
    }
}

/// A field that was not filled in well, with what to do. The cursor is there.
pub struct Wrong {
    pub field: FormField,
    /// Another field that has to be filled in again because of it.
    pub also: Option<FormField>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormField {
    Pin,
    Code,
    NewPin,
    NewPinAgain,
}

impl FormField {
    pub fn name(self) -> &'static str {
        match self {
            FormField::Pin => "pin",
            FormField::Code => "code",
            FormField::NewPin => "new_pin",
            FormField::NewPinAgain => "new_pin_again",
        }
    }
}

/// The order as it is shown.
pub struct Shop {
    pub merchant: String,
    pub amount: Money,
    pub reference: String,
    pub masked_phone: String,
    /// The wallet is one of test mode.
    pub is_test: bool,
    /// The last digits of the phone, for those who listen.
    pub phone_end: String,
    /// The summary, or its beginning.
    pub lines: Vec<String>,
    /// The rest of a long one, behind `more`.
    pub rest: Vec<String>,
    pub more: String,
    pub is_cut: bool,
    pub website: Option<ShopSite>,
}

/// Characters of a shop's name that a button does not show any more.
const BACK_NAME: usize = 30;

impl Shop {
    pub fn new(order: &Order) -> Shop {
        let summary = order.summary.as_deref().map(|text| spaced(&plain(text))).unwrap_or_default();
        let (summary, is_cut) = cut(summary.trim());
        let (open, rest) = folded(summary);
        // Within a line.
        let goes_on = !rest.is_empty() && !summary[open.len()..].starts_with('\n');
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let rest = lines(rest);
        Shop {
            merchant: plain(&order.merchant),
            amount: order.amount,
            reference: plain(&order.reference),
            masked_phone: order.masked_phone.clone(),
            is_test: order.is_test,
            phone_end: order.masked_phone.rsplit('*').next().unwrap_or_default().to_owned(),
            lines: lines(&if goes_on { format!("{open} …") } else { open.to_owned() }),
            more: match rest.len() {
                0 | 1 => "Show the rest of the order".to_owned(),
                more => format!("Show {more} more lines"),
            },
            rest,
            is_cut,
            website: order.website.clone(),
        }
    }

    pub fn price(&self) -> String {
        naira(self.amount)
    }

    /// The name fits on a button, and into the line that sticks.
    fn is_short(&self) -> bool {
        self.merchant.chars().count() < BACK_NAME
    }
}

/// A line of the list below the amount.
pub struct Row {
    pub name: &'static str,
    pub value: String,
    /// The value has a line of its own below the name, also on the smallest phone.
    pub is_own: bool,
}

impl Row {
    pub fn new(name: &'static str, value: impl Into<String>) -> Row {
        Row { name, value: value.into(), is_own: false }
    }

    pub fn own(name: &'static str, value: impl Into<String>) -> Row {
        Row { is_own: true, ..Row::new(name, value) }
    }

    /// `10 Mar 2026, 14:35`.
    pub fn at(name: &'static str, at: Timestamp) -> Row {
        Row::new(name, moment(at))
    }
}

/// The form for a code and a new PIN.
pub struct CodeForm {
    /// Under the code.
    pub hint: String,
    /// Above the button: what comes after it.
    pub then: Option<&'static str>,
    /// A new PIN lifts the wallet's lock.
    pub unlocks: bool,
    /// The code that came with a form whose PIN has to be chosen anew: six digits, not yet checked.
    pub typed: Option<Zeroizing<String>>,
}

/// What to do about a balance that is too low.
pub struct TopupHint {
    pub open: Vec<OpenTopup>,
    pub now: Timestamp,
    /// When the link ends; `None`: it has ended, and the account has not.
    pub until: Option<String>,
    /// Whom to ask about money that was sent.
    pub contact: String,
    /// What the balance is short of, where it may be told.
    pub missing: Option<String>,
}

impl TopupHint {
    fn price(&self, topup: &OpenTopup) -> String {
        naira(topup.amount)
    }

    /// As [`Shop`] shows names.
    fn payer(&self, topup: &OpenTopup) -> String {
        plain(&topup.payer_name)
    }

    /// How many of them let the customer pay, each by itself. They come first.
    fn enough(&self) -> usize {
        self.open.iter().filter(|topup| topup.is_enough).count()
    }

    /// It does not let the customer pay, and another one does.
    fn is_folded(&self, topup: &OpenTopup) -> bool {
        self.until.is_some() && !topup.is_enough && self.enough() > 0
    }

    /// There are several to choose from, so each has a heading.
    fn are_several(&self) -> bool {
        self.open.iter().filter(|topup| !self.is_folded(topup)).count() > 1
    }

    fn until(&self, topup: &OpenTopup) -> String {
        day_clock(topup.expires_at, self.now)
    }

    fn ask(&self) -> String {
        with_stop(format!("Questions? Contact {}", self.contact))
    }
}

/// One page; parts that are `None` or false are left out.
#[derive(Template)]
#[template(path = "pay/page.html")]
pub struct Page {
    pub style: &'static str,
    /// Who runs the wallet, how they are reached, and where their logo is.
    pub operator: Option<String>,
    pub support: Option<String>,
    pub logo: Option<String>,
    pub icon: String,
    pub title: String,
    pub heading: String,
    pub note: Option<Note>,
    pub paragraphs: Vec<String>,
    /// The paragraphs tell of a state that stands out so.
    pub tone: Option<Tone>,
    pub shop: Option<Shop>,
    pub rows: Vec<Row>,
    pub topup: Option<TopupHint>,
    pub pin: bool,
    pub code: Option<CodeForm>,
    /// The text of the button that sends a code.
    pub send_code: Option<&'static str>,
    /// The text of the button that does so where there is a PIN already.
    pub reset: Option<&'static str>,
    /// When the next code may be asked for, and which one counts; above the button, or in its place.
    pub send_hint: Option<String>,
    /// That button would not work yet.
    pub send_later: bool,
    /// What comes before a code is sent to somebody who forgot the PIN: told first, sent by a second tap.
    pub forgot: Option<String>,
    pub cancel: bool,
    /// The customer is asked whether to cancel, and nothing else.
    pub ask_cancel: bool,
    /// Below the amount: what of it are charges.
    pub including: Option<String>,
    /// The link to the shop.
    pub back: bool,
    /// The payment is over: what can be done here is to set a PIN.
    pub over: bool,
    /// A link to the payment as it is now; it comes first where there is nothing else to do.
    pub look_again: Option<&'static str>,
    pub look_first: bool,
    pub wrong: Option<Wrong>,
    pub form_token: String,
}

impl Page {
    /// A heading and nothing else.
    pub fn bare(heading: impl Into<String>) -> Page {
        let heading = heading.into();
        Page {
            style: STYLE,
            operator: None,
            support: None,
            logo: None,
            icon: String::new(),
            title: heading.clone(),
            heading,
            note: None,
            paragraphs: Vec::new(),
            tone: None,
            shop: None,
            rows: Vec::new(),
            topup: None,
            pin: false,
            code: None,
            send_code: None,
            reset: None,
            send_hint: None,
            send_later: false,
            forgot: None,
            cancel: false,
            ask_cancel: false,
            including: None,
            back: false,
            over: false,
            look_again: None,
            look_first: false,
            wrong: None,
            form_token: String::new(),
        }
    }

    /// A page with nothing on it but the way to the payment.
    pub fn lead(heading: &str, paragraphs: Vec<String>) -> Page {
        Page { paragraphs, look_again: Some("Open the payment"), look_first: true, ..Page::bare(heading) }
    }

    /// A text with what of it is the customer's number, which is never broken, or the operator's, which can be tapped.
    fn pieces<'a>(&self, text: &'a str) -> Vec<Piece<'a>> {
        let number = self.shop.as_ref().map(|shop| unbroken(&shop.masked_phone));
        let reach = self.support.as_deref().filter(|support| reach_link(support).is_some());
        pieces(text, &number.unwrap_or_default(), reach.unwrap_or_default())
    }

    /// Where a tap on how the operator is reached leads.
    fn reach(&self) -> Option<String> {
        self.support.as_deref().and_then(reach_link)
    }

    /// Whose payment it is.
    pub fn merchant(&self) -> &str {
        self.shop.as_ref().map_or("", |shop| shop.merchant.as_str())
    }

    /// The amount stays in view where something can be done about the payment, also above a keyboard.
    fn is_form(&self) -> bool {
        let asks = self.send_code.is_some() || self.reset.is_some();
        !self.over && (self.pin || self.code.is_some() || self.ask_cancel || asks)
    }

    /// The way to the shop is what is left to do.
    fn is_back_first(&self) -> bool {
        !self.cancel && (!self.over || self.form_token.is_empty())
    }

    /// A full stop, unless the name ends in one.
    fn stop(&self, name: &str) -> &'static str {
        if name.ends_with('.') { "" } else { "." }
    }

    /// The cursor is where something has to be mended, else where the code is typed that was asked for.
    fn has_cursor(&self, field: &str) -> bool {
        match (&self.wrong, &self.code) {
            (Some(wrong), _) => wrong.field.name() == field,
            (None, Some(form)) if !self.pin => {
                let next = if form.typed.is_some() { FormField::NewPin } else { FormField::Code };
                next.name() == field
            }
            (None, _) => false,
        }
    }

    /// What is wrong with a field, if that field is.
    fn wrong_with(&self, field: &str) -> Option<&str> {
        self.wrong.as_ref().filter(|wrong| wrong.field.name() == field).map(|wrong| wrong.text.as_str())
    }

    /// The field that a field has to be filled in again for, if it has to.
    fn wrong_because(&self, field: &str) -> Option<&'static str> {
        let wrong = self.wrong.as_ref()?;
        let is_meant = |meant: FormField| meant.name() == field;
        (is_meant(wrong.field) || wrong.also.is_some_and(is_meant)).then(|| wrong.field.name())
    }
}

/// Of several empty lines one is kept.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

/// A summary as far as it is open, and the rest; the rest is empty where it would save little.
fn folded(text: &str) -> (&str, &str) {
    if text.lines().count() <= SUMMARY_LINES && text.chars().count() <= SUMMARY_CHARS {
        return (text, "");
    }
    let lines = text.match_indices('\n').nth(OPEN_LINES - 1).map_or(text.len(), |(at, _)| at);
    let chars = text.char_indices().nth(OPEN_CHARS).map_or(text.len(), |(at, _)| at);
    let end = if lines <= chars {
        lines
    } else {
        // Between two lines or words, if there are any.
        let open = &text[..chars];
        open.rfind('\n').or_else(|| open.rfind(char::is_whitespace)).unwrap_or(chars)
    };
    let (open, rest) = text.split_at(end);
    (open, rest.trim_start())
}

/// As much as [`SUMMARY_MAX`] lets through, and whether that is less than all.
fn cut(text: &str) -> (&str, bool) {
    let mut written = 0;
    for (at, c) in text.char_indices() {
        written += match c {
            // As the template escapes them; a line's end is written as `<br>`.
            '&' | '<' | '>' | '"' | '\'' | '\n' => 5,
            c => c.len_utf8(),
        };
        if written > SUMMARY_MAX {
            return (&text[..at], true);
        }
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_cut_by_what_it_is_written_as() {
        assert_eq!(cut("a\nb"), ("a\nb", false));
        let signs = "&".repeat(8_000);
        let (shown, is_cut) = cut(&signs);
        assert!(is_cut && shown.len() == SUMMARY_MAX / 5);
        let wide = "\u{1f9f5}".repeat(8_000);
        assert_eq!(cut(&wide).0.len(), SUMMARY_MAX);
    }

    #[test]
    fn a_long_summary_is_open_as_far_as_whole_lines_or_words_go() {
        let nine = ["1 x ankara"; 9].join("\n");
        assert_eq!(folded(&nine), (nine.as_str(), ""));
        let ten = ["1 x ankara"; 10].join("\n");
        let (open, rest) = folded(&ten);
        assert_eq!((open.lines().count(), rest.lines().count()), (5, 5));
        let words = "lace ".repeat(100);
        let (open, rest) = folded(&words);
        assert!(open.ends_with("lace") && rest.starts_with("lace") && open.len() <= OPEN_CHARS, "{open}");
        let word = "ọ".repeat(500);
        assert_eq!(folded(&word).0.chars().count(), OPEN_CHARS);
        let second = format!("one\n{word}");
        assert_eq!(folded(&second), ("one", word.as_str()));
    }

    #[test]
    fn of_empty_lines_one_is_kept() {
        assert_eq!(spaced("a\n\n \n\t\nb\nc"), "a\n\nb\nc\n");
    }
}
