//! Pages for people: HTML that works without scripts, and what all pages have in common.
//!
//! `pay` is the page behind a confirm link; it stays without script and cookie. `brand` is whose pages these are, and
//! `origin` says whether a form came from one of ours. How pages look is in `templates/` and `assets/`; nothing here
//! knows how money moves, that is `ops`'.

pub mod brand;
mod origin;
pub mod pay;
