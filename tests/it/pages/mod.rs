//! What the pages of people who sign in are made of: what they load, and every component, looked at in a browser.

mod assets;
mod contrast;
mod desk;
mod gallery;
mod samples;
mod signing_in;
pub mod visitor;
