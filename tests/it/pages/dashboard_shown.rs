//! What the pages of a business show: lists with filters that combine, one payment with its past, the statement, and
//! texts of strangers as texts.

use scraper::Selector;
use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::time::Span;
use tillbell::domain::user::MemberRole;
use tillbell::ops::alerts::reverse::{Reverse, reverse_payment};
use tillbell::ops::figures::refused::flush;
use tillbell::ops::ledger::statement::statement_within;
use tillbell::ops::merchants::businesses::merchant_balance;
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::paging::PageSize;

use super::dashboard_world::{Shops, csv_lines, of_role, rows, told};
use crate::wallet_pages::site::exchange;

on_both! {
    async fn filters_combine_and_the_same_view_is_there_as_csv(db: TestDatabase) {
        let shops = Shops::new(db).await;
        shops.paid(&shops.shop, 5_200, "Musa Danladi").await;
        let open = shops.t().create(&shops.shop, 6_300, "=cmd|' /C calc'!A0").await;
        shops.t().advance(Span::days(2));
        shops.t().create(&shops.shop, 7_400, "Musa Bello").await;
        let mut visitor = shops.owner().await;
        for (query, count) in [
            ("", 3), ("status=pending", 2), ("q=musa", 2), ("q=musa&status=approved", 1), ("q=musa&status=rejected", 0),
            ("to=2026-03-10", 2), ("from=2026-03-11", 1), ("from=2026-03-10&to=2026-03-10&status=approved", 1),
            ("late=1", 0), ("mismatched=1&reversed=1", 0), (&*format!("website={}", shops.shop.website.id), 3),
            (&*format!("q={}", open.transaction_id), 1),
        ] {
            let page = visitor.get(&format!("/dashboard/payments?business={}&{query}", shops.shop.id)).await;
            assert_eq!((page.status, rows(&page)), (200, count), "{query}: {}", page.text_of("main"));
            let csv = visitor.get(&format!("/dashboard/payments?business={}&{query}&format=csv", shops.shop.id)).await;
            assert!(csv.header("content-type").unwrap().starts_with("text/csv"), "{:?}", csv.headers);
            assert_eq!(csv_lines(&csv), count + 1, "{query}: {}", csv.body);
        }
        let csv = visitor.get("/dashboard/payments?format=csv&status=pending").await;
        assert!(csv.body.contains("\"'=cmd|"), "no formula: {}", csv.body);
        for (query, field) in [
            ("status=paid", "status"), ("from=yesterday", "from"), ("from=2026-03-12&to=2026-03-01", "to"), ("website=999", "website"),
            (&*format!("q={}", "x".repeat(101)), "q"),
        ] {
            let wrong = visitor.get(&format!("/dashboard/payments?{query}")).await;
            assert_eq!((wrong.status, rows(&wrong)), (422, 0), "{query}");
            assert!(wrong.body.contains(&format!("id=\"filter-payments-{field}-error\"")), "{query}");
            assert!(told(&wrong).contains("cannot be filtered"), "{}", told(&wrong));
        }
        assert!(visitor.get("/dashboard/payments?q=nobody").await.text_of(".empty").contains("No payment fits"));
        shops.close().await;
    }

    async fn a_payment_tells_what_came_what_it_did_and_what_was_told(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let payment = shops.paid(&shops.shop, 5_200, "Musa Danladi").await;
        let mut visitor = shops.signed_in(&of_role(MemberRole::Viewer)).await;
        let path = format!("/dashboard/payments/{}", payment.transaction_id);
        let page = visitor.get(&path).await;
        let told = page.text_of("main");
        for part in ["Approved", "From MUSA DANLADI", "The bank's own time", "You receive NGN 5,098.00", "payment.approved", "The operator's word"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!page.body.contains("resend-webhook") && !page.body.contains("correct-amount"), "a viewer changes nothing");
        let undo = Reverse {
            business_id: shops.shop.id, transaction_id: &payment.transaction_id, operator: "ada of the bank desk",
            reason: "the bank took it back", undoing_alert: None, despite: None,
        };
        reverse_payment(&shops.t().app, &undo).await.unwrap().unwrap();
        let page = visitor.get(&path).await;
        let told = page.text_of("main");
        assert!(told.contains("Reversed") && told.contains("The bank took it back"), "{told}");
        assert!(told.contains("\u{2212}NGN") && !told.contains("ada of the bank desk"), "{told}");
        assert_eq!(rows(&visitor.get("/dashboard/payments?reversed=1").await), 1);
        shops.close().await;
    }

    async fn the_statement_tells_the_balance_after_each_line(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut all = Vec::new();
        for (naira, payer) in [(5_200, "Musa Danladi"), (6_300, "Ngozi Bello"), (7_400, "Halima Garba")] {
            all.push(shops.paid(&shops.shop, naira, payer).await);
        }
        let undo = Reverse {
            business_id: shops.shop.id, transaction_id: &all[1].transaction_id, operator: "ada",
            reason: "the bank took it back", undoing_alert: None, despite: None,
        };
        shops.t().advance(Span::minutes(1));
        reverse_payment(&shops.t().app, &undo).await.unwrap().unwrap();
        shops.paid(&shops.other, 9_900, "Somebody Else").await;
        // Page by page the same as in one.
        let app = &shops.t().app;
        let mut lines = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..10 {
            let size = PageSize { rows: 1, window: 2 };
            let page = statement_within(app, shops.shop.id, Mode::Live, cursor.as_deref(), size).await.unwrap();
            lines.extend(page.lines);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let whole = statement_within(app, shops.shop.id, Mode::Live, None, PageSize { rows: 50, window: 100 }).await.unwrap();
        assert_eq!(lines, whole.lines);
        let receives = |at: usize| all[at].business_receives.kobo();
        let balances: Vec<i64> = lines.iter().map(|line| line.balance.unwrap().kobo()).collect();
        let (one, two, three) = (receives(0), receives(0) + receives(1), receives(0) + receives(1) + receives(2));
        assert_eq!(balances, [three - receives(1), three, two, one]);
        assert_eq!(merchant_balance(app, shops.shop.id).await.unwrap(), Some(Money(balances[0])));
        assert_eq!(lines[0].change, Money(-receives(1)));
        let mut visitor = shops.signed_in(&of_role(MemberRole::Finance)).await;
        let page = visitor.get("/dashboard/balance").await;
        assert_eq!(rows(&page), 4);
        assert!(page.text_of("table").contains("Reversal"), "{}", page.text_of("table"));
        let csv = visitor.get("/dashboard/balance?format=csv").await;
        assert_eq!(csv_lines(&csv), 5, "{}", csv.body);
        assert!(csv.body.contains(&format!(",reversal,{},the bank took it back,-", all[1].transaction_id)), "{}", csv.body);
        // Nobody writes a cursor, and none is of use for another business.
        let first = statement_within(app, shops.other.id, Mode::Live, None, PageSize { rows: 1, window: 1 }).await.unwrap();
        for foreign in [first.next.as_deref().unwrap_or("x"), "AAAA", "", "%%%"] {
            let page = visitor.get(&format!("/dashboard/balance?cursor={foreign}")).await;
            assert_eq!((page.status, rows(&page)), (200, 4), "{foreign}: begins anew");
        }
        shops.close().await;
    }

    async fn what_strangers_wrote_is_text_on_every_page(db: TestDatabase) {
        const MARKUP: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}";
        let shops = Shops::new(db).await;
        let payment = shops.paid(&shops.shop, 5_200, "Musa Danladi").await;
        let odd = shops.t().create(&shops.shop, 6_300, "Ada <script>alert(3)</script> Obi").await;
        add_key(&shops.t().app, "ada", shops.shop.id, Mode::Live, Some("<b>till</b>"), None).await.unwrap().unwrap();
        for column in ["payer_name = '", "service = '", "reject_reason = '", "external_reference = '"] {
            let text = format!("update payments set {column}{MARKUP}' where id = $1");
            shops.t().run(Box::leak(text.into_boxed_str()), &payment).await;
        }
        let text = format!("update alerts set payer_name = '{MARKUP}', narration = '{MARKUP}', payer_bank = '{MARKUP}' where payment_id = $1");
        shops.t().run(Box::leak(text.into_boxed_str()), &payment).await;
        let mut visitor = shops.owner().await;
        let mut pages = vec![format!("/dashboard/payments/{}", payment.transaction_id), format!("/dashboard/payments/{}", odd.transaction_id)];
        pages.extend(["", "/payments", "/payments/new", "/keys", "/websites", "/webhooks", "/requests", "/team", "/activity", "/settings", "/balance", "/wallet"].map(|page| format!("/dashboard{page}")));
        for path in pages {
            let page = visitor.get(&path).await;
            assert_eq!(page.status, 200, "{path}");
            let html = page.html();
            for tag in ["main script", "main img", "main b", "main [onerror]"] {
                assert_eq!(html.select(&Selector::parse(tag).unwrap()).count(), 0, "{tag} on {path}");
            }
            assert!(!page.body.contains('\u{202e}'), "{path} turns");
            let (ids, all) = (Selector::parse("[id]").unwrap(), &html);
            let mut seen = std::collections::BTreeSet::new();
            for element in all.select(&ids) {
                let id = element.value().attr("id").unwrap().to_owned();
                assert!(seen.insert(id.clone()), "{id} stands twice on {path}");
            }
            assert!(page.body.len() < 200 * 1024, "{path}: {}", page.body.len());
        }
        shops.t().without_audit("rows are changed by hand to hold markup");
        shops.close().await;
    }

    async fn a_refused_request_is_found_by_its_id(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let key = add_key(&shops.t().app, "ada", shops.shop.id, Mode::Live, None, None).await.unwrap().unwrap().text;
        let mut visitor = shops.signed_in(&of_role(MemberRole::Developer)).await;
        let key = format!("X-API-Key: {}", key.as_str());
        let (status, headers, _) = exchange(visitor.address, "POST", "/api/v1/payment-request", &[key.as_str(), "Content-Type: application/json"], Some("{}")).await;
        assert_eq!(status, 422);
        let id = headers.iter().find(|(name, _)| name == "x-request-id").unwrap().1.clone();
        flush(&shops.t().app).await.unwrap();
        let page = visitor.get("/dashboard/requests").await;
        assert!(page.text_of("table").contains(&id) && page.text_of(".tiles").contains("Refused in 7 days 1"), "{}", page.text_of("main"));
        let csv = visitor.get("/dashboard/requests?format=csv").await;
        assert!(csv.body.contains(&id), "{}", csv.body);
        shops.close().await;
    }

    async fn the_overview_leads_to_the_first_payment_and_the_cashier_to_the_till(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let mut visitor = shops.owner().await;
        let page = visitor.get("/dashboard").await;
        page.is(200, "Overview");
        let list = page.text_of(".tasks");
        assert!(list.contains("Done A website that is approved") && list.contains("To do A webhook address"), "{list}");
        assert!(list.contains("To do A first live payment") && page.text_of("#set-up").contains("3 left"), "{list}");
        shops.paid(&shops.shop, 5_200, "Musa Danladi").await;
        for days in [1, 7, 30] {
            let page = visitor.get(&format!("/dashboard?days={days}")).await;
            assert!(page.text_of(".tasks").contains("Done A first live payment"), "{}", page.text_of(".tasks"));
            assert!(page.text_of("[aria-current]").contains(if days == 1 { "Today" } else { "days" }));
            assert!(page.text_of(".tiles").contains("Waiting for money 0"), "{}", page.text_of(".tiles"));
        }
        let wallet = visitor.get("/dashboard/wallet").await;
        assert!(wallet.text_of("main").contains("Only the operator switches it on"), "{}", wallet.text_of("main"));
        let mut cashier = shops.pages.visitor();
        let till = cashier.sign_in(&of_role(MemberRole::Cashier), crate::people::PASSWORD).await;
        till.is(200, "Till of kudu.example Ltd");
        assert!(till.text_of("main").contains("Ready") && !till.body.contains("/dashboard/payments"));
        shops.close().await;
    }
}
