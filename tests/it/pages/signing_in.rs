//! Signing in and out, links and one's own account, as a browser without scripts meets them.

use scraper::Selector;
use tillbell::domain::time::Span;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::http::pages::table::{TABLE, Who};
use tillbell::ops::people::users::{Place, add_user, disable_user};

use super::visitor::{Pages, Seen, Visitor};
use crate::harness::app::TestApp;
use crate::harness::databases::TestDatabase;
use crate::people::{PASSWORD, code, secret_of};
use crate::wallet_pages::site::DEV;

const EMAIL: &str = "ife@till.example";
const OTHER: &str = "a lagoon of kites";

/// The pages of a service with one member of a business.
async fn site(db: TestDatabase) -> Pages {
    let t = TestApp::start_with(db, DEV).await;
    let shop = t.merchant("kudu.example").await;
    let place = Place::Member(shop.id, MemberRole::Finance);
    add_user(&t.app, "ada", EMAIL, place, Some(PASSWORD)).await.unwrap().unwrap();
    Pages::start(t).await
}

/// Signs in and goes to one's own account.
async fn account(visitor: &mut Visitor) -> Seen {
    visitor.sign_in(EMAIL, PASSWORD).await.is(200, "Overview");
    visitor.get("/me").await
}

fn told(page: &Seen) -> String {
    page.text_of("[role=status], [role=alert]")
}

/// Confirms the second factor that was begun on this page; its secret and recovery codes, and the page that shows them.
async fn confirm_app(site: &Pages, visitor: &mut Visitor, begun: &Seen) -> (Vec<u8>, Vec<String>, Seen) {
    assert!(begun.body.contains("<svg class=\"qr\""), "{}", begun.body);
    let at = begun.body.find("otpauth://").unwrap();
    let secret = secret_of(&begun.body[at..]);
    let done = visitor.submit(begun, "totp-confirm", &[("code", &code(&secret, site.t.app.now()))]).await;
    let html = done.html();
    let items = Selector::parse("#recovery-codes li").unwrap();
    let codes = html.select(&items).map(|li| li.text().collect::<String>().trim().to_owned()).collect();
    (secret, codes, done)
}

