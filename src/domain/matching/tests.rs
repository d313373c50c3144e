//! Tables of the matching rules: one row, one rule.

use super::elsewhere::ELSEWHERE_MAX;
use super::*;
use crate::domain::charges::{Schedule, quote};
use crate::domain::merchant::Mode;
use crate::domain::payment::{PayerDetails, TransferRequest};
use crate::domain::time::Span;

mod each;
mod ended;
mod fits;
mod in_part;

const NOON: Timestamp = Timestamp(1_800_000_000_000_000);

fn payment(id: i64, business_id: i64, naira: i64, name: &str) -> Payment {
    let schedule = Schedule::DEFAULT;
    let quote = quote(Money(naira * 100), &schedule).unwrap();
    Payment::requested(TransferRequest {
        id,
        business_id,
        transaction_id: format!("T{id}"),
        mode: Mode::Live,
        quote,
        schedule,
        payer_name: name.into(),
        payer: PayerDetails::default(),
        webhook_url: Some("https://shop.example/hook".into()),
        website_id: None,
        account_id: Some(1),
        till_user_id: None,
        link: None,
        at: NOON - Span::minutes(30),
        expiry: Span::hours(24),
        late_window: Span::hours(24),
    })
}

fn incoming<'a>(naira: i64, name: Option<&'a str>) -> Incoming<'a> {
    Incoming {
        received: Money(naira * 100),
        payer_name: name,
        cut: &[],
        time: Interval { begin: NOON, end: NOON },
        first_seen: NOON + Span::seconds(20),
        holder: "KORO MARKET LTD",
        doubts: &[],
        limit_reached: false,
    }
}

fn run(incoming: &Incoming<'_>, payments: &[Payment]) -> Decision {
    let candidates: Vec<Candidate<'_>> = payments
        .iter()
        .map(|payment| Candidate {
            payment,
            beneficiary: Beneficiary::Business(payment.business_id),
            proven: false,
            before: Vec::new(),
        })
        .collect();
    decide(incoming, &candidates)
}

fn approved(decision: &Decision) -> Option<i64> {
    match decision.verdict {
        Verdicts::Approve { payment_id, .. } => Some(payment_id),
        _ => None,
    }
}

fn review_says(decision: &Decision, part: &str) -> bool {
    matches!(&decision.verdict, Verdicts::Review { reasons, .. } if reasons.iter().any(|r| r.contains(part)))
}

#[test]
fn exact_amount_and_matching_name_approve() {
    let decision = run(&incoming(5_000, Some("OKONKWO CHIDERA")), &[payment(1, 1, 5_000, "Chidera Okonkwo")]);
    assert_eq!(approved(&decision), Some(1));
}

#[test]
fn the_charges_rule_has_one_naira_of_tolerance() {
    // 1 % + 50 of 5,000 is 100: 4,900 give or take one naira.
    for (kobo, expected) in
        [(490_000, true), (490_100, true), (489_900, true), (490_101, false), (489_899, false)]
    {
        let asked = [payment(1, 1, 5_000, "Chidera Okonkwo")];
        let decision =
            run(&Incoming { received: Money(kobo), ..incoming(0, Some("CHIDERA OKONKWO")) }, &asked);
        assert_eq!(approved(&decision).is_some(), expected, "{kobo}");
        if !expected {
            assert!(review_says(&decision, "less was received"), "{kobo}");
        }
    }
}

#[test]
fn nothing_but_a_matching_name_approves() {
    let asked = [payment(1, 1, 5_000, "Chidera Okonkwo")];
    let other = run(&incoming(5_000, Some("BALA TANIMU")), &asked);
    assert!(matches!(other.verdict, Verdicts::Unmatched { .. }), "{other:?}");
    let single = run(&incoming(5_000, Some("CHIDERA")), &asked);
    assert!(review_says(&single, "close"), "{single:?}");
    let nobody = run(&incoming(5_000, None), &asked);
    assert!(review_says(&nobody, "no payer name"), "{nobody:?}");
    let nobody = run(&incoming(7_000, None), &asked);
    assert!(matches!(nobody.verdict, Verdicts::Unmatched { .. }));
}

