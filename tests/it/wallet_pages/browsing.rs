//! The whole way in a real browser, without scripts, on a small phone: every page a customer can meet, by
//! touching what is on it. Also that all of it is in reach, readable and heard.

use tillbell::domain::message::MessageKind;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::wallet_payments::start::{StartRequest, Started};
use tillbell::ops::wallet_payments::topup::{ToppingUp, start_topup};
use tillbell::ops::wallets::desk::{Act, act};

use super::operator::{LOGO, settings};
use super::site::{DEV, Site};
use crate::harness::app::ACCOUNT;
use crate::harness::browser::{Browser, PHONE};
use crate::wallet::world::{PIN, WRONG, token};

/// Nobody should have to pinch: the narrowest phone in use.
const NARROW: (u32, u32) = (320, 640);
/// A phone whose keyboard is open, and a desk.
const WITH_KEYBOARD: (u32, u32) = (360, 300);
const DESK: (u32, u32) = (1280, 800);
/// Text of twice the usual size (WCAG 1.4.4).
const LARGE_TEXT: u32 = 32;
const USUAL_TEXT: u32 = 16;
/// A line of text on a page is no higher.
const LINE_MAX: f64 = 26.0;
/// A row of one line, with its margins.
const ROW_MAX: f64 = 44.0;
/// Smaller targets are missed by thumbs (WCAG 2.5.5 has 44).
const TOUCH_MIN: f64 = 44.0;
/// Contrast of text to its background (WCAG 1.4.3), and of what marks a field (1.4.11).
const TEXT_CONTRAST: f64 = 4.5;
const EDGE_CONTRAST: f64 = 3.0;

struct Walk {
    site: Site,
    browser: Browser,
}

impl Walk {
    fn open(&self, token: &str) {
        self.browser.open(&format!("{}/pay/{token}", self.running_url()));
    }

    fn running_url(&self) -> String {
        self.site.running.url()
    }

    /// Looks at the page in both schemes, as pictures and by its measures.
    fn look(&self, name: &str) {
        let browser = &self.browser;
        for scheme in ["light", "dark"] {
            browser.dark(scheme == "dark");
            for (size, shape) in [(DESK, "-desk"), (PHONE, "")] {
                browser.resize(size);
                browser.picture(&format!("{name}-{scheme}{shape}"));
            }
            self.check_contrast(name, scheme);
        }
        browser.dark(false);
        for (size, shape) in [(NARROW, "narrow"), (PHONE, "phone")] {
            browser.resize(size);
            let (width, _) = browser.extent();
            assert!(width <= f64::from(size.0), "{name} is {width} wide on a {shape} screen");
            if shape == "narrow" {
                browser.picture(&format!("{name}-narrow"));
            }
        }
    }

    /// Text of twice the size runs out of nothing, and no amount is broken inside.
    fn check_large_text(&self, name: &str) {
        let browser = &self.browser;
        browser.resize(PHONE);
        browser.text_size(LARGE_TEXT);
        let width = f64::from(PHONE.0);
        assert!(browser.extent().0 <= width, "{name} is {} wide", browser.extent().0);
        for css in ["dd", ".amount data", ".sum data", ".masked"] {
            for end in browser.right_ends(css) {
                assert!(end <= width, "{name}: {css} runs to {end} of {width}");
            }
        }
        assert_eq!(browser.overflowing("button"), [""; 0], "{name}: what runs out of its button is cut");
        // The last: taking one sets the size back.
        browser.picture(&format!("{name}-large"));
        browser.text_size(USUAL_TEXT);
    }

