//! What the pages of people who sign in are made of: what they load, and every component, looked at in a browser.

mod assets;
pub mod axe;
mod contrast;
mod counted;
mod dashboard_acts;
mod dashboard_routes;
mod dashboard_shown;
pub mod dashboard_world;
mod desk;
mod desk_alerts;
mod desk_keys;
mod desk_pages;
mod docs;
mod every_page;
mod gallery;
mod hostile;
mod lists;
mod main_ways;
mod mid_session;
mod passkeys;
mod passkeys_refused;
mod registering;
mod samples;
mod signing_in;
pub mod visitor;
mod ways_back;
