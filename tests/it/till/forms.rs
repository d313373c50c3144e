//! The till over HTTP, without scripts: its form, what it refuses, who may use it, and what its list shows.

use std::io::Write;
use std::process::{Command, Stdio};

use qrcode::{Color, EcLevel, QrCode};
use tillbell::domain::alert::{AlertStatus, Authenticity};
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::merchants::keys::add_key;

use super::world::{Counter, SECOND, rows};
use crate::pages::dashboard_world::{RIVAL, csv_lines, of_role, told};
use crate::wallet_pages::site::exchange;

const TILL: &str = "/dashboard/till";
/// Of one page, compressed.
const PAGE_MAX: usize = 60 * 1024;

/// Bytes of a text as a proxy sends it.
fn packed(text: &str) -> usize {
    let mut gzip =
        Command::new("gzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut into, text) = (gzip.stdin.take().unwrap(), text.to_owned());
    let writing = std::thread::spawn(move || into.write_all(text.as_bytes()).unwrap());
    let packed = gzip.wait_with_output().unwrap().stdout.len();
    writing.join().unwrap();
    packed
}

/// A QR code of a text as the page draws it: the dark squares row by row, with four of white around.
fn drawn(text: &str) -> String {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).unwrap();
    let width = code.width();
    let squares = code.to_colors().into_iter().enumerate().filter(|(_, color)| *color == Color::Dark);
    squares.map(|(at, _)| format!("M{} {}h1v1h-1z", at % width + 4, at / width + 4)).collect()
}

