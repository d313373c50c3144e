//! What a mail says: its bytes and the answer of `mail_proof` in, the facts of an alert with their doubts out.
//!
//! ```text
//! mime -> html | text_table -> authentic -> template -> extract (amount, when, narration) -> unsigned
//! ```
//!
//! Pure: nothing here decides about money, asks the time, the network or the database. `proof` is how `mail_proof`
//! hands its answer over; `head` and `verdict` also read headers for it. No bank is named in this code: what is known
//! of a bank stands in `banks/*.toml`. Called by `mail_intake`, `mail_proof` and the command line.

mod amount;
mod authentic;
mod charset;
pub mod check;
mod extract;
pub mod fuzzing;
pub(crate) mod head;
mod html;
pub mod marks;
pub mod mime;
mod narration;
pub mod proof;
pub mod template;
mod text_table;
mod unsigned;
pub(crate) mod verdict;
mod when;
pub mod write;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use std::panic::catch_unwind;

use sha2::{Digest, Sha256};

pub use check::{CheckResult, check};
pub use template::{Bank, Banks, MaskForm, TemplateError};

use crate::domain::alert::{AlertFacts, AlertKind, Authenticity, Direction, Missing};
use crate::domain::time::Timestamp;
use authentic::Judgement;
use mime::{Body, ParsedMail};
use proof::{Covered, Proof};
use text_table::TextTable;

/// What a person can do about a mail of a bank that has no template.
const UNKNOWN_BANK: &str = "if this is your bank's own address, add a template for the bank: docs/banks.md \
                            shows how, with `bank try` and `bank check`";

/// What the caller knows about a mail in addition to its bytes.
#[derive(Clone, Debug, Default)]
pub struct Intake {
    /// First sight of the mail.
    pub now: Timestamp,
    /// A person vouches for it, so it needs no proof.
    pub trusted: bool,
    pub proof: Proof,
    /// A person wants to know which rules and expressions were tried; `why` tells it then.
    pub explain: bool,
}

impl Intake {
    /// A mail read as if it were trusted (`bank try`, `alert ingest --trusted`, template checks).
    pub fn trusted(now: Timestamp) -> Intake {
        Intake { now, trusted: true, ..Intake::default() }
    }

    /// The fields that something may be read from (contract/alerts.md#a8).
    fn covered(&self) -> Covered {
        match &self.proof.verdict {
            _ if self.trusted => Covered::ALL,
            proof::ProofVerdict::Proven(credential) => credential.covered,
            _ => Covered::default(),
        }
    }
}

/// The result of reading a mail, before any decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// A credit with an amount.
    Read,
    /// Recognised, and no credit: a debit, a fee, a one-time code, a statement.
    Ignored,
    /// Not recognised, or without what a decision needs; a person should look.
    Unreadable,
    /// Something speaks against it being the bank's own mail, or a person forwarded it.
    Quarantined,
}

/// Everything that was read from one mail. `why` explains the outcome in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub outcome: ReadOutcome,
    pub authenticity: Authenticity,
    pub facts: AlertFacts,
    pub message_id: Option<String>,
    /// The one From address, lower case.
    pub from: Option<String>,
    pub subject: Option<String>,
    pub date: Option<Timestamp>,
    pub to: Vec<String>,
    /// What proves it, where it is proven.
    pub authentic_by: Option<String>,
    /// Headers of a proven mail that its signature does not cover and that something would be read from.
    pub unsigned: Vec<&'static str>,
    /// A key could not be fetched: the mail may be proven later.
    pub waits: Option<Missing>,
    /// SHA-256 over From, Subject, Date and the visible content; the same for every copy of a mail
    /// however it arrived (Message-ID, Received and transfer encoding do not count). In a proven mail,
    /// unsigned headers do not count either: a thief could send the copy with another Date.
    pub content_hash: [u8; 32],
    pub why: Vec<String>,
}

/// Reads one mail. Never fails and never panics: whatever cannot be read is an outcome.
pub fn read(raw: &[u8], banks: &Banks, intake: &Intake) -> Reading {
    unsigned::weigh(raw, banks, intake, read_as_it_says(raw, banks, intake))
}

