//! How long the mail reader takes: for the examples of all templates, and for the mails that cost
//! most inside its limits, which must stay within its second. Pure work on one thread.

use std::time::{Duration, Instant};

use tillbell::alert_reader::{Banks, Intake, fuzzing, read};
use tillbell::domain::time::Timestamp;

use crate::Size;
use crate::mails::Alert;
use crate::report::{Goal, Report};

/// The median alert, in microseconds.
const ALERT_US: f64 = 2_000.0;
/// Of the size that banks send, most of it style and words about themselves.
const LARGE_BYTES: usize = 12_000;
const LARGE_US: f64 = 1_000.0;
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

    let large = large();
    let mut times: Vec<Duration> = (0..size.of(2_000, 5)).map(|_| timed(large.as_bytes())).collect();
    times.sort();
    let median = times[times.len() / 2].as_secs_f64() * 1e6;
    report.add("reading an alert of 12 KB", "us", median, LARGE_US, Goal::Below, "most of it is style");

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

/// An alert with paragraphs behind its rows, each with a style of its own.
fn large() -> String {
    let mut mail =
        Alert::credit("0123450077", 8_000, "HALIMA GARBA", Timestamp(1_780_000_000_000_000)).text();
    while mail.len() < LARGE_BYTES {
        mail.push_str(
            "<p style=\"font-family:Arial;font-size:11px;color:#777\">keeping an eye on what moves in and out of an account \
             helps whoever runs a shop, and our branches are glad to tell how</p>\r\n",
        );
    }
    mail
}
