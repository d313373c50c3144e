//! `webhook list`: what is told of deliveries that are paused, that a worker holds, and that wait.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use tillbell::domain::time::Span;
use tillbell::store::tables::jobs::{self, JobKind, Lane};

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

    async fn what_a_worker_holds_is_due_now_and_a_retry_at_its_time(db: TestDatabase) {
        let world = World::new(&db).await;
        let desk = desk_of(&db);
        world.tell("/hook").await;
        let (store, now) = (&world.app.store, world.app.now());
        let held = store.claim_jobs(JobKind::Deliver, Lane::First, now, Span::minutes(40)).await.unwrap().remove(0);
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
