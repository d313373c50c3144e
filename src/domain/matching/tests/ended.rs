//! Payments that ended lately or were corrected: for whom they speak.

use super::*;
use crate::domain::charges::Charges;

/// A payment that ended half a day before noon, after a late window of three days.
fn ended(id: i64, status: Status, swept: bool) -> Payment {
    let mut payment = payment(id, 2, 5_000, "Chidera Okonkwo");
    payment.created_at = NOON - Span::hours(100);
    payment.expires_at = NOON - Span::hours(76);
    payment.approvable_until = NOON - Span::hours(12);
    (payment.status, payment.swept) = (status, swept);
    match status {
        Status::Rejected => payment.rejected_at = Some(NOON - Span::hours(12)),
        _ => payment.reversed_at = Some(NOON - Span::hours(12)),
    }
    payment
}

#[test]
fn whatever_ended_lately_speaks_for_money_that_came_before_its_late_window_was_over() {
    let sent = |hours| {
        let at = NOON - Span::hours(hours);
        let time = Interval { begin: at, end: at };
        Incoming { time, first_seen: NOON + Span::hours(30), ..incoming(5_000, Some("CHIDERA OKONKWO")) }
    };
    let mut mine = payment(1, 1, 5_000, "Chidera Okonkwo");
    mine.created_at = NOON - Span::hours(100);
    let all = [(Status::Rejected, true), (Status::Rejected, false), (Status::Approved, false)];
    for (status, swept) in all {
        for (hours, is_meant) in [(80, true), (50, true), (13, true), (11, false)] {
            let decision = run(&sent(hours), &[mine.clone(), ended(2, status, swept)]);
            assert_eq!(
                review_says(&decision, "which has ended, also fits"),
                is_meant,
                "{status:?}: {decision:?}"
            );
            assert_eq!(approved(&decision).is_none(), is_meant, "{status:?}: {decision:?}");
        }
        let long_ago = Timestamp(0);
        let mut before = ended(2, status, swept);
        before.rejected_at = before.rejected_at.map(|_| long_ago);
        before.reversed_at = before.reversed_at.map(|_| long_ago);
        assert_eq!(approved(&run(&sent(50), &[mine.clone(), before])), Some(1));
    }
    let mut kept = ended(2, Status::Approved, false);
    kept.reversed_at = None;
    assert_eq!(approved(&run(&sent(50), &[mine, kept])), Some(1), "it has its money");
}

#[test]
fn a_payment_speaks_with_what_it_asked_for_before_a_correction() {
    let mine = payment(1, 1, 5_000, "Chidera Okonkwo");
    let theirs = payment(2, 2, 90_000, "Okonkwo Chidera");
    // About the amount, and by charges that are more than that: what is left of 6,000 is 5,000.
    for (asked, charges, is_meant) in
        [(5_000, 0, true), (5_250, 0, true), (6_000, 1_000, true), (6_000, 0, false)]
    {
        let (mut before, charges) = (theirs.clone(), Money(charges * 100));
        before.amount = Money(asked * 100);
        before.charges = Charges { percentage: charges, fixed: Money::ZERO };
        let candidate = |payment, before| Candidate {
            payment,
            beneficiary: Beneficiary::of(payment),
            proven: false,
            before,
        };
        let candidates = [candidate(&mine, Vec::new()), candidate(&theirs, vec![&before])];
        let decision = decide(&incoming(5_000, Some("CHIDERA OKONKWO")), &candidates);
        assert_eq!(review_says(&decision, "before it was corrected"), is_meant, "{asked}: {decision:?}");
        assert_eq!(approved(&decision).is_none(), is_meant, "{asked}: {decision:?}");
    }
}
