//! Messages to customers: what kinds there are, how far one has come, and the words of each.
//!
//! Codes and links are put into a text when it is sent and are kept nowhere; [`masked`] is what is
//! shown of a text afterwards. Which words a merchant may send is `impostor`'s to say; how a message
//! travels is `outbound::messenger`'s.

use super::impostor::check_hosts;
use super::money::{Money, naira};
use super::time::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// A merchant's own text.
    Merchant,
    /// The link of a payment; about an intent.
    Link,
    /// A one-time code; about a code.
    Code,
    /// A payment went out; about an intent.
    Receipt,
    /// The PIN was set or changed; about a wallet.
    PinChanged,
    /// Money came in by transfer; about a payment.
    Topup,
    /// A payment came back; about a payment.
    Refund,
    /// Wrong PINs stopped a payment; about an intent.
    Stopped,
    /// Wrong PINs locked the wallet; about the intent of the last one.
    Locked,
    /// Money for a suspended wallet waits for a person; about the payment it would have topped up by.
    TopupSuspended,
    /// The same where the wallet would hold more than it may.
    TopupOverLimit,
    /// A top-up was reversed, and its money taken out of the wallet; about its payment.
    TopupReversed,
}

impl MessageKind {
    pub const ALL: [MessageKind; 12] = [
        MessageKind::Merchant,
        MessageKind::Link,
        MessageKind::Code,
        MessageKind::Receipt,
        MessageKind::PinChanged,
        MessageKind::Topup,
        MessageKind::Refund,
        MessageKind::Stopped,
        MessageKind::Locked,
        MessageKind::TopupSuspended,
        MessageKind::TopupOverLimit,
        MessageKind::TopupReversed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            MessageKind::Merchant => "merchant",
            MessageKind::Link => "link",
            MessageKind::Code => "code",
            MessageKind::Receipt => "receipt",
            MessageKind::PinChanged => "pin_changed",
            MessageKind::Topup => "topup",
            MessageKind::Refund => "refund",
            MessageKind::Stopped => "stopped",
            MessageKind::Locked => "locked",
            MessageKind::TopupSuspended => "topup_suspended",
            MessageKind::TopupOverLimit => "topup_over_limit",
            MessageKind::TopupReversed => "topup_reversed",
        }
    }

    pub fn parse(word: &str) -> Option<MessageKind> {
        MessageKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// How far a message has come. `Delivered` and `Read` are what the messenger tells us later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageStatus {
    Queued,
    Failed,
    Sent,
    Delivered,
    Read,
}

impl MessageStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            MessageStatus::Queued => "queued",
            MessageStatus::Failed => "failed",
            MessageStatus::Sent => "sent",
            MessageStatus::Delivered => "delivered",
            MessageStatus::Read => "read",
        }
    }

    pub fn parse(word: &str) -> Option<MessageStatus> {
        use MessageStatus::{Delivered, Failed, Queued, Read, Sent};
        [Queued, Failed, Sent, Delivered, Read].into_iter().find(|status| status.as_str() == word)
    }

    /// The messenger has taken it.
    pub fn is_sent(self) -> bool {
        matches!(self, MessageStatus::Sent | MessageStatus::Delivered | MessageStatus::Read)
    }
}

/// `10 Mar 2026, 09:00` in Lagos.
pub fn lagos_time(at: Timestamp) -> String {
    use super::time::LAGOS_OFFSET_SECONDS;
    let offset = jiff::tz::Offset::from_seconds(LAGOS_OFFSET_SECONDS).unwrap_or(jiff::tz::Offset::UTC);
    match jiff::Timestamp::from_microsecond(at.0) {
        Ok(moment) => offset.to_datetime(moment).strftime("%-d %b %Y, %H:%M").to_string(),
        Err(_) => at.to_string(),
    }
}

/// With a full stop, unless the text ends in one, as some names do.
pub fn with_stop(text: impl Into<String>) -> String {
    let mut text = text.into();
    if !text.ends_with('.') {
        text.push('.');
    }
    text
}

