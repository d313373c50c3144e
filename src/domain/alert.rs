//! A bank alert as facts: what a mail said, field by field, and how sure we are that the
//! bank said it. A field that could not be read for sure is `None`; nothing is guessed.
//!
//! `mail` makes these, `matching` decides on them, `store` keeps them.

use super::money::Money;
use super::time::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Credit,
    Debit,
}

/// What a transaction alert is about. Only `Payment` can fund a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertKind {
    Payment,
    Reversal,
    Fee,
    OwnTransfer,
    /// One-time codes, statements, promotions: no transaction at all.
    Notice,
}

/// How exactly a bank told the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimePrecision {
    Second,
    Minute,
    Day,
    /// Nothing shown: anything up to the mail's Date.
    None,
}

/// The bank's time as an interval: `begin` inclusive, `end` inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankTime {
    pub begin: Timestamp,
    pub end: Timestamp,
    pub precision: TimePrecision,
}

/// Whether the mail is the bank's own word (decisions 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authenticity {
    /// A signature we verified ourselves, or the named provider's verdict.
    Proven,
    /// Declared by the operator at the command line.
    Trusted,
    /// Nothing speaks for it, nothing against it.
    Unproven,
    /// Something speaks against it: the reasons say what.
    Refuted,
    /// Passed on by a person; can be read, cannot be proven.
    Forwarded,
}

/// The balance a bank showed after the transaction, with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    Available(Money),
    /// Book, ledger, cleared or current: whatever is not the available one.
    Ledger(Money),
}

/// Everything read from one mail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertFacts {
    /// Code of the bank's template, such as `gtbank`; `None` when no bank's sender.
    pub bank: Option<String>,
    /// Name of the layout inside the template.
    pub template: Option<String>,
    pub direction: Option<Direction>,
    pub kind: Option<AlertKind>,
    pub amount: Option<Money>,
    /// ISO 4217 as shown, `NGN` for the naira sign; `None` when not shown and not implied by the template.
    pub currency: Option<String>,
    /// The account the bank's row shows, mask kept, such as `******8272`.
    pub account_number: Option<String>,
    /// A virtual account that the narration names.
    pub virtual_account: Option<String>,
    /// Amount and Lagos day that the narration's digits around the virtual account hold, if any.
    pub virtual_amount: Option<Money>,
    pub virtual_day: Option<i64>,
    /// Holder of the account the alert is about, as shown (Dear line or row).
    pub holder_name: Option<String>,
    pub payer_name: Option<String>,
    /// The name fills its field to the bank's cut length: its last word may be incomplete.
    pub payer_name_cut: bool,
    /// Payer's account from a field of its own, never from free text.
    pub payer_account_number: Option<String>,
    /// Display name of the payer's bank, from the session id or the narration's bank code.
    pub payer_bank: Option<String>,
    /// Whitespace collapsed, transfer-encoding residue removed, split parts joined.
    pub narration: Option<String>,
    pub reference: Option<String>,
    /// The template calls this reference unique, so it may serve as a duplicate key.
    pub reference_is_unique: bool,
    /// NIP session id, 30 digits, from its own place in the layout.
    pub session_id: Option<String>,
    pub occurred: Option<BankTime>,
    pub balance: Option<Balance>,
    /// Hidden or contradicting content and other reasons why this must not approve by itself.
    pub doubts: Vec<String>,
}
