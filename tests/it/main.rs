//! The integration tests: one binary, a module per area, over the machinery in `harness`.
//!
//! One binary because every further one links the whole crate again. Tests that need a
//! database are written once with `on_both!` and run on SQLite and on PostgreSQL; `./test`
//! starts the PostgreSQL they need. Nothing outside `tests/it` may use this.

// Test machinery fails by panicking with a message; clippy.toml's exemption covers only `#[test]` functions.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod harness;

mod account_added;
mod another_merchant;
mod answers;
pub mod api;
mod arrivals;
mod attacks;
mod audits;
mod book;
mod changing_keys;
mod checkout;
pub mod cli;
mod collections;
mod contended;
mod counted_once;
mod crashes;
mod crowded;
mod debit_mails;
mod events;
mod failover;
mod figures;
mod finding;
mod fished;
mod forged;
mod hearsay;
mod hidden_credits;
mod intake;
mod invited;
mod log_lines;
mod mailbox;
mod meant_for_others;
mod named_in_part;
mod named_in_remarks;
mod notices;
mod obstacles;
mod other_accounts;
mod pages;
pub mod payouts;
mod people;
mod pooler;
mod privacy;
mod quarantine;
mod reread;
mod retention;
mod reviewing;
mod reviewing_doubts;
mod rolling;
mod seeded;
mod sent_again;
mod sent_before;
mod settling;
mod shared_time;
mod smtp;
mod spoken_for;
mod starting;
mod still_credited;
mod still_told;
mod store;
mod subjects;
mod taken_back;
mod telling;
mod test_mode;
mod till;
mod told_as_lost;
mod told_beside_wallets;
mod told_of_each;
mod told_of_others;
mod torture;
mod two_layouts;
mod two_nodes;
mod two_parts;
mod two_states;
mod typed_session;
mod unclear_accounts;
mod undoing;
mod unique_reference;
mod unsigned;
mod vouched;
mod waiting;
pub mod wallet;
mod wallet_pages;
mod webhooks_delivery;
mod webhooks_endings;
mod webhooks_flood;
mod webhooks_workers;
mod webhooks_world;
mod went_back;
mod whatsapp;
mod which_credit;
