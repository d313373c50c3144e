//! Whoever tries to make money of test mode: nothing live is ever named, matched, held or credited by what it writes, and
//! nothing that comes from outside is believed in the layout of its bank.

use serde_json::json;
use tillbell::alert_reader::Banks;
use tillbell::domain::alert::{AlertStatus, Authenticity};
use tillbell::domain::merchant::Mode;
use tillbell::mail_intake::ingest::{Arrival, MailIngestor, Origin, ingest};
use tillbell::ops::alerts::approve::{Approve, approve_alert};
use tillbell::ops::alerts::draft::Voucher;
use tillbell::ops::merchants::accounts::{
    AccountRefusal, GivenBank, NewAccount, add_account, retire_account,
};

use super::world::{SIMULATE, World, exact, with};
use crate::api::server::CREATE;
use crate::harness::app::{ACCOUNT, LATER, TestApp, at, world};
use crate::harness::mails::Alert;

/// A mail in the test bank's layout.
fn imitation(account: &str, naira: i64, payer: &str) -> String {
    format!(
        "From: alerts@testbank.invalid\r\nTo: alerts@till.example\r\nSubject: Test credit alert\r\n\
         Date: Tue, 10 Mar 2026 09:10:00 +0100\r\nMessage-ID: <1@thief.example>\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\r\nTest money has come into your account.\r\n\
         Account Number: {account}\r\nAccount Name: TILL AND BELL LTD\r\nAmount: NGN {naira}.00\r\nSender: {payer}\r\n\
         Transaction Number: TEST0000000001\r\nTransaction Date: 10-Mar-2026 09:09:50\r\nNarration: x\r\n"
    )
}

