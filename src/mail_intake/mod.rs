//! The door for bank mails: how they come in, and the one way in for all of them.
//!
//! ```text
//! files | imap | smtp -> ingest: alert_reader and mail_proof on threads of their own -> ops
//! ```
//!
//! Also where a kept mail is looked at again: by workers whose proof was late (`second_look`), and by a person
//! who taught a bank's template meanwhile (`reread`). Called by `serve` and the command line.

pub mod files;
pub mod imap;
pub mod ingest;
pub mod reread;
pub mod second_look;
pub mod smtp;
mod threads;
