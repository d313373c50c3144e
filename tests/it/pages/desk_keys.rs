//! The desk by keyboard alone, in a real browser with scripts on, and that the pages' own policy lets nothing else run.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::payment::Status;

use super::desk::{REVIEWER, doubtful, is, paid, site};
use crate::harness::browser::Browser;
use crate::people::PASSWORD;

const DOWN: &str = "\u{e015}";
const ENTER: &str = "\u{e007}";

/// In the first moment of a page keys do nothing.
fn press(browser: &Browser, keys: &str) {
    browser.wait_for("[data-keys=ready]");
    browser.press(keys);
}

on_one! {
    async fn a_reviewer_clears_five_alerts_by_keyboard(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let (mut payments, mut alerts) = (Vec::new(), Vec::new());
        for (naira, payer, short) in [
            (5_200, "Halima <img src=x onerror=alert(1)> Garba", "HALIMA"),
            (6_300, "Musa Danladi", "MUSA"),
            (7_400, "Chidi Okafor", "CHIDI"),
            (8_500, "Adaeze Nwosu", "ADAEZE"),
            (9_600, "Tunde Bakare", "TUNDE"),
        ] {
            payments.push(site.t.create(&shop, naira, payer).await);
            alerts.push(doubtful(&site, naira, short).await);
        }
        let browser = Browser::with_scripts();
        browser.resize((1280, 800));
        browser.open(&format!("{}/sign-in", site.running.url()));
        browser.fill("#sign-in-email", REVIEWER);
        browser.fill("#sign-in-password", PASSWORD);
        browser.press(ENTER);
        browser.shows("What waits");
        browser.open(&format!("{}/operator/alerts", site.running.url()));
        browser.shows("HALIMA");
        press(&browser, DOWN);
        press(&browser, ENTER);
        browser.shows("What the bank wrote");
        browser.shows("NGN 5,200.00");
        press(&browser, "a");
        browser.shows("NGN 6,300.00 · MUSA");
        // A key that is typed into a field is text.
        press(&browser, "d");
        assert_eq!(browser.focused(), "reason");
        browser.press("a salary a day");
        browser.press(ENTER);
        browser.shows("NGN 7,400.00 · CHIDI");
        for next in ["NGN 8,500.00 · ADAEZE", "NGN 9,600.00 · TUNDE", "Nothing waits for you"] {
            press(&browser, "a");
            browser.shows(next);
        }
        for (number, payment) in payments.iter().enumerate() {
            let wanted = if number == 1 { Status::Pending } else { Status::Approved };
            assert_eq!(paid(&site, payment).await, wanted, "{number}");
        }
        is(&site, alerts[1], AlertStatus::Dismissed).await;
        site.close().await;
    }
}
