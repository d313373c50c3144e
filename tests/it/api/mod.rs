//! The API as merchants meet it: a real server on a port of its own, raw HTTP, both databases.
//!
//! Every rule of the wire that names an answer has its test here, by the file that speaks of it.
//! What a payment does later (matching, webhooks) is tested elsewhere.

mod auth;
mod bodies;
pub mod codes;
mod connections;
mod correcting;
mod creating;
mod document;
mod framing;
mod idempotency;
mod integrating;
mod limits;
mod listing;
mod places;
mod received;
mod rejected;
pub mod server;
mod shared_limits;
mod words;
