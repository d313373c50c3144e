//! Wallets: from a number to a confirmed payment, and everything that must not move money. Whole flows over
//! a messenger of the test's own, which keeps what it was given and answers as it is told.

mod book;
mod codes;
mod confirming;
mod crashing;
mod desk;
mod error_codes;
mod guards;
mod messages;
mod races;
mod random_acts;
mod refusals;
mod restored;
pub mod routes;
mod stopped;
mod topups;
pub mod world;