/// Reads a mail with the content type and encoding that its own headers state.
fn read_as_it_says(raw: &[u8], banks: &Banks, intake: &Intake) -> Reading {
    let mut mail = match mime::open(raw) {
        Ok(mail) => mail,
        Err(why) => return unreadable(raw, why),
    };
    let mut doubts = mail.doubts.clone();
    let mut why = mail.notes.clone();
    let Seen { tables, is_whole } = match visible(&mail, &mut doubts) {
        Ok(seen) => seen,
        Err(reason) => {
            let mut reading = unreadable(raw, reason);
            head(&mut reading, &mail);
            return reading;
        }
    };
    let mut judgement = authentic::judge(&mail, &tables, banks);
    let authentic_by = weigh_proof(&mut judgement, &mail, &intake.proof);
    if intake.trusted {
        judgement.vouched();
    }
    let mut unsigned = Vec::new();
    if authentic_by.is_some() {
        unsigned = unsigned::drop_unsigned(&mut mail, &intake.covered());
        if !unsigned.is_empty() {
            why.push(format!("not signed, and therefore not read: {}", unsigned.join(", ")));
        }
    }
    let content_hash = content_hash(&mail, &tables);
    why.extend(judgement.why.iter().cloned());
    doubts.extend(judgement.doubts.iter().cloned());
    let seen = Seen { tables: quoted_part(tables, &judgement), is_whole };
    let mut told = Vec::new();
    let (content, mut facts) = match judgement.bank {
        Some(bank) => understand(bank, banks, &mail, &seen, intake, &mut told),
        None => {
            // Not for an imitation of a known bank's address.
            if judgement.why.iter().any(|w| w.ends_with("is not a known bank's address")) {
                told.push(UNKNOWN_BANK.into());
            }
            (ReadOutcome::Quarantined, AlertFacts::default())
        }
    };
    // The deciding reason comes first. If it is the content, the proof is named after it.
    let speaks = judgement.authenticity.counts()
        || judgement.authenticity == Authenticity::Unproven
            && (intake.trusted || content == ReadOutcome::Unreadable);
    let is_aside = facts.kind.is_some_and(|kind| kind != AlertKind::Payment);
    let is_by_content =
        speaks && (is_aside || matches!(content, ReadOutcome::Ignored | ReadOutcome::Unreadable));
    let at = if is_by_content { 0 } else { why.len() };
    why.splice(at..at, told);
    doubts.append(&mut facts.doubts);
    doubts.dedup();
    facts.doubts = doubts;
    let outcome = match judgement.authenticity {
        Authenticity::Refuted | Authenticity::Forwarded => ReadOutcome::Quarantined,
        _ => content,
    };
    why.extend(facts.doubts.iter().map(|d| format!("doubt: {d}")));
    let authenticity = judgement.authenticity;
    let waits = match intake.proof.verdict {
        proof::ProofVerdict::Waits(missing) if authenticity == Authenticity::Unproven => Some(missing),
        _ => None,
    };
    let mut reading = Reading {
        outcome,
        authenticity,
        facts,
        content_hash,
        why,
        authentic_by,
        unsigned,
        waits,
        ..unreadable(&[], String::new())
    };
    head(&mut reading, &mail);
    reading
}

/// Lets a proof count where nothing speaks against the mail. Answers what proves it.
fn weigh_proof(judgement: &mut Judgement<'_>, mail: &ParsedMail, proof: &Proof) -> Option<String> {
    judgement.why.extend(proof.why.iter().cloned());
    if judgement.authenticity != Authenticity::Unproven {
        return None;
    }
    match &proof.verdict {
        proof::ProofVerdict::Proven(credential) if mail.from == [credential.from.clone()] => {
            judgement.authenticity = Authenticity::Proven;
            return Some(credential.by.clone());
        }
        proof::ProofVerdict::Failed => judgement.authenticity = Authenticity::Refuted,
        _ => {}
    }
    None
}

