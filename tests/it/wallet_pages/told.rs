//! What a form came to is told by the address that it leads to: sealed, for this link alone, for two minutes, by any
//! node; the state of the link wins over it.

use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::serve::{Roles, start};

use super::site::{Form, NOT_DEV, Shown, Site, post_at};
use crate::api::codes::run;
use crate::wallet::world::{PIN, WRONG, fund};

#[track_caller]
fn not(page: &Shown, part: &str) {
    assert!(!page.text().contains(part), "{part:?} in {}", page.text());
}

/// The sealed part of the address that a form led to.
#[track_caller]
fn sealed(page: &Shown) -> String {
    let to = page.led_to.clone().unwrap_or_else(|| panic!("led nowhere: {page:?}"));
    to.split_once("?told=").unwrap_or_else(|| panic!("{to}")).1.to_owned()
}

async fn told(site: &Site, link: &str, sealed: &str) -> Shown {
    site.get_path(&format!("/pay/{link}?told={sealed}")).await
}

fn with(form: &Form, name: &str, value: &str) -> Form {
    let mut form = form.clone();
    form.insert(name.to_owned(), value.to_owned());
    form
}

/// A payment whose balance is used up by another one, a PIN entered for it, and the page that told so.
async fn too_low(site: &Site) -> (String, Shown) {
    let (_, first) = site.w.ready(8_000, 5_000).await;
    let (_, second) = site.begin(4_000, "k-2").await;
    let form = site.get(&second).await.form("pin");
    site.pay(&first, PIN).await.is(200, "Your payment is complete.");
    let low = site.submit(&second, &form, &[("pin", PIN)]).await;
    low.is(409, "You need NGN 1,000.00 more.");
    (second, low)
}

