//! `person export` and `person erase` as an operator types them.

use super::Desk;
use super::payments::{now, pay, shop};
use crate::audits::by_hand_on;
use crate::harness::mails::Alert;

const NUMBER: &str = "0123452215";

on_both! {
    async fn what_is_kept_of_a_payer_is_written_down_and_taken_out(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = shop(&desk, "Ijo Fabrics", "ijo.example", &[]);
        desk.account(NUMBER);
        let app = desk.app().await;
        pay(&app, &key, "a-1", 7_500, "Sade Ayo Balogun").await;
        std::fs::write(desk.path().join("one.eml"), Alert::credit(NUMBER, 7_500, "BALOGUN SADE", now()).text()).unwrap();
        assert_eq!(desk.json(&["alert", "ingest", "one.eml", "--trusted"])["results"][0]["transaction_id"], "a-1");

        let known = desk.json(&["person", "export", "--payment", "a-1"]);
        assert_eq!((&known["payer_name"], &known["alerts"][0]["payer_name"]), (&"Sade Ayo Balogun".into(), &"BALOGUN SADE".into()));
        assert_eq!((&known["told_to_merchant"][0]["payer_name"], &known["erased_at"]), (&"Sade Ayo Balogun".into(), &().into()));
        desk.text(&["person", "export", "--payment", "a-1", "--business", "1", "--file", "sade.json"]);
        let file = desk.path().join("sade.json");
        let written: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(written, known);
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let refused = desk.refused(&["person", "export", "--payment", "a-1", "--file", "sade.json"]);
        assert!(refused.contains("cannot make the file sade.json"), "{refused}");
        assert!(desk.refused(&["person", "export", "--payment", "a-2"]).contains("a-2"));

        let erase = ["person", "erase", "--payment", "a-1", "--reason", "asked by letter", "--yes"];
        let refused = desk.refused(&erase);
        assert!(refused.contains("less than 90 days ago: until 2"), "{refused}");
        // As if it were long ago, and told.
        let day = 86_400_000_000_i64;
        let ago = format!(
            "update payments set updated_at = updated_at - {0}, approvable_until_at = approvable_until_at - {0}; \
             update alerts set first_seen_at = first_seen_at - {0}; \
             update jobs set done_at = created_at, outcome = 'delivered' where kind = 'deliver'", 93 * day
        );
        by_hand_on(&db, &ago, &ago).await;
        let gone = desk.json(&erase);
        assert_eq!((&gone["transaction_id"], &gone["events"]), (&"a-1".into(), &1.into()));
        assert_eq!(gone["alerts"].as_array().unwrap().len(), 1);
        assert!(desk.refused(&erase).contains("was taken out at"));
        let left = desk.text(&["person", "export", "--payment", "a-1"]) + &desk.json_text(&["payment", "show", "a-1"]);
        assert!(!left.to_lowercase().contains("sade") && left.contains("[erased]"), "{left}");
        let shown = desk.json(&["payment", "show", "a-1"]);
        assert_eq!((&shown["status"], &shown["payer_name"]), (&"approved".into(), &"[erased]".into()));
        let acts = desk.json(&["activity", "--about", "payment a-1"]);
        assert_eq!((&acts["acts"][0]["act"], &acts["acts"][0]["reason"]), (&"person erase".into(), &"asked by letter".into()));
        desk.text(&["alert", "show", "1"]);
    }
}
