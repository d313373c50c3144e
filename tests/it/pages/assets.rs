//! What pages load: kept for good under the address with its hash, and nothing else is there.

use tillbell::http::pages::assets::{HTMX, SCRIPT, STYLE, TILL_SCRIPT, TILL_STYLE};
use tillbell::serve::Roles;

use crate::wallet_pages::site::{DEV, Site};

on_both! {
    async fn what_pages_load_is_kept_for_good(db: TestDatabase) {
        let site = Site::start(db).await;
        for (asset, kind) in [
            (&STYLE, "text/css; charset=utf-8"),
            (&HTMX, "text/javascript; charset=utf-8"),
            (&SCRIPT, "text/javascript; charset=utf-8"),
            (&TILL_STYLE, "text/css; charset=utf-8"),
            (&TILL_SCRIPT, "text/javascript; charset=utf-8"),
        ] {
            let (status, headers, body) = site.exchange("GET", &asset.address(), &[], None).await;
            assert_eq!(status, 200, "{}", asset.address());
            assert!(!body.is_empty());
            for (name, value) in [
                ("content-type", kind),
                ("cache-control", "public, max-age=31536000, immutable"),
                ("x-content-type-options", "nosniff"),
                ("cross-origin-resource-policy", "same-origin"),
            ] {
                assert!(headers.contains(&(name.to_owned(), value.to_owned())), "{name}: {headers:?}");
            }
            let (status, headers, packed) =
                site.exchange("GET", &asset.address(), &["Accept-Encoding: br, gzip"], None).await;
            // In a part of its own length, which is not known before.
            let is_gzip = packed.windows(2).any(|two| two == [0x1f, 0x8b]);
            assert!(status == 200 && is_gzip, "{status}: {}", asset.address());
            assert!(headers.contains(&("content-encoding".to_owned(), "gzip".to_owned())), "{headers:?}");
            assert!(headers.contains(&("vary".to_owned(), "accept-encoding".to_owned())), "{headers:?}");
            assert!(packed.len() * 2 < body.len(), "{} of {}", packed.len(), body.len());
            let (status, _, body) = site.exchange("HEAD", &asset.address(), &[], None).await;
            assert_eq!((status, body.len()), (200, 0));
        }
        site.close().await;
    }

    async fn another_hash_and_another_name_lead_nowhere(db: TestDatabase) {
        let site = Site::start(db).await;
        let style = STYLE.address();
        let hash = style.split('/').nth(2).unwrap();
        for path in [
            "/assets/0000000000000000/tillbell.css".to_owned(),
            format!("/assets/{hash}/htmx.min.js"),
            format!("/assets/{hash}/pay.css"),
            format!("/assets/{hash}/..%2ftillbell.css"),
            format!("/assets/{hash}/"),
            format!("/assets/{hash}"),
        ] {
            let (status, headers, _) = site.exchange("GET", &path, &[], None).await;
            assert_eq!(status, 404, "{path}");
            assert!(!headers.iter().any(|(_, value)| value.contains("immutable")), "{path}: {headers:?}");
        }
        let (status, ..) = site.exchange("POST", &style, &[], Some("")).await;
        assert_eq!(status, 405);
        site.close().await;
    }

    async fn a_node_without_pages_serves_none_of_it(db: TestDatabase) {
        let site = Site::with_roles(db, DEV, Roles { api: true, pages: false, mail: false, work: false }).await;
        let (status, ..) = site.exchange("GET", &STYLE.address(), &[], None).await;
        assert_eq!(status, 404);
        site.close().await;
    }
}
