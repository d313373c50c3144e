//! A form that did its act leads back to the link: a reload or the back button sends nothing a second time.

use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;

use super::site::{Form, Shown, Site};
use crate::wallet::world::{PIN, WRONG};

/// The answer to a form, which browsers do not show where it leads on.
async fn answer(site: &Site, token: &str, form: &Form, filled: &[(&str, &str)]) -> Shown {
    let mut form = form.clone();
    form.extend(filled.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let fields: Vec<(&str, &str)> =
        form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    site.post_once(token, &["Origin: null"], &fields).await
}

#[track_caller]
fn leads_back(shown: &Shown, token: &str) {
    assert_eq!(shown.status, 303, "{shown:?}");
    assert_eq!(shown.leads_to(token), format!("/pay/{token}"));
    // Behind a proxy that serves these pages below a path of its own, too.
    let page = url::Url::parse(&format!("https://shop.example/till/pay/{token}")).unwrap();
    assert_eq!(page.join(shown.header("location").unwrap()).unwrap(), page);
    assert_eq!(shown.header("cache-control"), Some("no-store"));
    assert_eq!(shown.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(shown.header("set-cookie"), None);
    assert!(
        !shown.body.contains(PIN) && !shown.body.contains(token) && !shown.has_form("pin"),
        "{}",
        shown.body
    );
}

on_both! {
    async fn a_payment_leads_to_its_receipt_and_is_made_once(db: TestDatabase) {
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let form = site.get(&link).await.form("pin");
        let wrong = site.submit(&link, &form, &[("pin", WRONG)]).await;
        wrong.is(422, "Wrong PIN. You have 4 tries left.");
        leads_back(&answer(&site, &link, &form, &[("pin", PIN)]).await, &link);
        let complete = "Your payment is complete. We are sending your receipt to +234 803 *** **42.";
        let receipt = site.get(&link).await;
        receipt.is(200, complete);
        receipt.is(200, &started.transaction_id);
        assert_eq!(receipt.heading(), "Paid");
        // A second tap, whose answer is all that a browser shows, and whatever else is sent by then.
        for (name, value) in [("pin", PIN), ("pin", WRONG), ("cancel", "1"), ("cancel", "sure"), ("send_code", "1")] {
            let late = Form::from([("form_token".to_owned(), form["form_token"].clone())]);
            leads_back(&answer(&site, &link, &late, &[(name, value)]).await, &link);
        }
        site.get(&link).await.is(200, complete);
        site.w.t.advance(Span::minutes(10));
        let later = site.get(&link).await;
        later.is(200, "You have already paid. You will not be charged again.");
        assert!(!later.text().contains("complete"), "{}", later.text());
        assert_eq!(site.w.wallet().await.balance, Money(1_500_000));
        site.w.send_messages().await;
        assert_eq!(site.w.post.count(MessageKind::Receipt), 1);
        site.close().await;
    }

    async fn a_cancelled_payment_leads_to_its_end(db: TestDatabase) {
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let pin = site.get(&link).await.form("pin");
        // Asking changes nothing, so it is a look.
        let asked = site.act(&link, "cancel", &[]).await;
        asked.is(200, "Cancel this payment?");
        leads_back(&answer(&site, &link, &asked.form("cancel"), &[]).await, &link);
        let over = site.get(&link).await;
        over.is(200, "This payment was cancelled today, 09:00.");
        over.is(200, "No money has left your wallet.");
        assert_eq!(site.w.payment(&started).await.status, Status::Rejected);
        let late = site.submit(&link, &pin, &[("pin", PIN)]).await;
        late.is(409, "Payment cancelled");
        site.close().await;
    }

    async fn a_new_pin_leads_to_the_payment_which_says_so(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let (_, other) = site.begin(700, "k-2").await;
        let set = "Your PIN is set. You have not paid yet.";
        let sent = answer(&site, &link, &site.get(&link).await.form("send_code"), &[]).await;
        assert_eq!((sent.status, sent.leads_to(&link)), (303, format!("/pay/{link}?code=1")));
        let sent = site.get(&link).await;
        let code = site.code();
        let typed = [("code", code.as_str()), ("new_pin", PIN), ("new_pin_again", PIN)];
        let told = answer(&site, &link, &sent.form("code"), &typed).await;
        assert!(told.status == 303 && told.leads_to(&link).starts_with(&format!("/pay/{link}?told=")), "{told:?}");
        let page = site.get_path(&told.leads_to(&link)).await;
        page.is(200, set);
        assert!(page.has_form("pin") && !page.has_form("code"), "{}", page.text());
        assert_eq!(page.attributes(".note", "role"), [Some("status".to_owned())]);
        assert!(!site.get(&other).await.text().contains("Your PIN is set"), "a look tells of its own link");
        let wrong = site.pay(&link, WRONG).await;
        wrong.is(422, "Wrong PIN. You have 4 tries left.");
        assert!(!wrong.text().contains(set), "{}", wrong.text());
        let look = site.get(&link).await;
        look.is(200, "You have 4 tries left to enter your PIN.");
        assert!(!look.text().contains(set), "told once: {}", look.text());
        // The next code is another matter.
        site.act(&link, "reset", &[]).await.is(200, "We sent a code to");
        assert!(!site.get(&link).await.text().contains(set));
        site.close().await;
    }
}
