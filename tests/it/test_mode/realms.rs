//! What is simulated and what the banks send lie in one table, and neither is seen where the other is looked at: by the
//! question who has paid before, by payouts, by the audit and by what operators see.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::merchant::Mode;
use tillbell::domain::payment::Payment;
use tillbell::domain::payout::PayoutStatus;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::mail_intake::ingest::MailIngestor;
use tillbell::ops::alerts::decide::AlertOutcome;
use tillbell::ops::alerts::reverse::{Reverse, ReverseRefused, reverse_payment};
use tillbell::ops::alerts::simulate::{About, Simulation, simulate};
use tillbell::store::Step;
use tillbell::store::engine::sql::{Sql, Text};

use crate::harness::app::{ACCOUNT, LATER, TestApp, world};
use crate::harness::mails::Alert;
use crate::payouts::world::{GIVEN, OWNER, ask_for, funded, member, ready_account};

const TEST_ACCOUNT: &str = "0123454428";

/// A mail about a test payment, of its amount and payer, in a bank's layout.
async fn simulated(t: &TestApp, payment: &Payment, bank: &str, narration: Option<&str>) -> AlertOutcome {
    let room = MailIngestor::new(&t.app.config, t.banks.clone());
    let ask = Simulation {
        business_id: payment.business_id,
        about: About::Transaction(&payment.transaction_id),
        on_account: None,
        bank: Some(bank),
        amount: payment.amount,
        payer_name: &payment.payer_name,
        narration,
        occurred: None,
        copies: 1,
        is_forged: false,
        by: None,
    };
    simulate(&t.app, &room, &ask).await.unwrap().unwrap().remove(0)
}

/// A statement that the program has no need of.
async fn run(t: &TestApp, text: &'static str) {
    let sql: &'static Sql = Box::leak(Box::new(Sql::new("BY_HAND", Text::Plain(text))));
    let unit = t.app.store.unit(0).await.unwrap();
    assert!(t.app.store.apply(unit.step(Step::any(sql, vec![]))).await.unwrap().is_done());
}

