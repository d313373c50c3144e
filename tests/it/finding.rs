//! Payments are found however many others were made after them, and the newest stand first whichever process
//! made them.

use tillbell::domain::payment::Payment;
use tillbell::domain::time::{Span, Timestamp};
use tillbell::ops::payments::create::{Created, create_payment};
use tillbell::ops::payments::find::{FindRefused, Reach, Search, find_payments, find_within, whose_payment};
use tillbell::store::IdKind;
use tillbell::store::engine::unit::UNIT_MAX_STEPS;
use tillbell::store::tables::payment_search::Filter;
use tillbell::store::tables::payments;

use crate::harness::app::{START, TestApp, world};

/// More than one slice of a search by name.
const MANY: i64 = 5_400;

fn search(name: Option<&str>, limit: usize) -> Search {
    Search { filter: Filter::default(), name: name.map(str::to_owned), since: Timestamp::MIN, limit }
}

async fn found(t: &TestApp, search: &Search) -> Vec<String> {
    let found = find_payments(&t.app, search).await.unwrap().unwrap();
    assert_eq!(found.searched_back_to, None, "all was looked at");
    found.rows.into_iter().map(|payment| payment.transaction_id).collect()
}

/// Copies of a payment, each a second younger than the one before, without the index of names.
async fn copies(t: &TestApp, of: &Payment) {
    let mut steps = Vec::new();
    for n in 1..=MANY {
        let id = t.app.store.id(IdKind::Payment).await.unwrap();
        let copy = Payment {
            id,
            transaction_id: format!("copy-{n}"),
            payer_name: "Musa Danladi".into(),
            created_at: of.created_at + Span::seconds(n),
            ..of.clone()
        };
        steps.push(payments::add(&copy, None));
        if steps.len() == UNIT_MAX_STEPS || n == MANY {
            let unit = t.app.store.unit(0).await.unwrap().steps(std::mem::take(&mut steps));
            assert!(t.app.store.apply(unit).await.unwrap().is_done());
        }
    }
}

on_both! {
    async fn a_search_goes_back_slice_by_slice(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let first = t.create(&shop, 5_000, "Zubaida Quartey").await;
        copies(&t, &first).await;
        // One word of it, of which the index of names knows nothing.
        t.forget_name_rows(&first).await;
        assert_eq!(found(&t, &search(Some("quart"), 10)).await, std::slice::from_ref(&first.transaction_id));
        assert_eq!(found(&t, &search(Some("danladi"), 2)).await, [format!("copy-{MANY}"), format!("copy-{}", MANY - 1)]);
        let found_more = find_payments(&t.app, &search(Some("danladi"), 2)).await.unwrap().unwrap();
        assert!(found_more.more);
        let since = Search { since: START + Span::seconds(MANY), ..search(Some("musa"), 10) };
        assert_eq!(found(&t, &since).await, [format!("copy-{MANY}")]);
        let narrow = Reach { rows: 100, slices: 3 };
        for (word, limit, count, back_to) in [("quart", 10, 0, Some(MANY - 302)), ("musa", 10, 10, None)] {
            let found = find_within(&t.app, &search(Some(word), limit), narrow).await.unwrap().unwrap();
            assert_eq!((found.rows.len(), found.more), (count, back_to.is_none()), "{word}");
            assert_eq!(found.searched_back_to, back_to.map(|n| START + Span::seconds(n)), "{word}");
        }
        let store = &t.app.store;
        for business_id in [None, Some(shop.id)] {
            let all = (Timestamp::MIN, Timestamp::MAX);
            let end = store.slice_end(business_id, all, 100).await.unwrap();
            assert_eq!(end, Some(START + Span::seconds(MANY - 100)));
            assert_eq!(store.slice_end(business_id, all, MANY as usize + 1).await.unwrap(), None);
        }
        assert_eq!(store.slice_end(Some(77), (Timestamp::MIN, Timestamp::MAX), 0).await.unwrap(), None);
    }

    async fn the_newest_stand_first_whichever_process_made_them(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let other = t.another_node().await;
        let mut made = Vec::new();
        for n in 0..4_i64 {
            t.advance(Span::seconds(1));
            let payment = match n % 2 {
                0 => t.create(&shop, 1_000 + 500 * n, "Halima Garba").await,
                _ => {
                    let new = t.request(&shop, 1_000 + 500 * n, "Halima Garba");
                    match create_payment(&other, &shop.caller, new, None).await.unwrap() {
                        Created::Payment(view) => view.payment,
                        other => panic!("{other:?}"),
                    }
                }
            };
            made.insert(0, payment);
        }
        assert!(made.windows(2).any(|pair| pair[0].id < pair[1].id), "ids come in blocks of a process");
        let newest: Vec<String> = made.iter().map(|payment| payment.transaction_id.clone()).collect();
        assert_eq!(found(&t, &search(None, 10)).await, newest);
        assert_eq!(found(&t, &search(Some("halima"), 10)).await, newest);
        let two = find_payments(&t.app, &search(None, 2)).await.unwrap().unwrap();
        assert!(two.more && two.rows.len() == 2 && two.rows[0].transaction_id == newest[0]);
    }

    async fn a_transaction_id_tells_its_business_if_it_is_the_only_one(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let rival = t.merchant("bolu.example").await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        let whose = async |id: &str, given| whose_payment(&t.app, id, given).await.unwrap();
        assert_eq!(whose(&payment.transaction_id, None).await, Ok(shop.id));
        assert_eq!(whose("none", None).await, Err(FindRefused::NoPayment("none".into())));
        let id = t.app.store.id(IdKind::Payment).await.unwrap();
        let twin = Payment { id, business_id: rival.id, ..payment.clone() };
        let unit = t.app.store.unit(0).await.unwrap().step(payments::add(&twin, None));
        assert!(t.app.store.apply(unit).await.unwrap().is_done());
        let several = whose(&payment.transaction_id, None).await.unwrap_err().to_string();
        assert!(several.contains("1 (adire.example Ltd), 2 (bolu.example Ltd)"), "{several}");
        assert_eq!(whose(&payment.transaction_id, Some(rival.id)).await, Ok(rival.id));
    }
}
