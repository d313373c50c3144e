//! The program dies between the commit of an event and its place: the event is read all the same, once.

use std::time::Duration;

use serde_json::Value;
use tillbell::domain::time::Span;

use crate::crashes::{ACCOUNT, ENOUGH, Installation, Service, now, request};
use crate::harness::mails::Alert;

async fn events(here: &Installation, service: &Service) -> Vec<(String, String)> {
    let (status, page) = request(service.address, "GET /api/v1/events", &here.key, "").await.unwrap();
    assert_eq!(status, 200, "{page}");
    let word = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
    let rows = page["data"].as_array().unwrap().iter();
    rows.map(|event| (word(event, "id"), word(event, "transaction_id"))).collect()
}

on_both! {
    async fn an_event_outlives_whoever_dies_before_it_has_its_place(db: TestDatabase) {
        let here = Installation::new(db).await;
        let mut seen: Vec<(String, String)> = Vec::new();
        let point = "events.before_places:1";
        for n in 0..2 {
            let asked = here.serve();
            let ids: Vec<String> = (0..2).map(|one| format!("PLACE-{n}-{one}")).collect();
            for (one, id) in ids.iter().enumerate() {
                here.ask(&asked, id, 5_000 + 3_000 * n as i64 + 700 * one as i64).await;
            }
            drop(asked);
            let mut service = here.serve_with(&[("TILLBELL_CRASH_AT", point)]).unwrap();
            for (one, id) in ids.iter().enumerate() {
                let naira = 5_000 + 3_000 * n as i64 + 700 * one as i64;
                let path = here.mail(id, &Alert::credit(ACCOUNT, naira, "Halima Garba", now() + Span::seconds(1)));
                let told = here.json(&["alert", "ingest", path.to_str().unwrap(), "--trusted"]);
                assert_eq!(told["results"][0]["outcome"], "matched", "{told}");
            }
            // It dies as soon as it looks at the order, by itself.
            let deadline = tokio::time::Instant::now() + ENOUGH;
            while request(service.address, "GET /api/v1/payments", &here.key, "").await.is_some() {
                assert!(tokio::time::Instant::now() < deadline, "{point} was never passed");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            service.kill();
            let service = here.serve();
            let after = events(&here, &service).await;
            assert_eq!(after[..seen.len()], seen, "what was read before stays where it was");
            let new: Vec<&String> = after[seen.len()..].iter().map(|(_, transaction)| transaction).collect();
            assert_eq!(new, ids.iter().collect::<Vec<_>>(), "{point}");
            assert_eq!(events(&here, &service).await, after);
            seen = after;
        }
        here.audit();
    }

    async fn a_reversal_killed_at_any_point_is_told_once_or_did_not_happen(db: TestDatabase) {
        let here = Installation::new(db).await;
        let service = here.serve();
        for (n, point) in ["store.before_commit:1", "store.before_commit:2", "store.after_commit:2", "store.between_statements:9"]
            .into_iter()
            .enumerate()
        {
            let (id, naira) = (format!("BACK-{n}"), 5_000 + 1_000 * n as i64);
            here.ask(&service, &id, naira).await;
            let path = here.mail(&id, &Alert::credit(ACCOUNT, naira, "Halima Garba", now() + Span::seconds(1)));
            here.json(&["alert", "ingest", path.to_str().unwrap(), "--trusted"]);
            here.until_approved(&service, &id, point).await;
            let command = ["payment", "reverse", id.as_str(), "--reason", "wrong match", "--yes"];
            here.run(&command, Some(point));
            here.run(&command, None);
            let told = events(&here, &service).await;
            let about: Vec<&(String, String)> = told.iter().filter(|(_, transaction)| *transaction == id).collect();
            assert_eq!(about.len(), 2, "{point}: {told:?}");
        }
        here.audit();
    }
}