fn unreadable(raw: &[u8], why: String) -> Reading {
    Reading {
        outcome: ReadOutcome::Unreadable,
        authenticity: Authenticity::Unproven,
        facts: AlertFacts::default(),
        message_id: None,
        from: None,
        subject: None,
        date: None,
        to: Vec::new(),
        authentic_by: None,
        unsigned: Vec::new(),
        waits: None,
        content_hash: Sha256::digest(raw).into(),
        why: vec![why],
    }
}

fn head(reading: &mut Reading, mail: &ParsedMail) {
    reading.message_id = mail.message_id.clone();
    reading.from = match &mail.from[..] {
        [one] => Some(one.clone()),
        _ => None,
    };
    reading.subject = mail.subject.clone();
    reading.date = mail.date;
    reading.to = mail.to.clone();
}

/// What a person sees of every part.
struct Seen {
    tables: Vec<TextTable>,
    /// Nothing is known to be missing: everything was decoded, and no markup hides what follows it.
    is_whole: bool,
}

/// Shows every part as a person sees it, with doubts about what is hidden or strangely written.
fn visible(mail: &ParsedMail, doubts: &mut Vec<String>) -> Result<Seen, String> {
    let (mut tables, mut is_whole) = (Vec::new(), !mail.undecoded);
    for body in &mail.bodies {
        let mut table = match body {
            Body::Text(text) => TextTable::from_text(text),
            Body::Html(html) => {
                let page = catch_unwind(|| html::read(html))
                    .unwrap_or_else(|_| Err("the HTML cannot be parsed".into()))?;
                let is_hidden = html::looks_like_alert(&page.hidden);
                is_whole &= !(is_hidden || page.unclosed_markup || page.disguised || page.unread_style);
                if is_hidden {
                    doubts.push("the mail has hidden content that looks like part of an alert".into());
                }
                if page.unclosed_markup {
                    doubts.push(
                        "the HTML has markup that hides rows or is cut off; the payer may have typed it"
                            .into(),
                    );
                }
                if page.disguised {
                    doubts.push(
                        "the CSS reverses or adds text, so the mail does not show what was written".into(),
                    );
                }
                if page.struck_figure {
                    doubts.push("the mail shows a figure that is crossed out".into());
                }
                if page.unread_style {
                    doubts.push("the CSS cannot be evaluated as a whole, so text may be hidden".into());
                }
                page.table
            }
        };
        for odd in table.clean() {
            doubts.extend(odd.doubts().map(str::to_owned));
        }
        table.split_drawn_rows();
        if let Some(reason) = table.too_large() {
            return Err(reason);
        }
        tables.push(table);
    }
    doubts.sort();
    doubts.dedup();
    Ok(Seen { tables, is_whole })
}

/// In a forward: the rows below the quoted headers, without their quote marks.
fn quoted_part(mut tables: Vec<TextTable>, judgement: &Judgement<'_>) -> Vec<TextTable> {
    if judgement.authenticity != Authenticity::Forwarded {
        return tables;
    }
    for (table, start) in tables.iter_mut().zip(&judgement.quoted_from) {
        let lines: Vec<String> = table
            .rows
            .split_off((*start).min(table.rows.len()))
            .into_iter()
            .map(|row| row.join("\t").trim_start_matches(['>', ' ']).to_owned())
            .collect();
        *table = TextTable::from_text(&lines.join("\n"));
    }
    tables
}

