//! The operator's desk over HTTP: what waits, one alert after the other, and who may do what.

use std::collections::BTreeMap;

use scraper::Selector;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::Span;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::http::pages::table::{TABLE, Who};
use tillbell::ops::people::users::{Place, add_user};

use super::visitor::{Pages, Seen, Visitor};
use crate::harness::app::{ACCOUNT, LATER, Merchant, TestApp};
use crate::harness::databases::TestDatabase;
use crate::harness::mails::Alert;
use crate::people::PASSWORD;
use crate::wallet_pages::site::DEV;

pub const ADMIN: &str = "ola@till.example";
pub const REVIEWER: &str = "ife@till.example";
pub const VIEWER: &str = "bem@till.example";
pub const MEMBER: &str = "halima@kudu.example";

/// A service with an account, a merchant, and people of three sorts.
pub async fn site(db: TestDatabase) -> (Pages, Merchant) {
    let t = TestApp::start_with(db, DEV).await;
    t.account(ACCOUNT).await;
    let shop = t.merchant("kudu.example").await;
    for (email, place) in [
        (ADMIN, Place::Staff(StaffRole::Admin)),
        (REVIEWER, Place::Staff(StaffRole::Reviewer)),
        (VIEWER, Place::Staff(StaffRole::Viewer)),
        (MEMBER, Place::Member(shop.id, MemberRole::Owner)),
    ] {
        add_user(&t.app, "ada", email, place, Some(PASSWORD)).await.unwrap().unwrap();
    }
    (Pages::start(t).await, shop)
}

pub async fn signed_in(site: &Pages, email: &str) -> Visitor {
    let mut visitor = site.visitor();
    visitor.sign_in(email, PASSWORD).await;
    visitor
}

/// Money from a payer whose name is near the payment's.
pub async fn doubtful(site: &Pages, naira: i64, payer: &str) -> i64 {
    site.t.advance(LATER);
    let mail = Alert::credit(ACCOUNT, naira, payer, site.t.app.now() - Span::seconds(20)).text();
    let outcome = site.t.ingest(&mail).await;
    assert_eq!(outcome.status, AlertStatus::Review, "{outcome:?}");
    outcome.alert_id
}

pub async fn is(site: &Pages, alert: i64, status: AlertStatus) {
    assert_eq!(site.t.app.store.alert(alert).await.unwrap().unwrap().status, status);
}

pub async fn paid(site: &Pages, payment: &Payment) -> Status {
    site.t.payment(payment).await.status
}

pub fn told(page: &Seen) -> String {
    page.text_of("[role=status], [role=alert]")
}