/// `wallet`, or `Kudi Basket wallet` where it is known who runs it.
pub fn wallet_name(operator: Option<&str>) -> String {
    operator.map_or("wallet".to_owned(), |name| format!("{name} wallet"))
}

/// ` from your Kudi Basket wallet`; nothing where it is not known who runs it.
fn from_wallet(operator: Option<&str>) -> String {
    operator.map(|name| format!(" from your {}", wallet_name(Some(name)))).unwrap_or_default()
}

/// What a link message tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkWords<'a> {
    pub merchant: &'a str,
    /// What [`paid_words`] makes.
    pub amount: &'a str,
    pub reference: &'a str,
    pub url: &'a str,
    /// Until when the link is good.
    pub until: Timestamp,
    /// Who runs the wallet, as customers know them.
    pub operator: Option<&'a str>,
}

pub fn link_text(words: &LinkWords<'_>) -> String {
    let order = with_stop(format!("order {}{}", words.reference, from_wallet(words.operator)));
    format!(
        "{} asks you to pay {} for {order}\n\nCheck the order and pay with your PIN here:\n{}\n\nThis link works until {}. \
         Not your order? Ignore this message: no money leaves your wallet without your PIN.",
        words.merchant,
        words.amount,
        words.url,
        lagos_time(words.until)
    )
}

/// Characters of a merchant's name above its text: with the longest text they stay under the 4,096 that
/// WhatsApp takes.
const HEADED_NAME_MAX: usize = 60;

/// A merchant's own text under the merchant's name: it comes from the number of payment requests.
pub fn merchant_text(merchant: &str, text: &str) -> String {
    let mut name: String = merchant.chars().take(HEADED_NAME_MAX).collect();
    if name.len() < merchant.len() {
        name.push('…');
    }
    format!("From {name}:\n{text}")
}

/// A reference as a message shows it: one that a messenger would make a link of (`INV.2026.NG`) gets blanks
/// after its dots.
pub fn unlinked(reference: &str) -> String {
    if check_hosts(reference).is_ok() { reference.to_owned() } else { reference.replace('.', ". ") }
}

/// `09:00` in Lagos, of what comes within hours.
fn lagos_clock(at: Timestamp) -> String {
    let text = lagos_time(at);
    text.split_once(", ").map_or(text.clone(), |(_, clock)| clock.to_owned())
}

/// `code` has six digits. Its end is told by the clock: it may come late, and the link may end first.
pub fn code_text(code: &str, merchant: &str, until: Timestamp, operator: Option<&str>) -> String {
    let wallet = wallet_name(operator);
    let until = lagos_clock(until);
    format!(
        "{code} is your code to set your {wallet} PIN. It works until {until}.\n\nEnter it on the payment page only. Never \
         share it with anyone, including {merchant} and us: anyone who has it can spend your money. Did not ask for it? \
         Ignore this message."
    )
}

/// What was paid, and what of it were charges, where the customer pays them.
pub fn paid_words(amount: Money, charges: Option<Money>) -> String {
    let charges = charges.map(|charges| format!(" (including charges of {})", naira(charges)));
    format!("{}{}", naira(amount), charges.unwrap_or_default())
}

/// `paid` is what [`paid_words`] makes, `number` the payment's id, as the page shows it.
pub fn receipt_text(
    merchant: &str,
    paid: &str,
    reference: &str,
    at: Timestamp,
    number: &str,
    operator: Option<&str>,
) -> String {
    let from = from_wallet(operator);
    format!(
        "You paid {paid} to {merchant} for order {reference}{from} on {}.\n\nReceipt number: {number}\n\nKeep this message as your \
         receipt.",
        lagos_time(at)
    )
}

/// What became of the PIN, in a word.
pub fn pin_changed_word(is_first: bool) -> &'static str {
    if is_first { "set" } else { "changed" }
}