#[test]
fn two_beneficiaries_are_never_chosen_between() {
    let asked = [payment(1, 1, 5_000, "Chidera Okonkwo"), payment(2, 2, 5_000, "Chidera Ngozi Okonkwo")];
    let decision = run(&incoming(5_000, Some("CHIDERA OKONKWO")), &asked);
    assert!(review_says(&decision, "several beneficiaries"), "{decision:?}");
    // Not even when one fits exactly and the other by the charges rule.
    let asked = [payment(1, 1, 5_000, "Chidera Okonkwo"), payment(2, 2, 4_900, "Chidera Okonkwo")];
    let decision = run(&incoming(4_900, Some("CHIDERA OKONKWO")), &asked);
    assert!(review_says(&decision, "several beneficiaries"), "{decision:?}");
}

#[test]
fn inside_one_beneficiary_exact_then_equal_name_then_newest() {
    let name = Some("CHIDERA OKONKWO");
    let exact_wins = [payment(1, 1, 5_000, "Chidera Okonkwo"), payment(2, 1, 4_900, "Chidera Okonkwo")];
    assert_eq!(approved(&run(&incoming(4_900, name), &exact_wins)), Some(2));
    let equal_wins = [payment(1, 1, 5_000, "Okonkwo Chidera"), payment(2, 1, 5_000, "Chidera Ngozi Okonkwo")];
    assert_eq!(approved(&run(&incoming(5_000, name), &equal_wins)), Some(1));
    let mut newest_wins = [payment(1, 1, 5_000, "Chidera Okonkwo"), payment(2, 1, 5_000, "Chidera Okonkwo")];
    newest_wins[1].created_at = NOON - Span::minutes(10);
    assert_eq!(approved(&run(&incoming(5_000, name), &newest_wins)), Some(2));
    // One inside the clock slack loses to one created before the bank's time.
    newest_wins[1].created_at = NOON + Span::seconds(10);
    assert_eq!(approved(&run(&incoming(5_000, name), &newest_wins)), Some(1));
}

#[test]
fn two_customers_of_one_merchant_are_not_guessed_between() {
    // Names that share words with what the bank shows, and none with each other but one.
    for (first, second, shown) in [
        ("Chidi Okafor", "Emeka Okafor", "CHIDI EMEKA OKAFOR"),
        ("Musa Ibrahim Sani", "Musa Bello", "MUSA IBRAHIM SANI BELLO"),
    ] {
        let asked = [payment(1, 1, 5_000, first), payment(2, 1, 5_000, second)];
        let decision = run(&incoming(5_000, Some(shown)), &asked);
        assert!(review_says(&decision, "may be two people"), "{shown}: {decision:?}");
        let alone = run(&incoming(5_000, Some(shown)), &asked[1..]);
        assert_eq!(approved(&alone), Some(2), "{shown}: {alone:?}");
    }
    // The very name beside what the charges explain, against a part of it with the exact amount.
    let asked = [payment(1, 1, 5_000, "Ada Chioma Obi"), payment(2, 1, 4_900, "Chioma Obi")];
    let decision = run(&incoming(4_900, Some("ADA CHIOMA OBI")), &asked);
    assert!(review_says(&decision, "may be two people"), "{decision:?}");
    // Two tries of one customer, one of them with a middle name.
    let asked = [payment(1, 1, 5_000, "Chioma Obi"), payment(2, 1, 5_000, "Chioma Ada Obi")];
    assert_eq!(approved(&run(&incoming(5_000, Some("CHIOMA OBI ADA NGOZI")), &asked)), Some(1));
}

