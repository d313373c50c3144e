//! What the back button, a look and a page that cannot be shown do: nothing is asked twice, and there is always a
//! way on.

use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::wallets::desk::{Act, act};

use super::site::{DEV, NOT_DEV, Shown, Site};
use crate::wallet::world::{PHONE, PIN, WRONG, fund};

#[track_caller]
fn leads_to(answer: &Shown, token: &str, query: &str) {
    assert_eq!(answer.status, 303, "{answer:?}");
    assert_eq!(answer.header("location"), Some(format!("{token}{query}").as_str()));
}

#[track_caller]
fn not(page: &Shown, part: &str) {
    assert!(!page.text().contains(part), "{part:?} in {}", page.text());
}

/// What the links of a page say, and where they lead.
fn links(page: &Shown) -> Vec<(String, String)> {
    let html = scraper::Html::parse_document(&page.body);
    let css = scraper::Selector::parse("main a").unwrap();
    let text = |a: scraper::ElementRef<'_>| a.text().collect::<String>().trim().to_owned();
    html.select(&css).map(|a| (text(a), a.value().attr("href").unwrap().to_owned())).collect()
}

fn has_link(page: &Shown, text: &str, to: &str) -> bool {
    links(page).iter().any(|(said, href)| said == text && href == to)
}

async fn rename(site: &Site, name: &str) {
    let change = BusinessChange { name: Some(name.to_owned()), ..BusinessChange::default() };
    set_business(&site.w.t.app, "test", site.w.shop.id, &change).await.unwrap().unwrap();
    site.w.t.app.directory.forget();
}

