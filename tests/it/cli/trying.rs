//! `webhook test`: what it sends, shows and answers, and whose certificates it trusts.

use tillbell::domain::money::Money;
use tillbell::domain::payment::PayerDetails;
use tillbell::ops::payments::create::{Created, NewPayment, create_payment};

use super::{Desk, fields};
use crate::harness::receiver::{Answer, Receiver};
use crate::harness::tls_receiver::{End, TlsReceiver};

const CA_FILE: &str = "TILLBELL_WEBHOOKS__EXTRA_CA_FILE";

/// A payment of business 1 with this webhook URL.
async fn pay(desk: &Desk<'_>, webhook_url: &str) -> String {
    let app = desk.app().await;
    let key = desk.json(&["key", "add", "1"])["key"].as_str().unwrap().to_owned();
    let caller = app.directory.caller(&key).await.unwrap().unwrap();
    let new = NewPayment {
        transaction_id: None,
        base: Money(310_000),
        payer_name: "Sade Ayo Balogun".into(),
        payer: PayerDetails::default(),
        bvn: None,
        webhook_url: Some(webhook_url.into()),
        website: Some(app.store.website(1).await.unwrap().unwrap().website),
        till_user_id: None,
    };
    match create_payment(&app, &caller, new, None).await.unwrap() {
        Created::Payment(view) => view.payment.transaction_id,
        other => panic!("{other:?}"),
    }
}

/// Exit code, stdout and stderr of a `webhook test 1` with more of an environment.
fn tried(desk: &Desk<'_>, environment: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = desk.command(&["webhook", "test", "1"]);
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

on_both! {
    async fn a_test_event_shows_what_came_back(db: TestDatabase) {
        let desk = Desk::dev(&db);
        let receiver = Receiver::start().await;
        let one = desk.business("Ijo Fabrics");
        desk.json(&["website", "add", &one, &receiver.url(""), "--approve"]);
        let nowhere = desk.refused(&["webhook", "test", &one]);
        let why = "neither the business nor any of its approved websites has a webhook URL; \
            set one with `business set 1 --webhook-url URL`";
        assert!(nowhere.contains(why), "{nowhere}");
        assert_eq!(desk.refused(&["webhook", "test", "77"]), "tillbell: there is no business 77");
        desk.json(&["business", "set", &one, "--webhook-url", &receiver.url("/hook")]);

        receiver.answer_next(Answer::status(200).body("taken\u{1b}[2J\n".to_owned() + &"x".repeat(5_000)));
        let text = desk.json_text(&["webhook", "test", &one]);
        assert_eq!(
            fields(&text),
            [
                "delivery_id", "webhook_id", "url", "delivered", "status", "duration_ms", "note", "answer",
                "resumed",
            ]
        );
        let sent: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&sent["delivered"], &sent["status"], &sent["note"]), (&true.into(), &200.into(), &().into()));
        assert_eq!(sent["url"], receiver.url("/hook"));
        assert!(sent["duration_ms"].is_i64());
        let answer = sent["answer"].as_str().unwrap();
        assert!(answer.starts_with("taken\u{fffd}[2J\nxxx") && answer.len() == 1_024, "{answer}");
        assert_eq!(receiver.received().len(), 1, "it was sent once, without a service");
        let listed = desk.json(&["webhook", "list"]);
        assert_eq!(listed["webhooks"][0]["id"], sent["delivery_id"]);
        assert_eq!(listed["webhooks"][0]["status"], "delivered");

        receiver.answer_next(Answer::status(503).body("closed for stock-taking"));
        let (code, out, err) = tried(&desk, &[]);
        assert_eq!(code, Some(1));
        assert!(out.contains("status:      503\n") && out.contains("closed for stock-taking"), "{out}");
        assert_eq!(err, "tillbell: the test event was not delivered: HTTP 503 Service Unavailable\n");
        receiver.answer_next(Answer::status(410));
        let (code, _, err) = tried(&desk, &[]);
        assert!(code == Some(1) && err.contains("HTTP 410 Gone; the target is paused"), "{err}");
        let resumed = desk.json(&["webhook", "test", &one]);
        assert_eq!((&resumed["resumed"], &resumed["status"]), (&true.into(), &200.into()));

        desk.account("0123456781");
        let txn = pay(&desk, &receiver.url("/order/9")).await;
        let sent = desk.json(&["webhook", "test", &one, "--payment", &txn]);
        assert_eq!(sent["url"], receiver.url("/order/9"));
        assert_eq!(receiver.received().pop().unwrap().target, "/order/9");
        assert!(desk.refused(&["webhook", "test", &one, "--payment", "TXN-none"]).contains("no payment TXN-none"));
    }
}

on_one! {
    async fn an_answer_is_escaped_in_json_too(db: TestDatabase) {
        let desk = Desk::dev(&db);
        let receiver = Receiver::start().await;
        let one = desk.business("Ijo Fabrics");
        desk.json(&["website", "add", &one, &receiver.url(""), "--approve"]);
        desk.json(&["business", "set", &one, "--webhook-url", &receiver.url("/hook")]);
        let body = "paid \u{202e}dnuf\u{2066}\u{200b}\u{feff} ₦5";
        receiver.answer_next(Answer::status(200).body(body));
        let text = desk.json_text(&["webhook", "test", &one]);
        assert!(text.contains("paid \\u202ednuf\\u2066\\u200b\\ufeff ₦5"), "{}", text.escape_debug());
        let sent: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(sent["answer"], body, "it is the same JSON");
    }

    async fn a_private_authority_is_trusted_by_a_setting_or_by_the_environment(db: TestDatabase) {
        let desk = Desk::dev(&db);
        let (receiver, other) = (TlsReceiver::start().await, TlsReceiver::start().await);
        let one = desk.business("Ijo Fabrics");
        desk.json(&["website", "add", &one, &receiver.url(""), "--approve"]);
        desk.json(&["business", "set", &one, "--webhook-url", &receiver.url("/hook")]);
        receiver.answer("HTTP/1.0 204 Noted\r\n\r\n", End::Abrupt);
        let (own, others) = (receiver.ca_file().display().to_string(), other.ca_file().display().to_string());

        let untrusted = [vec![], vec![(CA_FILE, others.as_str())], vec![("SSL_CERT_FILE", others.as_str())]];
        for environment in untrusted {
            let (code, out, err) = tried(&desk, &environment);
            assert_eq!(code, Some(1), "{environment:?}: {out}");
            assert!(err.contains("not trusted here (UnknownIssuer)") && err.contains("webhooks.extra_ca_file"), "{err}");
            assert!(out.contains("status:      -\n"), "{out}");
        }
        // The variable stands in place of the machine's store, the setting is added to either.
        let both = [("SSL_CERT_FILE", others.as_str()), (CA_FILE, own.as_str())];
        for environment in [&[("SSL_CERT_FILE", own.as_str())][..], &[(CA_FILE, own.as_str())], &both] {
            let (code, out, err) = tried(&desk, environment);
            assert_eq!(code, Some(0), "{environment:?}: {err}");
            assert!(out.contains("delivered:   yes\n") && out.contains("status:      204\n"), "{out}");
        }
        std::fs::write(desk.path().join("not.pem"), "a note\n").unwrap();
        for (file, expected) in [
            ("none.pem", "configuration: webhooks.extra_ca_file: none.pem cannot be read: No such file"),
            ("not.pem", "configuration: webhooks.extra_ca_file: not.pem contains no certificate in PEM format"),
        ] {
            let (code, _, err) = tried(&desk, &[(CA_FILE, file)]);
            assert!(code == Some(1) && err.contains(expected), "{err}");
        }
    }
}
