//! The page in a real browser: it turns by itself, works without scripts, and axe-core finds nothing serious in any state, on
//! a phone and on a desk.

use tillbell::domain::time::Span;
use tillbell::ops::payments::create::NewPayment;
use tillbell::ops::payments::reject::reject_payment;
use tillbell::ops::payments::sweep::sweep;

use super::world::{Desk, NAME};
use crate::harness::browser::{Browser, PHONE};
use crate::pages::axe;
use crate::wallet_pages::site::DEV;

const DESK: (u32, u32) = (1280, 800);
const NARROW: (u32, u32) = (320, 640);
const LONG: &str = "Oluwaseun Adebayo-Ogunlesi Chukwuemeka Nwankwo-Okonkwo and Sons Nigeria Limited";

fn look(browser: &Browser, name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    axe::load(browser);
    for (size, shape) in [(DESK, "desk"), (NARROW, "narrow"), (PHONE, "phone")] {
        browser.resize(size);
        let (width, _) = browser.extent();
        if width > f64::from(size.0) {
            wrong.push(format!("{name}, {shape}: {width} wide"));
        }
        wrong.extend(axe::complaints(browser).into_iter().map(|one| format!("{name}, {shape}: {one}")));
        browser.picture(&format!("checkout-{name}-{shape}"));
    }
    browser.dark(true);
    wrong.extend(axe::complaints_of_colours(browser).into_iter().map(|one| format!("{name}, dark: {one}")));
    browser.picture(&format!("checkout-{name}-dark"));
    browser.dark(false);
    wrong
}

// What only a browser shows; what happens behind it is tried on both databases without one.
on_one! {
    async fn the_page_turns_by_itself(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        let browser = Browser::with_scripts();
        browser.open(&format!("{}{path}", desk.running.url()));
        browser.shows("Waiting for your transfer");
        assert!(browser.has("button.copy:not([hidden])"), "{}", browser.text());
        browser.click("button.copy");
        browser.shows("Copied");
        desk.came(4_000, NAME).await;
        browser.shows("Too little came");
        assert!(!browser.has(".digits"), "{}", browser.text());
        desk.came(5_000, NAME).await;
        browser.shows("has your payment");
        assert!(browser.title().starts_with("Paid"), "{}", browser.title());
        desk.close().await;
    }

    async fn without_scripts_a_link_looks_again(db: TestDatabase) {
        let desk = Desk::new(db).await;
        let (_, path) = desk.open().await;
        let browser = Browser::start();
        browser.open(&format!("{}{path}", desk.running.url()));
        browser.shows("Waiting for your transfer");
        browser.shows("Scripts are off");
        assert!(browser.has("button.copy[hidden]"), "a button that does nothing is not shown");
        browser.picture("checkout-no-script-phone");
        desk.came(5_000, NAME).await;
        browser.click("noscript a.other, .again a.other");
        browser.shows("has your payment");
        desk.close().await;
    }

    async fn axe_finds_nothing_serious_in_any_state(db: TestDatabase) {
        let settings = format!("{DEV}[pages]\noperator_name = \"Kudi Basket\"\nsupport = \"0700 555 0100\"\n");
        let desk = Desk::with(db, &settings).await;
        let browser = Browser::with_scripts();
        let mut wrong = Vec::new();
        let mut see = |path: &str, name: &str, part: &str| {
            browser.open(&format!("{}{path}", desk.running.url()));
            browser.shows(part);
            if name == "waiting" {
                axe::unfold(&browser);
            }
            wrong.extend(look(&browser, name));
        };
        let with_way_back = async |naira: i64, payer: &str| {
            let new = NewPayment {
                return_url: Some("https://adire.example/done".into()),
                ..desk.t.request(&desk.shop, naira, payer)
            };
            let payment = desk.create(new).await;
            let path = desk.path(&payment);
            (payment, path)
        };
        let (_, path) = with_way_back(5_000, NAME).await;
        see(&path, "waiting", "Waiting for your transfer");
        desk.came(5_000, "Musa Danladi").await;
        see(&path, "other-name", "under another name");
        desk.came(5_000, NAME).await;
        see(&path, "paid", "has your payment");
        for (naira, came, name, part) in
            [(7_000, 6_000, "too-little", "Too little came"), (9_000, 9_700, "too-much", "Too much came")]
        {
            let payer = if naira == 7_000 { "Ngozi Eze" } else { "Uche Obi" };
            let (_, path) = with_way_back(naira, payer).await;
            desk.t.advance(Span::minutes(2));
            desk.came(came, payer).await;
            see(&path, name, part);
        }
        let (payment, path) = with_way_back(1_234_567, "Adaeze Nwosu").await;
        reject_payment(&desk.t.app, desk.shop.id, &payment.transaction_id, "ada", "no more").await.unwrap().unwrap();
        see(&path, "rejected", "This payment was cancelled");
        let (_, long) = with_way_back(987_654, LONG).await;
        see(&long, "long", "Waiting for your transfer");
        let (_, path) = with_way_back(3_300, "Bola Ade").await;
        desk.t.advance(Span::hours(25));
        see(&path, "expired", "The time for this payment is over");
        desk.t.advance(Span::hours(25));
        assert!(sweep(&desk.t.app).await.unwrap().rejected > 0);
        desk.came(3_300, "Bola Ade").await;
        see(&path, "late", "Your transfer came late");
        see("/c/unknown", "unknown", "We could not find this payment");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        desk.close().await;
    }
}
