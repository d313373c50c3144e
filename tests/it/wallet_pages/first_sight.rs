//! What a page told is still so when it is looked at again, and is told in the words of somebody who does not know how
//! the service works.

use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::outbound::message::SendOutcome;

use super::site::{DEV, NOT_DEV, Shown, Site};
use crate::harness::app::ACCOUNT;
use crate::wallet::world::{PIN, WRONG, fund};

const SUPPORT: &str = "[pages]\noperator_name = \"Kudi Basket\"\nsupport = \"0700 555 0100\"\n";

#[track_caller]
fn says(page: &Shown, part: &str) {
    let text = page.text().replace('\u{a0}', " ");
    assert_eq!(text.matches(part).count(), 1, "{part:?} in {text}");
}

#[track_caller]
fn not(page: &Shown, part: &str) {
    let text = page.text().replace('\u{a0}', " ");
    assert!(!text.contains(part), "{part:?} in {text}");
}

#[track_caller]
fn ordered(page: &Shown, first: &str, second: &str) {
    let at = |part: &str| page.body.find(part).unwrap_or_else(|| panic!("no {part:?}: {}", page.text()));
    assert!(at(first) < at(second), "{first:?} after {second:?}: {}", page.text());
}

/// Fills in the form for a code.
async fn set_pin(site: &Site, link: &str, sent: &Shown, pin: &str) -> Shown {
    let code = site.code();
    let typed = [("code", code.as_str()), ("new_pin", pin), ("new_pin_again", pin)];
    site.submit(link, &sent.form("code"), &typed).await
}

async fn wrong(site: &Site, link: &str, times: usize) -> Shown {
    let form = site.get(link).await.form("pin");
    let mut last = None;
    for _ in 0..times {
        last = Some(site.submit_anew(link, &form, &[("pin", WRONG)]).await);
    }
    last.unwrap()
}

async fn top_up(site: &Site, naira: i64) {
    let (app, phone) = (&site.w.t.app, site.w.phone());
    let topup =
        start_topup(app, &site.w.shop.caller, &phone, Money(naira * 100), "Ifeoma Danladi", None).await;
    assert!(matches!(topup, Ok(ToppingUp::Waiting(..))), "{topup:?}");
}

/// A link whose payment the balance no longer covers, and the answer to the right PIN.
async fn too_low(site: &Site) -> (String, Shown) {
    let (_, first) = site.w.ready(8_000, 5_000).await;
    let (_, second) = site.begin(4_000, "k-2").await;
    let form = site.get(&second).await.form("pin");
    site.pay(&first, PIN).await.is(200, "Your payment is complete.");
    let low = site.submit(&second, &form, &[("pin", PIN)]).await;
    (second, low)
}

