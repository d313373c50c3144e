//! What people are told of beside the pages: alarms to operators, troubles of a business to its members; by mail, and to
//! the operator's own webhook.
//!
//! A notice is a row and jobs, written in one Unit with the note that its cause was told, so that two nodes tell it once
//! and a crash loses none. How often a cause is told is `domain::notice`'s to say.

pub mod alarms;
pub mod hook;
pub mod mails;
pub mod merchants;
pub mod payouts;
mod tell;
