//! The bank's own word: a debit whose narration carries our reference marks its payout paid, and takes back nothing.

use tillbell::domain::alert::{AlertKind, AlertStatus};
use tillbell::domain::notice::NoticeKind;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::payout::PayoutStatus;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::alerts::reverse::ReverseRefused;
use tillbell::ops::notices::alarms::alarms_since;
use tillbell::ops::payouts::end::{Outcome, mark_payout};
use tillbell::ops::payouts::request::PayoutRow;

use super::book::marking;
use super::world::{GIVEN, OWNER, ask_for, funded, member, ready_account, standing};
use crate::counted_once::approve_on;
use crate::harness::app::{ACCOUNT, LATER, Merchant, START, TestApp, world};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::named_in_remarks::cut_off;
use crate::undoing::undo;

/// The bank's debit alert of a transfer whose narration ends so.
fn debit(t: &TestApp, naira: i64, narration: &str) -> String {
    let at = t.app.now() - Span::seconds(20);
    Alert { direction: "DEBIT", ..Alert::credit(ACCOUNT, naira, narration, at) }.text()
}

async fn paid_by_hand(t: &TestApp, id: i64) {
    mark_payout(&t.app, &marking(id, Outcome::Paid, "ada")).await.unwrap().unwrap();
}

/// A shop with money that has asked for 4,000 of it.
async fn asked(db: TestDatabase) -> (TestApp, Merchant, PayoutRow) {
    let (t, shop) = world(db).await;
    let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
    funded(&t, &shop, 90_000).await;
    let account = ready_account(&t, &shop, owner, &GIVEN).await;
    let row = ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap();
    t.advance(LATER);
    (t, shop, row)
}

async fn status(t: &TestApp, row: &PayoutRow) -> PayoutStatus {
    t.app.store.payout(row.payout.id).await.unwrap().unwrap().payout.status
}

/// What people were told of payouts that are not clear, the last first.
async fn unclear(t: &TestApp) -> Vec<String> {
    let all = alarms_since(&t.app, START).await.unwrap();
    all.into_iter().filter(|one| one.kind == NoticeKind::PayoutUnclear).map(|one| one.body).collect()
}

/// The bank's mail, with a row of its own behind the others.
fn with_row(mail: &str, row: &str) -> String {
    let end = mail.rfind("</table>").unwrap();
    format!("{}{row}{}", &mail[..end], &mail[end..])
}

/// The alert that funds a payment.
async fn credit_of(t: &TestApp, payment: &Payment) -> i64 {
    let settlement = t.payment(payment).await.settlement_id.unwrap();
    t.app.store.settlement(settlement).await.unwrap().unwrap().alert_id.unwrap()
}

