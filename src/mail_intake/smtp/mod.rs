//! SMTP and LMTP: takes mails from an MTA, or straight from a sender, and answers for them.
//!
//! ```text
//! listen (entrance) -> session (command) -> wire (content) ... intake::ingest
//! ```
//!
//! It relays nothing and sends nothing: a mail is for us or refused. Nothing here decides what a mail
//! is worth; that is `intake`'s, which is told only where it came from. The bytes are kept as they
//! came, without a Received line of ours, because signatures cover them. `serve` starts it.

mod command;
mod content;
mod entrance;
mod listen;
mod session;
mod wire;

pub use listen::{Receiver, SmtpProblem};
pub use session::Timeouts;
