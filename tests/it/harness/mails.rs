//! Bank mails made to measure: a GTBank credit or debit alert with the figures a test wants.
//!
//! The layout is the bank's present one (three-cell rows, direction in a sentence); names and
//! numbers are ours.

use std::sync::atomic::{AtomicU64, Ordering};

use tillbell::domain::time::{Span, Timestamp};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// What the mail shows. `Alert::credit` fills in what a test does not care for.
#[derive(Clone, Debug)]
pub struct Alert {
    pub direction: &'static str,
    pub account: String,
    /// As the row shows it, such as `7350` or `7350.5`.
    pub amount: String,
    pub payer: String,
    pub at: Timestamp,
    pub message_id: String,
    /// 30 digits; empty for a transfer inside the bank, whose narration has none.
    pub session: String,
    pub balance: String,
    pub holder: String,
}

impl Alert {
    /// A credit of whole naira that happened at `at`, unlike any other alert made here.
    pub fn credit(account: &str, naira: i64, payer: &str, at: Timestamp) -> Alert {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        Alert {
            direction: "CREDIT",
            account: format!("******{}", &account[account.len() - 4..]),
            amount: naira.to_string(),
            payer: payer.to_uppercase(),
            at,
            message_id: format!("<{n}.{}@gens.example>", std::process::id()),
            session: format!("100004{:012}{n:012}", (at.0 / 1_000_000) % 1_000_000_000_000),
            balance: format!("{}.{:02}", 10_000 + n, n % 100),
            holder: "TILL AND BELL LTD".into(),
        }
    }

    pub fn text(&self) -> String {
        let local = jiff::Timestamp::from_microsecond((self.at + Span::hours(1)).0)
            .unwrap()
            .to_zoned(jiff::tz::TimeZone::UTC);
        let date = local.strftime("%a, %d %b %Y %H:%M:%S +0100");
        let day = local.strftime("%Y-%m-%d");
        let time = local.strftime("%-I:%M:%S %p");
        let narration = if self.session.is_empty() {
            format!("VIA GAPS PAYMENT FROM {}", self.payer)
        } else {
            format!("{}-TRANSFER-OPAY-{}", self.session, self.payer)
        };
        assert!(narration.len() <= 79, "{narration} would be split by the bank");
        format!(
            "From: GeNS@gtbank.com\r\nTo: alerts@till.example\r\nSubject: Transaction Notification\r\n\
             Date: {date}\r\nMessage-ID: {}\r\nMIME-Version: 1.0\r\n\
             Content-Type: text/html; charset=utf-8\r\n\r\n\
             <table><tr><td colspan=\"2\">Dear  {}</td></tr>\r\n\
             <tr><td>We wish to inform you that a {} transaction occurred on your account with us.</td></tr></table>\r\n\
             <table><tr><td>Account Number</td><td>:</td><td colspan=\"8\">{}</td></tr>\r\n\
             <tr><td>Transaction Location</td><td>:</td><td>205</td></tr>\r\n\
             <tr><td>Description</td><td>:</td><td>{narration}</td></tr>\r\n\
             <tr><td>Amount</td><td>:</td><td>NGN {}</td></tr>\r\n\
             <tr><td>Value Date</td><td>:</td><td>{day}</td></tr>\r\n\
             <tr><td>Remarks</td><td>:</td><td></td></tr>\r\n\
             <tr><td>Time of Transaction</td><td>:</td><td>{time}</td></tr>\r\n\
             <tr><td>Document Number</td><td>:</td><td></td></tr>\r\n\
             <tr><td>Available Balance</td><td>:</td><td>NGN {}</td></tr></table>\r\n",
            self.message_id, self.holder, self.direction, self.account, self.amount, self.balance
        )
    }
}