/// Recognises the layout and reads it.
fn understand(
    bank: &Bank,
    banks: &Banks,
    mail: &ParsedMail,
    seen: &Seen,
    intake: &Intake,
    why: &mut Vec<String>,
) -> (ReadOutcome, AlertFacts) {
    let tables = &seen.tables[..];
    let text: String = tables.iter().map(TextTable::text).collect();
    let subject = mail.subject.as_deref().unwrap_or_default();
    let Some(layout) = extract::recognise(bank, &text, subject) else {
        let tried = || match intake.explain {
            true => extract::tried::layouts(bank, &text, subject),
            false => Vec::new(),
        };
        let own = bank.notices.iter().any(|r| r.is_match(subject) || r.is_match(&text));
        let tells_a_move = banks.shared.moves.iter().any(|r| r.is_match(&text));
        let speaks = speaks_of_money(&text) || tells_a_move;
        // Alerts also end with "Never tell anybody your code". Such a line does not make a notice of a
        // mail that says what happened to the account.
        let happened = tells_a_move || speaks && banks.shared.transactions.iter().any(|r| r.is_match(&text));
        let common = |text: &str| banks.shared.notices.iter().any(|r| r.is_match(text));
        let notice = own || common(subject) || common(&text) && !happened;
        let mut facts = AlertFacts { bank: Some(bank.code.clone()), ..AlertFacts::default() };
        // What cannot be seen may have spoken of money.
        if notice || !speaks && seen.is_whole {
            why.push(format!("{}: not a transaction", bank.name));
            why.extend(tried());
            facts.kind = Some(AlertKind::Notice);
            return (ReadOutcome::Ignored, facts);
        }
        why.push(format!(
            "{}: none of the known layouts fits. To add this layout to the bank's template, see \
             docs/banks.md; check it with `bank try`",
            bank.name
        ));
        why.extend(tried());
        return (ReadOutcome::Unreadable, facts);
    };
    why.push(format!("{}: layout {}", bank.name, layout.name));
    let covered = intake.covered();
    let head = extract::SignedHead {
        subject: mail.subject.as_deref().filter(|_| covered.subject),
        date: mail.date.filter(|_| covered.date),
        now: intake.now,
        explain: intake.explain,
    };
    let mut facts = extract::facts(bank, &banks.shared, layout, tables, &head, why);
    // The cause comes first.
    let mut because = |cause: &str| why.insert(0, cause.to_owned());
    let free = layout.free_labels();
    let labels = html::markup_boundaries::Labels {
        free: &free,
        known: &layout.known,
        spaced: layout.spaced,
        typed_max: layout.typed_max(),
        required: &|text: &str| layout.all.iter().position(|r| r.is_match(text)),
    };
    let has_injected_markup = |body: &Body| matches!(body, Body::Html(html) if html::markup_boundaries::has_injected_markup(html, &labels));
    if mail.bodies.iter().any(has_injected_markup) {
        facts.doubts.push("text that the payer typed runs into markup that is not the bank's".into());
    }
    let outcome = match (facts.direction, facts.amount) {
        (Some(Direction::Debit), Some(_)) => {
            because("a debit");
            ReadOutcome::Ignored
        }
        (Some(Direction::Credit), Some(_)) => ReadOutcome::Read,
        // A debit, too: it may take back what was credited.
        (Some(_), None) => {
            because("the amount could not be read");
            ReadOutcome::Unreadable
        }
        (None, _) => {
            because("the direction could not be read");
            ReadOutcome::Unreadable
        }
    };
    (outcome, facts)
}

/// Whether an unrecognised mail could still be an alert, so that it must not be ignored.
fn speaks_of_money(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = ["credit", "debit", "received", "transfer", "deposit", "sent you", "balance"];
    let figure = lower.split_whitespace().any(|w| {
        let digits = w.bytes().filter(u8::is_ascii_digit).count();
        digits > 0
            && (w.contains('₦')
                || w.contains("ngn")
                || w.starts_with('n') && w[1..].starts_with(|c: char| c.is_ascii_digit())
                || digits >= 3 && w.contains('.'))
    }) || lower.contains("ngn ")
        || lower.contains("amount");
    figure && words.iter().any(|w| lower.contains(w))
}

fn content_hash(mail: &ParsedMail, tables: &[TextTable]) -> [u8; 32] {
    let mut hash = Sha256::new();
    let date = mail.date.map(|d| d.0.to_string()).unwrap_or_default();
    // A signature in the relaxed form does not cover spaces that were added to the subject.
    let subject = mail.subject.as_deref().map(text_table::collapse).unwrap_or_default();
    let head = [mail.from.join(","), subject, date];
    let texts = tables.iter().map(TextTable::text);
    for part in head.into_iter().chain(texts) {
        // The length in front keeps two parts from being mistaken for one.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}
