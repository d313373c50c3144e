//! What a page must not do: run or load anything, be kept or framed, change something by being looked at,
//! tell good links from bad ones, or let a secret into the logs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use scraper::{Html, Selector};
use sha2::{Digest, Sha256};
use tillbell::domain::money::Money;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::wallet_payments::start::{StartRequest, Started};
use tillbell::ops::wallet_payments::topup::start_topup;

use super::site::{Form, Shown, Site};
use crate::api::codes::run;
use crate::harness::app::ACCOUNT;
use crate::harness::logs::Logs;
use crate::wallet::world::{PIN, WRONG, token};

/// Bytes of a page.
const PAGE_MAX: usize = 30 * 1024;

/// Stored texts that have run scripts somewhere.
const HOSTILE: [&str; 14] = [
    "<script>alert(1)</script>",
    "\"><script>alert(1)</script>",
    "'><img src=x onerror=alert(1)>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</textarea></form><form action=https://evil.example><input name=pin>",
    "<svg/onload=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<a href=\"javascript:alert(1)\">pay</a>",
    "<base href=https://evil.example/><meta http-equiv=refresh content=0;url=//evil.example>",
    "{{ form_token }} {% if pin %} ${7*7} <%= 1 %>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62;",
    "javascript:alert(1) \u{2028} \u{202e}00.000,5 NGN\u{202c} \u{feff}",
    "<!--<script>--><style>*{display:none}</style><link rel=stylesheet href=//evil.example>",
];

/// Headers, size and tags that every page must have or must not have.
#[track_caller]
fn check(page: &Shown) {
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("x-robots-tag", "noindex, nofollow"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name} of {}", page.status);
    }
    assert!(page.header("x-request-id").is_some() && page.header("set-cookie").is_none());
    let policy = page.header("content-security-policy").unwrap();
    let html = Html::parse_document(&page.body);
    let all = |css: &str| html.select(&Selector::parse(css).unwrap()).collect::<Vec<_>>();
    let style = all("style");
    assert_eq!(style.len(), 1);
    let hash = STANDARD.encode(Sha256::digest(style[0].text().collect::<String>().as_bytes()));
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; style-src 'sha256-{hash}'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
    );
    assert!(page.body.len() < PAGE_MAX, "{} bytes", page.body.len());
    for none in ["script", "img", "iframe", "svg", "base", "object", "meta[http-equiv]", "[style]", "[src]"] {
        assert!(all(none).is_empty(), "{none} on {}", page.body);
    }
    let loaded = all("link").iter().map(|link| link.value().attr("href").unwrap()).collect::<Vec<_>>();
    assert_eq!(loaded, ["/brand/icon.svg"]);
    for element in all("*") {
        for (name, _) in element.value().attrs() {
            assert!(!name.starts_with("on"), "{name} on {}", page.body);
        }
    }
    for link in all("a") {
        let to = link.value().attr("href").unwrap();
        assert!(to == "?" || to == "https://adire.example/", "only to this very page and to the shop: {to}");
    }
    for form in all("form") {
        let input = Selector::parse("input").unwrap();
        let fields = form.select(&input).map(|field| field.value().attr("name").unwrap()).collect::<Vec<_>>();
        // To be asked whether to cancel is a look; what changes something is not, and carries a token.
        let method = if fields == ["cancel"] { "get" } else { "post" };
        assert_eq!((form.value().attr("method"), form.value().attr("action")), (Some(method), None));
        assert_eq!(fields.contains(&"form_token"), method == "post", "{fields:?}");
    }
    // For those who listen: the language, one heading, a label for every field, words on every button.
    assert_eq!(all("html")[0].value().attr("lang"), Some("en"));
    assert_eq!((all("h1").len(), all("main").len(), all("title").len()), (1, 1, 1));
    for field in all("input:not([type=hidden])") {
        let id = field.value().attr("id").unwrap();
        assert_eq!(all(&format!("label[for={id}]")).len(), 1, "a label for {id}");
        assert_eq!(field.value().attr("inputmode"), Some("numeric"));
        for described in field.value().attr("aria-describedby").unwrap().split(' ') {
            assert_eq!(all(&format!("#{described}")).len(), 1, "{described}");
        }
        let remembered = if id == "code" { "one-time-code" } else { "off" };
        assert_eq!(field.value().attr("autocomplete"), Some(remembered));
    }
    for button in all("button") {
        assert!(button.value().attr("name").is_none(), "an act is told by a field, never by a button");
        assert!(!button.text().collect::<String>().trim().is_empty());
    }
}

async fn called(site: &Site, name: &str) {
    let change = BusinessChange { name: Some(name.to_owned()), ..BusinessChange::default() };
    set_business(&site.w.t.app, "test", site.w.shop.id, &change).await.unwrap().unwrap();
    site.w.t.app.directory.forget();
}

