//! Passkeys: adding, signing in with them, and removing them, by a browser with an authenticator and by one of the tests'
//! own. What is refused is `passkeys_refused`'s.

use std::collections::BTreeMap;
use std::net::TcpListener;

use serde_json::Value;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::ops::people::users::{Place, add_user, disable_user, reset_user};
use tillbell::serve::{Roles, start};

use super::visitor::{Pages, Seen, Visitor};
use crate::harness::app::TestApp;
use crate::harness::authenticator::Authenticator;
use crate::harness::browser::{Browser, PHONE};
use crate::harness::databases::TestDatabase;
use crate::people::PASSWORD;

pub const EMAIL: &str = "ife@till.example";
pub const OTHER: &str = "uche@till.example";
pub const ORIGIN: &str = "http://localhost:8080";
const HERE: &str = "[server]\nlisten = \"127.0.0.1:0\"\ndev = true\npublic_url = \"http://localhost:8080\"\n";
const DESK: (u32, u32) = (1280, 800);

/// The pages of a service with two members of a business.
pub async fn site(db: TestDatabase) -> Pages {
    site_with(db, HERE).await
}

async fn site_with(db: TestDatabase, settings: &str) -> Pages {
    let t = TestApp::start_with(db, settings).await;
    let shop = t.merchant("kudu.example").await;
    for email in [EMAIL, OTHER] {
        let place = Place::Member(shop.id, MemberRole::Finance);
        add_user(&t.app, "ada", email, place, Some(PASSWORD)).await.unwrap().unwrap();
    }
    Pages::start(t).await
}

/// What the script does first: asks for a question by the form of a page.
pub async fn asked(visitor: &mut Visitor, page: &Seen, form: &str) -> Value {
    let form = page.form(form);
    let fields = BTreeMap::from([
        ("csrf".to_owned(), form.fields["csrf"].clone()),
        ("act".to_owned(), "passkey-begin".to_owned()),
    ]);
    let answer = visitor.post_fields(&form.action, &fields).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    serde_json::from_str(&answer.body).unwrap()
}

/// Signs in by the password and adds a passkey; the authenticator, and the page after it.
pub async fn with_passkey(visitor: &mut Visitor, email: &str, id: &[u8]) -> (Authenticator, Seen) {
    visitor.sign_in(email, PASSWORD).await;
    let me = visitor.get("/me").await;
    let mut authenticator = Authenticator::new(ORIGIN, id);
    let answer = authenticator.make(&asked(visitor, &me, "passkey-add").await);
    let done = visitor.submit(&me, "passkey-add", &[("label", "My phone"), ("credential", &answer)]).await;
    assert!(told(&done).contains("Your passkey is added"), "{}", done.text_of("main"));
    (authenticator, done)
}

pub async fn sign_in(visitor: &mut Visitor, authenticator: &mut Authenticator) -> Seen {
    let page = visitor.get("/sign-in").await;
    let answer = authenticator.answer(&asked(visitor, &page, "sign-in-passkey").await);
    visitor.submit(&page, "sign-in-passkey", &[("credential", &answer)]).await
}

pub fn told(page: &Seen) -> String {
    page.text_of("[role=status], [role=alert]")
}

async fn acts(site: &Pages) -> Vec<String> {
    let acts = site.t.app.store.acts(Some("user 1"), None, Timestamp(0), 20).await.unwrap();
    acts.into_iter().map(|act| format!("{}: {}", act.act, act.reason)).collect()
}

