//! Every other page of the desk over HTTP: that each is there for who may see it, shows strangers' texts as texts, and that
//! its forms do what the command line does, for the roles that may.

use std::collections::{BTreeMap, BTreeSet};

use scraper::Selector;
use tillbell::domain::account::ReceivingAccount;
use tillbell::domain::payment::Status;
use tillbell::domain::phone::Phone;
use tillbell::domain::time::Span;
use tillbell::domain::user::{MemberRole, StaffRole};
use tillbell::http::pages::table::{TABLE, Who};
use tillbell::ops::people::users::{Place, add_user};
use tillbell::ops::wallets::find::{ensure, find};

use super::desk::{ADMIN, REVIEWER, VIEWER, doubtful, paid, signed_in, site, told};
use super::gallery::check_markup;
use super::visitor::{Pages, Seen, Visitor};
use crate::audits::by_hand;
use crate::harness::app::{ACCOUNT, LATER};
use crate::harness::mails::Alert;

const MARKUP: &str = "<img src=x onerror=alert(1)><script>alert(2)</script>";

/// Every page of the desk, with ids that are there.
fn paths(alert: i64, payment: &str) -> Vec<String> {
    let desk = TABLE.iter().filter(|route| matches!(route.who, Who::Staff(_)));
    desk.map(|route| {
        let id = if route.path.contains("alerts") { alert } else { 1 };
        route.path.replace("{id}", &id.to_string()).replace("{transaction_id}", payment)
    })
    .collect()
}

async fn with_markup(site: &Pages, shop: &crate::harness::app::Merchant) -> (i64, String) {
    let payment = site.t.create(shop, 5_200, &format!("Halima {MARKUP} Garba")).await;
    let alert = doubtful(site, 5_200, "HALIMA").await;
    site.t.run("update alerts set reason = '<script>alert(1)</script>', narration = '<img src=x onerror=alert(1)>', \
                bank = '<b>bank', mail_from = '<u>from', subject = '<s>subject' where cast($1 as bigint) > 0", &payment).await;
    site.t.run("update businesses set name = '<script>alert(3)</script>', email = '<i>mail' where cast($1 as bigint) > 0", &payment).await;
    site.t.run("update receiving_accounts set name = '<script>x', bank_name = '<b>bank' where cast($1 as bigint) > 0", &payment).await;
    (alert, payment.transaction_id)
}

async fn admin(site: &Pages) -> Visitor {
    signed_in(site, ADMIN).await
}

#[track_caller]
fn done(page: &Seen, part: &str) {
    assert_eq!(page.status, 200, "{}: {}", page.path, told(page));
    assert!(told(page).contains(part), "{part}: {}", told(page));
}

#[track_caller]
fn wrong(page: &Seen, part: &str) {
    assert_eq!(page.status, 422, "{}: {}", page.path, told(page));
    assert!(page.text_of("[role=alert], .wrong").contains(part), "{part}: {}", page.text_of("main"));
}