    fn check_contrast(&self, name: &str, scheme: &str) {
        let page = color(&self.browser.style("body", "background-color")).unwrap();
        for (css, parent, property, least) in [
            ("h1", "body", "color", TEXT_CONTRAST),
            (".note", ".note", "color", TEXT_CONTRAST),
            (".main", ".main", "color", TEXT_CONTRAST),
            ("#pin-hint", "body", "color", TEXT_CONTRAST),
            (".sum", ".sum", "color", TEXT_CONTRAST),
            (".more summary", "body", "color", TEXT_CONTRAST),
            (".forgot summary", "body", "color", TEXT_CONTRAST),
            (".ask", "body", "color", TEXT_CONTRAST),
            ("a.main", "a.main", "color", TEXT_CONTRAST),
            ("footer", "body", "color", TEXT_CONTRAST),
            (".state", ".state", "color", TEXT_CONTRAST),
            ("#pin", "#pin", "border-top-color", EDGE_CONTRAST),
            (".quiet", "body", "color", TEXT_CONTRAST),
            (".wrong", "body", "color", TEXT_CONTRAST),
            ("a.other", "a.other", "color", TEXT_CONTRAST),
        ] {
            if !self.browser.has(css) {
                continue;
            }
            let back = color(&self.browser.style(parent, "background-color")).unwrap_or(page);
            let front = color(&self.browser.style(css, property)).unwrap();
            let ratio = contrast(front, back);
            assert!(ratio >= least, "{name}, {scheme}: {css} has a contrast of {ratio:.2}");
        }
    }

    /// With the keyboard open the amount is still in view above the field that is typed into.
    fn check_keyboard(&self, name: &str) {
        self.check_fields(name, &["#code", "#new_pin", "#new_pin_again", "#pin"]);
    }

    fn check_fields(&self, name: &str, fields: &[&str]) {
        let browser = &self.browser;
        browser.resize(WITH_KEYBOARD);
        for field in fields {
            if !browser.has(field) {
                continue;
            }
            browser.click(field);
            browser.window_picture(&format!("{name}-keyboard-{}", &field[1..]));
            let ((amount_top, amount_end), (top, end)) =
                (browser.in_view(".sum data"), browser.in_view(field));
            let height = f64::from(WITH_KEYBOARD.1);
            assert!(
                amount_top >= 0.0 && amount_end < top,
                "{name}: the amount is at {amount_top}, {field} at {top}"
            );
            assert!((top + end) / 2.0 <= height, "{name}: {field} is from {top} to {end}");
        }
        browser.resize(PHONE);
    }

    fn pay(&self, pin: &str) {
        self.browser.fill("input[name=pin]", pin);
        self.press("pin");
    }

    /// Touches the button of the form with this field.
    fn press(&self, field: &str) {
        self.browser.click(&format!("form:has(input[name={field}]) button"));
    }
}

/// `rgb(1, 2, 3)` or `rgba(1, 2, 3, 1)`; `None` when nothing is painted.
fn color(text: &str) -> Option<[f64; 3]> {
    let inner = text.split_once('(').unwrap().1.trim_end_matches(')');
    let parts: Vec<f64> = inner.split(',').map(|part| part.trim().parse().unwrap()).collect();
    (parts.get(3) != Some(&0.0)).then(|| [parts[0], parts[1], parts[2]])
}

