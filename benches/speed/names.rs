//! How long it takes to compare two names, both as they were written: people of three words against
//! each other, and the longest names against their own words in another order, which is where most
//! pairings are possible. Pure work on one thread.

use std::hint::black_box;
use std::time::Instant;

use tillbell::domain::name::verdict;

use crate::Size;
use crate::report::{Goal, Report, median};
use crate::world::Dice;

/// Microseconds of one comparison.
const PAIR_US: f64 = 20.0;
/// Pairs between two readings of the clock.
const PAIRS: usize = 2_000;

pub fn run(report: &mut Report, size: &Size) {
    let mut dice = Dice(11);
    let people: Vec<String> = (0..PAIRS).map(|_| dice.name()).collect();
    let strangers: Vec<(&str, String)> =
        people.iter().zip(people.iter().skip(1)).map(|(a, b)| (a.as_str(), b.to_uppercase())).collect();
    let same: Vec<(&str, String)> = people.iter().map(|a| (a.as_str(), backwards(a))).collect();
    let long: Vec<String> = people.chunks_exact(3).map(|names| names.join(" ")).collect();
    let long: Vec<(&str, String)> = long.iter().map(|a| (a.as_str(), backwards(a))).collect();
    for (what, pairs) in
        [("strangers", strangers), ("the same person, words turned", same), ("nine words, turned", long)]
    {
        let times = (0..size.of(50, 5)).map(|_| one_pair_us(&pairs)).collect();
        report.add(&format!("comparing names, {what}"), "us", median(times), PAIR_US, Goal::Below, "");
    }
}

/// Capital letters, the last word first.
fn backwards(name: &str) -> String {
    name.rsplit(' ').collect::<Vec<_>>().join(" ").to_uppercase()
}

fn one_pair_us(pairs: &[(&str, String)]) -> f64 {
    let began = Instant::now();
    for (expected, received) in pairs {
        black_box(verdict(expected, received, &[]));
    }
    began.elapsed().as_secs_f64() * 1e6 / pairs.len() as f64
}
