//! Bank alerts: taken in, weighed, decided, reviewed by a person, read anew, and compared with one another.
//!
//! The highest subject: it asks all others, and none of them asks it.

pub mod account_added;
pub mod alert_log;
pub mod approve;
mod arrivals;
pub mod browse;
pub mod copies;
pub mod decide;
pub mod dismiss;
pub mod draft;
pub mod evidence;
pub mod find;
mod held_beneficiaries;
pub mod mail_desk;
pub mod may_be_meant;
mod named_besides;
pub mod note;
mod obstacles;
pub mod other_accounts;
pub mod payout_debits;
pub mod prove_later;
mod reach;
pub mod read;
pub mod rematch;
pub mod reread;
pub mod reverse;
mod same_payer;
pub mod settle;
pub mod similar;
pub mod simulate;
pub mod simulated;
pub mod take;
pub mod taken_back;
pub mod weigh;
pub mod weigh_corrected;
pub mod who_else;
