//! tillbell: a payment gateway for plain bank transfers.
//!
//! The rooms and what may import what are described in ARCHITECTURE.md. `main` reads arguments
//! and calls [`cli`]; `cli` starts the other doors ([`http`], [`mail_intake`], [`work`]) side by side.
//! Doors call [`ops`], ops read and write through [`store`] and decide with [`domain`]. What a mail says is read by
//! [`alert_reader`], who sent it is told by [`mail_proof`].

#![forbid(unsafe_code)]

pub mod alert_reader;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crash;
pub mod directory;
pub mod domain;
pub mod http;
pub mod log_limit;
pub mod mail_intake;
pub mod mail_proof;
pub mod ops;
pub mod outbound;
pub mod serve;
pub mod slots;
pub mod store;
pub mod terminal;
pub mod tls;
pub mod vault;
pub mod wire;
pub mod work;
