//! The list of payments: filters combine, pages go on to the end without losing or repeating a row, and what an id or a
//! reference begins with is found however old it is.

use std::sync::Arc;

use tillbell::domain::merchant::Mode;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::csv::{CsvReader, CsvSource};
use tillbell::ops::paging::{Cursor, PageSize};
use tillbell::ops::payments::browse::{Browse, BrowseRefused, PaymentFilter, browse_payments, browse_within};
use tillbell::store::IdKind;
use tillbell::store::tables::payments;

use crate::audits::by_hand;
use crate::harness::app::{ACCOUNT, LATER, Merchant, START, TestApp, at, world};
use crate::harness::mails::Alert;

/// A page of two, for which three rows are looked at.
const SMALL: PageSize = PageSize { rows: 2, window: 3 };
/// More pages than any list of these tests has.
const PAGES_MAX: usize = 50;

/// Copies of a payment, each a minute younger than the one before; `change` says what else is different.
async fn copies(t: &TestApp, of: &Payment, count: i64, change: impl Fn(i64, &mut Payment)) -> Vec<Payment> {
    let mut made = Vec::new();
    let mut unit = t.app.store.unit(0).await.unwrap();
    for n in 1..=count {
        let id = t.app.store.id(IdKind::Payment).await.unwrap();
        let created_at = of.created_at + Span::minutes(n);
        let mut copy = Payment { id, transaction_id: format!("COPY-{n:03}"), created_at, ..of.clone() };
        change(n, &mut copy);
        unit = unit.step(payments::add(&copy, None));
        made.push(copy);
    }
    assert!(t.app.store.apply(unit).await.unwrap().is_done());
    made
}

/// Ids of all pages, small ones, and that a page without a next one is the last.
async fn all_pages(t: &TestApp, browse: &Browse) -> Vec<i64> {
    let (mut ids, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = browse_within(&t.app, browse, cursor, SMALL).await.unwrap().unwrap();
        ids.extend(page.rows.iter().map(|payment| payment.id));
        let Some(next) = page.next else { return ids };
        // As a link does.
        cursor = Some(Cursor::parse(&next.to_string()).unwrap());
    }
    panic!("the list has no end: {ids:?}");
}

fn of_shop(shop: &Merchant) -> Browse {
    let business_id = Some(shop.id);
    Browse { filter: PaymentFilter { business_id, ..PaymentFilter::default() }, ..Browse::default() }
}

fn ids(payments: &[Payment], fits: impl Fn(&Payment) -> bool) -> Vec<i64> {
    let mut fitting: Vec<&Payment> = payments.iter().filter(|payment| fits(payment)).collect();
    fitting.sort_by_key(|payment| std::cmp::Reverse((payment.created_at, payment.id)));
    fitting.into_iter().map(|payment| payment.id).collect()
}

