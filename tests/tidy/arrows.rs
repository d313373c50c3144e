//! Which room of `src/` may name which other.
//!
//! The table is the picture in ARCHITECTURE.md. A path into another room is found in any
//! notation (`crate::x`, `crate::{x, y}`, `super::super::x`), in test code too: an arrow
//! that only a test draws is an arrow. What is handed over as a value is not seen here, but for the database, which
//! everybody holds with the `App`: a room that may not name `store` may not reach for `app.store` either.

use crate::Finding;
use crate::scan::Token;

enum May {
    /// These, and itself.
    Only(&'static [&'static str]),
    /// Everything but these.
    AllBut(&'static [&'static str]),
}

impl May {
    fn allow(&self, room: &str) -> bool {
        match self {
            May::Only(list) => list.contains(&room),
            May::AllBut(list) => !list.contains(&room),
        }
    }
}

/// Every top-level module of the library, by the name of its file or folder.
const ROOMS: &[(&str, May)] = &[
    ("domain", May::Only(&[])),
    ("store", May::Only(&["domain", "clock", "config", "crash"])),
    ("outbound", May::Only(&["domain", "clock", "config", "crash"])),
    ("vault", May::Only(&["domain", "clock", "config"])),
    ("directory", May::Only(&["domain", "store", "clock"])),
    (
        "ops",
        May::Only(&[
            "domain",
            "store",
            "outbound",
            "directory",
            "vault",
            "app",
            "clock",
            "config",
            "crash",
            "log_limit",
            "wire",
        ]),
    ),
    // What is handed to everybody knows none of those it is handed to.
    (
        "app",
        May::Only(&["domain", "store", "outbound", "directory", "vault", "clock", "config", "log_limit"]),
    ),
    ("clock", May::Only(&["domain"])),
    // How money and times are written, for every room that writes JSON; `domain` itself knows no serde.
    ("wire", May::Only(&["domain"])),
    // Points at which a test kills the process; anybody may have one.
    ("crash", May::Only(&[])),
    // How many lines of one sort go into the log.
    ("log_limit", May::Only(&["domain"])),
    ("config", May::Only(&["domain", "clock", "outbound"])),
    // Pure: the bytes of a mail in, facts with doubts out. Who sent it is asked by the other, of the network.
    ("alert_reader", May::Only(&["domain"])),
    // Asks DNS for the keys of signatures.
    ("mail_proof", May::Only(&["domain", "alert_reader", "outbound"])),
    // Certificates for whatever listens.
    ("tls", May::Only(&["config"])),
    // Places for whatever listens, and what a terminal may be shown.
    ("slots", May::Only(&[])),
    ("terminal", May::Only(&[])),
    // The doors do not know one another; lib.rs starts them side by side.
    ("http", May::AllBut(&["mail_intake", "mail_proof", "alert_reader", "work", "cli", "store"])),
    ("mail_intake", May::AllBut(&["http", "work", "cli", "store"])),
    // The workers' half of the queue is in the store: what is due, and what became of it.
    ("work", May::AllBut(&["http", "mail_intake", "mail_proof", "alert_reader", "cli"])),
    // A command may call every door it starts.
    ("cli", May::AllBut(&["store"])),
    // Starts the doors side by side; commands call it.
    ("serve", May::AllBut(&["cli"])),
    ("lib", May::AllBut(&[])),
    ("main", May::AllBut(&[])),
    ("bin", May::AllBut(&[])),
];

/// The room a file of `src/` is in.
pub fn room(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("src/")?;
    Some(rest.split('/').next().unwrap_or(rest).trim_end_matches(".rs"))
}

