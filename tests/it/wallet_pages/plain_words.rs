//! The page says what is so, once, in words that a customer knows, and puts first what is to be done first.

use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::businesses::{BusinessChange, ChargeChange, set_business};
use tillbell::ops::wallet_payments::topup::start_topup;

use super::site::{Shown, Site};
use crate::harness::app::ACCOUNT;
use crate::wallet::world::{HOOK, PIN, WRONG};

#[track_caller]
fn says(page: &Shown, part: &str) {
    let text = page.text().replace('\u{a0}', " ");
    assert_eq!(text.matches(part).count(), 1, "{part:?} in {text}");
}

#[track_caller]
fn not(page: &Shown, part: &str) {
    assert!(!page.text().contains(part), "{part:?} in {}", page.text());
}

/// `first` comes before `second` on the page.
#[track_caller]
fn ordered(page: &Shown, first: &str, second: &str) {
    let at = |part: &str| page.body.find(part).unwrap_or_else(|| panic!("no {part:?}: {}", page.text()));
    assert!(at(first) < at(second), "{first:?} after {second:?}: {}", page.text());
}

async fn wrong(site: &Site, link: &str, times: usize) -> Shown {
    let mut last = None;
    for _ in 0..times {
        last = Some(site.pay(link, WRONG).await);
    }
    last.unwrap()
}

async fn set_pin(site: &Site, link: &str, field: &str, pin: &str) -> Shown {
    let sent = site.act(link, field, &[]).await;
    sent.is(200, "We sent a code to");
    let code = site.code();
    site.w.t.advance(Span::seconds(1));
    let typed = [("code", code.as_str()), ("new_pin", pin), ("new_pin_again", pin)];
    site.submit(link, &sent.form("code"), &typed).await
}

