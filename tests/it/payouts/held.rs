//! Money that may not be there is not handed to the bank: of a business that owes, or with an open alarm.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payout::payout_code;
use tillbell::domain::time::Span;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::holds::{hold, resume};
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::notices::alarms::alarms_since;
use tillbell::ops::payouts::accounts::{Owner, remove_payout_account};
use tillbell::ops::payouts::end::{EndRefusal, cancel_payout};
use tillbell::ops::payouts::export::export_payouts;
use tillbell::ops::payouts::request::Actor;
use tillbell::ops::people::users::{Place, add_user};

use super::world::{GIVEN, OWNER, ask_for, funded, member, ready_account, standing};
use crate::debit_mails::back;
use crate::harness::app::{ACCOUNT, LATER, START, TestApp, world};
use crate::harness::mails::Alert;
use crate::pages::dashboard_world::Shops;
use crate::people::PASSWORD;
use crate::two_states::unmatch;
use crate::undoing::undo;

/// What is handed over: the numbers of the payouts, and why others are not.
async fn exported(t: &TestApp) -> (Vec<i64>, Vec<String>) {
    let exported = export_payouts(&t.app, "ola", false).await.unwrap().unwrap();
    let rows = exported.rows.iter().map(|row| row.payout.id).collect();
    (rows, exported.held.into_iter().map(|(_, why)| why).collect())
}

