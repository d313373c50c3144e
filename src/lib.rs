//! tillbell: a payment gateway for plain bank transfers.

#![forbid(unsafe_code)]

pub mod clock;
pub mod crash;
pub mod domain;
pub mod outbound;
pub mod store;
