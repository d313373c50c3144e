//! Whether amount and time of a payment fit what an alert tells. Used by `matching`; the names are weighed there.

use std::cmp::Ordering;

use crate::domain::money::Money;
use crate::domain::payment::{Payment, Status};
use crate::domain::time::{Span, Timestamp};

/// A payment may be this much younger than the bank's time: clocks differ.
pub const CLOCK_SLACK: Span = Span::minutes(2);
/// An exact fit in all but time is shown to a person when it missed by no more than this.
pub const NEAR_MISS: Span = Span::hours(24);
/// A payment that was rejected or reversed still speaks against another's approval so long before the alert came, and
/// so does an amount that was corrected.
pub const ENDED_WITHIN: Span = Span::days(7);
/// A bank's time that lies further back than this says no more than none.
const TOLD_WITHIN: Span = Span::days(30);
/// People round what they pay, and mistype it: another merchant's payment of the payer's name may be meant when
/// its amount is this near, in kobo or in hundredths of what was received, whichever is more.
const NEAR_AMOUNT: Money = Money(20_000);
const NEAR_AMOUNT_PERCENT: i64 = 5;

/// Amounts that may have been meant by what was received, both ends included.
pub fn similar_amounts(received: Money) -> (Money, Money) {
    let kobo = received.kobo();
    let share = i128::from(kobo) * i128::from(NEAR_AMOUNT_PERCENT) / 100;
    let width = i64::try_from(share).unwrap_or(i64::MAX).max(NEAR_AMOUNT.kobo());
    (Money(kobo.saturating_sub(width)), Money(kobo.saturating_add(width)))
}

/// Whether a payment was rejected or reversed lately, and the money may have been sent while it could have been paid:
/// it was there, and the bank's time is not after its late window, or none is told (contract/matching.md#m14).
pub fn has_ended_lately(payment: &Payment, time: Interval, first_seen: Timestamp) -> bool {
    let ended = match payment.status {
        Status::Pending => None,
        Status::Rejected => payment.rejected_at,
        Status::Approved => payment.reversed_at,
    };
    ended.is_some_and(|at| at >= speaks_since(time, first_seen))
        && time.begin <= payment.approvable_until
        && payment.created_at < first_seen
        && payment.created_at <= time.end + CLOCK_SLACK + NEAR_MISS
}

/// Since when payments that have ended still speak: so long before the alert came, and where the bank tells when the money
/// came, those too that ended after that, at most a month before.
pub fn speaks_since(time: Interval, first_seen: Timestamp) -> Timestamp {
    let since = first_seen - ENDED_WITHIN;
    if time.begin >= since - TOLD_WITHIN { since.min(time.begin) } else { since }
}

/// When the bank says the money came, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub begin: Timestamp,
    pub end: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountFit {
    Exact,
    /// Short by the charges, within one naira.
    ChargesRule,
    Under,
    Over,
}

impl AmountFit {
    pub fn of(payment: &Payment, received: Money) -> AmountFit {
        match (received.cmp(&payment.amount), payment.rule_bounds()) {
            (Ordering::Equal, _) => AmountFit::Exact,
            (_, Some((low, high))) if low <= received && received <= high => AmountFit::ChargesRule,
            (Ordering::Less, _) => AmountFit::Under,
            (Ordering::Greater, _) => AmountFit::Over,
        }
    }

    pub fn approves(self) -> bool {
        matches!(self, AmountFit::Exact | AmountFit::ChargesRule)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            AmountFit::Exact => "exact",
            AmountFit::ChargesRule => "short by the charges",
            AmountFit::Under => "too little",
            AmountFit::Over => "too much",
        }
    }
}

/// How a payment's time fits the alert's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeFit {
    Fits,
    /// Outside, by at most [`NEAR_MISS`].
    Near,
    Outside,
}

impl TimeFit {
    pub fn of(payment: &Payment, time: Interval, first_seen: Timestamp) -> TimeFit {
        let created = payment.created_at;
        let early = created.since(time.end + CLOCK_SLACK).0.max(created.since(first_seen).0);
        let unseen = created < first_seen;
        let late = time.begin.since(payment.expires_at).0.min(first_seen.since(payment.approvable_until).0);
        if early == 0 && unseen && late == 0 {
            TimeFit::Fits
        } else if early.max(late) <= NEAR_MISS.0 {
            TimeFit::Near
        } else {
            TimeFit::Outside
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            TimeFit::Fits => "fits",
            TimeFit::Near => "missed by less than a day",
            TimeFit::Outside => "does not fit",
        }
    }
}

/// Whether the money may have been sent for a payment: the time fits it, or it has ended lately (contract/matching.md#m14).
pub fn is_timely(payment: &Payment, time: Interval, first_seen: Timestamp) -> bool {
    match (payment.status, TimeFit::of(payment, time, first_seen)) {
        (Status::Pending, TimeFit::Fits) => true,
        // A bank's clock may be slow, and a day may be shown as its midnight.
        (Status::Pending, TimeFit::Near) => payment.created_at < first_seen,
        // The mail may have come long after the money.
        (Status::Pending, TimeFit::Outside) => {
            time.begin >= first_seen - ENDED_WITHIN - TOLD_WITHIN
                && time.begin <= payment.approvable_until
                && payment.created_at < first_seen
                && payment.created_at <= time.end + CLOCK_SLACK + NEAR_MISS
        }
        _ => has_ended_lately(payment, time, first_seen),
    }
}