on_both! {
    async fn a_code_that_was_sent_leads_to_the_form_for_it(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let page = site.get(&link).await;
        let token = page.form("reset")["form_token"].clone();
        let sent = site.post_once(&link, &["Origin: null"], &[("form_token", &token), ("reset", "1")]).await;
        leads_to(&sent, &link, "?code=1");
        let path = format!("/pay/{link}?code=1");
        for _ in 0..2 {
            let form = site.send("GET", &path, &[], None).await;
            form.is(200, "We sent a code to +234 803 *** **42. It can take a minute to arrive.");
            assert_eq!((form.heading().as_str(), form.names("[autofocus]")), ("Set a new PIN", vec!["code".to_owned()]));
            assert!(!form.has_form("pin") && has_link(&form, "Back to the payment", "?"), "{}", form.body);
        }
        not(&site.get(&link).await, "We sent a code");
        // The back button after the PIN was set: the payment, and no form that would be sent again.
        let code = site.code();
        let typed = [("code", code.as_str()), ("new_pin", "8305"), ("new_pin_again", "8305")];
        let set = site.submit(&link, &site.get(&link).await.form("code"), &typed).await;
        set.is(200, "Your PIN is set. You have not paid yet.");
        let back = site.send("GET", &path, &[], None).await;
        back.is(200, "Your PIN is already set. Enter it to pay.");
        assert!(back.has_form("pin") && !back.has_form("code"));
        // An address that somebody wrote claims nothing.
        let (_, other) = site.begin(600, "k-2").await;
        let look = site.send("GET", &format!("/pay/{other}?code=1"), &[], None).await;
        not(&look, "We sent a code");
        assert!(look.has_form("pin"), "{}", look.text());
        site.close().await;
    }

    async fn whether_to_cancel_is_asked_by_a_look(db: TestDatabase) {
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let page = site.get(&link).await;
        assert_eq!(page.attributes("form:has(input[name=cancel])", "method"), [Some("get".to_owned())]);
        let path = format!("/pay/{link}?cancel=1");
        let asked = site.send("GET", &path, &[], None).await;
        asked.is(200, "If you cancel, no money leaves your wallet");
        assert!(has_link(&asked, "No, go back", "?"), "{}", asked.body);
        for other in ["?cancel=sure", "?cancel=2"] {
            let look = site.send("GET", &format!("/pay/{link}{other}"), &[], None).await;
            assert!(look.status == 200 && look.has_form("pin"), "{}", look.text());
        }
        assert_eq!(site.w.payment(&started).await.status, Status::Pending);
        // From a page of before.
        let token = page.form("pin")["form_token"].clone();
        let old = site.post_once(&link, &["Origin: null"], &[("form_token", &token), ("cancel", "1")]).await;
        leads_to(&old, &link, "?cancel=1");
        site.submit(&link, &asked.form("form_token"), &[]).await.is(200, "This payment was cancelled today, ");
        let back = site.send("GET", &path, &[], None).await;
        assert_eq!((back.status, back.heading().as_str()), (200, "Payment cancelled"));
        assert_eq!(site.w.payment(&started).await.status, Status::Rejected);
        site.close().await;
    }

    async fn a_pin_that_is_set_is_not_told_over_what_stands_in_the_way(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(8_000).await;
        let (first, second) = (site.begin(5_000, "k-1").await.1, site.begin(4_000, "k-2").await.1);
        let sent = site.act(&second, "send_code", &[]).await;
        let code = site.code();
        let typed = [("code", code.as_str()), ("new_pin", PIN), ("new_pin_again", PIN)];
        site.submit(&second, &sent.form("code"), &typed).await.is(200, "Your PIN is set. You have not paid yet.");
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        let low = site.get(&second).await;
        assert_eq!(low.heading(), "Your balance is too low");
        assert!(!low.body.contains("Your PIN is set"), "neither in the title: {}", low.body);
        fund(&site.w.t.app, 5_000).await;
        let off = BusinessChange { wallet_enabled: Some(false), ..BusinessChange::default() };
        set_business(&site.w.t.app, "test", site.w.shop.id, &off).await.unwrap().unwrap();
        site.w.t.app.directory.forget();
        let off = site.get(&second).await;
        assert_eq!(off.heading(), "You cannot pay this shop right now");
        assert!(!off.body.contains("Your PIN is set"), "{}", off.body);
        off.is(200, "No money has left your wallet. Try again later, or pay another way.");
        site.close().await;
    }

    async fn who_cannot_pay_now_may_look_again_or_go_back_to_the_shop(db: TestDatabase) {
        let site = Site::with(db, &format!("{DEV}[wallet.tier1]\ndaily = \"9000\"\n")).await;
        let (_, first) = site.w.ready(20_000, 6_000).await;
        let (_, second) = site.begin(4_000, "k-2").await;
        let form = site.get(&second).await.form("pin");
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        let shop = "Back to adire.example Ltd";
        let has_ways = |page: &Shown| {
            let site = links(page).iter().any(|(text, href)| text == shop && href.starts_with("https://adire.example"));
            assert!(site && page.has_form("cancel"), "{}", page.body);
        };
        let over = site.get(&second).await;
        assert_eq!(over.heading(), "This is over your daily limit");
        not(&over, "NGN 1,000.00");
        has_ways(&over);
        assert!(!has_link(&over, "Check again", "?"), "nothing changes while the link is open: {}", over.body);
        // Who has entered the right PIN is the owner, and is told how much is missing.
        let told = site.submit(&second, &form, &[("pin", PIN)]).await;
        told.is(409, "You can still spend NGN 3,000.00 today.");
        act(&site.w.t.app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        let held = site.get(&second).await;
        assert_eq!(held.heading(), "Your wallet is on hold");
        has_ways(&held);
        assert!(has_link(&held, "Check again", "?"), "{}", held.body);
        site.close().await;
    }

    async fn the_amount_that_is_missing_is_told_to_the_owner_alone(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(8_000, 5_000).await;
        let (_, second) = site.begin(4_000, "k-2").await;
        let form = site.get(&second).await.form("pin");
        site.pay(&first, PIN).await.is(200, "Your payment is complete.");
        let missing = "NGN 1,000.00";
        not(&site.get(&second).await, missing);
        not(&site.submit(&second, &form, &[("pin", WRONG)]).await, missing);
        let low = site.submit(&second, &form, &[("pin", PIN)]).await;
        low.is(409, "You need NGN 1,000.00 more.");
        not(&low, "NGN 3,000.00");
        not(&site.get(&second).await, missing);
        site.close().await;
    }

    async fn a_crowded_connection_is_told_so_and_the_way_back(db: TestDatabase) {
        let settings = format!("{NOT_DEV}trusted_proxies = [\"127.0.0.1\"]\n");
        let site = Site::with(db, &settings).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let from = ["X-Forwarded-For: 203.0.113.9"];
        for _ in 0..600 {
            site.send("GET", "/pay/nothing", &from, None).await;
        }
        let over = site.send("GET", &format!("/pay/{link}"), &from, None).await;
        over.is(429, "Too many requests came from your network. Wait ");
        assert!(has_link(&over, "Open the payment", "?"), "{}", over.body);
        assert_eq!(over.attributes("main .card", "class").len(), 1, "as other pages look: {}", over.body);
        site.close().await;
    }

    async fn a_long_name_is_not_on_the_button(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        site.pay(&link, PIN).await.is(200, "Back to adire.example Ltd");
        let name = "Adunni & Sisters Fabrics Limit";
        assert_eq!(name.chars().count(), 30);
        rename(&site, name).await;
        site.get(&link).await.is(200, "Back to the shop");
        rename(&site, &name[1..]).await;
        site.get(&link).await.is(200, "Back to dunni & Sisters Fabrics Limit");
        site.close().await;
    }

    async fn every_page_has_its_sign(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let page = site.get(&link).await;
        let icon = page.attributes("link[rel=icon]", "href")[0].clone().unwrap();
        assert!(icon.starts_with("/brand/icon.svg"), "{icon}");
        assert!(page.header("content-security-policy").unwrap().contains("; img-src 'self';"));
        let (status, headers, body) = site.exchange("GET", &icon, &[], None).await;
        assert_eq!(status, 200);
        assert!(headers.contains(&("content-type".to_owned(), "image/svg+xml".to_owned())), "{headers:?}");
        assert!(headers.contains(&("content-security-policy".to_owned(), "default-src 'none'; sandbox".to_owned())));
        assert!(body.starts_with(b"<svg") && body.len() < 1_000);
        assert_eq!(site.get("nothing").await.attributes("link[rel=icon]", "href"), [Some(icon)]);
        site.close().await;
    }

    async fn money_that_came_back_is_refunded(db: TestDatabase) {
        use tillbell::domain::message::MessageKind;
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
        let page = site.get(&link).await;
        page.is(200, "This payment was refunded. The money is back in your wallet.");
        assert_eq!(page.heading(), "Payment refunded");
        page.is(200, "Refunded on");
        for other in ["eturned", "eversed"] {
            not(&page, other);
        }
        site.w.send_messages().await;
        let told = site.w.post.last(MessageKind::Refund).text;
        assert!(told.contains("was refunded to your wallet on"), "{told}");
        assert_eq!(site.w.wallet().await.balance, Money(2_000_000));
        site.close().await;
    }

    async fn a_code_that_could_not_be_sent_is_not_waited_for(db: TestDatabase) {
        let site = Site::start(db).await;
        let (link, failed) = site.without_a_code().await;
        failed.is(502, "We could not send your code. Wait a minute, then ask again.");
        site.w.t.advance(Span::seconds(20));
        for page in [&failed, &site.get(&link).await, &site.submit_anew(&link, &failed.form("send_code"), &[]).await] {
            for claim in ["another code", "We sent", "new code", "No code yet?", "newest"] {
                not(page, claim);
            }
            assert_eq!(page.text().matches("Wait a minute, then ask again.").count(), 1, "{}", page.text());
        }
        site.w.t.advance(Span::seconds(41));
        let sent = site.submit_anew(&link, &failed.form("send_code"), &[]).await;
        sent.is(200, "No code yet? You can get a new one from 09:03.");
        not(&sent, "seconds");
        site.close().await;
    }
}