#[test]
fn time_must_fit() {
    let name = Some("CHIDERA OKONKWO");
    let created = |at: Timestamp| {
        let mut payment = payment(1, 1, 5_000, "Chidera Okonkwo");
        payment.created_at = at;
        payment.expires_at = at + Span::hours(24);
        payment.approvable_until = at + Span::hours(48);
        [payment]
    };
    let late_seen = Incoming { first_seen: NOON + Span::hours(1), ..incoming(5_000, name) };
    assert!(approved(&run(&late_seen, &created(NOON + Span::minutes(2)))).is_some());
    let decision = run(&late_seen, &created(NOON + Span::minutes(2) + Span(1)));
    assert!(review_says(&decision, "but the time does not"), "{decision:?}");
    // Created at first sight or after it: never by itself.
    assert!(approved(&run(&incoming(5_000, name), &created(NOON + Span::seconds(20)))).is_none());
    // Expired, but seen inside the late window.
    assert!(approved(&run(&incoming(5_000, name), &created(NOON - Span::hours(47)))).is_some());
    let decision = run(&incoming(5_000, name), &created(NOON - Span::hours(49)));
    assert!(review_says(&decision, "but the time does not"), "{decision:?}");
    let decision = run(&incoming(5_000, name), &created(NOON - Span::hours(80)));
    assert!(approved(&decision).is_none() && !review_says(&decision, "but the time does not"));
    // Paid in time, alert seen long after the window: the bank's time counts.
    let very_late = Incoming { first_seen: NOON + Span::days(4), ..incoming(5_000, name) };
    assert!(approved(&run(&very_late, &created(NOON - Span::hours(1)))).is_some());
    let future = Incoming {
        time: Interval { begin: NOON + Span::hours(1), end: NOON + Span::hours(1) },
        ..incoming(5_000, name)
    };
    assert!(review_says(&run(&future, &created(NOON - Span::hours(1))), "future"));
}

#[test]
fn doubts_holder_and_limit_never_approve() {
    let asked = [payment(1, 1, 5_000, "Chidera Okonkwo")];
    let doubts = ["hidden content".to_owned()];
    let doubted = Incoming { doubts: &doubts, ..incoming(5_000, Some("CHIDERA OKONKWO")) };
    assert!(review_says(&run(&doubted, &asked), "hidden content"));
    let own = Incoming { holder: "Okonkwo Chidera", ..incoming(5_000, Some("CHIDERA OKONKWO")) };
    assert!(review_says(&run(&own, &asked), "like the account holder's"));
    let limited = Incoming { limit_reached: true, ..incoming(5_000, Some("CHIDERA OKONKWO")) };
    assert!(review_says(&run(&limited, &asked), "not all were checked"));
}

#[test]
fn over_and_under_payments_and_the_surname_rule_go_to_a_person() {
    let asked = [payment(1, 1, 5_000, "Chidera Okonkwo")];
    assert!(review_says(&run(&incoming(4_000, Some("CHIDERA OKONKWO")), &asked), "less was received"));
    assert!(review_says(&run(&incoming(6_000, Some("CHIDERA OKONKWO")), &asked), "more was received"));
    let mut named = payment(1, 1, 5_000, "Chidera Ngozi Okonkwo");
    named.payer.last_name = Some("Okonkwo".into());
    let decision = run(&incoming(5_000, Some("CHIDERA NGOZI")), std::slice::from_ref(&named));
    assert!(review_says(&decision, "close"), "{decision:?}");
    named.payer.last_name = Some("Ngozi".into());
    assert!(approved(&run(&incoming(5_000, Some("CHIDERA NGOZI")), &[named])).is_some());
}

#[test]
fn a_proven_payer_lifts_close_but_never_different() {
    let close = payment(1, 1, 5_000, "Chidera Okonkwo");
    let candidate = |proven| {
        [Candidate { payment: &close, beneficiary: Beneficiary::Business(1), proven, before: Vec::new() }]
    };
    let alert = incoming(5_000, Some("CHIDERA"));
    assert!(approved(&decide(&alert, &candidate(false))).is_none());
    assert!(approved(&decide(&alert, &candidate(true))).is_some());
    let stranger = incoming(5_000, Some("BALA TANIMU"));
    assert!(approved(&decide(&stranger, &candidate(true))).is_none());
}

#[test]
fn ended_payments_are_suggested_but_not_approved() {
    let mut swept = payment(1, 1, 5_000, "Chidera Okonkwo");
    swept.status = Status::Rejected;
    swept.swept = true;
    let decision = run(&incoming(5_000, Some("CHIDERA OKONKWO")), &[swept]);
    assert!(review_says(&decision, "has ended"), "{decision:?}");
    assert_eq!(decision.considered.len(), 1);
}

