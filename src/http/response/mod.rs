//! What goes out when something is wrong: errors, their codes, and what is wrong with each field.

pub mod code;
pub mod error;
pub mod problems;
