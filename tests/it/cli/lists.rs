//! Lists that an operator looks at first: messages, keys, mailboxes, and the settings in words.

use tillbell::domain::merchant::Mode;
use tillbell::domain::phone::Phone;
use tillbell::domain::time::Span;
use tillbell::ops::merchants::keys::{add_key, revoke_key};
use tillbell::ops::messages::send_text::{TextSent, send_text};

use super::Desk;
use super::terminal::on_terminal_of;
use crate::harness::app::{TestApp, world};
use crate::wallet::world::World;

const MAILBOXES: &str = "[[mail.imap]]\nname = \"till\"\nhost = \"imap.till.example\"\nuser = \"alerts@till.example\"\n\
    password_file = \"pass\"\nfolder = [\"INBOX\", \"Alerts\"]\n";

/// Commands on the database of a world whose clock is set by hand.
pub fn desk_of(t: &TestApp) -> Desk<'_> {
    let desk = Desk::bare(t.database());
    std::fs::copy(t.key_file(), desk.path().join("test.key")).unwrap();
    desk.text(&["migrate"]);
    desk
}

fn texts(list: &serde_json::Value) -> Vec<String> {
    let rows = list["messages"].as_array().unwrap();
    rows.iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect()
}

on_both! {
    async fn messages_come_newest_first_and_one_is_shown_whole(db: TestDatabase) {
        let w = World::start(db).await;
        let (a, b) = ("08035550171", "08035550172");
        // Ids are taken in blocks by each process: the second node's are higher.
        let other = w.t.another_node().await;
        let mut sent = Vec::new();
        for (n, to) in [a, b, a, a].into_iter().enumerate() {
            let app = if n == 0 { &other } else { &w.t.app };
            let text = format!("Your order {n} is ready. {}", "Come soon. ".repeat(30).trim());
            let done = send_text(app, &w.shop.caller, &Phone::parse(to).unwrap(), &text, None).await.unwrap();
            assert!(matches!(done, TextSent::Sent { .. }), "{done:?}");
            sent.push(format!("From adire.example Ltd:\n{text}"));
            w.t.advance(Span::seconds(7));
        }
        let desk = desk_of(&w.t);
        let shown = desk.text(&["message", "list"]);
        let places: Vec<usize> =
            (0..4).map(|n| shown.find(&format!("order {n} ")).unwrap_or_else(|| panic!("{n}: {shown}"))).collect();
        assert!(places.is_sorted_by(|one, next| one > next), "{places:?}: {shown}");
        assert!(!shown.contains("--limit"), "{shown}");
        let two = desk.text(&["message", "list", "--limit", "2"]);
        assert!(two.contains("order 3 ") && two.contains("order 2 ") && !two.contains("order 1 "), "{two}");
        assert!(two.ends_with("only the newest 2 are shown; --limit shows more"), "{two}");
        let of_one = desk.json(&["message", "list", "--phone", a, "--limit", "2"]);
        assert_eq!((texts(&of_one), &of_one["more"]), (vec![sent[2].clone(), sent[3].clone()], &true.into()));
        let all = desk.json(&["message", "list"]);
        assert_eq!((texts(&all), &all["more"]), (sent.clone(), &false.into()), "programs get them oldest first");
        let id = all["messages"][3]["id"].as_i64().unwrap().to_string();
        let one = desk.json(&["message", "show", &id]);
        assert_eq!((&one["text"], &one["phone"]), (&sent[3].as_str().into(), &"+2348035550171".into()));
        assert_eq!(one["status"], "sent");
        let narrow = on_terminal_of(&desk, 80, &[], &["message", "list"]);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        let whole = on_terminal_of(&desk, 80, &[], &["message", "show", &id]);
        assert!(!whole.contains('\u{2026}') && whole.contains("order 3"), "{whole}");
        assert_eq!(desk.refused(&["message", "show", "990"]), "tillbell: there is no message 990");
        for wrong in ["0", "1001", "x"] {
            assert_eq!(desk.run(&["message", "list", "--limit", wrong]).status.code(), Some(2), "{wrong}");
        }
    }

    async fn a_key_is_active_revoked_or_expired(db: TestDatabase) {
        let (t, shop) = world(db).await;
        let make = |life| add_key(&t.app, "ada", shop.id, Mode::Live, Some("till"), life);
        let (short, ended, both) = (
            make(Some(Span::hours(5))).await.unwrap().unwrap().key.id,
            make(None).await.unwrap().unwrap().key.id,
            make(Some(Span::hours(5))).await.unwrap().unwrap().key.id,
        );
        for id in [ended, both] {
            revoke_key(&t.app, "ada", id).await.unwrap().unwrap();
        }
        // The command's clock is months later.
        let desk = desk_of(&t);
        let business = shop.id.to_string();
        let listed = desk.json(&["key", "list", &business]);
        let state_of = |id: i64| {
            let rows = listed["keys"].as_array().unwrap();
            let row = rows.iter().find(|row| row["id"] == id).unwrap();
            (row["state"].as_str().unwrap().to_owned(), row["active"].as_bool().unwrap())
        };
        assert_eq!(state_of(short), ("expired".into(), false));
        assert_eq!(state_of(ended), ("revoked".into(), false));
        assert_eq!(state_of(both), ("revoked".into(), false), "a person's act is told first");
        let rows = listed["keys"].as_array().unwrap();
        let first = rows.iter().find(|row| row["expires_at"].is_null() && row["revoked_at"].is_null()).unwrap();
        assert_eq!((&first["state"], &first["active"]), (&"active".into(), &true.into()));
        let shown = desk.text(&["key", "list", &business]);
        let head = shown.lines().next().unwrap();
        assert!(head.contains("STATE") && !head.contains("ACTIVE"), "{head}");
        for word in ["active", "revoked", "expired"] {
            assert!(shown.contains(word), "{word}: {shown}");
        }
    }

    async fn mailboxes_are_listed_before_they_are_read(db: TestDatabase) {
        let desk = Desk::new(&db);
        assert_eq!(desk.text(&["mailbox", "list"]), "no mailboxes");
        std::fs::write(desk.path().join("till.toml"), MAILBOXES).unwrap();
        let args = ["--config", "till.toml", "mailbox", "list"];
        let shown = desk.text(&args);
        for part in ["INBOX", "Alerts", "not read yet"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(shown.matches("not read yet").count(), 2, "{shown}");
        let listed = desk.json(&args);
        let rows = listed["mailboxes"].as_array().unwrap();
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!((&row["id"], &row["host"]), (&().into(), &"imap.till.example".into()), "{row}");
            assert_eq!((&row["configured"], &row["last_read_at"]), (&true.into(), &().into()), "{row}");
        }
        // The list itself writes nothing: a service that has begun to read them knows them by their ids.
        assert!(desk.app().await.store.mailboxes(10).await.unwrap().is_empty());
    }

    async fn what_is_not_set_is_told_in_words(db: TestDatabase) {
        let desk = Desk::new(&db);
        let text = desk.text(&["config"]);
        for (key, words) in [
            ("file", "not set"),
            ("public_url", "not set"),
            ("operator_listen", "not set"),
            ("trusted_proxies", "not set"),
            ("recipients", "not set"),
            ("imap", "not set"),
            ("smtp", "not set"),
            ("logo_file", "not set"),
            ("extra_ca_file", "not set"),
        ] {
            let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{key}:")));
            let line = line.unwrap_or_else(|| panic!("{key}: {text}"));
            assert!(line.contains(words), "{line}");
        }
        assert!(text.lines().all(|line| !line.ends_with(": -") && !line.ends_with(" none")), "{text}");
        let json = desk.json(&["config"]);
        assert!(json["file"].is_null() && json["server"]["public_url"].is_null());
        assert_eq!(json["mail"]["recipients"], serde_json::json!([]));
    }

    async fn a_wrong_value_of_a_variable_names_the_variable(db: TestDatabase) {
        let desk = Desk::new(&db);
        std::fs::write(desk.path().join("till.toml"), "[payments]\nexpiry = \"1 week\"\n").unwrap();
        for (args, name, value, told) in [
            (&["config"][..], "TILLBELL_SERVER__LISTEN", "nowhere", true),
            (&["config"], "TILLBELL_LIMITS__REQUESTS_PER_MINUTE", "many", true),
            (&["config"], "TILLBELL_SERVER__LISTN", "127.0.0.1:1", true),
            (&["config"], "TILLBELL_MESSENGER", "pigeon", true),
            (&["config"], "TILLBELL_MAIL__RECIPIENTS", "till.example", true),
            (&["config"], "TILLBELL_DATABASE__URL", "mysql://u:hunter2@h/d", true),
            // The mistake is in the file.
            (&["--config", "till.toml", "config"], "TILLBELL_LOG__FORMAT", "json", false),
        ] {
            let output = desk.command(args).env(name, value).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{name}: {said}");
            assert_eq!(said.contains(name), told, "{name}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    async fn files_with_secrets_that_others_can_read_are_told_at_the_start(db: TestDatabase) {
        use std::os::unix::fs::PermissionsExt;
        let desk = Desk::new(&db);
        let path = |name: &str| desk.path().join(name);
        let write = |name: &str, text: &str, mode: u32| {
            std::fs::write(path(name), text).unwrap();
            std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        // Besides, it is told which files are used.
        let warned = |args: &[&str]| {
            let told = String::from_utf8(desk.run(args).stderr).unwrap();
            told.lines().filter(|line| line.contains("chmod")).map(str::to_owned).collect::<Vec<_>>().join("\n")
        };
        let migrate = ["--config", "till.toml", "migrate"];
        write("till.toml", MAILBOXES, 0o644);
        write("pass", "s3cret", 0o644);
        let said = warned(&migrate);
        assert!(said.contains("mail.imap[1].password_file") && said.contains("chmod 600 pass"), "{said}");
        assert!(!said.contains("till.toml"), "it holds no secret: {said}");
        assert!(!said.contains("s3cret"));
        write("pass", "s3cret", 0o600);
        assert_eq!(warned(&migrate), "");
        let secret = "[[mail.imap]]\nhost = \"imap.till.example\"\nuser = \"a\"\npassword = \"s3cret\"\n";
        write("till.toml", secret, 0o604);
        let said = warned(&migrate);
        assert!(said.contains("mail.imap[1].password") && said.contains("chmod 600 till.toml"), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
        // Only what makes ready or starts says so.
        assert_eq!(warned(&["--config", "till.toml", "business", "list"]), "");
        write("till.toml", secret, 0o600);
        assert_eq!(warned(&migrate), "");
    }
}
