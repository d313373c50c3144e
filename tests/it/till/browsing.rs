//! The till in a real browser with a real connection: it turns green and rings when the money is in, once, and at nothing
//! else; it says at once when it is lost, and catches up; and it does not grow.

use serde_json::json;
use tillbell::domain::alert::AlertStatus;
use tillbell::domain::user::MemberRole;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::people::sessions::{end_session, session_of};

use super::world::{Counter, SECOND, ask, of_till, sign_in, switch_on_sound, wait_until};
use crate::harness::browser::Browser;
use crate::harness::proxy::{Direction, Fault, Proxy};
use crate::pages::axe;
use crate::pages::dashboard_world::of_role;

/// Changes that are driven through an open page: each of 200 payments of a day is asked for, paid and falls behind.
const CHANGES: usize = 600;
/// Driven by one call of the browser, which has a deadline.
const AT_ONCE: usize = 100;
/// The page may hold so many elements more at the end than at the beginning, those that nobody sees any more included.
const NODES_MORE: f64 = 2_000.0;
/// And so many bytes: a kilobyte for each change would be twice as many.
const HEAP_MORE: f64 = 300_000.0;

/// Lets the page take so many changes as fast as it can, each with a payment that it has not seen: the service's answers
/// are the page's own text with another number, and the page's own pause between two of them is left out.
const DRIVE: &str = "const real = window.setTimeout, live = document.getElementById('till-live'); let n = 0;
    window.setTimeout = (act, after) => real(act, after === 400 ? 0 : after);
    const text = live.innerHTML;
    window.fetch = () => { n += 1; const at = Math.random(); return Promise.resolve({ ok: true, status: 200, type: 'basic',
        text: () => Promise.resolve(text.replace('</h2>', ' ' + n + '</h2>')
            .replace('</section>', '<i hidden data-ring=\"T' + at + '\" data-say=\"Paid\"></i></section>')) }); };
    return new Promise(done => { const next = () => { if (n >= arguments[0]) return done(n);
        const seen = n; document.dispatchEvent(new Event('visibilitychange'));
        const look = () => n > seen ? real(next, 0) : real(look, 1); look(); }; next(); });";

fn cashier_at(counter: &Counter) -> Browser {
    let browser = Browser::with_scripts();
    sign_in(&browser, &counter.base(), &of_role(MemberRole::Cashier));
    wait_until(&browser, "link", "live");
    browser
}

