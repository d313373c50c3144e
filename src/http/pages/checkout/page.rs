//! What a checkout page is made of, and the words for each state of its payment. Every text is escaped by the template,
//! and those of merchants are shown without the characters that turn the direction of writing.

use askama::Template;

use crate::domain::money::{Money, naira};
use crate::domain::time::{Span, Timestamp};
use crate::http::pages::pay::figures::{day_clock, moment, reach_link, unbroken};
use crate::http::pages::qr::{Qr, code_of};
use crate::http::pages::text::plain;
use crate::ops::payments::checkout::{Checkout, CheckoutView};

/// Digits of an account number as banking apps group them.
const GROUPED: usize = 10;
/// Characters of an amount as it is written large.
const PRICE_USUAL: usize = 14;
/// Characters of a shop's name that a button does not show any more.
const BACK_NAME: usize = 30;

/// Who pays for what.
pub struct Shop {
    pub merchant: String,
    pub site: Option<String>,
    pub amount: Money,
    pub including: Option<String>,
}

impl Shop {
    fn price(&self) -> String {
        unbroken(&naira(self.amount))
    }

    /// It would run out of a phone in the usual size.
    fn is_long(&self) -> bool {
        self.price().chars().count() > PRICE_USUAL
    }
}

/// Where to pay.
pub struct Pay {
    pub amount: Money,
    pub number: String,
    pub digits: Vec<String>,
    pub bank: String,
    pub account_name: String,
    pub payer_name: String,
    pub qr: Option<Qr>,
}

impl Pay {
    fn price(&self) -> String {
        unbroken(&naira(self.amount))
    }
}

/// The time that is left.
pub struct Left {
    pub seconds: i64,
    pub text: String,
}

pub struct Row {
    pub name: &'static str,
    pub value: String,
    /// It may be broken anywhere, and at no hyphen before.
    pub is_id: bool,
}

impl Row {
    fn new(name: &'static str, value: String) -> Row {
        Row { name, value, is_id: false }
    }
}

#[derive(Template)]
#[template(path = "checkout/page.html")]
pub struct CheckoutPage {
    pub icon: String,
    pub style: String,
    pub script: String,
    pub operator: Option<String>,
    pub support: Option<String>,
    pub logo: Option<String>,
    pub title: String,
    pub heading: String,
    pub texts: Vec<String>,
    /// A class of the stylesheet.
    pub tone: &'static str,
    /// What the script compares; `None`: a page of no payment.
    pub view: Option<&'static str>,
    pub is_test: bool,
    pub shop: Option<Shop>,
    pub left: Option<Left>,
    pub pay: Option<Pay>,
    pub rows: Vec<Row>,
    pub back: Option<String>,
    pub back_text: String,
    pub look_again: bool,
}

impl CheckoutPage {
    /// A heading, a text and nothing else.
    pub fn bare(heading: &str, texts: Vec<String>) -> CheckoutPage {
        CheckoutPage {
            icon: String::new(),
            style: String::new(),
            script: String::new(),
            operator: None,
            support: None,
            logo: None,
            title: heading.to_owned(),
            heading: heading.to_owned(),
            texts,
            tone: "plain",
            view: None,
            is_test: false,
            shop: None,
            left: None,
            pay: None,
            rows: Vec::new(),
            back: None,
            back_text: String::new(),
            look_again: false,
        }
    }

    /// The page of a payment as it stands.
    pub fn of(checkout: &Checkout) -> CheckoutPage {
        let merchant = plain(&checkout.merchant);
        let Words { heading, texts, tone } = words(checkout, &merchant);
        let price = naira(checkout.amount);
        let pay = checkout.account.as_ref().map(|account| Pay {
            amount: checkout.amount,
            digits: grouped(&account.number),
            bank: plain(&account.bank_name),
            account_name: plain(&account.name),
            payer_name: plain(&checkout.payer_name),
            qr: code_of(&format!("{}\n{}\n{}", account.number, account.bank_name, account.name)),
            number: account.number.clone(),
        });
        let waits = checkout.state.turns_at.filter(|_| pay.is_some());
        let is_short = merchant.chars().count() < BACK_NAME;
        CheckoutPage {
            title: format!("{heading}: {price}, {merchant}"),
            tone,
            view: Some(checkout.state.view.as_str()),
            is_test: checkout.is_test,
            left: waits.map(|until| left(until, checkout.now)),
            rows: rows(checkout),
            shop: Some(Shop {
                site: checkout.site.clone(),
                amount: checkout.amount,
                including: checkout
                    .charges
                    .map(|charges| format!("including {} for charges", naira(charges))),
                merchant: merchant.clone(),
            }),
            pay,
            back: checkout.back.clone(),
            back_text: format!("Back to {}", if is_short { merchant.as_str() } else { "the shop" }),
            ..CheckoutPage::bare(&heading, texts)
        }
    }

    /// Where a tap on how the operator is reached leads.
    fn reach(&self) -> Option<String> {
        self.support.as_deref().and_then(reach_link)
    }
}

struct Words {
    heading: String,
    texts: Vec<String>,
    tone: &'static str,
}

