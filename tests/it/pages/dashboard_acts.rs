//! What the forms of a dashboard do: payments, keys, websites, webhooks and the team, over HTTP and without scripts.

use scraper::Selector;
use tillbell::domain::merchant::WebsiteStatus;
use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::activity::browse_acts;
use tillbell::ops::merchants::businesses::ChargeChange;
use tillbell::ops::merchants::websites::{NewWebsite, WebsiteChange, add_website, set_website};

use super::dashboard_world::{OWNER, Shops, of_role, rows, told};
use super::visitor::{Seen, Visitor};
use crate::harness::name_server::{NameServer, Say};
use crate::harness::receiver::{Answer, Receiver};
use crate::people::PASSWORD;
use crate::wallet_pages::site::exchange;

/// What is shown once on a page.
fn secret(page: &Seen) -> String {
    let text = page.text_of(".secret code");
    assert!(!text.is_empty(), "nothing is shown once: {}", page.text_of("main"));
    text
}

/// A call of the API with a key.
async fn call(visitor: &Visitor, method: &str, path: &str, key: &str) -> (u16, String) {
    let key = format!("X-API-Key: {key}");
    let lines = [key.as_str(), "Content-Type: application/json"];
    let body = (method != "GET").then_some("{\"new_amount\": 10}");
    let (status, _, body) = exchange(visitor.address, method, path, &lines, body).await;
    (status, String::from_utf8_lossy(&body).into_owned())
}

/// The kinds of acts of the business, newest first, all by its owner from a page.
async fn done(shops: &Shops, count: usize) -> Vec<String> {
    let acts = browse_acts(&shops.t().app, Some(shops.shop.id), None).await.unwrap().rows;
    let own = acts.iter().take(count);
    own.map(|act| {
        assert_eq!((act.operator.as_str(), act.address.as_deref()), (OWNER, Some("127.0.0.1")), "{act:?}");
        act.act.clone()
    })
    .collect()
}

async fn with_webhook(shops: &Shops, url: &str) {
    let change = WebsiteChange { webhook_url: Some(Some(url.to_owned())), ..WebsiteChange::default() };
    set_website(&shops.t().app, "ada", shops.shop.website.id, &change).await.unwrap().unwrap();
}

