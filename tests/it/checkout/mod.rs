//! The checkout page: how it shows each state, what its link opens and what not, how it hears of changes, and how it looks
//! in a browser.

mod browsing;
mod links;
mod returning;
mod states;
mod streams;
pub mod world;
