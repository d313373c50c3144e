//! Nobody's payment hides another's: one of each beneficiary.

use std::collections::HashSet;

use super::*;

const PAYER: &str = "HALIMA GARBA DANLADI";

/// What one beneficiary wins, and as many others that are near, each with two payments.
fn beside(others: i64) -> Decision {
    let mut asked = vec![payment(1, 1, 8_000, "Halima Danladi")];
    for n in 0..others {
        asked.push(payment(100 + n, 10 + n, 8_100, "Halima Garba Okoro"));
        asked.push(payment(1_000 + n, 10 + n, 8_050, "Halima Garba"));
    }
    run(&incoming(8_000, Some(PAYER)), &asked)
}

fn reasons(decision: &Decision) -> usize {
    let Verdicts::Review { reasons, .. } = &decision.verdict else { panic!("{decision:?}") };
    reasons.iter().filter(|reason| reason.contains("another beneficiary's payment")).count()
}

#[test]
fn a_reason_tells_of_one_payment_of_each_beneficiary_up_to_five() {
    for (others, told) in [(1, 1), (3, 3), (5, 5), (6, 5)] {
        assert_eq!(reasons(&beside(others)), told, "{others}");
    }
    assert_eq!(approved(&beside(0)), Some(1));
}

#[test]
fn that_more_may_be_meant_is_told() {
    for (others, told) in [(5, 0), (6, 1), (8, 1)] {
        let Verdicts::Review { reasons, .. } = beside(others).verdict else { panic!("{others}") };
        assert_eq!(reasons.iter().filter(|reason| *reason == MORE_MAY_BE_MEANT).count(), told, "{others}");
    }
}

#[test]
fn of_those_who_may_be_meant_a_business_comes_before_its_wallets_and_the_one_in_question_last() {
    let (shop, wallet) = (Beneficiary::Business, Beneficiary::Wallet);
    let found = [
        (7, wallet(1), "a"),
        (7, wallet(2), "b"),
        (7, shop(7), "c"),
        (8, wallet(3), "d"),
        (8, wallet(3), "e"),
        (9, shop(9), "f"),
        (9, shop(9), "g"),
        (8, wallet(1), "h"),
    ];
    let of_each = |asked_about| {
        let each = one_of_each(found, |(business_id, whose, _)| (*business_id, *whose), asked_about);
        each.into_iter().map(|(.., told)| told).collect::<String>()
    };
    assert_eq!(of_each(None), "cdfab");
    assert_eq!(of_each(Some(7)), "cdfab", "its wallets are last anyway");
    assert_eq!(of_each(Some(8)), "cfabd");
}

#[test]
fn of_more_than_are_told_it_is_known_what_they_ask_for() {
    // The own one is among the fifty.
    for (others, known) in [(6, 6), (49, 49), (50, 49), (60, 49)] {
        let decision = beside(others);
        let near: HashSet<_> =
            decision.near_others(Beneficiary::Business(1)).map(|c| c.beneficiary).collect();
        assert_eq!(near.len(), known, "{others}");
    }
}

#[test]
fn the_first_of_each_is_taken_in_their_order_and_no_more_than_that() {
    let (a, b, c) = (Beneficiary::Business(1), Beneficiary::Wallet(1), Beneficiary::Business(2));
    let found = [(a, 1), (a, 2), (b, 3), (a, 4), (c, 5), (b, 6)];
    let first = |most| first_of_each(found, |(whose, _)| *whose, most).into_iter().map(|(_, n)| n);
    assert_eq!(first(9).collect::<Vec<i32>>(), [1, 3, 5]);
    assert_eq!(first(2).collect::<Vec<i32>>(), [1, 3]);
    assert_eq!(first(0).count(), 0);
}

