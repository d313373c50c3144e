//! References lead somewhere: to a rule of `docs/contract/`, to a decision record, to a file of the code.
//!
//! A rule is an anchor (`<a id="m3"></a>`) above a heading with its number. Code, tests and pages cite it as
//! `contract/matching.md#m3`. Pages that no reader of the repository has must not be cited. Where a page names a file
//! of the code in backquotes, that file is there.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use crate::scan;
use crate::{File, Finding};

const CONTRACT: &str = "docs/contract/";
/// References to pages outside the repository, as they were written once.
const OUTSIDE: [&str; 5] = [
    r"(?i)\bdecisions? [1-9][0-9]?(?:\.[0-9]+)*\b",
    r"(?i)\binterface [0-9]",
    r"(?i)\bnames (?:rule )?[0-9]",
    r"(?i)\b(?:decisions|interface|house|pages|integrators|reliability)\.md\b",
    r"(?i)(?:^|[^/.\w])spec/",
];
/// Texts that cannot be changed: a database knows them by their hash.
const FROZEN: [&str; 1] = ["migrations/0001_first.sql"];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of ours")
}

/// Comments of code, and the whole of other texts, one paragraph a line.
fn prose(file: &File) -> Vec<(usize, String)> {
    let text = match file.path.ends_with(".rs") {
        true => scan::split(&file.text).comments,
        false => file.text.clone(),
    };
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (n, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches(['/', '!', '#', '-', '*']).trim();
        match found.last_mut().filter(|_| open && !line.is_empty()) {
            Some((_, before)) => *before = format!("{before} {line}"),
            None if !line.is_empty() => found.push((n + 1, line.to_owned())),
            None => {}
        }
        open = !line.is_empty();
    }
    found
}

pub fn check(files: &[File], findings: &mut Vec<Finding>) {
    let anchors = anchors(files, findings);
    let cited = regex(r"contract/([a-z]+\.md)(?:#([a-z][0-9]+))?");
    let within = regex(r"\]\(([a-z]+\.md)?#([a-z][0-9]+)\)");
    let outside: Vec<Regex> = OUTSIDE.iter().map(|pattern| regex(pattern)).collect();
    let named = regex(r"`([a-z0-9_/]+\.(?:rs|sql))`");
    let there: BTreeSet<&str> = files.iter().map(|file| &*file.path).collect();
    for file in files.iter().filter(|file| !file.path.starts_with("tests/tidy")) {
        let mut report = |line: usize, what: String| {
            findings.push(Finding { path: file.path.clone(), line, what });
        };
        let is_contract = file.path.starts_with(CONTRACT);
        for (line, text) in prose(file) {
            for at in cited.captures_iter(&text) {
                let of_page = anchors.get(&at[1]);
                if of_page.is_none_or(|known| at.get(2).is_some_and(|id| !known.contains(id.as_str()))) {
                    report(line, format!("`{}` leads nowhere: docs/contract/ has no such rule", &at[0]));
                }
            }
            for at in within.captures_iter(&text).filter(|_| is_contract) {
                let page = at
                    .get(1)
                    .map_or_else(|| file.path[CONTRACT.len()..].to_owned(), |page| page.as_str().into());
                if anchors.get(&page).is_none_or(|known| !known.contains(&at[2])) {
                    report(line, format!("the link to {page}#{} leads nowhere", &at[2]));
                }
            }
            if FROZEN.contains(&&*file.path) {
                continue;
            }
            if let Some(at) = outside.iter().find_map(|pattern| pattern.find(&text)) {
                let what = format!(
                    "\"{}\" cites a page outside the repository: cite docs/contract/ or a record",
                    at.as_str()
                );
                report(line, what);
            }
            let is_guide = ["ARCHITECTURE.md", "CONTRIBUTING.md"].contains(&&*file.path)
                || file.path.starts_with("docs/") && file.path.ends_with(".md");
            // A record may name a file of another program, but not by a path of ours.
            let is_record = file.path.contains("/decisions/");
            for at in named.captures_iter(&text).filter(|at| is_guide && (!is_record || at[1].contains('/')))
            {
                if !there.iter().any(|path| *path == &at[1] || path.ends_with(&format!("/{}", &at[1]))) {
                    report(line, format!("`{}` is no file", &at[1]));
                }
            }
        }
    }
}

