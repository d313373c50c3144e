//! Pure rules of the trade: no clock, no randomness, no IO, no async, no serde.
//!
//! What a payment may become, which alert funds it, what it costs, whose name it bears.
//! Everything here is a function of its arguments; every refusal is a value.

pub mod account;
pub mod address;
pub mod alert;
pub mod arrival;
pub mod charges;
pub mod event;
pub mod impostor;
pub mod intent;
pub mod key_purpose;
pub mod ledger;
pub mod marked_mail;
pub mod matching;
pub mod merchant;
pub mod message;
pub mod money;
pub mod name;
pub mod narrated;
pub mod notice;
pub mod payment;
pub mod payout;
pub mod phone;
pub mod pin;
pub mod reference;
pub mod same_transfer;
pub mod superseded;
pub mod text;
pub mod time;
pub mod told_before;
pub mod totp;
pub mod user;
pub mod value_date;
pub mod waits;
pub mod wallet;
pub mod webhook;
pub mod weburl;
