//! Who has a shop can have as many wallets as he likes, and as many payments: they hide nobody else's from whoever decides, and
//! send nobody's money to a person.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Payment;
use tillbell::domain::phone::Phone;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::approve::{Approve, approval_obstacles};
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::Corrected;
use tillbell::ops::payments::sweep::sweep;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::ops::wallets::find::ensure;

use crate::another_merchant::{copies, correct, suggested};
use crate::harness::app::{ACCOUNT, LATER, Merchant};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::meant_for_others::OTHER;
use crate::spoken_for::{came, named, obstacles};
use crate::told_of_each::of_nobody_on_no_account;
use crate::told_of_others::of_nobody;
use crate::wallet::world::{PHONE, World};

const PAYER: &str = "Halima Garba";
const GIVEN: [&str; 25] = [
    "Tunde", "Bola", "Chike", "Emeka", "Ngozi", "Musa", "Funke", "Zainab", "Efe", "Yusuf", "Ada", "Kemi",
    "Segun", "Femi", "Amina", "Ifeanyi", "Obinna", "Chioma", "Lola", "Gbenga", "Hauwa", "Idris", "Jumoke",
    "Kunle", "Nkechi",
];
const FAMILY: [&str; 25] = [
    "Bakare", "Eze", "Okafor", "Balogun", "Danladi", "Okoro", "Ojo", "Adeyemi", "Umeadi", "Ibrahim", "Nwosu",
    "Bassey", "Etim", "Duru", "Akpan", "Bello", "Madu", "Ogun", "Afolabi", "Ekpo", "Yakubu", "Chukwu",
    "Onoja", "Sule", "Abiola",
];
const MORE: &str = "payments of more beneficiaries may be meant as well";

async fn topup(w: &World, shop: &Merchant, phone: &str, naira: i64, payer: &str) -> Payment {
    let phone = Phone::parse(phone).unwrap();
    ensure(&w.t.app, &phone).await.unwrap();
    let asking = start_topup(&w.t.app, &shop.caller, &phone, Money(naira * 100), payer, None).await.unwrap();
    let ToppingUp::Waiting(topup, _) = asking else { panic!("no top-up") };
    topup.payment
}

/// Top-ups through a shop, each for a wallet of its own.
async fn for_wallets(w: &World, count: i64, naira: impl Fn(i64) -> i64, payer: impl Fn(i64) -> String) {
    for n in 0..count {
        topup(w, &w.shop, &format!("080598765{n:02}"), naira(n), &payer(n)).await;
    }
}

/// Of these no two are alike.
fn stranger(n: i64) -> String {
    format!("{} {}", GIVEN[n as usize], FAMILY[n as usize])
}

async fn started(db: &TestDatabase) -> World {
    let w = World::start(TestDatabase::migrated(db.engine()).await).await;
    w.t.account(ACCOUNT).await;
    w
}

