//! Small words: what is empty, what is told once, what is wrong and what to do about it.

use super::Desk;
use crate::harness::databases::{Engine, TestDatabase, connect, run_on};

/// What a command that was typed wrongly says.
fn misused(desk: &Desk<'_>, args: &[&str]) -> String {
    let output = desk.run(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_server_that_refuses_says_where_it_was_looked_for() {
    run_on(Engine::Postgres, |db| async move {
        let desk = Desk::new(&db);
        let away = "postgres://nobody@127.0.0.1:1/none";
        let output =
            desk.command(&["business", "list"]).env("TILLBELL_DATABASE__URL", away).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        for part in [
            "PostgreSQL: 127.0.0.1:1: ",
            "Connection refused",
            "is the server running",
            "TILLBELL_DATABASE__URL",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(said.lines().count(), 1, "{said}");
    });
}

on_both! {
    async fn what_is_empty_is_told_as_none(db: TestDatabase) {
        let desk = Desk::new(&db);
        assert!(desk.text(&["migrate"]).ends_with("migrations: none"));
        assert_eq!(desk.text(&["webhook", "resend", "--failed", "--since", "24h"]), "resent: none");
    }

    async fn an_alert_that_cannot_be_read_again_is_told_once(db: TestDatabase) {
        let desk = Desk::new(&db);
        for (ids, last) in [(&["999"][..], "there is no alert 999"), (&["998", "999"], "2 of 2 alerts were not read again")] {
            let output = desk.run(&[&["alert", "reread"], ids].concat());
            let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
            assert_eq!((output.status.code(), err.trim_end()), (Some(1), format!("tillbell: {last}").as_str()));
            let all = out + &err;
            for id in ids {
                let words = format!("there is no alert {id}");
                assert_eq!(all.matches(&words).count(), 1, "{all}");
            }
        }
        let output = desk.run(&["--json", "alert", "reread", "999"]);
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["results"][0]["outcome"], "refused", "programs get a row for each");
    }

    async fn a_database_that_was_only_begun_says_so(_db: TestDatabase) {
        let bare = TestDatabase::empty(_db.engine()).await;
        let desk = Desk::bare(&bare);
        let begun = "create table schema_migrations (name text primary key, checksum text not null, run_at bigint not null)";
        match bare.url().strip_prefix("sqlite:") {
            Some(path) => rusqlite::Connection::open(path).unwrap().execute_batch(begun).unwrap(),
            None => connect(bare.url()).await.batch_execute(begun).await.unwrap(),
        }
        let said = desk.refused(&["business", "list"]);
        assert!(said.contains("was only partly created") && said.contains("run tillbell migrate"), "{said}");
        assert!(!said.contains("0001_first"), "a list of everything tells nothing: {said}");
        desk.text(&["migrate"]);
        desk.text(&["business", "list"]);
    }
}

on_one! {
    async fn a_new_business_is_helped_in_words_that_fit_it(db: TestDatabase) {
        let help = Desk::new(&db).text(&["business", "add", "--help"]);
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for wrong in ["Remove the cap", "again", "if neither the payment nor the website"] {
            assert!(!help.contains(wrong), "{wrong}: {help}");
        }
        for right in ["No cap", "wallet payments", "test events"] {
            assert!(help.contains(right), "{right}: {help}");
        }
    }

    async fn what_is_typed_wrongly_says_what_to_type(db: TestDatabase) {
        let desk = Desk::new(&db);
        let said = misused(&desk, &["webhook", "resend"]);
        assert!(said.contains("`webhook list`") && said.contains("--failed --since"), "{said}");
        let said = misused(&desk, &["alert", "dismiss", "--reason", "spam"]);
        assert!(said.contains("`alert list`") && said.contains("--from"), "{said}");
        let said = misused(&desk, &["alert", "reread"]);
        assert!(said.contains("`alert list`") && said.contains("--bank"), "{said}");
        for args in [&["alert", "show", "abc"][..], &["webhook", "resend", "abc"], &["business", "show", "abc"]] {
            let said = misused(&desk, args);
            assert!(said.contains("'abc'") && said.contains("whole number") && !said.contains("digit"), "{said}");
        }
        let said = misused(&desk, &["alert", "list", "--limit", "0"]);
        assert!(said.contains("1..=100000"), "{said}");
        for from in ["bank.example", "@bank.example", "gens@"] {
            let said = misused(&desk, &["alert", "dismiss", "--from", from, "--reason", "spam"]);
            assert!(said.contains("whole address") && said.contains("alert list"), "{said}");
        }
    }
}