fn words(checkout: &Checkout, merchant: &str) -> Words {
    const NOT_AGAIN: &str = "Please do not pay again.";
    let told = format!("{merchant} was told and decides what happens now.");
    let ask = format!("Questions? Ask {merchant}.");
    let until = day_clock(checkout.state.expires_at, checkout.now);
    let (heading, texts, tone) = match checkout.state.view {
        CheckoutView::Waiting => {
            let then = "Once you have sent it there is nothing more to do. Please do not pay twice.";
            ("Waiting for your transfer", vec![then.to_owned()], "plain waits")
        }
        CheckoutView::Paid => {
            let text = match checkout.is_topup {
                true => "Your wallet has the money.".to_owned(),
                false => format!("{merchant} has your payment."),
            };
            ("Paid", vec![text], "good")
        }
        CheckoutView::Late => {
            let came = format!("A transfer for this payment came after its time was over. {told}");
            ("Your transfer came late", vec![came, NOT_AGAIN.to_owned()], "warn")
        }
        CheckoutView::TooLittle => {
            let came = format!("A transfer of less than this amount came. {told}");
            ("Too little came", vec![came, NOT_AGAIN.to_owned()], "warn")
        }
        CheckoutView::TooMuch => {
            let came = format!("A transfer of more than this amount came. {told}");
            ("Too much came", vec![came, NOT_AGAIN.to_owned()], "warn")
        }
        CheckoutView::OtherName => {
            let came =
                "A transfer of this amount arrived under another name; the shop is checking it.".to_owned();
            let then = match checkout.account {
                Some(_) => "Was it yours? Then do not pay again. If you have not paid yet, pay as below.",
                None => "Was it yours? Then do not pay again.",
            };
            ("A transfer came under another name", vec![came, then.to_owned()], "warn")
        }
        CheckoutView::Expired => {
            let over =
                format!("It could be paid until {until}. Please do not transfer money for it any more.");
            let sent = "Did you pay before? Then you need to do nothing: a transfer that is still on its way \
                        shows here when it comes.";
            ("The time for this payment is over", vec![over, sent.to_owned(), ask], "warn")
        }
        CheckoutView::Rejected if checkout.is_reversed => {
            let why = "The money for this payment was taken back, so it counts as not paid.".to_owned();
            ("This payment was taken back", vec![why, NOT_AGAIN.to_owned(), ask], "bad")
        }
        CheckoutView::Rejected => {
            let why = "It was cancelled. Please do not transfer money for it any more.".to_owned();
            ("This payment was cancelled", vec![why, ask], "bad")
        }
    };
    Words { heading: heading.to_owned(), texts, tone }
}

fn rows(checkout: &Checkout) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some((received, at)) = checkout.paid {
        if received != checkout.amount {
            rows.push(Row::new("Received", unbroken(&naira(received))));
        }
        rows.push(Row::new("Paid at", moment(at)));
        rows.push(Row::new("Paid by", plain(&checkout.payer_name)));
    }
    if checkout.account.is_some() {
        let until = day_clock(checkout.state.expires_at, checkout.now);
        rows.push(Row::new("Pay before", until));
    }
    // Of what a payer sees beside an account number, he types what he can.
    let name = if checkout.account.is_some() { "Reference (you need not type it)" } else { "Reference" };
    rows.push(Row { is_id: true, ..Row::new(name, plain(&checkout.transaction_id)) });
    rows
}

/// `012`, `345`, `4417`; a number of another length as it is.
fn grouped(number: &str) -> Vec<String> {
    match number.len() == GROUPED && number.is_ascii() {
        true => vec![number[..3].to_owned(), number[3..6].to_owned(), number[6..].to_owned()],
        false => vec![number.to_owned()],
    }
}

/// Rounded down, so that nobody is promised too much. The script goes on counting in the same words.
fn left(until: Timestamp, now: Timestamp) -> Left {
    const DAY: i64 = 86_400;
    const TWO_DAYS: i64 = 2 * DAY;
    let span: Span = until.since(now);
    let seconds = span.0 / 1_000_000;
    let minutes = seconds / 60;
    let text = match (seconds, minutes) {
        (TWO_DAYS.., _) => format!("{} days left", seconds / DAY),
        (_, 60..) => format!("{} h {} min left", minutes / 60, minutes % 60),
        (_, 2..) => format!("{minutes} minutes left"),
        (_, 1) => "1 minute left".to_owned(),
        _ => "Less than a minute left".to_owned(),
    };
    Left { seconds, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_in_whole_minutes() {
        let now = Timestamp(1_773_129_600_000_000);
        for (seconds, text) in [
            (-3, "Less than a minute left"),
            (59, "Less than a minute left"),
            (61, "1 minute left"),
            (3_599, "59 minutes left"),
            (3_600, "1 h 0 min left"),
            (86_399, "23 h 59 min left"),
            (172_800, "2 days left"),
        ] {
            assert_eq!(left(Timestamp(now.0 + seconds * 1_000_000), now).text, text);
        }
    }

    #[test]
    fn an_account_number_is_grouped_as_banks_write_it() {
        assert_eq!(grouped("0123454417"), ["012", "345", "4417"]);
        assert_eq!(grouped("12345"), ["12345"]);
    }
}
