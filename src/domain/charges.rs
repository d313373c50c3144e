//! What a payment costs, and who bears it.
//!
//! A [`Schedule`] belongs to a business or to one of its websites and is frozen on the payment
//! when that is created; a correction of the amount uses the frozen one. Invariants, for every
//! input: `percentage + fixed = total`, and `amount = business_receives + total`.

use super::money::Money;

/// Hundredths of a percent: 100 is 1 %, 10,000 is everything.
pub const RATE_WHOLE: i64 = 10_000;

/// The tolerance of the charges rule: one naira, in kobo (contract/matching.md#m3).
pub const RULE_TOLERANCE_KOBO: i64 = 100;

/// How charges are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Hundredths of a percent of the base, 0 to 10,000.
    pub rate: i64,
    pub fixed: Money,
    /// The total never exceeds this; the fixed part shrinks first.
    pub cap: Option<Money>,
    pub paid_by_customer: bool,
    pub enabled: bool,
}

impl Schedule {
    /// 1 % + 50.00, paid by the merchant.
    pub const DEFAULT: Schedule =
        Schedule { rate: 100, fixed: Money(5_000), cap: None, paid_by_customer: false, enabled: true };
}

/// The two parts of a charge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    pub percentage: Money,
    pub fixed: Money,
}

impl Charges {
    pub fn total(self) -> Money {
        Money(self.percentage.kobo() + self.fixed.kobo())
    }

    /// The same charges, no more than `limit` in all; the fixed part shrinks first.
    pub fn capped_at(self, limit: Money) -> Charges {
        let over = (self.total().kobo() - limit.kobo().max(0)).max(0);
        let from_fixed = over.min(self.fixed.kobo());
        Charges {
            percentage: Money(self.percentage.kobo() - (over - from_fixed)),
            fixed: Money(self.fixed.kobo() - from_fixed),
        }
    }
}

/// What the customer is asked for and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// What the customer transfers.
    pub amount: Money,
    pub charges: Charges,
    pub business_receives: Money,
}

/// Computes charges on `base`, the merchant's own figure. `None` when the sum leaves the range of
/// amounts, which validation has excluded for every accepted base.
pub fn quote(base: Money, schedule: &Schedule) -> Option<Quote> {
    if !schedule.enabled {
        return Some(Quote { amount: base, charges: Charges::default(), business_receives: base });
    }
    let exact = i128::from(base.kobo()) * i128::from(schedule.rate);
    let whole = i128::from(RATE_WHOLE);
    let half_up = (exact + whole / 2) / whole;
    let mut charges = Charges { percentage: Money(i64::try_from(half_up).ok()?), fixed: schedule.fixed };
    charges.percentage.checked_add(charges.fixed)?;
    if let Some(cap) = schedule.cap {
        charges = charges.capped_at(cap);
    }
    if schedule.paid_by_customer {
        let amount = base.checked_add(charges.total())?;
        Some(Quote { amount, charges, business_receives: base })
    } else {
        charges = charges.capped_at(base);
        Some(Quote { amount: base, charges, business_receives: base.checked_sub(charges.total())? })
    }
}

/// The received amounts, both ends included, that approve under the charges rule: less than the
/// amount by the charges, give or take one naira, and more than the charges themselves.
/// `None` when no such amount exists.
pub fn rule_bounds(amount: Money, total: Money) -> Option<(Money, Money)> {
    if !total.is_positive() {
        return None;
    }
    let centre = amount.kobo() - total.kobo();
    let low = (centre - RULE_TOLERANCE_KOBO).max(total.kobo() + 1);
    let high = (centre + RULE_TOLERANCE_KOBO).min(amount.kobo() - 1);
    (low <= high).then_some((Money(low), Money(high)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(rate: i64, fixed: i64, paid_by_customer: bool) -> Schedule {
        Schedule { rate, fixed: Money(fixed), cap: None, paid_by_customer, enabled: true }
    }

    #[test]
    fn merchant_pays_out_of_the_amount() {
        let quote = quote(Money(500_000), &Schedule::DEFAULT).unwrap();
        assert_eq!(quote.amount, Money(500_000));
        assert_eq!(quote.charges, Charges { percentage: Money(5_000), fixed: Money(5_000) });
        assert_eq!(quote.business_receives, Money(490_000));
    }

    #[test]
    fn customer_pays_on_top() {
        let quote = quote(Money(500_000), &schedule(150, 10_000, true)).unwrap();
        assert_eq!(quote.amount, Money(517_500));
        assert_eq!(quote.business_receives, Money(500_000));
    }

    #[test]
    fn charges_never_exceed_the_amount_and_the_fixed_part_shrinks_first() {
        let small = quote(Money(4_000), &schedule(5_000, 5_000, false)).unwrap();
        assert_eq!(small.charges, Charges { percentage: Money(2_000), fixed: Money(2_000) });
        assert_eq!(small.business_receives, Money::ZERO);
        let capped = Charges { percentage: Money(300), fixed: Money(50) }.capped_at(Money(200));
        assert_eq!(capped, Charges { percentage: Money(200), fixed: Money(0) });
    }

    #[test]
    fn the_rule_keeps_to_one_naira_and_above_the_charges() {
        assert_eq!(rule_bounds(Money(500_000), Money(10_000)), Some((Money(489_900), Money(490_100))));
        assert_eq!(rule_bounds(Money(500_000), Money(50)), Some((Money(499_850), Money(499_999))));
        assert_eq!(rule_bounds(Money(500_000), Money::ZERO), None);
        assert_eq!(rule_bounds(Money(100), Money(80)), Some((Money(81), Money(99))));
        assert_eq!(rule_bounds(Money(100), Money(99)), None);
    }

    /// The same sums in decimal strings: an oracle that shares no arithmetic with the code above.
    fn oracle_percentage(base: i64, rate: i64) -> i64 {
        let digits = (i128::from(base) * i128::from(rate)).to_string();
        let padded = format!("{digits:0>5}");
        let (whole, rest) = padded.split_at(padded.len() - 4);
        let whole: i64 = whole.parse().unwrap();
        if rest.as_bytes()[0] >= b'5' { whole + 1 } else { whole }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn parts_always_add_up(base in 1i64..=99_999_999_999, rate in 0i64..=10_000, fixed in 0i64..1_000_000,
                               cap in proptest::option::of(0i64..500_000), customer: bool) {
            let schedule = Schedule { cap: cap.map(Money), ..schedule(rate, fixed, customer) };
            let quote = quote(Money(base), &schedule).unwrap();
            let total = quote.charges.total();
            prop_assert_eq!(quote.amount.kobo(), quote.business_receives.kobo() + total.kobo());
            prop_assert!(quote.charges.percentage.kobo() >= 0 && quote.charges.fixed.kobo() >= 0);
            prop_assert!(quote.business_receives.kobo() >= 0);
            if let Some(cap) = cap { prop_assert!(total.kobo() <= cap); }
            if cap.is_none() && (customer || total.kobo() < base) {
                prop_assert_eq!(quote.charges.percentage.kobo(), oracle_percentage(base, rate));
                prop_assert_eq!(quote.charges.fixed.kobo(), fixed);
            }
            if let Some((low, high)) = rule_bounds(quote.amount, total) {
                for received in [low.kobo() - 1, low.kobo(), high.kobo(), high.kobo() + 1] {
                    let inside = total.kobo() < received && received < quote.amount.kobo()
                        && ((quote.amount.kobo() - received) - total.kobo()).abs() <= 100;
                    prop_assert_eq!(inside, (low.kobo()..=high.kobo()).contains(&received));
                }
            }
        }
    }
}
