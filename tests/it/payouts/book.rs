//! What payouts do to the books, and what the audit says of books that somebody changed.

use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::payout::{PayoutStatus, StepRefusal};
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::ledger::statement::{LineKind, statement};
use tillbell::ops::payouts::accounts::{
    AccountRefusal, GivenAccount, Owner, add_payout_account, remove_payout_account,
};
use tillbell::ops::payouts::end::{EndRefusal, Marked, Marking, Outcome, Seat, cancel_payout, mark_payout};
use tillbell::ops::payouts::export::export_payouts;
use tillbell::ops::payouts::request::{Actor, PayoutRefusal, PayoutRequest, request_payout};
use tillbell::ops::people::invite::invite_member;
use tillbell::ops::people::members::remove_member;
use tillbell::ops::people::users::reset_user;

use super::world::{GIVEN, OWNER, ask_for, funded, member, ready_account, standing};
use crate::audits::{by_hand, violations};
use crate::harness::app::{ACCOUNT, LATER, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;

pub fn marking(id: i64, outcome: Outcome, by: &'static str) -> Marking<'static> {
    let reason = (outcome == Outcome::Refused).then_some("the bank sent it back");
    Marking { id, outcome, by, seat: Seat::Desk, reference: Some("FT26-1"), reason }
}

/// Reads the two clauses about payouts and those about balances.
async fn broken(t: &TestApp) -> Vec<&'static str> {
    let mut found = Vec::new();
    for check in [
        "reserved_is_pending",
        "payouts_agree_with_entries",
        "balances_equal_postings",
        "balances_above_floor",
        "credits_are_posted",
    ] {
        if violations(t, check).await > 0 {
            found.push(check);
        }
    }
    found
}

on_both! {
    async fn money_is_set_aside_and_leaves_or_comes_back(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let all = funded(&t, &shop, 90_000).await.kobo();
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let ask = async |kobo| ask_for(&t.app, shop.id, account.id, kobo).await;
        assert_eq!(ask(all + 1).await, Err(PayoutRefusal::Insufficient { available: Money(all) }));
        assert_eq!((ask(0).await, ask(-5).await), (Err(PayoutRefusal::Amount), Err(PayoutRefusal::Amount)));
        assert_eq!(standing(&t, &shop).await, (all, 0), "nothing is set aside");
        let mut ids = Vec::new();
        for kobo in [100_000, 200_000, 300_000] {
            let row = ask(kobo).await.unwrap();
            assert_eq!((row.payout.status, row.payout.amount), (PayoutStatus::Pending, Money(kobo)));
            t.advance(Span::seconds(1));
            ids.push(row.payout.id);
        }
        assert_eq!(standing(&t, &shop).await, (all - 600_000, 600_000));
        let paid = mark_payout(&t.app, &marking(ids[0], Outcome::Paid, "ola")).await.unwrap().unwrap();
        let Marked::Ended(paid) = paid else { panic!("{paid:?}") };
        let end = paid.payout.end.unwrap();
        assert_eq!((end.by.as_str(), end.bank_reference.as_deref()), ("ola", Some("FT26-1")));
        assert_eq!(standing(&t, &shop).await, (all - 600_000, 500_000));
        let unreasoned = Marking { reason: None, ..marking(ids[1], Outcome::Refused, "ola") };
        assert_eq!(mark_payout(&t.app, &unreasoned).await.unwrap(), Err(EndRefusal::Reason));
        mark_payout(&t.app, &marking(ids[1], Outcome::Refused, "ola")).await.unwrap().unwrap();
        assert_eq!(standing(&t, &shop).await, (all - 400_000, 300_000));
        let cancelled = cancel_payout(&t.app, Actor::Key, shop.id, ids[2], None).await.unwrap().unwrap().unwrap();
        assert_eq!(cancelled.payout.status, PayoutStatus::Cancelled);
        assert_eq!(standing(&t, &shop).await, (all - 100_000, 0));
        for (id, status) in [(ids[0], PayoutStatus::Paid), (ids[1], PayoutStatus::Refused), (ids[2], PayoutStatus::Cancelled)] {
            let over = StepRefusal::Finished(status);
            for outcome in [Outcome::Paid, Outcome::Refused] {
                let again = mark_payout(&t.app, &marking(id, outcome, "ife")).await.unwrap();
                assert_eq!(again, Err(EndRefusal::Step(over.clone())));
            }
            let again = cancel_payout(&t.app, Actor::Key, shop.id, id, None).await.unwrap().unwrap();
            assert_eq!(again, Err(EndRefusal::Step(over)));
        }
        assert_eq!(mark_payout(&t.app, &marking(99, Outcome::Paid, "ola")).await.unwrap(), Err(EndRefusal::Unknown(99)));
        assert_eq!(standing(&t, &shop).await, (all - 100_000, 0), "an end is an end");
        let lines = statement(&t.app, shop.id, Mode::Live, None).await.unwrap().lines;
        let told: Vec<(LineKind, i64, i64)> =
            lines.iter().map(|line| (line.kind, line.change.kobo(), line.balance.unwrap().kobo())).collect();
        let expected = [
            (LineKind::PayoutReturned, 300_000, all - 100_000),
            (LineKind::PayoutReturned, 200_000, all - 400_000),
            (LineKind::Payout, -300_000, all - 600_000),
            (LineKind::Payout, -200_000, all - 300_000),
            (LineKind::Payout, -100_000, all - 100_000),
            (LineKind::Payment, all, all),
        ];
        let mut sorted = told.clone();
        sorted.sort_by_key(|line| (line.1, line.2));
        let mut wanted = expected.to_vec();
        wanted.sort_by_key(|line| (line.1, line.2));
        assert_eq!(told.len(), 6);
        assert_eq!(told[5], expected[5], "{told:?}");
        assert_eq!(sorted.iter().map(|line| line.1).collect::<Vec<_>>(), wanted.iter().map(|line| line.1).collect::<Vec<_>>());
        assert!(broken(&t).await.is_empty());
    }

    async fn a_reversal_after_a_payout_leaves_a_balance_below_zero_that_the_audit_explains(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at).text()).await;
        let all = t.payment(&payment).await.business_receives.kobo();
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let row = ask_for(&t.app, shop.id, account.id, all).await.unwrap();
        mark_payout(&t.app, &marking(row.payout.id, Outcome::Paid, "ola")).await.unwrap().unwrap();
        t.advance(Span::hours(1));
        let reverse = Reverse {
            business_id: shop.id,
            transaction_id: &payment.transaction_id,
            reason: "it was another customer's",
            operator: "ola",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &reverse).await.unwrap().unwrap();
        assert_eq!(standing(&t, &shop).await, (-all, 0));
        assert_eq!(ask_for(&t.app, shop.id, account.id, 1).await, Err(PayoutRefusal::Insufficient { available: Money(-all) }));
        assert!(broken(&t).await.is_empty());
    }

    async fn the_audit_tells_of_payouts_that_somebody_changed(db: TestDatabase) {
        let engine = db.engine();
        drop(db);
        for (change, expected) in [
            ("update merchant_balances set reserved_kobo = reserved_kobo + 1", "reserved_is_pending"),
            ("update payouts set amount_kobo = amount_kobo + 1 where id = {pending}", "reserved_is_pending"),
            ("update payouts set status = 'refused' where id = {paid}", "payouts_agree_with_entries"),
            ("update payouts set amount_kobo = amount_kobo + 1 where id = {paid}", "payouts_agree_with_entries"),
            ("update payouts set end_entry_id = entry_id where id = {paid}", "payouts_agree_with_entries"),
            ("delete from payouts where id = {paid}", "credits_are_posted"),
        ] {
            let (t, shop) = world(TestDatabase::migrated(engine).await).await;
            t.without_audit("rows are changed by hand");
            let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
            funded(&t, &shop, 9_000).await;
            let account = ready_account(&t, &shop, owner, &GIVEN).await;
            let paid = ask_for(&t.app, shop.id, account.id, 100).await.unwrap().payout.id;
            mark_payout(&t.app, &marking(paid, Outcome::Paid, "ola")).await.unwrap().unwrap();
            let pending = ask_for(&t.app, shop.id, account.id, 200).await.unwrap().payout.id;
            assert!(broken(&t).await.is_empty(), "before {change}");
            let change = change.replace("{paid}", &paid.to_string()).replace("{pending}", &pending.to_string());
            by_hand(&t, &change, &change).await;
            let found = broken(&t).await;
            assert!(found.contains(&expected), "{change}: {found:?}");
        }
    }

    async fn accounts_are_an_owners_and_wait_a_day(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (owner, finance) = (
            member(&t, &shop, OWNER, MemberRole::Owner).await,
            member(&t, &shop, "fin@kudu.example", MemberRole::Finance).await,
        );
        funded(&t, &shop, 9_000).await;
        let of = |user_id| Owner { business_id: shop.id, user_id, email: OWNER };
        assert_eq!(add_payout_account(&t.app, &of(finance), &GIVEN).await.unwrap(), Err(AccountRefusal::NotOwner));
        let account = add_payout_account(&t.app, &of(owner), &GIVEN).await.unwrap().unwrap();
        for (bank, number, name, refusal) in [
            (" ", "0040003311", "KUDU", AccountRefusal::Bank),
            ("GTBank", "004000331", "KUDU", AccountRefusal::Number),
            ("GTBank", "004000331x", "KUDU", AccountRefusal::Number),
            ("GTBank", "0040003312", "a\u{202e}b", AccountRefusal::Name),
            ("gtbank", "0040003311", "KUDU", AccountRefusal::Twice),
        ] {
            let given = GivenAccount { bank, number, name };
            assert_eq!(add_payout_account(&t.app, &of(owner), &given).await.unwrap(), Err(refusal));
        }
        let usable_at = account.usable_at;
        t.advance(Span::hours(23) + Span::minutes(59));
        assert_eq!(ask_for(&t.app, shop.id, account.id, 100).await, Err(PayoutRefusal::TooNew { usable_at }));
        t.advance(Span::minutes(1));
        ask_for(&t.app, shop.id, account.id, 100).await.unwrap();
        let other = t.merchant("adire.example2").await;
        let foreign = PayoutRefusal::UnknownAccount;
        assert_eq!(ask_for(&t.app, other.id, account.id, 100).await, Err(foreign.clone()), "of another business");
        assert_eq!(ask_for(&t.app, shop.id, 999, 100).await, Err(foreign.clone()));
        assert!(remove_payout_account(&t.app, &Owner { business_id: other.id, ..of(owner) }, account.id).await.unwrap().is_none());
        remove_payout_account(&t.app, &of(owner), account.id).await.unwrap().unwrap().unwrap();
        assert_eq!(ask_for(&t.app, shop.id, account.id, 100).await, Err(foreign));
        assert!(remove_payout_account(&t.app, &of(owner), account.id).await.unwrap().is_none(), "once");
        let again = add_payout_account(&t.app, &of(owner), &GIVEN).await.unwrap().unwrap();
        assert_eq!(again.usable_at, t.app.now() + Span::hours(24), "it waits anew");
    }

    async fn every_owner_hears_of_an_account_also_one_whose_password_is_reset(db: TestDatabase) {
        let mails = "[server]\ndev = true\n[notify]\nsmtp_url = \"smtp://127.0.0.1:9\"\nfrom = \"till@kudu.example\"\n";
        let t = TestApp::start_with(db, mails).await;
        let shop = t.merchant("adire.example").await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let mut expected = vec![OWNER.to_owned()];
        for n in 0..22 {
            let email = format!("owner{n:02}@kudu.example");
            member(&t, &shop, &email, MemberRole::Owner).await;
            expected.push(email);
        }
        let reset = member(&t, &shop, "reset@kudu.example", MemberRole::Owner).await;
        reset_user(&t.app, "ada", reset).await.unwrap().unwrap();
        expected.push("reset@kudu.example".into());
        member(&t, &shop, "fin@kudu.example", MemberRole::Finance).await;
        // And one who was invited and has not answered yet.
        expected.push("new@kudu.example".into());
        invite_member(&t.app, OWNER, shop.id, "new@kudu.example", MemberRole::Owner).await.unwrap().unwrap();
        add_payout_account(&t.app, &Owner { business_id: shop.id, user_id: owner, email: OWNER }, &GIVEN).await.unwrap().unwrap();
        let mut told = Vec::new();
        for id in 1..200 {
            let mail = t.app.store.mail_to_send(id).await.unwrap();
            told.extend(mail.filter(|mail| mail.subject == "A payout account has changed").map(|mail| mail.to));
        }
        told.sort();
        expected.sort();
        assert_eq!(told, expected);
    }

    async fn who_was_removed_asks_and_cancels_no_more_and_keeps_the_name(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let (gone, email) = (member(&t, &shop, "fin@kudu.example", MemberRole::Finance).await, "fin@kudu.example");
        let cashier = member(&t, &shop, "till@kudu.example", MemberRole::Cashier).await;
        funded(&t, &shop, 9_000).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let request = PayoutRequest { business_id: shop.id, amount: Money(100), account_id: account.id, reference: Some("rent") };
        let actor = Actor::Member { user_id: gone, email };
        let row = request_payout(&t.app, actor, &request, None).await.unwrap().unwrap();
        let teller = Actor::Member { user_id: cashier, email: "till@kudu.example" };
        assert_eq!(request_payout(&t.app, teller, &request, None).await.unwrap(), Err(PayoutRefusal::NoMember));
        remove_member(&t.app, OWNER, shop.id, gone).await.unwrap().unwrap();
        assert_eq!(request_payout(&t.app, actor, &request, None).await.unwrap(), Err(PayoutRefusal::NoMember));
        let cancelled = cancel_payout(&t.app, actor, shop.id, row.payout.id, None).await.unwrap().unwrap();
        assert_eq!(cancelled, Err(EndRefusal::NoMember));
        let kept = t.app.store.payout(row.payout.id).await.unwrap().unwrap().payout;
        assert_eq!((kept.requested_by.as_str(), kept.reference.as_deref(), kept.status), (email, Some("rent"), PayoutStatus::Pending));
        assert_eq!(standing(&t, &shop).await.1, 100);
    }

    async fn large_payouts_need_two_people_who_sign_in(db: TestDatabase) {
        let t = TestApp::start_with(db, "[server]\ndev = true\n[payouts]\ntwo_persons_above = \"1000.00\"\n").await;
        let shop = t.merchant("adire.example").await;
        t.account(ACCOUNT).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        funded(&t, &shop, 9_000).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let small = ask_for(&t.app, shop.id, account.id, 100_000).await.unwrap().payout.id;
        let command = Marking { seat: Seat::CommandLine, ..marking(small, Outcome::Paid, "command line: root") };
        assert!(matches!(mark_payout(&t.app, &command).await.unwrap(), Ok(Marked::Ended(_))), "at the limit one is enough");
        let large = ask_for(&t.app, shop.id, account.id, 100_001).await.unwrap().payout.id;
        let command = Marking { id: large, ..command };
        assert_eq!(mark_payout(&t.app, &command).await.unwrap(), Err(EndRefusal::TwoAtTheDesk));
        let first = mark_payout(&t.app, &marking(large, Outcome::Paid, "ola")).await.unwrap();
        assert!(matches!(first, Ok(Marked::OneOfTwo(_))), "{first:?}");
        assert_eq!(standing(&t, &shop).await.1, 100_001, "nothing has left yet");
        let again = mark_payout(&t.app, &marking(large, Outcome::Paid, "ola")).await.unwrap();
        assert_eq!(again, Err(EndRefusal::Step(StepRefusal::SamePerson)));
        assert_eq!(mark_payout(&t.app, &command).await.unwrap(), Err(EndRefusal::TwoAtTheDesk), "nor as the second");
        let cancelled = cancel_payout(&t.app, Actor::Key, shop.id, large, None).await.unwrap().unwrap();
        assert_eq!(cancelled, Err(EndRefusal::Step(StepRefusal::BeingPaid)));
        let second = Marking { reference: None, ..marking(large, Outcome::Paid, "ife") };
        let Ok(Marked::Ended(row)) = mark_payout(&t.app, &second).await.unwrap() else { panic!("not paid") };
        let end = row.payout.end.unwrap();
        assert_eq!((end.by.as_str(), end.bank_reference.as_deref()), ("ife", Some("FT26-1")), "the first one's reference stays");
        // What one says that the bank has sent, nobody else gives back to the business by a word.
        let said = ask_for(&t.app, shop.id, account.id, 200_000).await.unwrap().payout.id;
        assert!(matches!(mark_payout(&t.app, &marking(said, Outcome::Paid, "ola")).await.unwrap(), Ok(Marked::OneOfTwo(_))));
        let refuse = |by| marking(said, Outcome::Refused, by);
        let theirs = mark_payout(&t.app, &refuse("ife")).await.unwrap();
        assert_eq!(theirs, Err(EndRefusal::Step(StepRefusal::SaidPaid("ola".into()))));
        let command = Marking { seat: Seat::CommandLine, ..refuse("ola") };
        assert_eq!(mark_payout(&t.app, &command).await.unwrap(), Err(EndRefusal::TwoAtTheDesk));
        let other = Marking { reference: Some("FT26-2"), ..marking(said, Outcome::Paid, "ife") };
        let other = mark_payout(&t.app, &other).await.unwrap();
        assert_eq!(other, Err(EndRefusal::Step(StepRefusal::OtherReference("ola".into(), "FT26-1".into()))));
        let back = mark_payout(&t.app, &refuse("ola")).await.unwrap();
        let Ok(Marked::TakenBack(row)) = back else { panic!("{back:?}") };
        assert_eq!((row.payout.status, row.payout.first), (PayoutStatus::Pending, None));
        assert_eq!(t.app.store.payout(said).await.unwrap().unwrap().payout.first, None);
        assert_eq!(standing(&t, &shop).await.1, 200_000, "it waits as before");
        assert!(matches!(mark_payout(&t.app, &refuse("ife")).await.unwrap(), Ok(Marked::Ended(_))));
        let why = Marking { reason: Some("the account is closed"), ..marking(large, Outcome::Paid, "ife") };
        assert_eq!(mark_payout(&t.app, &why).await.unwrap(), Err(EndRefusal::ReasonOfPaid));

        let refused = ask_for(&t.app, shop.id, account.id, 200_000).await.unwrap().payout.id;
        let one = mark_payout(&t.app, &marking(refused, Outcome::Refused, "ola")).await.unwrap();
        assert!(matches!(one, Ok(Marked::Ended(_))), "no money leaves by a refusal");
    }

    async fn what_was_handed_to_the_bank_is_handed_over_once_and_not_cancelled(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        funded(&t, &shop, 9_000).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let mut ids = Vec::new();
        for kobo in [100, 200, 300] {
            ids.push(ask_for(&t.app, shop.id, account.id, kobo).await.unwrap().payout.id);
            t.advance(Span::seconds(1));
        }
        cancel_payout(&t.app, Actor::Key, shop.id, ids[1], None).await.unwrap().unwrap().unwrap();
        let taken = async |again| {
            let exported = export_payouts(&t.app, "ola", again).await.unwrap().unwrap();
            exported.rows.iter().map(|row| row.payout.id).collect::<Vec<_>>()
        };
        assert_eq!(taken(true).await, [0; 0]);
        assert_eq!(taken(false).await, [ids[0], ids[2]]);
        assert_eq!(taken(false).await, [0; 0], "no money is sent twice");
        assert_eq!(taken(true).await, [ids[0], ids[2]], "a file that was lost");
        let cancelled = cancel_payout(&t.app, Actor::Key, shop.id, ids[0], None).await.unwrap().unwrap();
        assert_eq!(cancelled, Err(EndRefusal::Step(StepRefusal::BeingPaid)));
        mark_payout(&t.app, &marking(ids[0], Outcome::Refused, "ola")).await.unwrap().unwrap();
    }
}
