//! Compares every sample of known mails with what is read from it, in all folders; a bank without a
//! template must say how to add one. The samples are not part of the repository; without them this
//! proves nothing and says so.

use std::path::{Path, PathBuf};

use super::check::shown;
use super::{Banks, Intake, ReadOutcome, Reading, read};
use crate::domain::alert::AlertFacts;
use crate::domain::time::Timestamp;

/// Fields whose expected value is not literally in the mail, or not the reader's to give:
/// (sample, field).
const NOT_READ: &[(&str, &str)] = &[
    ("union-debit-02", "account_number"),
    /* a UTC time, shown here in Lagos */ ("grey-debit-01-card", "occurred_at"),
];

/// The samples beside the repository, or those that TILLBELL_SAMPLES names.
fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/alerts");
    let dir = std::env::var_os("TILLBELL_SAMPLES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    dir.is_dir().then_some(dir)
}

#[test]
fn every_sample_of_a_known_bank_reads_as_written_down() {
    let Some(dir) = folder() else {
        eprintln!("no samples here: nothing was compared (TILLBELL_SAMPLES sets another folder)");
        return;
    };
    let banks = Banks::embedded().unwrap();
    let only = std::env::var("TILLBELL_SAMPLE").unwrap_or_default();
    let mut wrong = Vec::new();
    let (mut count, mut unknown) = (0, 0);
    for path in mails(&dir) {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !stem.starts_with(&only) {
            continue;
        }
        let want: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
        let reading = read(&std::fs::read(&path).unwrap(), &banks, &Intake::trusted(Timestamp::MAX));
        let known =
            reading.facts.bank.is_some() || banks.by_name_or_alias(want["bank"].as_str().unwrap()).is_some();
        if !known {
            unknown += 1;
            let left = matches!(reading.outcome, ReadOutcome::Unreadable | ReadOutcome::Quarantined);
            let told =
                want["kind"] == "suspicious" || reading.why.iter().any(|w| w.contains("docs/banks.md"));
            if !left || !told || reading.facts.amount.is_some() {
                wrong.push(format!("{stem}: of no known bank, {:?} {:?}", reading.outcome, reading.why));
            }
            continue;
        }
        count += 1;
        let found = differences(&stem, &want, &reading);
        wrong.extend(found.into_iter().map(|what| format!("{stem}: {what} {:?}", reading.why)));
    }
    eprintln!("{count} samples compared, {unknown} of banks without a template");
    assert!(count + unknown > 0 || !only.is_empty(), "no sample in {}", dir.display());
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

/// Every sample that is read, in the arrangements that mailers and relays make of it: on one line, and
/// with a text made of its HTML beside it. Nothing may be lost by either.
#[test]
fn every_sample_reads_the_same_on_one_line_and_with_a_text_beside_it() {
    let Some(dir) = folder() else {
        eprintln!("no samples here: nothing was compared (TILLBELL_SAMPLES sets another folder)");
        return;
    };
    let banks = Banks::embedded().unwrap();
    let (mut lost, mut lines, mut parts) = (Vec::new(), 0, 0);
    for path in mails(&dir) {
        let raw = std::fs::read(&path).unwrap();
        let reading = read(&raw, &banks, &Intake::trusted(Timestamp::MAX));
        let Ok(letter) = super::mime::open(&raw) else { continue };
        let (ReadOutcome::Read | ReadOutcome::Ignored, [super::mime::Body::Html(html)]) =
            (reading.outcome, &letter.bodies[..])
        else {
            continue;
        };
        let head = format!(
            "From: {}\r\nSubject: {}\r\nDate: {}\r\n",
            reading.from.clone().unwrap_or_default(),
            reading.subject.clone().unwrap_or_default(),
            "Thu, 01 Jan 2026 00:00:00 +0100"
        );
        let page = |html: &str| format!("{head}Content-Type: text/html; charset=utf-8\r\n\r\n{html}");
        let again = |raw: String| read(raw.as_bytes(), &banks, &Intake::trusted(Timestamp::MAX));
        let before = again(page(html));
        let stem = path.file_stem().unwrap().to_string_lossy();
        let mut compare = |how: &str, after: Reading| {
            // Which rows a payer's words may stand in is another question in another arrangement.
            let remarks = before.facts.remarks.clone();
            let facts = AlertFacts { remarks, ..after.facts.clone() };
            if (after.outcome, &facts) != (before.outcome, &before.facts) {
                lost.push(format!("{stem}, {how}: {:?} before: {:?}", after.why, before.why));
            }
        };
        lines += 1;
        compare("one line", again(page(&super::tests::tight(html))));
        for (how, parted) in [("tabs", "\t"), ("two blanks", "  "), ("one blank", " "), ("lines", "\n")] {
            parts += 1;
            let rows = super::html::read(html).unwrap().table.rows;
            let text: String = rows.iter().map(|row| row.join(parted) + "\n").collect();
            let mail = format!(
                "{head}Content-Type: multipart/alternative; boundary=q1\r\n\r\n--q1\r\n\
                 Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n--q1\r\n\
                 Content-Type: text/html; charset=utf-8\r\n\r\n{html}\r\n--q1--\r\n"
            );
            compare(how, again(mail));
        }
    }
    eprintln!("{lines} samples on one line, {parts} with a text beside them");
    assert!(lost.is_empty(), "{} differences\n{}", lost.len(), lost.join("\n"));
}

/// Every mail in a folder and in those below it.
fn mails(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let (folders, files): (Vec<_>, Vec<_>) = paths.into_iter().partition(|p| p.is_dir());
    let own = files.into_iter().filter(|p| p.extension().is_some_and(|e| e == "eml"));
    own.chain(folders.iter().flat_map(|folder| mails(folder))).collect()
}

/// (name in the sample's expectation, name of the field read)
const FIELDS: [(&str, &str); 13] = [
    ("direction", "direction"),
    ("amount", "amount"),
    ("currency", "currency"),
    ("account_number", "account"),
    ("payer_name", "payer"),
    ("payer_account_number", "payer_account"),
    ("narration", "narration"),
    ("reference", "reference"),
    ("balance", "balance"),
    ("occurred_at", "occurred"),
    ("account_name", "holder"),
    ("receiving_virtual_account", "virtual"),
    ("nip_session_id", "session"),
];

fn differences(stem: &str, want: &serde_json::Value, reading: &Reading) -> Vec<String> {
    let ignored = reading.outcome == ReadOutcome::Ignored && reading.facts.amount.is_none();
    match want["kind"].as_str().unwrap() {
        "non_transaction" if !ignored => return vec![format!("not ignored: {:?}", reading.outcome)],
        "suspicious" if reading.outcome != ReadOutcome::Quarantined => {
            return vec![format!("not quarantined: {:?}", reading.outcome)];
        }
        "non_transaction" | "suspicious" => return Vec::new(),
        _ => {}
    }
    let mut out = Vec::new();
    for (json, field) in FIELDS {
        let name = if json == "narration" && want["narration_joined"].is_string() {
            "narration_joined"
        } else {
            json
        };
        if NOT_READ.contains(&(stem, json)) || want.get(name).is_none() {
            continue;
        }
        let mut expected = super::text_table::collapse(want[name].as_str().unwrap_or_default());
        let got = shown(reading, field).unwrap();
        if json == "occurred_at" && expected.len() > 10 {
            // Written with seconds always; ":00" may mean that none were shown.
            let minutes = expected[16..].starts_with(":00") && got.len() == 16;
            expected.truncate(if minutes { 16 } else { 19 });
        }
        if got != expected {
            out.push(format!("{json}: expected {expected:?}, read {got:?};"));
        }
    }
    out
}
