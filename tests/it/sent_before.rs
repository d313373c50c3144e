//! A payer's transfer that paid nobody, or went back: his second one of that amount is not another merchant's for that, and an
//! honest customer is not asked about for ever.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::merchant::Mode;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::merchants::accounts::NewAccount;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};

use crate::another_merchant::correct;
use crate::counted_once::{approved, forwarded};
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::spoken_for::{came, named, obstacles};
use crate::undoing::undo;

const NAIRA: i64 = 7_000;
const PAYER: &str = "MUSA DANLADI";

/// The shop whose order for a wife her husband pays, and one whose customer is said to bear his name.
pub async fn two(db: &TestDatabase) -> (TestApp, Merchant, Merchant, Payment) {
    let (t, victim) = world(TestDatabase::migrated(db.engine()).await).await;
    let other = t.merchant("bolu.example").await;
    let mine = t.create(&victim, NAIRA, "Halima Garba").await;
    (t, victim, other, mine)
}

/// What the bank says that takes a transfer back.
pub fn debit(t: &TestApp, payer: &str) -> Alert {
    t.advance(LATER);
    let told = format!("RVSL NIP TRANSFER {payer}");
    let at = t.app.now() - Span::seconds(20);
    Alert { direction: "DEBIT", session: String::new(), ..Alert::credit(ACCOUNT, NAIRA, &told, at) }
}

/// A debit of the bank's in these words, with no key and no name.
fn debit_saying(t: &TestApp, words: &str) -> String {
    t.advance(LATER);
    let at = t.app.now() - Span::seconds(20);
    let alert =
        Alert { direction: "DEBIT", session: String::new(), ..Alert::credit(ACCOUNT, NAIRA, "X", at) };
    alert.text().replace("VIA GAPS PAYMENT FROM X", words)
}

/// The bank takes the money of a payment back, and an operator follows it.
pub async fn taken_back(t: &TestApp, paid: &Payment, payer: &str) {
    let debit = t.ingest(&debit(t, payer).text()).await;
    undo(&t.app, paid, debit.alert_id, None).await.unwrap();
}

/// Waits for a person for the sake of the one of before.
async fn is_asked_about(t: &TestApp, again: &AlertOutcome, bait: &Payment, words: &str) {
    assert_eq!(
        (again.status, t.payment(bait).await.status),
        (AlertStatus::Review, Status::Pending),
        "{again:?}"
    );
    assert!(again.reason.contains(words), "{words}: {}", again.reason);
}