on_both! {
    async fn it_rings_once_when_the_money_is_in_and_at_nothing_before(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let browser = cashier_at(&counter);
        switch_on_sound(&browser);
        assert_eq!(of_till(&browser, "rang"), "", "the tap alone rings no bell");
        ask(&browser, "5000", "Halima Garba");
        // The page stays, and with it the sound that was allowed.
        assert_eq!((of_till(&browser, "sound").as_str(), of_till(&browser, "link").as_str()), ("on", "live"));
        assert!(browser.address().contains("sale="), "{}", browser.address());
        assert!(browser.has(".sale-waits") && !browser.has(".sale-good") && of_till(&browser, "rang").is_empty());
        counter.pay(5_000, "Halima Garba").await;
        browser.wait_for(".sale-good");
        wait_until(&browser, "rang", "1");
        let card = browser.texts(".sale-good").remove(0);
        assert!(card.contains("5,000.00") && card.contains("proven by the bank's signature"), "{card}");
        assert!(!browser.has(".sale-waits"));
        let said = browser.execute("return document.getElementById('till-said').textContent", json!([]));
        assert!(said.as_str().unwrap().contains("Paid: NGN"), "{said}");
        // Not again after a reload, nor in another tab of the browser.
        browser.reload();
        wait_until(&browser, "link", "live");
        browser.click(".sale-good");
        wait_until(&browser, "sound", "on");
        counter.sale(6_100, "Musa Danladi").await;
        browser.wait_for(".sale-waits");
        assert_eq!(of_till(&browser, "rang"), "");
        counter.pay(6_100, "Musa Danladi").await;
        wait_until(&browser, "rang", "1");
        counter.close().await;
    }

    async fn what_is_wrong_with_a_sale_is_told_and_one_asked_for_twice_is_one(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let browser = cashier_at(&counter);
        browser.fill("#till-new-amount", "much");
        browser.fill("#till-new-payer_name", "Halima Garba");
        browser.click("#till-new button");
        browser.wait_for("#till-new-amount[aria-invalid]");
        assert_eq!(browser.value("#till-new-payer_name"), "Halima Garba");
        assert_eq!(browser.focused(), "amount");
        // With no connection nothing is asked for, and that is said.
        browser.execute("document.getElementById('till-new-amount').value = ''", json!([]));
        browser.fill("#till-new-amount", "5000");
        browser.offline(true);
        browser.click("#till-new button");
        browser.shows("The sale was not asked for");
        browser.offline(false);
        wait_until(&browser, "link", "live");
        browser.click("#till-new button");
        browser.wait_for(".sale-waits");
        assert_eq!(browser.texts(".sales li").len(), 1);
        assert!(!browser.text().contains("not asked for"), "{}", browser.text());
        counter.close().await;
    }

    async fn money_that_waits_for_a_person_is_amber_and_never_green(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let browser = cashier_at(&counter);
        switch_on_sound(&browser);
        counter.sale(5_000, "Halima Garba").await;
        browser.wait_for(".sale-waits");
        let outcome = counter.pays(4_000, "Halima Garba").await;
        assert_ne!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        browser.wait_for(".sale-warn");
        let card = browser.texts(".sale-warn").remove(0);
        assert!(card.contains("Not paid") && card.contains("4,000.00"), "{card}");
        assert!(!browser.has(".sale-good") && of_till(&browser, "rang").is_empty());
        counter.close().await;
    }

    async fn a_connection_that_is_cut_is_told_at_once_and_what_was_missed_rings(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let proxy = Proxy::start(counter.shops.pages.running.address).await;
        let browser = cashier_at(&counter);
        // The same host behind a line that breaks.
        browser.open(&format!("http://{}/dashboard/till", proxy.address()));
        wait_until(&browser, "link", "live");
        switch_on_sound(&browser);
        counter.sale(5_000, "Halima Garba").await;
        browser.wait_for(".sale-waits");
        proxy.set(Fault::CutAfter(0));
        wait_until(&browser, "link", "lost");
        assert!(browser.texts("#till-lost")[0].contains("No connection"), "{:?}", browser.texts("#till-lost"));
        assert!(browser.style(".till-live", "filter").contains("grayscale"), "old news are grey");
        counter.pay(5_000, "Halima Garba").await;
        assert!(!browser.has(".sale-good") && of_till(&browser, "rang").is_empty());
        proxy.set(Fault::Pass);
        wait_until(&browser, "link", "live");
        wait_until(&browser, "rang", "1");
        browser.wait_for(".sale-good");
        counter.close().await;
    }

    async fn a_line_that_swallows_everything_is_lost_by_its_silence(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let proxy = Proxy::start(counter.shops.pages.running.address).await;
        let browser = cashier_at(&counter);
        browser.open(&format!("http://{}/dashboard/till", proxy.address()));
        wait_until(&browser, "link", "live");
        proxy.set_one(Direction::ToClient, Fault::Blackhole);
        wait_until(&browser, "link", "lost");
        proxy.set(Fault::Pass);
        wait_until(&browser, "link", "live");
        counter.close().await;
    }

    async fn a_second_cashier_sees_and_hears_the_same(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let (first, second) = (cashier_at(&counter), Browser::with_scripts());
        sign_in(&second, &counter.base(), SECOND);
        wait_until(&second, "link", "live");
        switch_on_sound(&first);
        switch_on_sound(&second);
        counter.sale(5_000, "Halima Garba").await;
        for browser in [&first, &second] {
            browser.wait_for(".sale-waits");
        }
        counter.pay(5_000, "Halima Garba").await;
        for browser in [&first, &second] {
            wait_until(browser, "rang", "1");
            browser.wait_for(".sale-good");
        }
        counter.close().await;
    }

    async fn a_sale_that_went_back_turns_red_and_test_payments_ring_on_no_live_till(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let browser = cashier_at(&counter);
        switch_on_sound(&browser);
        let payment = counter.sale(5_000, "Halima Garba").await;
        counter.pay(5_000, "Halima Garba").await;
        wait_until(&browser, "rang", "1");
        let ask = Reverse {
            business_id: payment.business_id,
            transaction_id: &payment.transaction_id,
            operator: "ife",
            reason: "the bank took it back",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&counter.shops.t().app, &ask).await.unwrap().unwrap();
        browser.wait_for(".sale-bad");
        assert!(!browser.has(".sale-good") && of_till(&browser, "rang") == "1");
        counter.close().await;
    }

    async fn a_sign_in_that_ends_is_told_and_does_not_look_calm(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let browser = cashier_at(&counter);
        let app = &counter.shops.t().app;
        let cashier = counter.cashier().await;
        let session = session_of(app, cashier.cookies.values().next().unwrap()).await.unwrap().unwrap();
        for one in tillbell::ops::people::sessions::open_sessions(app, &session).await.unwrap() {
            end_session(app, &session, one.id).await.unwrap();
        }
        wait_until(&browser, "link", "out");
        assert!(browser.texts("#till-lost")[0].contains("signed out"), "{:?}", browser.texts("#till-lost"));
        counter.close().await;
    }
}