on_both! {
    async fn who_simulated_a_transfer_is_no_doubt_about_real_money_and_the_reverse(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.account_for(TEST_ACCOUNT, None, Mode::Test).await;
        let other = t.merchant("bolu.example").await;
        let (shop, other) = (t.in_test_mode(&shop).await, t.in_test_mode(&other).await);
        // One account, one amount, one payer: of real money any of these would be somebody's second transfer.
        let first = t.create(&shop, 8_100, "Halima Garba").await;
        t.advance(LATER);
        let paid = simulated(&t, &first, "gtbank", None).await;
        assert_eq!(paid.transaction_id.as_ref(), Some(&first.transaction_id), "{paid:?}");
        t.advance(LATER);
        let second = t.create(&other, 8_100, "Halima Garba").await;
        assert_eq!(second.account_id, first.account_id);
        t.advance(LATER);
        let real = Alert::credit(TEST_ACCOUNT, 8_100, "Halima Garba", t.app.now() - Span::seconds(20));
        let real = t.ingest(&real.text()).await;
        assert_eq!(real.transaction_id.as_ref(), Some(&second.transaction_id), "{real:?}");
        t.advance(LATER);
        let third = t.create(&shop, 8_100, "Halima Garba").await;
        t.advance(LATER);
        let paid = simulated(&t, &third, "gtbank", None).await;
        assert_eq!(paid.transaction_id.as_ref(), Some(&third.transaction_id), "{paid:?}");
        t.advance(LATER);
        let fourth = t.create(&other, 8_100, "Halima Garba").await;
        t.advance(LATER);
        let paid = simulated(&t, &fourth, "gtbank", None).await;
        assert_eq!(paid.transaction_id.as_ref(), Some(&fourth.transaction_id), "{paid:?}");
    }

    async fn money_simulated_before_its_payment_tells_of_nobody_elses(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.account_for(TEST_ACCOUNT, None, Mode::Test).await;
        let other = t.merchant("bolu.example").await;
        let (shop, other) = (t.in_test_mode(&shop).await, t.in_test_mode(&other).await);
        t.advance(LATER);
        let theirs = t.create(&other, 8_150, "Amina Yusuf").await;
        let named_so = t.create(&other, 12_000, "Halima Garba").await;
        let own = t.create(&shop, 8_100, "Halima Garba").await;
        t.advance(Span::seconds(20));
        let room = MailIngestor::new(&t.app.config, t.banks.clone());
        let ask = Simulation {
            business_id: own.business_id,
            about: About::Transaction(&own.transaction_id),
            on_account: None,
            bank: None,
            amount: own.amount,
            payer_name: "HALIMA GARBA",
            narration: None,
            occurred: Some(own.created_at - Span::seconds(20)),
            copies: 1,
            is_forged: false,
            by: None,
        };
        let told = simulate(&t.app, &room, &ask).await.unwrap().unwrap().remove(0);
        assert_eq!(told.transaction_id.as_ref(), Some(&own.transaction_id), "{told:?}");
        let alert = t.app.store.alert(told.alert_id).await.unwrap().unwrap();
        for of_others in [&theirs, &named_so] {
            assert!(!alert.evidence.contains(&of_others.transaction_id), "{}", alert.evidence);
        }
    }

    async fn whom_a_made_up_payer_has_paid_is_told_to_no_other_business(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.account_for(TEST_ACCOUNT, None, Mode::Test).await;
        let other = t.merchant("bolu.example").await;
        let (shop, other) = (t.in_test_mode(&shop).await, t.in_test_mode(&other).await);
        let before = t.create(&other, 7_000, "Halima Garba").await;
        t.advance(LATER);
        let paid = simulated(&t, &before, "gtbank", None).await;
        assert_eq!(paid.transaction_id.as_ref(), Some(&before.transaction_id), "{paid:?}");
        let own = t.create(&shop, 8_100, "Halima Garba").await;
        t.account_for("0123454439", None, Mode::Test).await;
        let theirs = t.create(&other, 8_150, "Halima Garba").await;
        assert_ne!(own.account_id, theirs.account_id);
        t.advance(LATER);
        let told = simulated(&t, &own, "gtbank", None).await;
        assert_eq!(told.transaction_id.as_ref(), Some(&own.transaction_id), "{told:?}");
        assert!(!told.reason.contains(&theirs.transaction_id), "{told:?}");
    }

    async fn no_simulated_mail_pays_a_payout_out_or_keeps_one_from_being_paid(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let live = t.create(&shop, 90_000, "Musa Danladi").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        t.ingest(&Alert::credit(ACCOUNT, 90_000, "Musa Danladi", at).text()).await;
        assert!(t.payment(&live).await.business_receives.is_positive());
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let payout = ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap().payout;
        t.advance(LATER);
        let tester = t.in_test_mode(&shop).await;
        let status = async || t.app.store.payout(payout.id).await.unwrap().unwrap().payout.status;
        let mut debits = Vec::new();
        for bank in ["gtbank", "testbank", "grey"] {
            let payment = t.create(&tester, 4_000, "Kudu Stores").await;
            t.advance(LATER);
            let taken = simulated(&t, &payment, bank, Some(&payout.code)).await;
            assert!(!taken.reason.contains("names payout"), "{taken:?}");
            if bank == "grey" {
                assert_eq!(taken.status, AlertStatus::Ignored, "{taken:?}");
                debits.push(taken.alert_id);
            }
            assert_eq!(status().await, PayoutStatus::Pending, "{bank}");
        }
        // And a debit that was simulated is no reason to reverse what is live.
        let ask = Reverse {
            business_id: shop.id,
            transaction_id: &live.transaction_id,
            operator: "ada",
            reason: "taken back",
            undoing_alert: Some(debits[0]),
            despite: Some("I know"),
        };
        let refused = reverse_payment(&t.app, &ask).await.unwrap().unwrap_err();
        assert!(matches!(refused, ReverseRefused::NotUndoing(_)), "{refused}");
        t.advance(LATER);
        let debit = Alert { direction: "DEBIT", ..Alert::credit(ACCOUNT, 4_000, &payout.code, t.app.now() - Span::seconds(20)) };
        t.ingest(&debit.text()).await;
        assert_eq!(status().await, PayoutStatus::Paid, "what a business typed in test mode hides no debit");
    }

    async fn the_audit_compares_the_keys_of_one_realm_alone(db: TestDatabase) {
        let (t, shop) = world(db).await;
        funded(&t, &shop, 5_000).await;
        let tester = t.in_test_mode(&shop).await;
        let payment = t.create(&tester, 5_000, "Musa Danladi").await;
        t.advance(LATER);
        let paid = simulated(&t, &payment, "gtbank", None).await;
        assert_eq!(paid.status, AlertStatus::Matched, "{paid:?}");
        run(&t, "update alerts set session_id = '100004260310090000000000000001', bank_time_begin_at = 1, balance_kobo = 1, \
                 payer_name = 'MUSA DANLADI' where status = 'matched'").await;
        t.audited().await;
        run(&t, "update alerts set simulated_for = null where status = 'matched'").await;
        let found = tillbell::ops::ledger::audit::audit(&t.app).await.unwrap();
        let wrong: Vec<&str> = found.iter().filter(|one| one.violations > 0).map(|one| one.name).collect();
        assert_eq!(wrong, ["alert_funds_one_payment", "no_key_is_settled_twice"], "and it would see them");
        t.without_audit("two alerts were made to tell one transfer");
    }
}
