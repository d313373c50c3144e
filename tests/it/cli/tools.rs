//! What needs no business: usage, configuration, migration, banks, names.

use super::Desk;
use crate::harness::databases::{Engine, TestDatabase};

on_both! {
    async fn migrate_tells_the_engine_and_what_it_ran(_db: TestDatabase) {
        let bare = TestDatabase::empty(_db.engine()).await;
        let desk = Desk::bare(&bare);
        let first = desk.json(&["migrate"]);
        assert!(!first["migrations"].as_array().unwrap().is_empty());
        assert_eq!(first["database"], if bare.engine() == Engine::Sqlite { "sqlite" } else { "postgres" });
        assert_eq!(desk.json_text(&["business", "list"]), r#"{"businesses":[]}"#);
        assert_eq!(desk.json(&["migrate"])["migrations"], serde_json::json!([]));
    }

    async fn a_missing_or_other_key_is_told_and_no_new_file_takes_its_place(db: TestDatabase) {
        let desk = Desk::new(&db);
        desk.business("One");
        let (file, aside) = (desk.path().join("test.key"), desk.path().join("aside.key"));
        std::fs::rename(&file, &aside).unwrap();
        let said = desk.refused(&["business", "list"]);
        assert!(said.contains(&format!("the key file {} is missing", file.display())), "{said}");
        assert!(!file.exists(), "a fresh key fits nothing");
        std::fs::copy(&aside, &file).unwrap();
        std::fs::write(&file, "ab".repeat(32)).unwrap();
        let said = desk.refused(&["business", "list"]);
        assert!(said.contains("contains a different one") && file.exists(), "{said}");
        std::fs::rename(&aside, &file).unwrap();
        desk.json(&["business", "show", "1"]);
    }

    async fn wrong_usage_ends_with_two_and_says_so_on_stderr(db: TestDatabase) {
        let desk = Desk::new(&db);
        for args in [
            &["nonsense"][..],
            &[],
            &["business", "add"],
            &["business", "set", "x"],
            &["business", "set", "1", "--wallet", "maybe"],
            &["business", "set", "1", "--fixed", "1.234"],
            &["business", "set", "1", "--charges", "--no-charges"],
            &["key", "add", "1", "--expires", "soon"],
            &["webhook", "resend"],
            &["name", "compare", "one"],
        ] {
            let output = desk.run(args);
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
        }
        assert_eq!(desk.run(&["--help"]).status.code(), Some(0));
        assert_eq!(desk.run(&["key", "--version"]).status.code(), Some(0));
    }

    async fn the_global_flags_stand_anywhere(db: TestDatabase) {
        let desk = Desk::new(&db);
        let file = desk.path().join("till.toml");
        std::fs::write(&file, "[payments]\nexpiry = \"2h\"\n").unwrap();
        let file = file.to_str().unwrap();
        for args in [["--json", "--config", file, "config"], ["config", "--config", file, "--json"]] {
            let shown: serde_json::Value = serde_json::from_str(&desk.text(&args)).unwrap();
            assert_eq!(shown["payments"]["expiry"], "2h");
        }
        assert!(desk.refused(&["--config", "/nowhere/till.toml", "config"]).contains("/nowhere/till.toml"));
        std::fs::write(desk.path().join("bad.toml"), "[payments]\nexpirey = \"2h\"\n").unwrap();
        let bad = desk.path().join("bad.toml");
        assert!(desk.refused(&["--config", bad.to_str().unwrap(), "config"]).contains("expirey"));
    }

    async fn the_configuration_shows_no_secret(db: TestDatabase) {
        let desk = Desk::new(&db);
        let key = "ab".repeat(32);
        for args in [&["config"][..], &["config", "--json"]] {
            let output = desk
                .command(args)
                .env_remove("TILLBELL_SECRET__KEY_FILE")
                .env("TILLBELL_SECRET__KEY", &key)
                .env("TILLBELL_DATABASE__URL", "postgres://till:hunter2@db.example/till")
                .env("TILLBELL_MESSENGER", "whatsapp")
                .env("TILLBELL_WHATSAPP__PHONE_NUMBER_ID", "106540352242922")
                .env("TILLBELL_WHATSAPP__TEMPLATE", "pay_link")
                .env("TILLBELL_WHATSAPP__TOKEN", "EAAGhunter2")
                .env("TILLBELL_WHATSAPP__APP_SECRET", "hunter2")
                .env("TILLBELL_WHATSAPP__VERIFY_TOKEN", "hunter2")
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success() && text.contains("redacted"), "{text}");
            assert!(!text.contains(&key) && !text.contains("hunter2"), "{text}");
            assert!(text.contains("whatsapp") && text.contains("pay_link"), "{text}");
        }
        assert!(desk.json_text(&["config"]).contains(r#""max_amount":999999999.99"#));
    }

    async fn a_database_that_is_away_is_one_line(db: TestDatabase) {
        let desk = Desk::new(&db);
        let (away, words) = match db.engine() {
            Engine::Sqlite => (format!("sqlite:{}/none/till.db", desk.path().display()), "there is no folder"),
            Engine::Postgres => ("postgres://nobody@127.0.0.1:1/none".to_owned(), "PostgreSQL: 127.0.0.1:1: "),
        };
        let output = desk.command(&["migrate"]).env("TILLBELL_DATABASE__URL", away).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let err = String::from_utf8(output.stderr).unwrap();
        let is_told = |line: &str| line.starts_with("tillbell: the database is not available") && line.contains(words);
        assert!(err.lines().any(is_told), "{err}");
    }
}

/// These look at no database; the SQLite one only gives a folder.
async fn with_desk(test: fn(&Desk<'_>)) {
    let database = TestDatabase::empty(Engine::Sqlite).await;
    test(&Desk::bare(&database));
}

#[tokio::test]
async fn names_are_compared_one_by_one_and_from_a_file() {
    with_desk(|desk| {
        let same = desk.json(&["name", "compare", "Tolu Bello Musa", "BELLO TOLU MUSA"]);
        assert_eq!(same["verdict"], "match");
        assert!(!same["reason"].as_str().unwrap().is_empty());
        assert_eq!(desk.json(&["name", "compare", "Tolu Bello", "Chidi Okeke"])["verdict"], "different");
        let file = desk.path().join("pairs.csv");
        std::fs::write(&file, "id,left,right\n1,\"Bello, Tolu\",TOLU BELLO\n2,Tolu Bello,Chidi Okeke\n")
            .unwrap();
        let file = file.to_str().unwrap();
        let text = desk.text(&["name", "compare", "--file", file, "--cut", "20,24"]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "left,right,verdict,reason");
        assert!(lines[1].starts_with("\"Bello, Tolu\",TOLU BELLO,match,"), "{text}");
        assert!(lines[2].starts_with("Tolu Bello,Chidi Okeke,different,"), "{text}");
        assert_eq!(lines.len(), 3);
        let json = desk.json(&["name", "compare", "--file", file]);
        assert_eq!(json["results"][1]["verdict"], "different");
    })
    .await;
}

#[tokio::test]
async fn banks_are_listed_and_their_examples_hold() {
    with_desk(|desk| {
        let list = desk.json(&["bank", "list"]);
        assert!(list["banks"].as_array().unwrap().iter().any(|bank| bank["name"] == "GTBank"));
        let check = desk.json(&["bank", "check"]);
        assert_eq!(check["ok"], true);
        assert!(!check["checks"].as_array().unwrap().is_empty());
        assert!(desk.text(&["bank", "check"]).ends_with(" 0 failed"));
    })
    .await;
}

#[tokio::test]
async fn a_mail_is_tried_and_nothing_is_stored() {
    with_desk(|desk| {
        let mail = "From: GeNS <gens@gtbank.com>\r\nSubject: no alert\r\nDate: Mon, 3 Aug 2026 10:00:00 +0100\r\n\r\nHello\r\n";
        std::fs::write(desk.path().join("mail.eml"), mail).unwrap();
        let text = desk.json_text(&["bank", "try", "mail.eml"]);
        let got = super::fields(&text);
        assert_eq!(
            got,
            [
                "outcome", "authentic", "bank", "template", "direction", "kind", "amount", "currency",
                "account_number", "payer_name", "payer_account_number", "narration", "reference", "session_id",
                "occurred_at", "balance", "why", "live_outcome", "live_reasons", "unsigned_headers",
            ]
        );
        std::fs::write(desk.path().join("empty.eml"), "").unwrap();
        assert_eq!(desk.json(&["bank", "try", "empty.eml"])["outcome"], "unreadable");
        assert!(desk.refused(&["bank", "try", "none.eml"]).contains("none.eml"));
        assert!(std::fs::read_dir(desk.path()).unwrap().count() == 2, "a file was made");
    })
    .await;
}

on_both! {
    async fn the_service_says_where_it_listens_and_ends_when_told(db: TestDatabase) {
        let desk = Desk::new(&db);
        let mut child = desk
            .command(&["serve"])
            .env("TILLBELL_SERVER__LISTEN", "127.0.0.1:0")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        assert!(line.starts_with("listening on http://127.0.0.1:"), "{line}");
        assert!(!line.trim_end().ends_with(":0"), "{line}");
        // Commands work on the same database meanwhile.
        assert_eq!(desk.business("Shop"), "1");
        let told = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(told.success());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(std::time::Instant::now() < deadline, "still there 30 s after SIGTERM");
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        assert!(status.success(), "{status}");
        assert_eq!(desk.run(&["serve", "--role", "cook"]).status.code(), Some(2));
    }
}
