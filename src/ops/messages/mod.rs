//! Messages to customers: composed, sent within quotas, and what the messenger reports of them.

pub mod outbox;
pub mod quota;
pub mod reports;
pub mod send_text;
pub mod shown;
mod waiting;
mod words;