on_both! {
    async fn a_cashier_lands_on_the_till_and_sees_nothing_else(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let mut cashier = counter.shops.pages.visitor();
        let till = cashier.sign_in(&of_role(MemberRole::Cashier), crate::people::PASSWORD).await;
        assert_eq!((till.status, till.path.split('?').next()), (200, Some(TILL)), "{}", till.text_of("main"));
        assert!(till.text_of("main").contains("Ready") && till.body.contains("id=\"sign-out\""), "{}", till.body);
        assert!(!till.body.contains("/dashboard/payments") && !till.body.contains("/dashboard/balance"));
        for path in ["/dashboard/payments", "/dashboard/balance", "/dashboard/webhooks", "/dashboard/team"] {
            cashier.get(path).await.is(403, "Your role does not allow this");
        }
        for role in [MemberRole::Developer, MemberRole::Viewer] {
            let mut visitor = counter.shops.signed_in(&of_role(role)).await;
            visitor.get(TILL).await.is(403, "Your role does not allow this");
            let events = visitor.get("/dashboard/till/events").await;
            events.is(403, "Your role does not allow this");
            assert!(!visitor.get("/dashboard").await.body.contains(TILL), "{role:?}");
        }
        for role in [MemberRole::Owner, MemberRole::Finance] {
            let mut visitor = counter.shops.signed_in(&of_role(role)).await;
            assert!(visitor.get("/dashboard").await.body.contains(TILL), "{role:?}");
            assert_eq!(visitor.get(TILL).await.status, 200);
        }
        let mut rival = counter.shops.signed_in(RIVAL).await;
        for path in [TILL.to_owned(), format!("{TILL}/events")] {
            rival.get(&format!("{path}?business={}", counter.shops.shop.id)).await.is(404, "Nothing is here");
        }
        counter.close().await;
    }

    async fn a_sale_is_asked_for_and_is_green_when_its_money_is_in(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let mut cashier = counter.cashier().await;
        let page = cashier.get(TILL).await;
        let asked = cashier.submit(&page, "till-new", &[("amount", "NGN 5,200.50"), ("payer_name", " Halima Garba ")]).await;
        assert_eq!(asked.status, 200);
        assert!(told(&asked).contains("5,200.50") && told(&asked).contains("Halima Garba"), "{}", told(&asked));
        let card = asked.text_of(".sale-waits");
        assert!(asked.body.contains(&drawn(&counter.shown_to(&asked).await)), "the code leads to the checkout page");
        for part in ["Waiting", "5,200.50", "Halima Garba", "0123 454 417", "GTBank", "TILL AND BELL LTD"] {
            assert!(card.contains(part), "{part} in {card}");
        }
        assert!(!asked.body.contains("sale-good") && !asked.body.contains("data-ring"));
        let outcome = counter.told(5_200, "Halima Garba", Authenticity::Proven).await;
        assert_ne!(outcome.status, AlertStatus::Matched, "too little");
        let still = cashier.get(TILL).await;
        assert!(!still.body.contains("sale-good") && still.text_of(".sale-warn").contains("Too little"), "{}", still.text_of("main"));
        counter.close().await;
    }

    async fn whose_word_it_is_stands_below(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let mut cashier = counter.cashier().await;
        counter.sale(5_000, "Halima Garba").await;
        counter.pay(5_000, "Halima Garba").await;
        let page = cashier.get(TILL).await;
        let card = page.text_of(".sale-good");
        assert!(card.contains("Paid") && card.contains("5,000.00") && card.contains("proven by the bank's signature"), "{card}");
        // The bank's own time: a minute after nine, less ten seconds.
        assert!(card.contains("09:00"), "{card}");
        assert!(page.text_of(".sales").contains("proven by the bank's signature"), "{}", page.text_of(".sales"));
        assert!(page.text_of(".till-sum").contains("1 sale") && page.text_of(".till-sum").contains("5,000.00"));
        counter.sale(6_000, "Musa Danladi").await;
        let outcome = counter.told(6_000, "Musa Danladi", Authenticity::Trusted).await;
        assert_eq!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        let card = cashier.get(TILL).await.text_of(".sale-good:not(.sale-small)");
        assert!(card.contains("on the operator's word, without the bank's signature") && !card.contains("proven"), "{card}");
        counter.close().await;
    }

    async fn what_a_person_approved_says_so_and_what_went_back_is_red(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let mut cashier = counter.cashier().await;
        let payment = counter.sale(5_000, "Halima Garba").await;
        let outcome = counter.told(4_000, "Halima Garba", Authenticity::Proven).await;
        assert_ne!(outcome.status, AlertStatus::Matched, "{outcome:?}");
        let t = counter.shops.t();
        let ask = tillbell::ops::alerts::approve::Approve {
            alert_id: outcome.alert_id,
            business_id: payment.business_id,
            transaction_id: &payment.transaction_id,
            operator: "ife",
            despite: Some("it is on the statement"),
            seen: None,
        };
        tillbell::ops::alerts::approve::approve_alert(&t.app, &ask).await.unwrap().unwrap();
        let card = cashier.get(TILL).await.text_of(".sale-good");
        assert!(card.contains("approved by a person") && card.contains("4,000.00"), "{card}");
        let ask = Reverse {
            business_id: payment.business_id,
            transaction_id: &payment.transaction_id,
            operator: "ife",
            reason: "the bank took it back",
            undoing_alert: None,
            despite: None,
        };
        reverse_payment(&t.app, &ask).await.unwrap().unwrap();
        let page = cashier.get(TILL).await;
        assert!(!page.body.contains("sale-good") && !page.body.contains("data-ring"), "never green again");
        assert!(page.text_of(".sale-bad").contains("Reversed"), "{}", page.text_of("main"));
        assert!(page.text_of(".sales").contains("Reversed") && page.text_of(".till-sum").contains("0 sales"));
        counter.close().await;
    }

    async fn wrong_input_is_told_at_its_field_and_kept(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let mut cashier = counter.cashier().await;
        let page = cashier.get(TILL).await;
        for (amount, payer, field) in [
            ("", "Halima Garba", "amount"),
            ("many", "Halima Garba", "amount"),
            ("0", "Halima Garba", "amount"),
            ("-5", "Halima Garba", "amount"),
            ("999999999999", "Halima Garba", "amount"),
            ("5000", "", "payer_name"),
            ("5000", "12345", "payer_name"),
            ("5000", "Halima\u{202e}Garba", "payer_name"),
        ] {
            let refused = cashier.post(&page, "till-new", &[("amount", amount), ("payer_name", payer)]).await;
            assert_eq!(refused.status, 422, "{amount:?} {payer:?}");
            assert!(refused.body.contains("role=\"alert\"") && !refused.text_of(&format!("#till-new-{field}-error")).is_empty(), "{amount:?}: {}", refused.text_of("main"));
            let form = refused.form("till-new");
            assert_eq!((form.fields["amount"].as_str(), form.fields["payer_name"].is_empty()), (amount, payer.is_empty()));
        }
        let foreign = cashier.post(&page, "till-new", &[("csrf", "x"), ("amount", "5000"), ("payer_name", "Ada Obi")]).await;
        assert_eq!(foreign.status, 403);
        assert_eq!(rows(&cashier.get(TILL).await), 0, "nothing was made");
        counter.close().await;
    }

    async fn a_form_that_is_sent_twice_makes_one_sale_and_an_old_one_with_another_sale_says_so(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let mut cashier = counter.cashier().await;
        let page = cashier.get(TILL).await;
        let sale = [("amount", "5000"), ("payer_name", "Halima Garba")];
        let mut second = counter.cashier().await;
        second.cookies = cashier.cookies.clone();
        let (one, two) = tokio::join!(cashier.submit(&page, "till-new", &sale), second.submit(&page, "till-new", &sale));
        assert_eq!((one.status, two.status), (200, 200));
        let again = cashier.submit(&page, "till-new", &sale).await;
        assert!(told(&again).contains("asked for already"), "{}", told(&again));
        assert_eq!(rows(&again), 1);
        // From a browser's history: another sale on the old form is not taken for the old one.
        let other = [("amount", "7000"), ("payer_name", "Musa Danladi")];
        let refused = cashier.post(&page, "till-new", &other).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text_of("#till-new-amount-error").contains("sent before, for another sale"), "{}", refused.text_of("main"));
        let sent = cashier.submit(&refused, "till-new", &other).await;
        assert_eq!((sent.status, rows(&sent)), (200, 2));
        counter.close().await;
    }

    async fn two_cashiers_see_one_list_and_who_asked(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let (mut first, mut second) = (counter.cashier().await, counter.shops.signed_in(SECOND).await);
        let page = first.get(TILL).await;
        first.submit(&page, "till-new", &[("amount", "5000"), ("payer_name", "Halima Garba")]).await;
        let page = second.get(TILL).await;
        let page = second.submit(&page, "till-new", &[("amount", "7000"), ("payer_name", "Musa Danladi")]).await;
        assert!(page.text_of(".sale-waits").contains("Musa Danladi") && page.text_of(".also").contains("Halima Garba"));
        let list = page.text_of(".sales");
        assert!(list.contains("cashier") && list.contains("musa"), "{list}");
        let page = first.get(TILL).await;
        assert!(page.text_of(".sale-waits").contains("Halima Garba"), "one's own is the large one");
        counter.close().await;
    }

    async fn test_and_live_tills_never_meet(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let mut cashier = counter.cashier().await;
        let page = cashier.get(&format!("{TILL}?mode=test")).await;
        assert!(page.text_of(".testing").contains("Test data"));
        let asked = cashier.submit(&page, "till-new", &[("amount", "5000"), ("payer_name", "Halima Garba")]).await;
        assert!(asked.text_of(".sale-waits").contains("0123 454 428") && asked.text_of(".testing").contains("Test data"));
        let live = cashier.get(TILL).await;
        assert!(rows(&live) == 0 && live.text_of("main").contains("Ready"), "{}", live.text_of("main"));
        counter.close().await;
    }

    async fn programs_read_it_without_address_and_website(db: TestDatabase) {
        let counter = Counter::new(db).await;
        let payment = counter.sale(5_000, "Halima Garba").await;
        assert_eq!((payment.status, payment.till_user_id.is_some()), (Status::Pending, true));
        let app = &counter.shops.t().app;
        let key = add_key(app, "ada", counter.shops.shop.id, tillbell::domain::merchant::Mode::Live, None, None);
        let key = format!("X-API-Key: {}", key.await.unwrap().unwrap().text.as_str());
        let path = format!("/api/v1/payment/{}", payment.transaction_id);
        let (status, _, body) = exchange(counter.shops.pages.running.address, "GET", &path, &[&key], None).await;
        let body = String::from_utf8(body).unwrap();
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"webhook_url\":null") && body.contains("\"website\":null"), "{body}");
        counter.close().await;
    }

    async fn two_hundred_sales_of_a_day_are_a_small_page(db: TestDatabase) {
        let counter = Counter::new(db).await;
        for n in 0..200 {
            counter.sale(1_000 + n, &format!("Halima Number{} Garba", ["One", "Two", "Three"][n as usize % 3])).await;
            counter.shops.t().advance(Span::minutes(1));
        }
        let mut cashier = counter.cashier().await;
        let page = cashier.get(TILL).await;
        assert_eq!(rows(&page), 50);
        let packed = packed(&page.body);
        assert!(packed < PAGE_MAX, "{packed}");
        let css = scraper::Selector::parse("a[rel=next]").unwrap();
        let older = page.html().select(&css).next().unwrap().value().attr("href").unwrap().to_owned();
        let older = cashier.get(&older).await;
        assert!(rows(&older) == 50 && older.text_of(".sales") != page.text_of(".sales"));
        let file = cashier.get(&format!("{TILL}?format=csv")).await;
        assert_eq!(csv_lines(&file), 201);
        counter.close().await;
    }
}
