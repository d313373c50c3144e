//! Wallets of phone numbers: found and made, and what operators do to them.

pub mod desk;
pub mod find;
pub mod held;
