//! Figures and lists for pages: what they show, that no page loses a row, and that figures are those of the facts.

mod days;
mod desk;
mod lists;
mod requests;
mod webhooks;
