//! Top-ups: from the request over the bank's mail to the balance, and what sends them to a person.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{CorrectRefusal, Payment, Status};
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::domain::wallet::WalletStatus;
use tillbell::ops::alerts::approve::{Approve, ApproveRefused, approve_alert};
use tillbell::ops::alerts::dismiss::dismiss_alert;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::payments::correct::{Corrected, correct_amount};
use tillbell::ops::payments::read::read_payment;
use tillbell::ops::payouts::export::export_payouts;
use tillbell::ops::payouts::request::PayoutRow;
use tillbell::ops::wallet_payments::confirm::Confirmed;
use tillbell::ops::wallet_payments::start::Started;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::ops::wallets::desk::{Act, GivenCredit, act, credit};

use super::world::{PHONE, PIN, World, token};
use crate::audits::{by_hand, violations};
use crate::debit_mails::back;
use crate::harness::app::{ACCOUNT, LATER, START, at};
use crate::harness::mails::Alert;
use crate::payouts::world::{GIVEN, OWNER, ask_for, funded, member, ready_account};
use crate::undoing::undo;

const PAYER: &str = "Ifeoma Danladi";

async fn ask(w: &World, naira: i64, payer: &str) -> ToppingUp {
    start_topup(&w.t.app, &w.shop.caller, &w.phone(), Money(naira * 100), payer, None).await.unwrap()
}

async fn topup(w: &World, naira: i64, payer: &str) -> Payment {
    match ask(w, naira, payer).await {
        ToppingUp::Waiting(view, _) => view.payment,
        other => panic!("no top-up: {other:?}"),
    }
}

async fn world(db: crate::harness::databases::TestDatabase) -> World {
    let w = World::start(db).await;
    w.t.account(ACCOUNT).await;
    w
}

