//! What goes out: JSON, errors and their codes.

pub mod code;
pub mod error;
pub mod json;
pub mod problems;
