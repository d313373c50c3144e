//! The form on a test payment's page: each ready case, what it came to, and the mail itself.

use tillbell::directory::Caller;
use tillbell::domain::money::Money;
use tillbell::domain::payment::{Payment, Status};
use tillbell::domain::phone::Phone;
use tillbell::ops::merchants::businesses::{BusinessChange, set_business};
use tillbell::ops::wallet_payments::start::{StartRequest, Started, start_wallet_payment};
use tillbell::ops::wallets::desk::{GivenCredit, credit};
use tillbell::ops::wallets::find::ensure;

use crate::harness::app::{LATER, Merchant};
use crate::harness::databases::{Engine, TestDatabase};
use crate::pages::dashboard_world::{Shops, told};
use crate::pages::visitor::Visitor;

async fn page_of(shops: &Shops, tester: &Merchant, naira: i64) -> (Payment, String) {
    let payment = shops.t().create(tester, naira, "Musa Danladi").await;
    let path = format!("/dashboard/payments/{}?business={}&mode=test", payment.transaction_id, shops.shop.id);
    (payment, path)
}

async fn simulate(shops: &Shops, visitor: &mut Visitor, path: &str, fields: &[(&str, &str)]) -> String {
    shops.t().advance(LATER);
    let page = visitor.get(path).await;
    let done = visitor.submit(&page, "simulate", fields).await;
    assert_eq!(done.status, 200, "{}", done.text_of("main"));
    assert!(
        done.text_of("#raw-mail").contains("From: "),
        "the mail can be looked at: {}",
        done.text_of("main")
    );
    told(&done)
}

on_both! {
    async fn each_ready_case_says_what_the_mail_came_to(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let tester = shops.t().in_test_mode(&shops.shop).await;
        let mut visitor = shops.owner().await;
        for (n, (case, part, status)) in [
            ("exact", "The mail paid the payment", Status::Approved),
            ("short", "The mail paid the payment", Status::Approved),
            ("too_much", "", Status::Pending),
            ("other_name", "", Status::Pending),
            ("twice", "is a copy", Status::Approved),
            ("late", "", Status::Rejected),
            ("forged", "is not believed", Status::Pending),
        ]
        .into_iter()
        .enumerate()
        {
            let (payment, path) = page_of(&shops, &tester, 5_000 + n as i64 * 700).await;
            let told = simulate(&shops, &mut visitor, &path, &[("case", case)]).await;
            assert!(told.contains(part), "{case}: {told}");
            assert_eq!(shops.t().payment(&payment).await.status, status, "{case}: {told}");
        }
        shops.close().await;
    }

    async fn amount_and_name_can_be_chosen_and_rubbish_is_told_at_its_field(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let tester = shops.t().in_test_mode(&shops.shop).await;
        let mut visitor = shops.owner().await;
        let (payment, path) = page_of(&shops, &tester, 5_000).await;
        let page = visitor.get(&path).await;
        assert!(page.text_of(".testing").contains("Test data"));
        for (field, value) in [("amount", "much"), ("amount", "0"), ("payer_name", "12"), ("case", "theft")] {
            let mut form = page.form("simulate");
            form.fields.insert("case".into(), "exact".into());
            form.fields.insert(field.into(), value.into());
            let wrong = visitor.post_fields(&form.action, &form.fields).await;
            assert_eq!(wrong.status, 422, "{field}={value}: {}", wrong.text_of("main"));
            assert!(!wrong.text_of(".wrong").is_empty(), "{field}={value}");
        }
        assert_eq!(shops.t().payment(&payment).await.status, Status::Pending);
        let fields = [("case", "exact"), ("amount", "4000"), ("payer_name", "<b>Somebody Else</b>")];
        let told = simulate(&shops, &mut visitor, &path, &fields).await;
        assert!(!told.contains("paid the payment"), "{told}");
        let page = visitor.get(&path).await;
        assert!(!page.body.contains("<b>Somebody"), "what was typed is text");
        shops.close().await;
    }

    async fn a_live_payment_has_no_such_form_and_another_businesss_mail_is_not_shown(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let tester = shops.t().in_test_mode(&shops.shop).await;
        let live = shops.t().create(&shops.shop, 7_000, "Musa Danladi").await;
        let mut visitor = shops.owner().await;
        // Whatever the address says of the mode.
        let path = format!("/dashboard/payments/{}?business={}&mode=test", live.transaction_id, shops.shop.id);
        let page = visitor.get(&path).await;
        assert!(!page.body.contains("id=\"simulate\""));
        let csrf = page.form("sign-out").fields["csrf"].clone();
        let fields = [("csrf", csrf.as_str()), ("act", "simulate"), ("case", "exact")];
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(visitor.post_fields(&path, &fields).await.status, 422);
        assert_eq!(shops.t().payment(&live).await.status, Status::Pending);
        // A mail of this business is on its page, and on nobody else's.
        let (_, path) = page_of(&shops, &tester, 5_000).await;
        simulate(&shops, &mut visitor, &path, &[("case", "exact")]).await;
        let mail = shops.t().app.store.alerts_of_test_mode(shops.shop.id, 1).await.unwrap()[0].id;
        let rival_tester = shops.t().in_test_mode(&shops.other).await;
        let theirs = shops.t().create(&rival_tester, 5_000, "Musa Danladi").await;
        let mut rival = shops.signed_in(crate::pages::dashboard_world::RIVAL).await;
        let path = format!(
            "/dashboard/payments/{}?business={}&mode=test&mail={mail}", theirs.transaction_id, shops.other.id
        );
        let page = rival.get(&path).await;
        assert_eq!((page.status, page.text_of("#raw-mail").as_str()), (200, ""));
        assert!(page.text_of("#simulating ~ *").contains("None yet") || !page.body.contains("Look at it"));
        shops.close().await;
    }
}

