//! Nothing private is logged, also where the API repeats in its errors what it was sent.

use tillbell::domain::money::Money;
use tillbell::domain::phone::Phone;
use tillbell::ops::wallet_payments::pin_reset::{CodeSent, send_code};
use tillbell::ops::wallets::desk::{GivenCredit, credit};
use tillbell::ops::wallets::find::ensure;

use super::world::{DIGITS, Desk, WEBHOOK};
use crate::api::server::Reply;
use crate::harness::cloud_api::{APP_SECRET, Fault, TOKEN, VERIFY_TOKEN, report, written};
use crate::harness::logs::Logs;

const OTHER: &str = "08035550177";

fn link_of(started: &Reply) -> String {
    started.json()["data"]["confirm_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
}

on_both! {
    async fn no_token_no_link_no_code_and_no_word_of_a_customer_is_logged(db: TestDatabase) {
        let kept = Logs::keep();
        let desk = Desk::open(db).await;
        desk.fund(20_000).await;
        let shown = format!("{:?} {:?}", desk.server.app().config, desk.server.app().messenger);
        // Errors that repeat the request and the header, one of each class.
        let mut replies = Vec::new();
        for (status, code) in [(401, 190), (404, 132_001), (400, 130_429), (400, 131_026), (500, 131_000)] {
            desk.api.error_next(status, code);
            replies.push(desk.start("k-1").await);
        }
        let echo = format!(r#"{{"error":{{"message":"Malformed access token {TOKEN}","code":190}}}}"#);
        desk.api.fail_next(Fault::Raw { status: 400, headers: "", body: echo });
        replies.push(desk.start("k-2").await);
        desk.api.fail_next(Fault::Raw { status: 502, headers: "", body: format!("<html>{TOKEN}</html>") });
        let started = desk.start("k-3").await;
        let link = link_of(&started);
        replies.push(desk.start("k-4").await);
        let good = replies.pop().unwrap();
        assert_eq!(good.status, 201, "{good:?}");
        // A code that is refused, of another customer: one customer's codes have a pause between them.
        let given = GivenCredit { phone: OTHER, amount: Money(900_000), reason: "opening", reference: None };
        ensure(desk.server.app(), &Phone::parse(OTHER).unwrap()).await.unwrap();
        credit(desk.server.app(), "ada", &given).await.unwrap().unwrap();
        let others = link_of(&desk.start_for(OTHER, "k-5").await);
        desk.api.error_next(400, 132_000);
        let sent = send_code(&desk.server.running.app, &others, None).await.unwrap();
        assert!(matches!(sent, CodeSent::NotSent(_)), "{sent:?}");
        assert!(matches!(send_code(&desk.server.running.app, &link, None).await.unwrap(), CodeSent::Sent { .. }));
        let code = desk.api.last().button.unwrap();
        desk.api.open_window(DIGITS);
        assert_eq!(desk.told(&written(DIGITS, desk.seconds(), "text")).await.status, 200);
        assert_eq!(desk.text("kanariefågel in a text").await.status, 200);
        assert_eq!(desk.told(&report(&desk.api.last(), "failed", Some(131_042))).await.status, 200);
        desk.told_with("kanariefågel {", &[]).await.fails(403, "");
        desk.told("kanariefågel {").await.fails(400, "");
        desk.server.send("GET", &format!("{WEBHOOK}?hub.mode=subscribe&hub.challenge=1&hub.verify_token={VERIFY_TOKEN}"), &[], None).await;
        let logs = kept.text();
        assert!(logs.contains("ALARM: WhatsApp accepts no messages") && logs.contains("code=132001"), "the log holds something");
        // Whoever is answered well is given the link, and so is the merchant whose payment was made and its message
        // was not sent.
        let refused = || replies.iter().filter(|reply| reply.status >= 400);
        let not_sent = || refused().filter(|reply| reply.status == 502).map(link_of).collect::<Vec<_>>();
        assert!(refused().count() >= 4);
        let codes = desk.api.taken().into_iter().filter(|one| one.form == "tillbell_code").filter_map(|one| one.button);
        let links = desk.api.taken().into_iter().filter(|one| one.form == "tillbell_payment_link").filter_map(|one| one.button);
        let links = links.map(|link| link.rsplit('/').next().unwrap().to_owned());
        let secrets = [TOKEN, APP_SECRET, VERIFY_TOKEN, "5550142", "5550177", "kanariefågel", &link, &others, &code].map(str::to_owned);
        for private in secrets.into_iter().chain(codes).chain(links) {
            assert!(!logs.contains(&private), "{private} is in the log");
            assert!(!shown.contains(&private), "{private} is shown by Debug");
            let shows = |reply: &&crate::api::server::Reply| reply.body.contains(&private);
            assert_eq!(refused().filter(shows).count(), not_sent().iter().filter(|link| **link == private).count(), "{private}");
        }
        // What people are shown of messages holds neither.
        for listed in desk.messages().await {
            let text = listed.text.unwrap();
            assert!(!text.contains(&link) && !text.contains(&code), "{text}");
            assert!(!listed.row.error.unwrap_or_default().contains(TOKEN));
        }
    }
}