pub fn check(path: &str, tokens: &[Token], findings: &mut Vec<Finding>) {
    let Some(room) = room(path) else { return };
    let mut report = |line: usize, what: String| findings.push(Finding { path: path.to_owned(), line, what });
    let Some((_, may)) = ROOMS.iter().find(|(name, _)| *name == room) else {
        let what =
            format!("the room `{room}` is not in the table: say in tests/tidy/arrows.rs what it may import");
        return report(1, what);
    };
    if !may.allow("store") {
        for line in reached_for_the_store(tokens) {
            report(line, format!("`{room}` must not ask the database: call an op, or write one"));
        }
    }
    for (line, target) in named_rooms(path, tokens) {
        let allowed = may.allow(&target);
        let rule = match may {
            May::Only(list) => format!("only {}", list.join(", ")),
            May::AllBut(list) => format!("all but {}", list.join(", ")),
        };
        // A glob over everything hides arrows; a name that is no room is the crate's own root item.
        let known = ROOMS.iter().any(|(name, _)| *name == target);
        if target == "*" {
            report(line, "`crate::*` hides what is imported: name it".to_owned());
        } else if target != room && !allowed && (known || matches!(may, May::Only(_))) {
            let rule = rule.trim_end_matches("only ").trim().to_owned();
            let rule = if rule.is_empty() { "nothing of ours".to_owned() } else { rule };
            let what = format!(
                "`{room}` must not import `{target}` (it may import {rule}): move the code, or hand the value in"
            );
            report(line, what);
        }
    }
}

/// Where a method of a field `store` is called.
fn reached_for_the_store(tokens: &[Token]) -> impl Iterator<Item = usize> {
    tokens
        .windows(3)
        .filter(|three| three.iter().map(|one| one.text.as_str()).eq([".", "store", "."]))
        .map(|three| three[1].line)
}

