//! Lists as people see them: on terminals of several widths, through a pipe, with and without colours.

use super::Desk;
use super::terminal::on_terminal_of;
use crate::harness::databases::connect;
use crate::harness::mails::Alert;

const NAMES: [&str; 3] = ["Oluwafunmilayo Adebisi-Thompson", "Ene Agaba", "Yakubu Danjuma Pwajok"];

fn now() -> tillbell::domain::time::Timestamp {
    tillbell::clock::Clock::now(&tillbell::clock::SystemClock)
}

/// Three credits that nothing proves, each with a long reason; answers the files.
fn mails(desk: &Desk<'_>) -> Vec<String> {
    desk.account("0123456781");
    let files = NAMES.iter().enumerate().map(|(n, name)| {
        let file = format!("{n}.eml");
        let mail = Alert::credit("0123456781", 1_000_000 + n as i64, name, now()).text();
        // A provider's word, about which there is more to say than a terminal has room for.
        let mail = format!("Authentication-Results: mx.till.example; spf=none\r\n{mail}");
        std::fs::write(desk.path().join(&file), mail).unwrap();
        file
    });
    files.collect()
}

/// The table without what is said below it, which tells ages.
fn rows(text: &str) -> Vec<&str> {
    text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim_end).collect()
}

/// The rows of the JSON, which is the same whatever the form for people.
fn without_ages(desk: &Desk<'_>, args: &[&str]) -> Vec<serde_json::Value> {
    let mut rows = desk.json(args)["alerts"].as_array().unwrap().clone();
    for row in &mut rows {
        assert!(row.as_object_mut().unwrap().remove("age").is_some());
    }
    rows
}

on_both! {
    async fn the_audit_names_rows_and_says_what_to_do(db: TestDatabase) {
        let desk = Desk::new(&db);
        let business = desk.business("Ijo Fabrics");
        let sound = desk.json(&["audit"]);
        let first = &sound["checks"][0];
        assert_eq!((&first["found"], &first["what_to_do"]), (&serde_json::json!([]), &serde_json::Value::Null));
        let sql = "update merchant_balances set balance_kobo = balance_kobo + 700";
        match db.url().strip_prefix("sqlite:") {
            Some(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
            None => connect(db.url()).await.batch_execute(sql).await.unwrap(),
        }
        let output = desk.run(&["--json", "audit"]);
        assert_eq!(output.status.code(), Some(1));
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = told["checks"].as_array().unwrap();
        let broken = checks.iter().find(|check| check["name"] == "balances_equal_postings").unwrap();
        assert_eq!((&broken["violations"], &broken["found"][0]["table"]), (&1.into(), &"businesses".into()));
        assert_eq!(broken["found"][0]["id"].to_string(), business);
        let advice = broken["what_to_do"].as_str().unwrap();
        let shown = String::from_utf8(desk.run(&["audit"]).stdout).unwrap();
        for part in [&format!("first_rows: businesses {business}"), advice, "THE BOOKS ARE NOT IN ORDER"] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }
}

on_one! {
    async fn a_list_fits_the_terminal_and_keeps_its_facts(db: TestDatabase) {
        let desk = Desk::new(&db);
        let empty = on_terminal_of(&desk, 80, &[], &["alert", "list"]);
        assert!(empty.starts_with("no alerts\n"), "{empty}");
        let files = mails(&desk);
        let mut ingest = vec!["alert", "ingest"];
        ingest.extend(files.iter().map(String::as_str));
        let told = on_terminal_of(&desk, 80, &[], &ingest);
        assert!(told.contains("\n  outcome:") && told.contains("\n  payer_name:"), "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
        assert!(told.ends_with("3 quarantined\n"), "{told}");
        for columns in [80, 120, 200] {
            let shown = on_terminal_of(&desk, columns, &[], &["alert", "list"]);
            assert!(shown.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{shown}");
            for fact in NAMES.map(str::to_uppercase).iter().map(String::as_str).chain(["NGN 1,000,002.00", " ago"]) {
                assert!(shown.contains(fact), "{fact} at {columns}:\n{shown}");
            }
            assert!(shown.contains('\u{2026}'), "reasons are cut at {columns}:\n{shown}");
            assert!(!shown.contains('─') && !shown.contains('\u{1b}'), "{shown}");
        }
        let reason = desk.json(&["alert", "show", "1"])["reason"].as_str().unwrap().to_owned();
        let wide = on_terminal_of(&desk, 80, &[], &["alert", "list", "--wide"]);
        assert!(wide.contains(&reason) && wide.contains(" UTC"), "{wide}");
        let pipe = desk.text(&["alert", "list"]);
        assert_eq!(rows(&pipe), rows(&wide), "a pipe gets everything");
        assert_eq!(rows(&pipe).len(), 4, "one line a row");
        assert_eq!(without_ages(&desk, &["alert", "list"]), without_ages(&desk, &["alert", "list", "--wide"]));
    }

    async fn a_terminal_that_tells_no_size_is_not_taken_for_a_narrow_one(db: TestDatabase) {
        let desk = Desk::new(&db);
        let files = mails(&desk);
        desk.text(&["alert", "ingest", &files[0]]);
        let reason = desk.json(&["alert", "show", "1"])["reason"].as_str().unwrap().to_owned();
        let shown = |columns: &str| on_terminal_of(&desk, 0, &[("COLUMNS", columns)], &["alert", "list"]);
        for unknown in ["", "0", "wide"] {
            assert!(shown(unknown).contains(&reason), "{unknown:?}: {}", shown(unknown));
        }
        let told = shown("100");
        assert!(told.lines().all(|line| line.chars().count() <= 100) && told.contains('\u{2026}'), "{told}");
    }

    async fn colours_are_for_terminals_that_want_them(db: TestDatabase) {
        let desk = Desk::new(&db);
        let files = mails(&desk);
        desk.text(&["alert", "ingest", &files[0]]);
        let coloured = |with: &[(&str, &str)]| on_terminal_of(&desk, 120, with, &["alert", "list"]).contains('\u{1b}');
        assert!(coloured(&[("TERM", "xterm-256color")]));
        assert!(coloured(&[("TERM", "xterm"), ("NO_COLOR", "")]), "an empty NO_COLOR says nothing");
        assert!(!coloured(&[("TERM", "xterm"), ("NO_COLOR", "1")]));
        assert!(!coloured(&[("TERM", "dumb")]));
        let json = on_terminal_of(&desk, 120, &[("TERM", "xterm")], &["--json", "alert", "list"]);
        assert!(!json.contains('\u{1b}') && json.lines().count() == 1, "{json}");
        let pipe = desk.command(&["alert", "list"]).env("TERM", "xterm").output().unwrap().stdout;
        assert!(!pipe.contains(&0x1b));
    }
}