// What only the browser shows, whatever the database.
on_one! {
    async fn it_stays_open_for_twelve_hours_without_growing(db: TestDatabase) {
        let counter = Counter::new(db).await;
        for n in 0..60 {
            counter.sale(1_000 + n, "Halima Garba").await;
        }
        let browser = cashier_at(&counter);
        browser.execute(DRIVE, json!([AT_ONCE]));
        let (heap_before, nodes_before) = browser.held();
        for _ in 0..CHANGES / AT_ONCE {
            browser.execute(DRIVE, json!([AT_ONCE]));
        }
        let (heap_after, nodes_after) = browser.held();
        assert!(nodes_after < nodes_before + NODES_MORE, "elements: {nodes_before} to {nodes_after}");
        assert!(heap_after < heap_before + HEAP_MORE, "bytes: {heap_before} to {heap_after}");
        counter.close().await;
    }

    async fn axe_finds_nothing_serious_in_any_state(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let browser = cashier_at(&counter);
        let mut wrong = Vec::new();
        let mut look = |name: &str| {
            axe::load(&browser);
            for (size, shape) in [((1280, 800), "desk"), ((360, 740), "phone"), ((320, 640), "small"), ((1920, 1080), "large")] {
                browser.resize(size);
                wrong.extend(axe::complaints(&browser).into_iter().map(|one| format!("{name}, {shape}: {one}")));
                let (width, _) = browser.extent();
                if width > f64::from(size.0) {
                    wrong.push(format!("{name}, {shape}: {width} wide"));
                }
                browser.picture(&format!("till-{name}-{shape}"));
                browser.dark(true);
                wrong.extend(axe::complaints_of_colours(&browser).into_iter().map(|one| format!("{name}, {shape}, dark: {one}")));
                browser.picture(&format!("till-{name}-{shape}-dark"));
                browser.dark(false);
            }
        };
        look("empty");
        counter.sale(12_500, "Oluwaseun Chukwuemeka Adebayo-Ogunlesi").await;
        browser.wait_for(".sale-waits");
        counter.sale(4_300, "Musa Danladi").await;
        browser.wait_for(".also");
        look("waiting");
        counter.pays(4_000, "Musa Danladi").await;
        browser.wait_for(".sale-warn");
        look("amber");
        let payment = counter.sale(7_000, "Halima Garba").await;
        counter.pay(7_000, "Halima Garba").await;
        browser.wait_for(".sale-good");
        look("paid");
        let ask = Reverse {
            business_id: payment.business_id,
            transaction_id: &payment.transaction_id,
            operator: "ife",
            reason: "the bank took it back",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&counter.shops.t().app, &ask).await.unwrap().unwrap();
        browser.wait_for(".sale-bad");
        look("reversed");
        for n in 0..200 {
            counter.sale(1_000 + n, "Adaeze Nwosu").await;
        }
        browser.wait_for(".pager");
        look("full");
        browser.execute("window.dispatchEvent(new Event('offline'))", json!([]));
        wait_until(&browser, "link", "lost");
        look("lost");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        counter.close().await;
    }
}
