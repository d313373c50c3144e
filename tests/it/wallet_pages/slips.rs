//! Slips of a thumb: a PIN that does not fit keeps the code, the cursor goes where the mistake is, a payment is
//! not cancelled by one touch, and the way back to the shop leads nowhere else.

use tillbell::domain::payment::Status;
use tillbell::ops::merchants::businesses::{BusinessChange, ChargeChange, set_business};
use tillbell::ops::merchants::websites::{NewWebsite, add_website, reject_website};
use tillbell::ops::wallet_payments::start::{StartRequest, Started};

use super::site::{Shown, Site};
use crate::wallet::world::{PIN, WRONG, token};

/// The cursor is in this one field, and what is wrong is read out with it and with `others`.
#[track_caller]
fn points_at(page: &Shown, field: &str, others: &[&str]) {
    assert_eq!(page.names("[autofocus]"), [field], "{}", page.body);
    let mut invalid = page.names("[aria-invalid=true]");
    let mut expected: Vec<&str> = [&[field], others].concat();
    invalid.sort();
    expected.sort();
    assert_eq!(invalid, expected);
    for name in expected {
        let described = page.attributes(&format!("#{name}"), "aria-describedby")[0].clone().unwrap();
        assert!(described.starts_with(&format!("{field}-wrong ")), "{name} is described by {described}");
    }
    assert_eq!(page.attributes(&format!("#{field}-wrong"), "role"), [Some("alert".to_owned())]);
}

/// What the fields of the form for a code hold.
fn typed(page: &Shown) -> [Option<String>; 3] {
    ["code", "new_pin", "new_pin_again"].map(|name| page.attributes(&format!("#{name}"), "value")[0].clone())
}

