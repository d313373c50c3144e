//! The rules on one file at a time, and their lists.
//!
//! Code of the service is held to all of them; its unit tests (`#[cfg(test)]`, `tests.rs`)
//! may use the libraries and the SQL that a test needs. Each rule is tried on a bad
//! example in `rules_tests.rs`. Adding an exception means adding its reason.

use regex::Regex;

use crate::scan::{self, Layers, Token};
use crate::{File, Finding, arrows};

const MAX_LINES: usize = 500;

/// Files longer than that: path and reason. An entry that is no longer needed is a finding.
const LONG_FILES: &[(&str, &str)] = &[];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "manager", "managers", "service", "services", "model",
    "models", "misc", "shared",
];

/// Words of code, the folder they belong to, and what to do.
const LIBRARIES: &[(&str, &str, &str)] = &[
    ("axum", "src/http/", "only http/ speaks HTTP to the outside: take plain values"),
    ("rusqlite", "src/store/", "only store/ knows the databases: add a verb there"),
    ("tokio_postgres", "src/store/", "only store/ knows the databases: add a verb there"),
    ("tokio_postgres_rustls", "src/store/", "only store/ knows the databases: add a verb there"),
];

/// What `domain` does not know, and why.
const NOT_IN_DOMAIN: &[(&str, &str)] = &[
    ("serde", "the wire has structs of its own"),
    ("serde_json", "the wire has structs of its own"),
    ("Serialize", "the wire has structs of its own"),
    ("Deserialize", "the wire has structs of its own"),
    ("async", "domain does nothing that waits"),
    ("tokio", "domain does nothing that waits"),
    ("reqwest", "domain does no IO"),
    ("fs", "domain does no IO"),
    ("rand", "randomness is an argument"),
    ("SystemTime", "the time is an argument"),
    ("Instant", "the time is an argument"),
];

/// What the reader of mails does not know, and why.
const NOT_IN_ALERT_READER: &[(&str, &str)] = &[
    ("async", "reading a mail waits for nothing"),
    ("tokio", "reading a mail waits for nothing"),
    ("hickory_resolver", "who sent it is asked by mail_proof"),
    ("rand", "the same mail is read the same way each time"),
    ("SystemTime", "the time is an argument"),
    ("Instant", "the time is an argument"),
];

/// Macros that must not stay.
const LEFT_OVER: &[(&str, &str)] = &[
    ("todo", "finish it, or return an error that says what is missing"),
    ("unimplemented", "finish it, or return an error that says what is missing"),
    ("dbg", "remove it, or use tracing"),
];

/// Beginnings of SQL statements, over the literal in lower case with single blanks. `select` must
/// be followed by `from` outside of markup, because people select things too.
const SQL: &str = r"(^|[^<\w/-])(select [^<>]* from \w|insert (or \w+ )?into \w|update \w+ set |delete from \w|create (unique )?(table|index|view|trigger) |pragma \w+ ?(=|$)|begin immediate)";