/// `contact` is who runs the wallet, and how they are reached.
pub fn pin_changed_text(is_first: bool, at: Timestamp, operator: Option<&str>, contact: &str) -> String {
    let (wallet, what) = (wallet_name(operator), pin_changed_word(is_first));
    format!(
        "Your {wallet} PIN was {what} on {}. If this was not you, contact {contact} straight away.",
        lagos_time(at)
    )
}

/// What wrong PINs came to: a template has it within a sentence, before the time.
pub fn stopped_words(merchant: &str, amount: Money) -> String {
    format!("your payment of {} to {merchant} was stopped", naira(amount))
}

pub fn locked_words(operator: Option<&str>) -> String {
    format!("your {} was locked", wallet_name(operator))
}

/// What comes after a payment was stopped.
pub fn stopped_then(operator: Option<&str>) -> String {
    format!(
        "No money has left your {}. To try again, ask the shop for a new link. Forgot your PIN? Set a new one on the \
         payment page first.",
        wallet_name(operator)
    )
}

/// A lock's times: its end is told when the minute is over, and its beginning a day before that.
pub fn begun_minute(at: Timestamp) -> Timestamp {
    const MINUTE: i64 = 60_000_000;
    Timestamp(at.0.saturating_add(MINUTE - 1))
}

/// What comes after a wallet was locked until then. `stopped` is the payment that the last wrong PIN stopped too, as
/// [`stopped_words`] says it.
pub fn locked_then(until: Timestamp, stopped: Option<&str>) -> String {
    let (first, last) = match stopped {
        Some(what) => {
            let first = format!("{} No money has left your wallet. ", with_stop(what.replacen('y', "Y", 1)));
            (first, " To pay, ask the shop for a new link.")
        }
        None => (String::new(), ""),
    };
    format!(
        "{first}It unlocks on {}. To unlock it now, open your payment link and set a new PIN with a code.{last}",
        lagos_time(begun_minute(until))
    )
}

/// `what` and `then` are of the four above.
pub fn wrong_pins_text(what: &str, at: Timestamp, then: &str, contact: &str) -> String {
    let what = what.replacen('y', "Y", 1);
    format!(
        "{what} on {} after wrong PINs. {then} If this was not you, contact {contact} straight away.",
        lagos_time(at)
    )
}

/// What a customer can do with money that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then<'a> {
    Use,
    /// Finish the payment that the balance now covers: its shop, and when its link ends.
    Pay(&'a str, Timestamp),
    /// Nothing, until this contact ends the suspension.
    Ask(&'a str),
}

pub fn topup_text(amount: Money, at: Timestamp, operator: Option<&str>, then: Then<'_>) -> String {
    let (wallet, amount) = (wallet_name(operator), naira(amount));
    let then = match then {
        Then::Pay(merchant, until) => {
            format!("To finish paying {merchant}, open your payment link before {}.", lagos_clock(until))
        }
        Then::Use => "You can use it now.".to_owned(),
        Then::Ask(contact) => {
            format!("Your {wallet} is suspended, so you cannot use it now. For help, contact {contact}.")
        }
    };
    format!("{amount} was added to your {wallet} on {}. {then}", lagos_time(at))
}

/// What kept a transfer out of the wallet, for within a sentence: a template has it after the time.
pub fn not_added_words(amount: Money, is_suspended: bool, operator: Option<&str>) -> String {
    let wallet = wallet_name(operator);
    let why = match is_suspended {
        true => format!("because your {wallet} is suspended"),
        false => format!("because your {wallet} would then hold more than it may"),
    };
    format!("your transfer of {} arrived, but it has not been added to your balance, {why}", naira(amount))
}

/// The same of a top-up that was taken out of the wallet again.
pub fn topup_reversed_words(amount: Money, operator: Option<&str>) -> String {
    format!(
        "your top-up of {} was reversed, and the money was taken out of your {} again",
        naira(amount),
        wallet_name(operator)
    )
}

/// `what` is of the two above. It promises nothing: whoever runs the wallet decides what becomes of the money.
pub fn topup_problem_text(what: &str, at: Timestamp, contact: &str) -> String {
    format!("On {}, {what}. If you have questions, contact {contact}.", lagos_time(at))
}

/// The shop and the order that money came back from.
pub fn refunded(merchant: &str, reference: Option<&str>) -> String {
    reference.map_or(merchant.to_owned(), |reference| format!("{merchant} for order {}", unlinked(reference)))
}

/// `from` is what [`refunded`] says. It does not promise that the money can be spent today: the day's limit still
/// counts the payment. `number` is that of the receipt.
pub fn refund_text(from: &str, amount: Money, at: Timestamp, number: &str, operator: Option<&str>) -> String {
    format!(
        "The {} that you paid to {from} was refunded to your {} on {}.\n\nReceipt number: {number}",
        naira(amount),
        wallet_name(operator),
        lagos_time(at)
    )
}

/// The text without what is secret in it: runs of four digits and more that are no amounts, and what
/// follows the scheme of a link.
pub fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = "";
    for word in text.split_inclusive(char::is_whitespace) {
        let (body, blank) = match word.chars().last() {
            Some(last) if last.is_whitespace() => word.split_at(word.len() - last.len_utf8()),
            _ => (word, ""),
        };
        match body.to_ascii_lowercase().find("://") {
            Some(at) => {
                out.push_str(&body[..at + 3]);
                out.push_str("***");
            }
            None if is_year(before, body) => out.push_str(body),
            None => out.push_str(&without_digits(body, SHOWN_DIGITS)),
        }
        out.push_str(blank);
        before = body;
    }
    out
}

