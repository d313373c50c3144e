//! Where bank mails come in, and the one function that takes all of them.
//!
//! ```text
//! files | imap | smtp -> ingest: alert_reader and mail_proof on threads of their own -> ops
//! ```
//!
//! Stored mails are also read again here: by workers when a proof was late (`second_look`), and by a person who
//! has changed a bank's template since (`reread`). `desk` is what pages ask. Called by `serve` and the command line.

pub mod desk;
pub mod files;
pub mod given_bank;
pub mod imap;
pub mod ingest;
pub mod reread;
pub mod second_look;
pub mod smtp;
mod threads;