/// The rules of each page of the contract.
fn anchors(files: &[File], findings: &mut Vec<Finding>) -> BTreeMap<String, BTreeSet<String>> {
    let anchor = regex(r#"<a id="([a-z])([0-9]+)"></a>"#);
    let mut all = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.starts_with(CONTRACT)) {
        let mut known = BTreeSet::new();
        let mut last = 0;
        for (n, line) in file.text.lines().enumerate() {
            let Some(at) = anchor.captures(line) else { continue };
            let number: u32 = at[2].parse().unwrap_or_default();
            if number <= last {
                let what = format!(
                    "the rule {}{number} stands behind {}{last}: rules are in order, once each",
                    &at[1], &at[1]
                );
                findings.push(Finding { path: file.path.clone(), line: n + 1, what });
            }
            last = number;
            known.insert(format!("{}{number}", &at[1]));
        }
        all.insert(file.path[CONTRACT.len()..].to_owned(), known);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, text: &str) -> Vec<String> {
        let rule =
            "<a id=\"m3\"></a>\n\n### M3 Amounts\n\nSee [M4](#m4).\n\n<a id=\"m4\"></a>\n\n### M4 Names\n";
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let files = [file("docs/contract/matching.md", rule), file("src/ops/a.rs", ""), file(path, text)];
        let mut findings = Vec::new();
        check(&files, &mut findings);
        findings.into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_cited_rule_must_be_there() {
        assert_eq!(told("src/x.rs", "/// See contract/matching.md#m3.\nfn f() {}"), [] as [String; 0]);
        for bad in ["contract/matching.md#m5", "contract/other.md", "contract/other.md#m3"] {
            assert_eq!(told("src/x.rs", &format!("/// See {bad}.\nfn f() {{}}")).len(), 1, "{bad}");
            assert_eq!(told("docs/api.md", &format!("See {bad}.")).len(), 1, "{bad}");
        }
        assert_eq!(told("docs/contract/names.md", "[M3](matching.md#m3) [M9](matching.md#m9)").len(), 1);
    }

    #[test]
    fn pages_outside_are_not_cited_even_over_two_lines() {
        for bad in [
            "(decisions 8)",
            "decision 6.2 says",
            "names rule 8",
            "interface 4.5",
            "see spec/x",
            "house.md 7",
        ] {
            assert_eq!(told("src/x.rs", &format!("// As {bad}\nfn f() {{}}")).len(), 1, "{bad}");
        }
        assert_eq!(told("src/x.rs", "/// As in decisions\n/// 8 it is.\nfn f() {}").len(), 1);
        for good in ["decision 0026", "docs/decisions/0026-x.md", "\"decisions 8\"", "two decisions a second"]
        {
            assert_eq!(
                told("src/x.rs", &format!("// As {good}\nfn f() {{}}")).len(),
                usize::from(good.starts_with('"'))
            );
        }
        assert_eq!(told("src/x.rs", "const A: &str = \"decisions 8\";"), [] as [String; 0]);
    }

    #[test]
    fn rules_are_in_order_and_named_files_are_there() {
        assert_eq!(told("docs/contract/names.md", "<a id=\"n2\"></a>\n<a id=\"n1\"></a>").len(), 1);
        assert_eq!(told("ARCHITECTURE.md", "It is in `ops/a.rs` and `src/ops/a.rs`."), [] as [String; 0]);
        assert_eq!(told("ARCHITECTURE.md", "It is in `ops/b.rs`.").len(), 1);
        assert_eq!(told("docs/a.md", "It is `migrations/0099_none.sql`.").len(), 1);
        let record = "docs/decisions/0001-x.md";
        assert_eq!(told(record, "In `ops/b.rs`; their `stream.rs`; ours: `a.rs`.").len(), 1);
    }
}
