//! Every state of a link and every answer to a form, by status and words, over plain HTTP.

use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::domain::wallet::WalletStatus;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::wallet_payments::end::expire_intents;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::ops::wallets::desk::{Act, act};
use tillbell::outbound::message::SendOutcome;

use super::site::{DEV, Site};
use crate::harness::app::ACCOUNT;
use crate::wallet::world::{PHONE, PIN, WRONG};

on_both! {
    async fn a_customer_sets_a_pin_pays_and_has_a_receipt(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (started, token) = site.begin(5_000, "k-1").await;
        let page = site.get(&token).await;
        assert_eq!((page.status, page.heading().as_str()), (200, "Create your wallet PIN"));
        for shown in [
            "NGN 5,000.00 to adire.example Ltd",
            "Order ORDER k-1",
            "+234 803 *** **42",
            "Pay before 09:30 (30 minutes left)",
            "2 x ankara 1 x gele",
        ] {
            assert!(page.text().contains(shown), "{shown:?} in {}", page.text());
        }
        assert!(page.body.contains("2 x ankara<br>"), "line breaks: {}", page.body);
        assert!(page.body.contains(r#"<data value="5000.00">"#));
        assert!(!page.has_form("pin") && !page.has_form("reset") && page.has_form("cancel"));
        assert_eq!(page.form("send_code")["send_code"], "1");
        let sent = site.submit(&token, &page.form("send_code"), &[]).await;
        sent.is(200, "We sent a code to +234 803 *** **42");
        assert!(site.w.post.last(MessageKind::Code).to == "+2348035550142");
        let form = sent.form("code");
        let fields: Vec<&str> = form.keys().map(String::as_str).collect();
        assert_eq!(fields, ["code", "form_token", "new_pin", "new_pin_again"]);
        assert!(sent.has_form("send_code") && sent.has_form("cancel"));
        let code = site.code();
        let set = |code: &str, pin: &str, again: &str| {
            let filled = [("code", code.to_owned()), ("new_pin", pin.to_owned()), ("new_pin_again", again.to_owned())];
            let (site, token, form) = (&site, &token, &form);
            async move { site.submit(token, form, &filled.each_ref().map(|(name, value)| (*name, value.as_str()))).await }
        };
        let other = if code == "123123" { "321321" } else { "123123" };
        let wrong = set(other, PIN, PIN).await;
        wrong.is(422, "Wrong code. You have 4 tries left.");
        assert!(wrong.has_form("new_pin_again"), "that form again");
        set(&code, PIN, "4072").await.is(422, "The two PINs do not match.");
        set(&code, "1234", "1234").await.is(422, "too easy to guess: its digits count up or down");
        set(&code, "12a4", "12a4").await.is(422, "Your PIN must be 4 digits.");
        set("12345", PIN, PIN).await.is(422, "The code must be 6 digits.");
        let back = site.get(&token).await;
        assert!(back.has_form("code") && back.has_form("send_code"), "back from the messenger, the code can be entered");
        let spaced = format!("{} {}", &code[..3], &code[3..]);
        let done = set(&spaced, PIN, PIN).await;
        done.is(200, "Your PIN is set. You have not paid yet.");
        assert!(done.has_form("pin") && done.has_form("reset") && done.has_form("cancel") && !done.has_form("code"));
        assert_eq!(site.w.payment(&started).await.status, Status::Pending);
        set(&code, "8305", "8305").await.is(409, "Your PIN is already set. Enter it to pay.");
        let wrong = site.pay(&token, WRONG).await;
        wrong.is(422, "Wrong PIN. You have 4 tries left.");
        assert!(wrong.has_form("pin"));
        site.pay(&token, "40").await.is(422, "Your PIN must be 4 digits. We did not count this as a try.");
        site.get(&token).await.is(200, "You have 4 tries left to enter your PIN.");
        let form = site.get(&token).await.form("pin");
        let paid = site.submit(&token, &form, &[("pin", PIN)]).await;
        paid.is(200, "We are sending your receipt to +234 803 *** **42.");
        assert_eq!(paid.heading(), "Paid");
        for shown in ["NGN 5,000.00", "adire.example Ltd", "ORDER k-1", started.transaction_id.as_str(), "10 Mar 2026, 09:00"] {
            assert!(paid.text().contains(shown), "{shown:?} in {}", paid.text());
        }
        assert!(paid.forms().is_empty());
        // Whoever sends the same form again sees what became of the first.
        site.submit(&token, &form, &[("pin", PIN)]).await.is(200, "Your payment is complete.");
        site.w.t.advance(Span::minutes(10));
        site.submit(&token, &form, &[("pin", PIN)]).await.is(200, "You have already paid.");
        site.submit(&token, &form, &[("pin", WRONG)]).await.is(200, "You have already paid.");
        site.get(&token).await.is(200, "You have already paid. You will not be charged again.");
        for late in ["send_code", "reset", "cancel"] {
            site.post(&token, &["Sec-Fetch-Site: same-origin"], &[(late, "1")]).await.is(200, "You have already paid.");
        }
        assert_eq!(site.w.wallet().await.balance, Money(1_500_000));
        site.w.send_messages().await;
        let receipt = site.w.post.last(MessageKind::Receipt);
        assert!(receipt.text.starts_with("You paid NGN 5,000.00 to adire.example Ltd for order ORDER k-1"), "{}", receipt.text);
        let ask = Reverse {
            business_id: site.w.shop.id,
            transaction_id: &started.transaction_id,
            reason: "goods came back",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&site.w.t.app, &ask).await.unwrap().unwrap();
        site.get(&token).await.is(200, "The money is back in your wallet.");
        site.close().await;
    }

    async fn wrong_pins_fail_a_payment_and_lock_the_wallet(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (second, third) = (site.begin(400, "k-2").await.1, site.begin(300, "k-3").await.1);
        for left in ["4 tries", "3 tries", "2 tries", "1 try"] {
            site.pay(&first, WRONG).await.is(422, &format!("Wrong PIN. You have {left} left"));
        }
        let failed = site.pay(&first, WRONG).await;
        failed.is(422, "Too many wrong PINs. We stopped this payment. No money has left your wallet.");
        assert_eq!(failed.heading(), "Payment stopped");
        let (shown, status) = (site.get(&first).await, 200);
        assert_eq!((shown.status, shown.heading().as_str()), (status, "Payment stopped"));
        let open = site.get(&second).await.form("pin");
        for _ in 0..5 {
            site.submit_anew(&second, &open, &[("pin", WRONG)]).await;
        }
        let form = site.get(&second).await;
        assert!(form.has_form("reset") && !form.has_form("pin") && !form.has_form("cancel"), "{}", form.text());
        form.is(200, "We stopped this payment and locked your wallet until tomorrow, 09:00. No money has left it.");
        let locked = site.get(&third).await;
        locked.is(200, "We locked your wallet until tomorrow, 09:00. No money has left it. To unlock it now, set a new PIN");
        locked.is(200, "If you wait until then, you will need a new link from the shop.");
        assert!(!locked.has_form("pin") && locked.has_form("reset") && locked.has_form("cancel"));
        let refused = site.submit(&third, &open_form(&site, &third), &[]).await;
        refused.is(403, "Too many wrong PINs.");
        let sent = site.act(&third, "reset", &[]).await;
        let code = site.code();
        let done = site.submit(&third, &sent.form("code"), &[("code", &code), ("new_pin", "8305"), ("new_pin_again", "8305")]).await;
        done.is(200, "Your PIN is set.");
        site.submit(&third, &done.form("pin"), &[("pin", "8305")]).await.is(200, "Your payment is complete.");
        site.close().await;
    }

    async fn links_that_ended_tell_how(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, expiring) = site.w.ready(20_000, 5_000).await;
        let (cancelled, (rejecting, rejected)) = (site.begin(100, "k-2").await.1, site.begin(100, "k-3").await);
        let form = site.get(&expiring).await.form("pin");
        let asked = site.act(&cancelled, "cancel", &[]).await;
        let done = site.submit(&cancelled, &asked.form("cancel"), &[]).await;
        done.is(200, "No money has left your wallet.");
        assert_eq!(done.heading(), "Payment cancelled");
        let again = site.post(&cancelled, &["Sec-Fetch-Site: same-origin"], &[("cancel", "1")]).await;
        again.is(409, "Payment cancelled");
        let transaction = site.w.payment(&rejecting).await.transaction_id;
        reject_payment(&site.w.t.app, site.w.shop.id, &transaction, "ada", "not ours").await.unwrap().unwrap();
        site.get(&rejected).await.is(200, "Payment stopped");
        site.w.t.advance(Span::minutes(29));
        site.get(&expiring).await.is(200, "Pay before 09:30 (1 minute left)");
        site.w.t.advance(Span::minutes(1));
        let expired = site.submit(&expiring, &form, &[("pin", PIN)]).await;
        expired.is(409, "The link worked until today, 09:30. No money has left your wallet.");
        assert_eq!(expired.heading(), "This link has expired");
        site.get(&expiring).await.is(200, "This link has expired");
        for late in ["send_code", "reset", "cancel"] {
            site.post(&expiring, &["Sec-Fetch-Site: same-origin"], &[(late, "1")]).await.is(409, "This link has expired");
        }
        assert_eq!(site.w.wallet().await.balance, Money(2_000_000));
        expire_intents(&site.w.t.app).await.unwrap();
        site.w.t.advance(Span::days(31));
        let gone = site.get(&expiring).await;
        assert_eq!((gone.status, gone.body), (404, site.get("nothing").await.body));
        site.close().await;
    }

    async fn a_balance_that_is_too_low_shows_the_way_to_top_up(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(8_000, 5_000).await;
        let (_, second) = site.begin(4_000, "k-2").await;
        let form = site.get(&second).await.form("pin");
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        let low = site.submit(&second, &form, &[("pin", PIN)]).await;
        low.is(409, "Ask the shop for a top-up of at least ");
        assert_eq!(low.heading(), "Your balance is too low");
        assert!(!low.body.contains("3,000.00") && !low.body.contains("3000"), "the merchant holds the link: no balance");
        site.w.t.account(ACCOUNT).await;
        let topup = start_topup(&site.w.t.app, &site.w.shop.caller, &site.w.phone(), Money(99_900), "Ifeoma Danladi", None).await;
        assert!(matches!(topup, Ok(ToppingUp::Waiting(..))), "{topup:?}");
        site.get(&second).await.is(200, "Ask the shop for a larger top-up.");
        let topup = start_topup(&site.w.t.app, &site.w.shop.caller, &site.w.phone(), Money(150_000), "Ifeoma Danladi", None).await;
        let Ok(ToppingUp::Waiting(view, _)) = topup else { panic!("no top-up") };
        let other = site.w.t.merchant("kente.example").await;
        let other = site.w.enabled(&other, "https://kente.example/hook").await;
        let topup = start_topup(&site.w.t.app, &other.caller, &site.w.phone(), Money(170_000), "Ifeoma Danladi", None).await;
        assert!(matches!(topup, Ok(ToppingUp::Waiting(..))), "{topup:?}");
        let low = site.get(&second).await;
        assert!(!low.body.contains("1,700.00"), "the merchant holds the link: no top-up of another one");
        assert!(!low.text().contains("larger"), "one of the two is enough: {}", low.text());
        let from = "From the account of";
        for shown in ["NGN 1,500.00", ACCOUNT, "TILL AND BELL LTD", "Send exactly this amount", from, "Ifeoma Danladi"] {
            assert!(low.text().contains(shown), "{shown:?} in {}", low.text());
        }
        assert!(low.has_form("pin"), "when the money is there, the PIN is entered here");
        site.w.t.advance(view.payment.expires_at.since(site.w.t.app.now()));
        let (_, third) = site.begin(100, "k-3").await;
        site.get(&third).await.is(200, "Pay before");
        site.close().await;
    }

    async fn a_stopped_shops_payment_cannot_be_confirmed_now(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let form = site.get(&first).await.form("pin");
        let switch = async |on| {
            let change = BusinessChange { wallet_enabled: Some(on), ..BusinessChange::default() };
            set_business(&site.w.t.app, "test", site.w.shop.id, &change).await.unwrap().unwrap();
            site.w.t.app.directory.forget();
        };
        switch(false).await;
        let page = site.get(&first).await;
        page.is(200, "No money has left your wallet. Try again later, or pay another way.");
        assert_eq!(page.heading(), "You cannot pay this shop right now");
        assert!(!page.has_form("pin") && !page.has_form("reset") && page.has_form("cancel"));
        for pin in [PIN, WRONG] {
            site.submit(&first, &form, &[("pin", pin)]).await.is(403, "You cannot pay this shop right now");
        }
        switch(true).await;
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        site.close().await;
    }

    async fn a_locked_wallets_pin_is_reset_on_a_stopped_shops_page_too(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (second, third) = (site.begin(400, "k-2").await.1, site.begin(300, "k-3").await.1);
        for link in [&first, &second] {
            let form = site.get(link).await.form("pin");
            for _ in 0..5 {
                site.submit_anew(link, &form, &[("pin", WRONG)]).await;
            }
        }
        let off = BusinessChange { active: Some(false), ..BusinessChange::default() };
        set_business(&site.w.t.app, "test", site.w.shop.id, &off).await.unwrap().unwrap();
        site.w.t.app.directory.forget();
        let page = site.get(&third).await;
        page.is(200, "You cannot pay this shop right now");
        page.is(200, "Your wallet is locked too, because of too many wrong PINs. To unlock it now, set a new PIN");
        let sent = site.submit(&third, &page.form("reset"), &[]).await;
        let filled = [("code", site.code()), ("new_pin", "8305".to_owned()), ("new_pin_again", "8305".to_owned())];
        let filled = filled.each_ref().map(|(name, value)| (*name, value.as_str()));
        let set = site.submit(&third, &sent.form("code"), &filled).await;
        set.is(200, "You cannot pay this shop right now");
        assert!(!set.text().contains("locked"), "{}", set.text());
        assert_eq!(site.w.wallet().await.status(site.w.t.app.now()), WalletStatus::Active);
        assert!(!site.get(&third).await.has_form("pin"));
        site.close().await;
    }

    async fn limits_of_the_day_suspension_and_codes(db: TestDatabase) {
        let settings = format!("{DEV}[wallet]\nlink_lifetime = \"120m\"\n[wallet.tier1]\ndaily = \"6000\"\n");
        let site = Site::with(db, &settings).await;
        let (_, first) = site.w.ready(20_000, 4_000).await;
        let (over, second) = (site.begin(3_000, "k-2").await.1, site.begin(1_000, "k-3").await.1);
        let form = site.get(&over).await.form("pin");
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        let over = site.submit(&over, &form, &[("pin", PIN)]).await;
        over.is(409, "You can still spend NGN 2,000.00 today.");
        assert_eq!(over.heading(), "This is over your daily limit");
        let form = site.get(&second).await.form("pin");
        // One code was sent to set the PIN; two more may follow within the hour.
        let reset = site.act(&second, "reset", &[]).await;
        reset.is(200, "We sent a code");
        assert!(reset.has_form("code") && !reset.has_form("pin"));
        site.w.t.advance(Span::minutes(1));
        let shown = site.get(&second).await;
        assert!(shown.has_form("pin") && shown.has_form("code"), "both ways are open: {}", shown.text());
        let codes = site.w.post.count(MessageKind::Code);
        site.w.post.answer(SendOutcome::Refused { why: "no such number".into() });
        site.submit(&second, &reset.form("send_code"), &[]).await.is(502, "We could not send your code.");
        assert_eq!(site.w.post.count(MessageKind::Code), codes + 1);
        site.w.t.advance(Span::minutes(1));
        let many = site.submit_anew(&second, &reset.form("send_code"), &[]).await;
        many.is(429, "You have had 3 codes in an hour. You can get another from 10:00.");
        assert_eq!(many.header("retry-after"), Some("3480"));
        assert!(!many.has_form("send_code") && !many.has_form("reset"));
        assert_eq!(site.w.post.count(MessageKind::Code), codes + 1);
        act(&site.w.t.app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        let suspended = site.get(&second).await;
        suspended.is(200, "Your wallet is on hold");
        assert!(!suspended.has_form("pin") && !suspended.has_form("send_code") && suspended.has_form("cancel"));
        site.submit(&second, &form, &[("pin", PIN)]).await.is(403, "Your wallet is on hold");
        site.post(&second, &["Sec-Fetch-Site: same-origin"], &[("reset", "1")]).await.is(403, "Your wallet is on hold");
        site.close().await;
    }

    async fn a_code_ends_after_five_wrong_tries_and_the_newest_counts(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let form = site.act(&link, "send_code", &[]).await.form("code");
        let old = site.code();
        site.w.t.advance(Span::minutes(1));
        site.act(&link, "send_code", &[]).await.is(200, "We sent a code");
        let code = site.code();
        let enter = |code: String| {
            let (site, link, form) = (&site, &link, &form);
            async move { site.submit_anew(link, form, &[("code", &code), ("new_pin", PIN), ("new_pin_again", PIN)]).await }
        };
        if old != code {
            enter(old).await.is(422, "Wrong code. You have 4 tries left.");
        }
        let wrong = if code == "123123" { "321321" } else { "123123" };
        for left in ["3 tries", "2 tries", "1 try"] {
            enter(wrong.to_owned()).await.is(422, &format!("Wrong code. You have {left} left."));
        }
        let last = enter(wrong.to_owned()).await;
        last.is(422, "Wrong code. That was the last try, so this code no longer works. You can get a new code from 09:02.");
        assert!(last.text().matches("09:02").count() == 1, "told once: {}", last.text());
        assert!(last.has_form("send_code") && !last.has_form("code"));
        enter(code).await.is(422, "This code no longer works.");
        site.close().await;
    }

    async fn a_hundred_right_pins_at_once_pay_once(db: TestDatabase) {
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let form = site.get(&link).await.form("pin");
        let tries = (0..100).map(|_| site.submit(&link, &form, &[("pin", PIN)]));
        let shown = futures_util::future::join_all(tries).await;
        let mut told = 0;
        for page in &shown {
            assert!(matches!(page.status, 200 | 429), "{page:?}");
            told += usize::from(page.body.contains("Your payment is complete."));
        }
        assert!(told > 0 && told == shown.iter().filter(|page| page.status == 200).count());
        assert_eq!(site.w.wallet().await.balance, Money(1_500_000));
        let events = site.w.t.app.store.deliveries_of_payment(site.w.payment(&started).await.id).await.unwrap();
        assert_eq!(events.len(), 1);
        site.close().await;
    }
}

/// A form as a page that was opened before the lock has it.
fn open_form(site: &Site, link: &str) -> super::site::Form {
    let token = site.w.t.app.vault.form_token(link, &[7; 16]).to_string();
    [("form_token".to_owned(), token), ("pin".to_owned(), PIN.to_owned())].into()
}
