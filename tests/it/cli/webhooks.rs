//! `webhook list`: what is told of deliveries that are paused, that a worker holds, and that wait.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use tillbell::domain::time::Span;
use tillbell::store::tables::jobs::{self, JobKind, Queue};

use super::Desk;
use super::terminal::on_terminal_of;
use crate::harness::receiver::Answer;
use crate::webhooks_world::{KEY, World};

/// Commands on the database of a world, with its key.
fn desk_of(db: &crate::harness::databases::TestDatabase) -> Desk<'_> {
    let desk = Desk::bare(db);
    let file = desk.path().join("test.key");
    std::fs::write(&file, KEY).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    desk.text(&["migrate"]);
    desk
}

fn first(desk: &Desk<'_>) -> Value {
    desk.json(&["webhook", "list"])["webhooks"][0].clone()
}

on_both! {
    async fn a_paused_delivery_says_since_when_and_why_and_names_no_time(db: TestDatabase) {
        let world = World::new(&db).await;
        let desk = desk_of(&db);
        world.receiver.answer_next(Answer::status(410));
        let told = world.tell("/hook").await;
        let since = world.app.now();
        world.work().await;
        // Looked at again and again, it stays what it is.
        for _ in 0..3 {
            let row = first(&desk);
            assert_eq!((&row["status"], &row["next_at"]), (&"paused".into(), &Value::Null), "{row}");
            assert_eq!(row["paused_at"], since.to_string());
            let note = row["note"].as_str().unwrap();
            let url = world.receiver.url("/hook");
            assert!(note.contains("HTTP 410") && note.contains(&url) && note.contains("resend"), "{note}");
            world.advance(Span::minutes(3));
            world.work().await;
        }
        for columns in [80, 200] {
            let shown = on_terminal_of(&desk, columns, &[], &["webhook", "list"]);
            assert!(shown.contains("paused") && shown.contains(" ago"), "{shown}");
            assert!(!shown.contains("NEXT") && !shown.contains(" in "), "nothing is planned:\n{shown}");
        }
        let id = world.delivery(&told).await.id.to_string();
        desk.text(&["webhook", "resend", &id]);
        let row = first(&desk);
        assert_eq!((&row["status"], &row["paused_at"], &row["note"]), (&"waiting".into(), &Value::Null, &Value::Null));
    }

    async fn deliveries_are_found_by_business_payment_status_and_time(db: TestDatabase) {
        let world = World::new(&db).await;
        let desk = desk_of(&db);
        world.receiver.answer_next(Answer::status(410));
        let gone = world.tell("/gone").await;
        world.work().await;
        let good = world.tell("/good").await;
        world.work().await;
        let late = world.tell("/late").await;
        let mut ids = Vec::new();
        for told in [&gone, &good, &late] {
            ids.push(world.delivery(told).await.id);
        }
        let [gone_id, good_id, late_id] = ids[..] else { panic!("{ids:?}") };
        let found = |options: &str| -> Vec<i64> {
            let args: Vec<&str> = ["webhook", "list"].into_iter().chain(options.split_whitespace()).collect();
            let list = desk.json(&args);
            assert_eq!(list["more"], false, "{list}");
            list["webhooks"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
        };
        let (business, txn) = (world.business, &good.payment.transaction_id);
        let mut all = found("");
        all.sort_unstable();
        assert_eq!(all, ids);
        for (options, expected) in [
            ("--status paused".to_owned(), &[gone_id][..]),
            ("--status delivered".into(), &[good_id]),
            ("--status waiting".into(), &[late_id]),
            ("--status failed".into(), &[]),
            ("--failed".into(), &[]),
            (format!("--payment {txn}"), &[good_id]),
            (format!("--payment {txn} --business {business}"), &[good_id]),
            (format!("--payment {txn} --status paused"), &[]),
            (format!("--payment {txn} --since 2099-01-01"), &[]),
            (format!("--business {business} --status paused --since 2020-01-01"), &[gone_id]),
            ("--since 2099-01-01".into(), &[]),
        ] {
            assert_eq!(found(&options), expected, "{options}");
        }
        assert_eq!(found(&format!("--business {business}")).len(), 3);
        assert_eq!(found("--since 2020-01-01").len(), 3);
        for (wrong, told) in [
            (["--business", "990"], "there is no business 990"),
            (["--payment", "TXN-none"], "no business has a payment TXN-none"),
        ] {
            assert!(desk.refused(&[&["webhook", "list"], &wrong[..]].concat()).contains(told), "{wrong:?}");
        }
        for usage in [&["--status", "sent"][..], &["--since", "yesterday"], &["--failed", "--status", "paused"]] {
            assert_eq!(desk.run(&[&["webhook", "list"], usage].concat()).status.code(), Some(2), "{usage:?}");
        }
        let one = desk.text(&["webhook", "list", "--limit", "1"]);
        assert!(one.ends_with("only the newest one is shown; --limit shows more"), "{one}");
        let some = desk.text(&["webhook", "list", "--limit", "2", "--business", &business.to_string()]);
        assert!(some.ends_with("only the newest 2 are shown; --limit shows more"), "{some}");
    }

    async fn a_webhook_about_a_reversed_payment_is_not_resent(db: TestDatabase) {
        let world = World::new(&db).await;
        let desk = desk_of(&db);
        let (kept, back) = (world.tell("/kept").await, world.tell("/back").await);
        world.work().await;
        world.reverse(&back).await;
        let ids = [world.delivery(&kept).await.id.to_string(), world.delivery(&back).await.id.to_string()];
        let told = desk.refused(&["webhook", "resend", &ids[1]]);
        let expected = format!("delivery {} (payment.approved) will not be sent again: the payment was reversed", ids[1]);
        assert!(told.contains(&expected), "{told}");
        let out = desk.run(&["webhook", "resend", &ids[0], &ids[1], "--json"]);
        assert!(!out.status.success());
        assert!(String::from_utf8_lossy(&out.stdout).contains(&format!("\"resent\":[{}]", ids[0])), "{out:?}");
        assert!(String::from_utf8_lossy(&out.stderr).contains(&expected), "{out:?}");
        // The command's clock is the machine's.
        world.advance(Span::minutes(3));
        assert_eq!(world.work().await, 1);
        assert_eq!(world.receiver.received().len(), 3);
    }

    async fn a_saved_url_off_every_website_is_named_as_what_it_is(db: TestDatabase) {
        let desk = Desk::new(&db);
        let id = desk.business("Zobo Bar");
        desk.text(&["website", "add", &id, "https://zobo-bar.example", "--approve"]);
        let set = |url: &str| {
            let out = desk.run(&["business", "set", &id, "--webhook-url", url]);
            assert!(out.status.success(), "{out:?}");
            String::from_utf8_lossy(&out.stderr).into_owned()
        };
        let told = set("https://till.example/hook");
        assert!(told.starts_with("warning: ") && told.contains("only wallet payments can use it"), "{told}");
        assert!(!set("https://hooks.zobo-bar.example/in").contains("wallet"));
        // A URL that may not be sent to is named, and no other is asked for.
        desk.text(&["website", "set", "1", "--webhook-url", "https://zobo-bar.example/in"]);
        desk.text(&["business", "set", &id, "--no-webhook-url"]);
        desk.text(&["website", "reject", "1", "--reason", "sold"]);
        assert!(desk.refused(&["webhook", "test", &id]).contains("set one with `business set"));
    }

    async fn what_is_shown_once_says_so_to_people(db: TestDatabase) {
        let desk = Desk::new(&db);
        let once = "it is shown only once";
        let made = desk.text(&["business", "add", "--name", "Zobo Bar", "--email", "till@zobo-bar.example"]);
        assert!(made.contains("keep the webhook secret now") && made.contains(once), "{made}");
        assert!(desk.text(&["business", "rotate-secret", "1"]).contains(once));
        assert!(desk.text(&["key", "add", "1"]).contains(once));
        assert!(!desk.json_text(&["key", "add", "1"]).contains(once));
    }

    async fn what_a_worker_holds_is_due_now_and_a_retry_at_its_time(db: TestDatabase) {
        let world = World::new(&db).await;
        let desk = desk_of(&db);
        world.tell("/hook").await;
        let (store, now) = (&world.app.store, world.app.now());
        let held = store.claim_jobs(JobKind::Deliver, Queue::Fresh, now, Span::minutes(40)).await.unwrap().remove(0);
        let next = first(&desk)["next_at"].as_str().unwrap().to_owned();
        assert!(next < (now + Span::minutes(30)).to_string(), "the end of a lease is no attempt: {next}");
        for columns in [80, 200] {
            let shown = on_terminal_of(&desk, columns, &[], &["webhook", "list"]);
            assert!(shown.contains("now") && !shown.contains("in 3"), "{shown}");
        }
        assert!(desk.text(&["webhook", "list"]).contains(" now "));
        let later = now + Span::hours(2);
        assert!(store.conclude_job(&held, [jobs::retry(&held, later, "no answer")]).await.unwrap());
        assert_eq!(first(&desk)["next_at"], later.to_string());
    }
}