on_both! {
    async fn every_page_is_there_whole_and_shows_strangers_texts_as_texts(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let empty = paths(0, "nothing");
        let mut visitor = admin(&site).await;
        for path in empty.iter().filter(|path| !path.ends_with("/0") && !path.ends_with("nothing") && !path.ends_with("webhooks/1")) {
            let page = visitor.get(path).await;
            assert_eq!(page.status, 200, "{path}: {}", page.text_of("main"));
            check_markup(path, &page.body);
        }
        let (alert, payment) = with_markup(&site, &shop).await;
        for path in paths(alert, &payment) {
            let page = visitor.get(&path).await;
            let is_there = !path.ends_with("webhooks/1");
            assert_eq!(page.status, if is_there { 200 } else { 404 }, "{path}");
            check_markup(&path, &page.body);
            let html = page.html();
            for css in ["main script", "main img", "main [onerror]", "main i", "main u", "main s"] {
                assert_eq!(html.select(&Selector::parse(css).unwrap()).count(), 0, "{css} on {path}");
            }
            assert!(page.body.contains("form id=\"sign-out\""), "{path}");
        }
        site.close().await;
    }

    async fn who_may_not_do_it_is_refused_by_every_form(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let payment = site.t.create(&shop, 5_200, "Halima Garba").await;
        let alert = doubtful(&site, 5_200, "HALIMA").await;
        for (email, administers) in [(VIEWER, false), (REVIEWER, true)] {
            let mut visitor = signed_in(&site, email).await;
            let csrf = visitor.get("/operator").await.form("sign-out").fields["csrf"].clone();
            for path in paths(alert, &payment.transaction_id) {
                let only_admin = ["/businesses", "/accounts", "/users", "/mailboxes"].iter().any(|part| path.contains(part));
                let has_forms = !["/operator", "/operator/activity", "/operator/payments"].contains(&path.as_str()) && !path.ends_with("webhooks/1");
                if !has_forms || (administers && !only_admin) {
                    continue;
                }
                for act in ["approve", "dismiss", "dismiss-many", "add", "set", "reject", "reverse", "resend", "retire", "run", "try", "credit", "approve-website", "disable", ""] {
                    let fields = BTreeMap::from([("csrf".to_owned(), csrf.clone()), ("act".to_owned(), act.to_owned())]);
                    let page = visitor.post_fields(&path, &fields).await;
                    page.is(403, "Your role does not allow this");
                }
            }
        }
        let mut viewer = signed_in(&site, VIEWER).await;
        for path in paths(alert, &payment.transaction_id).iter().filter(|path| !path.ends_with("webhooks/1")) {
            let page = viewer.get(path).await;
            let status = if path.ends_with("/users") { 403 } else { 200 };
            assert_eq!(page.status, status, "{path}");
            let html = page.html();
            let forms: Vec<&str> = html.select(&Selector::parse("main form[method=post]").unwrap()).filter_map(|form| form.value().attr("id")).collect();
            let own = ["desk-keys", "find-wallet"];
            assert!(forms.iter().all(|form| own.contains(form)), "{path}: {forms:?}");
        }
        site.close().await;
    }

    async fn a_business_is_added_with_its_owner_and_changed(db: TestDatabase) {
        let (site, _) = site(db).await;
        let mut visitor = admin(&site).await;
        let page = visitor.get("/operator/businesses").await;
        let bad = visitor.submit(&page, "add-business", &[("name", "Suya Spot"), ("email", "nobody"), ("owner", "ada@suya.example")]).await;
        wrong(&bad, "is not an e-mail address");
        assert!(bad.body.contains(r#"value="Suya Spot""#), "what was typed is kept");
        let made = visitor.submit(&page, "add-business", &[("name", "Suya Spot"), ("email", "till@suya.example"), ("owner", "ada@suya.example")]).await;
        done(&made, "is added");
        let shown = made.text_of(".secret");
        assert!(shown.contains("whsec_") && shown.contains("/welcome/"), "{shown}");
        let again = visitor.get(&made.path).await;
        assert!(!again.body.contains("whsec_"), "shown once");
        assert!(again.text_of("main").contains("ada@suya.example owner invited"), "{}", again.text_of("main"));
        let bad = visitor.submit(&again, "set-business", &[("percentage", "200"), ("active", "on"), ("wallet", "off"), ("charged", "on"), ("paid_by_customer", "off")]).await;
        wrong(&bad, "percentage must be between");
        let set = visitor.submit(&again, "set-business", &[("percentage", "1.50"), ("fixed", "25"), ("cap", ""), ("rate_limit", "120"), ("active", "off"), ("wallet", "on"), ("charged", "on"), ("paid_by_customer", "on")]).await;
        done(&set, "is changed");
        let id: i64 = made.path.rsplit('/').next().unwrap().parse().unwrap();
        let business = site.t.app.store.business(id).await.unwrap().unwrap();
        assert!(!business.active && business.wallet_enabled && business.schedule.paid_by_customer);
        assert_eq!((business.schedule.rate, business.rate_limit, business.wallet_rate_limit), (150, Some(120), None));
        // What is not sent is left alone.
        let csrf = set.form("sign-out").fields["csrf"].clone();
        let fields = [("csrf", csrf.as_str()), ("act", "set"), ("active", "on")];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert_eq!(visitor.post_fields(&made.path, &fields).await.status, 303);
        let after = site.t.app.store.business(id).await.unwrap().unwrap();
        assert!(after.active && after.wallet_enabled && after.schedule == business.schedule);
        // Nor is what was sent as a page showed it that a colleague has overtaken.
        let stale = [("fixed", "30"), ("active", "on"), ("wallet", "off"), ("charged", "on"), ("paid_by_customer", "off")];
        done(&visitor.submit(&again, "set-business", &stale).await, "is changed");
        let after = site.t.app.store.business(id).await.unwrap().unwrap();
        assert_eq!((after.schedule.fixed.kobo(), after.schedule.rate, after.rate_limit), (3_000, 150, Some(120)));
        assert!(after.wallet_enabled, "switched on since");
        visitor.get("/operator/businesses/999999").await.is(404, "Nothing is here");
        site.close().await;
    }

    async fn a_website_is_approved_or_rejected_where_it_waits(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let new = tillbell::ops::merchants::websites::NewWebsite {
            business_id: shop.id,
            url: "https://eland.example".into(),
            webhook_url: None,
            charges: tillbell::ops::merchants::businesses::ChargeChange::default(),
            approve: false,
        };
        tillbell::ops::merchants::websites::add_website(&site.t.app, "ada", &new).await.unwrap().unwrap();
        let mut visitor = admin(&site).await;
        let page = visitor.get("/operator/businesses").await;
        assert!(page.text_of("main").contains("Websites that wait for you"));
        let bad = visitor.submit(&page, "reject-website-1", &[("reason", " ")]).await;
        wrong(&bad, "reason");
        let approved = visitor.submit(&bad, "approve-website-1", &[]).await;
        done(&approved, "https://eland.example is approved");
        let here = visitor.get(&format!("/operator/businesses/{}", shop.id)).await;
        let rejected = visitor.submit(&here, "reject-website-2", &[("reason", "not theirs")]).await;
        done(&rejected, "is rejected");
        assert!(rejected.text_of("main").contains("not theirs"));
        site.close().await;
    }

    async fn an_account_is_added_and_retired(db: TestDatabase) {
        let (site, _) = site(db).await;
        let mut visitor = admin(&site).await;
        let page = visitor.get("/operator/accounts").await;
        let fields = [("bank", "GTBank"), ("number", "0123"), ("name", "KUDU"), ("business", ""), ("via", "")];
        let bad = visitor.submit(&page, "add-account", &fields).await;
        wrong(&bad, "10 digits");
        let unknown = visitor.submit(&page, "add-account", &[("bank", "Bank of Nowhere"), ("number", "0999999999"), ("name", "KUDU")]).await;
        wrong(&unknown, "No template reads the mails");
        let added = visitor.submit(&page, "add-account", &[("bank", "UBA"), ("number", "2087654329"), ("name", "KUDU"), ("business", "1")]).await;
        done(&added, "2087654329 at UBA is added");
        let accounts = site.t.app.store.accounts().await.unwrap();
        let new: &ReceivingAccount = accounts.iter().find(|one| one.number == "2087654329").unwrap();
        assert_eq!(new.business_id, Some(1));
        let retired = visitor.submit(&added, "retire-account-1", &[]).await;
        done(&retired, "is retired");
        let gone = visitor.get("/operator/accounts?state=retired").await;
        assert!(gone.text_of("table").contains(ACCOUNT), "{}", gone.text_of("main"));
        site.close().await;
    }

    async fn a_payment_is_found_and_rejected_or_reversed(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let open = site.t.create(&shop, 5_200, "Halima Garba").await;
        let funded = site.t.create(&shop, 7_100, "Musa Danladi").await;
        site.t.advance(LATER);
        site.t.ingest(&Alert::credit(ACCOUNT, 7_100, "MUSA DANLADI", site.t.app.now() - Span::seconds(20)).text()).await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        let rows = |page: &Seen| page.html().select(&Selector::parse("table tbody tr").unwrap()).count();
        for (query, count) in [("", 2), ("q=hal", 1), (&format!("q={}", open.transaction_id), 1), ("status=approved", 1), ("business=999", 0), ("q=7100", 1), ("q=NGN+5%2C200.00", 1), (&format!("q={}", open.transaction_id.to_lowercase()), 1), (&format!("q={ACCOUNT}"), 2), ("q=kudu", 2), ("q=7101", 0), ("status=approved&q=hal", 0), ("reversed=1", 0)] {
            let page = visitor.get(&format!("/operator/payments?{query}")).await;
            assert_eq!((page.status, rows(&page)), (200, count), "{query}");
        }
        let csv = visitor.get("/operator/payments?format=csv&q=hal").await;
        assert!(csv.body.contains("Halima Garba") && !csv.body.contains("Musa Danladi"), "{}", csv.body);
        assert!(csv.header("content-type").unwrap().starts_with("text/csv"));
        let page = visitor.get(&format!("/operator/payments/{}?business={}", open.transaction_id, shop.id)).await;
        let bad = visitor.submit(&page, "reject-payment", &[("reason", "")]).await;
        wrong(&bad, "reason is required");
        done(&visitor.submit(&bad, "reject-payment", &[("reason", "she cancelled")]).await, "is rejected");
        assert_eq!(paid(&site, &open).await, Status::Rejected);
        let page = visitor.get(&format!("/operator/payments/{}", funded.transaction_id)).await;
        assert!(page.text_of("main").contains("the amount is exact"), "{}", page.text_of("main"));
        let bad = visitor.submit(&page, "reverse-payment", &[("reason", "wrong"), ("alert", "999999")]).await;
        wrong(&bad, "no alert 999999");
        done(&visitor.submit(&page, "reverse-payment", &[("reason", "wrong match"), ("alert", "")]).await, "is reversed");
        assert!(site.t.payment(&funded).await.reversed_at.is_some());
        let late = visitor.submit(&page, "reverse-payment", &[("reason", "wrong match"), ("alert", "")]).await;
        wrong(&late, "only an approved payment can be reversed");
        for path in ["/operator/payments/nothing", "/operator/payments/nothing?business=1", &format!("/operator/payments/{}?business=999", funded.transaction_id)] {
            visitor.get(path).await.is(404, "Nothing is here");
        }
        let hooks = visitor.get("/operator/webhooks").await;
        let sent = visitor.submit(&hooks, "resend-failed", &[("since", "soon")]).await;
        wrong(&sent, "Write for how many hours back");
        site.close().await;
    }

    async fn a_wallet_is_found_credited_and_held_and_its_number_is_in_no_address(db: TestDatabase) {
        let (site, _) = site(db).await;
        let phone = Phone::parse("08030000001").unwrap();
        ensure(&site.t.app, &phone).await.unwrap();
        let mut visitor = signed_in(&site, REVIEWER).await;
        let page = visitor.get("/operator/wallets").await;
        wrong(&visitor.submit(&page, "find-wallet", &[("phone", "08030000009")]).await, "no wallet");
        let found = visitor.submit(&page, "find-wallet", &[("phone", "0803 000 0001")]).await;
        assert!(found.path.contains("wallet=") && !found.path.contains("803000"), "{}", found.path);
        assert!(found.text_of("main").contains("Wallet of +2348030000001"), "{}", found.text_of("main"));
        wrong(&visitor.submit(&found, "credit-wallet", &[("amount", "x"), ("reason", "gift"), ("ref", "")]).await, "Write an amount");
        let credited = visitor.submit(&found, "credit-wallet", &[("amount", "500"), ("reason", "a refund"), ("ref", "r-1")]).await;
        done(&credited, "is credited");
        let twice = visitor.submit(&credited, "credit-wallet", &[("amount", "500"), ("reason", "a refund"), ("ref", "r-1")]).await;
        wrong(&twice, "was used for another credit");
        done(&visitor.submit(&credited, "tier-wallet", &[("tier", "2")]).await, "tier 2");
        done(&visitor.submit(&credited, "hold-wallet", &[("reason", "stolen phone")]).await, "is suspended");
        let wallet = find(&site.t.app, &phone).await.unwrap().unwrap();
        assert_eq!((wallet.balance.kobo(), wallet.tier.number(), wallet.suspended), (50_000, 2, true));
        site.close().await;
    }

    async fn people_of_the_staff_are_added_disabled_and_reset_with_links_shown_once(db: TestDatabase) {
        let (site, _) = site(db).await;
        let mut visitor = admin(&site).await;
        let page = visitor.get("/operator/users").await;
        wrong(&visitor.submit(&page, "add-user", &[("email", "nobody"), ("role", "reviewer")]).await, "is not an e-mail address");
        let added = visitor.submit(&page, "add-user", &[("email", "uche@till.example"), ("role", "reviewer")]).await;
        done(&added, "uche@till.example is added");
        assert!(added.text_of(".secret").contains("/welcome/"));
        let again = visitor.get("/operator/users").await;
        assert!(!again.body.contains("/welcome/"), "shown once");
        let uche = site.t.app.store.user_by_email("uche@till.example").await.unwrap().unwrap();
        assert_eq!(uche.staff, Some(StaffRole::Reviewer));
        let mut other = signed_in(&site, REVIEWER).await;
        let ife = site.t.app.store.user_by_email(REVIEWER).await.unwrap().unwrap();
        let reset = visitor.submit(&again, &format!("reset-user-{}", ife.id), &[]).await;
        assert!(reset.text_of(".secret").contains("/welcome/"), "{}", told(&reset));
        assert_eq!(other.send("GET", "/operator", None).await.status, 303, "signed out");
        done(&visitor.submit(&reset, &format!("disable-user-{}", uche.id), &[]).await, "is disabled");
        let own = site.t.app.store.user_by_email(ADMIN).await.unwrap().unwrap();
        let mut fields = reset.form(&format!("disable-user-{}", uche.id)).fields;
        fields.insert("id".into(), own.id.to_string());
        wrong(&visitor.post_fields("/operator/users", &fields).await, "cannot disable yourself");
        // Long after the password was given it is asked for again.
        site.t.advance(Span::minutes(11));
        let asked = visitor.post(&again, "add-user", &[("email", "x@till.example"), ("role", "viewer")]).await;
        assert!(asked.header("location").is_some_and(|to| to.starts_with("/confirm-password")), "{}", asked.status);
        site.close().await;
    }

    async fn many_users_are_paged_and_one_is_found_by_his_address(db: TestDatabase) {
        let (site, _) = site(db).await;
        let shop = site.t.merchant("adire.example").await;
        for n in 0..120 {
            let (email, place) = (format!("m{n}@till.example"), Place::Member(shop.id, MemberRole::Viewer));
            add_user(&site.t.app, "ada", &email, place, None).await.unwrap().unwrap();
        }
        let mut visitor = admin(&site).await;
        let (mut path, mut seen) = ("/operator/users".to_owned(), Vec::new());
        for _ in 0..4 {
            let page = visitor.get(&path).await;
            let html = page.html();
            let emails = Selector::parse("#members + * td.lead, #members ~ * td.lead").unwrap();
            let on_page: Vec<String> =
                html.select(&emails).map(|cell| cell.text().collect::<String>().trim().to_owned()).collect();
            assert!(on_page.len() <= 50, "{}", on_page.len());
            seen.extend(on_page);
            let next = html.select(&Selector::parse("a[rel=next]").unwrap()).next();
            let Some(next) = next else { break };
            assert_eq!(next.text().collect::<String>(), "More");
            path = next.attr("href").unwrap().to_owned();
        }
        let of_shop = |email: &&String| email.starts_with('m') && email.contains("@till.example");
        assert_eq!(seen.iter().filter(of_shop).collect::<BTreeSet<_>>().len(), 120, "each once: {seen:?}");
        assert_eq!(seen.iter().filter(of_shop).count(), 120);
        let found = visitor.get("/operator/users?q=M77%40till.example").await;
        let text = found.text_of("main");
        assert!(text.contains("m77@till.example") && !text.contains("m78@"), "{text}");
        let csv = visitor.get("/operator/users?format=csv").await;
        assert!((0..120).all(|n| csv.body.contains(&format!(",m{n}@till.example,"))), "{}", csv.body);
        site.close().await;
    }

    async fn an_audit_runs_by_itself_and_tells_every_clause(db: TestDatabase) {
        let (site, shop) = site(db).await;
        site.t.create(&shop, 5_200, "Halima Garba").await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        let page = visitor.get("/operator/audit").await;
        assert!(page.text_of("main").contains("No audit was run here yet"));
        let begun = visitor.submit(&page, "run-audit", &[]).await;
        done(&begun, "The audit runs");
        let mut last = begun;
        for _ in 0..200 {
            if last.text_of("main").contains("The books are in order") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            last = visitor.get("/operator/audit").await;
        }
        assert!(last.text_of("main").contains("The books are in order"), "{}", last.text_of("main"));
        assert!(last.text_of("table").contains("entries sum to zero"), "{}", last.text_of("table"));
        assert!(visitor.get("/operator").await.text_of(".tiles").contains("Audit in order"));
        // What was found stays to be seen where a later one comes to no answer.
        let earlier = "insert into audit_runs (id, operator, started_at, beat_at, finished_at, steps, steps_done, \
                       violations, checks) values (99997, 'ada', 1, 2, 2, 9, 9, 3, '[]'), \
                       (99998, 'ada', 3, 3, null, 9, 4, null, '')";
        by_hand(&site.t, earlier, earlier).await;
        let told = visitor.get("/operator/audit").await.text_of(".notice");
        assert!(told.contains("NOT IN ORDER: 3 rows") && told.contains("ended without an answer"), "{told}");
        assert!(visitor.get("/operator").await.text_of(".tiles").contains("Audit not in order"));
        // One whose process ended is not waited for, and one that runs is not run twice.
        site.t.run("insert into audit_runs (id, operator, started_at, beat_at, steps, steps_done, checks) \
                    select 99999, 'ada', 1, p.created_at + 3600000000000, 9, 4, '' from payments p where p.id = $1", &site.t.create(&shop, 9_900, "X Y").await).await;
        let running = visitor.get("/operator/audit").await;
        assert!(running.body.contains("<progress") && !running.body.contains("run-audit"), "{}", running.text_of("main"));
        let refused = visitor.submit(&page, "run-audit", &[]).await;
        wrong(&refused, "is running already");
        site.close().await;
    }

    async fn a_mail_is_tried_from_text_or_file_and_nothing_is_stored(db: TestDatabase) {
        let (site, _) = site(db).await;
        let mut visitor = signed_in(&site, REVIEWER).await;
        let page = visitor.get("/operator/banks").await;
        assert!(page.text_of("main").contains("GTBank"), "the templates");
        wrong(&visitor.submit(&page, "try-mail", &[("mail", "")]).await, "Paste a whole mail");
        let mail = Alert::credit(ACCOUNT, 5_200, "HALIMA GARBA", site.t.app.now()).text();
        let tried = visitor.submit(&page, "try-mail", &[("mail", &mail)]).await;
        assert_eq!(tried.status, 200);
        for part in ["Read as read", "Payer HALIMA GARBA", "Amount NGN 5,200.00"] {
            assert!(tried.text_of("main").contains(part), "{part}: {}", tried.text_of("main"));
        }
        assert!(tried.text_of(".mail mark").contains("amount NGN 5200"), "{}", tried.text_of(".mail"));
        assert_eq!(site.t.app.store.alert(1).await.unwrap(), None);
        site.close().await;
    }
}