/// The year of a date as our own texts tell it: `10 Mar 2026,`.
fn is_year(before: &str, word: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let year = word.trim_end_matches([',', '.']);
    MONTHS.contains(&before)
        && year.len() == 4
        && year.starts_with("20")
        && year.bytes().all(|b| b.is_ascii_digit())
}

/// The text without what may be a phone number: codes of errors have fewer digits.
pub fn without_numbers(text: &str) -> String {
    without_digits(text, ERROR_DIGITS)
}

/// Digits in a row that a text, and a messenger's reason, may show before they are hidden.
const SHOWN_DIGITS: usize = 3;
const ERROR_DIGITS: usize = 6;

fn without_digits(word: &str, shown: usize) -> String {
    let mut out = String::with_capacity(word.len());
    let mut run = String::new();
    for c in word.chars().chain(std::iter::once('\0')) {
        if c.is_numeric() {
            run.push(c);
            continue;
        }
        let hidden = run.chars().count() > shown;
        out.push_str(if hidden { "****" } else { &run });
        run.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_text_under_the_longest_name_stays_within_what_is_sent() {
        let text = merchant_text(&"ọ".repeat(255), &"a".repeat(4_000));
        assert!(
            text.chars().count() <= 4_096 && text.starts_with("From ọọ") && text.contains("ọ…:\n"),
            "{text}"
        );
        assert_eq!(merchant_text("Adire Place", "Hello"), "From Adire Place:\nHello");
    }

    #[test]
    fn a_reference_that_looks_like_a_host_is_taken_apart() {
        for (reference, shown) in
            [("INV.2026.NG", "INV. 2026. NG"), ("shop.com", "shop. com"), ("v2.0.1", "v2.0.1")]
        {
            assert_eq!(unlinked(reference), shown);
        }
    }

    #[test]
    fn words_tell_amounts_and_local_times() {
        assert_eq!(naira(Money(123_456_789)), "NGN 1,234,567.89");
        assert_eq!(naira(Money(99_900)), "NGN 999.00");
        assert_eq!(lagos_time(Timestamp(1_773_129_600_000_000)), "10 Mar 2026, 09:00");
        let words = LinkWords {
            merchant: "Mako Stores",
            amount: "NGN 5,000.00",
            reference: "A-7",
            url: "https://pay.example.com/pay/abcDEF123456",
            until: Timestamp(0),
            operator: None,
        };
        let text = link_text(&words);
        assert!(text.contains("Mako Stores asks you to pay NGN 5,000.00 for order A-7"), "{text}");
        assert!(text.contains(words.url) && text.contains("works until 1 Jan 1970, 01:00"), "{text}");
    }

    #[test]
    fn wrong_pins_say_what_to_do_and_money_says_where_it_is() {
        let at = Timestamp(1_773_129_600_000_000);
        let operator = Some("Kudi Basket");
        let locked = wrong_pins_text(
            &locked_words(operator),
            at,
            &locked_then(Timestamp(at.0 + 86_400_000_001), None),
            "Kudi Basket",
        );
        assert_eq!(
            locked,
            "Your Kudi Basket wallet was locked on 10 Mar 2026, 09:00 after wrong PINs. It unlocks on 11 Mar 2026, 09:01. \
             To unlock it now, open your payment link and set a new PIN with a code. If this was not you, contact Kudi \
             Basket straight away."
        );
        assert_eq!(
            topup_text(Money(500_000), at, operator, Then::Pay("Mako", at)),
            "NGN 5,000.00 was added to your Kudi Basket wallet on 10 Mar 2026, 09:00. To finish paying Mako, open your \
             payment link before 09:00."
        );
        assert!(
            topup_text(Money(500_000), at, None, Then::Use)
                .ends_with("to your wallet on 10 Mar 2026, 09:00. You can use it now.")
        );
        assert_eq!(
            topup_problem_text(
                &not_added_words(Money(500_000), true, operator),
                at,
                "Kudi Basket (0700 5834)"
            ),
            "On 10 Mar 2026, 09:00, your transfer of NGN 5,000.00 arrived, but it has not been added to your balance, \
             because your Kudi Basket wallet is suspended. If you have questions, contact Kudi Basket (0700 5834)."
        );
        assert_eq!(
            topup_problem_text(&topup_reversed_words(Money(500_000), None), at, "your wallet provider"),
            "On 10 Mar 2026, 09:00, your top-up of NGN 5,000.00 was reversed, and the money was taken out of your wallet \
             again. If you have questions, contact your wallet provider."
        );
        assert!(
            refund_text("Mako", Money(1), at, "TXN-1", operator)
                .contains("refunded to your Kudi Basket wallet on")
        );
        assert!(
            pin_changed_text(false, at, operator, "us")
                .starts_with("Your Kudi Basket wallet PIN was changed on")
        );
    }

    #[test]
    fn what_is_shown_afterwards_holds_no_code_and_no_link() {
        let words = LinkWords {
            merchant: "Mako",
            amount: "NGN 5,000.00",
            reference: "A-7",
            url: "https://pay.example.com/pay/abcDEF123456",
            until: Timestamp(0),
            operator: None,
        };
        let shown = masked(&link_text(&words));
        assert!(!shown.contains("abcDEF") && shown.contains("https://***\n"), "{shown}");
        let shown = masked(&code_text("493017", "Mako", Timestamp(1_773_129_600_000_000), None));
        assert!(shown.starts_with("**** is your code") && shown.contains("It works until 09:00."), "{shown}");
        assert_eq!(masked("code:12345, HTTP://a.b/c?d x"), "code:****, HTTP://*** x");
        assert_eq!(masked("a 123 b"), "a 123 b");
        assert_eq!(masked("on 10 Mar 2026, 09:00. 4931 Mar 4931"), "on 10 Mar 2026, 09:00. **** Mar ****");
        assert_eq!(masked("2026 Mar 20264"), "**** Mar ****");
        assert_eq!(without_numbers("(131026) +2348031234567: no"), "(131026) +****: no");
    }

    #[test]
    fn words_of_closed_lists_are_read_as_written() {
        for kind in MessageKind::ALL {
            assert_eq!(MessageKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(MessageStatus::parse("read"), Some(MessageStatus::Read));
        assert_eq!(MessageStatus::parse("gone"), None);
    }
}