on_both! {
    async fn a_business_that_owes_money_is_not_paid_out(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.merchant("bolu.example").await;
        let mut waits = Vec::new();
        for (one, email) in [(&shop, OWNER), (&other, "bolu@bolu.example")] {
            let owner = member(&t, one, email, MemberRole::Owner).await;
            let account = ready_account(&t, one, owner, &GIVEN).await;
            waits.push(account);
        }
        let payment = t.create(&shop, 9_000, "Ebiere Alagoa").await;
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        t.ingest(&Alert::credit(ACCOUNT, 9_000, "Ebiere Alagoa", at).text()).await;
        funded(&t, &other, 9_000).await;
        let owes = ask_for(&t.app, shop.id, waits[0].id, 400_000).await.unwrap();
        let fine = ask_for(&t.app, other.id, waits[1].id, 400_000).await.unwrap();
        unmatch(&t, &payment, "ife").await;
        assert!(standing(&t, &shop).await.0 < 0);
        let (rows, held) = exported(&t).await;
        assert_eq!(rows, [fine.payout.id]);
        assert!(matches!(&held[..], [why] if why.contains("below zero")), "{held:?}");
        assert!(t.app.store.payout(owes.payout.id).await.unwrap().unwrap().payout.taken_at.is_none());
        // It is owed money again; of the same payer's other payments it is another price.
        funded(&t, &shop, 9_500).await;
        assert_eq!(exported(&t).await, (vec![owes.payout.id], Vec::new()));
    }

    async fn a_payout_waits_until_an_alarm_is_dealt_with(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        t.create(&shop, 9_000, "Ebiere Alagoa").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 9_000, "Ebiere Alagoa", t.app.now() - Span::seconds(20));
        t.ingest(&credit.text()).await;
        let row = ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap();
        t.advance(LATER);
        let debit = t.ingest(&back(&credit).text()).await;
        let (rows, held) = exported(&t).await;
        assert_eq!(rows, Vec::<i64>::new());
        assert!(matches!(&held[..], [why] if why.contains(&format!("alert {} may have taken", debit.alert_id))), "{held:?}");
        dismiss_alert(&t.app, debit.alert_id, "ife", "our rent").await.unwrap().unwrap();
        assert_eq!(exported(&t).await, (vec![row.payout.id], Vec::new()));
    }

    async fn a_debit_that_repeats_a_typed_credit_holds_all_the_same(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let payment = t.create(&shop, 9_000, "Ebiere Alagoa").await;
        t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 9_000, "Ebiere Alagoa", t.app.now() - Span::seconds(20));
        let credited = t.ingest(&credit.text()).await;
        assert_eq!(credited.status, AlertStatus::Matched);
        ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap();
        t.advance(LATER);
        // What the payer wrote to himself stands in the mail of the debit as well, where the layout has no place for it.
        let remark = "<p>that a CREDIT transaction occurred on your account</p></table>";
        let mail = back(&credit).text().replacen("</table>\r\n<table>", &format!("{remark}<table>"), 1);
        let both = take_alert(&t.app, &t.taken_if_unreadable_too(&mail, true)).await.unwrap();
        assert_eq!(both.status, AlertStatus::Unreadable, "{both:?}");
        let (rows, held) = exported(&t).await;
        assert_eq!(rows, Vec::<i64>::new());
        assert!(matches!(&held[..], [why] if why.contains(&format!("alert {} may have taken", both.alert_id))), "{held:?}");
        // And it can be named when the payment is reversed.
        undo(&t.app, &payment, both.alert_id, None).await.unwrap();
        assert!(t.payment(&payment).await.reversed_at.is_some());
    }

    async fn what_may_be_a_debit_of_one_of_many_holds_whoever_has_them_all(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let mut last = None;
        for _ in 0..4 {
            t.create(&shop, 9_000, "Ebiere Alagoa").await;
            t.advance(LATER);
            let credit = Alert::credit(ACCOUNT, 9_000, "Ebiere Alagoa", t.app.now() - Span::seconds(20));
            assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched);
            last = Some(credit);
        }
        ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap();
        t.advance(LATER);
        let remark = "<p>that a CREDIT transaction occurred on your account</p></table>";
        let mail = back(&last.unwrap()).text().replacen("</table>\r\n<table>", &format!("{remark}<table>"), 1);
        take_alert(&t.app, &t.taken_if_unreadable_too(&mail, true)).await.unwrap();
        assert_eq!(exported(&t).await.0, Vec::<i64>::new());
    }

    async fn a_remark_that_names_others_who_paid_as_much_frees_nobodys_payout(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let mut names = ["Ebiere Alagoa", "Bisi Alabi", "Tunde Bello", "Amina Yusuf"];
        for (n, name) in names.iter().enumerate() {
            let of = if n == 0 { None } else { Some(t.merchant(&format!("shop{n}.example")).await) };
            t.create(of.as_ref().unwrap_or(&shop), 9_000, name).await;
            t.advance(LATER);
            let credit = Alert::credit(ACCOUNT, 9_000, name, t.app.now() - Span::seconds(20));
            assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched, "{name}");
        }
        ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap();
        t.advance(LATER);
        names.rotate_left(1);
        let at = t.app.now() - Span::seconds(20);
        let typed = Alert { direction: "DEBIT", session: String::new(), ..Alert::credit(ACCOUNT, 9_000, &names.join(" "), at) };
        t.ingest(&typed.text()).await;
        assert_eq!(exported(&t).await.0, Vec::<i64>::new());
    }

    async fn a_debit_of_one_of_many_credits_holds_whoever_has_them_all(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let mut last = None;
        for _ in 0..4 {
            let payment = t.create(&shop, 9_000, "Ebiere Alagoa").await;
            t.advance(LATER);
            let credit = Alert::credit(ACCOUNT, 9_000, "Ebiere Alagoa", t.app.now() - Span::seconds(20));
            assert_eq!(t.ingest(&credit.text()).await.status, AlertStatus::Matched);
            last = Some((payment, credit));
        }
        let (payment, credit) = last.unwrap();
        let row = ask_for(&t.app, shop.id, account.id, 1_000_000).await.unwrap();
        let mut debits = Vec::new();
        for id in ["<one.back@gens.example>", "<two.back@gens.example>"] {
            t.advance(LATER);
            let at = t.app.now() - Span::seconds(20);
            let debit = Alert { session: String::new(), message_id: id.into(), at, ..back(&credit) };
            debits.push(t.ingest(&debit.text()).await.alert_id);
        }
        let (rows, held) = exported(&t).await;
        assert_eq!((rows, held.len()), (Vec::<i64>::new(), 1));
        // Who deals with one of them has not dealt with the other, whichever credit it was of.
        undo(&t.app, &payment, debits[0], None).await.unwrap();
        let (rows, held) = exported(&t).await;
        assert!(rows.is_empty(), "{rows:?}");
        assert!(matches!(&held[..], [why] if why.contains(&format!("alert {} may have taken", debits[1]))), "{held:?}");
        dismiss_alert(&t.app, debits[1], "ife", "our rent").await.unwrap().unwrap();
        assert_eq!(exported(&t).await, (vec![row.payout.id], Vec::new()));
    }

    async fn what_goes_to_a_removed_account_or_is_a_disabled_business_s_waits(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        funded(&t, &shop, 9_000).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap();
        let place = Owner { business_id: shop.id, user_id: owner, email: OWNER };
        remove_payout_account(&t.app, &place, account.id).await.unwrap().unwrap().unwrap();
        let (rows, held) = exported(&t).await;
        assert!(rows.is_empty() && held[0].contains("removed the account"), "{held:?}");
        let off = BusinessChange { active: Some(false), ..BusinessChange::default() };
        set_business(&t.app, "ada", shop.id, &off).await.unwrap().unwrap();
        let (rows, held) = exported(&t).await;
        assert!(rows.is_empty() && held[0].contains("disabled"), "{held:?}");
    }

    async fn a_restored_database_hands_no_payout_over_and_tells_of_those_it_has_not(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let owner = member(&t, &shop, OWNER, MemberRole::Owner).await;
        funded(&t, &shop, 9_000).await;
        let account = ready_account(&t, &shop, owner, &GIVEN).await;
        let row = ask_for(&t.app, shop.id, account.id, 400_000).await.unwrap();
        hold(&t.app, "ada", "restored").await.unwrap();
        let refused = export_payouts(&t.app, "ola", false).await.unwrap().unwrap_err();
        assert!(refused.to_string().contains("may have payouts"), "{refused}");
        // Nor does it come back to the balance: the bank may have it already.
        let cancel = cancel_payout(&t.app, Actor::Key, shop.id, row.payout.id, None).await.unwrap().unwrap();
        assert!(matches!(cancel, Err(EndRefusal::Held)), "{cancel:?}");
        assert!(t.app.store.payout(row.payout.id).await.unwrap().unwrap().payout.taken_at.is_none());
        // One that was made after the copy: the bank tells of it, and nobody here knows it.
        t.advance(LATER);
        let at = t.app.now() - Span::seconds(20);
        let unknown = payout_code(0x1234_5678_9abc);
        let told = Alert { direction: "DEBIT", ..Alert::credit(ACCOUNT, 4_000, &unknown, at) };
        let debit = t.ingest(&told.text()).await;
        let alarms = alarms_since(&t.app, START).await.unwrap();
        let [alarm] = &alarms[..] else { panic!("{alarms:?}") };
        assert!(alarm.body.contains(&format!("Alert {} is a debit with the payout reference {unknown}", debit.alert_id)), "{}", alarm.body);
        resume(&t.app, "ada").await.unwrap();
        assert_eq!(exported(&t).await, (vec![row.payout.id], Vec::new()));
    }

    async fn the_desk_says_beside_a_payout_that_its_money_may_be_gone(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let t = shops.t();
        let payment = shops.paid(&shops.shop, 52_000, "Musa Danladi").await;
        let owner = t.app.store.members(shops.shop.id).await.unwrap()[0].user_id;
        let account = ready_account(t, &shops.shop, owner, &GIVEN).await;
        ask_for(&t.app, shops.shop.id, account.id, 70_000).await.unwrap();
        add_user(&t.app, "ada", "ola@till.example", Place::Staff(StaffRole::Admin), Some(PASSWORD)).await.unwrap().unwrap();
        let mut desk = shops.signed_in("ola@till.example").await;
        assert!(!desk.get("/operator/payouts").await.text_of("main").contains("do not pay yet"));
        unmatch(t, &payment, "ife").await;
        let page = desk.get("/operator/payouts").await;
        let text = page.text_of("main");
        assert!(text.contains("do not pay yet") && text.contains("below zero"), "{text}");
        shops.close().await;
    }
}
