//! A file per noun: its statements, the decoding of its rows, and typed functions.

pub mod accounts;
pub mod acts;
pub mod alert_totals;
pub mod alerts;
pub mod audit_runs;
pub mod corrections;
pub mod deliveries;
pub mod events;
pub mod figures;
pub mod idempotency;
pub mod intents;
pub mod jobs;
pub(in crate::store) mod key_check;
pub mod mailboxes;

pub mod merchants;
pub mod messages;
pub mod notices;
pub mod outgoing_mails;
pub mod passkeys;
pub mod payment_list;
pub mod payment_names;
pub mod payment_search;
pub mod payment_walk;
pub mod payments;
pub mod payout_accounts;
pub mod payouts;
pub mod places;
pub mod refused;
pub mod registrations;
pub mod seals;
pub mod sessions;
pub mod settlements;
pub mod statement;
pub mod topups;
pub mod users;
pub mod wallets;
