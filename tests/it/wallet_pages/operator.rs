//! The operator's name and logo: what pages show of them, what they may load for it, and what is refused at
//! start.

use tillbell::domain::message::MessageKind;
use tillbell::ops::wallets::desk::{Act, act};
use tillbell::serve::{Roles, start};

use super::site::{DEV, Site};
use crate::wallet::world::{PHONE, PIN, World};

pub const LOGO: &[u8] = include_bytes!("../../fixtures/pages/logo.png");
const NAME: &str = "Kudi & Basket";

/// Settings with this logo, in a file that lives as long as what is answered with them.
pub fn settings(name: &str, logo: &[u8]) -> (String, tempfile::NamedTempFile) {
    let file = tempfile::Builder::new().prefix("logo-").tempfile().unwrap();
    std::fs::write(file.path(), logo).unwrap();
    let settings = format!("{DEV}[pages]\noperator_name = {name:?}\nlogo_file = {:?}\n", file.path());
    (settings, file)
}

on_both! {
    async fn the_operators_logo_is_served_from_memory(db: TestDatabase) {
        let (settings, file) = settings(NAME, LOGO);
        let site = Site::with(db, &settings).await;
        drop(file);
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let open = site.get(&link).await;
        assert_eq!(open.attributes(".brand img", "alt"), [Some(NAME.to_owned())]);
        let source = open.attributes("img", "src")[0].clone().unwrap();
        assert!(source.starts_with("/brand/logo?v="), "{source}");
        let policy = open.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(policy.contains("; img-src 'self'; form-action 'self'; frame-ancestors 'none';"), "{policy}");
        assert!(open.body.contains("Your wallet is provided by <bdi>Kudi &#38; Basket</bdi>."), "{}", open.body);
        for verb in ["GET", "HEAD"] {
            let (status, headers, body) = site.exchange(verb, &source, &[], None).await;
            assert_eq!(status, 200);
            assert_eq!(body, if verb == "GET" { LOGO } else { b"" });
            let length = LOGO.len().to_string();
            for (name, value) in [
                ("content-type", "image/png"),
                ("cache-control", "public, max-age=86400"),
                ("x-content-type-options", "nosniff"),
                ("content-security-policy", "default-src 'none'; sandbox"),
                ("cross-origin-resource-policy", "same-origin"),
                ("content-length", length.as_str()),
            ] {
                assert!(headers.contains(&(name.to_owned(), value.to_owned())), "{name}: {headers:?}");
            }
        }
        let (status, ..) = site.exchange("POST", &source, &[], Some("")).await;
        assert_eq!(status, 405);
        site.pay(&link, PIN).await.is(200, "Your payment is complete.");
        assert_eq!(site.get("nothing").await.attributes("img", "src").len(), 1);
        site.close().await;
    }

    async fn a_name_alone_is_shown_and_named_in_words(db: TestDatabase) {
        let site = Site::with(db, &format!("{DEV}[pages]\noperator_name = \"Kudi Basket\"\n")).await;
        site.w.funded(20_000).await;
        let (_, link) = site.begin(5_000, "k-1").await;
        let page = site.get(&link).await;
        assert!(page.text().starts_with("Kudi Basket Create your wallet PIN"), "{}", page.text());
        assert!(page.attributes("img", "src").is_empty());
        assert_eq!(site.send("GET", "/brand/logo", &[], None).await.status, 404);
        site.w.set_pin(&link, PIN).await;
        site.w.send_messages().await;
        let told = site.w.post.last(MessageKind::PinChanged).text;
        assert!(told.ends_with("If this was not you, contact Kudi Basket straight away."), "{told}");
        site.close().await;
    }

    async fn whom_to_call_stands_wherever_the_provider_is_named(db: TestDatabase) {
        let pages = "[pages]\noperator_name = \"Kudi Basket Ltd.\"\nsupport = \"0700 555 0100 <b>\"\n";
        let site = Site::with(db, &format!("{DEV}{pages}")).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let page = site.get(&link).await;
        assert!(page.body.contains("Your wallet is provided by <bdi>Kudi Basket Ltd.</bdi> <span>Help"), "one full stop: {}", page.body);
        assert!(page.body.contains("Help: <bdi>0700 555 0100 &#60;b&#62;</bdi>"), "{}", page.body);
        let none = site.get("nothing").await;
        assert!(none.body.contains("Help: <bdi>0700 555 0100"), "{}", none.body);
        assert_eq!(none.attributes("main .card", "class").len(), 1);
        act(&site.w.t.app, "ada", PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
        site.get(&link).await.is(200, "Contact Kudi Basket Ltd. (0700 555 0100 <b>) for help.");
        site.w.send_messages().await;
        let told = site.w.post.last(MessageKind::PinChanged).text;
        assert!(told.ends_with("contact Kudi Basket Ltd. (0700 555 0100 <b>) straight away."), "{told}");
        site.close().await;
    }

    async fn messages_name_the_wallet(db: TestDatabase) {
        let site = Site::with(db, &format!("{DEV}[pages]\noperator_name = \"Kudi Basket\"\n")).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        site.pay(&link, PIN).await.is(200, "Your payment is complete.");
        site.w.send_messages().await;
        for (kind, words) in [
            (MessageKind::Link, "asks you to pay NGN 5,000.00 for order ORDER k-1 from your Kudi Basket wallet."),
            (MessageKind::Code, "is your code to set your Kudi Basket wallet PIN."),
            (MessageKind::Receipt, "for order ORDER k-1 from your Kudi Basket wallet on 10 Mar 2026, 09:00."),
        ] {
            let told = site.w.post.last(kind).text;
            assert!(told.contains(words), "{words:?} in {told}");
        }
        site.close().await;
    }

    async fn wallets_without_a_name_of_their_provider_are_warned_of_at_the_start(db: TestDatabase) {
        let logs = crate::harness::logs::Logs::keep();
        let w = World::with(db, DEV).await;
        let pages = Roles { api: false, pages: true, mail: false, work: false };
        start(w.t.app.clone(), pages).await.unwrap().stop().await;
        let warned = logs.text().lines().filter(|line| line.contains("pages.operator_name")).count();
        assert_eq!(warned, 1, "{}", logs.text());
    }

    async fn a_logo_that_cannot_be_shown_ends_the_start(db: TestDatabase) {
        let large = [LOGO, &vec![0; 64 * 1024]].concat();
        let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>";
        let (given, file) = settings(NAME, b"GIF89a");
        let w = World::with(db, &given).await;
        let pages = Roles { api: false, pages: true, mail: false, work: false };
        let refused: [(&[u8], &str); 4] = [
            (b"GIF89a", "the file is not a PNG, JPEG or WebP image"),
            (b"", "the file is not a PNG, JPEG or WebP image"),
            (svg, "SVG is not accepted, because it can hold scripts"),
            (&large, "the file is larger than 64 KB"),
        ];
        for (logo, why) in refused {
            std::fs::write(file.path(), logo).unwrap();
            let refused = start(w.t.app.clone(), pages).await.err().unwrap().to_string();
            assert!(refused.contains("pages.logo_file = ") && refused.contains(why), "{refused}");
        }
        let path = file.path().display().to_string();
        drop(file);
        let refused = start(w.t.app.clone(), pages).await.err().unwrap().to_string();
        assert!(refused.contains(&path) && refused.contains("cannot be read"), "{refused}");
        // A node that serves no pages has no need of it.
        let running = start(w.t.app.clone(), Roles { pages: false, api: true, ..pages }).await.unwrap();
        running.stop().await;
    }
}