on_both! {
    async fn one_adds_a_passkey_signs_in_with_it_and_removes_it(db: TestDatabase) {
        let site = site(db).await;
        let mut visitor = site.visitor();
        visitor.sign_in(EMAIL, PASSWORD).await.is(200, "Overview");
        let me = visitor.get("/me").await;
        assert!(me.body.contains("data-passkeys hidden"), "where no script runs nobody is told of them");
        assert!(visitor.get("/sign-in").await.body.contains("data-passkey=\"use\" hidden"));
        let mut elsewhere = site.visitor();
        elsewhere.sign_in(EMAIL, PASSWORD).await;
        let before = visitor.cookies.clone();
        let (mut authenticator, done) = with_passkey(&mut visitor, EMAIL, b"a passkey").await;
        assert_eq!(done.text_of("#recovery-codes li").split(' ').count(), 10, "{}", done.text_of("main"));
        assert_ne!(visitor.cookies, before);
        elsewhere.get("/me").await.is(200, "Sign in");
        assert_eq!(done.text_of("section[aria-labelledby=passkeys-heading] td.lead"), "My phone");
        let mut again = Authenticator::new(ORIGIN, b"another");
        let question = asked(&mut visitor, &done, "passkey-add").await;
        assert_eq!(question["publicKey"]["excludeCredentials"].as_array().unwrap().len(), 1);
        assert_eq!(question["publicKey"]["authenticatorSelection"]["residentKey"], "preferred");
        assert_eq!(question["publicKey"]["authenticatorSelection"]["userVerification"], "required");
        let answer = again.make(&question);
        let done = visitor.submit(&done, "passkey-add", &[("label", "My key"), ("credential", &answer)]).await;
        assert!(done.text_of("#recovery-codes").is_empty(), "there is a second factor already");

        site.t.advance(Span::minutes(1));
        let mut visitor = site.visitor();
        sign_in(&mut visitor, &mut authenticator).await.is(200, "Overview");
        let me = visitor.get("/me").await;
        let part = me.text_of("section[aria-labelledby=passkeys-heading]");
        assert!(part.matches("Never").count() == 1, "one of the two was used: {part}");
        let me = visitor.submit(&me, "end-passkey-1", &[]).await;
        assert!(told(&me).contains("The passkey is removed"), "{}", told(&me));
        assert_eq!(me.text_of("section[aria-labelledby=passkeys-heading] td.lead"), "My key");
        let seen = acts(&site).await;
        let wanted = ["passkey remove: My phone", "sign in: passkey: My phone", "passkey add: My key", "passkey add: My phone"];
        assert_eq!(seen[..4], wanted);
        // The other is still asked for after the password, and the recovery codes stay with it.
        let mut visitor = site.visitor();
        visitor.sign_in(EMAIL, PASSWORD).await.is(200, "Enter your code");
        let (mut visitor, mut thief) = (site.visitor(), site.visitor());
        let me = sign_in(&mut visitor, &mut again).await;
        me.is(200, "Overview");
        let me = visitor.get("/me").await;
        visitor.submit(&me, "end-passkey-1", &[]).await.is(200, "Your account");
        thief.sign_in(EMAIL, PASSWORD).await.is(200, "Overview");
        assert_eq!(site.t.app.store.recovery_codes_left(1).await.unwrap(), 0);
        site.close().await;
    }

    async fn a_passkey_is_a_second_factor_and_stands_in_for_the_password(db: TestDatabase) {
        let site = site(db).await;
        let mut visitor = site.visitor();
        let (mut authenticator, done) = with_passkey(&mut visitor, EMAIL, b"a passkey").await;
        let codes = done.text_of("#recovery-codes li");
        let mut visitor = site.visitor();
        let page = visitor.sign_in(EMAIL, PASSWORD).await;
        page.is(200, "Enter your code");
        visitor.get("/me").await.is(200, "Sign in");
        let page = visitor.sign_in(EMAIL, PASSWORD).await;
        let question = asked(&mut visitor, &page, "code-passkey").await;
        assert_eq!(question["publicKey"]["allowCredentials"].as_array().unwrap().len(), 1);
        let answer = authenticator.answer(&question);
        visitor.submit(&page, "code-passkey", &[("credential", &answer)]).await.is(200, "Overview");
        assert_eq!(acts(&site).await[0], "sign in: password and passkey: My phone");

        let mut other = site.visitor();
        let page = other.sign_in(EMAIL, PASSWORD).await;
        let code = codes.split(' ').next().unwrap();
        other.submit(&page, "sign-in-code", &[("code", code)]).await.is(200, "Overview");

        // What matters asks again: the script is told where to.
        let me = visitor.get("/me").await;
        site.t.advance(Span::minutes(10));
        let sent = asked(&mut visitor, &me, "passkey-add").await;
        assert_eq!(sent["go"], "/confirm-password?next=%2Fme");
        visitor.submit(&me, "end-passkey-1", &[]).await.is(200, "Your password again");
        let page = visitor.get(sent["go"].as_str().unwrap()).await;
        let answer = authenticator.answer(&asked(&mut visitor, &page, "confirm-passkey").await);
        let me = visitor.submit(&page, "confirm-passkey", &[("credential", &answer)]).await;
        me.is(200, "Your account");
        assert!(asked(&mut visitor, &me, "passkey-add").await["publicKey"].is_object());
        site.close().await;
    }

    async fn a_passkey_is_the_second_factor_that_is_demanded_of_staff(db: TestDatabase) {
        let t = TestApp::start_with(db, &format!("{HERE}[users]\nstaff_totp = true\n")).await;
        add_user(&t.app, "ada", EMAIL, Place::Staff(StaffRole::Admin), Some(PASSWORD)).await.unwrap().unwrap();
        let site = Pages::start(t).await;
        let mut visitor = site.visitor();
        let me = visitor.sign_in(EMAIL, PASSWORD).await;
        assert!(told(&me).contains("Set yours up to go on"), "{}", told(&me));
        let (mut authenticator, _) = with_passkey(&mut visitor, EMAIL, b"a passkey").await;
        assert_eq!(visitor.send("GET", "/operator", None).await.status, 200);
        let mut visitor = site.visitor();
        assert_eq!(sign_in(&mut visitor, &mut authenticator).await.path, "/operator");
        // Without it they are where they began.
        let me = visitor.get("/me").await;
        visitor.submit(&me, "end-passkey-1", &[]).await;
        assert_eq!(visitor.send("GET", "/operator", None).await.header("location"), Some("/me"));
        site.close().await;
    }

    async fn a_reset_takes_passkeys_away_and_disabling_stops_them(db: TestDatabase) {
        let site = site(db).await;
        let (mut first, _) = with_passkey(&mut site.visitor(), EMAIL, b"a passkey").await;
        let (mut second, _) = with_passkey(&mut site.visitor(), OTHER, b"another").await;
        reset_user(&site.t.app, "ada", 1).await.unwrap().unwrap();
        disable_user(&site.t.app, "ada", 2).await.unwrap().unwrap();
        assert!(site.t.app.store.passkeys(1).await.unwrap().is_empty());
        for authenticator in [&mut first, &mut second] {
            let mut visitor = site.visitor();
            sign_in(&mut visitor, authenticator).await.is(422, "Sign in");
            visitor.get("/me").await.is(200, "Sign in");
        }
        site.close().await;
    }

    async fn one_node_asks_and_another_judges_and_of_two_at_once_one_counts(db: TestDatabase) {
        let site = site(db).await;
        let node = site.t.another_node().await;
        let roles = Roles { api: false, pages: true, mail: false, work: false };
        let other = start(node, roles).await.unwrap();
        let (mut authenticator, _) = with_passkey(&mut site.visitor(), EMAIL, b"a passkey").await;
        let mut visitor = site.visitor();
        let page = visitor.get("/sign-in").await;
        let answer = authenticator.answer(&asked(&mut visitor, &page, "sign-in-passkey").await);
        visitor.address = other.address;
        visitor.submit(&page, "sign-in-passkey", &[("credential", &answer)]).await.is(200, "Overview");

        let (mut one, mut two) = (site.visitor(), site.visitor());
        let page = one.get("/sign-in").await;
        two.cookies = one.cookies.clone();
        two.address = other.address;
        let answer = authenticator.answer(&asked(&mut one, &page, "sign-in-passkey").await);
        let filled = [("credential", answer.as_str())];
        let (a, b) = tokio::join!(
            one.post(&page, "sign-in-passkey", &filled),
            two.post(&page, "sign-in-passkey", &filled)
        );
        let mut both = [a.status, b.status];
        both.sort_unstable();
        assert_eq!(both, [303, 422]);
        other.stop().await;
        site.close().await;
    }

    async fn a_browser_makes_a_passkey_and_signs_in_with_it(db: TestDatabase) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let here = format!("[server]\nlisten = \"127.0.0.1:{port}\"\ndev = true\npublic_url = \"http://localhost:{port}\"\n");
        let site = site_with(db, &here).await;
        let base = format!("http://localhost:{port}");
        let browser = Browser::with_scripts();
        browser.add_authenticator();
        let pictures = |name: &str| {
            for (size, (width, height)) in [("360", PHONE), ("1280", DESK)] {
                browser.resize((width, height));
                for is_dark in [false, true] {
                    browser.dark(is_dark);
                    browser.picture(&format!("passkeys-{name}-{size}{}", if is_dark { "-dark" } else { "" }));
                }
                let (wide, _) = browser.extent();
                assert!(wide <= f64::from(width), "{name} at {size}: {wide}");
            }
            browser.dark(false);
        };
        let begin = |email: &str| {
            browser.open(&format!("{base}/sign-in"));
            browser.fill("#sign-in-email", email);
            browser.fill("#sign-in-password", PASSWORD);
            browser.click("#sign-in .primary");
        };
        browser.open(&format!("{base}/sign-in"));
        browser.shows("Use a passkey");
        pictures("sign-in");
        // The authenticator has none yet.
        browser.click("#sign-in-passkey button");
        browser.shows("No passkey came");
        pictures("sign-in-none");
        begin(EMAIL);
        browser.shows("Overview");
        browser.open(&format!("{base}/me"));
        browser.shows("Add a passkey");
        pictures("me-empty");
        browser.fill("#passkey-add-label", "My phone");
        browser.click("#passkey-add button");
        browser.shows("Your passkey is added");
        assert_eq!(browser.texts("#recovery-codes li").len(), 10);
        pictures("me");
        // There is one on this device already.
        browser.fill("#passkey-add-label", "My phone again");
        browser.click("#passkey-add button");
        browser.shows("No passkey was made");

        browser.click("#sign-out button");
        browser.shows("You cannot sign in?");
        browser.click("#sign-in-passkey button");
        browser.shows("Overview");
        browser.click("#sign-out button");
        browser.shows("You cannot sign in?");
        begin(EMAIL);
        browser.shows("Enter your code");
        pictures("code");
        browser.click("#code-passkey button");
        browser.shows("Overview");
        site.t.advance(Span::minutes(10));
        browser.open(&format!("{base}/me"));
        browser.wait_for(".confirm summary");
        browser.click(".confirm summary");
        browser.click("#end-passkey-1 button");
        browser.shows("Your password again");
        pictures("confirm");
        browser.click("#confirm-passkey button");
        browser.wait_for(".confirm summary");
        browser.click(".confirm summary");
        browser.click("#end-passkey-1 button");
        browser.shows("The passkey is removed");
        site.close().await;
    }

    async fn where_browsers_have_no_passkeys_there_are_no_forms(db: TestDatabase) {
        let site = site_with(db, "[server]\nlisten = \"127.0.0.1:0\"\ndev = true\n").await;
        let mut visitor = site.visitor();
        assert!(!visitor.get("/sign-in").await.body.contains("passkey"));
        visitor.sign_in(EMAIL, PASSWORD).await.is(200, "Overview");
        let me = visitor.get("/me").await;
        assert!(!me.body.contains("id=\"passkey-add\""), "{}", me.body);
        site.close().await;
    }
}