/// A payment with these texts; answers its link.
async fn begin_with(site: &Site, key: &str, reference: &str, summary: &str, payer: &str) -> String {
    let request = StartRequest {
        order_reference: reference.chars().take(120).collect(),
        order_summary: Some(summary.to_owned()),
        payer_name: payer.chars().take(120).collect(),
        ..site.w.request(10, key)
    };
    match site.w.try_start(&request).await {
        Started::Waiting(started) => token(&started),
        other => panic!("not started: {other:?}"),
    }
}

on_both! {
    async fn every_page_is_closed_small_and_well_formed(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(8_000, 5_000).await;
        let (low, over) = (site.begin(4_000, "k-2").await.1, site.begin(100, "k-3").await.1);
        check(&site.get(&first).await);
        check(&site.pay(&first, WRONG).await);
        check(&site.pay(&first, "1").await);
        check(&site.pay(&first, PIN).await);
        check(&site.get(&first).await);
        site.w.t.account(ACCOUNT).await;
        check(&site.get(&low).await);
        let (app, phone) = (&site.w.t.app, site.w.phone());
        start_topup(app, &site.w.shop.caller, &phone, Money(100_000), "Ifeoma Danladi", None).await.unwrap();
        check(&site.get(&low).await);
        check(&site.act(&low, "reset", &[]).await);
        let set = [("code", "000000"), ("new_pin", "1111"), ("new_pin_again", "1111")];
        check(&site.act(&low, "code", &set).await);
        check(&site.get(&low).await);
        let asked = site.act(&over, "cancel", &[]).await;
        check(&asked);
        check(&site.submit(&over, &asked.form("cancel"), &[]).await);
        check(&site.get(&over).await);
        check(&site.get("nothing").await);
        check(&site.post(&low, &["Origin: https://evil.example"], &[("pin", PIN)]).await);
        check(&site.post(&low, &["Sec-Fetch-Site: same-origin"], &[]).await);
        check(&site.send("POST", &format!("/pay/{low}"), &[], Some(&"x".repeat(9_000))).await);
        site.close().await;
    }

    async fn stored_texts_stay_texts(db: TestDatabase) {
        let (engine, url) = (db.engine(), db.url().to_owned());
        let site = Site::start(db).await;
        let (_, first) = site.w.ready(20_000, 100).await;
        drop(first);
        for (n, text) in HOSTILE.iter().enumerate() {
            // As it may have been stored before such names were refused.
            let stored = format!("update businesses set name = '{}'", text.replace('\'', "''"));
            run(engine, &url, &stored, &stored).await;
            site.w.t.app.directory.forget();
            let summary = format!("one\n{text}\n{text}");
            let link = begin_with(&site, &format!("x-{n}"), text, &summary, &format!("A {text}")).await;
            let open = site.get(&link).await;
            check(&open);
            let fields: Vec<Vec<String>> = open.forms().iter().map(|form| form.keys().cloned().collect()).collect();
            let expected: [&[&str]; 3] = [&["form_token", "pin"], &["form_token", "reset"], &["cancel"]];
            assert_eq!(fields, expected, "{text}");
            let seen = text.replace(['\u{202e}', '\u{202c}'], "");
            let seen = seen.split_whitespace().collect::<Vec<_>>().join(" ");
            let shown = open.text();
            assert!(shown.matches(&seen).count() >= 4, "{seen:?} is read as it was written: {shown}");
            check(&site.pay(&link, WRONG).await);
            check(&site.pay(&link, PIN).await);
            check(&site.get(&link).await);
        }
        site.close().await;
    }

    async fn the_longest_texts_make_no_page_of_30_kb(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.ready(20_000, 100).await;
        for (n, letter) in ["a", "&", "'", "\u{1f9f5}", "a\n", "\u{1d15e}"].iter().enumerate() {
            called(&site, &letter.trim().repeat(255 / letter.trim().chars().count())).await;
            let summary: String = letter.repeat(8_000).chars().take(8_000).collect();
            let link = begin_with(&site, &format!("l-{n}"), &letter.trim().repeat(120), summary.trim(), "A").await;
            let open = site.get(&link).await;
            check(&open);
            let is_whole = *letter == "a";
            assert_eq!(open.body.contains("The shop’s summary is longer"), !is_whole, "{letter:?}");
            check(&site.act(&link, "reset", &[]).await);
            check(&site.pay(&link, PIN).await);
            site.w.t.advance(tillbell::domain::time::Span::hours(24));
        }
        site.close().await;
    }

    async fn looking_changes_nothing(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let (started, link) = site.begin(5_000, "k-1").await;
        let before = snapshot(&site).await;
        for agent in ["WhatsApp/2.23.20.0", "facebookexternalhit/1.1", "TelegramBot (like TwitterBot)"] {
            let agent = format!("User-Agent: {agent}");
            for query in ["", "?send_code=1", "?pin=4071&cancel=sure"] {
                let path = format!("/pay/{link}{query}");
                let get = site.send("GET", &path, &[&agent], None).await;
                let head = site.send("HEAD", &path, &[&agent], None).await;
                assert_eq!((get.status, head.status, head.body.as_str()), (200, 200, ""));
                let length = get.body.len().to_string();
                assert_eq!(head.header("content-length"), Some(length.as_str()));
                for name in ["cache-control", "content-security-policy", "referrer-policy", "content-type"] {
                    assert_eq!(get.header(name), head.header(name));
                }
            }
            let body = "send_code=1";
            let kind = "Content-Type: application/x-www-form-urlencoded";
            for verb in ["GET", "HEAD"] {
                let shown = site.send(verb, &format!("/pay/{link}"), &[&agent, kind], Some(body)).await;
                assert_eq!(shown.status, 200);
            }
        }
        assert_eq!(snapshot(&site).await, before);
        let intent = site.w.t.app.store.intent(started.intent.id).await.unwrap().unwrap();
        assert_eq!(intent, started.intent);
        site.close().await;
    }

    async fn links_that_lead_nowhere_are_all_alike(db: TestDatabase) {
        let site = Site::start(db).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let mut other = link.clone();
        let last = other.pop().unwrap();
        other.push(if last == 'A' { 'E' } else { 'A' });
        let first = site.get("nothing").await;
        assert_eq!(first.status, 404);
        check(&first);
        let long = "x".repeat(4_000);
        for path in [
            &format!("/pay/{other}"),
            &format!("/pay/{link}//"),
            &format!("/pay/{link}/x"),
            &format!("/pay/{link}%20"),
            &format!("/pay/{}", link.to_lowercase()),
            "/pay/%ff%00",
            "/pay/..%2f..%2fetc",
            "/pay/%e1%bb%8d",
            "/pay/'%20or%201=1",
            "/pay/",
            "/pay",
            &format!("/pay/{long}"),
        ] {
            for verb in ["GET", "POST", "HEAD"] {
                let shown = site.send(verb, path, &["Content-Type: application/x-www-form-urlencoded"], Some("pin=4071")).await;
                let body = if verb == "HEAD" { "" } else { first.body.as_str() };
                assert_eq!((shown.status, shown.body.as_str()), (404, body), "{verb} {path}");
                let apart = |shown: &Shown| -> Form {
                    let own = ["x-request-id", "date"];
                    shown.headers.iter().filter(|(name, _)| !own.contains(&name.as_str())).cloned().collect()
                };
                assert_eq!(apart(&shown), apart(&first), "{verb} {path}");
            }
        }
        site.close().await;
    }
}

