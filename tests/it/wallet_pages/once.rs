//! The same form counts once: two taps on a slow line, a reload, the same form on two nodes. A fresh form counts
//! anew, and so does another PIN in the same form, so nobody gets a try for nothing.

use tillbell::domain::intent::PLACES;
use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::wallet_payments::start::StartedPayment;
use tillbell::serve::{Roles, Running, start};

use super::site::{Form, Shown, Site, post_at};
use crate::wallet::world::{PIN, WRONG};

/// More than a customer's thumb does.
const TAPS: usize = 12;

async fn second_node(site: &Site) -> Running {
    let app = site.w.t.another_node().await;
    start(app, Roles { api: false, pages: true, mail: false, work: false }).await.unwrap()
}

/// The same form at the same moment, on two nodes by turns.
async fn tapped(
    site: &Site,
    other: &Running,
    link: &str,
    form: &Form,
    filled: &[(&str, &str)],
) -> Vec<Shown> {
    let mut form = form.clone();
    form.extend(filled.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let fields: Vec<(&str, &str)> =
        form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let addresses = [site.running.address, other.address];
    let taps = (0..TAPS).map(|n| post_at(addresses[n % 2], link, &["Origin: null"], &fields));
    futures_util::future::join_all(taps).await
}

async fn wrong_tries(site: &Site, started: &StartedPayment) -> (i64, i64) {
    let intent = site.w.t.app.store.intent(started.intent.id).await.unwrap().unwrap();
    (intent.wrong_tries, intent.tries)
}

on_both! {
    async fn a_wrong_pin_tapped_many_times_is_one_try(db: TestDatabase) {
        let site = Site::start(db).await;
        let other = second_node(&site).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let mut form = site.get(&link).await.form("pin");
        for left in [4, 3] {
            let told = format!("Wrong PIN. You have {left} tries left.");
            let all = tapped(&site, &other, &link, &form, &[("pin", WRONG)]).await;
            for page in &all {
                page.is(422, &told);
            }
            // A reload of the answer, later.
            site.w.t.advance(Span::minutes(2));
            site.submit(&link, &form, &[("pin", WRONG)]).await.is(422, &told);
            assert_eq!(wrong_tries(&site, &started).await, (PLACES - left, PLACES - left));
            // Another PIN is another try, and what the answer holds is a fresh form.
            form = all[0].form("pin");
        }
        site.submit(&link, &form, &[("pin", PIN)]).await.is(200, "Your payment is complete.");
        other.stop().await;
        site.close().await;
    }

    async fn a_fresh_form_and_another_pin_are_tries_of_their_own(db: TestDatabase) {
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let form = site.get(&link).await.form("pin");
        site.submit(&link, &form, &[("pin", WRONG)]).await.is(422, "You have 4 tries left.");
        site.submit(&link, &form, &[("pin", "9162")]).await.is(422, "You have 3 tries left.");
        site.pay(&link, WRONG).await.is(422, "You have 2 tries left.");
        // What a form came to stays what it came to.
        site.submit(&link, &form, &[("pin", WRONG)]).await.is(422, "Wrong PIN. You have 2 tries left.");
        site.pay(&link, WRONG).await.is(422, "You have 1 try left.");
        let last = site.get(&link).await.form("pin");
        for status in [422, 409, 409] {
            site.submit(&link, &last, &[("pin", "9162")]).await.is(status, "Too many wrong PINs. We stopped this payment.");
        }
        assert_eq!(wrong_tries(&site, &started).await, (5, 5));
        assert_eq!(site.w.payment(&started).await.status, Status::Rejected);
        site.close().await;
    }

    async fn a_right_pin_that_could_not_pay_may_be_sent_again(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(8_000, 5_000).await;
        let (started, link) = site.begin(4_000, "k-2").await;
        let form = site.get(&link).await.form("pin");
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        for _ in 0..2 {
            site.submit(&link, &form, &[("pin", PIN)]).await.is(409, "Top up your wallet, then come back here");
        }
        assert_eq!(wrong_tries(&site, &started).await, (0, 0));
        crate::wallet::world::fund(&site.w.t.app, 1_000).await;
        site.submit(&link, &form, &[("pin", PIN)]).await.is(200, "Your payment is complete.");
        assert_eq!(site.w.wallet().await.balance, Money(0));
        site.close().await;
    }

    async fn a_wrong_code_tapped_many_times_is_one_try(db: TestDatabase) {
        let site = Site::start(db).await;
        let other = second_node(&site).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let sent = site.act(&link, "send_code", &[]).await;
        let code = site.code();
        let wrong = if code == "604218" { "604219" } else { "604218" };
        let typed = [("code", wrong), ("new_pin", PIN), ("new_pin_again", PIN)];
        let mut form = sent.form("code");
        for left in ["4 tries", "3 tries", "2 tries", "1 try"] {
            let told = format!("Wrong code. You have {left} left.");
            for page in tapped(&site, &other, &link, &form, &typed).await {
                page.is(422, &told);
            }
            let again = site.submit(&link, &form, &typed).await;
            again.is(422, &told);
            form = again.form("code");
        }
        for page in tapped(&site, &other, &link, &form, &typed).await {
            page.is(422, "Wrong code. That was the last try, so this code no longer works.");
        }
        other.stop().await;
        site.close().await;
    }

    async fn a_right_code_tapped_many_times_sets_the_pin_once(db: TestDatabase) {
        let site = Site::start(db).await;
        let other = second_node(&site).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let form = site.act(&link, "send_code", &[]).await.form("code");
        let code = site.code();
        let typed = [("code", code.as_str()), ("new_pin", PIN), ("new_pin_again", PIN)];
        let all = tapped(&site, &other, &link, &form, &typed).await;
        assert_eq!(all.iter().filter(|page| page.status == 200).count(), 1, "{all:?}");
        for page in all.iter().filter(|page| page.status != 200) {
            page.is(409, "Your PIN is already set.");
        }
        assert_eq!(site.w.wallet().await.pin_version, 1);
        other.stop().await;
        site.close().await;
    }

    async fn a_code_is_asked_for_once_by_the_same_form(db: TestDatabase) {
        let site = Site::start(db).await;
        let other = second_node(&site).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let form = site.get(&link).await.form("send_code");
        for page in tapped(&site, &other, &link, &form, &[]).await {
            assert_eq!((page.status, page.led_to.clone()), (200, Some(format!("/pay/{link}?code=1"))), "{page:?}");
        }
        assert!(site.get(&link).await.has_form("code"));
        assert_eq!(site.w.post.count(MessageKind::Code), 1);
        let first = site.code();
        // A reload of the answer, after the pause and after the code's life.
        site.w.t.advance(Span::seconds(70));
        let again = site.submit(&link, &form, &[]).await;
        again.is(200, "We sent a code to");
        assert_eq!((site.w.post.count(MessageKind::Code), site.code()), (1, first));
        site.w.t.advance(Span::minutes(10));
        let over = site.submit(&link, &form, &[]).await;
        assert!(over.status == 200 && !over.text().contains("We sent a code"), "{}", over.text());
        assert_eq!(site.w.post.count(MessageKind::Code), 1);
        // A fresh form asks anew.
        site.submit(&link, &over.form("send_code"), &[]).await.is(200, "We sent a code to");
        assert_eq!(site.w.post.count(MessageKind::Code), 2);
        other.stop().await;
        site.close().await;
    }
}
