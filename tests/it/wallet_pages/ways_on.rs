//! Nobody is left without a word of what to do next: money that is on its way, the minutes before midnight, a code
//! that ended, a PIN that was changed elsewhere.

use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};

use super::site::{DEV, Shown, Site};
use crate::harness::app::ACCOUNT;
use crate::wallet::world::{PIN, WRONG};

#[track_caller]
fn says(page: &Shown, part: &str) {
    let text = page.text();
    assert_eq!(text.matches(part).count(), 1, "{part:?} in {text}");
}

#[track_caller]
fn not(page: &Shown, part: &str) {
    assert!(!page.text().contains(part), "{part:?} in {}", page.text());
}

async fn top_up(site: &Site, naira: i64) {
    let (app, phone) = (&site.w.t.app, site.w.phone());
    let topup =
        start_topup(app, &site.w.shop.caller, &phone, Money(naira * 100), "Ifeoma Danladi", None).await;
    assert!(matches!(topup, Ok(ToppingUp::Waiting(..))), "{topup:?}");
}

/// The form for the code that was sent there, filled in.
async fn set_pin(site: &Site, link: &str, sent: &Shown, pin: &str) -> Shown {
    let code = site.code();
    let typed = [("code", code.as_str()), ("new_pin", pin), ("new_pin_again", pin)];
    site.submit(link, &sent.form("code"), &typed).await
}

on_both! {
    async fn who_has_sent_the_money_is_told_not_to_send_it_again(db: TestDatabase) {
        let settings = format!("{DEV}[pages]\noperator_name = \"Kudi Basket\"\nsupport = \"0700 555 0100\"\n");
        let site = Site::with(db, &settings).await;
        let (_, first) = site.w.ready(8_000, 5_000).await;
        let (_, second) = site.begin(4_000, "k-2").await;
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        site.w.t.account(ACCOUNT).await;
        let sent = "Already sent it? Do not send it again. It goes into your wallet when it arrives. Questions? Contact Kudi \
                    Basket (0700 555 0100).";
        let none = site.get(&second).await;
        says(&none, "Ask the shop for a top-up.");
        not(&none, "Already sent it?");
        top_up(&site, 1_500).await;
        let low = site.get(&second).await;
        says(&low, sent);
        says(&low, "Send exactly this amount");
        says(&low, "Account open until tomorrow, 09:00");
        site.w.t.advance(Span::minutes(31));
        // Asked for after the link, it is none of its business.
        top_up(&site, 1_700).await;
        let over = site.get(&second).await;
        assert_eq!(over.heading(), "This link has expired");
        says(&over, sent);
        for part in ["Your top-up", "NGN 1,500.00", ACCOUNT, "Account open until tomorrow, 09:00", "The account is still open."] {
            says(&over, part);
        }
        for part in ["To pay this order", "Come back to this page", "not enough", "larger top-up", "1,700.00"] {
            not(&over, part);
        }
        site.w.t.advance(Span::hours(24));
        not(&site.get(&second).await, "Your top-up");
        site.close().await;
    }

    async fn around_midnight_hints_have_no_date(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        site.w.t.advance(Span::minutes(14 * 60 + 58));
        let (_, link) = site.begin(5_000, "k-1").await;
        let sent = site.act(&link, "send_code", &[]).await;
        says(&sent, "No code yet? You can get a new one from 23:59.");
        says(&sent, "It works until 00:08.");
        says(&sent, "Pay before 00:28 (30 minutes left)");
        not(&sent, "2026");
        site.close().await;
    }

    async fn a_code_that_ended_says_in_one_place_when_the_next_comes(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let mut page = site.act(&link, "send_code", &[]).await;
        let wrong = if site.code() == "123123" { "321321" } else { "123123" };
        for _ in 0..5 {
            let typed = [("code", wrong), ("new_pin", PIN), ("new_pin_again", PIN)];
            let form = site.get(&link).await.form("code");
            page = site.submit(&link, &form, &typed).await;
        }
        says(&page, "so this code no longer works. You can get a new code from 09:01.");
        says(&page, "09:01");
        assert!(page.has_form("send_code"), "{}", page.text());
        site.w.t.advance(Span::minutes(1));
        let later = site.get_path(&page.led_to.clone().unwrap()).await;
        says(&later, "so this code no longer works. Ask for a new one.");
        site.close().await;
    }

    async fn a_new_pin_is_introduced(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let sent = site.act(&link, "reset", &[]).await;
        assert_eq!(sent.heading(), "Set a new PIN");
        says(&sent, "Enter the code from your message and choose a new PIN.");
        site.close().await;
    }

    async fn a_pin_that_was_changed_elsewhere_leaves_only_the_shop_to_ask(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 5_000).await;
        let (_, second) = site.begin(400, "k-2").await;
        let form = site.get(&first).await.form("pin");
        for _ in 0..5 {
            site.submit_anew(&first, &form, &[("pin", WRONG)]).await;
        }
        says(&site.get(&first).await, "If you forgot your PIN, set a new one here first.");
        site.w.t.advance(Span::minutes(1));
        let sent = site.act(&second, "reset", &[]).await;
        set_pin(&site, &second, &sent, "8305").await.is(200, "Your PIN is set.");
        let failed = site.get(&first).await;
        says(&failed, "To try again, ask the shop for a new link.");
        not(&failed, "set a new one here");
        assert!(failed.forms().is_empty(), "{}", failed.text());
        site.close().await;
    }

    async fn a_number_is_never_broken(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let number = |page: &Shown, css: &str| {
            let html = scraper::Html::parse_document(&page.body);
            let css = scraper::Selector::parse(css).unwrap();
            html.select(&css).map(|found| found.text().collect::<String>().replace('\u{a0}', " ")).collect::<Vec<_>>()
        };
        let page = site.get(&link).await;
        assert_eq!(number(&page, ".forgot p .masked"), ["+234 803 *** **42."]);
        let sent = site.submit(&link, &page.form("reset"), &[]).await;
        assert_eq!(number(&sent, ".note .masked"), ["+234 803 *** **42."]);
        let paid = site.pay(&link, PIN).await;
        assert_eq!(number(&paid, ".note .masked"), ["+234 803 *** **42."]);
        site.close().await;
    }
}