#[test]
fn what_another_beneficiary_may_be_meant_by_goes_to_a_person() {
    let mine = || payment(1, 1, 5_000, "Chidera Okonkwo");
    let alert = incoming(5_000, Some("CHIDERA OKONKWO"));
    for (amount, name, review) in [
        // Close names, of the very amount or short by the charges, which are 100 of 5,000.
        (5_000, "Chidera", true),
        (5_000, "Chidera Okonkwa", true),
        (5_001, "Chidera", true),
        (5_250, "Chidera Okonkwa", true),
        (5_251, "Chidera", false),
        (4_749, "Chidera", false),
        // The payer's name, and about as much.
        (5_200, "Okonkwo Chidera", true),
        (5_250, "Okonkwo Chidera", true),
        (5_251, "Okonkwo Chidera", false),
        (4_750, "Okonkwo Chidera", true),
        (4_749, "Okonkwo Chidera", false),
        // Others.
        (5_000, "Chidera Balogun", false),
        (5_000, "Ada Bem Chi Dan Efe Fola Gozie Hauwa Ima Jide Kola", false),
    ] {
        let decision = run(&alert, &[mine(), payment(2, 2, amount, name)]);
        assert_eq!(approved(&decision).is_none(), review, "{amount} {name}: {decision:?}");
        let own = run(&alert, &[mine(), payment(2, 1, amount, name)]);
        assert_eq!(approved(&own), Some(1), "one's own speak against nothing: {amount} {name}");
        let mut ended = payment(2, 2, amount, name);
        ended.status = Status::Rejected;
        assert_eq!(approved(&run(&alert, &[mine(), ended])), Some(1), "{amount} {name}");
        let mut later = payment(2, 2, amount, name);
        later.created_at = alert.first_seen + Span::hours(1);
        assert_eq!(approved(&run(&alert, &[mine(), later])), Some(1), "{amount} {name}");
        // Asked for after the money by the bank's clock, which may be slow, and before we saw it.
        let mut slow = incoming(5_000, Some("CHIDERA OKONKWO"));
        slow.first_seen = slow.time.end + Span::hours(2);
        for (hours, meant) in [(1, review), (2, false)] {
            let mut near = payment(2, 2, amount, name);
            near.created_at = slow.time.end + Span::hours(hours);
            let decision = run(&slow, &[mine(), near]);
            assert_eq!(approved(&decision).is_none(), meant, "{amount} {name} {hours}: {decision:?}");
        }
    }
}

#[test]
fn about_an_amount_is_two_hundred_or_a_twentieth() {
    assert_eq!(similar_amounts(Money(500_000)), (Money(475_000), Money(525_000)));
    assert_eq!(similar_amounts(Money(400_000)), (Money(380_000), Money(420_000)));
    assert_eq!(similar_amounts(Money(399_900)), (Money(379_900), Money(419_900)));
    assert_eq!(similar_amounts(Money(10_000)), (Money(-10_000), Money(30_000)));
    assert_eq!(similar_amounts(Money(i64::MAX)).1, Money(i64::MAX));
}

#[test]
fn many_payments_of_one_push_nobody_else_out_of_the_suggestions() {
    let mut all: Vec<Payment> = (1..=40).map(|id| payment(id, 1, 5_000, "Chidera Okonkwo")).collect();
    all.push(payment(99, 2, 5_000, "Chidera"));
    let decision = run(&incoming(5_000, Some("CHIDERA OKONKWO")), &all);
    assert_eq!(decision.considered.len(), SUGGESTIONS_MAX);
    assert_eq!(decision.considered[SUGGESTIONS_MAX - 1].payment_id, 99, "there, behind what fits exactly");
}