on_both! {
    async fn a_live_key_and_live_payments_and_others_payments_are_refused(db: TestDatabase) {
        let w = World::new(db).await;
        w.server.account("2200110011", Mode::Live).await;
        let live = w.server.json("POST", &w.shop.key, CREATE, &w.shop.body(r#""transaction_id": "live-1""#)).await;
        assert_eq!(live.status, 201, "{live:?}");
        let payment = w.payment(5_000, "Bisi Lawal").await;
        let by_live_key = w.server.json("POST", &w.shop.key, SIMULATE, &exact(&payment).to_string()).await;
        assert_eq!(by_live_key.fails(403, "test key")["code"], "test_key_required");
        w.server.json("POST", &w.shop.key, SIMULATE, "rubbish").await.fails(403, "test key");
        let other = w.server.shop("obi.example").await;
        let theirs = w.server.key(other.id, Mode::Test).await;
        let their_payment = w.payment_of(&other, &theirs, 5_000, "Bisi Lawal").await;
        for body in [
            with(exact(&payment), json!({ "transaction_id": "live-1" })),
            exact(&their_payment),
        ] {
            w.simulate(&body).await.fails_on(&["transaction_id"]);
        }
        // A live account's number, another business's account, and both beside a payment of one's own.
        for number in ["2200110011", their_payment["account_number"].as_str().unwrap()] {
            let by_number = with(exact(&payment), json!({ "account_number": number }));
            w.simulate(&by_number).await.fails_on(&["account_number"]);
            let alone = with(by_number, json!({ "transaction_id": null }));
            w.simulate(&alone).await.fails_on(&["account_number"]);
        }
        assert_eq!(live.json()["data"]["status"], "pending");
        assert_eq!(w.server.get(&w.shop.key, "/api/v1/payment/live-1").await.json()["data"]["status"], "pending");
        w.audited().await;
    }

    async fn the_number_of_a_live_account_in_a_banks_layout_pays_nothing_live(db: TestDatabase) {
        let w = World::new(db).await;
        // The same number, given as a live account at a bank, whose payment asks for the same of the same person.
        let new = NewAccount {
            number: "0000000001".into(),
            name: "TILL AND BELL LTD".into(),
            bank: GivenBank::Known { code: "gtbank".into(), name: "GTBank".into(), mask: None, cbn_code: None },
            business_id: None,
            via: None,
            mode: Mode::Live,
            force: true,
        };
        add_account(w.server.app(), "test", &new).await.unwrap().unwrap();
        w.server.app().directory.forget();
        let members = r#""transaction_id": "live-1", "amount": "5000", "payer_name": "Bisi Lawal""#;
        let live = w.server.json("POST", &w.shop.key, CREATE, &w.shop.body(members)).await;
        assert_eq!(live.json()["data"]["account_number"], "0000000001", "{live:?}");
        let payment = w.payment(5_000, "Bisi Lawal").await;
        assert_eq!(payment["account_number"], "0000000001");
        let by_number = json!({
            "account_number": "0000000001", "amount": "5000", "payer_name": "BISI LAWAL", "bank": "gtbank",
        });
        let done = w.simulated(&by_number).await;
        assert_eq!(done["transaction_id"], payment["transaction_id"], "{done}");
        let again = w.simulated(&by_number).await;
        assert_eq!(again["transaction_id"], json!(null), "{again}");
        assert_eq!(w.server.get(&w.shop.key, "/api/v1/payment/live-1").await.json()["data"]["status"], "pending");
        w.audited().await;
    }

    async fn no_mail_from_outside_is_believed_in_the_layout_of_the_test_bank(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let tester = t.in_test_mode(&shop).await;
        let payment = t.create(&tester, 5_000, "Halima Garba").await;
        t.advance(LATER);
        let room = MailIngestor::new(&t.app.config, t.banks.clone());
        let raw = imitation("0000000001", 5_000, "HALIMA GARBA");
        let vouched = Voucher { operator: "ada".into(), file: "x.eml".into() };
        for origin in [
            Origin::File { trusted: true },
            Origin::File { trusted: false },
            Origin::Vouched(vouched),
            Origin::Smtp { from_loopback: true },
            Origin::Imap { authserv_id: Some("mx.example".into()) },
        ] {
            let arrival = Arrival { raw: raw.clone().into_bytes(), source: "net".into(), origin, in_mailbox: None };
            let taken = ingest(&t.app, &room, arrival).await.unwrap();
            assert!(
                matches!(taken.outcome.status, AlertStatus::Quarantined | AlertStatus::Duplicate),
                "{:?}",
                taken.outcome
            );
            let alert = t.app.store.alert(taken.outcome.alert_id).await.unwrap().unwrap();
            assert_eq!((alert.authenticity, alert.payment_id), (Authenticity::Refuted, None));
            let ask = Approve {
                alert_id: alert.id,
                business_id: shop.id,
                transaction_id: &payment.transaction_id,
                operator: "ada",
                despite: Some("I know the customer"),
                seen: None,
            };
            assert!(approve_alert(&t.app, &ask).await.unwrap().is_err());
        }
        // Forwarded by hand it is no better.
        let forwarded = raw.replace("Subject: Test", "Subject: Fwd: Test").replace("alerts@testbank.invalid", "ada@till.example");
        let arrival = Arrival {
            raw: forwarded.into_bytes(), source: "net".into(),
            origin: Origin::File { trusted: true }, in_mailbox: None,
        };
        let taken = ingest(&t.app, &room, arrival).await.unwrap();
        assert!(taken.outcome.transaction_id.is_none(), "{:?}", taken.outcome);
        assert_eq!(t.payment(&payment).await.status.as_str(), "pending");
    }

    async fn nobody_registers_or_retires_an_account_of_the_test_bank(db: TestDatabase) {
        let t = TestApp::start(db).await;
        let shop = t.merchant("adire.example").await;
        let tester = t.in_test_mode(&shop).await;
        let payment = t.create(&tester, 5_000, "Halima Garba").await;
        let banks = Banks::embedded().unwrap();
        let known = banks.by_name_or_alias("Tillbell Test Bank").unwrap();
        for (mode, force) in [(Mode::Live, true), (Mode::Live, false), (Mode::Test, true)] {
            for bank in [
                GivenBank::Known { code: known.code.clone(), name: known.name.clone(), mask: None, cbn_code: None },
                GivenBank::Unknown("testbank".into()),
                GivenBank::Unknown("tillbell test bank".into()),
            ] {
                let new = NewAccount {
                    number: "0000000001".into(), name: "THIEF".into(), bank, business_id: None, via: None, mode, force,
                };
                let refused = add_account(&t.app, "thief", &new).await.unwrap().unwrap_err();
                assert!(matches!(refused, AccountRefusal::BuiltIn | AccountRefusal::UnknownBank(_)), "{refused}");
            }
        }
        let virtual_one = NewAccount {
            via: Some("0000000001".into()), mode: Mode::Test, ..t.new_account("gtbank", (0, 4), "0123456789", None)
        };
        let refused = add_account(&t.app, "thief", &virtual_one).await.unwrap().unwrap_err();
        assert!(matches!(refused, AccountRefusal::UnknownVia(_)), "{refused}");
        let refused = retire_account(&t.app, "ada", payment.account_id.unwrap()).await.unwrap().unwrap_err();
        assert_eq!(refused, AccountRefusal::BuiltIn);
    }

    async fn what_was_simulated_neither_holds_nor_hides_real_money(db: TestDatabase) {
        let w = World::new(db).await;
        let new = NewAccount {
            number: ACCOUNT.into(),
            name: "TILL AND BELL LTD".into(),
            bank: GivenBank::Known { code: "gtbank".into(), name: "GTBank".into(), mask: None, cbn_code: None },
            business_id: None, via: None, mode: Mode::Live, force: true,
        };
        add_account(w.server.app(), "test", &new).await.unwrap().unwrap();
        w.server.app().directory.forget();
        let members = r#""transaction_id": "live-1", "amount": "5000", "payer_name": "Bisi Lawal""#;
        assert_eq!(w.server.json("POST", &w.shop.key, CREATE, &w.shop.body(members)).await.status, 201);
        let now = w.server.app().now();
        let real = Alert::credit(ACCOUNT, 5_000, "Bisi Lawal", now);
        // The real mail's session id and reference are typed into simulated ones, of one's own business, in advance.
        let payment = w.payment(5_000, "Bisi Lawal").await;
        for bank in ["gtbank", "zenith", "kuda", "testbank"] {
            let typed = format!("{}-TRANSFER-OPAY-BISI LAWAL", real.session);
            w.simulated(&with(exact(&payment), json!({ "bank": bank, "narration": typed }))).await;
        }
        let room = MailIngestor::new(&w.server.app().config, Banks::embedded().unwrap().into());
        let arrival = Arrival {
            raw: real.text().into_bytes(), source: "file".into(),
            origin: Origin::File { trusted: true }, in_mailbox: None,
        };
        let taken = ingest(w.server.app(), &room, arrival).await.unwrap();
        assert_eq!(taken.outcome.transaction_id.as_deref(), Some("live-1"), "{:?}", taken.outcome);
        // And the lists of real alerts hold none of the others.
        let listed = w.server.app().store.list_alerts(None, 100).await.unwrap();
        assert_eq!(listed.iter().map(|one| one.id).collect::<Vec<_>>(), [taken.outcome.alert_id]);
        let totals = w.server.app().store.alert_totals().await.unwrap();
        assert!(totals.iter().all(|total| total.count == 0), "{totals:?}");
        w.audited().await;
    }

    async fn real_money_tells_a_simulation_nothing(db: TestDatabase) {
        let (t, shop) = world(db).await;
        // Live money of the same amount and name waits in review, with and without an account.
        t.advance(LATER);
        t.ingest(&Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()).text()).await;
        let nowhere = Alert { account: "******0000".into(), ..Alert::credit(ACCOUNT, 5_000, "Halima Garba", at()) };
        t.ingest(&nowhere.text()).await;
        let tester = t.in_test_mode(&shop).await;
        let payment = t.create(&tester, 5_000, "Halima Garba").await;
        t.advance(LATER);
        let room = MailIngestor::new(&t.app.config, t.banks.clone());
        let ask = tillbell::ops::alerts::simulate::Simulation {
            business_id: shop.id,
            about: tillbell::ops::alerts::simulate::About::Transaction(&payment.transaction_id),
            on_account: None,
            bank: Some("gtbank"),
            amount: payment.amount,
            payer_name: "HALIMA GARBA",
            narration: None,
            occurred: None,
            copies: 1,
            is_forged: false,
            by: None,
        };
        let done = tillbell::ops::alerts::simulate::simulate(&t.app, &room, &ask).await.unwrap().unwrap();
        assert_eq!(done[0].transaction_id.as_deref(), Some(payment.transaction_id.as_str()), "{done:?}");
    }
}

/// Every route of the API that names or lists something: method, path with `{id}` for a payment's, body, and the status for
/// what is of the key's own mode and of the other one.
const ROUTES: [(&str, &str, &str, [u16; 2]); 5] = [
    ("GET", "/api/v1/payment/{id}", "", [200, 404]),
    ("PATCH", "/api/v1/payment/{id}/amount", r#"{"new_amount": "5100"}"#, [200, 404]),
    ("GET", "/api/v1/payments", "", [200, 200]),
    ("GET", "/api/v1/payments?status=pending&per_page=100", "", [200, 200]),
    ("POST", "/api/v1/payment-request", "", [422, 422]),
];
/// Routes of live money alone: nothing of them answers a test key.
const LIVE_ALONE: [(&str, &str); 6] = [
    ("GET", "/api/v1/balance"),
    ("GET", "/api/v1/balance/entries"),
    ("GET", "/api/v1/payout-accounts"),
    ("GET", "/api/v1/payouts"),
    ("GET", "/api/v1/payouts/1"),
    ("POST", "/api/v1/payouts"),
];

on_both! {
    async fn on_every_route_live_and_test_never_meet(db: TestDatabase) {
        let w = World::new(db).await;
        w.server.account("2200110011", Mode::Live).await;
        w.server.change(w.shop.id, |change| change.wallet_enabled = Some(true)).await;
        let live_body = w.shop.body(r#""transaction_id": "live-1""#);
        assert_eq!(w.server.json("POST", &w.shop.key, CREATE, &live_body).await.status, 201);
        let test_body = w.shop.body(r#""transaction_id": "test-1""#);
        assert_eq!(w.server.json("POST", &w.test_key, CREATE, &test_body).await.status, 201);
        for (key, own, other) in [(&w.shop.key, "live-1", "test-1"), (&w.test_key, "test-1", "live-1")] {
            for (method, path, body, [of_own, of_other]) in ROUTES {
                for (id, status) in [(own, of_own), (other, of_other)] {
                    let path = path.replace("{id}", id);
                    let body = match path.as_str() {
                        CREATE => w.shop.body(&format!(r#""transaction_id": "{id}""#)),
                        _ => body.to_owned(),
                    };
                    let reply = match body.as_str() {
                        "" => w.server.get(key, &path).await,
                        body => w.server.json(method, key, &path, body).await,
                    };
                    assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
                    let is_list = path.starts_with("/api/v1/payments");
                    assert!(!is_list || !reply.body.contains(other), "{path} tells of {other}: {reply:?}");
                }
            }
        }
        for (method, path) in LIVE_ALONE {
            let reply = match method {
                "GET" => w.server.get(&w.test_key, path).await,
                _ => w.server.json(method, &w.test_key, path, r#"{"phone": "08035550142"}"#).await,
            };
            assert_eq!(reply.fails(403, "")["code"], "live_key_required", "{method} {path}");
        }
        let simulated = w.server.json("POST", &w.shop.key, SIMULATE, "{}").await;
        assert_eq!(simulated.fails(403, "")["code"], "test_key_required");
        // Test money is in no balance of the business's.
        let payment = w.payment(9_000, "Bisi Lawal").await;
        assert_eq!(w.simulated(&exact(&payment)).await["outcome"], "matched");
        let balance = w.server.get(&w.shop.key, "/api/v1/balance").await.json();
        assert_eq!(balance["data"]["available"].to_string(), "0.0", "{balance}");
        w.audited().await;
    }
}
