//! What comes in: who asks, the body, and what its fields must be.

pub mod auth;
pub mod body;
pub mod context;
pub mod validate;
