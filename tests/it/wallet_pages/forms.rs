//! Who may send a form, and what is one: other sites, missing and borrowed tokens, bodies of every kind.

use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::serve::Roles;

use super::site::{DEV, NOT_DEV, Site};
use crate::wallet::world::PIN;

on_both! {
    async fn a_form_counts_only_from_our_own_page(db: TestDatabase) {
        let site = Site::with(db, &format!("{NOT_DEV}public_url = \"https://pay.tills.example\"\n")).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let (_, other) = site.begin(100, "k-2").await;
        let good = site.get(&link).await.form("pin")["form_token"].clone();
        let borrowed = site.get(&other).await.form("pin")["form_token"].clone();
        assert_ne!(good, borrowed);
        let here = format!("Origin: http://{}", site.running.address);
        let refused: &[(&[&str], Option<&str>)] = &[
            (&[], None),
            (&["Origin: null"], None),
            (&["Sec-Fetch-Site: none"], None),
            (&["Origin: null"], Some(&borrowed)),
            (&["Origin: null"], Some("")),
            (&["Sec-Fetch-Site: same-origin"], Some(&borrowed)),
            (&[&here], Some("x")),
            (&["Origin: https://shop.example"], Some(&good)),
            (&["Origin: https://pay.tills.example.shop.example"], Some(&good)),
            (&["Origin: http://pay.tills.example"], Some(&good)),
            (&["Origin: null", "Sec-Fetch-Site: cross-site"], Some(&good)),
            (&["Origin: null", "Sec-Fetch-Site: same-site"], Some(&good)),
            (&["Origin: https://pay.tills.example", "Sec-Fetch-Site: cross-site"], Some(&good)),
        ];
        for (headers, token) in refused {
            for act in [("pin", PIN), ("cancel", "1"), ("cancel", "sure"), ("send_code", "1"), ("reset", "1")] {
                let fields: Vec<_> = token.map(|token| ("form_token", token)).into_iter().chain([act]).collect();
                let shown = site.post(&link, headers, &fields).await;
                assert_eq!(shown.status, 403, "{headers:?} {token:?} {act:?}: {shown:?}");
                shown.is(403, "We could not accept that form. This did not change your payment.");
                assert_eq!(shown.heading(), "That did not work");
            }
        }
        assert_eq!(site.w.payment(&started).await.status, Status::Pending);
        let intent = site.w.t.app.store.intent(started.intent.id).await.unwrap().unwrap();
        assert_eq!(intent.tries, 0, "no try was taken");
        let accepted: &[(&[&str], Option<&str>)] = &[
            (&[], Some(&good)),
            (&["Origin: null"], Some(&good)),
            (&["Origin: null", "Sec-Fetch-Site: same-origin"], None),
            (&["Origin: https://pay.tills.example"], None),
            (&[&here], None),
            (&[&here, "Sec-Fetch-Site: same-origin"], Some(&good)),
        ];
        for (headers, token) in accepted {
            // A PIN of three digits is let in and costs nothing.
            let fields: Vec<_> = token.map(|token| ("form_token", token)).into_iter().chain([("pin", "407")]).collect();
            site.post(&link, headers, &fields).await.is(422, "must be 4 digits");
        }
        site.close().await;
    }

    async fn bodies_that_are_no_form_do_nothing(db: TestDatabase) {
        let site = Site::start(db).await;
        let (started, link) = site.w.ready(20_000, 5_000).await;
        let form = site.get(&link).await.form("pin");
        let body = format!("form_token={}&pin={PIN}", form["form_token"]);
        let path = format!("/pay/{link}");
        for (kind, sent, status) in [
            ("application/json", format!("{{\"pin\":\"{PIN}\"}}"), 415),
            ("text/plain", body.clone(), 415),
            ("multipart/form-data; boundary=x", body.clone(), 415),
            ("application/x-www-form-urlencoded", format!("{body}&pin={PIN}"), 400),
            ("application/x-www-form-urlencoded", format!("{body}&cancel=1"), 400),
            ("application/x-www-form-urlencoded", "pay=1".to_owned(), 400),
            ("application/x-www-form-urlencoded", String::new(), 400),
            ("application/x-www-form-urlencoded", format!("{body}&x={}", "y".repeat(4_096)), 413),
            ("application/x-www-form-urlencoded", format!("{body}&x={}", "y".repeat(900_000)), 413),
        ] {
            let kind = format!("Content-Type: {kind}");
            let shown = site.send("POST", &path, &[&kind, "Sec-Fetch-Site: same-origin"], Some(&sent)).await;
            assert_eq!(shown.status, status, "{kind} {}: {shown:?}", &sent[..sent.len().min(60)]);
            shown.is(status, "This did not change your payment.");
            if status == 400 {
                shown.is(400, "We did not receive your form completely.");
            }
        }
        let none = site.send("POST", &path, &["Sec-Fetch-Site: same-origin"], Some(&body)).await;
        assert_eq!(none.status, 415, "no Content-Type: {none:?}");
        for verb in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
            let shown = site.send(verb, &path, &["Sec-Fetch-Site: same-origin"], Some(&body)).await;
            assert_eq!(shown.status, 405, "{verb}");
            let allowed = shown.header("allow").unwrap().to_owned();
            assert!(["GET", "HEAD", "POST"].iter().all(|verb| allowed.contains(verb)), "{allowed}");
        }
        assert_eq!(site.w.payment(&started).await.status, Status::Pending);
        site.pay(&link, PIN).await.is(200, "Your payment is complete.");
        assert_eq!(site.w.wallet().await.balance, Money(1_500_000));
        site.close().await;
    }

    async fn a_node_without_the_role_has_no_pages(db: TestDatabase) {
        let roles = Roles { api: true, pages: false, mail: false, work: false };
        let site = Site::with_roles(db, DEV, roles).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let shown = site.get(&link).await;
        assert_eq!((shown.status, shown.header("content-type")), (404, Some("application/json")));
        assert_eq!(site.send("GET", "/api/v1/payments", &[], None).await.status, 401);
        site.close().await;
    }

    async fn addresses_and_links_have_their_limits(db: TestDatabase) {
        let settings = format!("{NOT_DEV}trusted_proxies = [\"127.0.0.0/8\"]\n");
        let site = Site::with(db, &settings).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let (_, other) = site.begin(100, "k-2").await;
        let path = format!("/pay/{link}");
        for n in 0..600 {
            // Good and bad links count alike.
            let path = if n % 2 == 0 { path.as_str() } else { "/pay/nothing" };
            let shown = site.send("GET", path, &["X-Forwarded-For: 203.0.113.7"], None).await;
            assert_ne!(shown.status, 429, "{n}");
        }
        let over = site.send("GET", &path, &["X-Forwarded-For: 203.0.113.7"], None).await;
        over.is(429, "Too many requests came from your network.");
        let wait: i64 = over.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=61).contains(&wait), "{wait}");
        let over = site.send("GET", "/pay/nothing", &["X-Forwarded-For: 203.0.113.7"], None).await;
        assert_eq!(over.status, 429);
        let elsewhere = site.send("GET", &path, &["X-Forwarded-For: 203.0.113.8"], None).await;
        assert_eq!(elsewhere.status, 200);
        let token = site.w.t.app.vault.form_token(&link, &[7; 16]).to_string();
        let body = [("form_token", token.as_str()), ("pin", "407")];
        for n in 0..120 {
            let from = format!("X-Forwarded-For: 198.51.100.{n}");
            site.post(&link, &[&from], &body).await.is(422, "must be 4 digits");
        }
        site.post(&link, &["X-Forwarded-For: 198.51.100.200"], &body).await.is(429, "There were too many tries on this link in a short time.");
        let token = site.w.t.app.vault.form_token(&other, &[7; 16]).to_string();
        let body = [("form_token", token.as_str()), ("pin", PIN)];
        site.post(&other, &["X-Forwarded-For: 198.51.100.200"], &body).await.is(200, "Your payment is complete.");
        site.close().await;
    }
}
