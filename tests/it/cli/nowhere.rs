//! Commands that find no database, or none of ours: they say where they looked and leave nothing behind.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::Desk;
use crate::harness::databases::{Engine, TestDatabase, connect, run_on};
use crate::store::migrations::before_texts_by_bytes;

/// One of every group of commands, some that read and some that write.
const COMMANDS: [&[&str]; 12] = [
    &["business", "list"],
    &["business", "add", "--name", "Ewa Oloyin", "--email", "till@ewa.example"],
    &["website", "add", "1", "ewa.example", "--approve"],
    &["key", "add", "1"],
    &["account", "add", "--number", "0246813579", "--name", "EWA OLOYIN", "--bank", "GTBank"],
    &["alert", "list"],
    &["alert", "ingest", "-", "--trusted"],
    &["mailbox", "list"],
    &["payment", "show", "T-1", "--business", "1"],
    &["wallet", "show", "08031112223"],
    &["webhook", "list", "--json"],
    &["audit"],
];

/// A command in `folder` as a shell without any of our variables would start it.
fn plain(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tillbell"));
    command.args(args).current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

/// The one line of a refusal.
#[track_caller]
fn refused(output: Output) -> String {
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(output.stdout.is_empty(), "printed although refused: {said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said.trim_end().to_owned()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_command_in_an_empty_folder_says_where_it_looked_and_leaves_it_empty() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().canonicalize().unwrap().join("tillbell.db");
    for args in COMMANDS {
        let said = refused(plain(folder.path(), args).output().unwrap());
        for words in [
            whole.to_str().unwrap(),
            "the default",
            "--config FILE",
            "TILLBELL_CONFIG",
            "TILLBELL_DATABASE__URL",
            "tillbell migrate",
        ] {
            assert!(said.contains(words), "{args:?}: no {words:?} in {said}");
        }
        assert_eq!(names_in(folder.path()), Vec::<String>::new(), "{args:?} left something behind");
    }
}

#[test]
fn who_named_the_database_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    let here = folder.path().canonicalize().unwrap();
    std::fs::write(&file, "[database]\nurl = \"sqlite:books/gone.db\"\n").unwrap();
    let file = file.to_str().unwrap();
    let said = refused(plain(folder.path(), &["audit", "--config", file]).output().unwrap());
    assert!(said.contains(here.join("books/gone.db").to_str().unwrap()) && said.contains(file), "{said}");
    assert!(said.contains("relative to the working directory"), "{said}");
    // The environment beats the file, and is named.
    let url = format!("sqlite:{}", here.join("else.db").display());
    let mut command = plain(folder.path(), &["audit", "--config", file]);
    let said = refused(command.env("TILLBELL_DATABASE__URL", &url).output().unwrap());
    assert!(said.contains("else.db") && said.contains("named by TILLBELL_DATABASE__URL"), "{said}");
    assert!(!said.contains("relative"), "{said}");
    // A file that names none is told as such.
    std::fs::write(file, "[payments]\nexpiry = \"2h\"\n").unwrap();
    let said = refused(plain(folder.path(), &["audit", "--config", file]).output().unwrap());
    assert!(said.contains(&format!("the default, because {file} names none")), "{said}");
    assert_eq!(names_in(folder.path()), ["my.toml"]);
}

#[test]
fn the_variable_names_the_file_once_and_the_flag_wins() {
    let folder = tempfile::tempdir().unwrap();
    for (name, expiry) in [("one.toml", "2h"), ("two.toml", "3h")] {
        std::fs::write(folder.path().join(name), format!("[payments]\nexpiry = \"{expiry}\"\n")).unwrap();
    }
    let shown = |args: &[&str], variable: &str| -> serde_json::Value {
        let mut command = plain(folder.path(), &[&["config", "--json"], args].concat());
        serde_json::from_slice(&command.env("TILLBELL_CONFIG", variable).output().unwrap().stdout).unwrap()
    };
    let by_variable = shown(&[], "one.toml");
    assert_eq!(
        (&by_variable["payments"]["expiry"], &by_variable["file"]),
        (&"2h".into(), &"one.toml".into())
    );
    assert_eq!(shown(&["--config", "two.toml"], "one.toml")["payments"]["expiry"], "3h");
    let none = shown(&[], "");
    assert_eq!((&none["payments"]["expiry"], &none["file"]), (&"24h".into(), &serde_json::Value::Null));
    let mut command = plain(folder.path(), &["config"]);
    let said = refused(command.env("TILLBELL_CONFIG", "three.toml").output().unwrap());
    assert!(said.contains("three.toml") && said.contains("TILLBELL_CONFIG"), "{said}");
}

#[test]
fn a_variable_with_one_underscore_is_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = plain(folder.path(), &["migrate"]);
    let said = refused(command.env("TILLBELL_DATABASE_URL", "sqlite:books.db").output().unwrap());
    assert!(said.contains("TILLBELL_DATABASE__URL"), "{said}");
    assert_eq!(names_in(folder.path()), Vec::<String>::new());
    // What a container's environment holds for a service of our name is none of ours.
    let mut command = plain(folder.path(), &["config"]);
    command.env("TILLBELL_PORT", "tcp://10.0.0.7:80").env("TILLBELL_SERVER_PORT_80_TCP", "x");
    assert!(command.output().unwrap().status.success());
}

