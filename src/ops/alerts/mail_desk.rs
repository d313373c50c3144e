//! What the desk asks of the mail door: an alert's mail as a person sees it, reading it again, reading one that is only
//! tried, and what is known of the banks.
//!
//! Pages do not know the mail door; whoever starts both hands them this ([`MailDesk`]).

use std::pin::Pin;

use super::decide::AlertOutcome;
use super::reread::{Reread, RereadRefused};
use super::simulated::Simulated;
use crate::app::App;
use crate::domain::alert::{AlertFacts, AlertRow, Authenticity};
use crate::domain::marked_mail::MarkedMail;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::merchants::accounts::GivenBank;

/// An answer under way.
pub type MailAnswer<'a, T> = Pin<Box<dyn Future<Output = Result<T, OpError>> + Send + 'a>>;

/// Whoever knows mails and banks.
pub trait MailDesk: Send + Sync {
    /// The mail of an alert, with what was read of it marked.
    fn see<'a>(&'a self, app: &'a App, alert: &'a AlertRow) -> MailAnswer<'a, MailSeen>;

    /// Reads the mail of an alert again, and writes what came of it under the operator's name.
    fn reread<'a>(
        &'a self,
        app: &'a App,
        alert_id: i64,
        operator: &'a str,
    ) -> MailAnswer<'a, Result<Reread, RereadRefused>>;

    /// What a mail would be read as; nothing is stored.
    fn try_mail<'a>(&'a self, app: &'a App, raw: Vec<u8>) -> MailAnswer<'a, TriedMail>;

    /// The banks whose mails can be read, in the order of their names.
    fn banks(&self) -> Vec<KnownBank>;

    /// A bank's own name; the code itself where no template has it.
    fn bank_name(&self, code: &str) -> String;

    /// The bank that an operator named.
    fn given_bank(&self, text: &str) -> GivenBank;

    /// A mail in the layout of a bank; `None` where its template does not tell how one is written.
    fn write(&self, told: &SimulatedMail<'_>) -> Option<Vec<u8>>;

    /// Takes a mail that was written so, as every mail is taken.
    fn take_simulated<'a>(
        &'a self,
        app: &'a App,
        raw: Vec<u8>,
        simulated: Simulated,
    ) -> MailAnswer<'a, AlertOutcome>;
}

/// What a simulated mail tells.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedMail<'a> {
    /// Code of the bank in whose layout it is written.
    pub bank: &'a str,
    /// The whole number.
    pub account: &'a str,
    pub holder: &'a str,
    pub amount: Money,
    pub payer: &'a str,
    /// What the payer typed.
    pub remark: &'a str,
    pub at: Timestamp,
    /// No two mails have the same.
    pub unique: u128,
}

/// An alert's mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailSeen {
    Shown(MarkedMail),
    /// Deleted: mails are kept for 90 days.
    Gone,
    /// It cannot be shown, with the reason in words.
    Unreadable(String),
}

/// What a mail would be read as and why, reading it as if it were trusted.
#[derive(Clone, Debug)]
pub struct TriedMail {
    /// `read`, `ignored`, `unreadable` or `quarantined`.
    pub outcome: &'static str,
    pub authenticity: Authenticity,
    pub facts: AlertFacts,
    pub why: Vec<String>,
    /// What the service would make of it if it came over the network now.
    pub live_outcome: &'static str,
    pub live_reasons: Vec<String>,
    /// Headers that its signature does not cover.
    pub unsigned: Vec<&'static str>,
    pub mail: MailSeen,
}

/// A bank as its template describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBank {
    pub code: String,
    pub name: String,
    pub aliases: Vec<String>,
    pub senders: Vec<String>,
    pub dkim_domains: Vec<String>,
    pub layouts: Vec<String>,
    /// Its alerts hide digits of the account number.
    pub is_masked: bool,
}