on_both! {
    async fn every_form_is_answered_by_a_way_back_that_tells_nothing_readable(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let page = site.get(&link).await;
        site.act(&link, "reset", &[]).await.is(200, "We sent a code");
        let codes = site.get(&link).await.form("code");
        let codes = with(&with(&codes, "code", &site.code()), "new_pin", "1111");
        for form in [
            with(&page.form("pin"), "pin", WRONG),
            with(&page.form("pin"), "pin", "40"),
            with(&codes, "new_pin_again", "1111"),
            with(&codes, "new_pin_again", "1112"),
            with(&with(&codes, "code", "12"), "new_pin_again", "1111"),
            with(&page.form("reset"), "form_token", &site.get(&link).await.form("pin")["form_token"]),
        ] {
            let fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let answer = site.post_once(&link, &["Origin: null"], &fields).await;
            assert_eq!((answer.status, answer.header("set-cookie")), (303, None), "{answer:?}");
            let location = answer.header("location").unwrap();
            assert!(location.starts_with(&format!("{link}?told=")), "relative: {location}");
            let sealed = location.split_once("?told=").unwrap().1;
            assert!(sealed.len() <= 400 && sealed.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)), "{sealed}");
            assert!(!answer.body.contains(&link) && !answer.has_form("pin"), "{}", answer.body);
        }
        site.close().await;
    }

    async fn only_the_address_of_who_entered_the_pin_tells(db: TestDatabase) {
        let site = Site::start(db).await;
        let (link, low) = too_low(&site).await;
        let (_, other) = site.begin(100, "k-3").await;
        let sealed = sealed(&low);
        told(&site, &link, &sealed).await.is(409, "You need NGN 1,000.00 more.");
        // The merchant has the link.
        not(&site.get(&link).await, "1,000.00");
        let look = told(&site, &other, &sealed).await;
        assert!(look.status == 200 && look.heading() == "Confirm your payment", "of another link: {}", look.text());
        let turned: String = sealed.chars().rev().collect();
        let long = sealed.repeat(40);
        for bad in ["", "x", "%00%ff", "1,000.00", &turned, &sealed[1..], &long, "AAAA%3D"] {
            let look = told(&site, &link, bad).await;
            assert_eq!((look.status, look.heading().as_str()), (200, "Your balance is too low"), "{bad}");
            not(&look, "1,000.00");
        }
        // Two minutes, by whichever node.
        let app = site.w.t.another_node().await;
        let node = start(app, Roles { api: false, pages: true, mail: false, work: false }).await.unwrap();
        let form = site.get(&link).await.form("pin");
        let fields = [("form_token", form["form_token"].as_str()), ("pin", PIN)];
        let there = post_at(node.address, &link, &["Origin: null"], &fields).await;
        there.is(409, "You need NGN 1,000.00 more.");
        let fresh = there.led_to.clone().unwrap();
        site.get_path(&fresh).await.is(409, "You need NGN 1,000.00 more.");
        site.w.t.advance(Span(Span::minutes(2).0 - 1));
        site.get_path(&fresh).await.is(409, "You need NGN 1,000.00 more.");
        site.w.t.advance(Span(1));
        let old = site.get_path(&fresh).await;
        assert_eq!(old.status, 200);
        not(&old, "1,000.00");
        node.stop().await;
        site.close().await;
    }

    async fn the_state_of_the_link_wins(db: TestDatabase) {
        let site = Site::start(db).await;
        let (link, low) = too_low(&site).await;
        let sealed = sealed(&low);
        fund(&site.w.t.app, 400).await;
        told(&site, &link, &sealed).await.is(409, "You need NGN 600.00 more.");
        fund(&site.w.t.app, 5_000).await;
        let page = told(&site, &link, &sealed).await;
        page.is(409, "Your wallet has enough money now. You have not paid yet. Enter your PIN to pay.");
        assert!(page.has_form("pin"), "{}", page.text());
        let wrong = site.pay(&link, WRONG).await.led_to.unwrap();
        site.pay(&link, WRONG).await.is(422, "You have 3 tries left.");
        site.get_path(&wrong).await.is(422, "You have 3 tries left.");
        site.pay(&link, PIN).await.is(200, "Your payment is complete.");
        for path in [wrong, format!("/pay/{link}?told={sealed}")] {
            let paid = site.get_path(&path).await;
            paid.is(200, "Your payment is complete.");
            not(&paid, "Wrong");
            assert!(!paid.body.contains("Wrong PIN"), "neither in the title");
        }
        site.close().await;
    }

    async fn a_pin_that_was_set_in_another_window_is_told_whatever_was_typed(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let form = site.act(&link, "send_code", &[]).await.form("code");
        let code = site.code();
        let typed = |pin: &'static str, again: &'static str| [("code", code.clone()), ("new_pin", pin.to_owned()), ("new_pin_again", again.to_owned())];
        let enter = async |pin, again| {
            let typed = typed(pin, again);
            let typed = typed.each_ref().map(|(name, value)| (*name, value.as_str()));
            site.submit(&link, &form, &typed).await
        };
        let weak = enter("1111", "1111").await;
        weak.is(422, "it repeats one digit");
        enter(PIN, PIN).await.is(200, "Your PIN is set. You have not paid yet.");
        for page in [
            enter("1111", "1111").await,
            enter(PIN, "4072").await,
            enter("12", "12").await,
            enter(PIN, PIN).await,
            // Back to what was told before.
            site.get_path(&weak.led_to.clone().unwrap()).await,
        ] {
            page.is(409, "Your PIN is already set. Enter it to pay.");
            assert!(page.has_form("pin") && !page.has_form("code"), "{}", page.text());
            assert_eq!(page.heading(), "Confirm your payment");
        }
        site.pay(&link, PIN).await.is(200, "Your payment is complete.");
        site.close().await;
    }

    async fn a_code_that_ended_since_is_told_instead(db: TestDatabase) {
        let site = Site::start(db).await;
        let (link, failed) = site.without_a_code().await;
        failed.is(502, "We could not send your code.");
        site.w.t.advance(Span::minutes(1));
        let form = site.act(&link, "send_code", &[]).await.form("code");
        site.w.t.advance(Span::minutes(9) + Span::seconds(30));
        let typed = [("code", "12"), ("new_pin", PIN), ("new_pin_again", PIN)];
        let slip = site.submit(&link, &form, &typed).await;
        slip.is(422, "The code must be 6 digits.");
        site.w.t.advance(Span::minutes(1));
        let over = site.get_path(&slip.led_to.clone().unwrap()).await;
        over.is(422, "This code no longer works. Your PIN was not saved. Ask for a new one.");
        site.close().await;
    }

    async fn a_form_that_was_not_finished_is_told_with_the_state(db: TestDatabase) {
        let (engine, url) = (db.engine(), db.url().to_owned());
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let form = site.get(&link).await.form("pin");
        let rename = async |from: &str, to: &str| {
            let text = format!("alter table {from} rename to {to}");
            run(engine, &url, &text, &text).await;
        };
        rename("pin_tries", "pin_tries_away").await;
        let away = site.submit(&link, &form, &[("pin", PIN)]).await;
        let back = format!("/pay/{link}?told={}", sealed(&away));
        away.is(500, "Open the payment again in a moment to see whether you have paid.");
        site.get(&link).await.is(500, "You have not paid anything by opening it.");
        rename("pin_tries_away", "pin_tries").await;
        let page = site.get_path(&back).await;
        page.is(500, "We could not finish what you asked for. This page shows your payment as it is now.");
        assert!(page.has_form("pin"), "{}", page.text());
        assert_eq!(site.w.payment(&started).await.status, Status::Pending);
        site.pay(&link, PIN).await.is(200, "Your payment is complete.");
        let paid = site.get_path(&back).await;
        paid.is(200, "Your payment is complete.");
        assert_eq!(site.w.wallet().await.balance, Money(1_500_000));
        site.close().await;
    }

    async fn too_many_forms_are_told_by_the_address_as_well(db: TestDatabase) {
        let site = Site::with(db, &format!("{NOT_DEV}trusted_proxies = [\"127.0.0.0/8\"]\n")).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let token = site.w.t.app.vault.form_token(&link, &[7; 16]).to_string();
        let body = [("form_token", token.as_str()), ("pin", "407")];
        for n in 0..120 {
            let from = format!("X-Forwarded-For: 198.51.100.{n}");
            assert_eq!(site.post_once(&link, &[&from], &body).await.status, 303);
        }
        let many = site.post(&link, &["X-Forwarded-For: 198.51.100.200"], &body).await;
        many.is(429, "There were too many tries on this link in a short time. This did not change your payment.");
        let wait: i64 = many.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=61).contains(&wait), "{wait}");
        site.w.t.advance(Span::seconds(62));
        site.get_path(&many.led_to.clone().unwrap()).await.is(200, "Your wallet PIN");
        site.close().await;
    }
}
