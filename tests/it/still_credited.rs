//! Which account an alert is about, and what goes on after an account was retired or a business disabled: the money
//! is credited as before, and the merchant is told.

use tillbell::domain::alert::AlertStatus;
use tillbell::domain::merchant::Mode;
use tillbell::domain::money::Money;
use tillbell::domain::payment::Status;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::accounts::{NewAccount, retire_account};
use tillbell::ops::merchants::businesses::{BusinessChange, ChargeChange, set_business};
use tillbell::ops::merchants::keys::add_key;
use tillbell::ops::merchants::websites::{NewWebsite, add_website};
use tillbell::ops::payments::create::{Created, create_payment};

use crate::counted_once::is_open;
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::mails::Alert;
use crate::harness::receiver::Receiver;

on_both! {
    async fn alerts_of_a_retired_account_match_as_before(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        retire_account(&t.app, "ada", payment.account_id.unwrap()).await.unwrap().unwrap();
        let none = create_payment(&t.app, &shop.caller, t.request(&shop, 5_600, "Musa Danladi"), None).await;
        assert!(matches!(none.unwrap(), Created::NoAccount), "no new payment gets it");
        t.advance(LATER + Span::seconds(20));
        let taken = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
        assert_eq!(t.payment(&payment).await.status, Status::Approved);
    }

    async fn a_retired_account_still_makes_a_mask_ambiguous(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let payment = t.create(&shop, 5_000, "Halima Garba").await;
        // Of the same last four digits.
        let second = t.account("0999994417").await;
        let there = t.create(&shop, 900, "Musa Danladi").await;
        assert_eq!(there.account_id, Some(second), "accounts take turns");
        retire_account(&t.app, "ada", second).await.unwrap().unwrap();
        t.advance(LATER + Span::seconds(20));
        let taken = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(taken.status, AlertStatus::Review, "{taken:?}");
        assert!(taken.reason.contains("several registered accounts at that bank"), "{}", taken.reason);
        is_open(&t, &payment).await;
    }

    async fn fewer_than_three_digits_name_no_account(db: TestDatabase) {
        for (shown, expected) in [
            ("********17", AlertStatus::Review),
            ("**********", AlertStatus::Review),
            ("*******417", AlertStatus::Matched),
        ] {
            let (t, shop) = world(crate::harness::databases::TestDatabase::migrated(db.engine()).await).await;
            let payment = t.create(&shop, 5_000, "Halima Garba").await;
            t.advance(LATER + Span::seconds(20));
            let alert = Alert { account: shown.into(), ..Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()) };
            let taken = t.ingest(&alert.text()).await;
            assert_eq!(taken.status, expected, "{shown}: {taken:?}");
            if expected == AlertStatus::Review {
                assert!(taken.reason.contains("account"), "{}", taken.reason);
                is_open(&t, &payment).await;
            }
        }
    }

    async fn a_mask_that_fits_accounts_at_two_banks_is_read_at_the_alerts_bank(db: TestDatabase) {
        let t = TestApp::start(db).await;
        let (shop, other) = (t.merchant("adire.example").await, t.merchant("bolu.example").await);
        // One before it in the list and one behind it.
        let elsewhere = |bank, number| NewAccount { force: false, ..t.new_account(bank, (0, 4), number, Some(other.id)) };
        t.add_account(&elsewhere("zenith", "0777774417")).await;
        t.account_for(ACCOUNT, Some(shop.id), Mode::Live).await;
        t.add_account(&elsewhere("uba", "0555554417")).await;
        let mine = t.create(&shop, 5_000, "Halima Garba").await;
        let theirs = t.create(&other, 5_000, "Halima Garba").await;
        assert_ne!(mine.account_id, theirs.account_id);
        t.advance(LATER + Span::seconds(20));
        let taken = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
        assert_eq!(t.payment(&mine).await.status, Status::Approved);
        is_open(&t, &theirs).await;
    }

    async fn a_disabled_business_is_credited_and_told(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let receiver = Receiver::start().await;
        let site = NewWebsite {
            business_id: shop.id,
            url: receiver.url(""),
            webhook_url: None,
            charges: ChargeChange::default(),
            approve: true,
        };
        let website = add_website(&t.app, "ada", &site).await.unwrap().unwrap();
        let mut new = t.request(&shop, 5_000, "Halima Garba");
        (new.webhook_url, new.website) = (Some(receiver.url("/hook")), Some(website));
        let Created::Payment(made) = create_payment(&t.app, &shop.caller, new, None).await.unwrap() else {
            panic!("not created")
        };
        let key = add_key(&t.app, "ada", shop.id, Mode::Live, None, None).await.unwrap().unwrap().text;
        assert!(t.app.directory.caller(&key).await.unwrap().is_some());
        let change = BusinessChange { active: Some(false), ..BusinessChange::default() };
        set_business(&t.app, "ada", shop.id, &change).await.unwrap().unwrap();
        let stopped = t.app.directory.caller(&key).await.unwrap();
        assert!(stopped.is_none_or(|caller| !caller.business.active), "its keys stop");
        t.advance(LATER + Span::seconds(20));
        let taken = t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        assert_eq!(taken.status, AlertStatus::Matched, "{taken:?}");
        assert_eq!(t.app.store.merchant_balance(shop.id).await.unwrap(), Some(Money(490_000)));
        tillbell::work::run_due(&t.app).await.unwrap();
        let told = receiver.received();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].json()["transaction_id"], made.payment.transaction_id.as_str());
    }
}
