//! Pages for people: HTML that works without scripts, and what all pages have in common.
//!
//! `pay` is the page behind a confirm link; it stays without script and cookie. `checkout` is the one that shows a payer where
//! to pay, and turns by itself. Pages of people who sign in are made of
//! the components here: `layout` stands around them, `field`, `rows`, `parts` and `chart` are in them, `text` and `times`
//! are what these write, `answer` sends them, `assets` is what they load. `table` names them all and who may ask, `ask` is
//! what a page knows of a request, `here` of which business it is, `segment` of what a path names, `export` is a list
//! as a file, `once` has a form count once, `plain` is a page of few words; `sign_in` is
//! signing in, `dashboard` the merchant's pages, `operator` the desk. `brand` is whose pages these are, and `origin`
//! says whether a form came from one of ours. How pages look is in `templates/` and `assets/`; nothing here knows how
//! money moves, that is `ops`'.

pub mod answer;
mod ask;
pub mod assets;
mod body;
pub mod brand;
pub mod chart;
pub mod checkout;
mod cookie;
mod dashboard;
mod docs;
mod export;
pub mod field;
mod flash;
mod here;
pub mod layout;
mod once;
pub mod operator;
mod origin;
pub mod packed;
pub mod parts;
pub mod pay;
mod plain;
mod qr;
pub mod rows;
mod segment;
mod sign_in;
pub mod table;
pub mod text;
pub mod times;
pub(in crate::http) mod turns;