on_both! {
    async fn webhooks_of_test_payments_stand_under_test_data_alone(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let tester = shops.t().in_test_mode(&shops.shop).await;
        let live = shops.paid(&shops.shop, 6_000, "Ngozi Bello").await;
        let mut visitor = shops.owner().await;
        let (payment, path) = page_of(&shops, &tester, 5_000).await;
        simulate(&shops, &mut visitor, &path, &[("case", "exact")]).await;
        for (mode, own, other) in [("test", &payment, &live), ("live", &live, &payment)] {
            for page in ["payments", "webhooks"] {
                let path = format!("/dashboard/{page}?business={}&mode={mode}", shops.shop.id);
                let seen = visitor.get(&path).await;
                assert!(seen.body.contains(&own.transaction_id), "{path}");
                assert!(!seen.body.contains(&other.transaction_id), "{path}");
                assert_eq!(!seen.text_of(".testing").is_empty(), mode == "test", "{path}");
            }
        }
        shops.close().await;
    }
}

on_both! {
    async fn the_wallets_page_shows_payments_and_messages_without_what_is_the_customers(db: TestDatabase) {
        let shops = Shops::new(db).await;
        let app = &shops.t().app;
        let mut visitor = shops.owner().await;
        let off = visitor.get(&format!("/dashboard/wallet?business={}", shops.shop.id)).await;
        assert!(off.text_of("main").contains("Only the operator switches it on"), "{}", off.text_of("main"));
        assert!(!off.body.contains("id=\"wallet-payments\""));
        let hook = "https://kudu.example/hook".to_owned();
        let change = BusinessChange {
            wallet_enabled: Some(true), webhook_url: Some(Some(hook.clone())), ..BusinessChange::default()
        };
        set_business(app, "ada", shops.shop.id, &change).await.unwrap().unwrap();
        app.directory.forget();
        let phone = Phone::parse("08035550142").unwrap();
        ensure(app, &phone).await.unwrap();
        let given = GivenCredit { phone: "08035550142", amount: Money(900_000), reason: "opening", reference: None };
        credit(app, "ada", &given).await.unwrap().unwrap();
        let business = app.directory.business(shops.shop.id).await.unwrap().unwrap();
        let caller = Caller { business, ..shops.shop.caller.clone() };
        let request = StartRequest {
            phone, base: Money(200_000), order_reference: "ORDER 7".into(), order_summary: None,
            payer_name: "Ifeoma Danladi".into(), webhook_url: Some(hook), idempotency_key: "k-7".into(), fingerprint: [7; 32],
        };
        let Started::Waiting(started) = start_wallet_payment(app, &caller, &request).await.unwrap() else {
            panic!("not started")
        };
        let page = visitor.get(&format!("/dashboard/wallet?business={}", shops.shop.id)).await;
        let payment = app.store.payment(started.intent.payment_id).await.unwrap().unwrap();
        assert!(page.body.contains(&payment.transaction_id), "{}", page.text_of("main"));
        assert!(page.text_of("main").contains("Link to a payment"), "{}", page.text_of("main"));
        let token = started.confirm_url.rsplit('/').next().unwrap();
        assert!(!page.body.contains(token) && !page.body.contains("8035550142"), "neither link nor number");
        let test = visitor.get(&format!("/dashboard/wallet?business={}&mode=test", shops.shop.id)).await;
        assert!(!test.body.contains(&payment.transaction_id), "test data hold nothing live");
        let other = shops.signed_in(crate::pages::dashboard_world::RIVAL).await;
        let mut other = other;
        let theirs = other.get(&format!("/dashboard/wallet?business={}", shops.other.id)).await;
        assert!(!theirs.body.contains(&payment.transaction_id));
        shops.close().await;
    }
}

/// A thread that serves pages has 2 MiB. Whatever comes before a form, and however deep what it asks for is, a quarter of
/// that stays free, also in a program that is not optimised.
const STACK: usize = 3 * 512 * 1024;

#[test]
fn the_form_leaves_a_quarter_of_the_stack_free() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let shops = Shops::new(TestDatabase::migrated(Engine::Sqlite).await).await;
        let tester = shops.t().in_test_mode(&shops.shop).await;
        let mut visitor = shops.owner().await;
        for (n, case) in ["exact", "other_name", "twice", "late"].into_iter().enumerate() {
            let (_, path) = page_of(&shops, &tester, 5_000 + n as i64 * 700).await;
            simulate(&shops, &mut visitor, &path, &[("case", case)]).await;
        }
        // As programs send it: without the mark by which a form counts once.
        let (payment, path) = page_of(&shops, &tester, 9_000).await;
        shops.t().advance(LATER);
        let mut form = visitor.get(&path).await.form("simulate");
        assert!(form.fields.remove("once").is_some());
        form.fields.insert("case".into(), "exact".into());
        assert_eq!(visitor.post_fields(&form.action, &form.fields).await.status, 303);
        assert_eq!(shops.t().payment(&payment).await.status, Status::Approved);
        shops.close().await;
    });
}
