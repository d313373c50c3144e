//! The bank's own word: a debit whose narration carries our reference marks its payout paid, and takes back nothing.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::notice::NoticeKind;
use tillbell::domain::payment::Status;
use tillbell::domain::payout::PayoutStatus;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::notices::alarms::alarms_since;
use tillbell::ops::payouts::end::{Marking, Outcome, Seat, mark_payout};

use super::world::{GIVEN, OWNER, ask_for, funded, member, ready_account, standing};
use crate::counted_once::approve_on;
use crate::harness::app::{ACCOUNT, LATER, START, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;

/// The bank's debit alert of a transfer whose narration ends so.
fn debit(t: &TestApp, naira: i64, narration: &str) -> String {
    let at = t.app.now() - Span::seconds(20);
    Alert { direction: "DEBIT", ..Alert::credit(ACCOUNT, naira, narration, at) }.text()
}

async fn paid_by_hand(t: &TestApp, id: i64) {
    let (outcome, seat) = (Outcome::Paid, Seat::Desk);
    let marking = Marking { id, outcome, by: "ada", seat, reference: None, reason: None };
    mark_payout(&t.app, &marking).await.unwrap().unwrap();
}

on_both! {
    async fn a_debit_with_our_reference_and_the_amount_marks_a_payout_paid(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        funded(&t, &shop, 90_000).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        // A customer's money of the same amount, which a debit would otherwise be about.
        let payment = t.create(&shop, 4_000, "Ebiere Alagoa").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        t.ingest(&Alert::credit(ACCOUNT, 4_000, "Ebiere Alagoa", at).text()).await;
        let row = ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap();
        let status = async || t.app.store.payout(row.payout.id).await.unwrap().unwrap().payout.status;
        t.advance(LATER);
        let code = row.payout.code.clone();
        for (naira, narration) in [(4_001, code.clone()), (4_000, code[..17].to_owned()), (4_000, format!("{code}X"))] {
            t.ingest(&debit(&t, naira, &narration)).await;
            assert_eq!(status().await, PayoutStatus::Pending, "{naira} {narration}");
            t.advance(Span::hours(1));
        }
        let forged = t.taken(&debit(&t, 4_000, &code), false);
        tillbell::ops::alerts::take::take_alert(&t.app, &forged).await.unwrap();
        assert_eq!(status().await, PayoutStatus::Pending, "nobody vouches for this mail");
        let alarms = async || {
            let all = alarms_since(&t.app, START).await.unwrap();
            all.iter().filter(|one| one.kind == NoticeKind::MoneyTakenBack).count()
        };
        let before = alarms().await;
        t.advance(Span::hours(1));
        let mail = debit(&t, 4_000, &code);
        let taken = t.ingest(&mail).await;
        assert_eq!(status().await, PayoutStatus::Paid, "{taken:?}");
        let end = t.app.store.payout(row.payout.id).await.unwrap().unwrap().payout.end.unwrap();
        assert_eq!(end.by, format!("alert {}", taken.alert_id));
        assert_eq!(alarms().await, before, "no credit of a customer was taken back");
        assert_eq!(standing(&t, &shop).await.1, 0);
        t.ingest(&mail).await;
        assert_eq!(t.payment(&payment).await.reversed_at, None);
    }

    async fn money_that_a_payer_marked_with_a_payouts_reference_is_not_taken_back_unseen(db: TestDatabase) {
        // Before the payout is paid, when the operator has said so, and when the bank has; also where the bank's words about
        // the credit end before the reference.
        for (when, is_shown) in [("pending", true), ("said", true), ("told", true), ("told", false)] {
            let (t, shop) = world(TestDatabase::migrated(db.engine()).await).await;
            let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
            funded(&t, &shop, 90_000).await;
            let account = ready_account(&t, &shop, owner, &GIVEN).await;
            let row = ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap();
            let code = row.payout.code.clone();
            match when {
                "said" => paid_by_hand(&t, row.payout.id).await,
                "told" => drop(t.ingest(&debit(&t, 4_000, &code)).await),
                _ => {}
            }
            // The shop knows its reference, and pays itself with it.
            let payment = t.create(&shop, 4_000, "Ebiere Alagoa").await;
            t.advance(LATER);
            let at = t.app.now() - Span::seconds(20);
            let credit = Alert::credit(ACCOUNT, 4_000, &format!("Ebiere Alagoa-{code}"), at);
            let mut taken = t.taken(&credit.text(), true);
            taken.facts.payer_name = Some("EBIERE ALAGOA".into());
            if !is_shown {
                taken.facts.narration = taken.facts.narration.map(|text| text.replace(&code, ""));
            }
            let paid = tillbell::ops::alerts::take::take_alert(&t.app, &taken).await.unwrap();
            if is_shown {
                assert_eq!(paid.status, AlertStatus::Review, "{when}: {paid:?}");
                assert!(paid.reason.contains("the reference of a payout"), "{paid:?}");
                approve_on(&t.app, paid.alert_id, &payment, Some("the shop says so")).await.unwrap();
            }
            assert_eq!(t.payment(&payment).await.status, Status::Approved, "{when}: {paid:?}");
            // The bank takes it back, and repeats what the payer wrote.
            t.advance(Span::hours(5));
            let at = t.app.now() - Span::seconds(20);
            let back = Alert { direction: "DEBIT", at, ..Alert::credit(ACCOUNT, 4_000, &credit.payer, at) };
            let back = t.ingest(&back.text()).await;
            let credited = t.app.store.alert(paid.alert_id).await.unwrap().unwrap();
            assert_eq!(credited.linked_alert_id, Some(back.alert_id), "{when}: nobody is told");
            let status = t.app.store.payout(row.payout.id).await.unwrap().unwrap().payout.status;
            assert_eq!(status == PayoutStatus::Pending, when == "pending", "no payout is paid by it");
        }
    }
}