/// Words that have no place in comments and texts, with what to do. Case does not matter.
const WORDS: &[(&str, &str)] = &[
    (r"\bissues? ?#|\bissue \d+|\btasks? #?\d+\b", "say the reason itself: the number means nothing here"),
    (r#"(^|[\s"'`(=:])(/work/|/root/)\w"#, "a path of one machine: make it relative"),
    (r"\b(todo|fixme|hack)\b", "finish it, or return an error that says what is missing"),
    (r"\b(the lead|sub-?agents?|worktrees?|the brief)\b", "speak of tillbell, not of how it was written"),
    (r"\b(claude|anthropic|openai|chatgpt|llms?)\b", "speak of tillbell, not of how it was written"),
    (
        r"\b(previous|earlier|later|coding|working|helper|developer) sessions?\b|\b(this|last|next|another) session\b",
        "speak of tillbell, not of how it was written",
    ),
];

/// A line with one of these speaks of a session of a protocol, a login or a bank transfer.
const TRUE_SESSION: &str = r"session[ _-]?(id|key|token|row|cookie)|cookie|log(s|ged)?[ -]?(in|out)|nip|postgres|tls|imap|smtp|browser|user|dashboard|idle";

/// Checks all files against all rules.
pub fn check(files: &[File]) -> Vec<Finding> {
    let rules = Rules::new();
    let mut findings = Vec::new();
    for file in files {
        rules.check_file(file, &mut findings);
    }
    for (path, _) in LONG_FILES {
        if !files.iter().any(|file| file.path == *path && file.text.lines().count() > MAX_LINES) {
            let what =
                "is not too long any more: take it out of LONG_FILES in tests/tidy/rules.rs".to_owned();
            findings.push(Finding { path: (*path).to_owned(), line: 1, what });
        }
    }
    findings
}

struct Rules {
    sql: Regex,
    words: Vec<(Regex, &'static str)>,
    true_session: Regex,
}

impl Rules {
    fn new() -> Rules {
        let regex = |pattern: &str| Regex::new(pattern).expect("a pattern of this file");
        Rules {
            sql: regex(SQL),
            words: WORDS
                .iter()
                .map(|(pattern, advice)| (regex(&format!("(?i){pattern}")), *advice))
                .collect(),
            true_session: regex(&format!("(?i){TRUE_SESSION}")),
        }
    }

    fn check_file(&self, file: &File, findings: &mut Vec<Finding>) {
        let mut report =
            |line: usize, what: String| findings.push(Finding { path: file.path.clone(), line, what });
        if !file.path.ends_with(".rs") {
            return self.check_words(&file.text, &mut report);
        }
        let layers = scan::split(&file.text);
        let tokens = scan::tokens(&layers.code);
        check_shape(file, &scan::test_lines(&tokens), &mut report);
        check_left_overs(&tokens, &mut report);
        // tidy itself spells out what it forbids, in strings; its comments are held like all others.
        self.check_words(&layers.comments, &mut report);
        if arrows::room(&file.path).is_some() && !is_test_file(&file.path) {
            let tests = scan::test_lines(&tokens);
            let in_test = |line: usize| tests.iter().any(|(first, last)| (*first..=*last).contains(&line));
            check_libraries(&file.path, &tokens, &in_test, &mut report);
            self.check_sql(&file.path, &layers, &in_test, &mut report);
        }
        arrows::check(&file.path, &tokens, findings);
    }

    fn check_words(&self, text: &str, report: &mut impl FnMut(usize, String)) {
        for (number, line) in text.lines().enumerate() {
            for (word, advice) in &self.words {
                let Some(found) = word.find(line) else { continue };
                let found = found.as_str().trim();
                if found.to_lowercase().contains("session") && self.true_session.is_match(line) {
                    continue;
                }
                report(number + 1, format!("`{found}`: {advice}"));
            }
        }
    }

    fn check_sql(
        &self,
        path: &str,
        layers: &Layers,
        in_test: &impl Fn(usize) -> bool,
        report: &mut impl FnMut(usize, String),
    ) {
        if path.starts_with("src/store/") {
            return;
        }
        for (line, text) in &layers.strings {
            // A literal broken over lines has backslashes at their ends.
            let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c == '\\').collect();
            let plain = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
            if !in_test(*line) && self.sql.is_match(&plain.to_lowercase()) {
                report(*line, "SQL outside store/: add a function there and call it".to_owned());
            }
        }
    }
}

/// Unit tests in a file of their own.
fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.ends_with("_tests.rs") || path.contains("/tests/")
}

/// Head, length and name. Tests in a file count nothing: nothing is cut in two because it is tested.
fn check_shape(file: &File, tests: &[(usize, usize)], report: &mut impl FnMut(usize, String)) {
    if !file.text.starts_with("//!") {
        report(1, "begins without a `//!` head: say what it is, what it is not, who may call it".to_owned());
    }
    let tested: usize = tests.iter().map(|(first, last)| last + 1 - first).sum();
    let lines = file.text.lines().count() - tested;
    if lines > MAX_LINES && !LONG_FILES.iter().any(|(path, _)| *path == file.path) {
        report(lines, format!("{lines} lines, at most {MAX_LINES}: split it by what it speaks of"));
    }
    for part in file.path.trim_end_matches(".rs").split('/') {
        if EMPTY_NAMES.contains(&part) {
            report(1, format!("the name `{part}` says nothing: name it by what is inside"));
        }
    }
}

fn check_left_overs(tokens: &[Token], report: &mut impl FnMut(usize, String)) {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    for (at, token) in tokens.iter().enumerate() {
        let left_over = LEFT_OVER.iter().find(|(name, _)| *name == token.text);
        // `!=` is a comparison.
        if let Some((name, advice)) = left_over.filter(|_| text(at + 1) == "!" && text(at + 2) != "=") {
            report(token.line, format!("`{name}!`: {advice}"));
        }
        if token.text == "ignore" && text(at.wrapping_sub(1)) == "[" && text(at.wrapping_sub(2)) == "#" {
            report(
                token.line,
                "`#[ignore]`: a test that does not run proves nothing: mend or remove it".to_owned(),
            );
        }
    }
}

fn check_libraries(
    path: &str,
    tokens: &[Token],
    in_test: &impl Fn(usize) -> bool,
    report: &mut impl FnMut(usize, String),
) {
    for token in tokens.iter().filter(|token| !in_test(token.line)) {
        for (name, home, advice) in LIBRARIES {
            if token.text == *name && !path.starts_with(home) {
                report(token.line, format!("`{name}` outside {home}: {advice}"));
            }
        }
        for (room, unknown) in [("domain", NOT_IN_DOMAIN), ("alert_reader", NOT_IN_ALERT_READER)] {
            let there = unknown.iter().filter(|_| path.starts_with(&format!("src/{room}/")));
            for (name, reason) in there.filter(|(name, _)| token.text == *name) {
                report(token.line, format!("`{name}` in {room}/: {reason}"));
            }
        }
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
