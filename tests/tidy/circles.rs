//! No circles between siblings: of two files or folders that stand side by side in `src/`, one may know the other,
//! not both.
//!
//! An arrow is a path (`crate::..`, `super::..`) into another module, in a `use` or in the code, in tests too. What a
//! folder names of its parent, or the parent of it, is no arrow here; a name that the parent passes on (`pub use`)
//! counts as the parent's.

use std::collections::{BTreeMap, BTreeSet};

use crate::Finding;
use crate::scan::{self, Token};

type Path = Vec<String>;

/// A file's module path from the crate's root: `src/ops/alerts/take.rs` is `ops`, `alerts`, `take`.
fn module(path: &str) -> Option<Path> {
    let rest = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let mut parts: Path = rest.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    (!matches!(rest, "lib" | "main")).then_some(parts)
}

/// Finds every circle among siblings, once each, at the file that is first by name.
pub fn check<'a>(files: impl Iterator<Item = (&'a str, &'a str)>, findings: &mut Vec<Finding>) {
    let files: Vec<(&str, Path, Vec<Token>)> = files
        .filter_map(|(path, text)| Some((path, module(path)?, scan::tokens(&scan::split(text).code))))
        .collect();
    let known: BTreeSet<&[String]> = files.iter().map(|(_, module, _)| &module[..]).collect();
    // For each parent: which child names which other child, and where that stands.
    let mut arrows: BTreeMap<&[String], BTreeMap<(String, String), String>> = BTreeMap::new();
    for (path, from, tokens) in &files {
        for (line, to) in paths(from, tokens) {
            let Some(to) = (1..=to.len()).rev().map(|n| &to[..n]).find(|to| known.contains(to)) else {
                continue;
            };
            let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) {
                let of_parent = arrows.entry(&from[..shared]).or_default();
                of_parent.entry((a.clone(), b.clone())).or_insert_with(|| format!("{path}:{line}"));
            }
        }
    }
    for (parent, arrows) in &arrows {
        for circle in circles(arrows) {
            let steps: Vec<String> = circle
                .iter()
                .zip(circle.iter().cycle().skip(1))
                .map(|(a, b)| format!("{a} -> {b} ({})", arrows[&(a.clone(), b.clone())]))
                .collect();
            let place =
                if parent.is_empty() { "src".to_owned() } else { format!("src/{}", parent.join("/")) };
            let what = format!(
                "a circle: {}; move what both need into a third file below them, or hand it in",
                steps.join(", ")
            );
            findings.push(Finding { path: place, line: 1, what });
        }
    }
}

/// One circle for each knot of modules that reach one another.
fn circles(arrows: &BTreeMap<(String, String), String>) -> Vec<Vec<String>> {
    let names: BTreeSet<&String> = arrows.keys().flat_map(|(a, b)| [a, b]).collect();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for start in names {
        if seen.contains(start) {
            continue;
        }
        if let Some(circle) = way_back(arrows, start) {
            seen.extend(circle.iter().cloned());
            found.push(circle);
        }
    }
    found
}

/// The shortest way from a module back to itself.
fn way_back(arrows: &BTreeMap<(String, String), String>, start: &str) -> Option<Vec<String>> {
    let mut ways: Vec<Vec<String>> = vec![vec![start.to_owned()]];
    let mut reached: BTreeSet<String> = BTreeSet::new();
    while !ways.is_empty() {
        let mut next = Vec::new();
        for way in ways {
            let last = way.last()?.clone();
            for (_, to) in arrows.keys().filter(|(from, _)| *from == last) {
                if to == start {
                    return Some(way);
                }
                if reached.insert(to.clone()) {
                    let mut longer = way.clone();
                    longer.push(to.clone());
                    next.push(longer);
                }
            }
        }
        ways = next;
    }
    None
}