on_one! {
    async fn a_mistake_about_mails_stops_only_what_takes_mails(db: TestDatabase) {
        let desk = Desk::new(&db);
        let run = |args: &[&str]| desk.command(args).env("TILLBELL_MAIL__SMTP__LISTEN", "127.0.0.1:0").output().unwrap();
        let audit = run(&["audit", "--json"]);
        let said = String::from_utf8(audit.stderr).unwrap();
        assert!(audit.status.success() && said.contains("mail.recipients"), "{said}");
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&audit.stdout).unwrap()["ok"], true);
        for args in [&["serve"][..], &["alert", "list"], &["bank", "list"], &["migrate"]] {
            assert!(refused(run(args)).contains("mail.recipients"), "{args:?}");
        }
    }
}

#[test]
fn files_of_others_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs.db");
    rusqlite::Connection::open(&theirs)
        .unwrap()
        .execute_batch("create table recipes (name text); insert into recipes values ('moi moi')")
        .unwrap();
    // A history of migrations of another program's, in a database that keeps its log beside it.
    let logged = folder.path().join("logged.db");
    rusqlite::Connection::open(&logged)
        .unwrap()
        .execute_batch("pragma journal_mode = wal; create table schema_migrations (version text)")
        .unwrap();
    std::fs::write(folder.path().join("letter.db"), "Dear Sir or Madam, this is no database.\n").unwrap();
    std::fs::write(folder.path().join("empty.db"), "").unwrap();
    std::fs::create_dir(folder.path().join("folder.db")).unwrap();
    let names = names_in(folder.path());
    let contents =
        |name: &str| std::fs::read(folder.path().join(name)).unwrap_or_else(|_| b"a folder".to_vec());
    let before: Vec<Vec<u8>> = names.iter().map(|name| contents(name)).collect();
    for (name, why) in [
        ("theirs.db", "recipes"),
        ("logged.db", "schema_migrations"),
        ("letter.db", "not a SQLite file"),
        ("folder.db", "not a file"),
    ] {
        for args in [&["business", "list"][..], &["audit"], &["migrate"], &["serve"]] {
            let mut command = plain(folder.path(), args);
            command.env("TILLBELL_DATABASE__URL", format!("sqlite:{name}"));
            let said = refused(command.env("TILLBELL_SERVER__LISTEN", "127.0.0.1:0").output().unwrap());
            assert!(said.contains(name) && said.contains(why), "{args:?} of {name}: {said}");
        }
    }
    let mut command = plain(folder.path(), &["business", "list"]);
    let said = refused(command.env("TILLBELL_DATABASE__URL", "sqlite:empty.db").output().unwrap());
    assert!(said.contains("empty.db") && said.contains("tillbell migrate"), "{said}");
    assert_eq!(names_in(folder.path()), names, "files came or went");
    assert_eq!(names.iter().map(|name| contents(name)).collect::<Vec<_>>(), before);
    // An empty file is a place for a database, as `mktemp` makes one.
    let mut command = plain(folder.path(), &["migrate"]);
    let output = command.env("TILLBELL_DATABASE__URL", "sqlite:empty.db").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_database_that_nobody_may_write_says_what_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    assert!(plain(folder.path(), &["migrate"]).output().unwrap().status.success());
    // Root may write everywhere; then it is done as somebody who may not.
    let is_root = std::fs::metadata(folder.path()).unwrap().uid() == 0;
    let open = |mode| std::fs::Permissions::from_mode(mode);
    for name in ["tillbell.db", "tillbell.db.key"] {
        std::fs::set_permissions(folder.path().join(name), open(0o444)).unwrap();
    }
    std::fs::set_permissions(folder.path(), open(0o555)).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let tillbell = plain(folder.path(), &["business", "list"]);
    let mut command = if is_root {
        std::fs::set_permissions(copy.path(), open(0o755)).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_tillbell"), copy.path().join("tillbell")).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy.path().join("tillbell"));
        command.args(["business", "list"]).current_dir(folder.path()).env_clear();
        command
    } else {
        tillbell
    };
    let output = command.output().unwrap();
    std::fs::set_permissions(folder.path(), open(0o755)).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("allowed to write") && said.contains("tillbell.db"), "{said}");
}