on_both! {
    async fn money_that_the_bank_may_have_taken_back_is_spent_by_nobody(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        let (_, open) = w.ready(300, 200).await;
        // Asked for before the top-up, and paid with its money.
        w.t.advance(Span::minutes(1));
        topup(&w, 7_500, PAYER).await;
        w.t.advance(LATER);
        let credit = Alert::credit(ACCOUNT, 7_500, "Danladi Ifeoma", w.t.app.now() - Span::seconds(9));
        assert_eq!(w.t.ingest(&credit.text()).await.status, AlertStatus::Matched);
        // Spent before the bank takes it back.
        assert!(matches!(w.confirm(&open, PIN).await, Confirmed::Paid(_)));
        let other = w.t.merchant("bolu.example").await;
        let mut waits = Vec::new();
        for (shop, email) in [(&w.shop, OWNER), (&other, "bolu@bolu.example")] {
            let owner = member(&w.t, shop, email, MemberRole::Owner).await;
            waits.push(ready_account(&w.t, shop, owner, &GIVEN).await);
        }
        funded(&w.t, &other, 9_000).await;
        funded(&w.t, &w.shop, 9_100).await;
        let held = ask_for(&w.t.app, w.shop.id, waits[0].id, 400_000).await.unwrap();
        let fine = ask_for(&w.t.app, other.id, waits[1].id, 400_000).await.unwrap();
        let debit = w.t.ingest(&back(&credit).text()).await;
        let exported = export_payouts(&w.t.app, "ola", false).await.unwrap().unwrap();
        let ids = |rows: &[PayoutRow]| rows.iter().map(|row| row.payout.id).collect::<Vec<_>>();
        assert_eq!(ids(&exported.rows), [fine.payout.id]);
        let [(row, why)] = &exported.held[..] else { panic!("{:?}", exported.held) };
        assert!(row.payout.id == held.payout.id && why.contains("wallet that has paid it"), "{why}");
        // Nor is the rest of it, by what was asked for before or is asked for now.
        let refused = w.try_start(&w.request(100, "second")).await;
        assert!(matches!(refused, Started::NotActive(WalletStatus::Suspended)), "{refused:?}");
        dismiss_alert(&w.t.app, debit.alert_id, "ife", "our rent").await.unwrap().unwrap();
        let second = w.begin(100, "third").await;
        w.t.ingest(&Alert { message_id: "<told.again@gens.example>".into(), ..back(&credit) }.text()).await;
        w.t.advance(LATER);
        let debit = Alert { at: w.t.app.now() - Span::seconds(9), ..back(&credit) };
        let debit = w.t.ingest(&Alert { message_id: "<a.second@gens.example>".into(), ..debit }.text()).await;
        assert_eq!(w.t.app.store.alarm_of_wallet(w.wallet().await.id, START).await.unwrap(), Some(debit.alert_id));
        assert!(matches!(w.confirm(&token(&second), PIN).await, Confirmed::Suspended));
    }

    async fn who_paid_a_shop_before_is_known_where_her_wallet_is_filled_through_it(db: TestDatabase) {
        for (was_topup, is_topup) in [(false, true), (true, false)] {
            let w = world(crate::harness::databases::TestDatabase::migrated(db.engine()).await).await;
            w.funded(1_000).await;
            let asked = async |naira: i64, is_topup: bool| match is_topup {
                true => topup(&w, naira, PAYER).await,
                false => w.t.create(&w.shop, naira, PAYER).await,
            };
            let paid = async |naira: i64| {
                w.t.advance(LATER);
                let at = w.t.app.now() - Span::seconds(9);
                w.t.ingest(&Alert::credit(ACCOUNT, naira, PAYER, at).text()).await
            };
            asked(7_000, was_topup).await;
            assert_eq!(paid(7_000).await.status, AlertStatus::Matched);
            let other = w.t.merchant("bolu.example").await;
            let taken = w.t.create(&other, 8_400, PAYER).await;
            w.t.account("0123458801").await;
            let meant = asked(8_400, is_topup).await;
            assert_ne!(taken.account_id, meant.account_id);
            let alert = paid(8_400).await;
            assert_eq!(alert.status, AlertStatus::Review, "{was_topup}: {alert:?}");
            assert!(alert.reason.contains(&format!("{:?}", meant.transaction_id)), "{alert:?}");
        }
    }

    async fn a_debit_that_may_be_of_another_beneficiary_reverses_no_top_up_unasked(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        let asked = topup(&w, 7_500, PAYER).await;
        w.t.create(&w.shop, 7_500, "Boma Dokubo").await;
        w.t.advance(LATER);
        let mut credit = None;
        for payer in [PAYER, "Boma Dokubo"] {
            let mail = Alert::credit(ACCOUNT, 7_500, payer, w.t.app.now() - Span::seconds(9));
            assert_eq!(w.t.ingest(&mail.text()).await.status, AlertStatus::Matched);
            credit = Some(mail);
        }
        w.t.advance(LATER);
        let at = w.t.app.now() - Span::seconds(9);
        let debit = Alert { session: String::new(), payer: "X".into(), at, ..back(&credit.unwrap()) };
        let debit = w.t.ingest(&debit.text()).await.alert_id;
        let refused = undo(&w.t.app, &asked, debit, None).await.unwrap_err().to_string();
        assert!(refused.contains("may as well be about"), "{refused}");
    }

    async fn a_transfer_fills_the_wallet_and_nobody_else(db: TestDatabase) {
        let w = world(db).await;
        assert!(matches!(ask(&w, 100, PAYER).await, ToppingUp::NoWallet));
        w.funded(1_000).await;
        let asked = topup(&w, 7_500, PAYER).await;
        assert_eq!((asked.charges.total(), asked.business_receives), (Money(0), Money(750_000)));
        w.t.advance(LATER + Span::seconds(20));
        let outcome = w.t.ingest(&Alert::credit(ACCOUNT, 7_500, "Danladi Ifeoma", at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        let after = w.t.payment(&asked).await;
        assert_eq!((after.status, after.received), (Status::Approved, Some(Money(750_000))));
        assert_eq!(w.wallet().await.balance, Money(850_000));
        assert_eq!(w.merchant_balance().await, Money(0));
        assert!(w.t.app.store.deliveries_of_payment(asked.id).await.unwrap().is_empty(), "no webhook");
        let seen = read_payment(&w.t.app, w.shop.id, None, &asked.transaction_id).await.unwrap();
        assert!(seen.is_none(), "not the merchant's");
        w.send_messages().await;
        let told = w.post.last(MessageKind::Topup).text;
        assert!(told.starts_with("NGN 7,500.00 was added to your wallet") && told.ends_with("You can use it now."), "{told}");
    }

    async fn a_transfer_leads_back_to_the_payment_that_waits_for_it(db: TestDatabase) {
        let w = world(db).await;
        let (_, first) = w.ready(8_000, 5_000).await;
        w.begin(4_000, "k-2").await;
        assert!(matches!(w.confirm(&first, PIN).await, Confirmed::Paid(_)));
        let told = async |naira: i64| {
            topup(&w, naira, PAYER).await;
            w.t.advance(Span::minutes(2));
            let paid_at = w.t.app.now() - Span::seconds(20);
            let outcome = w.t.ingest(&Alert::credit(ACCOUNT, naira, "Danladi Ifeoma", paid_at).text()).await;
            assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
            w.send_messages().await;
            w.post.last(MessageKind::Topup).text
        };
        let little = told(100).await;
        assert!(little.ends_with("You can use it now."), "{little}");
        let enough = told(1_000).await;
        let link = "To finish paying adire.example Ltd, open your payment link before 09:30.";
        assert!(enough.ends_with(link), "{enough}");
        w.t.advance(Span::minutes(30));
        let late = told(110).await;
        assert!(late.ends_with("You can use it now."), "{late}");
    }

    async fn topups_at_one_moment_on_two_nodes_keep_to_the_tier(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        let other = w.t.another_node().await;
        for n in 0..30 {
            w.t.account(&format!("01234578{n:02}")).await;
        }
        let asking = (0..30).map(|n| {
            let app = if n % 2 == 0 { w.t.app.clone() } else { other.clone() };
            let (caller, phone) = (w.shop.caller.clone(), w.phone());
            tokio::spawn(async move {
                start_topup(&app, &caller, &phone, Money(500_000 + n), PAYER, None).await.unwrap()
            })
        });
        let mut expected = 0;
        for end in futures_util::future::join_all(asking).await {
            match end.unwrap() {
                ToppingUp::Waiting(view, _) => expected += view.payment.amount.0,
                ToppingUp::OverTier => {}
                wrong => panic!("{wrong:?}"),
            }
        }
        // Nine of 5,000 fit beside 1,000 into 50,000.
        assert_eq!(expected / 500_000, 9);
    }

    async fn only_the_exact_amount_and_name_fill_it(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        topup(&w, 7_500, PAYER).await;
        w.t.advance(LATER + Span::seconds(20));
        let short = w.t.ingest(&Alert::credit(ACCOUNT, 7_375, PAYER, at()).text()).await;
        assert_eq!(short.status, AlertStatus::Review, "charges explain nothing here: {short:?}");
        let other = w.t.ingest(&Alert::credit(ACCOUNT, 7_500, "Segun Adebayo", at()).text()).await;
        assert_eq!(other.status, AlertStatus::Unmatched, "{other:?}");
        assert_eq!(w.wallet().await.balance, Money(100_000));
    }

    async fn a_topup_and_a_payment_of_one_business_are_two_beneficiaries(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        topup(&w, 7_500, PAYER).await;
        // The one account collides, so the payment gets none; a second account takes it.
        let refused = w.t.request(&w.shop, 7_500, PAYER);
        let made = tillbell::ops::payments::create::create_payment(&w.t.app, &w.shop.caller, refused, None).await.unwrap();
        assert!(matches!(made, tillbell::ops::payments::create::Created::NoAccount), "{made:?}");
        w.t.account("0123457728").await;
        let payment = w.t.create(&w.shop, 7_500, PAYER).await;
        assert_ne!(payment.account_id, None);
        w.t.advance(LATER + Span::seconds(20));
        let outcome = w.t.ingest(&Alert::credit("0123457728", 7_500, PAYER, at()).text()).await;
        assert_eq!(outcome.transaction_id, Some(payment.transaction_id));
        let outcome = w.t.ingest(&Alert::credit(ACCOUNT, 7_500, PAYER, at()).text()).await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        assert_eq!(w.wallet().await.balance, Money(850_000));
    }

    async fn money_that_fits_a_wallet_and_a_merchant_is_nobodys_until_a_person_says(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        let asked = topup(&w, 7_500, PAYER).await;
        let payment = w.t.create(&w.shop, 9_000, PAYER).await;
        assert_eq!(payment.account_id, asked.account_id, "they do not collide yet");
        let refused = correct_amount(&w.t.app, &w.shop.caller, &payment.transaction_id, Money(750_000), None).await;
        assert!(matches!(refused.unwrap(), Corrected::Refused(CorrectRefusal::NotTellable)));
        w.t.correct_unasked(&payment, 7_500).await;
        assert_eq!(w.t.payment(&payment).await.amount, Money(750_000));
        w.t.advance(LATER + Span::seconds(20));
        let outcome = w.t.ingest(&Alert::credit(ACCOUNT, 7_500, PAYER, at()).text()).await;
        assert_eq!((outcome.status, outcome.transaction_id), (AlertStatus::Review, None), "{}", outcome.reason);
        assert_eq!((w.wallet().await.balance, w.merchant_balance().await), (Money(100_000), Money(0)));
        let approve = |despite| Approve {
            alert_id: outcome.alert_id,
            business_id: w.shop.id,
            transaction_id: &asked.transaction_id,
            operator: "ada",
            despite,
            seen: None,
        };
        // Whoever decides hears that the merchant's payment asks for just this money.
        let refused = approve_alert(&w.t.app, &approve(None)).await.unwrap().unwrap_err();
        assert!(matches!(&refused, ApproveRefused::Obstacles(all) if all[0].contains("asks for exactly")), "{refused:?}");
        assert_eq!(w.wallet().await.balance, Money(100_000));
        approve_alert(&w.t.app, &approve(Some("the customer showed it"))).await.unwrap().unwrap();
        assert_eq!(w.wallet().await.balance, Money(850_000));
    }

    async fn the_tier_bounds_what_may_be_expected_and_what_arrives(db: TestDatabase) {
        let w = world(db).await;
        w.funded(10_000).await;
        topup(&w, 30_000, PAYER).await;
        assert!(matches!(ask(&w, 10_001, PAYER).await, ToppingUp::OverTier));
        let second = topup(&w, 10_000, "Ngozi Danladi").await;
        let more = GivenCredit { phone: PHONE, amount: Money(3_500_000), reason: "refund", reference: Some("R-1") };
        credit(&w.t.app, "ada", &more).await.unwrap().unwrap();
        w.t.advance(LATER + Span::seconds(20));
        let over = w.t.ingest(&Alert::credit(ACCOUNT, 30_000, PAYER, at()).text()).await;
        assert_eq!(over.status, AlertStatus::Review);
        assert!(over.reason.contains("above the limit of its tier"), "{over:?}");
        act(&w.t.app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        assert!(matches!(ask(&w, 1, PAYER).await, ToppingUp::Suspended));
        act(&w.t.app, "ada", PHONE, Act::SetTier(2), "").await.unwrap().unwrap();
        let suspended = w.t.ingest(&Alert::credit(ACCOUNT, 10_000, "Ngozi Danladi", at()).text()).await;
        assert!(suspended.reason.contains("suspended"), "{suspended:?}");
        let despite = |despite| Approve {
            alert_id: suspended.alert_id,
            business_id: w.shop.id,
            transaction_id: &second.transaction_id,
            operator: "ada",
            despite,
            seen: None,
        };
        let refused = approve_alert(&w.t.app, &despite(None)).await.unwrap().unwrap_err();
        assert!(matches!(&refused, ApproveRefused::Obstacles(all) if all[0].contains("suspended")), "{refused:?}");
        approve_alert(&w.t.app, &despite(Some("it is the customer's money"))).await.unwrap().unwrap();
        assert_eq!(w.wallet().await.balance, Money(5_500_000));
    }

    async fn what_one_merchant_expects_keeps_nobody_from_topping_up_elsewhere(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        let other = w.t.merchant("kente.example").await;
        let other = w.enabled(&other, "https://kente.example/hook").await;
        let amount = Money(4_900_000);
        let held = start_topup(&w.t.app, &other.caller, &w.phone(), amount, PAYER, None).await.unwrap();
        let ToppingUp::Waiting(held, _) = held else { panic!("no top-up") };
        topup(&w, 40_000, PAYER).await;
        assert!(matches!(ask(&w, 9_001, PAYER).await, ToppingUp::OverTier), "its own count");
        w.t.advance(LATER + Span::seconds(20));
        let ours = w.t.ingest(&Alert::credit(ACCOUNT, 40_000, PAYER, at()).text()).await;
        assert_eq!(ours.status, AlertStatus::Matched, "{ours:?}");
        let over = w.t.ingest(&Alert::credit(ACCOUNT, 49_000, PAYER, at()).text()).await;
        assert_eq!(over.status, AlertStatus::Review, "{over:?}");
        assert!(over.reason.contains("above the limit of its tier"), "{over:?}");
        assert_eq!(w.t.payment(&held.payment).await.status, Status::Pending);
        assert_eq!(w.wallet().await.balance, Money(4_100_000));
    }

    async fn a_bank_that_takes_a_topup_back_may_leave_the_wallet_below_zero(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        let asked = topup(&w, 7_500, PAYER).await;
        w.t.advance(LATER + Span::seconds(20));
        w.t.ingest(&Alert::credit(ACCOUNT, 7_500, PAYER, at()).text()).await;
        let started = w.begin(8_000, "k-1").await;
        let link = super::world::token(&started);
        w.set_pin(&link, super::world::PIN).await;
        w.confirm(&link, super::world::PIN).await;
        let ask = Reverse {
            business_id: w.shop.id,
            transaction_id: &asked.transaction_id,
            reason: "the bank took it back",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&w.t.app, &ask).await.unwrap().unwrap();
        assert_eq!(w.wallet().await.balance, Money(-700_000));
        w.t.audited().await;
        w.t.without_audit("a debit is written by hand");
        // What went out after it is explained by no reversal.
        let id = w.wallet().await.id;
        let sql = format!(
            "insert into entries values (900, 'adjustment', null, null, 'a gift', {1}); \
             insert into postings values (900, 0, 'wallet:{0}', 'debit', 7), (900, 1, 'adjustments', 'credit', 7); \
             update wallets set balance_kobo = balance_kobo - 7 where id = {0}",
            id,
            (w.t.app.now() + Span::seconds(6)).0
        );
        by_hand(&w.t, &sql, &sql).await;
        assert_eq!(violations(&w.t, "balances_equal_postings").await, 0, "nothing is seen of it there");
        assert_eq!(violations(&w.t, "balances_above_floor").await, 1);
    }

    async fn money_that_is_not_added_is_told_to_its_owner_once(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        let kept_out = topup(&w, 6_200, PAYER).await;
        let too_much = topup(&w, 42_700, "Ngozi Danladi").await;
        act(&w.t.app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        w.t.advance(LATER + Span::seconds(20));
        let mail = Alert::credit(ACCOUNT, 6_200, PAYER, at()).text();
        let held = w.t.ingest(&mail).await;
        assert_eq!(held.status, AlertStatus::Review, "{held:?}");
        w.send_messages().await;
        let told = w.post.last(MessageKind::TopupSuspended);
        assert_eq!(
            told.text,
            "On 10 Mar 2026, 09:10, your transfer of NGN 6,200.00 arrived, but it has not been added to your balance, \
             because your wallet is suspended. If you have questions, contact your wallet provider."
        );
        assert_eq!(told.to, w.phone().e164());
        // A copy, and another decision, tell nothing new.
        assert_eq!(w.t.ingest(&mail).await.status, AlertStatus::Duplicate);
        tillbell::ops::alerts::rematch::rematch(&w.t.app, kept_out.id).await.unwrap();
        w.send_messages().await;
        assert_eq!(w.post.count(MessageKind::TopupSuspended), 1);
        // Approved by a person: it is there, and cannot be spent.
        let approve = Approve {
            alert_id: held.alert_id,
            business_id: w.shop.id,
            transaction_id: &kept_out.transaction_id,
            operator: "ada",
            despite: Some("it is the customer's money"), seen: None,
        };
        approve_alert(&w.t.app, &approve).await.unwrap().unwrap();
        w.send_messages().await;
        let added = w.post.last(MessageKind::Topup).text;
        let then = "Your wallet is suspended, so you cannot use it now. For help, contact your wallet provider.";
        assert!(added.starts_with("NGN 6,200.00 was added to your wallet on") && added.ends_with(then), "{added}");
        // What would put it above its limit is told so.
        act(&w.t.app, "ada", PHONE, Act::Resume, "sorted").await.unwrap().unwrap();
        let over = w.t.ingest(&Alert::credit(ACCOUNT, 42_700, "Ngozi Danladi", at()).text()).await;
        assert_eq!(over.status, AlertStatus::Matched, "49,900 of 50,000: {over:?}");
        assert_eq!(w.t.payment(&too_much).await.status, Status::Approved);
        assert_eq!(w.post.count(MessageKind::TopupOverLimit), 0);
    }

    async fn money_above_the_limit_is_told_to_its_owner_unless_it_was_added_first(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        topup(&w, 30_400, PAYER).await;
        let second = topup(&w, 12_300, "Ngozi Danladi").await;
        let more = GivenCredit { phone: PHONE, amount: Money(3_900_000), reason: "refund", reference: Some("R-2") };
        credit(&w.t.app, "ada", &more).await.unwrap().unwrap();
        w.t.advance(LATER + Span::seconds(20));
        let over = w.t.ingest(&Alert::credit(ACCOUNT, 30_400, PAYER, at()).text()).await;
        assert_eq!(over.status, AlertStatus::Review, "{over:?}");
        w.send_messages().await;
        let told = w.post.last(MessageKind::TopupOverLimit).text;
        assert!(told.contains("your transfer of NGN 30,400.00 arrived, but it has not been added"), "{told}");
        assert!(told.contains("because your wallet would then hold more than it may."), "{told}");
        // A person is faster than the message: it would tell what is no longer so.
        let over = w.t.ingest(&Alert::credit(ACCOUNT, 12_300, "Ngozi Danladi", at()).text()).await;
        assert_eq!(over.status, AlertStatus::Review, "{over:?}");
        let approve = Approve {
            alert_id: over.alert_id,
            business_id: w.shop.id,
            transaction_id: &second.transaction_id,
            operator: "ada",
            despite: Some("the limit is raised tomorrow"), seen: None,
        };
        approve_alert(&w.t.app, &approve).await.unwrap().unwrap();
        w.send_messages().await;
        assert_eq!((w.post.count(MessageKind::TopupOverLimit), w.post.count(MessageKind::Topup)), (1, 1));
    }

    async fn a_topup_that_was_reversed_is_told_to_its_owner(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        let asked = topup(&w, 6_300, PAYER).await;
        w.t.advance(LATER + Span::seconds(20));
        w.t.ingest(&Alert::credit(ACCOUNT, 6_300, PAYER, at()).text()).await;
        let ask = Reverse {
            business_id: w.shop.id,
            transaction_id: &asked.transaction_id,
            reason: "the bank took it back",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&w.t.app, &ask).await.unwrap().unwrap();
        w.send_messages().await;
        assert_eq!(
            w.post.last(MessageKind::TopupReversed).text,
            "On 10 Mar 2026, 09:10, your top-up of NGN 6,300.00 was reversed, and the money was taken out of your wallet \
             again. If you have questions, contact your wallet provider."
        );
        assert_eq!(w.post.count(MessageKind::Refund), 0, "that is of payments to shops");
    }

    async fn a_topup_that_never_arrives_is_swept(db: TestDatabase) {
        let w = world(db).await;
        w.funded(1_000).await;
        let asked = topup(&w, 40_000, PAYER).await;
        assert!(matches!(ask(&w, 20_000, PAYER).await, ToppingUp::OverTier));
        w.t.advance(Span::hours(49));
        assert_eq!(tillbell::ops::payments::sweep::sweep(&w.t.app).await.unwrap().rejected, 1);
        assert_eq!(w.t.payment(&asked).await.status, Status::Rejected);
        topup(&w, 20_000, PAYER).await;
    }
}