/// WCAG 2's contrast of two colours.
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let light = |color: [f64; 3]| {
        let [r, g, b] = color.map(|part| {
            let part = part / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

async fn rename(site: &Site, name: &str) {
    let change = BusinessChange { name: Some(name.to_owned()), ..BusinessChange::default() };
    set_business(&site.w.t.app, "test", site.w.shop.id, &change).await.unwrap().unwrap();
    site.w.t.app.directory.forget();
}

/// From a wallet without a PIN to a receipt.
async fn first_payment(walk: &Walk) {
    let (site, browser) = (&walk.site, &walk.browser);
    let (started, token) = site.begin(5_000, "k-1").await;
    walk.open(&token);
    browser.shows("adire.example Ltd");
    browser.shows("NGN 5,000.00");
    browser.shows("2 x ankara\n1 x gele");
    browser.shows("ORDER k-1");
    browser.shows("+234 803 *** **42");
    browser.shows("09:30 (30 minutes left)");
    assert!(browser.size(".line dd").1 <= LINE_MAX && browser.size(".line").1 <= ROW_MAX, "on one line");
    assert!(!browser.has("input[name=pin]"));
    walk.look("01-no-pin");
    walk.check_large_text("01-no-pin");
    walk.press("send_code");
    browser.shows("We sent a code to +234 803 *** **42");
    assert_eq!(browser.focused(), "code");
    walk.look("02-code");
    for (css, role, label) in [
        ("h1", "heading", "Create your wallet PIN"),
        ("#code", "textbox", "Code from your message"),
        ("#new_pin_again", "textbox", "New PIN again"),
    ] {
        assert_eq!(browser.heard(css), (role.to_owned(), label.to_owned()));
    }
    for css in ["#code", "#new_pin", "#new_pin_again", "form:has(input[name=send_code]) button"] {
        let (_, height) = browser.size(css);
        assert!(height >= TOUCH_MIN, "{css} is {height} high");
    }
    walk.check_keyboard("02-code");
    let code = site.code();
    let other = if code == "123123" { "321321" } else { "123123" };
    let set = |code: Option<&str>, first: &str, second: &str| {
        if let Some(code) = code {
            browser.fill("#code", code);
        }
        browser.fill("#new_pin", first);
        browser.fill("#new_pin_again", second);
        walk.press("new_pin");
    };
    set(Some(other), PIN, PIN);
    browser.shows("Wrong code. You have 4 tries left.");
    assert!(browser.title().starts_with("Wrong code."), "{}", browser.title());
    assert_eq!(browser.focused(), "code");
    walk.look("03-wrong-code");
    set(Some(&code), PIN, "4072");
    browser.shows("The two PINs do not match.");
    assert_eq!((browser.focused(), browser.value("#code")), ("new_pin".to_owned(), code.clone()));
    walk.look("03-pins-differ");
    walk.check_keyboard("03-pins-differ");
    set(None, "1987", "1987");
    browser.shows("That PIN is too easy to guess: it looks like a year.");
    assert_eq!((browser.focused(), browser.value("#code")), ("new_pin".to_owned(), code));
    set(None, PIN, PIN);
    browser.shows("Your PIN is set. You have not paid yet.");
    assert_eq!(site.w.payment(&started).await.status, Status::Pending);
    walk.look("04-pin-set");
    walk.open(&token);
    assert_eq!(browser.heard("#pin"), ("textbox".to_owned(), "Your wallet PIN".to_owned()));
    assert!(browser.size("#pin").1 >= TOUCH_MIN && browser.size(".quiet").1 >= TOUCH_MIN);
    walk.look("05-open");
    walk.check_large_text("05-open");
    walk.check_keyboard("05-open");
    walk.pay(WRONG);
    browser.shows("Wrong PIN. You have 4 tries left.");
    assert_eq!(browser.focused(), "pin");
    walk.look("06-wrong-pin");
    walk.pay(PIN);
    browser.shows("Paid");
    browser.shows("We are sending your receipt to +234 803 *** **42.");
    browser.shows(&started.transaction_id);
    assert!(browser.size(".own dd").1 <= LINE_MAX, "the receipt's number is on a line of its own");
    browser.shows("Back to adire.example Ltd");
    walk.look("07-paid");
    walk.check_large_text("07-paid");
    assert_eq!(site.w.wallet().await.balance, Money(1_500_000));
    browser.reload();
    browser.shows("We are sending your receipt to +234 803 *** **42.");
    assert_eq!(site.w.wallet().await.balance, Money(1_500_000));
    site.w.t.advance(Span::minutes(10));
    walk.open(&token);
    browser.shows("You have already paid.");
    walk.look("08-already-paid");
    site.w.send_messages().await;
    assert!(site.w.post.last(MessageKind::Receipt).text.starts_with("You paid NGN 5,000.00"));
}

/// Ten wrong PINs, the lock, and the way out of it.
async fn lock_and_reset(walk: &Walk) {
    let (site, browser) = (&walk.site, &walk.browser);
    let (_, first) = site.begin(100, "k-2").await;
    let (_, second) = site.begin(100, "k-3").await;
    let (_, third) = site.begin(100, "k-4").await;
    walk.open(&first);
    for left in ["4 tries", "3 tries", "2 tries", "1 try"] {
        walk.pay(WRONG);
        browser.shows(&format!("You have {left} left"));
    }
    walk.look("09-last-try");
    walk.pay(WRONG);
    browser.shows("Payment stopped");
    browser.shows("No money has left your wallet.");
    walk.look("10-failed");
    for said in ["4 tries left", "3 tries left", "2 tries left", "locks your wallet until", "Payment stopped"]
    {
        walk.open(&second);
        walk.pay(WRONG);
        browser.shows(said);
    }
    walk.open(&third);
    browser.shows("Your wallet is locked");
    assert!(!browser.has("input[name=pin]"));
    walk.look("11-locked");
    walk.press("reset");
    browser.shows("We sent a code");
    browser.fill("#code", &site.code());
    browser.fill("#new_pin", "8305");
    browser.fill("#new_pin_again", "8305");
    walk.look("12-locked-code");
    walk.press("new_pin");
    browser.shows("Your PIN is set.");
    walk.pay("8305");
    browser.shows("Your payment is complete.");
}

/// Links that ended, and one that never was.
async fn dead_links(walk: &Walk) {
    let (site, browser) = (&walk.site, &walk.browser);
    // Two of the hour's three codes were sent.
    site.w.t.advance(Span::hours(1));
    let (_, cancelled) = site.begin(100, "k-5").await;
    walk.open(&cancelled);
    let codes = site.w.post.count(MessageKind::Code);
    assert!(!browser.text().contains("Send a code"), "{}", browser.text());
    browser.click(".forgot summary");
    browser.shows("We will send a code to");
    walk.look("13-forgot");
    assert_eq!(site.w.post.count(MessageKind::Code), codes, "one tap sends nothing");
    walk.press("reset");
    browser.shows("Set a new PIN");
    assert_eq!(browser.focused(), "code");
    walk.press("send_code");
    browser.shows("We have already sent you a code. No code yet?");
    assert_eq!(site.w.post.count(MessageKind::Code), codes + 1);
    walk.look("13-too-soon");
    walk.look("13-reset");
    browser.click(".again a");
    browser.shows("Your wallet PIN");
    assert!(
        browser.has("#pin") && browser.has("#code"),
        "a code that was sent may be used: {}",
        browser.text()
    );
    walk.look("14-open-with-code");
    walk.check_fields("14-open-with-code", &["#pin"]);
    browser.click(".forgot summary");
    browser.shows("Code from your message");
    walk.look("14-code-unfolded");
    walk.check_fields("14-code-unfolded", &["#code", "#new_pin", "#new_pin_again"]);
    walk.press("cancel");
    browser.shows("Cancel this payment?");
    walk.look("15-ask");
    browser.click(".again a");
    browser.shows("Your wallet PIN");
    walk.press("cancel");
    browser.shows("Cancel this payment?");
    walk.press("cancel");
    browser.shows("Payment cancelled");
    walk.look("15-cancelled");
    let (_, expired) = site.begin(100, "k-6").await;
    site.w.t.advance(Span::minutes(30));
    walk.open(&expired);
    browser.shows("This link has expired");
    walk.look("16-expired");
    walk.open("nothing");
    browser.shows("We could not find this payment");
    walk.look("17-nowhere");
}

/// A balance that is too low, and the way to top it up.
async fn too_low(walk: &Walk) {
    let (site, browser) = (&walk.site, &walk.browser);
    let balance = site.w.wallet().await.balance.kobo() / 100;
    let (_, first) = site.begin(balance - 10, "k-7").await;
    let (_, second) = site.begin(5_000, "k-8").await;
    walk.open(&first);
    walk.pay("8305");
    browser.shows("Your payment is complete.");
    walk.open(&second);
    walk.pay("8305");
    browser.shows("Your balance is too low");
    browser.shows("Ask the shop for a top-up of at least");
    walk.look("18-too-low");
    site.w.t.account(ACCOUNT).await;
    let payer = "Ifeoma Danladi";
    let topup =
        start_topup(&site.w.t.app, &site.w.shop.caller, &site.w.phone(), Money(499_000), payer, None).await;
    assert!(matches!(topup.unwrap(), ToppingUp::Waiting(..)));
    walk.open(&second);
    browser.shows("Send exactly this amount");
    browser.shows(ACCOUNT);
    browser.shows("NGN 4,990.00");
    walk.look("19-topup");
    walk.check_large_text("19-topup");
    site.w.t.advance(Span::minutes(31));
    walk.open(&second);
    browser.shows("Your top-up");
    walk.look("19-topup-expired");
    walk.check_large_text("19-topup-expired");
}

/// A merchant with much to say, also in words that never end.
async fn long_texts(walk: &Walk) {
    let (site, browser) = (&walk.site, &walk.browser);
    rename(site, "Adébáyọ̀-Ọlátúńbọ̀sún & Daughters Fabrics, Lace and Accessories International (Balogun Market) Limited").await;
    let lines: Vec<String> =
        (1..=40).map(|n| format!("{n} x ankara print, six yards, colour no. {n:03}")).collect();
    let request = StartRequest {
        order_reference: "ORD-2026-03-10-000000000000000000000000000000000000000000000000-LAGOS-ISLAND"
            .into(),
        order_summary: Some(format!("{}\n{}", "Looooooooong".repeat(20), lines.join("\n"))),
        ..site.w.request(10, "k-9")
    };
    let Started::Waiting(started) = site.w.try_start(&request).await else { panic!("not started") };
    walk.open(&token(&started));
    let last = "40 x ankara print";
    assert!(!browser.text().contains(last), "{}", browser.text());
    walk.look("20-long");
    walk.check_keyboard("20-long");
    browser.click(".more summary");
    browser.shows(last);
    browser.shows("Show less");
    walk.look("21-long-open");
    walk.check_large_text("21-long-open");
    act(&site.w.t.app, "ada", crate::wallet::world::PHONE, Act::Suspend, "asked for").await.unwrap().unwrap();
    walk.open(&token(&started));
    for said in ["Your wallet is on hold", "Check again", "Back to the shop"] {
        browser.shows(said);
    }
    walk.look("22-on-hold");
    walk.check_large_text("22-on-hold");
}

// What only a browser shows; what happens behind it is tried on both databases without one.
on_one! {
    async fn the_whole_way_on_a_phone_without_scripts(db: TestDatabase) {
        let site = Site::start(db).await;
        site.w.funded(20_000).await;
        let walk = Walk { site, browser: Browser::start() };
        walk.browser.open("data:text/html,<title>off</title><p>x<script>document.title='on'</script>");
        assert_eq!(walk.browser.title(), "off", "scripts must be off");
        first_payment(&walk).await;
        lock_and_reset(&walk).await;
        dead_links(&walk).await;
        too_low(&walk).await;
        long_texts(&walk).await;
        let Walk { site, browser } = walk;
        drop(browser);
        site.close().await;
    }

    async fn large_amounts_in_large_text(db: TestDatabase) {
        let tier = "[wallet.tier1]\nbalance = \"none\"\ndaily = \"none\"\n";
        let site = Site::with(db, &format!("{DEV}{tier}")).await;
        let (_, link) = site.w.ready(12_000_000, 45_000).await;
        let largest = site.begin(9_999_999, "k-2").await.1;
        let walk = Walk { site, browser: Browser::start() };
        for (name, link, amount) in [("40-large", &link, "NGN 45,000.00"), ("41-larger", &largest, "NGN 9,999,999.00")] {
            walk.open(link);
            walk.browser.shows(&format!("Pay {amount}"));
            walk.check_large_text(name);
            walk.look(name);
            walk.browser.click(".forgot summary");
            walk.check_large_text(&format!("{name}-forgot"));
        }
        walk.press("reset");
        walk.browser.shows("We sent a code to");
        walk.check_large_text("42-code");
        let Walk { site, browser } = walk;
        drop(browser);
        site.close().await;
    }

    async fn the_operators_logo_on_a_phone(db: TestDatabase) {
        let (settings, _file) = settings("Kudi Basket", LOGO);
        let site = Site::with(db, &settings).await;
        let (_, link) = site.w.ready(20_000, 5_000).await;
        let walk = Walk { site, browser: Browser::start() };
        walk.open(&link);
        walk.browser.shows("Your wallet is provided by Kudi Basket.");
        let (width, height) = walk.browser.size(".brand img");
        assert!((30.0..=40.0).contains(&height) && width > 2.0 * height, "the picture is shown: {width} x {height}");
        assert_eq!(walk.browser.heard(".brand img").1, "Kudi Basket");
        walk.look("30-logo-open");
        walk.pay(PIN);
        walk.browser.shows("Your payment is complete.");
        walk.look("31-logo-paid");
        let Walk { site, browser } = walk;
        drop(browser);
        site.close().await;
    }
}