on_both! {
    async fn what_the_bank_took_back_may_be_sent_again(db: TestDatabase) {
        // Approved by a person, in the husband's name.
        let (t, _, other, mine) = two(&db).await;
        let first = came(&t, NAIRA, PAYER).await;
        approved(&t, &first, &mine, Some("her husband paid")).await;
        taken_back(&t, &mine, PAYER).await;
        let bait = t.create(&other, NAIRA, "Musa Danladi").await;
        let again = came(&t, NAIRA, PAYER).await;
        is_asked_about(&t, &again, &bait, &named(&mine)).await;
        // Taken back only on the third day, in her own name, and sent again at once; a week later it is another purchase.
        for (days_after, is_taken) in [(0, false), (7, true)] {
            let (t, _, other, mine) = two(&db).await;
            assert_eq!(came(&t, NAIRA, "HALIMA GARBA").await.status, AlertStatus::Matched);
            t.advance(Span::hours(50));
            taken_back(&t, &mine, "HALIMA GARBA").await;
            t.advance(Span::days(days_after));
            let bait = t.create(&other, NAIRA, "Halima Garba").await;
            let again = came(&t, NAIRA, "HALIMA GARBA").await;
            if is_taken {
                assert_eq!(again.transaction_id.as_ref(), Some(&bait.transaction_id), "{again:?}");
            } else {
                is_asked_about(&t, &again, &bait, &named(&mine)).await;
            }
        }
        // The shop itself may be paid anew.
        let (t, victim, _, mine) = two(&db).await;
        assert_eq!(came(&t, NAIRA, "HALIMA GARBA").await.status, AlertStatus::Matched);
        taken_back(&t, &mine, "HALIMA GARBA").await;
        let anew = t.create(&victim, NAIRA, "Halima Garba").await;
        let again = came(&t, NAIRA, "HALIMA GARBA").await;
        assert_eq!(again.transaction_id.as_ref(), Some(&anew.transaction_id), "{again:?}");
    }

    async fn what_a_person_dismissed_may_be_sent_again(db: TestDatabase) {
        let (t, _, other, _) = two(&db).await;
        let first = came(&t, NAIRA, PAYER).await;
        dismiss_alert(&t.app, first.alert_id, "ife", "nobody of that name; he may call").await.unwrap().unwrap();
        let bait = t.create(&other, NAIRA, "Musa Danladi").await;
        let again = came(&t, NAIRA, PAYER).await;
        is_asked_about(&t, &again, &bait, "was dismissed by a person").await;
        // A person who approves one that waits for other reasons is told as well.
        let (t, _, other, _) = two(&db).await;
        let first = came(&t, NAIRA, PAYER).await;
        dismiss_alert(&t.app, first.alert_id, "ife", "nobody of that name").await.unwrap().unwrap();
        let again = came(&t, NAIRA, PAYER).await;
        let bait = t.create(&other, NAIRA, "Musa Danladi").await;
        assert!(obstacles(&t, &again, &bait).await.iter().any(|one| one.contains("dismissed by a person")));
    }

    async fn a_correction_does_not_come_before_what_it_follows(db: TestDatabase) {
        let (t, _, other, _) = two(&db).await;
        let bait = t.create(&other, 9_500, "Musa Danladi").await;
        let first = came(&t, NAIRA, PAYER).await;
        assert!(first.status.is_waiting(), "{first:?}");
        t.advance(Span::minutes(5));
        correct(&t, &other, &bait, NAIRA).await;
        assert_eq!(t.payment(&bait).await.status, Status::Pending);
        let again = came(&t, NAIRA, PAYER).await;
        is_asked_about(&t, &again, &bait, &format!("alert {} of this amount", first.alert_id)).await;
    }

    async fn one_that_staff_forwarded_or_a_fast_clock_told_was_there_before(db: TestDatabase) {
        for is_forwarded in [true, false] {
            let (t, _, other, _) = two(&db).await;
            t.advance(LATER);
            let ahead = if is_forwarded { Span::seconds(-20) } else { Span::seconds(90) };
            let mail = Alert::credit(ACCOUNT, NAIRA, PAYER, t.app.now() + ahead).text();
            let first = t.ingest(&if is_forwarded { forwarded(&mail) } else { mail }).await;
            assert!(first.status.is_waiting(), "{first:?}");
            t.advance(Span::seconds(2));
            let bait = t.create(&other, NAIRA, "Musa Danladi").await;
            let again = came(&t, NAIRA, PAYER).await;
            is_asked_about(&t, &again, &bait, &format!("alert {} of this amount", first.alert_id)).await;
        }
    }

    async fn a_transfer_too_many_does_not_hold_a_customer_for_ever(db: TestDatabase) {
        let (t, shop, _, _) = two(&db).await;
        let payer = "HALIMA GARBA";
        assert_eq!(came(&t, NAIRA, payer).await.status, AlertStatus::Matched);
        // Sent twice, and a purchase on every day that follows.
        assert_eq!(came(&t, NAIRA, payer).await.status, AlertStatus::Unmatched);
        let mut statuses = Vec::new();
        for _ in 0..4 {
            t.advance(Span::hours(23));
            let asked = t.create(&shop, NAIRA, "Halima Garba").await;
            let paid = came(&t, NAIRA, payer).await;
            statuses.push(paid.status);
            // Somebody looks every day.
            if paid.status == AlertStatus::Review {
                approved(&t, &paid, &asked, None).await;
            }
        }
        assert_eq!(statuses[0], AlertStatus::Review);
        assert_eq!(statuses[2..], [AlertStatus::Matched, AlertStatus::Matched], "{statuses:?}");
    }

    async fn money_that_may_have_gone_back_counts_before_a_person_has_looked(db: TestDatabase) {
        // The bank takes it back on the third day; nobody has reversed it, or somebody has and named no debit.
        for is_reversed in [false, true] {
            let (t, _, other, mine) = two(&db).await;
            assert_eq!(came(&t, NAIRA, "HALIMA GARBA").await.status, AlertStatus::Matched);
            t.advance(Span::hours(60));
            if is_reversed {
                let ask = Reverse {
                    business_id: mine.business_id,
                    transaction_id: &mine.transaction_id,
                    reason: "the bank took it back",
                    operator: "ife",
                    undoing_alert: None,
                    despite: None,
                };
                reverse_payment(&t.app, &ask).await.unwrap().unwrap();
            } else {
                t.ingest(&debit(&t, "HALIMA GARBA").text()).await;
            }
            let bait = t.create(&other, NAIRA, "Halima Garba").await;
            let again = came(&t, NAIRA, "HALIMA GARBA").await;
            is_asked_about(&t, &again, &bait, &named(&mine)).await;
        }
        // Of one that waits since days as well.
        let (t, _, other, _) = two(&db).await;
        let first = came(&t, NAIRA, PAYER).await;
        t.advance(Span::hours(60));
        t.ingest(&debit(&t, PAYER).text()).await;
        let bait = t.create(&other, NAIRA, "Musa Danladi").await;
        let again = came(&t, NAIRA, PAYER).await;
        is_asked_about(&t, &again, &bait, &format!("alert {} of this amount", first.alert_id)).await;
    }

    async fn a_reversal_that_may_be_of_many_is_perhaps_of_this_payers(db: TestDatabase) {
        let payers = ["Halima Garba", "Bolanle Tijani", "Ene Ochigbo", "Kelechi Uzor"];
        for (days_after, is_asked) in [(0, true), (3, false)] {
            let (t, victim, other, mine) = two(&db).await;
            for payer in &payers[1..] {
                t.create(&victim, NAIRA, payer).await;
            }
            for payer in payers {
                t.advance(LATER);
                assert_eq!(came(&t, NAIRA, &payer.to_uppercase()).await.status, AlertStatus::Matched);
            }
            t.advance(Span::hours(60));
            let debit = t.ingest(&debit(&t, "").text()).await;
            assert_eq!(t.app.store.alert(debit.alert_id).await.unwrap().unwrap().linked_alert_id, None);
            t.advance(Span::days(days_after));
            let bait = t.create(&other, NAIRA, "Halima Garba").await;
            let again = came(&t, NAIRA, "HALIMA GARBA").await;
            if is_asked {
                is_asked_about(&t, &again, &bait, &named(&mine)).await;
                assert!(again.reason.contains("may have been taken back by alert"), "{}", again.reason);
            } else {
                assert_eq!(again.transaction_id.as_ref(), Some(&bait.transaction_id), "{again:?}");
            }
        }
        // It is of another's as soon as a person has said so.
        let (t, victim, other, _) = two(&db).await;
        let theirs = t.create(&victim, NAIRA, payers[1]).await;
        for payer in &payers[2..] {
            t.create(&victim, NAIRA, payer).await;
        }
        for payer in payers {
            t.advance(LATER);
            assert_eq!(came(&t, NAIRA, &payer.to_uppercase()).await.status, AlertStatus::Matched);
        }
        t.advance(Span::hours(60));
        taken_back(&t, &theirs, "").await;
        let bait = t.create(&other, NAIRA, payers[0]).await;
        let again = came(&t, NAIRA, "HALIMA GARBA").await;
        assert_eq!(again.transaction_id.as_ref(), Some(&bait.transaction_id), "{again:?}");
    }

    async fn a_debit_without_a_key_may_be_of_any_whatever_it_is_called_and_linked_to(db: TestDatabase) {
        for words in ["RVS NIP TRF", "TRF RETURNED", "NIP REVERSE", "RECALL", "WRONG CREDIT RECOVERED", "OUTFLOW 20"] {
            let (t, victim, other, mine) = two(&db).await;
            for payer in ["Bolanle Tijani", "Ene Ochigbo", "Kelechi Uzor"] {
                t.create(&victim, NAIRA, payer).await;
                assert_eq!(came(&t, NAIRA, &payer.to_uppercase()).await.status, AlertStatus::Matched);
            }
            assert_eq!(came(&t, NAIRA, "HALIMA GARBA").await.status, AlertStatus::Matched);
            t.advance(Span::hours(60));
            t.ingest(&debit_saying(&t, words)).await;
            let bait = t.create(&other, NAIRA, "Halima Garba").await;
            let again = came(&t, NAIRA, "HALIMA GARBA").await;
            is_asked_about(&t, &again, &bait, &named(&mine)).await;
        }
        // Hers is older than what debits are compared with, and the only one that is not is a neighbour's.
        let (t, victim, other, mine) = two(&db).await;
        assert_eq!(came(&t, NAIRA, "HALIMA GARBA").await.status, AlertStatus::Matched);
        t.advance(Span::days(11));
        t.create(&victim, NAIRA, "Bolanle Tijani").await;
        let neighbour = came(&t, NAIRA, "BOLANLE TIJANI").await;
        t.advance(Span::days(1));
        let debit = t.ingest(&debit_saying(&t, "RVSL")).await;
        let linked = t.app.store.alert(debit.alert_id).await.unwrap().unwrap().linked_alert_id;
        assert_eq!(linked, Some(neighbour.alert_id));
        let bait = t.create(&other, NAIRA, "Halima Garba").await;
        is_asked_about(&t, &came(&t, NAIRA, "HALIMA GARBA").await, &bait, &named(&mine)).await;
    }

    async fn a_debit_of_somebody_else_or_of_nobody_asks_about_no_customer(db: TestDatabase) {
        for case in ["names another", "money that came", "dismissed"] {
            let (t, victim, other, _) = two(&db).await;
            assert_eq!(came(&t, NAIRA, "HALIMA GARBA").await.status, AlertStatus::Matched);
            t.advance(Span::days(3));
            for _ in 0..4 {
                t.create(&victim, NAIRA, "Bolanle Tijani").await;
                assert_eq!(came(&t, NAIRA, "BOLANLE TIJANI").await.status, AlertStatus::Matched);
            }
            t.advance(LATER);
            let mail = match case {
                "names another" => debit_saying(&t, "RVSL BOLANLE TIJANI"),
                "money that came" => debit_saying(&t, "RVSL").replace("a DEBIT", "a CREDIT"),
                _ => debit_saying(&t, "RVSL"),
            };
            let debit = t.ingest(&mail).await;
            if case == "dismissed" {
                dismiss_alert(&t.app, debit.alert_id, "ife", "our own").await.unwrap().unwrap();
            }
            let bait = t.create(&other, NAIRA, "Halima Garba").await;
            let again = came(&t, NAIRA, "HALIMA GARBA").await;
            assert_eq!(again.transaction_id.as_ref(), Some(&bait.transaction_id), "{case}: {again:?}");
        }
    }

    async fn debits_of_others_hide_none_that_may_be_of_this_payer(db: TestDatabase) {
        let (t, victim, other, mine) = two(&db).await;
        for payer in ["HALIMA GARBA", "BOLANLE TIJANI"] {
            t.create(&victim, NAIRA, "Bolanle Tijani").await;
            assert_eq!(came(&t, NAIRA, payer).await.status, AlertStatus::Matched);
        }
        t.advance(Span::days(3));
        t.ingest(&debit_saying(&t, "RVSL")).await;
        for _ in 0..25 {
            t.ingest(&debit_saying(&t, "TRF TO BOLANLE TIJANI")).await;
        }
        let bait = t.create(&other, NAIRA, "Halima Garba").await;
        is_asked_about(&t, &came(&t, NAIRA, "HALIMA GARBA").await, &bait, &named(&mine)).await;
    }

    async fn a_name_is_the_same_however_an_app_writes_it(db: TestDatabase) {
        for (first, second) in [
            ("HALIMA GARBA", "GARBA HALIMA"),
            ("HALIMA ADA GARBA", "GARBA HALIMA ADA"),
            ("HALIMA GARBA", "Garba, Halima"),
            ("HALIMA-GARBA", "MRS HALIMA GARBA"),
            ("HALIMA BOLA ADA GARBA", "ADA HALIMA GARBA BOLA"),
        ] {
            let (t, victim, other, _) = two(&db).await;
            let mine = t.create(&victim, 8_100, "Halima Ada Garba").await;
            assert_eq!(came(&t, 8_100, first).await.status, AlertStatus::Matched);
            let bait = t.create(&other, 8_100, "Halima Ada Garba").await;
            is_asked_about(&t, &came(&t, 8_100, second).await, &bait, &named(&mine)).await;
        }
    }

    async fn who_pays_to_two_virtual_accounts_buys_at_two_shops(db: TestDatabase) {
        let (t, victim, other, _) = two(&db).await;
        let numbers = ["9700000017", "9700000024"];
        for (number, shop) in numbers.iter().zip([&victim, &other]) {
            // Customers see the shop's name on it; the mail shows whose the account behind it is.
            let behind = t.new_account("gtbank", (0, 4), number, Some(shop.id));
            t.add_account(&NewAccount { via: Some(ACCOUNT.into()), name: "KUDU STORES".into(), ..behind }).await;
        }
        let told = async |number: &str| {
            t.advance(LATER);
            let at = t.app.now() - Span::seconds(20);
            let alert = Alert { session: String::new(), ..Alert::credit(ACCOUNT, 8_100, "X", at) };
            let words = format!("{number}019876543281000020260310091000123 FROM HALIMA GARBA TO SQUAD");
            t.ingest(&alert.text().replace("VIA GAPS PAYMENT FROM X", &words)).await
        };
        for (number, shop) in numbers.iter().zip([&victim, &other]) {
            let asked = t.create(shop, 8_100, "Halima Garba").await;
            let paid = told(number).await;
            assert_eq!(paid.transaction_id.as_ref(), Some(&asked.transaction_id), "{paid:?}");
        }
        // To the number of before it may be the same purchase.
        let anew = t.create(&other, 8_100, "Halima Garba").await;
        let again = told(numbers[1]).await;
        assert_eq!(again.transaction_id.as_ref(), Some(&anew.transaction_id), "the shop's own customer: {again:?}");
    }

    async fn each_of_a_row_of_transfers_speaks_for_itself(db: TestDatabase) {
        let (t, _, other, _) = two(&db).await;
        came(&t, NAIRA, PAYER).await;
        t.create(&other, NAIRA, "Musa Danladi").await;
        t.advance(Span::hours(21));
        let second = came(&t, NAIRA, PAYER).await;
        assert_eq!(second.status, AlertStatus::Review, "{second:?}");
        t.advance(Span::hours(29));
        let bait = t.create(&other, NAIRA, "Musa Danladi").await;
        let third = came(&t, NAIRA, PAYER).await;
        is_asked_about(&t, &third, &bait, &format!("alert {} of this amount", second.alert_id)).await;
    }

    async fn what_holds_one_holds_the_next_though_the_payment_was_asked_for_before(db: TestDatabase) {
        let (t, _, other, _) = two(&db).await;
        came(&t, NAIRA, PAYER).await;
        t.advance(Span::hours(41));
        let bait = t.create(&other, NAIRA, "Musa Danladi").await;
        let second = came(&t, NAIRA, PAYER).await;
        assert_eq!(second.status, AlertStatus::Review, "{second:?}");
        t.advance(Span::hours(9));
        let third = came(&t, NAIRA, PAYER).await;
        is_asked_about(&t, &third, &bait, &format!("alert {} of this amount", second.alert_id)).await;
        // A debit that is held against it says something else to a person, who is told of the rest as well.
        t.ingest(&debit(&t, PAYER).text()).await;
        let told = obstacles(&t, &third, &bait).await;
        assert!(told.iter().any(|one| one.contains("second transfer")), "{told:?}");
    }

    async fn what_a_person_took_off_a_payment_or_dismissed_goes_on_speaking(db: TestDatabase) {
        // Held for what was paid before, dismissed, and sent a third time.
        let (t, _, other, mine) = two(&db).await;
        assert_eq!(came(&t, NAIRA, "HALIMA GARBA").await.status, AlertStatus::Matched);
        t.advance(Span::hours(44));
        let bait = t.create(&other, NAIRA, "Halima Garba").await;
        let second = came(&t, NAIRA, "HALIMA GARBA").await;
        is_asked_about(&t, &second, &bait, &named(&mine)).await;
        dismiss_alert(&t.app, second.alert_id, "ife", "sent back by hand").await.unwrap().unwrap();
        t.advance(Span::hours(5));
        let third = came(&t, NAIRA, "HALIMA GARBA").await;
        is_asked_about(&t, &third, &bait, "was dismissed by a person").await;
        // A wrong match is taken off, and he sends it again.
        let (t, _, other, _) = two(&db).await;
        let wrong = t.create(&other, NAIRA, "Musa Danladi").await;
        assert_eq!(came(&t, NAIRA, PAYER).await.transaction_id.as_ref(), Some(&wrong.transaction_id));
        let ask = Reverse {
            business_id: wrong.business_id,
            transaction_id: &wrong.transaction_id,
            reason: "it was for another shop's order",
            operator: "ife",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &ask).await.unwrap().unwrap();
        let bait = t.create(&other, NAIRA, "Musa Danladi").await;
        is_asked_about(&t, &came(&t, NAIRA, PAYER).await, &bait, "second transfer").await;
    }

    async fn a_person_is_told_of_each_that_speaks(db: TestDatabase) {
        let (t, _, other, mine) = two(&db).await;
        assert_eq!(came(&t, NAIRA, "HALIMA GARBA").await.status, AlertStatus::Matched);
        let second = came(&t, NAIRA, "HALIMA GARBA").await;
        assert_eq!(second.status, AlertStatus::Unmatched, "{second:?}");
        let bait = t.create(&other, NAIRA, "Halima Garba").await;
        let third = came(&t, NAIRA, "HALIMA GARBA").await;
        is_asked_about(&t, &third, &bait, &named(&mine)).await;
        assert!(third.reason.contains(&format!("alert {} of this amount", second.alert_id)), "{}", third.reason);
    }

    async fn a_wallet_may_be_meant_on_a_shops_own_account(db: TestDatabase) {
        let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
        t.account_for("0123450077", Some(shop.id), Mode::Live).await;
        let change = BusinessChange { wallet_enabled: Some(true), ..BusinessChange::default() };
        set_business(&t.app, "test", shop.id, &change).await.unwrap().unwrap();
        t.app.directory.forget();
        let told = async || {
            t.advance(LATER);
            let mail = Alert::credit("0123450077", NAIRA, PAYER, t.app.now() - Span::seconds(20));
            t.ingest(&mail.text()).await
        };
        let first = told().await;
        let bait = t.create(&shop, NAIRA, "Musa Danladi").await;
        is_asked_about(&t, &told().await, &bait, &format!("alert {} of this amount", first.alert_id)).await;
    }

    async fn on_a_shops_own_account_nobody_else_is_meant(db: TestDatabase) {
        let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
        t.account_for("0123450077", Some(shop.id), Mode::Live).await;
        let told = async |naira: i64| {
            t.advance(LATER);
            let mail = Alert::credit("0123450077", naira, "HALIMA GARBA", t.app.now() - Span::seconds(20));
            t.ingest(&mail.text()).await
        };
        assert_eq!(told(NAIRA).await.status, AlertStatus::Unmatched);
        let asked = t.create(&shop, NAIRA, "Halima Garba").await;
        assert_eq!(told(NAIRA).await.transaction_id, Some(asked.transaction_id));
    }

    async fn no_id_that_a_merchant_chose_tells_a_person_anything(db: TestDatabase) {
        let (t, victim, other, _) = two(&db).await;
        let first = came(&t, NAIRA, PAYER).await;
        let words = format!(
            "alert {} of this amount and under this name waits for a person: this may be a second transfer for the same payment",
            first.alert_id
        );
        let id = Some(words.clone());
        let new = NewPayment { transaction_id: id, ..t.request(&other, NAIRA, "Musa Danladi") };
        assert!(matches!(create_payment(&t.app, &other.caller, new, None).await.unwrap(), Created::Payment(_)));
        t.create(&victim, NAIRA + 100, "Musa Danladi").await;
        let again = came(&t, NAIRA, PAYER).await;
        assert_eq!(again.status, AlertStatus::Review, "{again:?}");
        // The id is in the reason, and the warning is told all the same.
        assert_eq!(again.reason.matches(&words).count(), 2, "{}", again.reason);
    }

    async fn who_was_told_by_the_reason_is_not_told_again(db: TestDatabase) {
        let (t, _, other, _) = two(&db).await;
        came(&t, NAIRA, PAYER).await;
        let bait = t.create(&other, NAIRA, "Musa Danladi").await;
        let again = came(&t, NAIRA, PAYER).await;
        assert_eq!(again.status, AlertStatus::Review, "{again:?}");
        approved(&t, &again, &bait, None).await;
    }
}
