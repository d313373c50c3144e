//! What the page says is true and can be done: when the next code may be had, what a PIN that is set needs, what
//! a customer who cannot pay does next.

use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::domain::wallet::WalletStatus;
use tillbell::ops::wallet_payments::start::{StartRequest, Started, start_wallet_payment};
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};

use super::site::{DEV, Shown, Site};
use crate::harness::app::ACCOUNT;
use crate::wallet::world::{PIN, WRONG, token};

/// The page says it, and only once.
#[track_caller]
fn says(page: &Shown, part: &str) {
    assert_eq!(page.text().matches(part).count(), 1, "{part:?} in {}", page.text());
}

#[track_caller]
fn not(page: &Shown, part: &str) {
    assert!(!page.text().contains(part), "{part:?} in {}", page.text());
}

#[track_caller]
fn titled(page: &Shown, begin: &str) {
    assert!(page.body.contains(&format!("<title>{begin}")), "{}", &page.body[..page.body.len().min(600)]);
}

/// Five wrong PINs.
async fn stop(site: &Site, link: &str) {
    let form = site.get(link).await.form("pin");
    for _ in 0..5 {
        site.submit_anew(link, &form, &[("pin", WRONG)]).await;
    }
}

on_both! {
    async fn codes_that_are_used_up_are_told_with_the_true_time(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let ask = site.get(&link).await.form("send_code");
        let mut last = site.submit_anew(&link, &ask, &[]).await;
        for _ in 0..2 {
            site.w.t.advance(Span::minutes(1));
            last = site.submit_anew(&link, &ask, &[]).await;
        }
        let again = "You have had 3 codes in an hour. If this code does not work, you can get another from 10:00. \
                     Ask the shop for a new link after that.";
        let refused = site.submit_anew(&link, &ask, &[]).await;
        assert_eq!((last.status, refused.status), (200, 429));
        for page in [last, site.get(&link).await, refused] {
            says(&page, again);
            not(&page, "No code yet?");
            assert!(page.has_form("code") && !page.has_form("send_code"), "{}", page.text());
        }
        // When that code has ended, too, nothing is offered that would be refused.
        let form = site.get(&link).await.form("code");
        let wrong = if site.code() == "123123" { "321321" } else { "123123" };
        let mut over = None;
        for _ in 0..5 {
            let typed = [("code", wrong), ("new_pin", PIN), ("new_pin_again", PIN)];
            over = Some(site.submit_anew(&link, &form, &typed).await);
        }
        let over = over.unwrap();
        says(&over, "That was the last try, so this code no longer works.");
        says(&over, "You have had 3 codes in an hour. You can get another from 10:00. Ask the shop for a new link after that.");
        not(&over, "Ask for a new one");
        assert!(!over.has_form("send_code") && !over.has_form("reset"));
        // Another link says the same, and who asks there all the same is told so.
        let (_, other) = site.begin(600, "k-2").await;
        let look = site.get(&other).await;
        says(&look, "You have had 3 codes in an hour. You can get another from 10:00.");
        assert!(!look.has_form("send_code"), "{}", look.text());
        let asked = site.submit_anew(&other, &ask, &[]).await;
        assert_eq!(asked.status, 429);
        says(&asked, "You have had 3 codes in an hour. You can get another from 10:00. Ask the shop for a new link after that.");
        assert!(!asked.has_form("send_code"), "{}", asked.text());
        assert_eq!(site.w.post.count(MessageKind::Code), 3);
        // And it is true.
        site.w.t.advance(Span::minutes(58));
        let (_, late) = site.begin(700, "k-3").await;
        site.act(&late, "send_code", &[]).await.is(200, "We sent a code to");
        site.close().await;
    }

    async fn codes_of_the_day_are_told_too(db: TestDatabase) {
        let site = Site::with(db, &format!("{DEV}[wallet]\nlink_lifetime = \"120m\"\n")).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let ask = site.get(&link).await.form("send_code");
        for (n, pause) in [0, 1, 1, 59, 1].into_iter().enumerate() {
            site.w.t.advance(Span::minutes(pause));
            let page = site.submit_anew(&link, &ask, &[]).await;
            page.is(200, "We sent a code to");
            match n {
                // The link is still open then.
                2 => {
                    says(&page, "You have had 3 codes in an hour. If this code does not work, you can get another from 10:00.");
                    not(&page, "new link");
                }
                4 => says(&page, "You have had 5 codes in a day. If this code does not work, you can get another from tomorrow, 09:00."),
                _ => not(&page, "codes in"),
            }
        }
        // With the PIN set there is no button either that must fail.
        let typed = [("code", site.code()), ("new_pin", PIN.to_owned()), ("new_pin_again", PIN.to_owned())];
        let typed = typed.each_ref().map(|(name, value)| (*name, value.as_str()));
        let set = site.act(&link, "code", &typed).await;
        set.is(200, "Your PIN is set.");
        says(&set, "Forgot your PIN? You have had 5 codes in a day. You can get another from tomorrow, 09:00.");
        assert!(set.has_form("pin") && !set.has_form("reset"), "{}", set.text());
        site.close().await;
    }

    async fn a_payment_that_wrong_pins_stopped_lets_the_customer_set_a_new_pin(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (_, second) = site.begin(400, "k-2").await;
        stop(&site, &first).await;
        let failed = site.get(&first).await;
        failed.is(200, "If you forgot your PIN, set a new one here first.");
        assert!(failed.has_form("reset"), "{}", failed.text());
        stop(&site, &second).await;
        let locked = site.get(&second).await;
        assert_eq!(locked.heading(), "Payment stopped");
        says(&locked, "To unlock it now, set a new PIN with a code that we send to");
        let sent = site.submit(&second, &locked.form("reset"), &[]).await;
        sent.is(200, "We sent a code to");
        assert_eq!(sent.heading(), "Unlock your wallet");
        not(&sent, "You confirm the payment");
        assert!(!sent.has_form("pin") && !sent.has_form("cancel"), "{}", sent.text());
        let typed = [("code", site.code()), ("new_pin", "8305".to_owned()), ("new_pin_again", "8305".to_owned())];
        let typed = typed.each_ref().map(|(name, value)| (*name, value.as_str()));
        site.w.t.advance(Span::seconds(1));
        let set = site.submit(&second, &sent.form("code"), &typed).await;
        set.is(200, "Your new PIN is set Your wallet is unlocked. You have not paid. Ask the shop for a new link.");
        assert!(set.forms().is_empty(), "{}", set.text());
        assert_eq!(site.w.wallet().await.status(site.w.t.app.now()), WalletStatus::Active);
        assert_eq!(site.w.wallet().await.balance, Money(2_000_000));
        let (_, next) = site.begin(400, "k-3").await;
        site.pay(&next, "8305").await.is(200, "Your payment is complete.");
        // When the link's time is over, nothing can be done by it.
        site.w.t.advance(Span::minutes(30));
        let late = site.get(&first).await;
        assert!(late.forms().is_empty(), "{}", late.text());
        site.post(&first, &["Sec-Fetch-Site: same-origin"], &[("reset", "1")]).await.is(409, "Payment stopped");
        site.close().await;
    }

    async fn a_pin_that_is_set_is_told_to_who_sends_the_form_again(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let form = site.act(&link, "send_code", &[]).await.form("code");
        let code = site.code();
        let typed = [("code", code.as_str()), ("new_pin", PIN), ("new_pin_again", PIN)];
        site.submit(&link, &form, &typed).await.is(200, "Your PIN is set.");
        for _ in 0..2 {
            let again = site.submit(&link, &form, &typed).await;
            again.is(409, "Your PIN is already set. Enter it to pay.");
            not(&again, "no longer works");
            assert!(again.has_form("pin") && !again.has_form("code"), "{}", again.text());
        }
        assert_eq!(site.w.post.count(MessageKind::Code), 1);
        assert_eq!(site.w.wallet().await.pin_version, 1);
        site.pay(&link, PIN).await.is(200, "Your payment is complete.");
        site.close().await;
    }

    async fn a_code_of_another_shops_link_is_told_without_the_shop(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let other = site.w.t.merchant("kente.example").await;
        let other = site.w.enabled(&other, "https://kente.example/hook").await;
        let request = StartRequest { webhook_url: Some("https://kente.example/hook".into()), ..site.w.request(100, "k-3") };
        let elsewhere = match start_wallet_payment(&site.w.t.app, &other.caller, &request).await.unwrap() {
            Started::Waiting(started) => token(&started),
            other => panic!("{other:?}"),
        };
        let (_, link) = site.begin(5_000, "k-1").await;
        site.act(&elsewhere, "send_code", &[]).await.is(200, "We sent a code to");
        site.w.t.advance(Span::seconds(15));
        let look = site.get(&link).await;
        not(&look, "just sent");
        let asked = site.submit(&link, &look.form("send_code"), &[]).await;
        asked.is(429, "The code we just sent works only on the payment page where you asked for it. Use it there, or get one here from 09:01.");
        not(&asked, "kente");
        site.close().await;
    }

    async fn a_state_that_stands_in_the_way_is_in_the_title(db: TestDatabase) {
        let site = Site::with(db, &format!("{DEV}[wallet.tier1]\ndaily = \"9000\"\n")).await;
        let (_, first) = site.w.ready(8_000, 4_000).await;
        let (low, over) = (site.begin(5_000, "k-2").await.1, site.begin(6_000, "k-3").await.1);
        let (low_form, over_form) = (site.get(&low).await.form("pin"), site.get(&over).await.form("pin"));
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        let page = site.submit(&low, &low_form, &[("pin", PIN)]).await;
        page.is(409, "You have not paid. No money has left your wallet.");
        titled(&site.get(&low).await, "Your balance is too low: NGN 5,000.00 to adire.example Ltd");
        site.w.funded(4_000).await;
        let page = site.submit(&over, &over_form, &[("pin", PIN)]).await;
        page.is(409, "You have not paid: this is over your daily limit.");
        let page = site.get(&over).await;
        titled(&page, "This is over your daily limit: NGN 6,000.00");
        page.is(200, "Ask the shop for a new link after midnight, or pay another way.");
        assert!(!page.has_form("pin") && !page.has_form("reset") && page.has_form("cancel"), "{}", page.text());
        // A link that is open at midnight may be paid then.
        site.w.t.advance(Span::minutes(14 * 60 + 45));
        site.w.funded(4_000).await;
        let (third, fourth) = (site.begin(5_000, "k-4").await.1, site.begin(500, "k-5").await.1);
        site.pay(&third, PIN).await.is(200, "Your payment is complete.");
        let page = site.get(&fourth).await;
        page.is(200, "Try again after midnight, before 00:15.");
        assert!(page.has_form("pin"), "{}", page.text());
        site.w.t.advance(Span::minutes(15));
        site.pay(&fourth, PIN).await.is(200, "Your payment is complete.");
        let (sixth, seventh) = (site.begin(100, "k-6").await.1, site.begin(100, "k-7").await.1);
        let eighth = site.begin(100, "k-8").await.1;
        stop(&site, &sixth).await;
        stop(&site, &seventh).await;
        let page = site.get(&eighth).await;
        titled(&page, "Your wallet is locked: NGN 100.00");
        page.is(200, "locked your wallet until tomorrow, 00:00.");
        site.close().await;
    }

    async fn a_code_tells_until_when_it_works(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        site.act(&link, "send_code", &[]).await.is(200, "It works until 09:10.");
        assert!(site.w.post.last(MessageKind::Code).text.contains("It works until 09:10."));
        site.w.t.advance(Span::minutes(26));
        site.act(&link, "send_code", &[]).await.is(200, "It works until 09:30.");
        let text = site.w.post.last(MessageKind::Code).text.clone();
        assert!(text.contains("It works until 09:30.") && !text.contains("10 minutes"), "{text}");
        assert!(text.contains("Never share it with anyone, including adire.example Ltd and us"), "{text}");
        site.close().await;
    }

    async fn of_two_top_ups_one_is_to_be_chosen(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(8_000, 5_000).await;
        let (_, second) = site.begin(4_000, "k-2").await;
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        site.w.t.account(ACCOUNT).await;
        for (naira, choose) in [(150_000, false), (100_000, true)] {
            let (app, phone) = (&site.w.t.app, site.w.phone());
            let topup = start_topup(app, &site.w.shop.caller, &phone, Money(naira), "Ifeoma Danladi", None).await;
            assert!(matches!(topup, Ok(ToppingUp::Waiting(..))), "{topup:?}");
            let page = site.get(&second).await;
            assert_eq!(page.text().contains("Send exactly one of these amounts"), choose, "{}", page.text());
            says(&page, "To pay this order, send it before 09:30.");
        }
        says(&site.get(&second).await, "Pay before");
        site.close().await;
    }

    async fn the_summary_says_who_wrote_it(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        says(&site.get(&link).await, "From the shop: your order");
        site.close().await;
    }
}
