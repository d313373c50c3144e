//! Payouts: what is set aside, what ends it, who may do what, on the API, on pages and by the bank's word.

mod api;
mod bank;
pub mod book;
mod held;
mod killed;
mod pages;
mod races;
pub mod world;
