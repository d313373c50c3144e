//! Events as merchants' programs read them, from their facts to the API.

mod api;
mod chosen;
mod followed;
mod killed;
mod order;
mod reversed;
pub mod world;