#[test]
fn payments_on_other_accounts_take_no_part_in_the_verdict() {
    let alert = incoming(5_000, Some("CHIDERA OKONKWO"));
    let mut elsewhere: Vec<Payment> = (1..=29).map(|id| payment(id, 1, 5_000, "Chidera Okonkwo")).collect();
    elsewhere.push(payment(30, 2, 5_000, "Chidera Okonkwo"));
    let others = [payment(40, 1, 5_000, "Bala Tanimu"), payment(41, 1, 6_000, "Chidera Okonkwo")];
    let all: Vec<Candidate<'_>> = elsewhere
        .iter()
        .chain(&others)
        .map(|payment| Candidate {
            payment,
            beneficiary: Beneficiary::of(payment),
            proven: true,
            before: Vec::new(),
        })
        .collect();
    let considered = consider_on(WhichAccount::Another, &alert, &all);
    assert_eq!(considered.len(), 30);
    assert!(
        considered.iter().all(|c| c.which_account == WhichAccount::Another && !c.wins_alone()),
        "{considered:?}"
    );
    assert_eq!(considered[1].payment_id, 30, "many of one business hide nobody else's");
    assert!(
        consider_on(WhichAccount::Another, &alert, &all[30..]).is_empty(),
        "another name, another amount"
    );

    let mut unmatched = run(&alert, &[]);
    unmatched.show_elsewhere(considered.clone());
    let Verdicts::Unmatched { reason } = &unmatched.verdict else { panic!("{unmatched:?}") };
    assert!(reason.contains("30 payments on other accounts fit"), "{reason}");
    assert_eq!(unmatched.considered, considered[..ELSEWHERE_MAX]);

    let own: Vec<Payment> = (50..80).map(|id| payment(id, 1, 9_000, "Chidera Okonkwo")).collect();
    let mut review = run(&alert, &own);
    let Verdicts::Review { reasons: before, kinds } = review.verdict.clone() else { panic!("{review:?}") };
    review.show_elsewhere(considered.clone());
    let named = "30 payments on other accounts fit exactly".to_owned();
    let reasons = std::iter::once(named).chain(before).collect();
    assert_eq!(review.verdict, Verdicts::Review { reasons, kinds }, "named first, and of no weight");
    assert_eq!(review.considered.len(), SUGGESTIONS_MAX);
    assert_eq!(
        review.considered[..ELSEWHERE_MAX],
        considered[..ELSEWHERE_MAX],
        "an exact fit stands before near misses"
    );

    // What fits on the account itself stands and is named before what fits on another one.
    let doubts = ["hidden content".to_owned()];
    let doubted = Incoming { doubts: &doubts, ..incoming(5_000, Some("CHIDERA OKONKWO")) };
    let own = [payment(91, 1, 5_000, "Chidera Okonkwo"), payment(92, 1, 9_000, "Chidera Okonkwo")];
    let mut review = run(&doubted, &own);
    let one = consider_on(WhichAccount::Another, &doubted, &all[29..30]);
    let near = consider_on(
        WhichAccount::Another,
        &doubted,
        &[Candidate {
            payment: &payment(93, 1, 5_000, "Chidera"),
            beneficiary: Beneficiary::Business(1),
            proven: false,
            before: Vec::new(),
        }],
    );
    review.show_elsewhere(one.iter().cloned().chain(near).collect());
    let ids: Vec<i64> = review.considered.iter().map(|c| c.payment_id).collect();
    assert_eq!(ids, [91, 30, 92, 93]);
    let Verdicts::Review { reasons, .. } = &review.verdict else { panic!("{review:?}") };
    assert_eq!(
        reasons[..],
        [
            "payment \"T91\" of business 1 fits exactly, but hidden content",
            "payment \"T30\" of business 2 on another account fits exactly"
        ]
    );
    let perhaps = consider_on(WhichAccount::Perhaps, &alert, &all[..30]);
    for (count, told) in [
        (1, "payment \"T29\" of business 1 on an account that may be meant fits exactly"),
        (30, "30 payments on accounts that may be meant fit exactly"),
    ] {
        let verdict = Verdicts::Review { reasons: vec!["which account?".into()], kinds: Vec::new() };
        let mut unclear = Decision::unweighed(verdict);
        let one = consider_on(WhichAccount::Perhaps, &alert, &all[28..29]);
        unclear.show_elsewhere(if count == 1 { one } else { perhaps.clone() });
        let Verdicts::Review { reasons, .. } = &unclear.verdict else { panic!("{unclear:?}") };
        assert_eq!(reasons[..], [told, "which account?"]);
        assert!(unclear.considered.iter().all(|c| c.which_account.as_str() == "perhaps the alert's account"));
    }

    let mut approve = run(&alert, &[payment(90, 1, 5_000, "Chidera Okonkwo")]);
    let before = approve.clone();
    approve.show_elsewhere(considered);
    assert_eq!(approve, before);
}

