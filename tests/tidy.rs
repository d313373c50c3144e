//! What the compiler does not hold: arrows between rooms, lengths, names, words.
//!
//! A test over the text of the repository. The rules and their lists are in
//! `tidy/rules.rs` and `tidy/arrows.rs`, the splitting of a file into code, comments and
//! strings in `tidy/scan.rs`, what templates may hold in `tidy/templates.rs`; each rule is tried there on small bad examples. A finding
//! names file, line and what to do. ARCHITECTURE.md states the same rules in prose.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt;
use std::path::Path;

#[path = "tidy/arrows.rs"]
mod arrows;
#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/references.rs"]
mod references;
#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/scan.rs"]
mod scan;
#[path = "tidy/templates.rs"]
mod templates;

/// Deep enough for any folder of this repository, an end for a loop of links.
const MAX_DEPTH: usize = 12;
/// Folders with Rust code of ours.
const CODE_FOLDERS: [&str; 4] = ["src", "tests", "benches", "fuzz"];
/// Folders and files with other text of ours.
const TEXT_FOLDERS: [&str; 6] = ["docs", "migrations", "banks", ".ci", "templates", "assets"];
const TEXT_ENDINGS: [&str; 7] = ["md", "toml", "sql", "sh", "yml", "html", "css"];
const TEXT_FILES: [&str; 2] = ["test", "Makefile"];

/// One thing to mend.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// From 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// A file's path from the root of the repository, with slashes, and its text.
pub struct File {
    pub path: String,
    pub text: String,
}

fn collect(root: &Path, folder: &str, depth: usize, files: &mut Vec<File>) {
    assert!(depth <= MAX_DEPTH, "{folder}: deeper than {MAX_DEPTH} folders");
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return };
    for entry in entries {
        let entry = entry.expect("read the folder");
        let name = entry.file_name().into_string().expect("a file name in UTF-8");
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().expect("file type");
        // fuzz/ has a build folder and a corpus of its own.
        if kind.is_dir() && !["target", "corpus", "artifacts"].contains(&name.as_str()) && !folder.is_empty()
        {
            collect(root, &path, depth + 1, files);
        } else if kind.is_file() && is_ours(folder, &name) {
            let text =
                std::fs::read_to_string(entry.path()).unwrap_or_else(|error| panic!("{path}: {error}"));
            files.push(File { path, text });
        }
    }
}

fn is_ours(folder: &str, name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ending == "rs"
        || TEXT_ENDINGS.contains(&ending)
        || folder == ".ci"
        || (folder.is_empty() && TEXT_FILES.contains(&name))
}

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(root, "", 0, &mut files);
    for folder in CODE_FOLDERS.iter().chain(&TEXT_FOLDERS) {
        collect(root, folder, 1, &mut files);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    // A walk that finds nothing would find nothing wrong.
    for expected in ["src/lib.rs", "src/domain/mod.rs", "tests/tidy/rules.rs", "Cargo.toml", "test"] {
        assert!(files.iter().any(|file| file.path == expected), "{expected} was not looked at");
    }
    let mut findings = rules::check(&files);
    circles::check(files.iter().map(|file| (&*file.path, &*file.text)), &mut findings);
    references::check(&files, &mut findings);
    templates::check(&files, &mut findings);
    let list: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(list.is_empty(), "{} things to tidy:\n{}\n", list.len(), list.join("\n"));
}
