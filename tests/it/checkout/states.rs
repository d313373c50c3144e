//! Each state that a payer can meet, over real HTTP, by the mails of a bank.

use tillbell::domain::alert::Authenticity;
use tillbell::domain::money::Money;
use tillbell::domain::phone::Phone;
use tillbell::domain::time::Span;
use tillbell::ops::alerts::draft::{ReadAs, Taken};
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::alerts::take::take_alert;
use tillbell::ops::payments::correct::correct_amount;
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::payments::sweep::sweep;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::ops::wallets::find::ensure;

use super::world::{Desk, NAME};
use crate::harness::app::{ACCOUNT, at};
use crate::harness::mails::Alert;

/// The account as the page writes it.
const SHOWN: &str = "0123454417";

on_both! {
    async fn an_open_payment_says_all_that_a_transfer_needs(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (payment, path) = desk.open().await;
        let page = desk.get(&path).await;
        page.is(200, "Waiting for your transfer");
        let text = page.text();
        for part in [
            "adire.example Ltd",
            "NGN 5,000.00",
            "Account number",
            "GTBank",
            "TILL AND BELL LTD",
            "in the name of Halima Garba",
            payment.transaction_id.as_str(),
            "24 h 0 min left",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        assert!(page.body.contains(&format!("data-copy=\"{SHOWN}\"")), "{}", page.body);
        assert!(page.body.len() < 40 * 1024, "{}", page.body.len());
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("x-robots-tag"), Some("noindex, nofollow"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'; style-src 'self'; script-src 'self'"), "{policy}");
        assert!(policy.ends_with("frame-ancestors https://adire.example https://*.adire.example"), "{policy}");
        assert_eq!(page.header("x-frame-options"), None);
        let state = desk.state(&path).await;
        let expires = serde_json::to_value(payment.expires_at.to_string()).unwrap();
        assert_eq!(state["status"], "pending");
        assert_eq!(state["view"], "waiting");
        assert_eq!(state["expires_at"].as_str().unwrap()[..19], expires.as_str().unwrap()[..19]);
        assert_eq!(state.as_object().unwrap().len(), 3, "{state}");
        desk.close().await;
    }

    async fn money_that_pays_it_turns_the_page_into_a_receipt(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (payment, path) = desk.open().await;
        desk.came(5_000, NAME).await;
        let page = desk.get(&path).await;
        page.is(200, "Paid");
        assert!(page.text().contains(&payment.transaction_id) && page.text().contains("has your payment"));
        assert!(!page.body.contains(SHOWN) && !page.text().contains("Account number"), "{}", page.text());
        assert_eq!(desk.state(&path).await["status"], "approved");
        assert_eq!(desk.view(&path).await, "paid");
        // Until a person takes it back.
        let ask = Reverse {
            business_id: payment.business_id,
            transaction_id: &payment.transaction_id,
            reason: "the bank took it back",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&desk.t.app, &ask).await.unwrap().unwrap();
        assert_eq!(desk.view(&path).await, "rejected");
        desk.get(&path).await.is(200, "taken back");
        desk.close().await;
    }

    async fn too_little_and_too_much_are_told_without_whose_it_was(db: TestDatabase) {
        let desk = Desk::new(db).await;
        for (naira, payer, view, heading) in [
            (4_000, NAME, "too_little", "Too little came"),
            (6_000, "Ngozi Eze", "too_much", "Too much came"),
        ] {
            let payment = desk.t.create(&desk.shop, 5_000, payer).await;
            let path = desk.path(&payment);
            desk.came(naira, payer).await;
            assert_eq!(desk.view(&path).await, view);
            let page = desk.get(&path).await;
            page.is(200, heading);
            assert!(page.text().contains("was told") && page.text().contains("do not pay again"), "{}", page.text());
            assert!(!page.body.contains(SHOWN), "nobody is to pay again");
            assert!(!page.body.contains("HALIMA") && !page.body.contains(NAME), "{}", page.body);
            assert!(!page.body.contains("4,000") && !page.body.contains("6,000"), "{}", page.body);
            assert_eq!(desk.state(&path).await["status"], "pending");
            reject_payment(&desk.t.app, desk.shop.id, &payment.transaction_id, "ada", "done").await.unwrap().unwrap();
            assert_eq!(desk.view(&path).await, "rejected");
            desk.get(&path).await.is(200, "This payment was cancelled");
            desk.t.advance(Span::days(8));
        }
        desk.close().await;
    }

    async fn another_name_is_told_and_the_account_stays(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        desk.came(5_000, "Musa Danladi").await;
        assert_eq!(desk.view(&path).await, "other_name");
        let page = desk.get(&path).await;
        page.is(200, "A transfer of this amount arrived under another name; the shop is checking it.");
        assert!(!page.body.to_lowercase().contains("danladi"), "never whose money");
        assert!(page.body.contains(SHOWN), "whoever has not paid yet still may");
        // Once its time is over, no more.
        desk.t.advance(Span::hours(25));
        let page = desk.get(&path).await;
        page.is(200, "under another name");
        assert!(!page.body.contains(SHOWN));
        desk.close().await;
    }

    async fn the_time_ends_by_itself_and_money_after_it_is_late(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (payment, path) = desk.open().await;
        desk.t.advance(Span::hours(24));
        assert_eq!(desk.view(&path).await, "waiting", "the last moment counts");
        desk.t.advance(Span::seconds(1));
        assert_eq!(desk.view(&path).await, "expired");
        assert_eq!(desk.state(&path).await["status"], "pending");
        let page = desk.get(&path).await;
        page.is(200, "The time for this payment is over");
        assert!(!page.body.contains(SHOWN));
        desk.t.advance(Span::hours(25));
        assert_eq!(sweep(&desk.t.app).await.unwrap().rejected, 1);
        assert_eq!(desk.state(&path).await["status"], "rejected");
        assert_eq!(desk.view(&path).await, "expired");
        desk.came(5_000, NAME).await;
        assert_eq!(desk.view(&path).await, "late");
        let page = desk.get(&path).await;
        page.is(200, "Your transfer came late");
        assert!(!page.body.contains(SHOWN) && page.text().contains("do not pay again"));
        // Thirty days after its end it is like one that never was.
        assert!(desk.t.payment(&payment).await.rejected_at.is_some());
        desk.t.advance(Span::days(30));
        assert_eq!(desk.get(&path).await.status, 404);
        desk.close().await;
    }

    async fn a_mail_that_nothing_proves_changes_nothing(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        let before = desk.get(&path).await.heading();
        desk.t.advance(Span::minutes(11));
        for (naira, payer) in [(5_000, NAME), (4_000, NAME), (9_000, NAME), (5_000, "Musa Danladi")] {
            let mail = Alert::credit(ACCOUNT, naira, payer, at()).text();
            take_alert(&desk.t.app, &desk.t.taken(&mail, false)).await.unwrap();
            let forwarded = desk.t.taken(&Alert::credit(ACCOUNT, naira, payer, at()).text(), true);
            let forwarded =
                Taken { authenticity: Authenticity::Forwarded, read_as: ReadAs::Quarantined, ..forwarded };
            take_alert(&desk.t.app, &forwarded).await.unwrap();
            let mut hidden = desk.t.taken(&Alert::credit(ACCOUNT, naira, payer, at()).text(), true);
            hidden.facts.doubts.push("the mail holds hidden text".into());
            take_alert(&desk.t.app, &hidden).await.unwrap();
            assert_eq!(desk.view(&path).await, "waiting", "{naira} {payer}");
        }
        assert_eq!(desk.get(&path).await.heading(), before);
        desk.close().await;
    }

    async fn money_that_may_be_for_two_is_told_on_neither_page(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        let other = desk.t.merchant("ankara.example").await;
        let theirs = desk.t.create(&other, 5_500, NAME).await;
        let theirs = desk.path(&theirs);
        desk.came(4_600, NAME).await;
        desk.came(5_100, "Musa Danladi").await;
        assert_eq!((desk.view(&path).await, desk.view(&theirs).await), ("waiting".into(), "waiting".into()));
        desk.close().await;
    }

    async fn a_correction_shows_the_new_amount(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (payment, path) = desk.open().await;
        correct_amount(&desk.t.app, &desk.shop.caller, &payment.transaction_id, Money(620_000), None).await.unwrap();
        desk.get(&path).await.is(200, "NGN 6,200.00");
        desk.close().await;
    }

    async fn a_top_up_has_a_page_too(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let phone = Phone::parse("08031234567").unwrap();
        ensure(&desk.t.app, &phone).await.unwrap();
        let asked = start_topup(&desk.t.app, &desk.shop.caller, &phone, Money(200_000), NAME, None).await.unwrap();
        let ToppingUp::Waiting(view, _) = asked else { panic!("{asked:?}") };
        let path = desk.path(&view.payment);
        assert!(view.checkout_url.as_deref().unwrap().ends_with(&path));
        desk.get(&path).await.is(200, "NGN 2,000.00");
        desk.came(2_000, NAME).await;
        assert_eq!(desk.view(&path).await, "paid");
        let page = desk.get(&path).await;
        page.is(200, "Your wallet has the money");
        assert!(!page.body.contains("08031234567") && !page.body.contains("2348031234567"));
        desk.close().await;
    }

    async fn names_that_hold_markup_are_shown_as_they_are(db: TestDatabase) {
        let desk = Desk::new(db).await;
        for hostile in [
            "<script>alert(1)</script>",
            "\"><img src=x onerror=alert(2)>",
            "Ada \u{202e}00.5 NGN",
            "{{ 7*7 }} ${7*7} <%= 7*7 %>",
            "' onmouseover='alert(3)",
            "</title><svg onload=alert(4)>",
        ] {
            let new = desk.t.request(&desk.shop, 5_000, &format!("Ada {hostile}"));
            let id = format!("T{}-{}", desk.t.app.now().0, hostile.len());
            let new = tillbell::ops::payments::create::NewPayment { transaction_id: Some(format!("{id}{hostile}")), ..new };
            let payment = desk.create(new).await;
            let page = desk.get(&desk.path(&payment)).await;
            assert_eq!(page.status, 200);
            let lower = page.body.to_lowercase();
            for bad in ["<script>alert", "<img", "<svg onload", "\u{202e}"] {
                assert!(!lower.contains(bad), "{bad} by {hostile:?}");
            }
            assert_eq!(lower.matches("<script").count(), 1, "our own: {hostile:?}");
            let handled = page.attributes("*", "onmouseover").into_iter().chain(page.attributes("*", "onerror"));
            assert_eq!(handled.flatten().count(), 0, "{hostile:?}");
            reject_payment(&desk.t.app, desk.shop.id, &payment.transaction_id, "ada", "done").await.unwrap().unwrap();
        }
        desk.close().await;
    }
}