on_both! {
    async fn a_first_sign_in_goes_by_the_link(db: TestDatabase) {
        let t = TestApp::start_with(db, DEV).await;
        let shop = t.merchant("kudu.example").await;
        let added = add_user(&t.app, "ada", "halima@kudu.example", Place::Member(shop.id, MemberRole::Owner), None);
        let link = added.await.unwrap().unwrap().link.unwrap();
        let path = link[link.find("/welcome/").unwrap()..].to_owned();
        let site = Pages::start(t).await;
        let mut visitor = site.visitor();
        let page = visitor.get(&path).await;
        page.is(200, "Welcome");
        assert!(page.text_of("main").contains("halima@kudu.example"));
        let unlike = [("password", PASSWORD), ("password_again", OTHER)];
        let page = visitor.submit(&page, "set-password", &unlike).await;
        page.is(422, "Welcome");
        assert!(told(&page).contains("was not set") && page.text_of(".wrong").contains("not the same"));
        assert!(!page.body.contains(PASSWORD), "{}", page.body);
        assert!(page.body.contains("aria-describedby=\"set-password-password_again-error"), "{}", page.body);
        let page = visitor.submit(&page, "set-password", &[("password", PASSWORD), ("password_again", PASSWORD)]).await;
        page.is(200, "Sign in");
        assert!(told(&page).contains("Your password is set"), "{}", told(&page));
        assert!(told(&visitor.get("/sign-in").await).is_empty(), "told once");
        visitor.get(&path).await.is(410, "This link is used up or has expired");
        visitor.get("/welcome/nobodys").await.is(404, "Nothing is here");
        let before = visitor.cookies.clone();
        let page = visitor.sign_in("Halima@kudu.example", PASSWORD).await;
        page.is(200, "Overview");
        assert_ne!(visitor.cookies, before, "signing in gives a new token");
        site.close().await;
    }

    async fn a_wrong_password_and_an_unknown_address_look_alike(db: TestDatabase) {
        let site = site(db).await;
        let mut seen = Vec::new();
        for email in [EMAIL, "nobody@till.example"] {
            let mut visitor = site.visitor();
            let page = visitor.sign_in(email, "not the password").await;
            page.is(422, "Sign in");
            assert_eq!(page.form("sign-in").fields["email"], email, "what was typed is kept");
            assert!(!page.body.contains("not the password"));
            seen.push((told(&page), page.text_of(".wrong")));
        }
        assert_eq!(seen[0], seen[1]);
        let mut visitor = site.visitor();
        let page = visitor.get("/sign-in").await;
        for _ in 0..4 {
            visitor.post(&page, "sign-in", &[("email", EMAIL), ("password", "guess")]).await;
        }
        let slowed = visitor.post(&page, "sign-in", &[("email", EMAIL), ("password", PASSWORD)]).await;
        assert_eq!((slowed.status, slowed.header("retry-after")), (429, Some("1")));
        site.close().await;
    }

    async fn who_is_not_signed_in_is_led_there_and_back(db: TestDatabase) {
        let site = site(db).await;
        let mut visitor = site.visitor();
        let led = visitor.send("GET", "/me?x=1&y=2", None).await;
        assert_eq!((led.status, led.header("location")), (303, Some("/sign-in?next=%2Fme%3Fx%3D1%26y%3D2")));
        let page = visitor.get("/me?x=1&y=2").await;
        let answer = visitor.post(&page, "sign-in", &[("email", EMAIL), ("password", PASSWORD)]).await;
        assert_eq!(answer.header("location"), Some("/me?x=1&y=2"));
        for evil in ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"] {
            let mut visitor = site.visitor();
            let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", evil).finish();
            let page = visitor.get(&format!("/sign-in?{query}")).await;
            let answer = visitor.post(&page, "sign-in", &[("email", EMAIL), ("password", PASSWORD)]).await;
            assert_eq!(answer.header("location"), Some("/"), "{evil}");
        }
        site.close().await;
    }

    async fn a_form_counts_only_from_our_own_page_under_the_same_cookie(db: TestDatabase) {
        let site = site(db).await;
        let mut visitor = site.visitor();
        let page = visitor.get("/sign-in").await;
        let mut form = page.form("sign-in");
        form.fields.insert("email".into(), EMAIL.into());
        form.fields.insert("password".into(), PASSWORD.into());
        let own = visitor.cookies.clone();

        let mut without = form.fields.clone();
        without.remove("csrf");
        visitor.post_fields("/sign-in", &without).await.is(403, "This form was not accepted");
        // Another's cookie, or none at all.
        let mut stranger = site.visitor();
        stranger.post_fields("/sign-in", &form.fields).await.is(403, "This form was not accepted");
        stranger.get("/sign-in").await;
        stranger.post_fields("/sign-in", &form.fields).await.is(403, "This form was not accepted");
        for line in ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"] {
            visitor.sends = vec![line.to_owned()];
            visitor.post_fields("/sign-in", &form.fields).await.is(403, "This form was not accepted");
        }
        visitor.sends.clear();
        assert_eq!(visitor.cookies, own);
        assert_eq!(visitor.post_fields("/sign-in", &form.fields).await.status, 303);
        // What was on the page before does not count after it: its token was another one.
        visitor.post_fields("/me", &form.fields).await.is(403, "This form was not accepted");
        site.close().await;
    }

    async fn a_fixed_cookie_opens_nothing(db: TestDatabase) {
        let site = site(db).await;
        let mut thief = site.visitor();
        thief.get("/sign-in").await;
        let mut visitor = site.visitor();
        visitor.cookies = thief.cookies.clone();
        visitor.sign_in(EMAIL, PASSWORD).await.is(200, "Overview");
        thief.get("/me").await.is(200, "Sign in");
        site.close().await;
    }

    async fn who_signs_out_is_out_in_every_tab(db: TestDatabase) {
        let site = site(db).await;
        let mut visitor = site.visitor();
        let tab = account(&mut visitor).await;
        let stolen = visitor.cookies.clone();
        assert_eq!(tab.header("cache-control"), Some("no-store"));
        visitor.submit(&tab, "sign-out", &[]).await.is(200, "Sign in");
        visitor.cookies = stolen;
        visitor.get("/me").await.is(200, "Sign in");
        let late = visitor.post(&tab, "time-zone", &[("zone", "UTC")]).await;
        assert_eq!((late.status, late.header("location")), (303, Some("/sign-in?next=%2Fme")));
        site.close().await;
    }

    async fn a_disabled_user_is_out_in_mid_session(db: TestDatabase) {
        let site = site(db).await;
        let mut visitor = site.visitor();
        visitor.sign_in(EMAIL, PASSWORD).await.is(200, "Overview");
        disable_user(&site.t.app, "ada", 1).await.unwrap().unwrap();
        visitor.get("/me").await.is(200, "Sign in");
        visitor.sign_in(EMAIL, PASSWORD).await.is(422, "Sign in");
        site.close().await;
    }

    async fn an_app_is_set_up_and_asked_for_from_then_on(db: TestDatabase) {
        let site = site(db).await;
        let mut visitor = site.visitor();
        let me = account(&mut visitor).await;
        let begun = visitor.submit(&me, "totp-begin", &[]).await;
        let wrong = visitor.submit(&begun, "totp-confirm", &[("code", "000000")]).await;
        wrong.is(422, "Your account");
        let me = visitor.get("/me").await;
        let (secret, codes, done) = confirm_app(&site, &mut visitor, &me).await;
        assert_eq!(codes.len(), 10, "{}", done.body);
        assert!(visitor.get("/me").await.text_of("#recovery-codes").is_empty(), "shown once");

        site.t.advance(Span::seconds(30));
        let mut phone = site.visitor();
        let page = phone.sign_in(EMAIL, PASSWORD).await;
        page.is(200, "Enter your code");
        phone.get("/me").await.is(200, "Sign in");
        let page = phone.sign_in(EMAIL, PASSWORD).await;
        let wrong = phone.submit(&page, "sign-in-code", &[("code", "123456")]).await;
        wrong.is(422, "Enter your code");
        let in_time = code(&secret, site.t.app.now());
        phone.submit(&wrong, "sign-in-code", &[("code", &in_time)]).await.is(200, "Overview");
        let mut other = site.visitor();
        let page = other.sign_in(EMAIL, PASSWORD).await;
        let used = other.submit(&page, "sign-in-code", &[("code", &in_time)]).await;
        used.is(422, "Enter your code");
        let page = other.submit(&used, "sign-in-code", &[("code", &codes[0])]).await;
        page.is(200, "Overview");
        let page = other.get("/me").await;
        let wrong = other.submit(&page, "totp-end", &[("password", "not it")]).await;
        wrong.is(422, "Your account");
        let page = other.submit(&wrong, "totp-end", &[("password", PASSWORD)]).await;
        assert!(told(&page).contains("The authenticator app is removed"), "{}", told(&page));
        phone.get("/me").await.is(200, "Sign in");
        site.close().await;
    }

    async fn staff_set_up_their_app_before_anything_else(db: TestDatabase) {
        let t = TestApp::start_with(db, &format!("{DEV}[users]\nstaff_totp = true\n")).await;
        add_user(&t.app, "ada", EMAIL, Place::Staff(StaffRole::Admin), Some(PASSWORD)).await.unwrap().unwrap();
        let site = Pages::start(t).await;
        let mut visitor = site.visitor();
        let me = visitor.sign_in(EMAIL, PASSWORD).await;
        assert!(told(&me).contains("Set yours up to go on"), "{}", told(&me));
        assert!(!me.body.contains("id=\"change-password\""));
        for route in TABLE.iter().filter(|route| matches!(route.who, Who::Staff(_))) {
            let led = visitor.send("GET", route.path, None).await;
            assert_eq!((led.status, led.header("location")), (303, Some("/me")), "{}", route.path);
        }
        let begun = visitor.submit(&me, "totp-begin", &[]).await;
        let (_, codes, _) = confirm_app(&site, &mut visitor, &begun).await;
        assert_eq!(codes.len(), 10);
        site.close().await;
    }

    async fn what_matters_asks_for_the_password_again(db: TestDatabase) {
        let site = site(db).await;
        let mut visitor = site.visitor();
        let me = account(&mut visitor).await;
        site.t.advance(Span::minutes(10));
        let ask = visitor.submit(&me, "totp-begin", &[]).await;
        ask.is(200, "Your password again");
        let wrong = visitor.submit(&ask, "confirm-password", &[("password", "not it")]).await;
        wrong.is(422, "Your password again");
        let me = visitor.submit(&wrong, "confirm-password", &[("password", PASSWORD)]).await;
        me.is(200, "Your account");
        let begun = visitor.submit(&me, "totp-begin", &[]).await;
        assert!(begun.body.contains("totp-confirm"), "{}", begun.text_of("main"));
        site.close().await;
    }

    async fn one_changes_a_password_a_time_zone_and_ends_other_sessions(db: TestDatabase) {
        let site = site(db).await;
        let (mut here, mut there) = (site.visitor(), site.visitor());
        there.sends = vec!["User-Agent: <b>Phone</b>\u{202e}".to_owned()];
        let me = account(&mut here).await;
        there.sign_in(EMAIL, PASSWORD).await;
        let page = here.submit(&me, "time-zone", &[("zone", "Mars/Base")]).await;
        page.is(422, "Your account");
        assert_eq!(page.form("time-zone").fields["zone"], "Mars/Base");
        let page = here.submit(&page, "time-zone", &[("zone", "Europe/London")]).await;
        assert!(page.text_of("footer").contains("Times in Europe/London"), "{}", page.text_of("footer"));
        assert!(!page.body.contains("<b>Phone"), "{}", page.body);
        let ends: Vec<String> = page.body.match_indices("id=\"end-session-").map(|(at, _)| page.body[at + 4..at + 17].to_owned()).collect();
        assert_eq!(ends.len(), 1, "not of this very one: {ends:?}");
        here.submit(&page, &ends[0], &[]).await.is(200, "Your account");
        there.get("/me").await.is(200, "Sign in");
        let change = [("password", PASSWORD), ("new_password", "short"), ("new_password_again", "short")];
        let page = here.submit(&page, "change-password", &change).await;
        page.is(422, "Your account");
        let change = [("password", PASSWORD), ("new_password", OTHER), ("new_password_again", OTHER)];
        let page = here.submit(&page, "change-password", &change).await;
        assert!(told(&page).contains("Your password is changed"), "{}", told(&page));
        let mut again = site.visitor();
        again.sign_in(EMAIL, PASSWORD).await.is(422, "Sign in");
        again.sign_in(EMAIL, OTHER).await.is(200, "Overview");
        site.close().await;
    }

    async fn every_page_carries_its_headers_and_loads_from_us_alone(db: TestDatabase) {
        let site = site(db).await;
        let mut visitor = site.visitor();
        let mut pages = vec![visitor.get("/sign-in").await, visitor.get("/forgot").await, visitor.get("/welcome/x").await];
        pages.push(visitor.sign_in(EMAIL, PASSWORD).await);
        for page in &pages {
            let policy = page.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
            for (name, value) in [
                ("cache-control", "no-store"),
                ("referrer-policy", "same-origin"),
                ("x-content-type-options", "nosniff"),
                ("x-frame-options", "DENY"),
            ] {
                assert_eq!(page.header(name), Some(value), "{name} of {}", page.path);
            }
            let html = page.html();
            let outside = Selector::parse("[src], link[href]").unwrap();
            for element in html.select(&outside) {
                let to = element.value().attr("src").or(element.value().attr("href")).unwrap();
                assert!(to.starts_with('/') && !to.starts_with("//"), "{to}");
            }
            let unnamed = Selector::parse("form input[name=csrf]").unwrap();
            let forms = html.select(&Selector::parse("form").unwrap()).count();
            assert_eq!(html.select(&unnamed).count(), forms, "{}", page.path);
        }
        site.close().await;
    }
}