on_both! {
    async fn a_payment_is_asked_for_by_hand_once_and_corrected(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut visitor = shops.owner().await;
        let page = visitor.get("/dashboard/payments/new").await;
        let fields = [("amount", "5200"), ("payer_name", "Musa Danladi"), ("website", &*shops.shop.website.id.to_string())];
        let wrong = visitor.submit(&page, "new-payment", &fields).await;
        assert_eq!(wrong.status, 422);
        assert!(wrong.text_of(".wrong").contains("no webhook address yet"), "{}", wrong.text_of("main"));
        with_webhook(&shops, "https://kudu.example/hook").await;
        for (field, value, why) in [
            ("amount", "much", "Write an amount in naira"),
            ("amount", "0", "more than zero"),
            ("payer_name", "12345", "with a letter"),
            ("transaction_id", "..", "on one line"),
        ] {
            let mut form = page.form("new-payment");
            for (name, value) in fields.iter().chain(&[(field, value)]) {
                form.fields.insert((*name).to_owned(), (*value).to_owned());
            }
            let wrong = visitor.post_fields(&form.action, &form.fields).await;
            wrong.is(422, "New payment");
            assert!(wrong.text_of(".wrong").contains(why), "{field}: {}", wrong.text_of("main"));
            assert!(told(&wrong).contains("Nothing was changed"), "{}", told(&wrong));
            assert_eq!(wrong.form("new-payment").fields[field], value, "what was typed is kept");
            assert!(wrong.body.contains(&format!("aria-describedby=\"new-payment-{field}-error")), "{field}");
        }
        let done_page = visitor.submit(&page, "new-payment", &fields).await;
        assert!(told(&done_page).contains("is asked for"), "{}", told(&done_page));
        assert!(done_page.heading().contains("Musa Danladi"), "{}", done_page.heading());
        // The same form again makes no second payment.
        let again = visitor.submit(&page, "new-payment", &fields).await;
        assert!(told(&again).contains("asked for already"), "{}", told(&again));
        assert_eq!(rows(&visitor.get("/dashboard/payments").await), 1);

        let wrong = visitor.submit(&again, "correct-amount", &[("new_amount", "-3")]).await;
        assert_eq!((wrong.status, wrong.form("correct-amount").fields["new_amount"].as_str()), (422, "-3"));
        let corrected = visitor.submit(&wrong, "correct-amount", &[("new_amount", "4800.50")]).await;
        assert!(told(&corrected).contains("NGN 4,800.50") && corrected.heading().contains("NGN 4,800.50"), "{}", told(&corrected));
        assert!(corrected.text_of(".timeline").contains("From NGN 5,200.00 to NGN 4,800.50"), "{}", corrected.text_of(".timeline"));
        assert_eq!(done(&shops, 2).await, ["payment correct", "payment add"]);
        shops.close().await;
    }

    async fn a_test_payment_is_shown_as_such_and_a_developer_makes_one(db: TestDatabase) {
        let shops = Shops::new(db).await;
        with_webhook(&shops, "https://kudu.example/hook").await;
        let mut visitor = shops.signed_in(&of_role(MemberRole::Developer)).await;
        let page = visitor.get("/dashboard/payments/new?mode=test").await;
        let fields = [("amount", "900"), ("payer_name", "Ngozi Bello"), ("transaction_id", "new")];
        let made = visitor.submit(&page, "new-payment", &fields).await;
        assert!(made.status == 200 && made.text_of(".testing").contains("Test data"), "{}", made.text_of("main"));
        assert!(made.path.contains("/payments/%6E%65%77"), "an id that is a page's name: {}", made.path);
        let own = made.path.replace("&mode=test", "");
        assert!(visitor.get(&own).await.text_of(".testing").contains("Test data"), "whatever the address says");
        assert_eq!(rows(&visitor.get("/dashboard/payments").await), 0, "not among live ones");
        assert_eq!(rows(&visitor.get("/dashboard/payments?mode=test").await), 1);
        shops.close().await;
    }

    async fn a_key_is_shown_once_and_one_that_reads_writes_nothing(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let payment = shops.t().create(&shops.shop, 5_200, "Musa Danladi").await;
        let mut visitor = shops.owner().await;
        let page = visitor.get("/dashboard/keys").await;
        let before = rows(&page);
        let wrong = visitor.submit(&page, "add-key", &[("label", "reports"), ("mode", "live"), ("rights", "read"), ("expires", "soon")]).await;
        assert_eq!((wrong.status, wrong.form("add-key").fields["label"].as_str()), (422, "reports"));
        let reads = visitor.submit(&wrong, "add-key", &[("mode", "live"), ("rights", "read"), ("expires", "90")]).await;
        let key = secret(&reads);
        assert!(key.starts_with("tb_live_") && rows(&reads) == before + 1, "{}", reads.text_of("main"));
        assert!(!visitor.get("/dashboard/keys").await.body.contains(&key), "shown once");
        let one = format!("/api/v1/payment/{}", payment.transaction_id);
        assert_eq!(call(&visitor, "GET", &one, &key).await.0, 200);
        for (method, path) in [("PATCH", format!("{one}/amount")), ("POST", "/api/v1/payment-request".to_owned())] {
            let (status, body) = call(&visitor, method, &path, &key).await;
            assert!(status == 403 && body.contains("\"key_may_only_read\""), "{method}: {status} {body}");
        }
        assert_eq!(shops.t().payment(&payment).await.amount, Money(520_000), "nothing was corrected");
        let writes = visitor.submit(&reads, "add-key", &[("mode", "live"), ("rights", "write")]).await;
        let writing = secret(&writes);
        assert_eq!(call(&visitor, "PATCH", &format!("{one}/amount"), &writing).await.0, 200);

        let page = visitor.get("/dashboard/keys").await;
        let gone = visitor.submit(&page, "revoke-key-1", &[]).await;
        assert!(told(&gone).contains("is revoked"), "{}", told(&gone));
        assert_eq!(call(&visitor, "GET", &one, &writing).await.0, 401);
        assert_eq!(call(&visitor, "GET", &one, &key).await.0, 200);
        assert_eq!(done(&shops, 3).await, ["key revoke", "key add", "key add"]);
        shops.close().await;
    }

    async fn what_matters_asks_for_the_password_and_keeps_what_was_typed(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut visitor = shops.owner().await;
        let keys = visitor.get("/dashboard/keys").await;
        let team = visitor.get("/dashboard/team").await;
        let webhooks = visitor.get("/dashboard/webhooks").await;
        let sites = visitor.get("/dashboard/websites").await;
        shops.t().advance(Span::minutes(11));
        for (page, form, fields) in [
            (&keys, "revoke-key-1", &[][..]),
            (&team, "invite", &[("email", "ada@kudu.example"), ("role", "viewer")][..]),
            (&team, "remove-member-2", &[]),
            (&team, "set-role-2", &[("role", "viewer")]),
            (&webhooks, "set-webhook", &[("webhook_url", "https://kudu.example/x")]),
            (&webhooks, "rotate-secret", &[]),
            (&sites, "add-website", &[("url", "https://x.example")]),
            (&sites, "set-website-1", &[]),
        ] {
            let asked = visitor.submit(page, form, fields).await;
            asked.is(200, "Your password again");
        }
        let asked = visitor.submit(&keys, "add-key", &[("label", "till 7"), ("mode", "test"), ("rights", "read")]).await;
        let back = visitor.submit(&asked, "confirm-password", &[("password", PASSWORD)]).await;
        back.is(200, "Keys");
        assert_eq!(back.form("add-key").fields["label"], "till 7");
        let made = visitor.submit(&back, "add-key", &[("mode", "test"), ("rights", "read")]).await;
        assert!(secret(&made).starts_with("tb_test_"));
        assert_eq!(done(&shops, 1).await, ["key add"], "nothing was done before the password");
        shops.close().await;
    }

    async fn a_website_is_proven_by_a_record_or_a_file(db: TestDatabase) {
        let names = NameServer::start().await;
        let receiver = Receiver::start().await;
        let settings = format!(
            "[websites]\nself_approval = true\n[mail]\ndns = \"{}\"\n[webhooks]\ntimeout = \"1s\"\n", names.address
        );
        let shops = Shops::with(db, &settings).await;
        let mut visitor = shops.owner().await;
        let page = visitor.get("/dashboard/websites").await;
        let wrong = visitor.submit(&page, "add-website", &[("url", "https://kudu.example"), ("webhook_url", "")]).await;
        assert!(wrong.status == 422 && wrong.text_of(".wrong").contains("already"), "{}", wrong.text_of("main"));
        let page = visitor.submit(&wrong, "add-website", &[("url", "https://bags.example")]).await;
        assert!(told(&page).contains("is added"), "{}", told(&page));
        let token = page.text_of(".secret code");
        assert_eq!((token.len(), page.text_of("article code").contains("_tillbell.bags.example")), (32, true));
        names.say("_tillbell.bags.example", Say::Text("something else".into()));
        let not_yet = visitor.submit(&page, "prove-website-2", &[]).await;
        assert_eq!(not_yet.status, 422);
        for part in ["_tillbell.bags.example holds \"something else\"", "https://bags.example/.well-known/tillbell-"] {
            assert!(told(&not_yet).contains(part), "{part}: {}", told(&not_yet));
        }
        names.say("_tillbell.bags.example", Say::Text(token));
        let proven = visitor.submit(&not_yet, "prove-website-2", &[]).await;
        assert!(told(&proven).contains("proven and approved"), "{}", told(&proven));

        // Its own machine, which dev mode takes.
        let page = visitor.submit(&proven, "add-website", &[("url", &receiver.url(""))]).await;
        let token = page.text_of(".secret code");
        receiver.answer_otherwise(Answer::status(302).header("location", "/elsewhere"));
        let not_yet = visitor.submit(&page, "prove-website-3", &[]).await;
        assert!(told(&not_yet).contains("answered 302; redirects are not followed"), "{}", told(&not_yet));
        receiver.answer_otherwise(Answer::status(200).body(format!("{token}\n")));
        let proven = visitor.submit(&not_yet, "prove-website-3", &[]).await;
        assert!(told(&proven).contains("proven and approved"), "{}", told(&proven));
        let sites = shops.t().app.store.websites(shops.shop.id).await.unwrap();
        assert!(sites.iter().all(|site| site.status == WebsiteStatus::Approved), "{sites:?}");
        // What another business has is not told of.
        let taken = visitor.submit(&proven, "add-website", &[("url", "https://shop.adire.example")]).await;
        assert_eq!(taken.status, 200, "it may be added, {}", told(&taken));
        names.say("_tillbell.shop.adire.example", Say::Text(taken.text_of(".secret code")));
        let taken = visitor.submit(&taken, "prove-website-4", &[]).await;
        assert!(taken.status == 422 && told(&taken).contains("belongs to another business"), "{}", told(&taken));
        assert!(!told(&taken).contains(&format!("business {}", shops.other.id)), "{}", told(&taken));
        shops.close().await;
    }

    async fn without_self_approval_a_proof_is_noted_for_the_operator(db: TestDatabase) {
        let names = NameServer::start().await;
        let settings = format!("[mail]\ndns = \"{}\"\n[webhooks]\ntimeout = \"1s\"\n", names.address);
        let shops = Shops::with(db, &settings).await;
        let mut visitor = shops.owner().await;
        let page = visitor.get("/dashboard/websites").await;
        let page = visitor.submit(&page, "add-website", &[("url", "bags.example")]).await;
        names.say("_tillbell.bags.example", Say::Text(page.text_of(".secret code")));
        let noted = visitor.submit(&page, "prove-website-2", &[]).await;
        assert!(told(&noted).contains("The operator approves it"), "{}", told(&noted));
        let sites = shops.t().app.store.websites(shops.shop.id).await.unwrap();
        assert_eq!(sites[1].status, WebsiteStatus::Pending);
        assert_eq!(done(&shops, 2).await, ["website prove", "website add"]);
        shops.close().await;
    }

    async fn webhooks_are_tried_looked_at_and_sent_again(db: TestDatabase) {
        let receiver = Receiver::start().await;
        let shops = Shops::new(db).await;
        let site = NewWebsite {
            business_id: shops.shop.id, url: receiver.url(""), webhook_url: None,
            charges: ChargeChange::default(), approve: true,
        };
        add_website(&shops.t().app, "ada", &site).await.unwrap().unwrap();
        let mut visitor = shops.owner().await;
        let page = visitor.get("/dashboard/webhooks").await;
        let nowhere = visitor.submit(&page, "send-test", &[]).await;
        assert!(nowhere.status == 422 && told(&nowhere).contains("Nothing was sent"), "{}", told(&nowhere));
        let wrong = visitor.submit(&page, "set-webhook", &[("webhook_url", "ftp://x")]).await;
        assert_eq!((wrong.status, wrong.form("set-webhook").fields["webhook_url"].as_str()), (422, "ftp://x"));
        let set = visitor.submit(&wrong, "set-webhook", &[("webhook_url", &receiver.url("/hook?a=1"))]).await;
        assert!(told(&set).contains("/hook?a=1 now"), "{}", told(&set));
        receiver.answer_otherwise(Answer::status(500).body("<script>alert(1)</script>"));
        let failed = visitor.submit(&set, "send-test", &[]).await;
        assert!(failed.status == 422 && told(&failed).contains("500"), "{}", told(&failed));
        let list = visitor.get("/dashboard/webhooks?state=failed&type=webhook.test").await;
        assert_eq!(list.html().select(&Selector::parse("main script").unwrap()).count(), 0);
        let sent = receiver.received().pop().unwrap();
        let text = list.text_of(".delivery");
        for part in ["webhook.test", "curl -i -X POST", "<script>alert(1)</script>", sent.header("webhook-signature"), sent.header("webhook-id")] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(visitor.get("/dashboard/webhooks?state=delivered").await.text_of(".delivery"), "");
        let again = visitor.submit(&list, "resend-1", &[]).await;
        assert!(told(&again).contains("sent again"), "{}", told(&again));
        let none = visitor.submit(&again, "resend-failed", &[("since", "2026-03-01")]).await;
        assert!(told(&none).contains("Nothing has failed"), "{}", told(&none));
        let bad = visitor.submit(&again, "resend-failed", &[("since", "yesterday")]).await;
        assert_eq!(bad.status, 422);
        let new = visitor.submit(&again, "rotate-secret", &[]).await;
        let new_secret = secret(&new);
        assert!(new_secret.starts_with("whsec_"));
        assert!(!visitor.get("/dashboard/webhooks").await.body.contains(&new_secret), "shown once");
        assert_eq!(done(&shops, 3).await, ["business rotate-secret", "webhook resend", "business set"]);
        shops.close().await;
    }

    async fn a_colleague_is_invited_changed_and_removed_and_one_owner_stays(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut visitor = shops.owner().await;
        let page = visitor.get("/dashboard/team").await;
        for (email, why) in [("nobody", "Write an e-mail address"), (OWNER, "a member already")] {
            let wrong = visitor.submit(&page, "invite", &[("email", email), ("role", "viewer")]).await;
            assert!(wrong.status == 422 && wrong.text_of(".wrong").contains(why), "{}", wrong.text_of("main"));
            assert_eq!(wrong.form("invite").fields["email"], email);
        }
        let invited = visitor.submit(&page, "invite", &[("email", "Ada@kudu.example"), ("role", "finance")]).await;
        let link = secret(&invited);
        assert!(link.contains("/welcome/") && invited.text_of("table").contains("ada@kudu.example"), "{link}");
        assert!(!visitor.get("/dashboard/team").await.body.contains(&link), "shown once");
        let mut ada = shops.pages.visitor();
        let welcome = ada.get(&link[link.find("/welcome/").unwrap()..]).await;
        ada.submit(&welcome, "set-password", &[("password", PASSWORD), ("password_again", PASSWORD)]).await;
        ada.sign_in("ada@kudu.example", PASSWORD).await.is(200, "Overview");
        ada.get("/dashboard/keys").await.is(403, "Your role does not allow this");

        let page = visitor.get("/dashboard/team").await;
        let changed = visitor.submit(&page, "set-role-6", &[("role", "developer")]).await;
        assert!(told(&changed).contains("ada@kudu.example is a developer now"), "{}", told(&changed));
        ada.get("/dashboard/keys").await.is(200, "Sign in");
        ada.sign_in("ada@kudu.example", PASSWORD).await;
        ada.get("/dashboard/keys").await.is(200, "Keys");
        let removed = visitor.submit(&page, "remove-member-6", &[]).await;
        assert!(told(&removed).contains("no member any more"), "{}", told(&removed));
        ada.sign_in("ada@kudu.example", PASSWORD).await.is(200, "Your account");
        ada.get("/dashboard").await.is(404, "Nothing is here");
        for form in ["remove-member-1", "set-role-1"] {
            let filled: &[(&str, &str)] = if form.starts_with("set") { &[("role", "viewer")] } else { &[] };
            let stays = visitor.submit(&page, form, filled).await;
            assert!(stays.status == 422 && told(&stays).contains("only owner"), "{form}: {}", told(&stays));
        }
        assert_eq!(done(&shops, 3).await, ["member remove", "member role", "user add"]);
        let activity = visitor.get("/dashboard/activity").await;
        assert!(activity.text_of("table").contains("Member removed ada@kudu.example user"), "{}", activity.text_of("table"));
        shops.close().await;
    }

    async fn settings_leave_alone_what_is_not_sent(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut visitor = shops.owner().await;
        let page = visitor.get("/dashboard/settings").await;
        let wrong = visitor.submit(&page, "settings", &[("email", "nobody")]).await;
        assert_eq!((wrong.status, wrong.form("settings").fields["email"].as_str()), (422, "nobody"));
        let mut form = page.form("settings");
        form.fields.remove("email");
        form.fields.insert("name".into(), "Kudu & Daughters".into());
        assert_eq!(visitor.post_fields(&form.action, &form.fields).await.status, 303);
        let business = shops.t().app.store.business(shops.shop.id).await.unwrap().unwrap();
        assert_eq!((business.name.as_str(), business.email.as_str()), ("Kudu & Daughters", "till@kudu.example"));
        let unknown = visitor.get("/dashboard/settings").await;
        let mut odd = unknown.form("settings");
        odd.fields.insert("act".into(), "delete-everything".into());
        let odd = visitor.post_fields(&odd.action, &odd.fields).await;
        assert!(odd.status == 422 && told(&odd).contains("not known here"), "{}", told(&odd));
        shops.close().await;
    }
}
