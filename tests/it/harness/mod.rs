//! What integration tests stand on: databases, a webhook receiver, a faulty network.
//!
//! Everything here is real (real servers, real sockets) and waits for events with a
//! deadline instead of sleeping for luck. It knows nothing of what a test is about.
//! Any module of `tests/it` may use it; it uses none of them.

pub mod app;
pub mod authenticator;
pub mod books;
pub mod browser;
pub mod cloud_api;
#[macro_use]
pub mod databases;
pub mod document;
pub mod dovecot;
pub mod imap_client;
pub mod imap_server;
pub mod logs;
pub mod mails;
pub mod mta;
pub mod name_server;
pub mod own_postgres;
pub mod ports;
pub mod proxy;
pub mod receiver;
pub mod signing;
pub mod tls_receiver;
pub mod until;