/// What looking could have changed.
async fn snapshot(site: &Site) -> (String, usize, usize) {
    let wallet = site.w.wallet().await;
    let messages = site.w.t.app.store.messages(None, 1_000).await.unwrap().len();
    (format!("{wallet:?}"), messages, site.w.post.seen().len())
}

on_both! {
    async fn nothing_secret_is_logged_or_counted(db: TestDatabase) {
        let kept = Logs::keep();
        let settings = format!("{}operator_listen = \"127.0.0.1:0\"\n", super::site::DEV);
        let site = Site::with(db, &settings).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let sent = site.act(&link, "send_code", &[]).await;
        let code = site.code();
        let new_pin = "8305";
        let wrong = if code == "907264" { "907265" } else { "907264" };
        let form = sent.form("code");
        for given in [wrong, &code] {
            site.submit(&link, &form, &[("code", given), ("new_pin", new_pin), ("new_pin_again", new_pin)]).await;
        }
        let pay = site.get(&link).await.form("pin");
        let path = format!("/pay/{link}");
        let kind = "Content-Type: application/x-www-form-urlencoded";
        // Paths on which something goes wrong see the secrets as well.
        site.post(&link, &["Origin: https://evil.example"], &[("pin", new_pin)]).await.is(403, "");
        site.send("POST", &path, &[kind, "Sec-Fetch-Site: same-origin"], Some("pin=8305&pin=4072")).await.is(400, "");
        site.send("PUT", &path, &[kind], Some("pin=8305")).await;
        site.get(&format!("{link}x")).await.is(404, "");
        site.submit(&link, &pay, &[("pin", "4072")]).await.is(422, "Wrong PIN");
        site.submit(&link, &pay, &[("pin", new_pin)]).await.is(200, "Your payment is complete.");
        site.submit(&link, &pay, &[("pin", new_pin)]).await.is(200, "Your payment is complete.");
        let metrics = metrics_of(&site).await;
        let logs = kept.text();
        assert!(metrics.contains(r#"route="/pay/{token}""#) && metrics.contains(r#"status="422""#));
        assert!(logs.contains("/pay/{token}") && logs.contains("wallet payment approved"), "the log holds something");
        let form_token = form["form_token"].clone();
        for secret in [link.as_str(), &form_token, "5550142"] {
            assert!(!logs.contains(secret), "{secret} is in the log");
            assert!(!metrics.contains(secret), "{secret} is in the metrics");
        }
        for digits in [new_pin, "4072", &code, wrong] {
            let word = regex::Regex::new(&format!(r"\b{digits}\b")).unwrap();
            assert!(!word.is_match(&logs), "{digits} is in the log");
        }
        site.close().await;
    }
}

async fn metrics_of(site: &Site) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = site.running.operator_address.unwrap();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}