on_both! {
    async fn filters_combine_and_no_page_loses_a_row(db: TestDatabase) {
        let (t, shop) = world(db).await;
        t.without_audit("payments are changed by hand");
        let rival = t.merchant("bolu.example").await;
        let theirs = t.create(&rival, 4_300, "Sade Olaniyan").await;
        let first = t.create(&shop, 7_700, "Zubaida Quartey").await;
        let mut all = copies(&t, &first, 13, |n, copy| {
            copy.mode = if n % 4 == 0 { Mode::Test } else { Mode::Live };
            copy.website_id = Some(if n % 2 == 0 { shop.website.id } else { 999 });
            // Some at the same moment.
            copy.created_at = first.created_at + Span::minutes((n + 1) / 2);
        }).await;
        all.push(first.clone());
        let (odd, late, back) = (all[2].id, all[4].id, all[8].id);
        let text = format!(
            "update payments set is_mismatch = 1 where id in ({odd}, {back}); \
             update payments set status = 'approved', settlement_id = id, approved_at = expires_at + 1 where id in ({late}, {back}); \
             update payments set reversed_at = 5 where id = {back};"
        );
        by_hand(&t, &text, &text).await;
        let browse = of_shop(&shop);
        assert_eq!(all_pages(&t, &browse).await, ids(&all, |_| true));
        let everybody = Browse::default();
        let mut of_both = all.clone();
        of_both.push(theirs.clone());
        assert_eq!(all_pages(&t, &everybody).await, ids(&of_both, |_| true));
        let with = |change: &dyn Fn(&mut Browse)| {
            let mut browse = browse.clone();
            change(&mut browse);
            browse
        };
        let approved = [late, back];
        let some_day = first.created_at + Span::minutes(3);
        type Fits<'a> = Box<dyn Fn(&Payment) -> bool + 'a>;
        let cases: Vec<(&str, Browse, Fits<'_>)> = vec![
            ("test", with(&|b| b.filter.mode = Some(Mode::Test)), Box::new(|p| p.mode == Mode::Test)),
            ("live", with(&|b| b.filter.mode = Some(Mode::Live)), Box::new(|p| p.mode == Mode::Live)),
            ("pending", with(&|b| b.filter.status = Some(Status::Pending)), Box::new(|p| !approved.contains(&p.id))),
            ("approved", with(&|b| b.filter.status = Some(Status::Approved)), Box::new(|p| approved.contains(&p.id))),
            ("rejected", with(&|b| b.filter.status = Some(Status::Rejected)), Box::new(|_| false)),
            ("website", with(&|b| b.filter.website_id = Some(999)), Box::new(|p| p.website_id == Some(999))),
            ("late", with(&|b| b.filter.late = true), Box::new(|p| approved.contains(&p.id))),
            ("mismatched", with(&|b| b.filter.mismatched = true), Box::new(|p| [odd, back].contains(&p.id))),
            ("reversed", with(&|b| b.filter.reversed = true), Box::new(|p| p.id == back)),
            ("late and mismatched", with(&|b| (b.filter.late, b.filter.mismatched) = (true, true)), Box::new(|p| p.id == back)),
            ("mismatched of a status", with(&|b| {
                b.filter.mismatched = true;
                b.filter.status = Some(Status::Pending);
            }), Box::new(|p| p.id == odd)),
            ("test of a website", with(&|b| {
                b.filter.mode = Some(Mode::Test);
                b.filter.website_id = Some(999);
            }), Box::new(|p| p.mode == Mode::Test && p.website_id == Some(999))),
            ("from", with(&|b| b.from = Some(some_day)), Box::new(|p| p.created_at >= some_day)),
            ("until", with(&|b| b.until = Some(some_day)), Box::new(|p| p.created_at < some_day)),
            ("everything late", Browse {
                filter: PaymentFilter { late: true, ..PaymentFilter::default() }, ..Browse::default()
            }, Box::new(|p| approved.contains(&p.id))),
            ("a name", with(&|b| b.query = Some("quart zub".into())), Box::new(|_| true)),
            ("a name of a website", with(&|b| {
                b.query = Some("QUARTEY".into());
                b.filter.website_id = Some(999);
            }), Box::new(|p| p.website_id == Some(999))),
            ("a rival's name", with(&|b| b.query = Some("Sade".into())), Box::new(|_| false)),
            ("an id's beginning", with(&|b| b.query = Some("COPY-00".into())), Box::new(|p| p.transaction_id.starts_with("COPY-00"))),
            ("a late one by its id", with(&|b| {
                b.query = Some(all[4].transaction_id.clone());
                b.filter.late = true;
            }), Box::new(|p| p.id == late)),
            ("an id that does not fit the rest", with(&|b| {
                b.query = Some(all[4].transaction_id.clone());
                b.filter.reversed = true;
            }), Box::new(|_| false)),
        ];
        for (what, browse, fits) in &cases {
            let mut found = all_pages(&t, browse).await;
            let mut wanted = ids(&all, fits);
            if browse.query.is_some() {
                // What an index knows stands before the rest.
                found.sort_unstable();
                wanted.sort_unstable();
            }
            assert_eq!(found, wanted, "{what}");
        }
        let whole = browse_payments(&t.app, &browse, None).await.unwrap().unwrap();
        assert_eq!((whole.rows.len(), whole.next, whole.looked_back_to), (14, None, None));
    }

    async fn an_id_is_found_on_the_first_page_however_old_it_is(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let rival = t.merchant("bolu.example").await;
        let mut new = t.request(&shop, 5_000, "Halima Garba");
        new.transaction_id = Some("Order-77/é".into());
        let old = match tillbell::ops::payments::create::create_payment(&t.app, &shop.caller, new, None).await.unwrap() {
            tillbell::ops::payments::create::Created::Payment(view) => view.payment,
            other => panic!("{other:?}"),
        };
        let referenced = copies(&t, &old, 1, |_, copy| {
            copy.transaction_id = "first".into();
            copy.external_reference = Some("INV/2026/0031".into());
        }).await.remove(0);
        t.advance(Span::minutes(5));
        let later = t.create(&shop, 5_100, "Musa Danladi").await;
        let younger = copies(&t, &later, 9, |_, _| {}).await;
        let first_page = async |query: &str, business| {
            let mut browse = Browse { query: Some(query.into()), ..Browse::default() };
            browse.filter.business_id = business;
            let page = browse_within(&t.app, &browse, None, SMALL).await.unwrap().unwrap();
            page.rows.into_iter().map(|payment| payment.id).collect::<Vec<_>>()
        };
        let mine = Some(shop.id);
        assert_eq!(first_page("Order-77", mine).await, [old.id]);
        assert_eq!(first_page(" Order-77/é ", None).await, [old.id]);
        assert_eq!(first_page("INV/2026", mine).await, [referenced.id]);
        assert_eq!(first_page("INV/2026", None).await, [referenced.id]);
        assert_eq!(first_page("Order-77", Some(rival.id)).await, Vec::<i64>::new());
        assert_eq!(first_page("INV/2026", Some(rival.id)).await, Vec::<i64>::new());
        // Only the name stands behind many others, so that the page says how far it looked.
        let browse = Browse { query: Some("halima".into()), ..of_shop(&shop) };
        let page = browse_within(&t.app, &browse, None, SMALL).await.unwrap().unwrap();
        assert_eq!((page.rows.len(), page.looked_back_to), (0, Some(younger[6].created_at)));
        let mut named = all_pages(&t, &browse).await;
        named.sort_unstable();
        assert_eq!(named, [old.id, referenced.id]);
        let long = Browse { query: Some("x".repeat(101)), ..Browse::default() };
        assert_eq!(browse_payments(&t.app, &long, None).await.unwrap(), Err(BrowseRefused::TooLong));
    }

    async fn a_list_is_written_as_csv_to_its_end_and_without_formulas(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let first = t.create(&shop, 5_000, "Halima Garba").await;
        copies(&t, &first, 30, |n, copy| {
            copy.payer_name = if n == 7 { "=HYPERLINK(\"x\")".into() } else { format!("Musa, {n}") };
            copy.payer.service = Some("+234".into());
        }).await;
        let rows = async |source| {
            let mut reader = CsvReader::open(Arc::clone(&t.app), source).unwrap();
            let mut text = String::new();
            while let Some(piece) = reader.next().await.unwrap() {
                text.push_str(&piece);
            }
            text
        };
        let text = rows(CsvSource::Payments(of_shop(&shop))).await;
        assert_eq!(text.lines().count(), 32, "{text}");
        assert!(text.starts_with("transaction_id,business_id,mode,"), "{text}");
        assert!(text.contains(",\"'=HYPERLINK(\"\"x\"\")\",\"'+234\","), "{text}");
        assert!(text.contains(",5000.00,"), "{text}");
        assert!(text.contains(",\"Musa, 30\","), "{text}");
        let named = Browse { query: Some("halima".into()), ..of_shop(&shop) };
        assert_eq!(rows(CsvSource::Payments(named)).await.lines().count(), 2);
        let long = Browse { query: Some("x".repeat(101)), ..Browse::default() };
        assert!(CsvReader::open(Arc::clone(&t.app), CsvSource::Payments(long)).is_err());
    }

    async fn an_approval_after_its_end_is_late(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let (late, soon) = (t.create(&shop, 5_000, "Halima Garba").await, t.create(&shop, 6_000, "Musa Danladi").await);
        t.advance(LATER + Span::seconds(20));
        t.ingest(&Alert::credit(ACCOUNT, 6_000, "Musa Danladi", at()).text()).await;
        let then = late.expires_at + Span::hours(1);
        t.clock.set(then + Span::minutes(1));
        t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", then).text()).await;
        assert_eq!(t.payment(&late).await.status, Status::Approved);
        assert_eq!(t.payment(&soon).await.status, Status::Approved);
        let mut browse = of_shop(&shop);
        browse.filter.late = true;
        assert_eq!(all_pages(&t, &browse).await, [late.id]);
        browse.from = Some(START + Span::days(1));
        assert_eq!(all_pages(&t, &browse).await, Vec::<i64>::new());
        assert_eq!(Timestamp::lagos_day_of("2026-03-10"), Some(START.lagos_day()));
    }
}