on_both! {
    async fn a_debit_that_failed_or_is_doubtful_pays_no_payout_out(db: TestDatabase) {
        let (t, _, row) = asked(db).await;
        let states = [
            "<tr><td>Transaction Status</td><td>:</td><td>Failed</td></tr>",
            "<tr><td>Status</td><td>:</td><td>Pending</td></tr>",
            "<tr><td colspan=\"3\">This transfer was not successful and has been returned.</td></tr>",
            "<tr><td>Transaction reversed</td></tr>",
        ];
        for (at, state) in states.iter().enumerate() {
            let mail = with_row(&debit(&t, 4_000, &row.payout.code), state);
            let taken = t.ingest(&mail).await;
            assert_eq!((taken.status, status(&t, &row).await), (AlertStatus::Ignored, PayoutStatus::Pending), "{state}");
            assert_eq!(unclear(&t).await.len(), at + 1, "{state}");
            t.advance(Span::hours(2));
        }
        let subject = debit(&t, 4_000, &row.payout.code).replace("Subject: Transaction", "Subject: Failed transaction:");
        t.ingest(&subject).await;
        assert_eq!((status(&t, &row).await, unclear(&t).await.len()), (PayoutStatus::Pending, states.len() + 1));
        t.advance(Span::hours(2));
        t.ingest(&debit(&t, 4_000, &row.payout.code)).await;
        assert_eq!((status(&t, &row).await, unclear(&t).await.len()), (PayoutStatus::Paid, states.len() + 1));
        // And now it failed after all.
        t.advance(Span::hours(2));
        t.ingest(&with_row(&debit(&t, 4_000, &row.payout.code), states[0])).await;
        assert_eq!(unclear(&t).await.len(), states.len() + 2);
    }

    async fn a_second_debit_of_a_payout_is_an_alarm_and_the_same_one_told_again_is_none(db: TestDatabase) {
        for by_hand in [false, true] {
            let (t, _, row) = asked(TestDatabase::migrated(db.engine()).await).await;
            if by_hand {
                mark_payout(&t.app, &marking(row.payout.id, Outcome::Paid, "ola")).await.unwrap().unwrap();
            }
            let at = t.app.now() - Span::seconds(20);
            let first = Alert { direction: "DEBIT", ..Alert::credit(ACCOUNT, 4_000, &row.payout.code, at) };
            t.ingest(&first.text()).await;
            let again = Alert { message_id: "<again@gens.example>".into(), ..first.clone() };
            t.ingest(&again.text()).await;
            assert_eq!((status(&t, &row).await, unclear(&t).await.len()), (PayoutStatus::Paid, 0), "{by_hand}");
            t.advance(Span::days(1));
            let twice = t.ingest(&debit(&t, 4_000, &row.payout.code)).await;
            let told = unclear(&t).await;
            assert_eq!(told.len(), 1, "{by_hand} {told:?}");
            assert!(told[0].contains(&format!("Alert {} names payout", twice.alert_id)) && told[0].contains("twice"), "{told:?}");
        }
    }

    async fn a_debit_of_a_payout_that_was_refused_is_an_alarm(db: TestDatabase) {
        let (t, _, row) = asked(db).await;
        mark_payout(&t.app, &marking(row.payout.id, Outcome::Refused, "ola")).await.unwrap().unwrap();
        t.ingest(&debit(&t, 4_000, &row.payout.code)).await;
        let told = unclear(&t).await;
        assert!(matches!(&told[..], [one] if one.contains("which is refused")), "{told:?}");
    }

    async fn money_of_a_payout_that_comes_back_pays_nothing_by_itself(db: TestDatabase) {
        let (t, shop, row) = asked(db).await;
        t.ingest(&debit(&t, 4_000, &row.payout.code)).await;
        let payment = t.create(&shop, 4_000, "Kudu Stores").await;
        t.advance(LATER);
        let code = &row.payout.code;
        let at = t.app.now() - Span::seconds(20);
        let credit = Alert::credit(ACCOUNT, 4_000, "KUDU STORES", at);
        let back = credit.text().replace("-TRANSFER-OPAY", &format!("-{code}-OPAY"));
        let taken = t.ingest(&back).await;
        assert_eq!((taken.status, t.payment(&payment).await.status), (AlertStatus::Review, Status::Pending), "{taken:?}");
        assert!(taken.reason.contains("it names payout"), "{taken:?}");
        let reversal = credit.text().replace(&format!("{}-TRANSFER-OPAY-KUDU STORES", credit.session), &format!("RVSL {code}"));
        t.ingest(&reversal.replace("Message-ID: <", "Message-ID: <rvsl.")).await;
        let told = unclear(&t).await;
        assert!(matches!(&told[..], [one] if one.contains("come back")), "{told:?}");
    }

    async fn the_return_of_a_customers_transfer_is_no_payout_whatever_he_typed(db: TestDatabase) {
        let (t, shop, row) = asked(db).await;
        let payment = t.create(&shop, 4_000, "Ebiere Alagoa").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        let credit = Alert::credit(ACCOUNT, 4_000, "EBIERE ALAGOA", at);
        assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched);
        t.advance(LATER);
        let back = Alert { direction: "DEBIT", at: t.app.now(), message_id: "<back@gens.example>".into(), ..credit.clone() };
        let back = t.ingest(&back.text().replace("-TRANSFER-OPAY", &format!("-{}-OPAY", row.payout.code))).await;
        assert_eq!(status(&t, &row).await, PayoutStatus::Pending);
        let found = t.app.store.alarm_of(credit_of(&t, &payment).await).await.unwrap();
        assert_eq!(found, Some(back.alert_id));
    }

    async fn a_debit_that_paid_a_payout_holds_no_credit_and_undoes_none_unasked(db: TestDatabase) {
        let (t, shop, row) = asked(db).await;
        let payment = t.create(&shop, 4_000, "Ebiere Alagoa").await;
        let other = t.create(&shop, 4_000, "Tonye Briggs").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(40);
        assert_eq!(t.ingest(&Alert::credit(ACCOUNT, 4_000, "EBIERE ALAGOA", at).text()).await.status, AlertStatus::Matched);
        let paid = t.ingest(&debit(&t, 4_000, &row.payout.code)).await;
        // A credit of before, whose mail was late.
        let late = t.ingest(&Alert::credit(ACCOUNT, 4_000, "TONYE BRIGGS", at).text()).await;
        assert_eq!((late.status, t.payment(&other).await.status), (AlertStatus::Matched, Status::Approved), "{late:?}");
        let refused = undo(&t.app, &payment, paid.alert_id, None).await;
        let named = format!("names payout {}", row.payout.id);
        assert!(matches!(&refused, Err(ReverseRefused::Obstacles(all)) if all.iter().any(|one| one.contains(&named))), "{refused:?}");
    }

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

    async fn a_payout_to_somebody_whose_name_reads_as_a_fee_is_paid_all_the_same(db: TestDatabase) {
        let (t, shop, row) = asked(db).await;
        let code = row.payout.code.clone();
        // A charge for it is none.
        let taken = t.ingest(&debit(&t, 50, &format!("{code} NIP CHARGE"))).await;
        assert_eq!(status(&t, &row).await, PayoutStatus::Pending, "{taken:?}");
        let mail = debit(&t, 4_000, &format!("{code} MAINTENANCE FEE"));
        let taken = t.taken(&mail, true);
        assert_eq!(taken.facts.kind, Some(AlertKind::Fee));
        tillbell::ops::alerts::take::take_alert(&t.app, &taken).await.unwrap();
        assert_eq!(status(&t, &row).await, PayoutStatus::Paid);
        assert_eq!(standing(&t, &shop).await.1, 0);
    }

    async fn a_payouts_reference_with_letters_behind_it_is_one_on_a_credit(db: TestDatabase) {
        let (t, shop, row) = asked(db).await;
        let code = row.payout.code.clone();
        paid_by_hand(&t, row.payout.id).await;
        t.create(&shop, 4_000, "Ebiere Alagoa").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        let mail = Alert::credit(ACCOUNT, 4_000, "Ebiere Alagoa", at).text();
        // The mail of the return has less room, and ends just behind the reference.
        let credit = t.ingest(&mail.replace("-TRANSFER-OPAY-", &format!("-{code}QQ-"))).await;
        assert_eq!(credit.status, AlertStatus::Review, "{credit:?}");
        let back = t.ingest(&debit(&t, 4_000, &code)).await;
        let credited = t.app.store.alert(credit.alert_id).await.unwrap().unwrap();
        assert_eq!(credited.linked_alert_id, Some(back.alert_id), "nobody is told");
    }

    async fn a_payouts_reference_in_a_row_that_is_not_read_sends_a_credit_to_a_person(db: TestDatabase) {
        let (t, shop, row) = asked(db).await;
        let code = row.payout.code.clone();
        paid_by_hand(&t, row.payout.id).await;
        let payment = t.create(&shop, 4_000, "Ebiere Alagoa").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        let mail = Alert::credit(ACCOUNT, 4_000, "Ebiere Alagoa", at).text();
        let credit = t.ingest(&with_row(&mail, &format!("<tr><td>Note</td><td>:</td><td>{code}</td></tr>"))).await;
        assert_eq!(credit.status, AlertStatus::Review, "{credit:?}");
        assert!(credit.reason.contains(&code), "{credit:?}");
        approve_on(&t.app, credit.alert_id, &payment, Some("the shop says so")).await.unwrap();
        // The return shows it in the narration, and passes for no payout.
        t.advance(Span::hours(5));
        let back = t.ingest(&debit(&t, 4_000, &code)).await;
        let credited = t.app.store.alert(credit.alert_id).await.unwrap().unwrap();
        assert_eq!(credited.linked_alert_id, Some(back.alert_id), "nobody is told");
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

    async fn a_reference_that_comes_back_before_the_credit_that_bears_it_is_seen(db: TestDatabase) {
        let (t, shop, row) = asked(db).await;
        paid_by_hand(&t, row.payout.id).await;
        t.create(&shop, 4_000, "Sani Lawal").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(60);
        let mail = Alert::credit(ACCOUNT, 4_000, "Sani Lawal", at).text();
        let narration = "FIP:GTB/SANI LAWAL/xxxxxxxxxxxxxxPA";
        t.ingest(&debit(&t, 4_000, &format!("xxxxxxxxxxxxxx{}", row.payout.code))).await;
        let credit = cut_off(&t, &mail, narration).await;
        assert_eq!(credit.status, AlertStatus::Review, "{credit:?}");
        assert!(credit.reason.contains("may have taken this money back"), "{credit:?}");
    }

    async fn a_cut_narration_that_the_debit_does_not_repeat_keeps_no_payout(db: TestDatabase) {
        let (t, shop, row) = asked(db).await;
        t.create(&shop, 4_000, "Sani Lawal").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        let mail = Alert::credit(ACCOUNT, 4_000, "Sani Lawal", at).text();
        let narration = "FIP:GTB/SANI LAWAL/NIP Transfer to TILL AND BELL";
        assert_eq!(cut_off(&t, &mail, narration).await.status, AlertStatus::Matched);
        t.advance(LATER);
        t.ingest(&debit(&t, 4_000, &row.payout.code)).await;
        assert_eq!((status(&t, &row).await, unclear(&t).await.len()), (PayoutStatus::Paid, 0));
    }

    async fn a_reference_that_a_cut_narration_may_hide_pays_no_payout_out_by_itself(db: TestDatabase) {
        let (t, shop, row) = asked(db).await;
        paid_by_hand(&t, row.payout.id).await;
        // What its payer typed goes on behind the end of what the bank shows.
        for (end, is_seen) in [(&row.payout.code[..10], true), ("", false)] {
            let payment = t.create(&shop, 4_000, "Sani Lawal").await;
            t.advance(LATER);
            let at = t.app.now() - Span::seconds(20);
            let mail = Alert::credit(ACCOUNT, 4_000, "Sani Lawal", at).text();
            let narration = &format!("FIP:GTB/SANI LAWAL/xxxxxxxxxxxxxx{end}");
            let credit = cut_off(&t, &mail, narration).await;
            assert_eq!(credit.status == AlertStatus::Review, is_seen, "{credit:?}");
            if is_seen {
                approve_on(&t.app, credit.alert_id, &payment, Some("he is known")).await.unwrap();
            }
        }
        t.advance(LATER);
        let before = unclear(&t).await.len();
        t.ingest(&debit(&t, 4_000, &format!("xxxxxxxxxxxxxx{}", row.payout.code))).await;
        let told = alarms_since(&t.app, START).await.unwrap();
        assert!(unclear(&t).await.len() > before || told.iter().any(|one| one.kind == NoticeKind::MoneyTakenBack), "{told:?}");
    }
}
