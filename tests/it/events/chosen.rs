//! Events by choice: none of them until the business switched it on, each in the Unit of its fact, and never one that keeps
//! a payment from being approved.

use serde_json::Value;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::event::Chosen;
use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::alerts::approve::{Approve, approve_alert};
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::merchants::businesses::{BusinessChange, BusinessRefusal, set_business};
use tillbell::ops::payments::correct::{Corrected, correct_amount};
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::payments::sweep::sweep;
use tillbell::ops::payouts::end::{Outcome, mark_payout};
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::work;

use super::reversed::reverse;
use super::world::World;
use crate::harness::app::{ACCOUNT, LATER};
use crate::harness::mails::Alert;
use crate::payouts::book::marking;
use crate::payouts::world::{GIVEN, OWNER, ask_for, member, ready_account};
use crate::wallet::world::World as Wallet;
use crate::webhooks_world::DEADLINE;

impl World {
    /// Switches on these events and no others.
    pub async fn choose(&self, events: &str) {
        let events = Some(Chosen::parse(events).unwrap());
        let change = BusinessChange {
            events,
            webhook_url: Some(Some(self.receiver.url("/own"))),
            ..BusinessChange::default()
        };
        set_business(&self.t.app, "test", self.shop.id, &change).await.unwrap().unwrap();
        self.t.app.directory.forget();
    }
}

fn names(told: &[(String, String)]) -> Vec<&str> {
    told.iter().map(|(event, _)| event.as_str()).collect()
}

const ALL: &str = "payment.rejected,payment.amount_corrected,wallet.topped_up,payout.paid,payout.refused";