/// Every path of a file that begins at the crate's root or at a parent, whole, with its line.
fn paths(from: &[String], tokens: &[Token]) -> Vec<(usize, Path)> {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let mut found = Vec::new();
    // How many modules stand open around a token, for what `super` means in `mod tests`.
    let mut braces: Vec<bool> = Vec::new();
    for at in 0..tokens.len() {
        match text(at) {
            "{" => braces.push(at >= 2 && text(at - 2) == "mod"),
            "}" => drop(braces.pop()),
            "crate" if text(at + 1) == "::" => tree(tokens, at + 2, Vec::new(), &mut found),
            "super" if at == 0 || text(at - 1) != "::" => {
                let mut supers = 1;
                while text(at + 2 * supers - 1) == "::" && text(at + 2 * supers) == "super" {
                    supers += 1;
                }
                let inline = braces.iter().filter(|module| **module).count();
                if let Some(up) = supers.checked_sub(inline).filter(|up| *up > 0)
                    && let Some(kept) = from.len().checked_sub(up)
                    && text(at + 2 * supers - 1) == "::"
                {
                    tree(tokens, at + 2 * supers, from[..kept].to_vec(), &mut found);
                }
            }
            _ => {}
        }
    }
    found
}

/// All paths of a tree such as `a::{b, c::{d, e}}` that begins at `at`, each behind `before`. Answers nothing but
/// what it found: the tree's end needs nobody.
fn tree(tokens: &[Token], at: usize, before: Path, found: &mut Vec<(usize, Path)>) {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let Some(first) = tokens.get(at) else { return };
    if first.text == "{" {
        let (mut depth, mut i) = (0, at);
        let mut expecting = true;
        while i < tokens.len() {
            match text(i) {
                "{" => {
                    depth += 1;
                    expecting = depth == 1;
                }
                "}" if depth == 1 => return,
                "}" => depth -= 1,
                "," => expecting = depth == 1,
                "self" if depth == 1 && expecting => found.push((tokens[i].line, before.clone())),
                _ if depth == 1 && expecting => {
                    tree(tokens, i, before.clone(), found);
                    expecting = false;
                }
                _ => {}
            }
            i += 1;
        }
        return;
    }
    let mut path = before;
    path.push(first.text.clone());
    if text(at + 1) == "::" {
        return tree(tokens, at + 2, path, found);
    }
    found.push((first.line, path));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: &[(&str, &str)]) -> Vec<String> {
        let mut findings = Vec::new();
        check(files.iter().copied(), &mut findings);
        findings.into_iter().map(|finding| format!("{}: {}", finding.path, finding.what)).collect()
    }

    #[test]
    fn two_files_that_know_one_another_are_told_with_their_lines() {
        let told = told(&[
            ("src/ops/a.rs", "\nuse super::b::x;"),
            ("src/ops/b.rs", "use crate::ops::{c, a::y};"),
            ("src/ops/c.rs", "fn f() {}"),
        ]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("src/ops: a circle: a -> b (src/ops/a.rs:2), b -> a (src/ops/b.rs:1)"),
            "{told:?}"
        );
    }

    #[test]
    fn folders_are_siblings_too_and_a_circle_may_be_long() {
        let files = [
            ("src/ops/alerts/take.rs", "use crate::ops::payments::like::{self, names};"),
            ("src/ops/payments/mod.rs", "pub mod like;"),
            ("src/ops/payments/like.rs", "fn f() { crate::ops::wallets::find::g() }"),
            ("src/ops/wallets/find.rs", "use crate::{ops::{alerts::take, OpError}};"),
        ];
        assert_eq!(told(&files).len(), 1, "{:?}", told(&files));
        assert_eq!(told(&files[..3]), [] as [String; 0]);
    }

    #[test]
    fn parents_and_what_they_pass_on_are_no_siblings() {
        let files = [
            ("src/ops/mod.rs", "pub mod a; pub use a::x; pub struct OpError;"),
            ("src/ops/a.rs", "use super::OpError; mod tests { use super::*; use super::super::OpError; }"),
        ];
        assert_eq!(told(&files), [] as [String; 0]);
    }

    #[test]
    fn a_test_draws_arrows_and_comments_do_not() {
        let a = ("src/ops/a.rs", "mod tests { use super::super::b::x; }");
        assert_eq!(told(&[a, ("src/ops/b.rs", "use super::a::y;")]).len(), 1);
        assert_eq!(told(&[a, ("src/ops/b.rs", "// use super::a::y;")]), [] as [String; 0]);
    }
}
