//! Every component in a real browser, at the widths of a small phone and of a desk, light and dark, full and empty: that
//! nothing runs out of the page, every field has a label, and every id is there once. Pages and pictures of them are kept
//! where `TILLBELL_TEST_PICTURES` says.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use scraper::{Html, Selector};
use tillbell::http::pages::assets::{Asset, HTMX, SCRIPT, STYLE};

use super::samples;
use crate::harness::browser::{Browser, PHONE, PICTURES};

const NARROW: (u32, u32) = (320, 640);
const DESK: (u32, u32) = (1280, 800);
/// Text of twice the usual size (WCAG 1.4.4).
const LARGE_TEXT: u32 = 32;
const USUAL_TEXT: u32 = 16;
/// Targets of thumbs (WCAG 2.5.8 has 24).
const TOUCH_MIN: f64 = 34.0;
/// Bytes of a page with everything it needs.
const ALL_MAX: usize = 150 * 1024;

/// As the pages are looked at: beside them.
const LOADED: [(&LazyLock<Asset>, &str); 3] =
    [(&STYLE, "tillbell.css"), (&HTMX, "htmx.min.js"), (&SCRIPT, "tillbell.js")];

fn all(html: &Html, css: &str) -> Vec<String> {
    let selector = Selector::parse(css).unwrap();
    html.select(&selector).map(|found| found.html()).collect()
}

fn attributes(html: &Html, css: &str, name: &str) -> Vec<String> {
    let selector = Selector::parse(css).unwrap();
    html.select(&selector).filter_map(|found| found.value().attr(name)).map(str::to_owned).collect()
}

/// What a checker of accessibility would find first.
pub fn check_markup(name: &str, text: &str) {
    let html = Html::parse_document(text);
    let ids = attributes(&html, "[id]", "id");
    let known: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(ids.len(), known.len(), "{name}: an id stands twice in {ids:?}");
    for reference in ["for", "aria-describedby", "aria-labelledby", "data-copy"] {
        for value in attributes(&html, &format!("[{reference}]"), reference) {
            assert!(value.split(' ').all(|id| known.contains(id)), "{name}: {reference}={value:?}");
        }
    }
    let labelled: BTreeSet<String> = attributes(&html, "label[for]", "for").into_iter().collect();
    for id in attributes(&html, "input:not([type=hidden]),select,textarea", "id") {
        assert!(labelled.contains(&id), "{name}: {id} has no label");
    }
    let fields = all(&html, "input:not([type=hidden]),select,textarea").len();
    assert_eq!(labelled.len(), fields, "{name}: each field has an id and one label");
    assert_eq!(all(&html, "h1").len(), 1, "{name}");
    for css in ["img:not([alt])", "svg:not([aria-label])", "th:not([scope])", "nav:not([aria-label])"] {
        assert_eq!(all(&html, css), [""; 0], "{name}: {css}");
    }
    for action in all(&html, "form[method=post]") {
        assert!(action.contains(r#"name="csrf""#), "{name}: {action}");
    }
    let loaded = STYLE.bytes().len() + HTMX.bytes().len() + SCRIPT.bytes().len();
    assert!(text.len() + loaded < ALL_MAX, "{name} has {} bytes", text.len());
}

#[test]
fn every_component_stands_well_on_a_phone_and_on_a_desk() {
    let kept = tempfile::tempdir().unwrap();
    let folder = std::env::var_os(PICTURES).map_or_else(|| kept.path().to_owned(), PathBuf::from);
    std::fs::create_dir_all(&folder).unwrap();
    for (asset, name) in LOADED {
        std::fs::write(folder.join(name), asset.bytes()).unwrap();
    }
    for (name, html) in samples::pages() {
        check_markup(name, &html);
        let local = LOADED.iter().fold(html, |html, (asset, file)| html.replace(&asset.address(), file));
        std::fs::write(folder.join(format!("{name}.html")), local).unwrap();
    }
    let browser = Browser::start();
    for (name, _) in samples::pages() {
        let file = folder.join(format!("{name}.html"));
        browser.resize(PHONE);
        browser.open(&format!("file://{}", file.display()));
        for (size, shape) in [(DESK, "desk"), (PHONE, "phone"), (NARROW, "narrow")] {
            browser.resize(size);
            let (width, _) = browser.extent();
            assert!(width <= f64::from(size.0), "{name} is {width} wide on a {shape} screen");
            let cut = browser.overflowing("button,.panel,.badge,.tile-value,th,td,dd,.count,.naira");
            assert_eq!(cut, [""; 0], "{name}, {shape}: what runs out of its place");
            for scheme in ["light", "dark"] {
                browser.dark(scheme == "dark");
                browser.picture(&format!("kit-{name}-{shape}-{scheme}"));
            }
            browser.dark(false);
        }
        browser.resize(PHONE);
        for css in ["main .button", "main input:not([type=hidden]):not([type=checkbox])", "summary"] {
            for height in browser.heights(css) {
                assert!(height == 0.0 || height >= TOUCH_MIN, "{name}: a {css} is {height} high");
            }
        }
        browser.text_size(LARGE_TEXT);
        let (width, _) = browser.extent();
        browser.picture(&format!("kit-{name}-large"));
        browser.text_size(USUAL_TEXT);
        assert!(width <= f64::from(PHONE.0), "{name} is {width} wide with large text");
    }
}
