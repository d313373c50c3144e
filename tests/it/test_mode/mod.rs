//! Test mode: a test key works with no operator, money is simulated, and nothing of it ever touches what is live.

mod on_pages;
mod realms;
mod simulating;
mod thieves;
mod wallets;
mod world;
