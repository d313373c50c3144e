//! Figures for pages: what happened on a day, what waits, which requests were refused. Nothing here scans history, and
//! nothing is written on the way of a payment.

pub mod alarms;
pub mod days;
pub mod refused;
pub mod roll_up;
pub mod waiting;
