//! The operator's desk: what waits, and the alerts that a person decides. Every act is the op that the command line calls,
//! under the name of whoever is signed in.

pub mod alert;
pub mod alerts;
pub mod overview;

use super::ask::Ask;
use super::layout::{Frame, Way};
use crate::http::paths::{OPERATOR, OPERATOR_ALERTS};

/// Where somebody is at the desk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Overview,
    Alerts,
}

/// What stands around every page of the desk.
fn frame(ask: &Ask, title: &str, at: At, waiting: i64) -> Frame {
    let mut frame = ask.frame(title);
    frame.home = OPERATOR.to_owned();
    frame.ways = vec![
        Way::new(OPERATOR, "Overview").current(at == At::Overview),
        Way::new(OPERATOR_ALERTS, "Alerts").current(at == At::Alerts).count(waiting),
    ];
    frame
}

/// Under what name a person acts.
fn operator(ask: &Ask) -> &str {
    ask.session.as_ref().map_or("", |session| session.email.as_str())
}
