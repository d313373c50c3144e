//! What a person is told first: what fits exactly, on which account, and nothing beside it that only nearly fits.

use super::*;

#[test]
fn what_fits_is_named_first_and_other_amounts_only_where_nothing_fits() {
    let doubts = ["hidden content".to_owned(), "no signed To header".to_owned()];
    let name = Some("CHIDERA OKONKWO");
    let doubted = |kobo| Incoming { received: Money(kobo), doubts: &doubts, ..incoming(0, name) };
    let asked = [
        payment(1, 1, 5_000, "Chidera Okonkwo"),
        payment(2, 1, 4_500, "Chidera Okonkwo"),
        payment(3, 1, 9_000, "Chidera Okonkwo"),
    ];
    let told = |kobo, asked: &[Payment]| match run(&doubted(kobo), asked).verdict {
        Verdicts::Review { reasons, kinds } => (reasons, kinds),
        other => panic!("{other:?}"),
    };
    let (reasons, kinds) = told(500_000, &asked);
    let first = "payment \"T1\" of business 1 fits exactly, but hidden content";
    assert_eq!((reasons, kinds), (vec![first.to_owned(), doubts[1].clone()], vec![]));
    let (reasons, _) = told(490_000, &asked[..1]);
    assert_eq!(reasons[0], "payment \"T1\" of business 1 fits (short by the charges), but hidden content");
    // Of several that fit none is named.
    let rivals =
        [payment(1, 1, 5_000, "Chidera Okonkwo"), payment(2, 2, 5_000, "Chidera Okonkwo"), asked[2].clone()];
    let (reasons, kinds) = told(500_000, &rivals);
    assert_eq!(reasons[..2], doubts);
    assert_eq!((reasons.len(), kinds), (3, vec![ReviewKind::SeveralBeneficiaries]));
    // Nothing fits: what nearly does is told.
    let (reasons, kinds) = told(600_000, &asked);
    assert_eq!((reasons.len(), kinds), (4, vec![ReviewKind::TooLittle, ReviewKind::TooMuch]));
    // One that has ended is of the amount; of other amounts nothing is told.
    let ended = Payment { status: Status::Rejected, ..asked[0].clone() };
    let (reasons, kinds) = told(500_000, &[ended.clone(), asked[2].clone()]);
    assert_eq!((reasons.len(), kinds), (3, vec![ReviewKind::PaymentEnded]));
    // Neither one of another name nor one of another time says anything.
    let stranger = Payment { payer_name: "Bala Tanimu".into(), ..ended.clone() };
    let long_ago = Payment {
        created_at: NOON - Span::days(9),
        expires_at: NOON - Span::days(8),
        approvable_until: NOON - Span::days(7),
        ..ended
    };
    for other in [stranger, long_ago] {
        assert_eq!(told(500_000, &[other, asked[2].clone()]).1, [ReviewKind::TooLittle]);
    }
    // Of the right amount and another time.
    let late = Payment {
        created_at: NOON - Span::hours(49),
        expires_at: NOON - Span::hours(25),
        approvable_until: NOON - Span::hours(1),
        ..asked[0].clone()
    };
    assert_eq!(told(500_000, &[late, asked[2].clone()]).1, [ReviewKind::Time]);
}

#[test]
fn exact_fits_stand_first_then_those_elsewhere_then_near_misses() {
    let alert = incoming(5_000, Some("CHIDERA OKONKWO"));
    let weigh = |which_account, payment: &Payment| {
        let candidate =
            Candidate { payment, beneficiary: Beneficiary::of(payment), proven: false, before: Vec::new() };
        Considered { which_account, ..consider(&alert, Some(&Folded::new("CHIDERA OKONKWO")), &candidate) }
    };
    let exact = payment(1, 1, 5_000, "Chidera Okonkwo");
    let by_rule = payment(2, 1, 5_100, "Chidera Okonkwo");
    let with = |status| Payment { status, ..exact.clone() };
    let late = Payment {
        created_at: NOON - Span::hours(60),
        expires_at: NOON - Span::hours(36),
        approvable_until: NOON - Span::hours(12),
        ..exact.clone()
    };
    for (asked, own, elsewhere) in [
        (&exact, 0, 1),
        (&by_rule, 0, 3),
        (&with(Status::Rejected), 0, 1),
        (&with(Status::Approved), 2, 3),
        (&payment(3, 1, 5_000, "Chidera"), 2, 3),
        (&late, 2, 3),
    ] {
        let ranks = (weigh(WhichAccount::Own, asked).rank(), weigh(WhichAccount::Another, asked).rank());
        assert_eq!(ranks, (own, elsewhere), "{asked:?}");
        assert_eq!(weigh(WhichAccount::Perhaps, asked).rank(), elsewhere);
    }
    assert!(
        !weigh(WhichAccount::Perhaps, &exact).wins_alone(),
        "no rule takes what may be another account's"
    );
    let words = [WhichAccount::Own, WhichAccount::Perhaps, WhichAccount::Another].map(WhichAccount::as_str);
    assert_eq!(words, ["the alert's account", "perhaps the alert's account", "another account"]);
}
