//! How a route describes itself, for the API's document and its pages: what a handler's `describe` is written with.
//!
//! Used by every handler; knows none of them. `openapi` collects the descriptions.

pub mod fields;
pub mod operation;
