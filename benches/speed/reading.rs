//! How long the mail reader takes: for the examples of all templates, and for the mails that cost
//! most inside its limits, which must stay within its second. Pure work on one thread.

use std::time::{Duration, Instant};

use tillbell::alert_reader::{Banks, Intake, fuzzing, read};
use tillbell::domain::time::Timestamp;

use crate::Size;
use crate::report::{Goal, Report};

/// The median alert, in microseconds.
const ALERT_US: f64 = 2_000.0;
/// The worst mail, in milliseconds.
const WORST_MS: f64 = 1_000.0;

pub fn run(report: &mut Report, size: &Size) {
    let banks = Banks::embedded().expect("the built-in templates");
    let intake = Intake::trusted(Timestamp::MAX);
    let timed = |raw: &[u8]| {
        let began = Instant::now();
        let reading = read(raw, &banks, &intake);
        let took = began.elapsed();
        assert!(!reading.why.is_empty());
        took
    };
    let mails = fuzzing::mails();
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..size.of(200, 5) {
        times.extend(mails.iter().map(|(_, raw)| timed(raw)));
    }
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e6;
    let notes = format!("{} examples, 99 of 100 below {:.0} us", mails.len(), at(99));
    report.add("reading an alert, median", "us", at(50), ALERT_US, Goal::Below, &notes);

    let worst = fuzzing::worst();
    let slowest = worst.iter().map(|(name, raw)| (timed(raw).max(timed(raw)), *name)).max();
    let (took, name) = slowest.expect("worst mails");
    report.add(
        "the slowest mail inside the limits",
        "ms",
        took.as_secs_f64() * 1e3,
        WORST_MS,
        Goal::Below,
        &format!("{} mails; the slowest is: {name}", worst.len()),
    );
}