on_both! {
    async fn nothing_is_told_by_choice_until_it_is_switched_on(db: TestDatabase) {
        let world = World::new(db).await;
        let (app, shop) = (&world.t.app, &world.shop);
        for on in [false, true, false] {
            world.choose(if on { ALL } else { "none" }).await;
            let before = world.told().await.len();
            let payment = world.asked(shop, 5_000, "Halima Garba").await;
            let corrected = correct_amount(app, &shop.caller, &payment.transaction_id, Money(610_000), None).await.unwrap();
            assert!(matches!(corrected, Corrected::Payment(_)), "{corrected:?}");
            reject_payment(app, shop.id, &payment.transaction_id, "ada", "not wanted").await.unwrap().unwrap();
            let told = world.told().await.split_off(before);
            let wanted: &[&str] = if on { &["payment.amount_corrected", "payment.rejected"] } else { &[] };
            assert_eq!(names(&told), wanted, "{told:?}");
        }
    }

    async fn every_correction_is_told_and_the_approval_after_them(db: TestDatabase) {
        let world = World::new(db).await;
        world.choose(ALL).await;
        let (app, shop) = (&world.t.app, &world.shop);
        let payment = world.asked(shop, 5_000, "Halima Garba").await;
        for kobo in [610_000, 720_050] {
            world.t.advance(Span::seconds(1));
            correct_amount(app, &shop.caller, &payment.transaction_id, Money(kobo), None).await.unwrap();
        }
        world.t.advance(LATER);
        let at = app.now() - Span::seconds(20);
        let mail = Alert { amount: "7200.50".into(), ..Alert::credit(ACCOUNT, 1, "Halima Garba", at) };
        assert_eq!(world.t.ingest(&mail.text()).await.status, AlertStatus::Matched);
        work::run_due(app).await.unwrap();
        assert_eq!(names(&world.told().await), ["payment.amount_corrected", "payment.amount_corrected", "payment.approved"]);
        let (_, page) = world.get(&format!("/events?type=payment.amount_corrected&transaction_id={}", payment.transaction_id)).await;
        let amounts: Vec<(&Value, &Value)> =
            page["data"].as_array().unwrap().iter().map(|one| (&one["previous_amount"], &one["amount"])).collect();
        assert_eq!(amounts, [(&5000.0.into(), &6100.0.into()), (&6100.0.into(), &7200.5.into())]);
        assert!(page["data"][0]["received_amount"].is_null(), "{page}");
    }

    async fn what_the_sweep_rejects_is_told_and_a_later_approval_after_it(db: TestDatabase) {
        let world = World::new(db).await;
        world.choose(ALL).await;
        let app = &world.t.app;
        let payment = world.asked(&world.shop, 5_000, "Halima Garba").await;
        world.t.advance(Span::hours(49));
        sweep(app).await.unwrap();
        assert_eq!(world.t.payment(&payment).await.status, Status::Rejected);
        sweep(app).await.unwrap();
        let (_, page) = world.get("/events").await;
        assert_eq!(page["data"].as_array().unwrap().len(), 1, "once: {page}");
        let told = &page["data"][0];
        assert_eq!((&told["event"], &told["status"], &told["reject_reason"]), (&"payment.rejected".into(), &"rejected".into(), &"expired".into()));
        // Not delivered yet when the money comes after all: the rejection holds no more.
        let at = app.now() - Span::seconds(20);
        let outcome = world.t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at).text()).await;
        let approve = Approve {
            alert_id: outcome.alert_id,
            business_id: world.shop.id,
            transaction_id: &payment.transaction_id,
            operator: "ada",
            despite: Some("late, but here"),
            seen: None,
        };
        approve_alert(app, &approve).await.unwrap().unwrap();
        work::run_due(app).await.unwrap();
        assert_eq!(names(&world.told().await), ["payment.rejected", "payment.approved"]);
        let sent = world.receiver.wait_for(1, DEADLINE).await;
        assert_eq!(sent[0].json()["event"], "payment.approved");
        let all = world.t.app.store.deliveries_of_payment(payment.id).await.unwrap();
        let ends: Vec<(&str, &str)> = all.iter().map(|one| (one.event.as_str(), one.status())).collect();
        assert_eq!(ends, [("payment.rejected", "not_sent"), ("payment.approved", "delivered")]);
        assert_eq!(all[0].note.as_deref(), Some("not sent: the payment was approved after all"));
    }

    async fn money_that_no_rule_approves_is_told_once_and_keeps_nothing_from_being_approved(db: TestDatabase) {
        let world = World::new(db).await;
        for (on, payer) in [(false, "Halima Garba"), (true, "Sani Lawal")] {
            world.choose(if on { "payment.underpaid,payment.overpaid,payment.late" } else { "none" }).await;
            let before = world.told().await.len();
            let payment = world.asked(&world.shop, 5_000, payer).await;
            world.t.advance(LATER);
            world.comes(Mode::Live, 4_000, payer).await;
            world.t.advance(LATER);
            world.comes(Mode::Live, 6_500, payer).await;
            world.t.advance(LATER);
            world.comes(Mode::Live, 5_000, payer).await;
            assert_eq!(world.t.payment(&payment).await.status, Status::Approved);
            let told = world.told().await.split_off(before);
            let wanted: &[&str] = if on {
                &["payment.underpaid", "payment.overpaid", "payment.approved"]
            } else {
                &["payment.approved"]
            };
            assert_eq!(names(&told), wanted, "{told:?}");
        }
        let (_, page) = world.get("/events?type=payment.underpaid").await;
        let one = &page["data"][0];
        let wanted: (&Value, &Value, &Value) = (&"pending".into(), &5000.0.into(), &4000.0.into());
        assert_eq!((&one["status"], &one["amount"], &one["received_amount"]), wanted, "{one}");
        assert!(one["payer_account_number"].is_null() && one["email_data"].as_object().unwrap().is_empty(), "{one}");
    }

    async fn what_became_of_money_that_did_not_pay_is_told(db: TestDatabase) {
        let world = World::new(db).await;
        world.choose("payment.underpaid").await;
        let (t, shop) = (&world.t, &world.shop);
        let first = world.asked(shop, 5_000, "Halima Garba").await;
        let came = async |naira: i64| {
            t.advance(LATER);
            let mail = Alert::credit(ACCOUNT, naira, "HALIMA GARBA", t.app.now() - Span::seconds(20));
            (t.ingest(&mail.text()).await, mail)
        };
        // Put aside by a person, once.
        let (short, _) = came(4_000).await;
        dismiss_alert(&t.app, short.alert_id, "ife", "sent back").await.unwrap().unwrap();
        dismiss_alert(&t.app, short.alert_id, "ife", "sent back").await.unwrap().unwrap_err();
        // Taken by a person for another order.
        let (short, _) = came(4_100).await;
        let second = world.asked(shop, 9_000, "Sani Lawal").await;
        let ask = Approve {
            alert_id: short.alert_id,
            business_id: second.business_id,
            transaction_id: &second.transaction_id,
            operator: "ife",
            despite: Some("she paid for her brother"),
            seen: None,
        };
        approve_alert(&t.app, &ask).await.unwrap().unwrap();
        // Taken back by the bank.
        let (_, mail) = came(4_200).await;
        t.advance(LATER);
        let debit = Alert { direction: "DEBIT", message_id: "<back@gens.example>".into(), ..mail };
        t.ingest(&debit.text()).await;
        let (_, page) = world.get("/events?limit=100").await;
        let told: Vec<(String, Value, Value)> = page["data"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["event"] == "payment.underpaid" && one["transaction_id"] == first.transaction_id)
            .map(|one| (one["received_amount"].to_string(), one["outcome"].clone(), one["status"].clone()))
            .collect();
        let open = Value::from("pending");
        let wanted: Vec<(String, Value, Value)> = [
            ("4000.0", Value::Null), ("4000.0", "dismissed".into()), ("4100.0", Value::Null), ("4100.0", "elsewhere".into()),
            ("4200.0", Value::Null), ("4200.0", "taken_back".into()),
        ]
        .map(|(amount, outcome)| (amount.to_owned(), outcome, open.clone()))
        .to_vec();
        assert_eq!(told, wanted);
        assert_eq!(t.payment(&first).await.status, Status::Pending);
    }

    async fn payouts_are_told_to_the_business_itself(db: TestDatabase) {
        let world = World::new(db).await;
        world.choose("payout.paid,payout.refused").await;
        let (t, shop) = (&world.t, &world.shop);
        world.paid(shop, 52_000, "Musa Danladi").await;
        let owner = member(t, shop, OWNER, MemberRole::Owner).await;
        let account = ready_account(t, shop, owner, &GIVEN).await;
        let paid = ask_for(&t.app, shop.id, account.id, 100_050).await.unwrap().payout.id;
        let refused = ask_for(&t.app, shop.id, account.id, 20_000).await.unwrap().payout.id;
        mark_payout(&t.app, &marking(paid, Outcome::Paid, "ada")).await.unwrap().unwrap();
        mark_payout(&t.app, &marking(refused, Outcome::Refused, "ada")).await.unwrap().unwrap();
        work::run_due(&t.app).await.unwrap();
        let sent = world.receiver.wait_for(3, DEADLINE).await;
        let (_, page) = world.get("/events?limit=100").await;
        let told: Vec<&Value> = page["data"].as_array().unwrap().iter().filter(|one| one["payout_id"].is_i64()).collect();
        assert_eq!((&told[0]["event"], &told[0]["payout_id"], &told[0]["amount"]), (&"payout.paid".into(), &paid.into(), &1000.5.into()));
        assert_eq!((&told[1]["event"], &told[1]["payout_id"], &told[1]["reason"]), (&"payout.refused".into(), &refused.into(), &"the bank sent it back".into()));
        let own: Vec<Value> = sent.iter().filter(|one| one.target == "/own").map(|one| one.json()).collect();
        assert_eq!(own.len(), 2, "to the business's own address");
        assert!(told.iter().all(|one| own.contains(one)), "{own:?}");
    }

    async fn a_reversal_of_a_rejected_and_revived_payment_stands_last(db: TestDatabase) {
        let world = World::new(db).await;
        world.choose(ALL).await;
        let payment = world.paid(&world.shop, 5_000, "Halima Garba").await;
        reverse(&world, &payment, "the bank took it back").await;
        assert_eq!(names(&world.told().await), ["payment.approved", "payment.reversed"]);
    }

    async fn a_top_up_is_told_by_choice_and_then_its_reversal_too(db: TestDatabase) {
        let w = Wallet::start(db).await;
        w.t.account(ACCOUNT).await;
        w.funded(1_000).await;
        let app = w.t.app.clone();
        let told = async |events: &str, naira: i64| {
            let events = Some(Chosen::parse(events).unwrap());
            let change = BusinessChange { events, ..BusinessChange::default() };
            set_business(&app, "test", w.shop.id, &change).await.unwrap().unwrap();
            app.directory.forget();
            let asked = start_topup(&app, &w.shop.caller, &w.phone(), Money(naira * 100), "Ifeoma Danladi", None).await.unwrap();
            let ToppingUp::Waiting(view, _) = asked else { panic!("{asked:?}") };
            w.t.advance(LATER);
            let at = app.now() - Span::seconds(20);
            w.t.ingest(&Alert::credit(ACCOUNT, naira, "Ifeoma Danladi", at).text()).await;
            let reverse = Reverse {
                business_id: w.shop.id,
                transaction_id: &view.payment.transaction_id,
                reason: "the bank took it back",
                operator: "ada",
                undoing_alert: None,
                despite: None,
            };
            reverse_payment(&app, &reverse).await.unwrap().unwrap();
            let all = app.store.deliveries_of_payment(view.payment.id).await.unwrap();
            all.into_iter().map(|one| one.event).collect::<Vec<_>>()
        };
        assert!(told("none", 7_500).await.is_empty());
        assert_eq!(told("wallet.topped_up", 8_300).await, ["wallet.topped_up", "payment.reversed"]);
    }

    async fn only_events_by_choice_can_be_chosen(db: TestDatabase) {
        let world = World::new(db).await;
        for bad in ["payment.approved", "payment.eaten", "webhook.test"] {
            assert_eq!(Chosen::parse(bad), Err(bad.to_owned()));
        }
        world.choose("payout.paid").await;
        let business = world.t.app.store.business(world.shop.id).await.unwrap().unwrap();
        assert_eq!(business.events.to_string(), "payout.paid");
        // Another change leaves the choice as it is.
        let change = BusinessChange { name: Some("Adire House".into()), ..BusinessChange::default() };
        let after = set_business(&world.t.app, "test", world.shop.id, &change).await.unwrap();
        assert_eq!(after.map(|one| one.events.to_string()), Ok::<_, BusinessRefusal>("payout.paid".to_owned()));
    }
}
