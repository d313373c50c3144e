//! What changes while somebody is signed in: the role that one has, the clock; and a browser that names another host.

use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::merchants::keys::list_keys;
use tillbell::ops::people::members::{remove_member, set_role};

use super::dashboard_world::{Shops, of_role};
use crate::harness::app::START;
use crate::harness::browser::Browser;
use crate::people::PASSWORD;

const KEYS: &str = "/dashboard/keys";
const ELSEWHERE: &str = "Host: tills.evil.example";

/// How many keys the first business has.
async fn keys(shops: &Shops) -> usize {
    list_keys(&shops.t().app, shops.shop.id).await.unwrap().unwrap().len()
}

on_both! {
    async fn a_role_taken_away_in_mid_session_acts_no_more(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let email = of_role(MemberRole::Developer);
        let user = shops.t().app.store.user_by_email(&email).await.unwrap().unwrap();
        let before = keys(&shops).await;
        for is_removed in [false, true] {
            set_role(&shops.t().app, "ada", (shops.shop.id, user.id), MemberRole::Developer).await.unwrap().unwrap();
            let mut visitor = shops.signed_in(&email).await;
            let page = visitor.get(KEYS).await;
            page.is(200, "Keys");
            if is_removed {
                remove_member(&shops.t().app, "ada", shops.shop.id, user.id).await.unwrap().unwrap();
            } else {
                set_role(&shops.t().app, "ada", (shops.shop.id, user.id), MemberRole::Viewer).await.unwrap().unwrap();
            }
            let acted = visitor.post(&page, "add-key", &[("label", "web shop")]).await;
            assert_eq!((acted.status, acted.header("location")), (303, Some("/sign-in?next=%2Fdashboard%2Fkeys")));
            assert_eq!(keys(&shops).await, before, "the form of before made a key");
            visitor.get(KEYS).await.is(200, "Sign in");
        }
        shops.pages.close().await;
    }

    async fn a_clock_that_was_wrong_keeps_nobody_signed_in(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let clock = &shops.t().clock;
        clock.set(START + Span::days(1));
        let mut ahead = shops.owner().await;
        ahead.get("/me").await.is(200, "Your account");
        // Nodes differ by less than five minutes.
        clock.set(START + Span::days(1) - Span::minutes(4));
        ahead.get("/me").await.is(200, "Your account");
        clock.set(START);
        ahead.get("/me").await.is(200, "Sign in");
        let mut visitor = shops.owner().await;
        visitor.get("/me").await.is(200, "Your account");
        shops.pages.close().await;
    }

    async fn a_browser_that_keeps_pages_shows_none_of_them_after_signing_out(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let base = shops.pages.running.url();
        let browser = Browser::that_keeps_pages();
        browser.open(&format!("{base}/sign-in"));
        browser.fill("#sign-in-email", &of_role(MemberRole::Owner));
        browser.fill("#sign-in-password", PASSWORD);
        browser.click("#sign-in button");
        browser.shows("Overview");
        browser.open(&format!("{base}{KEYS}"));
        browser.fill("#add-key-label", "web shop");
        browser.click("#add-key button[type=submit]");
        browser.wait_for(".secret code");
        // It is shown once, also to who goes on and comes back.
        browser.open(&format!("{base}/dashboard/webhooks"));
        browser.back();
        browser.shows("web shop");
        assert!(!browser.has(".secret code"), "{}", browser.text());
        browser.open(&format!("{base}{KEYS}"));
        browser.click("#sign-out button");
        browser.shows("E-mail address");
        browser.back();
        browser.shows("E-mail address");
        assert!(!browser.text().contains("web shop"), "{}", browser.text());
        shops.pages.close().await;
    }

    async fn a_host_that_is_not_ours_stands_in_no_page_and_leads_nowhere(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut owner = shops.owner().await;
        owner.sends.push(ELSEWHERE.to_owned());
        for path in ["/dashboard", "/dashboard/payments", KEYS, "/dashboard/webhooks", "/me", "/docs"] {
            let page = owner.get(path).await;
            let told = format!("{:?} {}", page.headers, page.body);
            assert!(page.status == 200 && !told.contains("evil"), "{path}: {told}");
        }
        let mut stranger = shops.pages.visitor();
        stranger.sends.push(ELSEWHERE.to_owned());
        for path in ["/dashboard", "/operator", "/sign-in", "/forgot"] {
            let seen = stranger.send("GET", path, None).await;
            let told = format!("{:?} {}", seen.headers, seen.body);
            assert!(!told.contains("evil"), "{path}: {told}");
            assert!(seen.header("location").is_none_or(|to| to.starts_with('/')), "{path}: {told}");
        }
        shops.pages.close().await;
    }
}