on_both! {
    async fn a_slip_in_the_new_pin_keeps_the_code(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let form = site.act(&link, "send_code", &[]).await.form("code");
        let code = site.code();
        let enter = async |code: &str, pin: &str, again: &str| {
            site.submit(&link, &form, &[("code", code), ("new_pin", pin), ("new_pin_again", again)]).await
        };
        let kept = [Some(code.clone()), None, None];
        let spaced = format!(" {} {}", &code[..3], &code[3..]);
        let page = enter(&spaced, PIN, "4072").await;
        page.is(422, "The two PINs do not match.");
        points_at(&page, "new_pin", &["new_pin_again"]);
        assert_eq!(typed(&page), kept, "the code stays, the PINs do not");
        for (pin, said) in [("1234", "count up or down"), ("12", "must be 4 digits"), ("2008", "looks like a year")] {
            let page = enter(&code, pin, pin).await;
            page.is(422, said);
            points_at(&page, "new_pin", &[]);
            assert_eq!(typed(&page), kept);
        }
        // None of this was a try of the code. One that is no code is told first, and not kept.
        let page = enter("12345", "1234", "1").await;
        page.is(422, "The code must be 6 digits.");
        points_at(&page, "code", &[]);
        assert_eq!(typed(&page), [None, None, None]);
        let other = if code == "123123" { "321321" } else { "123123" };
        let page = enter(other, PIN, PIN).await;
        page.is(422, "Wrong code. You have 4 tries left.");
        points_at(&page, "code", &[]);
        assert_eq!(typed(&page), [None, None, None], "a wrong code is not kept");
        let look = site.get(&link).await;
        look.is(200, "and you have 4 tries left.");
        assert_eq!(typed(&look), [None, None, None], "a look shows no code");
        // What the page was sent with is enough to go on.
        let page = enter(&code, "1111", "1111").await;
        let again = page.form("code");
        site.submit(&link, &again, &[("new_pin", PIN), ("new_pin_again", PIN)]).await.is(200, "Your PIN is set.");
        site.close().await;
    }

    async fn a_wrong_pin_counts_and_has_the_cursor(db: TestDatabase) {
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        site.act(&link, "reset", &[]).await.is(200, "We sent a code");
        let page = site.pay(&link, WRONG).await;
        page.is(422, "Wrong PIN. You have 4 tries left.");
        points_at(&page, "pin", &[]);
        assert!(page.has_form("code"), "the code that was sent is still good");
        let page = site.pay(&link, "40").await;
        page.is(422, "We did not count this as a try.");
        points_at(&page, "pin", &[]);
        let intent = site.w.t.app.store.intent(started.intent.id).await.unwrap().unwrap();
        assert_eq!(intent.wrong_tries, 1);
        assert_eq!(site.get(&link).await.names("[autofocus]"), [""; 0]);
        site.close().await;
    }

    async fn the_amount_stands_before_every_form(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let coded = site.act(&link, "send_code", &[]).await;
        let set = [("code", site.code()), ("new_pin", PIN.to_owned()), ("new_pin_again", PIN.to_owned())];
        let set = set.each_ref().map(|(name, value)| (*name, value.as_str()));
        let open = site.submit(&link, &coded.form("code"), &set).await;
        for (page, field) in [(coded, "name=\"code\""), (open, "name=\"pin\"")] {
            let (amount, form) = (page.body.find("NGN 5,000.00</data>").unwrap(), page.body.find(field).unwrap());
            assert!(amount < form, "{}", page.text());
            assert_eq!(page.attributes(".sum data", "value"), [Some("5000.00".to_owned())]);
        }
        site.close().await;
    }

    async fn cancel_asks_once(db: TestDatabase) {
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let page = site.get(&link).await.form("cancel");
        let asked = site.submit(&link, &page, &[]).await;
        asked.is(200, "no money leaves your wallet and this link stops working");
        assert_eq!(asked.heading(), "Cancel this payment?");
        assert_eq!(asked.forms().len(), 1, "nothing else can be done there: {}", asked.text());
        assert!(asked.attributes("a", "href").contains(&Some("?".to_owned())), "the way back is this page");
        assert_eq!(site.w.payment(&started).await.status, Status::Pending, "asked, not done");
        site.get(&link).await.is(200, "Confirm your payment");
        let sure = asked.form("cancel");
        assert_ne!(sure["cancel"], page["cancel"]);
        let foreign = [("form_token", sure["form_token"].as_str()), ("cancel", &sure["cancel"])];
        site.post(&link, &["Origin: https://evil.example"], &foreign).await.is(403, "This did not change your payment.");
        site.post(&link, &["Origin: null"], &foreign[1..]).await.is(403, "This did not change your payment.");
        assert_eq!(site.w.payment(&started).await.status, Status::Pending);
        let done = site.submit(&link, &sure, &[]).await;
        done.is(200, "No money has left your wallet.");
        assert_eq!(done.heading(), "Payment cancelled");
        assert_eq!(site.w.payment(&started).await.status, Status::Rejected);
        site.submit(&link, &sure, &[]).await.is(409, "Payment cancelled");
        site.submit(&link, &page, &[]).await.is(200, "Payment cancelled");
        site.close().await;
    }

    async fn paid_leads_back_to_the_shop_and_nowhere_else(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        assert_eq!(site.get(&link).await.attributes("a", "href"), [None::<String>; 0], "not before");
        let paid = site.pay(&link, PIN).await;
        paid.is(200, "Back to adire.example Ltd");
        let home = Some("https://adire.example/".to_owned());
        assert_eq!(paid.attributes("a", "href"), std::slice::from_ref(&home));
        assert_eq!(paid.attributes("a", "rel"), [Some("noreferrer".to_owned())]);
        // Nothing of the address counts.
        let path = format!("/pay/{link}?return=https://evil.example&url=//evil.example");
        let shown = site.send("GET", &path, &["Referer: https://evil.example/"], None).await;
        assert_eq!(shown.attributes("a", "href"), std::slice::from_ref(&home));
        assert!(!shown.body.contains("evil"));
        // Of several websites it is the one that the payment's webhook URL belongs to.
        let app = &site.w.t.app;
        let (hook, url) = ("https://shop.lace.example/hook", "http://www.Shop.lace.example/sale?x=\"><b>");
        let new = NewWebsite {
            business_id: site.w.shop.id,
            url: url.into(),
            webhook_url: Some(hook.into()),
            charges: ChargeChange::default(),
            approve: true,
        };
        let second = add_website(app, "test", &new).await.unwrap().unwrap();
        app.directory.forget();
        let request = StartRequest { webhook_url: Some(hook.into()), ..site.w.request(100, "k-2") };
        let Started::Waiting(started) = site.w.try_start(&request).await else { panic!("not started") };
        let lace = token(&started);
        let paid = site.pay(&lace, PIN).await;
        paid.is(200, "www.shop.lace.example");
        assert_eq!(paid.attributes("a", "href"), [Some("http://www.shop.lace.example/sale?x=%22%3E%3Cb%3E".to_owned())]);
        assert_eq!(site.get(&link).await.attributes("a", "href"), std::slice::from_ref(&home));
        // A website that is not approved any more, and a business that is switched off, are led to by nobody.
        reject_website(app, "test", second.id, "not theirs").await.unwrap().unwrap();
        app.directory.forget();
        assert_eq!(site.get(&lace).await.attributes("a", "href"), [None::<String>; 0]);
        assert_eq!(site.get(&link).await.attributes("a", "href"), [home]);
        let off = BusinessChange { active: Some(false), ..BusinessChange::default() };
        set_business(app, "test", site.w.shop.id, &off).await.unwrap().unwrap();
        app.directory.forget();
        assert_eq!(site.get(&link).await.attributes("a", "href"), [None::<String>; 0]);
        site.close().await;
    }

    async fn a_long_summary_says_that_it_goes_on(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.ready(20_000, 100).await;
        let lines: Vec<String> = (1..=30).map(|n| format!("{n} x lace")).collect();
        for (key, summary, more) in [
            ("s-1", lines[..9].join("\n"), None),
            ("s-2", lines.join("\n"), Some("Show 25 more lines")),
            ("s-3", "lace ".repeat(200).trim().to_owned(), Some("Show the rest of the order")),
        ] {
            let request = StartRequest { order_summary: Some(summary.clone()), ..site.w.request(10, key) };
            let Started::Waiting(started) = site.w.try_start(&request).await else { panic!("not started") };
            let page = site.get(&token(&started)).await;
            assert_eq!(page.attributes("details.more", "class").len(), usize::from(more.is_some()), "{key}");
            assert_eq!(page.attributes("details[open]", "class").len(), 0);
            if let Some(more) = more {
                assert!(page.text().contains(more), "{}", page.text());
            }
            let words = summary.matches("lace").count();
            assert_eq!(page.body.matches("lace").count(), words, "all of it is there, once");
        }
        site.close().await;
    }
}