on_both! {
    async fn the_last_try_before_the_lock_says_so(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (_, second) = site.begin(400, "k-2").await;
        wrong(&site, &first, 4).await.is(422, "One more wrong PIN and we will stop this payment.");
        wrong(&site, &first, 1).await;
        not(&wrong(&site, &second, 3).await, "locks");
        let page = wrong(&site, &second, 1).await;
        says(&page, "One more wrong PIN locks your wallet until tomorrow, 09:00. Not sure? Use “Forgot your PIN?” below.");
        not(&page, "stop this payment");
        assert!(page.has_form("reset"), "{}", page.text());
        not(&site.get(&second).await, "locks your wallet");
        site.close().await;
    }

    async fn one_lock_has_one_time(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (second, third) = (site.begin(400, "k-2").await.1, site.begin(400, "k-3").await.1);
        wrong(&site, &first, 5).await;
        site.w.t.advance(Span::seconds(20));
        wrong(&site, &second, 5).await;
        says(&site.get(&second).await, "tomorrow, 09:01");
        let locked = site.get(&third).await;
        says(&locked, "locked your wallet until tomorrow, 09:01");
        for (link, text) in [(&second, "Send a code to unlock"), (&third, "Send a code to unlock")] {
            let page = site.get(link).await;
            says(&page, text);
            ordered(&page, text, "<section class=\"card\"");
        }
        site.close().await;
    }

    async fn a_new_pin_on_an_ended_payment_is_told_in_one_sentence(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (_, second) = site.begin(400, "k-2").await;
        wrong(&site, &first, 5).await;
        let failed = site.get(&first).await;
        says(&failed, "Send a code for a new PIN");
        ordered(&failed, "Send a code for a new PIN", "<section class=\"card\"");
        let ended = "You have not paid. Ask the shop for a new link.";
        let set = set_pin(&site, &first, "reset", "8305").await;
        says(&set, &format!("Your new PIN is set {ended}"));
        assert_eq!(set.text().matches("new link").count(), 1, "{}", set.text());
        for old in ["You have not paid yet", "To try again", "too many times"] {
            not(&set, old);
        }
        wrong(&site, &second, 5).await;
        site.w.t.advance(Span::minutes(2));
        let third = site.begin(400, "k-3").await.1;
        wrong(&site, &third, 5).await;
        let set = set_pin(&site, &third, "reset", "8306").await;
        says(&set, &format!("Your new PIN is set Your wallet is unlocked. {ended}"));
        site.close().await;
    }

    async fn errors_do_not_say_what_they_do_not_know(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        site.pay(&link, PIN).await.is(200, "Your payment is complete.");
        let not_changed = "This did not change your payment.";
        let ours = "Sec-Fetch-Site: same-origin";
        let path = format!("/pay/{link}");
        let form = "Content-Type: application/x-www-form-urlencoded";
        for (headers, status) in [
            (vec!["Origin: https://shop.example", form], 403),
            (vec![ours, form], 400),
            (vec![ours, "Content-Type: text/plain"], 415),
        ] {
            let page = site.send("POST", &path, &headers, Some("pay=1")).await;
            page.is(status, not_changed);
            not(&page, "Nothing was charged");
            not(&page, "to keep you safe");
        }
        let page = site.send("POST", &path, &["Origin: https://shop.example", form], Some("pin=1")).await;
        page.is(403, "We could not accept that form.");
        site.close().await;
    }

    async fn top_ups_that_cover_the_payment_come_first(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(8_000, 5_000).await;
        let (_, second) = site.begin(4_000, "k-2").await;
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        site.w.t.account(ACCOUNT).await;
        // The newest are too small.
        for naira in [1_500, 120, 130, 140] {
            let (app, phone) = (&site.w.t.app, site.w.phone());
            start_topup(app, &site.w.shop.caller, &phone, Money(naira * 100), "Ifeoma Danladi", None).await.unwrap();
        }
        let page = site.get(&second).await;
        ordered(&page, "NGN 1,500.00", "NGN 140.00 – not enough for this order");
        ordered(&page, "Top up your wallet", "Your order");
        says(&page, "NGN 140.00 – not enough for this order");
        not(&page, "one of these amounts");
        not(&page, "Send it by");
        assert!(page.text().contains("Account open until"), "{}", page.text());
        let short = site.pay(&second, PIN).await;
        assert_eq!(short.status, 409);
        assert_eq!(short.attributes(".note, .state", "role"), [Some("alert".to_owned())], "{}", short.text());
        says(&short, "You have not paid.");
        site.close().await;
    }

    async fn charges_on_top_are_named(db: TestDatabase) {
        let mut site = Site::start(db).await;
        let charges = ChargeChange { paid_by_customer: Some(true), ..ChargeChange::default() };
        let change = BusinessChange { charges, ..BusinessChange::default() };
        set_business(&site.w.t.app, "test", site.w.shop.id, &change).await.unwrap().unwrap();
        site.w.shop = site.w.enabled(&site.w.shop, HOOK).await;
        let (started, link) = site.w.ready(20_000, 2_000).await;
        let payment = site.w.payment(&started).await;
        assert!(payment.charges.total() > Money::ZERO && payment.amount > Money(200_000));
        let charges = tillbell::domain::money::naira(payment.charges.total());
        let page = site.get(&link).await;
        says(&page, "Order amount NGN 2,000.00");
        says(&page, &format!("Charges {charges}"));
        let paid = tillbell::domain::money::naira(payment.amount);
        let asked = site.w.post.last(MessageKind::Link).text;
        assert!(asked.contains(&format!("asks you to pay {paid} (including charges of {charges}) for order ")), "{asked}");
        site.pay(&link, PIN).await.is(200, &format!("including charges of {charges}"));
        site.w.send_messages().await;
        let receipt = site.w.post.last(MessageKind::Receipt).text;
        let paid = tillbell::domain::money::naira(payment.amount);
        assert!(receipt.starts_with(&format!("You paid {paid} (including charges of {charges}) to ")), "{receipt}");
        site.close().await;
    }

    async fn codes_that_are_used_up_are_told_on_every_link(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        for _ in 0..3 {
            site.act(&link, "send_code", &[]).await.is(200, "We sent a code to");
            site.w.t.advance(Span::minutes(1));
        }
        let (_, other) = site.begin(600, "k-2").await;
        let look = site.get(&other).await;
        says(&look, "You have had 3 codes in an hour. You can get another from 10:00.");
        assert!(!look.has_form("send_code"), "{}", look.text());
        site.close().await;
    }

    async fn the_pin_comes_first_and_an_open_code_is_folded_below(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        site.act(&link, "reset", &[]).await.is(200, "We sent a code to");
        let page = site.get(&link).await;
        says(&page, "This only saves your PIN. You confirm the payment in the next step.");
        says(&page, "The same 4 digits again.");
        says(&page, "I have a code for a new PIN");
        ordered(&page, "name=\"pin\"", "I have a code for a new PIN");
        ordered(&page, "I have a code for a new PIN", "name=\"code\"");
        assert_eq!(page.names("details form input[name=code]"), ["code"]);
        assert_eq!(page.attributes("details[open]", "class").len(), 0, "closed at first");
        assert_eq!(page.attributes("button.main", "type").len(), 1, "one button stands out: {}", page.body);
        let form = page.form("code");
        site.w.t.advance(Span::minutes(11));
        let typed = [("code", "604218"), ("new_pin", "8305"), ("new_pin_again", "8305")];
        site.submit(&link, &form, &typed).await.is(422, "This code no longer works. Your PIN was not saved.");
        assert_eq!(site.w.post.count(MessageKind::Code), 2);
        site.close().await;
    }

    async fn the_page_speaks_plainly(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let fresh = site.get(&link).await;
        assert!(fresh.body.contains("<title>Create your wallet PIN: NGN 5,000.00 to adire.example Ltd"), "{}", fresh.body);
        says(&fresh, "Not your number? Close this page.");
        let sent = site.submit(&link, &fresh.form("send_code"), &[]).await;
        not(&sent, "This only saves your PIN");
        let code = if site.code() == "123123" { "321321" } else { "123123" };
        let typed = [("code", code), ("new_pin", PIN), ("new_pin_again", PIN)];
        let wrong = site.submit(&link, &sent.form("code"), &typed).await;
        assert_eq!(wrong.text().matches("newest").count(), 1, "{}", wrong.text());
        let expired = site.begin(700, "k-2").await.1;
        site.w.t.advance(Span::minutes(31));
        site.get(&expired).await.is(200, "The link worked until today, 09:30.");
        site.close().await;
    }

    async fn a_browser_that_is_lost_is_shown_a_page(db: TestDatabase) {
        let site = Site::start(db).await;
        let begin = site.send("GET", "/", &["Accept: text/html"], None).await;
        assert_eq!((begin.status, begin.header("location")), (303, Some("/sign-in")), "for people who sign in");
        let browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";
        for (path, heading) in [
            ("/pay", "We could not find this payment"),
            ("/pay/x", "We could not find this payment"),
            ("/payment", "Nothing is here"),
        ] {
            let page = site.send("GET", path, &[browser], None).await;
            assert_eq!((page.status, page.heading().as_str()), (404, heading), "{path}");
        }
        let json = site.send("GET", "/payment", &["Accept: application/json"], None).await;
        assert_eq!((json.status, json.header("content-type")), (404, Some("application/json")));
        let json = site.send("GET", "/payment", &[], None).await;
        assert_eq!((json.status, json.header("content-type")), (404, Some("application/json")));
        site.close().await;
    }
}
