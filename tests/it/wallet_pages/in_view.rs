//! What a customer sees without scrolling, on a short phone, in a low window and with large text, in a real browser.

use tillbell::ops::wallet_payments::start::{StartRequest, Started};

use super::site::{DEV, Site};
use crate::harness::browser::Browser;
use crate::wallet::world::{PIN, token};

/// A short phone, and one that is held across while its keyboard is open.
const SHORT: (u32, u32) = (360, 560);
const ACROSS: (u32, u32) = (640, 160);
const LARGE_TEXT: u32 = 32;
const USUAL_TEXT: u32 = 16;

/// Pixels that a screen rounds away.
const ROUNDED: f64 = 0.5;

/// All of it is in the window.
#[track_caller]
fn in_window(browser: &Browser, css: &str, height: u32) {
    let (top, end) = browser.in_view(css);
    assert!(top >= 0.0 && end <= f64::from(height) + ROUNDED, "{css} is from {top} to {end}");
}

// What only a browser shows; what happens behind it is tried on both databases without one.
on_one! {
    async fn what_is_to_be_done_is_in_view_on_a_short_phone(db: TestDatabase) {
        let tier = "[wallet.tier1]\nbalance = \"none\"\ndaily = \"none\"\n";
        let site = Site::with(db, &format!("{DEV}{tier}")).await;
        site.w.funded(900_000_000).await;
        let lines: Vec<String> = (1..=20).map(|n| format!("{n} x ankara, six yards")).collect();
        let request = StartRequest { order_summary: Some(lines.join("\n")), ..site.w.request(769_708_433, "k-1") };
        let Started::Waiting(started) = site.w.try_start(&request).await else { panic!("not started") };
        let link = token(&started);
        let browser = Browser::start();
        let open = || browser.open(&format!("{}/pay/{link}", site.running.url()));
        browser.resize(SHORT);
        open();
        let send = "form:has(input[name=send_code]) button";
        in_window(&browser, send, SHORT.1);
        in_window(&browser, ".sum data", SHORT.1);
        assert_eq!(browser.style(".sum", "position"), "sticky");
        browser.window_picture("50-short-first");
        browser.click(send);
        browser.shows("We sent a code to");
        assert_eq!(browser.focused(), "code");
        for css in ["h1", "#code", ".sum data"] {
            in_window(&browser, css, SHORT.1);
        }
        browser.window_picture("51-short-code");
        browser.fill("#code", &site.code());
        browser.fill("#new_pin", PIN);
        browser.fill("#new_pin_again", PIN);
        browser.click("form:has(#code) button");
        browser.shows("Your PIN is set.");
        open();
        for css in ["h1", "#pin", "form:has(#pin) button", ".sum data"] {
            in_window(&browser, css, SHORT.1);
        }
        browser.window_picture("52-short-pin");
        // A window of a few lines keeps the amount above the field.
        browser.resize(ACROSS);
        browser.fill("#pin", "4");
        in_window(&browser, "#pin", ACROSS.1);
        in_window(&browser, ".sum data", ACROSS.1);
        assert!(browser.in_view(".sum data").1 <= browser.in_view("#pin").0, "the amount covers the field");
        browser.window_picture("53-across");
        // The amount is as much larger as the reader has set.
        browser.resize(SHORT);
        let size = |css: &str| browser.style(css, "font-size").trim_end_matches("px").parse::<f64>().unwrap();
        let usual = size(".sum data");
        browser.text_size(LARGE_TEXT);
        assert!(size(".sum data") >= 1.5 * usual, "{usual} becomes {}", size(".sum data"));
        assert!(size("dd .masked") >= f64::from(LARGE_TEXT), "{}", size("dd .masked"));
        assert!(browser.extent().0 <= f64::from(SHORT.0));
        browser.text_size(USUAL_TEXT);
        drop(browser);
        site.close().await;
    }
}
