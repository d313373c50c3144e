//! The bank's own word: a debit whose narration carries our reference marks its payout paid, and takes back nothing.

use tillbell::domain::notice::NoticeKind;
use tillbell::domain::payout::PayoutStatus;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::notices::alarms::alarms_since;

use super::world::{GIVEN, OWNER, ask_for, funded, member, ready_account, standing};
use crate::harness::app::{ACCOUNT, LATER, START, TestApp, world};
use crate::harness::mails::Alert;

/// The bank's debit alert of a transfer whose narration ends so.
fn debit(t: &TestApp, naira: i64, narration: &str) -> String {
    let at = t.app.now() - Span::seconds(20);
    Alert { direction: "DEBIT", ..Alert::credit(ACCOUNT, naira, narration, at) }.text()
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
}