on_both! {
    async fn a_wallet_that_she_has_filled_is_known_through_whichever_shop(db: TestDatabase) {
        for (shown, asked_of) in [("HALIMA GARBA", PAYER), ("HALIMA B GARBA", "Halima Bello")] {
            let w = started(&db).await;
            let t = &w.t;
            let first = topup(&w, &w.shop, PHONE, 3_000, PAYER).await;
            let paid = came(t, 3_000, shown).await;
            assert_eq!(paid.transaction_id, Some(first.transaction_id), "{paid:?}");
            let taker = t.merchant("bolu.example").await;
            let taken = t.create(&taker, 8_000, PAYER).await;
            t.account(OTHER).await;
            let second = t.merchant("kente.example").await;
            let second = w.enabled(&second, "https://kente.example/hook").await;
            let mut meant = topup(&w, &second, PHONE, 8_000, asked_of).await;
            while meant.account_id == taken.account_id {
                meant = topup(&w, &second, PHONE, 8_000, asked_of).await;
            }
            let alert = came(t, 8_000, shown).await;
            assert_eq!(alert.status, AlertStatus::Review, "{shown} {alert:?}");
            assert!(alert.reason.contains(&named(&meant)), "{shown} {alert:?}");
        }
    }

    async fn beside_a_corrected_payment_no_wallet_hides_whose_money_it_may_be(db: TestDatabase) {
        for wallets in [1, 9] {
            let w = started(&db).await;
            let t = &w.t;
            let victim = t.merchant("bolu.example").await;
            // Somebody pays for her, and rounds.
            let mine = t.create(&victim, 8_100, PAYER).await;
            let bait = t.create(&w.shop, 12_000, "Sani Lawal").await;
            for_wallets(&w, wallets, |_| 7_700, stranger).await;
            let alert = came(t, 8_000, "SANI LAWAL").await;
            assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
            assert!(matches!(correct(t, &w.shop, &bait, 8_000).await, Corrected::Payment(_)));
            let alert = t.app.store.alert(alert.alert_id).await.unwrap().unwrap();
            assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
            assert!(alert.reason.contains(&named(&mine)), "{wallets} {alert:?}");
            assert_eq!(alert.reason.contains(MORE), wallets == 9, "{alert:?}");
        }
    }

    async fn where_no_payer_is_named_no_number_of_wallets_hides_another_shops_order(db: TestDatabase) {
        for names_an_account in [true, false] {
            let w = started(&db).await;
            let t = &w.t;
            let victim = t.merchant("bolu.example").await;
            let mine = t.create(&victim, 8_000, "Uche Obi").await;
            if !names_an_account {
                t.account(OTHER).await;
            }
            for_wallets(&w, 25, |_| 8_000, stranger).await;
            let mut bait = t.create(&w.shop, 8_000, "Sani Lawal").await;
            while !names_an_account && bait.account_id == mine.account_id {
                bait = t.create(&w.shop, 8_000, "Sani Lawal").await;
            }
            let outcome = match names_an_account {
                true => of_nobody(t, 8_000).await,
                false => of_nobody_on_no_account(t, 8_000).await,
            };
            let told = obstacles(t, &outcome, &bait).await;
            assert!(told.iter().any(|one| one.contains(&named(&mine))), "{told:?}");
            assert!(told.iter().any(|one| one.contains(MORE)), "{told:?}");
        }
    }

    async fn no_number_of_wallets_of_her_name_hides_another_shops_order(db: TestDatabase) {
        let w = started(&db).await;
        let t = &w.t;
        let victim = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 8_100, PAYER).await;
        for_wallets(&w, 24, |n| 8_001 + n, |_| PAYER.to_owned()).await;
        let bait = t.create(&w.shop, 8_000, PAYER).await;
        assert_eq!(bait.account_id, mine.account_id);
        let outcome = came(t, 8_000, "HALIMA GARBA").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        assert!(outcome.reason.contains(&named(&mine)) && outcome.reason.contains(MORE), "{outcome:?}");
    }

    async fn of_a_shop_that_has_asked_itself_no_wallet_stands_before_the_order(db: TestDatabase) {
        let w = started(&db).await;
        let t = &w.t;
        let taker = t.merchant("bolu.example").await;
        let bait = t.create(&taker, 8_000, PAYER).await;
        // Wallets of the thief's, filled through the shop whose customer he robs.
        for_wallets(&w, 7, |n| 8_001 + n, |_| PAYER.to_owned()).await;
        let mine = t.create(&w.shop, 8_100, PAYER).await;
        assert_eq!(bait.account_id, mine.account_id);
        let outcome = came(t, 8_000, "HALIMA GARBA").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        assert!(outcome.reason.contains(&named(&mine)), "{outcome:?}");
    }

    async fn whatever_else_speaks_against_a_payment_that_was_asked_for_late_whose_money_it_may_be_is_told(db: TestDatabase) {
        for beside in ["nothing", "a wallet", "a customer", "twelve orders"] {
            let w = started(&db).await;
            let t = &w.t;
            let taker = &w.shop;
            let victim = t.merchant("bolu.example").await;
            // Her husband pays; the thief asks in his name when the money is there.
            let mine = t.create(&victim, if beside == "twelve orders" { 8_000 } else { 8_100 }, PAYER).await;
            t.advance(LATER);
            let at = t.app.now();
            t.advance(Span::seconds(50));
            let bait = t.create(taker, 8_000, "Sani Lawal").await;
            match beside {
                "a wallet" => drop(topup(&w, taker, PHONE, 8_050, "Sani Lawal").await),
                "a customer" => drop(t.create(taker, 8_050, "Sani Musa Lawal").await),
                "twelve orders" => {
                    topup(&w, taker, PHONE, 8_050, "Sani Lawal").await;
                    for n in 0..12 {
                        t.create(taker, 8_000, &stranger(n)).await;
                    }
                }
                _ => {}
            }
            t.advance(Span::seconds(30));
            let mail = Alert::credit(ACCOUNT, 8_000, "SANI LAWAL", at);
            let outcome = t.ingest(&mail.text()).await;
            assert_eq!(outcome.status, AlertStatus::Review, "{beside} {outcome:?}");
            assert!(outcome.reason.contains(&named(&mine)), "{beside} {outcome:?}");
            let seen = suggested(t, outcome.alert_id).await;
            assert!(seen.contains(&mine.transaction_id), "{beside} {seen:?}");
            // Put aside, the reason says something else; who approves it then is told.
            dismiss_alert(&t.app, outcome.alert_id, "ada", "she will call").await.unwrap().unwrap();
            let told = obstacles(t, &outcome, &bait).await;
            assert!(told.iter().any(|one| one.contains(&named(&mine))), "{beside} {told:?}");
        }
    }

    async fn a_payment_that_has_ended_hides_no_open_one_that_is_near(db: TestDatabase) {
        for is_asked in [false, true] {
            let w = started(&db).await;
            let t = &w.t;
            let (taker, victim) = (t.merchant("bolu.example").await, t.merchant("kudi.example").await);
            let bait = t.create(&taker, 8_000, PAYER).await;
            // Open for longer than the other.
            t.advance(Span::hours(20));
            let mine = match is_asked {
                true => Some(t.create(&victim, 8_100, PAYER).await),
                false => None,
            };
            let mail = Alert::credit(ACCOUNT, 8_000, "HALIMA GARBA", t.app.now() + Span::minutes(1));
            t.advance(Span::hours(29));
            assert_eq!(sweep(&t.app).await.unwrap().rejected, 1);
            let outcome = t.ingest(&mail.text()).await;
            assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
            let ask = Approve {
                alert_id: outcome.alert_id,
                business_id: bait.business_id,
                transaction_id: &bait.transaction_id,
                operator: "ada",
                despite: None,
                seen: None,
            };
            let told = approval_obstacles(&t.app, &ask).await.unwrap().unwrap();
            assert_eq!(mine.map(|mine| told.iter().any(|one| one.contains(&named(&mine)))), is_asked.then_some(true), "{told:?}");
        }
    }

    async fn of_many_wallets_that_he_has_filled_none_keeps_his_money_for_a_person(db: TestDatabase) {
        let w = started(&db).await;
        let t = &w.t;
        // An agent, who fills other people's wallets.
        for n in 0..7 {
            let asked = topup(&w, &w.shop, &format!("080598765{n:02}"), 1_000 + n, PAYER).await;
            let paid = came(t, 1_000 + n, "HALIMA GARBA").await;
            assert_eq!(paid.transaction_id, Some(asked.transaction_id), "{n} {paid:?}");
        }
        let victim = t.merchant("bolu.example").await;
        let order = t.create(&victim, 8_000, PAYER).await;
        let paid = came(t, 8_000, "HALIMA GARBA").await;
        assert_eq!(paid.transaction_id, Some(order.transaction_id), "{paid:?}");
    }

    async fn what_an_alert_waits_for_already_is_not_lost_by_anybodys_correction(db: TestDatabase) {
        for is_chosen_corrected in [false, true] {
            let w = started(&db).await;
            let t = &w.t;
            let (taker, stranger) = (t.merchant("bolu.example").await, t.merchant("kudi.example").await);
            let first = t.create(&w.shop, 8_000, PAYER).await;
            let paid = came(t, 8_000, "HALIMA GARBA").await;
            assert_eq!(paid.transaction_id, Some(first.transaction_id), "{paid:?}");
            t.advance(Span::hours(42));
            let other = t.create(&taker, 12_000, "Musa Eze").await;
            t.create(&stranger, 7_900, "Bola Ojo").await;
            let bait = t.create(&taker, if is_chosen_corrected { 15_000 } else { 8_000 }, PAYER).await;
            if is_chosen_corrected {
                t.advance(Span::minutes(5));
                assert!(matches!(correct(t, &taker, &bait, 8_000).await, Corrected::Payment(_)));
            }
            t.advance(Span::hours(2));
            let again = came(t, 8_000, "HALIMA GARBA").await;
            assert_eq!(again.status, AlertStatus::Review, "{again:?}");
            assert!(again.reason.contains("was paid by alert"), "{again:?}");
            let corrected = if is_chosen_corrected { &bait } else { &other };
            if is_chosen_corrected {
                assert!(matches!(correct(t, &taker, corrected, 8_100).await, Corrected::Payment(_)));
            }
            assert!(matches!(correct(t, &taker, corrected, 8_000).await, Corrected::Payment(_)));
            let kept = t.app.store.alert(again.alert_id).await.unwrap().unwrap();
            assert_eq!(kept.status, AlertStatus::Review, "{kept:?}");
            assert!(kept.reason.contains("was paid by alert"), "{kept:?}");
            assert_eq!(kept.reason.contains("the amount was corrected"), is_chosen_corrected, "{kept:?}");
            // A third one is no less the second of what she paid.
            t.advance(Span::hours(5));
            let third = came(t, 8_000, "HALIMA GARBA").await;
            assert_eq!(third.status, AlertStatus::Review, "{third:?}");
        }
    }

    async fn where_no_payer_is_named_a_payment_that_was_asked_for_late_hides_nobody_who_asks_for_about_as_much(db: TestDatabase) {
        let w = started(&db).await;
        let t = &w.t;
        let victim = t.merchant("bolu.example").await;
        let mine = t.create(&victim, 8_100, PAYER).await;
        t.advance(LATER);
        let at = t.app.now();
        t.advance(Span::seconds(50));
        let bait = t.create(&w.shop, 8_000, "Sani Lawal").await;
        t.advance(Span::seconds(30));
        let mut taken = t.taken(&Alert::credit(ACCOUNT, 8_000, "X", at).text(), true);
        taken.facts.payer_name = None;
        let outcome = take_alert(&t.app, &taken).await.unwrap();
        let told = obstacles(t, &outcome, &bait).await;
        assert!(told.iter().any(|one| one.contains(&named(&mine))), "{told:?}");
    }

    async fn no_crowd_of_a_strangers_payments_asks_a_person_about_a_payer_who_is_known(db: TestDatabase) {
        for is_asked in [false, true] {
            let w = started(&db).await;
            let t = &w.t;
            let (taker, stranger) = (t.merchant("bolu.example").await, t.merchant("kudi.example").await);
            let first = t.create(&w.shop, 3_000, PAYER).await;
            let paid = came(t, 3_000, "HALIMA GARBA").await;
            assert_eq!(paid.transaction_id, Some(first.transaction_id), "{paid:?}");
            let taken = t.create(&taker, 8_000, PAYER).await;
            t.account(OTHER).await;
            // More than are read of a name, each stored under its one whole word.
            let one = t.create_elsewhere(&stranger, 8_050, "Halima A", &taken).await;
            copies(t, &one, 1_150, |_| "Halima A".to_owned()).await;
            let meant = match is_asked {
                true => Some(t.create_elsewhere(&w.shop, 8_000, PAYER, &taken).await),
                false => None,
            };
            let alert = came(t, 8_000, "HALIMA GARBA").await;
            match meant {
                Some(meant) => assert!(alert.reason.contains(&named(&meant)), "{alert:?}"),
                None => assert_eq!(alert.transaction_id, Some(taken.transaction_id), "{alert:?}"),
            }
        }
    }
}
