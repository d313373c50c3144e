//! Whether the time of a debit is a value date: a day that the bank gives it, which may be before the day on which it
//! was made (record 0027). Pure.

use super::time::{Span, Timestamp};

/// Between the time of day that a debit shows and its mail.
const MAILED_WITHIN: Span = Span::minutes(10);
/// Two clocks may be apart as far.
const CLOCKS_APART: Span = Span::minutes(2);

/// What the bank tells at the latest.
pub fn latest(begin: Timestamp, end: Timestamp) -> Timestamp {
    if is_a_day(begin) { end.max(begin + Span::days(1)) } else { end }
}

/// Midnight to the second is the whole day.
fn is_a_day(told: Timestamp) -> bool {
    (told - Span(1)).lagos_day() != told.lagos_day()
}

/// Whether a debit told at `told` may have taken back a credit that came on the day after: its mail was sent when the credit
/// was there, and its time of day, if it shows one, is of that mail and not of the day before.
pub fn may_be_dated_back(told: Timestamp, sent: Timestamp, came: Timestamp) -> bool {
    let a_day_later = told + Span::days(1);
    let is_of_the_mail = a_day_later <= sent + MAILED_WITHIN && sent <= a_day_later + MAILED_WITHIN;
    a_day_later.lagos_day() == came.lagos_day()
        && came <= sent + CLOCKS_APART
        && (is_a_day(told) || is_of_the_mail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mail_from_behind_the_credit_is_dated_back() {
        // Noon in Lagos.
        let came = Timestamp::from_utc_date(2026, 3, 10).unwrap() + Span::hours(11);
        let (sent, day) = (came + Span::hours(1), Span::days(1));
        let midnight = came - Span::hours(12);
        assert!(is_a_day(midnight) && !is_a_day(midnight + Span::seconds(1)));
        assert!(may_be_dated_back(midnight - day, sent, came));
        assert!(may_be_dated_back(sent - day, sent, came));
        assert!(may_be_dated_back(sent - day - MAILED_WITHIN, sent, came));
        assert!(!may_be_dated_back(sent - day - MAILED_WITHIN - Span(1), sent, came), "a mail that was late");
        assert!(!may_be_dated_back(midnight - day, came - CLOCKS_APART - Span(1), came), "sent before");
        assert!(!may_be_dated_back(midnight - day - day, sent, came), "two days before");
    }
}