on_both! {
    async fn only_migrate_and_serve_make_tables(db: TestDatabase) {
        let bare = TestDatabase::empty(db.engine()).await;
        let desk = Desk::bare(&bare);
        for args in COMMANDS {
            let said = desk.refused(args);
            assert!(said.contains("named by TILLBELL_DATABASE__URL"), "{args:?}: {said}");
            assert!(said.contains("tillbell migrate") && said.contains("--config FILE"), "{args:?}: {said}");
        }
        assert_eq!(names_in(desk.path()), Vec::<String>::new(), "no key file either");
        match bare.url().strip_prefix("sqlite:") {
            Some(path) => assert_eq!(names_in(Path::new(path).parent().unwrap()), Vec::<String>::new()),
            None => {
                let text = "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace \
                            where n.nspname in ('public', 'people')";
                let row = connect(bare.url()).await.query_one(text, &[]).await.unwrap();
                assert_eq!(row.get::<_, i64>(0), 0);
            }
        }
        assert!(!desk.json(&["migrate"])["migrations"].as_array().unwrap().is_empty());
        assert_eq!(desk.json_text(&["business", "list"]), r#"{"businesses":[]}"#);
        assert_eq!(desk.json(&["migrate"])["migrations"], serde_json::json!([]));
    }

    async fn an_older_schema_waits_for_migrate_and_a_newer_one_for_its_program(db: TestDatabase) {
        let desk = Desk::new(&db);
        before_texts_by_bytes(&db).await;
        let said = desk.refused(&["business", "list"]);
        assert!(said.contains("older") && said.contains("0007_texts_by_bytes"), "{said}");
        assert!(said.contains("tillbell migrate"), "{said}");
        assert_eq!(desk.json(&["migrate"])["migrations"], serde_json::json!(["0007_texts_by_bytes"]));
        desk.json(&["business", "list"]);
        let newer = "insert into schema_migrations values ('9001_of_tomorrow', 'x', 0)";
        match db.url().strip_prefix("sqlite:") {
            Some(path) => rusqlite::Connection::open(path).unwrap().execute_batch(newer).unwrap(),
            None => connect(db.url()).await.batch_execute(newer).await.unwrap(),
        }
        for args in [&["business", "list"][..], &["audit"], &["migrate"], &["serve"]] {
            let said = desk.refused(args);
            assert!(said.contains("newer") && said.contains("9001_of_tomorrow"), "{args:?}: {said}");
        }
    }

    async fn no_new_key_is_made_beside_a_database_that_has_one(db: TestDatabase) {
        // The schema is there, and what makes a key did not come to its end.
        let early = Desk::bare(&db);
        let said = early.refused(&["business", "list"]);
        assert!(said.contains("partly created") && said.contains("tillbell migrate"), "{said}");
        assert_eq!(names_in(early.path()), Vec::<String>::new());
        let desk = Desk::new(&db);
        let file = desk.path().join("test.key");
        std::fs::rename(&file, desk.path().join("aside")).unwrap();
        for args in [&["business", "list"][..], &["audit"], &["migrate"], &["serve"]] {
            let said = desk.refused(args);
            assert!(said.contains(&format!("the key file {} is missing", file.display())), "{args:?}: {said}");
            assert_eq!(names_in(desk.path()), ["aside"], "{args:?}");
        }
    }
}

#[test]
fn what_a_postgres_role_lacks_is_told_with_the_statements_that_give_it() {
    run_on(Engine::Postgres, |db: TestDatabase| async move {
        let bare = TestDatabase::empty(Engine::Postgres).await;
        let mut url = url::Url::parse(bare.url()).unwrap();
        let name = url.path().trim_start_matches('/').to_owned();
        let role = format!("clerk_{name}");
        let admin = connect(bare.url()).await;
        let give = format!("create role {role} login; revoke create on schema public from public");
        admin.batch_execute(&give).await.unwrap();
        url.set_username(&role).unwrap();
        let desk = Desk::bare(&bare);
        let run =
            |args: &[&str]| desk.command(args).env("TILLBELL_DATABASE__URL", url.as_str()).output().unwrap();
        let said = refused(run(&["migrate"]));
        let grants = [
            format!("grant create on schema public to {role};"),
            format!("grant create on database {name} to {role};"),
        ];
        assert!(grants.iter().all(|grant| said.contains(grant)), "{said}");
        assert!(!said.contains("not available"), "{said}");
        admin.batch_execute(&grants.concat()).await.unwrap();
        let done = run(&["migrate"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(run(&["business", "list"]).status.success());
        // A schema that the role may not even look into, and a database that it may not enter.
        for (take, words) in [
            (
                "revoke usage on schema public from public".to_owned(),
                "grant usage, create on schema public".to_owned(),
            ),
            (
                format!("revoke connect on database {name} from public"),
                format!("grant connect on database {name}"),
            ),
        ] {
            admin.batch_execute(&format!("{take}; revoke all on schema public from {role}")).await.unwrap();
            let said = refused(run(&["business", "list"]));
            assert!(said.contains(&words) && !said.contains("not available"), "{said}");
        }
        admin.batch_execute(&format!("drop owned by {role} cascade; drop role {role}")).await.unwrap();
        // Tables of another role's: the one that made them is named.
        let admin = connect(db.url()).await;
        admin.batch_execute(&format!("create role {role} login")).await.unwrap();
        let mut url = url::Url::parse(db.url()).unwrap();
        url.set_username(&role).unwrap();
        let mut command = desk.command(&["audit"]);
        let said = refused(command.env("TILLBELL_DATABASE__URL", url.as_str()).output().unwrap());
        let owner = url::Url::parse(db.url()).unwrap().username().to_owned();
        assert!(said.contains(&format!("belong to {owner}")), "{said}");
        admin.batch_execute(&format!("drop role {role}")).await.unwrap();
    });
}

#[test]
fn what_a_postgres_server_refuses_is_told_as_that() {
    run_on(Engine::Postgres, |db: TestDatabase| async move {
        let desk = Desk::bare(&db);
        let said = |change: fn(&mut url::Url), args: &[&str]| {
            let mut url = url::Url::parse(db.url()).unwrap();
            change(&mut url);
            refused(desk.command(args).env("TILLBELL_DATABASE__URL", url.as_str()).output().unwrap())
        };
        for args in [&["business", "list"][..], &["migrate"]] {
            let no_database = said(|url| url.set_path("/tb_never_made"), args);
            assert!(no_database.contains("there is no database tb_never_made on "), "{no_database}");
            assert!(no_database.contains("CREATE DATABASE"), "{no_database}");
            let no_user = said(|url| url.set_username("tb_nobody").unwrap(), args);
            assert!(no_user.contains("refuses the user tb_nobody"), "{no_user}");
            assert!(!no_user.contains("not available"), "{no_user}");
        }
        let odd = said(|url| url.set_query(Some("sslmode=perhaps&password=ewedu9")), &["business", "list"]);
        assert!(odd.contains("database.url") && !odd.contains("ewedu9"), "{odd}");
    });
}
