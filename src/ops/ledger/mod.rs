//! The books: entries are sealed into a chain, and everything is recomputed by the audit.

pub mod audit;
pub mod audit_runs;
pub mod audit_webhooks;
pub mod check;
pub mod seal;
pub mod statement;
