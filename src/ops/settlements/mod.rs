//! Money moves: a payment is settled from an alert, and a settlement is undone by its mirror entry.

pub mod reverse;
pub mod settle;
