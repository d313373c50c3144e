//! SMTP and LMTP: takes mails from an MTA or directly from a sender, and is responsible for them after a 250.
//!
//! ```text
//! listen (entrance) -> session (command) -> wire (content) ... intake::ingest
//! ```
//!
//! It relays nothing and sends nothing: a mail is for us, or it is refused. Whether a mail is genuine is not
//! decided here but by `intake`, which is told only where it came from. The bytes are kept as they came,
//! without a Received line of our own, because signatures cover them. `serve` starts it.

mod command;
mod content;
mod entrance;
mod listen;
mod session;
mod wire;

pub use listen::{Receiver, SmtpProblem};
pub use session::Timeouts;
