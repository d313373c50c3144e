//! The page behind a confirm link, as customers meet it: over real HTTP on both databases, and in a real
//! browser of a phone's size with scripts switched off.

mod browsing;
mod first_sight;
mod forms;
mod history;
mod in_view;
mod once;
mod operator;
mod plain_words;
mod resending;
mod returning;
mod safety;
pub mod site;
mod slips;
mod states;
mod told;
mod true_words;
mod way_back;
mod ways_on;
