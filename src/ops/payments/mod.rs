//! Payment requests: made, read, found, corrected, and ended when nobody paid.

pub mod browse;
pub mod by_hand;
pub mod checkout;
pub mod choose_website;
pub mod correct;
pub mod create;
pub mod find;
pub mod idempotency;
pub mod like_names;
pub mod read;
pub mod reject;
pub mod sweep;
pub mod timeline;