#[test]
fn a_topup_is_its_wallets_money_and_nothing_else_is() {
    let mut asked = payment(1, 7, 5_000, "Chidera Okonkwo");
    assert_eq!(Beneficiary::of(&asked), Beneficiary::Business(7));
    asked.kind = Kind::Topup;
    asked.wallet_id = Some(3);
    assert_eq!(Beneficiary::of(&asked), Beneficiary::Wallet(3));
    // A payment out of a wallet goes to the business.
    asked.kind = Kind::Wallet;
    assert_eq!(Beneficiary::of(&asked), Beneficiary::Business(7));
}

#[test]
fn fits_are_told_in_words() {
    let asked = payment(1, 1, 5_000, "Chidera Okonkwo");
    for (kobo, fit) in [
        (500_000, "exact"),
        (490_000, "short by the charges"),
        (480_000, "too little"),
        (500_001, "too much"),
    ] {
        assert_eq!(AmountFit::of(&asked, Money(kobo)).as_str(), fit, "{kobo}");
    }
    let fit = |hours| {
        let at = NOON + Span::hours(hours);
        TimeFit::of(&asked, Interval { begin: at, end: at }, at).as_str()
    };
    assert_eq!((fit(1), fit(60), fit(80)), ("fits", "missed by less than a day", "does not fit"));
}

#[test]
fn the_likelier_payment_stands_first() {
    let of = |id, naira, name| payment(id, id, naira, name);
    let ended = |payment| Payment { status: Status::Approved, ..payment };
    let newer = Payment { created_at: NOON - Span::minutes(20), ..of(6, 6_000, "Chidera Okonkwo") };
    let near = Payment {
        created_at: NOON - Span::hours(50),
        expires_at: NOON - Span::hours(26),
        approvable_until: NOON - Span::hours(2),
        ..of(8, 6_000, "Chidera Okonkwo")
    };
    // The first two can be approved; then name and amount together, the name, the time, the newest.
    let expected = [
        of(1, 5_000, "Chidera Okonkwo"),
        of(2, 5_100, "Chidera Okonkwo"),
        ended(of(3, 5_000, "Chidera Okonkwo")),
        ended(of(4, 5_100, "Chidera Okonkwo")),
        of(5, 5_000, "Chidera"),
        newer,
        of(7, 6_000, "Chidera Okonkwo"),
        near,
        of(9, 5_100, "Chidera"),
    ];
    let incoming = incoming(5_000, Some("CHIDERA OKONKWO"));
    let received = incoming.payer_name.map(Folded::new);
    let weighed = |payment: &Payment| {
        let beneficiary = Beneficiary::of(payment);
        let candidate = Candidate { payment, beneficiary, proven: false, before: Vec::new() };
        consider(&incoming, received.as_ref(), &candidate)
    };
    let mut considered: Vec<Considered> = expected.iter().rev().map(weighed).collect();
    let of_charges = considered.iter().find(|c| c.payment_id == 2).unwrap();
    assert_eq!(of_charges.amount_fit, AmountFit::ChargesRule);
    likeliest_first(&mut considered);
    let ids: Vec<i64> = considered.iter().map(|c| c.payment_id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn another_persons_payment_is_shown_only_where_amount_and_time_fit() {
    let strangers = |naira, created: Timestamp| {
        let asked = payment(1, 1, naira, "Bala Tanimu");
        let expires_at = created + Span::hours(24);
        Payment { created_at: created, expires_at, approvable_until: expires_at, ..asked }
    };
    let shown = |payment| run(&incoming(5_000, Some("CHIDERA OKONKWO")), &[payment]).considered.len();
    assert_eq!(shown(strangers(5_000, NOON - Span::hours(1))), 1);
    assert_eq!(shown(strangers(5_000, NOON - Span::days(3))), 0);
    assert_eq!(shown(strangers(6_000, NOON - Span::hours(1))), 0);
}

#[test]
fn a_clock_may_be_ahead_by_its_slack() {
    let asked = [payment(1, 1, 5_000, "Chidera Okonkwo")];
    let told_at = |at| Incoming {
        time: Interval { begin: at, end: at },
        first_seen: NOON,
        ..incoming(5_000, Some("CHIDERA OKONKWO"))
    };
    assert_eq!(approved(&run(&told_at(NOON + CLOCK_SLACK), &asked)), Some(1));
    assert!(review_says(&run(&told_at(NOON + CLOCK_SLACK + Span(1)), &asked), "in the future"));
}