#[test]
fn a_wallets_winner_is_considered_however_many_shops_ask_the_same() {
    // Its shop asks too, so it stands behind all businesses.
    let mut asked = vec![payment(1, 1, 8_000, "Halima Garba"), payment(2, 1, 8_050, "Halima Garba")];
    for n in 0..SUGGESTIONS_MAX as i64 + 5 {
        asked.push(payment(100 + n, 10 + n, 8_060, "Halima Garba"));
    }
    let candidates: Vec<Candidate<'_>> = asked
        .iter()
        .map(|payment| Candidate {
            payment,
            beneficiary: match payment.id {
                1 => Beneficiary::Wallet(7),
                _ => Beneficiary::Business(payment.business_id),
            },
            proven: false,
            before: Vec::new(),
        })
        .collect();
    let decision = decide(&incoming(8_000, Some("HALIMA GARBA")), &candidates);
    assert_eq!(decision.considered.first().map(|c| c.payment_id), Some(1));
    assert_eq!(decision.winners().map(|c| c.payment_id).collect::<Vec<_>>(), [1]);
    assert_eq!(decision.considered.len(), SUGGESTIONS_MAX);
}

#[test]
fn of_each_beneficiary_the_fitting_payment_that_asked_last_is_told() {
    let asked = |id, business_id, made, corrected: Option<i64>| {
        let mut payment = payment(id, business_id, 8_000, "Halima Danladi");
        payment.created_at = payment.created_at - Span::minutes(made);
        payment.updated_at = payment.created_at;
        if let Some(minutes) = corrected {
            payment.corrections = 1;
            payment.updated_at = payment.created_at + Span::minutes(minutes);
        }
        payment
    };
    let mut other_name = asked(6, 3, 1, None);
    other_name.payer_name = "Sani Lawal".into();
    let mut all = vec![
        asked(1, 1, 50, None),
        asked(2, 1, 40, None),
        asked(3, 1, 60, Some(30)),
        asked(4, 2, 10, None),
        other_name,
    ];
    assert_eq!(run(&incoming(8_000, Some("HALIMA DANLADI")), &all).last_fitting, [4, 3]);
    // However many there are, and whichever is chosen.
    all.extend((0..40).map(|n| asked(100 + n, 1, 45, None)));
    assert_eq!(run(&incoming(8_000, Some("HALIMA DANLADI")), &all).last_fitting, [4, 3]);
    all.retain(|payment| payment.business_id == 1);
    let decision = run(&incoming(8_000, Some("HALIMA DANLADI")), &all);
    assert_eq!((approved(&decision), decision.last_fitting), (Some(2), vec![3]));
}

fn candidate<'a>(payment: &'a Payment, before: Vec<&'a Payment>) -> Candidate<'a> {
    Candidate { payment, beneficiary: Beneficiary::Business(payment.business_id), proven: false, before }
}

#[test]
fn whose_payment_leaves_nothing_to_ask_is_told_beside_one_that_wins() {
    let own = Beneficiary::Business(1);
    let fits = |naira, name: &str, minutes: i64, asked_before: bool| {
        let other = Payment {
            created_at: NOON - Span::minutes(minutes),
            expires_at: NOON - Span::minutes(minutes) + Span::hours(24),
            ..payment(2, 2, naira, name)
        };
        let before = payment(2, 2, 8_000, name);
        let mine = payment(1, 1, 8_000, "Halima Danladi");
        let before = if asked_before { vec![&before] } else { Vec::new() };
        let all = [candidate(&mine, Vec::new()), candidate(&other, before)];
        decide(&incoming(8_000, Some(PAYER)), &all).fitting_others(own).next().is_some()
    };
    assert!(fits(8_000, "Halima Garba", 30, false), "as the winner");
    assert!(!fits(8_100, "Halima Garba", 30, false), "about as much alone");
    assert!(fits(9_900, "Halima Garba", 30, true), "as much before a correction");
    assert!(!fits(9_900, "Halima Garba", 30, false), "far more");
    assert!(!fits(8_000, "Halima", 30, false), "a close name");
    assert!(!fits(8_000, "Halima", 30, true), "a close name before a correction");
    assert!(!fits(8_000, "Halima Garba", -180, false), "asked for hours after the money came");
}
