//! A payment intent: a wallet payment that waits for its customer's PIN.
//!
//! `pending_pin -> completed | expired | failed`, and nothing after that. It ends in the Unit that ends
//! its payment. A try of a PIN takes one of five places before the PIN is checked; a right PIN gives
//! its place back, five checked wrong ones fail the intent. Where the rows live is store's matter.

use super::money::Money;
use super::payment::{Kind, Payment, Status};
use super::time::{Span, Timestamp};

/// No link lives longer.
pub const LINK_LIFETIME_MAX: Span = Span::minutes(120);
/// Places for tries, and checked wrong tries that fail an intent.
pub const PLACES: i64 = 5;
/// Wrong tries that end a one-time code; its digits and its life.
pub const CODE_TRIES: i64 = 5;
pub const CODE_DIGITS: usize = 6;
pub const CODE_LIFE: Span = Span::minutes(10);
/// Codes sent to one wallet in an hour and in a day.
pub const CODES_AN_HOUR: i64 = 3;
pub const CODES_A_DAY: i64 = 5;
/// Between two codes to one wallet: the first may still be on its way, and the second ends it.
pub const CODE_PAUSE: Span = Span::seconds(60);

/// By what a form of the confirm page is known when it comes again: made from its token and what was typed, under
/// the vault's key.
pub type FormKey = [u8; 32];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentState {
    PendingPin,
    Completed,
    Expired,
    Failed,
}

impl IntentState {
    pub fn as_str(self) -> &'static str {
        match self {
            IntentState::PendingPin => "pending_pin",
            IntentState::Completed => "completed",
            IntentState::Expired => "expired",
            IntentState::Failed => "failed",
        }
    }

    pub fn parse(word: &str) -> Option<IntentState> {
        use IntentState::{Completed, Expired, Failed, PendingPin};
        [PendingPin, Completed, Expired, Failed].into_iter().find(|state| state.as_str() == word)
    }
}

/// How an intent came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentEnd {
    Paid,
    Expired,
    WrongPins,
    Cancelled,
    /// The payment was rejected by an operator.
    Rejected,
}

impl IntentEnd {
    pub fn as_str(self) -> &'static str {
        match self {
            IntentEnd::Paid => "paid",
            IntentEnd::Expired => "expired",
            IntentEnd::WrongPins => "wrong_pins",
            IntentEnd::Cancelled => "cancelled",
            IntentEnd::Rejected => "rejected",
        }
    }

    pub fn parse(word: &str) -> Option<IntentEnd> {
        use IntentEnd::{Cancelled, Expired, Paid, Rejected, WrongPins};
        [Paid, Expired, WrongPins, Cancelled, Rejected].into_iter().find(|end| end.as_str() == word)
    }

    /// The state an intent is in after this end.
    pub fn state(self) -> IntentState {
        match self {
            IntentEnd::Paid => IntentState::Completed,
            IntentEnd::Expired => IntentState::Expired,
            IntentEnd::WrongPins | IntentEnd::Cancelled | IntentEnd::Rejected => IntentState::Failed,
        }
    }

    /// Why the payment is rejected, for operators; `None` where it is not. Stored, and read back by
    /// [`reject_word`]: a text that was released stays.
    pub fn reject_reason(self) -> Option<&'static str> {
        match self {
            IntentEnd::Paid => None,
            IntentEnd::Expired => Some("the customer did not confirm in time"),
            IntentEnd::WrongPins => Some("the PIN was wrong too often"),
            IntentEnd::Cancelled => Some("cancelled on the payment page"),
            IntentEnd::Rejected => Some("rejected by an operator"),
        }
    }
}

/// Why a payment was rejected, in one word for its merchant; `None` where it is not. An operator's own words
/// are for operators.
pub fn reject_word(payment: &Payment) -> Option<&'static str> {
    if payment.status != Status::Rejected {
        return None;
    }
    let told = |end: &IntentEnd| end.reject_reason() == payment.reject_reason.as_deref();
    let end = match payment.kind {
        _ if payment.swept => IntentEnd::Expired,
        Kind::Wallet => {
            [IntentEnd::WrongPins, IntentEnd::Cancelled].into_iter().find(told).unwrap_or(IntentEnd::Rejected)
        }
        Kind::Transfer | Kind::Topup => IntentEnd::Rejected,
    };
    Some(end.as_str())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    pub id: i64,
    pub business_id: i64,
    pub wallet_id: i64,
    pub payment_id: i64,
    /// Random; its link is made from it (`vault::link`).
    pub nonce: Vec<u8>,
    pub state: IntentState,
    pub end: Option<IntentEnd>,
    /// Places taken.
    pub tries: i64,
    pub wrong_tries: i64,
    /// What the customer pays; never changes.
    pub amount: Money,
    pub order_reference: String,
    pub order_summary: Option<String>,
    /// What stands before the token in the link, `https://pay.example.com/pay/`.
    pub link_base: String,
    pub idempotency_key: String,
    /// Of the request that made it.
    pub fingerprint: Vec<u8>,
    /// The message with the link.
    pub message_id: i64,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl Intent {
    /// Waits for a PIN and has time left.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.state == IntentState::PendingPin && now < self.expires_at
    }

    /// A PIN may be set by this link. What wrong PINs stopped is where one is wanted most.
    pub fn may_set_pin(&self, now: Timestamp) -> bool {
        let is_stopped = self.end == Some(IntentEnd::WrongPins);
        (self.state == IntentState::PendingPin || is_stopped) && now < self.expires_at
    }

    /// Tries that are left, as the customer is told.
    pub fn tries_left(&self) -> i64 {
        (PLACES - self.wrong_tries).max(0)
    }
}

/// A one-time code that proves the phone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinCode {
    pub id: i64,
    pub wallet_id: i64,
    pub intent_id: i64,
    /// Random; the digits are made from it (`vault::link`).
    pub nonce: Vec<u8>,
    pub tries: i64,
    pub used_at: Option<Timestamp>,
    /// The PIN that it set has lifted a lock.
    pub unlocked: bool,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl PinCode {
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.used_at.is_none() && now < self.expires_at && self.tries < CODE_TRIES
    }

    /// Until when no other code may take its place. Nobody waits for one that was used: it has arrived.
    pub fn alone_until(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.created_at + CODE_PAUSE;
        (self.used_at.is_none() && now < until).then_some(until)
    }
}
