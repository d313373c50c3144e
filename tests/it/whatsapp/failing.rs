//! Errors of the API, each with what follows from it for the merchant, the workers and the operator.

use serde_json::json;

use super::world::Desk;
use crate::harness::cloud_api::{Fault, TOKEN};
use crate::wallet::world::PHONE;

on_both! {
    async fn what_failed_for_good_is_a_502_and_the_same_request_tries_again(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        desk.api.error_next(404, 132_001);
        desk.start("k-1").await.fails(502, "the template does not exist in this language, or is not approved");
        assert_eq!(desk.last().await.0, "failed");
        desk.api.error_next(400, 131_026);
        desk.start("k-1").await.fails(502, "not on WhatsApp");
        for (status, code, told) in [
            (400, 131_030, "a WhatsApp test number sends only to numbers on its list"),
            (400, 132_015, "paused"),
            (400, 100, "does not understand"),
            (400, 999_999, "refused the message (WhatsApp error 999999)"),
        ] {
            desk.api.error_next(status, code);
            desk.start("k-1").await.fails(502, told);
        }
        assert_eq!(desk.api.requests().len(), 6, "each was tried once");
        let started = desk.start("k-1").await;
        assert_eq!((started.status, desk.api.taken().len()), (201, 1), "{started:?}");
        let row = &desk.messages().await[0].row;
        assert_eq!((row.attempts, row.error.as_deref()), (7, None));
    }

    async fn a_template_that_is_gone_is_told_by_name_of_its_error(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        desk.api.forget_template("tillbell_payment_link");
        desk.start("k-1").await.fails(502, "(WhatsApp error 132001)");
        assert!(desk.api.problems()[0].starts_with("132001"), "{:?}", desk.api.problems());
    }

    async fn a_token_that_is_refused_fails_messages_until_it_is_good_again(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        desk.api.change_token("another");
        let told = "the access token is not valid or has expired";
        desk.start("k-1").await.fails(502, told);
        desk.start("k-1").await.fails(502, told);
        assert_eq!(desk.last().await.1.as_deref(), Some("the access token is not valid or has expired (WhatsApp error 190)"));
        desk.api.change_token(TOKEN);
        assert_eq!(desk.start("k-1").await.status, 201);
    }

    async fn a_short_trouble_is_waited_out_before_the_answer(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        desk.api.error_next(500, 131_000);
        let started = desk.start("k-1").await;
        assert_eq!((started.status, desk.api.requests().len(), desk.api.taken().len()), (201, 2, 1), "{started:?}");
    }

    async fn a_rate_limit_is_no_502_because_a_worker_sends_the_link_later(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        desk.api.error_next(400, 130_429);
        let started = desk.start("k-1").await;
        assert_eq!(started.status, 201, "{started:?}");
        assert_eq!(desk.last().await, ("queued".into(), Some("too many messages (WhatsApp error 130429)".into())));
        // Nobody asks again; it is sent all the same, five seconds later.
        desk.api.wait_for(2).await;
        desk.until("sent").await;
        let again = desk.start("k-1").await;
        assert_eq!((again.status, &again.body, desk.api.taken().len()), (201, &started.body, 1), "{again:?}");
    }

    async fn an_answer_that_is_none_of_the_apis_is_judged_by_its_status(db: TestDatabase) {
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        let raw = |status, headers, body: &str| Fault::Raw { status, headers, body: body.into() };
        // Led elsewhere: nobody follows.
        desk.api.fail_next(raw(302, "location: /elsewhere\r\n", ""));
        desk.start("k-1").await.fails(502, "redirects to another address");
        assert_eq!(desk.api.requests().len(), 1);
        desk.api.fail_next(raw(403, "", "<html>Forbidden</html>"));
        desk.start("k-1").await.fails(502, "refuses the request (status 403)");
        desk.api.fail_next(raw(503, "retry-after: 120\r\n", "<html>busy</html>"));
        assert_eq!(desk.start("k-1").await.status, 201, "a passing trouble");
        assert!(desk.last().await.1.is_some_and(|why| why.contains("asks for a pause (status 503)")));
        // An error without an end is cut off, and its status counts.
        desk.api.fail_next(Fault::Giant);
        desk.start("k-1").await.fails(502, "refused the message (status 400)");
        assert_eq!(desk.api.requests().len(), 4);
        assert_eq!(desk.api.taken().len(), 0);
    }

    async fn nobody_there_leaves_the_link_to_the_workers_and_nothing_is_taken_for_sent(db: TestDatabase) {
        let Desk { api, server, shop } = Desk::open(db).await;
        let settings = api.settings("");
        drop(api);
        let desk = Desk { api: crate::harness::cloud_api::CloudApi::start().await, server, shop };
        assert_ne!(desk.api.settings(""), settings, "another port");
        desk.fund(20_000).await;
        assert_eq!(desk.start("k-1").await.status, 201);
        let (status, why) = desk.last().await;
        assert_eq!(status, "queued", "it never left us, so it is tried again");
        assert!(why.is_some_and(|why| why.contains("WhatsApp cannot be reached")));
        let text = json!({ "phone": PHONE, "message": "hello" });
        desk.post("send-message", &text).await.fails(502, "");
    }
}
