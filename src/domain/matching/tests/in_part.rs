//! Names of which two are the payer's, whatever stands beside them.

use std::collections::HashSet;

use super::*;

#[test]
fn two_names_of_the_payer_speak_for_another_beneficiary_whatever_stands_beside_them() {
    for theirs in [
        "Chidera Okonkwo - Rent",
        "Chidera Okonkwo School Fees",
        "Order 5521 of the 12th from Chidera Okonkwo for delivery in Lekki",
        "Engr Dr Chief Sir Chidera Okonkwo annual dues for 2026 Lagos chapter",
        "Mr and Mrs Chidera Okonkwo family thanksgiving and building fund pledge 2026",
    ] {
        for (naira, says) in [(5_000, "also fits the amount"), (4_900, "a similar amount")] {
            let asked = [payment(1, 1, naira, theirs), payment(2, 2, 5_000, "Chidera Okonkwo")];
            let decision = run(&incoming(5_000, Some("OKONKWO CHIDERA NGOZI")), &asked);
            assert!(review_says(&decision, says), "{theirs}: {decision:?}");
            let near = decision.near_others(Beneficiary::Business(2)).map(|c| c.payment_id);
            assert_eq!(near.collect::<HashSet<_>>(), HashSet::from([1]), "{theirs}");
        }
        let far = [payment(1, 1, 4_700, theirs), payment(2, 2, 5_000, "Chidera Okonkwo")];
        assert_eq!(
            approved(&run(&incoming(5_000, Some("OKONKWO CHIDERA NGOZI")), &far)),
            Some(2),
            "{theirs}"
        );
    }
    // One name in common is anybody's.
    for theirs in ["Chidera Bello - Rent", "Order 5521 of the 12th from Musa Okonkwo for delivery in Lekki"] {
        let asked = [payment(1, 1, 5_000, theirs), payment(2, 2, 5_000, "Chidera Okonkwo")];
        assert_eq!(
            approved(&run(&incoming(5_000, Some("OKONKWO CHIDERA NGOZI")), &asked)),
            Some(2),
            "{theirs}"
        );
    }
    // Alone it is a person's to judge, and not one that nothing fits.
    let decision = run(
        &incoming(5_000, Some("OKONKWO CHIDERA NGOZI")),
        &[payment(1, 1, 5_000, "Chidera Okonkwo - Rent")],
    );
    assert!(review_says(&decision, "two names of this one"), "{decision:?}");
}

/// Another customer's of nearly the amount, of a name that is close, or with words behind it.
#[test]
fn a_customer_who_is_named_more_fully_is_asked_about() {
    for (theirs, asked_of, mine) in [
        (4_980, "Ada Chioma Obi", "Ada Obi"),
        (5_000, "Ada Chiomo Obi", "Chioma Obi"),
        (5_000, "Ada", "Chioma Obi"),
        (5_000, "Ada Obi invoice 17", "Chioma Obi"),
    ] {
        let asked = [payment(1, 1, theirs, asked_of), payment(2, 1, 5_000, mine)];
        let decision = run(&incoming(5_000, Some("OBI ADA CHIOMA")), &asked);
        assert!(review_says(&decision, "may be two people"), "{asked_of}: {decision:?}");
        let far = [payment(1, 1, theirs - 300, asked_of), payment(2, 1, 5_000, mine)];
        assert_eq!(approved(&run(&incoming(5_000, Some("OBI ADA CHIOMA")), &far)), Some(2), "{asked_of}");
    }
}