on_both! {
    async fn a_reviewer_approves_one_and_dismisses_the_next(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let first = site.t.create(&shop, 5_200, "Halima Garba").await;
        let second = site.t.create(&shop, 7_100, "Musa Danladi").await;
        let one = doubtful(&site, 5_200, "HALIMA").await;
        let two = doubtful(&site, 7_100, "MUSA").await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        let overview = visitor.get("/operator").await;
        overview.is(200, "Overview");
        assert!(overview.text_of(".tiles").contains("In review 2"), "{}", overview.text_of(".tiles"));
        let list = visitor.get("/operator/alerts").await;
        let links = list.html();
        let links: Vec<&str> = links
            .select(&Selector::parse("table a").unwrap())
            .map(|link| link.value().attr("href").unwrap())
            .map(|href| if href.contains(&format!("/{one}?")) { "one" } else { "two" })
            .collect();
        assert_eq!(links, ["one", "two"], "the oldest first");

        let page = visitor.get(&format!("/operator/alerts/{one}")).await;
        for part in ["Amount NGN 5,200.00 exact", "Name Halima Garba close", "fits Account the alert's account"] {
            assert!(page.text_of("main").contains(part), "{part}: {}", page.text_of("main"));
        }
        let next = visitor.submit(&page, "approve-alert-1", &[]).await;
        assert!(told(&next).contains(&format!("pays {} now", first.transaction_id)), "{}", told(&next));
        assert!(next.path.contains(&format!("/operator/alerts/{two}")), "the next one is open: {}", next.path);
        assert_eq!(paid(&site, &first).await, Status::Approved);

        let wrong = visitor.submit(&next, "dismiss-alert", &[("reason", "  ")]).await;
        assert_eq!((wrong.status, told(&wrong).contains("reason is required")), (422, true), "{}", told(&wrong));
        let done = visitor.submit(&wrong, "dismiss-alert", &[("reason", "a refund from a supplier")]).await;
        done.is(200, "Alerts");
        assert!(done.text_of("main").contains("Nothing waits for you"), "{}", done.text_of("main"));
        is(&site, two, AlertStatus::Dismissed).await;
        assert_eq!(paid(&site, &second).await, Status::Pending);
        let acts = site.t.app.store.acts(Some(&format!("alert {two}")), None, tillbell::domain::time::Timestamp(0), 5).await.unwrap();
        assert_eq!((acts[0].operator.as_str(), acts[0].act.as_str()), (REVIEWER, "dismiss"));
        site.close().await;
    }

    async fn what_speaks_against_it_is_shown_and_the_reason_covers_no_more(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let payment = site.t.create(&shop, 5_200, "Halima Garba").await;
        let alert = doubtful(&site, 2_000, "GARBA HALIMA").await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        let page = visitor.get(&format!("/operator/alerts/{alert}")).await;
        assert!(page.text_of("main").contains("What speaks against it"), "{}", page.text_of("main"));
        assert!(page.text_of("main").contains("less than half"), "{}", page.text_of("main"));
        let asked = visitor.submit(&page, "approve-alert-1", &[]).await;
        assert_eq!(asked.status, 422);
        assert_eq!(paid(&site, &payment).await, Status::Pending);
        // A reason for what was never shown overrides nothing.
        let mut forged = page.form("approve-alert-1");
        forged.fields.remove("seen");
        forged.fields.insert("despite".into(), "I know her".into());
        let refused = visitor.post_fields(&forged.action, &forged.fields).await;
        assert_eq!((refused.status, paid(&site, &payment).await), (422, Status::Pending));
        let done = visitor.submit(&asked, "approve-alert-1", &[("despite", "she pays in two parts")]).await;
        assert_eq!((done.status, paid(&site, &payment).await), (200, Status::Approved), "{}", told(&done));
        site.close().await;
    }

    async fn of_two_who_decide_one_alert_the_slower_is_told(db: TestDatabase) {
        let (site, shop) = site(db).await;
        site.t.create(&shop, 5_200, "Halima Garba").await;
        let alert = doubtful(&site, 5_200, "HALIMA").await;
        let (mut quick, mut slow) = (signed_in(&site, REVIEWER).await, signed_in(&site, REVIEWER).await);
        let page = slow.get(&format!("/operator/alerts/{alert}")).await;
        let same = quick.get(&format!("/operator/alerts/{alert}")).await;
        quick.submit(&same, "approve-alert-1", &[]).await;
        let late = slow.submit(&page, "dismiss-alert", &[("reason", "nobody's")]).await;
        assert_eq!(late.status, 422);
        assert!(told(&late).contains(&format!("{REVIEWER} approved it onto payment")), "{}", told(&late));
        is(&site, alert, AlertStatus::Matched).await;
        site.close().await;
    }

    async fn who_may_look_may_not_decide_and_who_is_no_staff_sees_nothing(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let payment = site.t.create(&shop, 5_200, "Halima Garba").await;
        let alert = doubtful(&site, 5_200, "HALIMA").await;
        let mut reviewer = signed_in(&site, REVIEWER).await;
        let page = reviewer.get(&format!("/operator/alerts/{alert}")).await;
        let mut viewer = signed_in(&site, VIEWER).await;
        let seen = viewer.get(&format!("/operator/alerts/{alert}")).await;
        assert_eq!(seen.status, 200);
        assert!(!seen.body.contains("approve-alert") && !seen.body.contains("dismiss-alert"));
        let mut form = page.form("approve-alert-1");
        form.fields.insert("csrf".into(), seen.form("sign-out").fields["csrf"].clone());
        let refused = viewer.post_fields(&form.action, &form.fields).await;
        refused.is(403, "Your role does not allow this");
        assert!(refused.text_of("main").contains("admin and reviewer"), "{}", refused.text_of("main"));
        assert_eq!(paid(&site, &payment).await, Status::Pending);

        let (mut member, mut nobody) = (signed_in(&site, MEMBER).await, site.visitor());
        let unknown = member.get("/operator/alerts/999999").await;
        for route in TABLE.iter().filter(|route| matches!(route.who, Who::Staff(_))) {
            let path = route.path.replace("{id}", &alert.to_string()).replace("{transaction_id}", &payment.transaction_id);
            let page = member.get(&path).await;
            assert_eq!((page.status, page.text_of("main")), (404, unknown.text_of("main")), "{path}");
            let csrf = BTreeMap::from([("csrf".to_owned(), page.form("sign-out").fields["csrf"].clone())]);
            assert_eq!(member.post_fields(&path, &csrf).await.status, 404, "{path}");
            assert_eq!(nobody.send("GET", &path, None).await.status, 303, "{path}");
        }
        reviewer.get("/operator/alerts/999999").await.is(404, "Nothing is here");
        reviewer.get("/operator/alerts/x").await.is(404, "Nothing is here");
        site.close().await;
    }

    async fn a_list_is_searched_and_what_banks_and_payers_wrote_is_text(db: TestDatabase) {
        let (site, shop) = site(db).await;
        site.t.create(&shop, 5_200, "Halima Garba").await;
        site.t.create(&shop, 6_300, "Musa <b>Danladi</b>").await;
        let alert = doubtful(&site, 5_200, "HALIMA").await;
        doubtful(&site, 6_300, "MUSA").await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        for (query, count) in [("5200", 1), ("hal", 1), ("nobody", 0), ("", 2)] {
            let page = visitor.get(&format!("/operator/alerts?state=review&q={query}")).await;
            let html = page.html();
            let rows = html.select(&Selector::parse("table tbody tr").unwrap()).count();
            assert_eq!((page.status, rows), (200, count), "{query}: {}", page.text_of("main"));
        }
        site.t.run("update alerts set reason = '<script>alert(1)</script>', narration = '<img src=x onerror=alert(1)>' \
                    where id = (select min(id) from alerts) and cast($1 as bigint) > 0", &site.t.create(&shop, 9_900, "X Y").await).await;
        for path in ["/operator/alerts".to_owned(), format!("/operator/alerts/{alert}")] {
            let page = visitor.get(&path).await;
            let html = page.html();
            for tag in ["main script", "main img", "main b"] {
                assert_eq!(html.select(&Selector::parse(tag).unwrap()).count(), 0, "{tag} on {path}");
            }
            assert!(page.body.contains("&#60;script&#62;"), "{path}");
        }
        site.close().await;
    }
}
