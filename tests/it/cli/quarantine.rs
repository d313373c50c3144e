//! Quarantine cleared by commands, and what is told of what waits.

use super::Desk;
use super::terminal::on_terminal_of;
use crate::harness::mails::Alert;

/// As many credits that nothing proves, taken in.
fn quarantined(desk: &Desk<'_>, count: i64) {
    desk.account("0123456781");
    let now = tillbell::clock::Clock::now(&tillbell::clock::SystemClock);
    for n in 0..count {
        let mail = Alert::credit("0123456781", 1_000 + n, "Ene Agaba", now).text();
        std::fs::write(desk.path().join("one.eml"), mail).unwrap();
        assert_eq!(desk.json(&["alert", "ingest", "one.eml"])["results"][0]["outcome"], "quarantined");
    }
}

fn ids(value: &serde_json::Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect()
}

on_both! {
    async fn quarantine_is_counted_and_cleared(db: TestDatabase) {
        let desk = Desk::new(&db);
        quarantined(&desk, 5);
        let list = desk.json_text(&["alert", "list"]);
        assert!(list.contains(r#""quarantined":{"count":5,"amount":5010.00,"oldest_at":"2"#), "{list}");
        let waiting = &desk.json(&["alert", "list"])["waiting"];
        assert_eq!((&waiting["count"], &waiting["by_status"]["review"]["count"]), (&0.into(), &0.into()));
        assert!(desk.text(&["alert", "list"]).contains("5 alerts in quarantine (not proven to be from the bank): NGN 5,010.00"));
        // One: the alert itself.
        let one = desk.json(&["alert", "dismiss", "1", "--reason", "spam"]);
        assert_eq!((&one["outcome"], &one["was"], &one["authentic"]), (&"dismissed".into(), &"quarantined".into(), &"unproven".into()));
        // Several, one of which is not there.
        let output = desk.run(&["--json", "alert", "dismiss", "2", "3", "99", "--reason", "spam"]);
        assert_eq!(output.status.code(), Some(1));
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(ids(&told["dismissed"]), [2, 3]);
        assert_eq!((&told["refused"][0]["id"], &told["refused"][0]["reason"]), (&99.into(), &"there is no alert 99".into()));
        assert!(String::from_utf8_lossy(&output.stderr).contains("1 of 3 alerts were not dismissed"));
        // All of a sender.
        let none = desk.json(&["alert", "dismiss", "--from", "nobody@else.example", "--reason", "spam"]);
        assert!(ids(&none["dismissed"]).is_empty());
        let some = desk.json(&["alert", "dismiss", "--from", "GeNS@gtbank.com", "--limit", "1", "--reason", "spam"]);
        assert_eq!((ids(&some["dismissed"]), &some["more"]), (vec![4], &true.into()));
        let told = desk.text(&["alert", "dismiss", "--from", "GeNS@gtbank.com", "--reason", "spam"]);
        assert!(told.starts_with("1 quarantined alert from GeNS@gtbank.com dismissed\nThose that were quarantined"), "{told}");
        let waiting = &desk.json(&["alert", "list"])["waiting"];
        assert_eq!(waiting["by_status"]["quarantined"]["count"], 0);
        assert_eq!(desk.run(&["alert", "dismiss", "--reason", "spam"]).status.code(), Some(2));
        assert_eq!(desk.run(&["alert", "dismiss", "1", "--from", "a@b.example", "--reason", "spam"]).status.code(), Some(2));
        assert_eq!(desk.json(&["audit"])["ok"], true);
    }

    async fn a_dismissal_stands_beside_what_proves_the_mail(db: TestDatabase) {
        let desk = Desk::new(&db);
        quarantined(&desk, 2);
        let before = desk.json(&["alert", "show", "1"]);
        assert_eq!((&before["authentic"], &before["dismissed_from"]), (&"unproven".into(), &serde_json::Value::Null));
        desk.text(&["alert", "dismiss", "1", "--reason", "spam"]);
        let aside = desk.json(&["alert", "show", "1"]);
        assert_eq!((&aside["authentic"], &aside["dismissed_from"]), (&"unproven".into(), &"quarantined".into()));
        let told = desk.text(&["alert", "show", "1"]);
        assert!(told.contains("dismissed_from: ") && told.contains("quarantined"), "{told}");
    }

    async fn who_did_what_is_listed(db: TestDatabase) {
        let desk = Desk::new(&db);
        assert!(desk.text(&["activity"]).starts_with("no actions"), "{}", desk.text(&["activity"]));
        quarantined(&desk, 3);
        for (id, reason) in [("1", "spam"), ("2", "an old copy"), ("3", "spam")] {
            desk.text(&["alert", "dismiss", id, "--reason", reason]);
        }
        let two = desk.json(&["activity", "--limit", "2"]);
        assert_eq!(two["more"], true);
        let acts = |value: &serde_json::Value| {
            let acts = value["acts"].as_array().unwrap().iter();
            acts.map(|act| format!("{}: {}", act["about"].as_str().unwrap(), act["reason"])).collect::<Vec<_>>()
        };
        assert_eq!(acts(&two), [r#"alert 3: "spam""#, r#"alert 2: "an old copy""#]);
        let one = desk.json(&["activity", "--about", "alert 2", "--since", "1h"]);
        assert_eq!((acts(&one), &one["more"]), (vec![r#"alert 2: "an old copy""#.to_owned()], &false.into()));
        assert_eq!((&one["acts"][0]["act"], one["acts"][0]["operator"].is_string()), (&"dismiss".into(), true));
        assert!(acts(&desk.json(&["activity", "--since", "2199-01-01"])).is_empty());
        let told = desk.text(&["activity"]);
        assert!(told.contains("dismiss") && told.contains("an old copy"), "{told}");
    }

    async fn unreadable_mails_are_dismissed_for_good(db: TestDatabase) {
        let desk = Desk::new(&db);
        let mail = "From: gens@gtbank.com\r\nSubject: Hello\r\n\r\nA CREDIT of NGN 750.00 on your account\r\n";
        std::fs::write(desk.path().join("news.eml"), mail).unwrap();
        let result = desk.json(&["alert", "ingest", "news.eml"])["results"][0].clone();
        assert_eq!(result["outcome"], "unreadable", "{result}");
        let told = desk.text(&["alert", "dismiss", "1", "--reason", "advertising"]);
        assert!(told.contains("cannot be approved") && told.contains("alert ingest FILE --trusted"), "{told}");
        let aside = desk.json(&["alert", "show", "1"]);
        assert_eq!((&aside["outcome"], &aside["dismissed_from"]), (&"dismissed".into(), &"unreadable".into()));
        assert_eq!(aside["authentic"], "unproven");
        let reason = aside["reason"].as_str().unwrap();
        assert!(reason.starts_with("advertising (it was unreadable: "), "{reason}");
        assert!(desk.refused(&["alert", "dismiss", "1", "--reason", "again"]).contains("is dismissed"));
        assert_eq!(desk.run(&["alert", "reread", "1"]).status.code(), Some(1));
        assert_eq!(desk.json(&["audit"])["ok"], true);
    }

    async fn a_sender_can_be_chosen_from_the_list(db: TestDatabase) {
        let desk = Desk::new(&db);
        quarantined(&desk, 1);
        let sender = "gens@gtbank.com";
        assert_eq!(desk.json(&["alert", "list"])["alerts"][0]["mail_from"], sender);
        assert!(desk.text(&["alert", "list"]).contains(sender), "a pipe gets everything");
        let shown = |columns, args: &[&str]| on_terminal_of(&desk, columns, &[], args);
        for columns in [80, 200] {
            let list = shown(columns, &["alert", "list", "--outcome", "quarantined"]);
            assert!(list.contains(sender) && list.lines().all(|line| line.chars().count() <= columns), "{list}");
            assert!(shown(columns, &["alert", "list", "--wide"]).contains(sender));
        }
        assert!(!shown(80, &["alert", "list"]).contains(sender));
    }
}