on_both! {
    async fn a_code_of_another_link_is_told_with_where_it_works_and_until_it_is_used(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (first, second) = (site.begin(5_000, "k-1").await.1, site.begin(600, "k-2").await.1);
        let sent = site.act(&first, "send_code", &[]).await;
        let asked = site.act(&second, "send_code", &[]).await;
        assert_eq!(asked.status, 429);
        says(
            &asked,
            "The code we just sent works only on the payment page where you asked for it. Use it there, or get one here \
             from 09:01.",
        );
        not(&asked, "WhatsApp");
        set_pin(&site, &first, &sent, PIN).await.is(200, "Your PIN is set.");
        let again = site.get_path(&asked.led_to.clone().unwrap()).await;
        says(&again, "Your PIN is already set. Enter it to pay.");
        assert_eq!(again.heading(), "Confirm your payment");
        assert!(again.has_form("pin") && !again.has_form("send_code"), "{}", again.text());
        not(&again, "09:01");
        site.close().await;
    }

    async fn what_became_of_the_receipt_is_told(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (_, second) = site.begin(600, "k-2").await;
        site.w.send_messages().await;
        let paid = site.pay(&first, PIN).await;
        says(&paid, "We are sending your receipt to +234 803 *** **42.");
        site.w.send_messages().await;
        let paid = site.get(&first).await;
        says(&paid, "Your payment is complete. Your receipt was sent to +234 803 *** **42.");
        not(&paid, "We are sending");
        site.pay(&second, PIN).await.is(200, "We are sending your receipt to");
        site.w.post.answer(SendOutcome::Refused { why: "no such number".into() });
        site.w.send_messages().await;
        let keep = "We could not send your receipt. Keep this page as your receipt.";
        says(&site.get(&second).await, &format!("Your payment is complete. {keep}"));
        site.w.t.advance(Span::minutes(11));
        says(&site.get(&second).await, &format!("You will not be charged again. {keep}"));
        not(&site.get(&first).await, "receipt was sent");
        site.close().await;
    }

    async fn that_the_pin_is_set_is_told_once(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let sent = site.act(&link, "send_code", &[]).await;
        let set = set_pin(&site, &link, &sent, PIN).await;
        says(&set, "Your PIN is set. You have not paid yet.");
        not(&site.get(&link).await, "Your PIN is set");
        site.pay(&link, WRONG).await.is(422, "You have 4 tries left.");
        let look = site.get(&link).await;
        says(&look, "You have 4 tries left to enter your PIN.");
        not(&look, "Your PIN is set");
        assert_eq!(look.attributes(".note", "class"), [Some("note plain".to_owned())]);
        // What was told a moment ago is told with the tries that are left now, which are no good news.
        let again = site.get_path(&set.led_to.clone().unwrap()).await;
        says(&again, "You have 4 tries left to enter your PIN.");
        assert!(!again.body.contains("tries left to enter your PIN.</p>\n<p class=\"note good"), "{}", again.body);
        // The back button leads to the page that asked for the code.
        says(&site.get_path(&format!("/pay/{link}?code=1")).await, "Your PIN is already set. Enter it to pay.");
        site.close().await;
    }

    async fn what_stood_in_the_way_and_no_longer_does_is_no_error(db: TestDatabase) {
        let site = Site::with(db, &format!("{DEV}[wallet.tier1]\ndaily = \"9000\"\n")).await;
        let (link, low) = too_low(&site).await;
        fund(&site.w.t.app, 5_000).await;
        let page = site.get_path(&low.led_to.clone().unwrap()).await;
        says(&page, "Your wallet has enough money now. You have not paid yet. Enter your PIN to pay.");
        assert_eq!(page.attributes(".note", "class"), [Some("note plain".to_owned())]);
        site.w.t.advance(Span::minutes(14 * 60 + 58));
        let (third, fourth) = (site.begin(1_000, "k-3").await.1, site.begin(3_500, "k-4").await.1);
        let form = site.get(&fourth).await.form("pin");
        site.pay(&third, PIN).await.is(200, "Your payment is complete.");
        site.w.t.advance(Span::seconds(60));
        let over = site.submit(&fourth, &form, &[("pin", PIN)]).await;
        says(&over, "You have not paid: this is over your daily limit.");
        site.w.t.advance(Span::seconds(61));
        let page = site.get_path(&over.led_to.clone().unwrap()).await;
        says(&page, "Your daily limit allows this payment now. You have not paid yet. Enter your PIN to pay.");
        not(&page, "over your daily limit");
        assert_eq!(site.get(&link).await.status, 200);
        site.close().await;
    }

    async fn a_lock_is_told_with_what_became_of_the_payment(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (second, third) = (site.begin(400, "k-2").await.1, site.begin(300, "k-3").await.1);
        wrong(&site, &first, 5).await;
        site.w.t.advance(Span::seconds(20));
        let locked = wrong(&site, &second, 5).await;
        assert_eq!(locked.heading(), "Payment stopped");
        says(&locked, "Too many wrong PINs. We stopped this payment and locked your wallet until tomorrow, 09:01. No money has left it.");
        says(&locked, "To unlock it now, set a new PIN with a code that we send to +234 803 *** **42.");
        says(&locked, "locked");
        site.w.send_messages().await;
        let told = site.w.post.last(MessageKind::Locked).text;
        for part in [
            "was locked on 10 Mar 2026, 09:01 after wrong PINs.",
            "Your payment of NGN 400.00 to adire.example Ltd was stopped. No money has left your wallet.",
            "It unlocks on 11 Mar 2026, 09:01.",
            "set a new PIN with a code. To pay, ask the shop for a new link.",
        ] {
            assert!(told.contains(part), "{part:?} in {told}");
        }
        let open = site.get(&third).await;
        assert_eq!(open.heading(), "Your wallet is locked");
        says(&open, "Too many wrong PINs. We locked your wallet until tomorrow, 09:01. No money has left it.");
        says(&open, "If you wait until then, you will need a new link from the shop.");
        let sent = site.submit(&third, &open.form("reset"), &[]).await;
        assert_eq!(sent.heading(), "Unlock your wallet");
        says(&sent, "Enter the code from your message and choose a new PIN.");
        says(&sent, "Save my PIN and unlock");
        site.close().await;
    }

    async fn a_lock_without_a_stop_does_not_tell_of_one(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (second, third) = (site.begin(400, "k-2").await.1, site.begin(300, "k-3").await.1);
        wrong(&site, &first, 5).await;
        wrong(&site, &second, 4).await;
        wrong(&site, &third, 1).await;
        site.w.send_messages().await;
        let told = site.w.post.last(MessageKind::Locked).text;
        assert!(!told.contains("was stopped") && told.contains("It unlocks on 11 Mar 2026, 09:00."), "{told}");
        site.close().await;
    }

    async fn who_unlocks_on_a_stopped_payment_is_told_so(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (_, second) = site.begin(400, "k-2").await;
        wrong(&site, &first, 5).await;
        let stopped = site.get(&first).await;
        assert_eq!(stopped.heading(), "Payment stopped");
        let sent = site.submit(&first, &stopped.form("reset"), &[]).await;
        assert_eq!(sent.heading(), "Set a new PIN");
        says(&sent, "Enter the code from your message and choose a new PIN. Then ask the shop for a new link.");
        says(&sent, "Save my PIN");
        not(&sent, "and unlock");
        wrong(&site, &second, 5).await;
        site.w.t.advance(Span::minutes(1));
        let stopped = site.get(&second).await;
        let sent = site.submit(&second, &stopped.form("reset"), &[]).await;
        assert_eq!(sent.heading(), "Unlock your wallet");
        says(&sent, "Save my PIN and unlock");
        says(&sent, "We stopped this payment. No money has left your wallet.");
        set_pin(&site, &second, &sent, "8305").await.is(200, "Your wallet is unlocked.");
        site.close().await;
    }

    async fn a_daily_limit_tells_what_is_left_and_offers_nothing_in_vain(db: TestDatabase) {
        let site = Site::with(db, &format!("{DEV}[wallet.tier1]\ndaily = \"9000\"\n")).await;
        let (_, first) = site.w.ready(20_000, 6_000).await;
        let (_, second) = site.begin(4_000, "k-2").await;
        let form = site.get(&second).await.form("pin");
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        let look = site.get(&second).await;
        says(&look, "Ask the shop for a new link after midnight, or pay another way.");
        for part in ["smaller amount", "Check again", "3,000.00"] {
            not(&look, part);
        }
        let told = site.submit(&second, &form, &[("pin", PIN)]).await;
        says(&told, "You can still spend NGN 3,000.00 today.");
        says(&told, "Ask the shop for a smaller amount, or for a new link after midnight.");
        site.close().await;
    }

    async fn a_missing_amount_is_to_be_written_down_and_top_ups_are_told_apart(db: TestDatabase) {
        let site = Site::start(db).await;
        let (link, low) = too_low(&site).await;
        says(&low, "Ask the shop for a top-up of at least NGN 1,000.00.");
        says(&low, "Write this amount down: this page shows it only after you enter your PIN.");
        let look = site.get(&link).await;
        says(&look, "Ask the shop for a top-up.");
        not(&look, "Write this amount down");
        site.w.t.account(ACCOUNT).await;
        top_up(&site, 1_500).await;
        let one = site.get(&link).await;
        says(&one, "Send exactly this amount by bank transfer.");
        assert_eq!(one.attributes("h3", "class").len(), 0, "{}", one.body);
        top_up(&site, 140).await;
        let two = site.get(&link).await;
        says(&two, "Send exactly this amount by bank transfer.");
        assert_eq!(two.attributes("details.small-topup dl", "class").len(), 1, "{}", two.body);
        says(&two, "NGN 140.00 – not enough for this order");
        top_up(&site, 1_700).await;
        let three = site.get(&link).await;
        says(&three, "Send exactly one of these amounts by bank transfer.");
        assert_eq!(three.attributes("h3", "class").len(), 2, "{}", three.body);
        assert_eq!(three.attributes("details.small-topup dl", "class").len(), 1, "{}", three.body);
        site.close().await;
    }

    async fn the_next_code_is_told_in_plain_words_and_its_button_waits(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let mut page = site.act(&link, "send_code", &[]).await;
        says(&page, "No code yet? You can get a new one from 09:01. Only the newest code works.");
        let other = if site.code() == "123123" { "321321" } else { "123123" };
        for times in 1..=5 {
            let typed = [("code", other), ("new_pin", PIN), ("new_pin_again", PIN)];
            page = site.submit_anew(&link, &page.form("code"), &typed).await;
            not(&page, "No code yet?");
            if times < 5 {
                says(&page, "You can get a new code from 09:01.");
            }
        }
        says(&page, "so this code no longer works. You can get a new code from 09:01.");
        let button = "form:has(input[name=send_code]) button";
        assert_eq!(page.attributes(button, "class"), [Some("other".to_owned())], "{}", page.body);
        site.w.t.advance(Span::minutes(1));
        let later = site.get(&link).await;
        assert_eq!(later.attributes(button, "class"), [Some("main".to_owned())], "{}", later.body);
        site.close().await;
    }

    async fn the_operator_can_be_called_and_never_asks_for_a_pin(db: TestDatabase) {
        let site = Site::with(db, &format!("{DEV}{SUPPORT}")).await;
        let (link, failed) = site.without_a_code().await;
        says(&failed, "Wait a minute, then ask again. If it happens again, contact Kudi Basket (0700 555 0100).");
        let tel = Some("tel:07005550100".to_owned());
        assert_eq!(failed.attributes("main .note a", "href"), std::slice::from_ref(&tel));
        assert_eq!(failed.attributes("footer a", "href"), [tel]);
        says(&failed, "Kudi Basket did not write this, and never asks for your PIN by phone.");
        ordered(&failed, "2 x ankara", "did not write this");
        // It belongs to the number.
        ordered(&failed, "<dt>Wallet</dt>", "Not your number? Close this page.");
        ordered(&failed, "Not your number? Close this page.", "Pay before");
        site.w.t.advance(Span::minutes(1));
        let sent = site.act(&link, "send_code", &[]).await;
        assert_eq!(sent.names("[autofocus]"), ["code"]);
        site.close().await;
    }

    async fn nothing_is_claimed_of_a_payment_by_a_page_that_did_not_look(db: TestDatabase) {
        let site = Site::with(db, &format!("{NOT_DEV}trusted_proxies = [\"127.0.0.1\"]\n")).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let from = ["X-Forwarded-For: 203.0.113.9"];
        for _ in 0..600 {
            site.send("GET", "/pay/nothing", &from, None).await;
        }
        let over = site.send("GET", &format!("/pay/{link}"), &from, None).await;
        over.is(429, "Too many requests came from your network. Wait ");
        not(&over, "has not changed");
        says(&over, "then tap the button to see your payment.");
        let form = site.post(&link, &from, &[("pin", PIN)]).await;
        form.is(429, "Too many requests came from your network. This did not change your payment. Wait ");
        let foreign = site.post(&link, &["Origin: https://evil.example"], &[("pin", "1")]).await;
        assert_eq!((foreign.status, foreign.heading().as_str()), (403, "That did not work"));
        says(&foreign, "We could not accept that form. This did not change your payment.");
        assert_eq!(foreign.text().matches("Open the payment").count(), 1, "{}", foreign.text());
        site.close().await;
    }

    async fn times_of_these_days_have_no_date(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        site.w.t.advance(Span::minutes(30));
        says(&site.get(&link).await, "The link worked until today, 09:30.");
        site.w.t.advance(Span::days(1));
        says(&site.get(&link).await, "The link worked until yesterday, 09:30.");
        site.w.t.advance(Span::days(1));
        says(&site.get(&link).await, "The link worked until 10 Mar 2026, 09:30.");
        site.close().await;
    }

    async fn a_link_with_a_slash_behind_it_is_that_link(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let page = site.get_path(&format!("/pay/{link}/?cancel=1")).await;
        assert_eq!((page.status, page.header("location")), (303, Some(format!("../{link}?cancel=1").as_str())));
        let none = site.get_path("/pay/nothing/").await;
        assert_eq!((none.status, none.header("location")), (303, Some("../nothing")));
        let form = site.send("POST", &format!("/pay/{link}/"), &[], Some("pin=4071")).await;
        assert_eq!((form.status, form.heading().as_str()), (404, "We could not find this payment"));
        site.close().await;
    }

    async fn a_refund_names_the_receipt(db: TestDatabase) {
        use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        site.pay(&link, PIN).await.is(200, "Your payment is complete.");
        let ask = Reverse {
            business_id: site.w.shop.id,
            transaction_id: &started.transaction_id,
            reason: "goods came back",
            operator: "ada",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&site.w.t.app, &ask).await.unwrap().unwrap();
        site.w.send_messages().await;
        let told = site.w.post.last(MessageKind::Refund).text;
        assert!(told.ends_with(&format!("Receipt number: {}", started.transaction_id)), "{told}");
        site.close().await;
    }
}
