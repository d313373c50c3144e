//! Nobody's payment hides another's, from the rules or from whoever approves by hand: of a name that no index finds, of a shop
//! and its wallets, of several who may all be meant.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Payment;
use tillbell::domain::phone::Phone;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::Corrected;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::ops::wallets::find::ensure;

use crate::another_merchant::{copies, correct};
use crate::counted_once::{approved, without_account};
use crate::debit_mails::back;
use crate::harness::app::{ACCOUNT, LATER, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::meant_for_others::OTHER;
use crate::spoken_for::{came, named, obstacles};
use crate::told_of_others::of_nobody;
use crate::undoing::undo;
use crate::wallet::world::{PHONE, World};

const PAYER: &str = "Halima Garba";
const THIEFS: &str = "08059876543";

/// Somebody asks through the shop for money for this number's wallet.
async fn topup(w: &World, phone: &str, naira: i64, payer: &str) -> Payment {
    let phone = Phone::parse(phone).unwrap();
    ensure(&w.t.app, &phone).await.unwrap();
    let asking = start_topup(&w.t.app, &w.shop.caller, &phone, Money(naira * 100), payer, None);
    let ToppingUp::Waiting(topup, _) = asking.await.unwrap() else { panic!("no top-up") };
    topup.payment
}

fn names_it(alert: &AlertOutcome, meant: &Payment) {
    assert_eq!(alert.status, AlertStatus::Review, "{alert:?}");
    assert!(alert.reason.contains(&named(meant)), "{meant:?} in {alert:?}");
}

fn tell_of(told: &[String], meant: &Payment) {
    assert!(told.iter().any(|one| one.contains(&named(meant))), "{} in {told:?}", named(meant));
}

/// Money whose mail names neither payer nor account.
pub async fn of_nobody_on_no_account(t: &TestApp, naira: i64) -> AlertOutcome {
    t.advance(LATER);
    let mail = Alert::credit(ACCOUNT, naira, "X", t.app.now() - Span::seconds(20));
    let mut taken = t.taken(&without_account(&mail.text()), true);
    taken.facts.payer_name = None;
    take_alert(&t.app, &taken).await.unwrap()
}

/// She has paid here before, in a transfer that shows this name.
async fn paid_before(t: &TestApp, payment: &Payment, shown: &str) -> AlertOutcome {
    let alert = came(t, payment.amount.kobo() / 100, shown).await;
    assert_eq!(alert.transaction_id.as_ref(), Some(&payment.transaction_id), "{alert:?}");
    alert
}

on_both! {
    async fn who_paid_a_shop_or_her_wallet_through_it_may_mean_either_beside_anothers_wallet(db: TestDatabase) {
        for (was_topup, is_topup) in [(false, true), (true, false), (true, true), (false, false)] {
            let w = World::start(TestDatabase::migrated(db.engine()).await).await;
            w.t.account(ACCOUNT).await;
            let hers = async |is_topup: bool, naira: i64| match is_topup {
                true => topup(&w, PHONE, naira, PAYER).await,
                false => w.t.create(&w.shop, naira, PAYER).await,
            };
            let first = hers(was_topup, 3_000).await;
            paid_before(&w.t, &first, "HALIMA GARBA").await;
            topup(&w, THIEFS, 8_000, PAYER).await;
            w.t.account(OTHER).await;
            let meant = hers(is_topup, 8_000).await;
            assert_ne!(meant.account_id, first.account_id);
            names_it(&came(&w.t, 8_000, "HALIMA GARBA").await, &meant);
        }
    }

    async fn a_name_with_an_initial_hides_no_shop_that_she_knows(db: TestDatabase) {
        // A control, and what her bank shows of her.
        for shown in ["HALIMA GARBA DANLADI", "HALIMA G DANLADI"] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            paid_before(&t, &t.create(&shop, 3_000, "Halima Danladi").await, shown).await;
            let taken = t.create(&taker, 8_000, "Halima Danladi").await;
            t.account(OTHER).await;
            let meant = t.create_elsewhere(&shop, 8_000, "Halima Garba", &taken).await;
            names_it(&came(&t, 8_000, shown).await, &meant);
        }
    }

    async fn whom_she_paid_before_the_bank_took_it_back_is_known_still(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let taker = t.merchant("bolu.example").await;
        let first = t.create(&shop, 3_000, PAYER).await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 3_000, "HALIMA GARBA", t.app.now() - Span::seconds(20));
        assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched);
        t.advance(Span::minutes(5));
        let debit = t.ingest(&back(&credit).text()).await;
        undo(&t.app, &first, debit.alert_id, None).await.unwrap();
        t.create(&taker, 8_000, PAYER).await;
        t.account(OTHER).await;
        let meant = t.create(&shop, 8_000, PAYER).await;
        names_it(&came(&t, 8_000, "HALIMA GARBA").await, &meant);
    }

    async fn what_she_was_asked_for_on_another_account_before_a_correction_speaks(db: TestDatabase) {
        for (asked, is_about) in [(8_000, true), (8_150, true), (15_000, false)] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let taker = t.merchant("bolu.example").await;
            paid_before(&t, &t.create(&shop, 3_000, PAYER).await, "HALIMA GARBA").await;
            let taken = t.create(&taker, 8_000, PAYER).await;
            t.account(OTHER).await;
            let meant = t.create_elsewhere(&shop, asked, PAYER, &taken).await;
            t.advance(Span::minutes(1));
            assert!(matches!(correct(&t, &shop, &meant, 700).await, Corrected::Payment(_)));
            let alert = came(&t, 8_000, "HALIMA GARBA").await;
            match is_about {
                true => names_it(&alert, &meant),
                false => assert_eq!(alert.transaction_id, Some(taken.transaction_id), "{alert:?}"),
            }
        }
    }

    async fn where_no_payer_is_named_no_number_of_anothers_hides_one(db: TestDatabase) {
        // Asked for before the money came, or after it.
        for is_before in [true, false] {
            let (t, planter) = world(TestDatabase::migrated(db.engine()).await).await;
            let victim = t.merchant("bolu.example").await;
            let taker = t.merchant("kudi.example").await;
            let planted = t.create(&planter, if is_before { 8_000 } else { 9_000 }, "Tunde Bakare").await;
            copies(&t, &planted, if is_before { 25 } else { 0 }, |_| "Tunde Bakare".to_owned()).await;
            let mine = t.create(&victim, 8_000, "Uche Obi").await;
            let bait = t.create(&taker, 8_000, "Sani Lawal").await;
            let outcome = of_nobody(&t, 8_000).await;
            t.advance(Span::minutes(1));
            for _ in 0..if is_before { 0 } else { 25 } {
                t.create(&planter, 8_000, "Tunde Bakare").await;
            }
            tell_of(&obstacles(&t, &outcome, &bait).await, &mine);
            tell_of(&obstacles(&t, &outcome, &mine).await, &bait);
        }
    }

    async fn where_no_payer_is_named_too_many_to_look_at_are_told_as_that(db: TestDatabase) {
        let (t, taker) = world(db).await;
        let bait = t.create(&taker, 8_000, "Sani Lawal").await;
        copies(&t, &bait, 2_000, |_| "Sani Lawal".to_owned()).await;
        let outcome = of_nobody(&t, 8_000).await;
        let told = obstacles(&t, &outcome, &bait).await;
        assert!(told.iter().any(|one| one.contains("not all payments that ask for what was received")), "{told:?}");
    }

    async fn no_number_of_a_wallets_own_topups_hides_anybody(db: TestDatabase) {
        for names_an_account in [true, false] {
            let w = World::start(TestDatabase::migrated(db.engine()).await).await;
            let t = &w.t;
            let other = t.merchant("bolu.example").await;
            t.account(ACCOUNT).await;
            let mine = topup(&w, THIEFS, 190, "Sani Lawal").await;
            copies(t, &mine, if names_an_account { 25 } else { 205 }, |n| format!("Tunde Bakare{n}")).await;
            let hers = topup(&w, PHONE, 190, "Emeka Duru").await;
            let order = t.create(&other, 190, "Zainab Ibeto").await;
            let (own, outcome) = match names_an_account {
                true => (mine, of_nobody(t, 190).await),
                false => {
                    t.account(OTHER).await;
                    let mut own = topup(&w, THIEFS, 190, "Sani Lawal").await;
                    while own.account_id == mine.account_id {
                        own = topup(&w, THIEFS, 190, "Sani Lawal").await;
                    }
                    (own, of_nobody_on_no_account(t, 190).await)
                }
            };
            let told = obstacles(t, &outcome, &own).await;
            tell_of(&told, &order);
            tell_of(&told, &hers);
        }
    }

    async fn a_shops_own_orders_are_anothers_to_its_wallets(db: TestDatabase) {
        for names_an_account in [true, false] {
            let w = World::start(TestDatabase::migrated(db.engine()).await).await;
            let t = &w.t;
            t.account(ACCOUNT).await;
            let first = topup(&w, THIEFS, 8_000, "Sani Lawal").await;
            if !names_an_account {
                t.account(OTHER).await;
            }
            let order = match names_an_account {
                true => t.create(&w.shop, 8_000, PAYER).await,
                false => t.create_elsewhere(&w.shop, 8_000, PAYER, &first).await,
            };
            let second = topup(&w, PHONE, 8_000, "Emeka Duru").await;
            let outcome = match names_an_account {
                true => of_nobody(t, 8_000).await,
                false => of_nobody_on_no_account(t, 8_000).await,
            };
            let told = obstacles(t, &outcome, &first).await;
            tell_of(&told, &order);
            if names_an_account {
                tell_of(&told, &second);
            }
            tell_of(&obstacles(t, &outcome, &order).await, &first);
        }
    }

    async fn a_correction_upwards_hides_no_earlier_amount(db: TestDatabase) {
        let (t, taker) = world(db).await;
        let victim = t.merchant("bolu.example").await;
        let bait = t.create(&taker, 8_100, PAYER).await;
        t.account(OTHER).await;
        let mine = t.create(&victim, 8_100, PAYER).await;
        t.advance(Span::minutes(1));
        assert!(matches!(correct(&t, &victim, &mine, 8_300).await, Corrected::Payment(_)));
        t.advance(LATER);
        let mail = Alert::credit(ACCOUNT, 8_100, "HALIMA GARBA", t.app.now() - Span::seconds(20));
        let outcome = t.ingest(&without_account(&mail.text())).await;
        tell_of(&obstacles(&t, &outcome, &bait).await, &mine);
    }

    async fn where_no_payer_is_named_what_was_asked_for_before_a_correction_is_told(db: TestDatabase) {
        let (t, taker) = world(db).await;
        let victim = t.merchant("bolu.example").await;
        let order = t.create(&victim, 8_100, "Uche Obi").await;
        let bait = t.create(&taker, 8_100, "Sani Lawal").await;
        t.advance(Span::minutes(1));
        assert!(matches!(correct(&t, &victim, &order, 8_300).await, Corrected::Payment(_)));
        tell_of(&obstacles(&t, &of_nobody(&t, 8_100).await, &bait).await, &order);
    }

    async fn five_wallets_of_a_shop_hide_no_sixth_beneficiary(db: TestDatabase) {
        let w = World::start(TestDatabase::migrated(db.engine()).await).await;
        let t = &w.t;
        t.account(ACCOUNT).await;
        let taker = t.merchant("bolu.example").await;
        let victim = t.merchant("kudi.example").await;
        let bait = t.create(&taker, 8_000, "Halima Danladi").await;
        let mine = t.create(&victim, 8_010, "Halima Garba").await;
        for n in 0..6 {
            topup(&w, &format!("0805987654{n}"), 8_001 + n, "Halima Garba Okoro").await;
        }
        let outcome = came(t, 8_000, "HALIMA GARBA DANLADI").await;
        assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
        let mut told = obstacles(t, &outcome, &bait).await;
        told.push(outcome.reason);
        tell_of(&told, &mine);
    }

    async fn of_several_who_may_be_meant_none_hides_another(db: TestDatabase) {
        let (t, taker) = world(db).await;
        let victim = t.merchant("bolu.example").await;
        let planter = t.merchant("kudi.example").await;
        // Two that are near, of which neither fits as the third does.
        let bait = t.create(&taker, 8_000, "Halima Danladi").await;
        let mine = t.create(&victim, 8_100, "Halima Garba Okoro").await;
        let planted = t.create(&planter, 8_050, "Halima Garba").await;
        let outcome = came(&t, 8_000, "HALIMA GARBA DANLADI").await;
        names_it(&outcome, &mine);
        names_it(&outcome, &planted);
        approved(&t, &outcome, &bait, None).await;
        // Three that fit exactly, of which a credit that was set aside says nothing.
        t.account(OTHER).await;
        t.account("0123457703").await;
        let all = [&taker, &victim, &planter];
        let mut three = Vec::new();
        for shop in all {
            three.push(t.create(shop, 9_000, "Ngozi Umeadi").await);
        }
        t.advance(LATER);
        let mail = Alert::credit(ACCOUNT, 9_000, "NGOZI UMEADI", t.app.now() - Span::seconds(20));
        let outcome = t.ingest(&without_account(&mail.text())).await;
        let told = obstacles(&t, &outcome, &three[0]).await;
        tell_of(&told, &three[1]);
        tell_of(&told, &three[2]);
    }
}