/// First segments of all paths that begin at the crate's root, with their lines.
fn named_rooms(path: &str, tokens: &[Token]) -> Vec<(usize, String)> {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let depth = module_depth(path);
    let mut found = Vec::new();
    // For each open brace, whether it is a module's.
    let mut braces: Vec<bool> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match text(at) {
            "{" => braces.push(at >= 2 && text(at - 2) == "mod"),
            "}" => drop(braces.pop()),
            "crate" if text(at + 1) == "::" => first_segments(tokens, at + 2, &mut found),
            "super" if at == 0 || text(at - 1) != "::" => {
                let mut supers = 1;
                while text(at + 2 * supers - 1) == "::" && text(at + 2 * supers) == "super" {
                    supers += 1;
                }
                let inline = braces.iter().filter(|module| **module).count();
                if supers >= depth + inline && text(at + 2 * supers - 1) == "::" {
                    first_segments(tokens, at + 2 * supers, &mut found);
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// How many `super` lead from a file to the crate's root: `src/a.rs` 1, `src/a/b.rs` 2.
fn module_depth(path: &str) -> usize {
    let rest = path.trim_start_matches("src/");
    let parts = rest.split('/').count();
    let is_root = matches!(rest, "lib.rs" | "main.rs") || rest.starts_with("bin/");
    if is_root { 0 } else { parts - usize::from(rest.ends_with("/mod.rs")) }
}

/// The name that stands here, or the first name of each member of the group that stands here.
fn first_segments(tokens: &[Token], start: usize, found: &mut Vec<(usize, String)>) {
    let Some(first) = tokens.get(start) else { return };
    if first.text != "{" {
        found.push((first.line, first.text.clone()));
        return;
    }
    let (mut depth, mut expecting) = (0, false);
    for token in &tokens[start..] {
        match token.text.as_str() {
            "{" => {
                depth += 1;
                expecting |= depth == 1;
            }
            "}" if depth == 1 => return,
            "}" => depth -= 1,
            "," => expecting |= depth == 1,
            "self" if depth == 1 => expecting = false,
            _ if expecting => {
                found.push((token.line, token.text.clone()));
                expecting = false;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan;

    /// Lines of the findings in a file with this code.
    fn lines(path: &str, code: &str) -> Vec<usize> {
        let mut findings = Vec::new();
        check(path, &scan::tokens(&scan::split(code).code), &mut findings);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn doors_do_not_import_one_another() {
        for (from, to) in [
            ("http", "mail_intake"),
            ("http", "work"),
            ("mail_intake", "http"),
            ("work", "cli"),
            ("http", "cli"),
        ] {
            let path = format!("src/{from}/mod.rs");
            assert_eq!(lines(&path, &format!("\nuse crate::{to}::x;\n")), [2], "{from} -> {to}");
            assert_eq!(
                lines(&path, &format!("use crate::{{ops, {to}::{{a, b}}}};")),
                [1],
                "{from} -> {to} in a group"
            );
            assert_eq!(
                lines(&path, &format!("fn f() {{ crate::{to}::f() }}")),
                [1],
                "{from} -> {to} in a path"
            );
        }
        assert_eq!(lines("src/cli/serve.rs", "use crate::{http, mail_intake, work};"), []);
        assert_eq!(lines("src/lib.rs", "use crate::{http, mail, work, cli};"), []);
        assert_eq!(
            lines(
                "src/http/api/mod.rs",
                "use crate::{ops::x, app::App, domain::{mail, work}, http::errors};"
            ),
            []
        );
    }

    #[test]
    fn doors_do_not_ask_the_database() {
        for door in ["http", "mail_intake", "cli"] {
            let path = format!("src/{door}/mod.rs");
            assert_eq!(lines(&path, "fn f() {\n app.store.ping();\n http.app\n.store\n.ping() }"), [2, 4]);
            assert_eq!(lines(&path, "use crate::store::StoreError;"), [1]);
            assert_eq!(lines(&path, "fn f() { draining.store(true); self.store(mail); store.x() }"), []);
        }
        assert_eq!(lines("src/ops/mailboxes.rs", "fn f() { app.store.ping() }"), []);
        assert_eq!(lines("src/work/deliver.rs", "fn f() { app.store.claim_jobs() }"), []);
    }

    #[test]
    fn lower_rooms_import_only_what_is_below() {
        assert_eq!(lines("src/domain/alert.rs", "use crate::domain::money::Money;"), []);
        assert_eq!(lines("src/domain/alert.rs", "use crate::clock::Clock;"), [1]);
        assert_eq!(lines("src/store/units.rs", "use crate::{domain::x, config, clock};"), []);
        assert_eq!(lines("src/store/units.rs", "use crate::ops::x;"), [1]);
        assert_eq!(lines("src/store/units.rs", "use crate::{\n outbound::x,\n app::App};"), [2, 3]);
        assert_eq!(lines("src/outbound/client.rs", "use crate::store::x;"), [1]);
        assert_eq!(
            lines("src/ops/settle.rs", "use crate::{domain, store, outbound, app, clock, config};"),
            []
        );
        assert_eq!(lines("src/ops/settle.rs", "use crate::http::x;"), [1]);
        assert_eq!(lines("src/app.rs", "use crate::ops::x;"), [1]);
        assert_eq!(lines("src/alert_reader/mime.rs", "use crate::{domain::x, mail_proof::y};"), [1]);
        assert_eq!(lines("src/alert_reader/mime.rs", "use crate::store::x;"), [1]);
        assert_eq!(lines("src/mail_proof/dns.rs", "use crate::{alert_reader::x, app::App};"), [1]);
    }

    #[test]
    fn super_paths_count_only_where_they_reach_the_root() {
        assert_eq!(lines("src/http/api/list.rs", "use super::super::super::mail_intake::x;"), [1]);
        assert_eq!(lines("src/http/api/list.rs", "use super::super::mail_intake::x;"), []);
        assert_eq!(lines("src/http/mod.rs", "use super::mail_intake;"), [1]);
        assert_eq!(
            lines("src/http/mod.rs", "mod tests {\n use super::mail_intake;\n use super::super::work;\n}"),
            [3]
        );
        assert_eq!(lines("src/work.rs", "fn f() { super::{mail_intake, ops}::x() }"), [1]);
    }

    #[test]
    fn words_in_comments_and_strings_are_no_arrows() {
        assert_eq!(lines("src/domain/x.rs", "// see crate::store::x\nlet a = \"crate::http::y\";"), []);
    }

    #[test]
    fn unknown_rooms_and_globs_are_told() {
        assert_eq!(lines("src/attic/mod.rs", "use crate::domain;"), [1]);
        assert_eq!(lines("src/http/mod.rs", "use crate::*;"), [1]);
        assert_eq!(lines("tests/it/main.rs", "use crate::harness;"), []);
    }
}
