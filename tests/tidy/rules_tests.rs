//! Every rule on a small bad example, and on the good one next to it.
//!
//! Words that the rules forbid stand in string literals here, where they are allowed.

use super::*;

/// The findings of one file as `line: what`.
fn findings(path: &str, text: &str) -> Vec<String> {
    let file = File { path: path.to_owned(), text: text.to_owned() };
    check(&[file]).iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect()
}

/// A source file with a head, so that its code begins on line 2.
fn source(path: &str, code: &str) -> Vec<String> {
    findings(path, &format!("//! Head.\n{code}\n"))
}

#[track_caller]
fn one(found: Vec<String>, line: usize, part: &str) {
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(&format!("{line}: ")) && found[0].contains(part), "{found:?}");
}

#[track_caller]
fn none(found: Vec<String>) {
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_file_needs_a_head() {
    one(findings("src/ops/settle.rs", "// not a head\nfn f() {}\n"), 1, "head");
    none(source("src/ops/settle.rs", "fn f() {}"));
}

#[test]
fn a_file_has_at_most_500_lines() {
    let code = |lines: usize| "//\n".repeat(lines - 2);
    none(source("src/ops/settle.rs", &code(500)));
    one(source("tests/it/settle.rs", &code(501)), 501, "501 lines");
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    const A: u8 = 1;\n".repeat(80));
    none(source("src/ops/settle.rs", &format!("{}{tests}", code(500))));
    one(source("src/ops/settle.rs", &format!("{}{tests}", code(501))), 501, "501 lines");
}

#[test]
fn names_say_what_is_inside() {
    one(source("src/http/utils.rs", ""), 1, "`utils`");
    one(source("src/http/helpers/forms.rs", ""), 1, "`helpers`");
    none(source("src/http/forms.rs", ""));
}

#[test]
fn nothing_is_left_over() {
    one(source("src/ops/settle.rs", "fn f() {\n todo!()\n}"), 3, "`todo!`");
    one(source("src/ops/settle.rs", "fn f() { unimplemented!(\"x\") }"), 2, "`unimplemented!`");
    one(source("tests/it/x.rs", "fn f() { dbg!(1); }"), 2, "`dbg!`");
    one(source("tests/it/x.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}"), 3, "`#[ignore]`");
    none(source("src/ops/settle.rs", "fn f(todo: u8, ignore: [u8; 1]) { if todo != 1 { ignore[0]; } }"));
}

#[test]
fn libraries_stay_in_their_rooms() {
    one(source("src/work/deliver.rs", "use axum::Router;"), 2, "`axum` outside src/http/");
    none(source("src/http/routes.rs", "use axum::Router;"));
    one(source("src/ops/settle.rs", "use rusqlite::Row;"), 2, "`rusqlite`");
    one(source("src/app.rs", "fn f(c: tokio_postgres::Client) {}"), 2, "`tokio_postgres`");
    none(source("src/store/sqlite.rs", "use rusqlite::Row; use tokio_postgres::Client;"));
    one(source("src/domain/alert.rs", "#[derive(serde::Serialize, Clone)]").split_off(1), 2, "`Serialize`");
    one(source("src/domain/alert.rs", "pub async fn f() {}"), 2, "`async`");
    none(source("src/ops/settle.rs", "use serde::Serialize; async fn f() {}"));
}

#[test]
fn unit_tests_may_use_what_a_test_needs() {
    let code =
        "#[cfg(test)]\nmod tests {\n use serde_json::Value;\n const Q: &str = \"delete from units\";\n}";
    none(source("src/domain/alert.rs", code));
    none(source("src/domain/alert/tests.rs", "use serde_json::Value;"));
    one(source("src/domain/alert.rs", &format!("{code}\nuse serde_json::Value;")), 7, "serde_json");
}

#[test]
fn sql_stays_in_the_store() {
    for statement in [
        "select id from payments",
        "SELECT a,\n  b\nFROM payments",
        "with due as (select id from jobs) x",
        "insert into units (id) values ($1)",
        "insert or replace into units (id)",
        "update payments set status = 'approved'",
        "delete from codes where id = $1",
        "create table units (id bigint)",
        "pragma journal_mode = wal",
    ] {
        let code = format!("const Q: &str = \"{statement}\";");
        one(source("src/ops/settle.rs", &code), 2, "SQL outside store/");
        none(source("src/store/payments.rs", &code));
        none(source("tests/it/settle.rs", &code));
    }
    for text in [
        "select a website, then copy its address",
        "<select name='bank'> <option>from here",
        "update the payment, then set its amount",
        "deleted from the list",
        "pragma: no-cache",
    ] {
        none(source("src/http/pages.rs", &format!("const T: &str = \"{text}\";")));
    }
    none(source("src/ops/settle.rs", "// select id from payments"));
}

#[test]
fn comments_speak_of_tillbell() {
    for text in
        ["see issue #12", "as task 7 asks", "left for a later session", "as the lead said", "TODO: more"]
    {
        one(source("src/ops/settle.rs", &format!("fn f() {{}}\n// {text}")), 3, "`");
        one(findings("docs/api.md", &format!("# API\n\n{text}\n")), 3, "`");
    }
    one(findings("test", "cd /work/main\n"), 1, "path of one machine");
    none(findings("docs/api.md", "https://example.com/work/main and a frame/work/bench\n"));
    for text in [
        "NIP session id, 30 digits",
        "the next session id of the transfer",
        "logout ends this session on all nodes",
        "the lock is held by the last session of PostgreSQL",
        "a session of the dashboard",
        "issues a key; the leading zero; a task per job",
    ] {
        none(source("src/ops/settle.rs", &format!("// {text}")));
    }
    none(source("src/ops/settle.rs", "const T: &str = \"TODO\";"));
}

#[test]
fn a_finding_names_file_and_line() {
    let finding = Finding { path: "src/app.rs".into(), line: 7, what: "wrong: mend".into() };
    assert_eq!(finding.to_string(), "src/app.rs:7: wrong: mend");
}
