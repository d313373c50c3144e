//! Runs every template's own examples (`bank check`). A template without an example fails, because nobody would
//! notice when it stops reading its bank.

use super::template::raw::RawExample;
use super::{Banks, Intake, ReadOutcome, Reading, write};
use crate::domain::alert::{AlertFacts, AlertKind, Authenticity, Balance, Direction, TimePrecision};
use crate::domain::money::Money;
use crate::domain::time::Timestamp;

/// The outcome of one example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// Code of the bank.
    pub bank: String,
    pub example: String,
    /// One line per field that was read otherwise than expected; empty when all is well.
    pub differences: Vec<String>,
}

impl CheckResult {
    pub fn ok(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Runs all examples of all banks.
pub fn check(banks: &Banks) -> Vec<CheckResult> {
    let mut results = Vec::new();
    for bank in banks.list() {
        if bank.examples.is_empty() {
            results.push(CheckResult {
                bank: bank.code.clone(),
                example: String::new(),
                differences: vec!["the template has no example".into()],
            });
        }
        if let Some(Err(wrong)) = bank.simulation.as_ref().map(write::check) {
            let (bank, example) = (bank.code.clone(), "simulation".into());
            results.push(CheckResult { bank, example, differences: vec![wrong] });
        }
        for example in &bank.examples {
            results.push(CheckResult {
                bank: bank.code.clone(),
                example: example.name.clone(),
                differences: differences(example, banks),
            });
        }
    }
    results
}

/// An example as a mail; `None` when it has no body or two.
pub(super) fn raw_mail(example: &RawExample) -> Option<Vec<u8>> {
    let (kind, body) = match (&example.html, &example.text) {
        (Some(html), None) => ("text/html", html),
        (None, Some(text)) => ("text/plain", text),
        _ => return None,
    };
    let raw = format!(
        "From: {}\r\nSubject: {}\r\nDate: {}\r\nMIME-Version: 1.0\r\nContent-Type: {kind}; charset=utf-8\r\n\r\n{body}",
        example.from, example.subject, example.date
    );
    Some(raw.into_bytes())
}

fn differences(example: &RawExample, banks: &Banks) -> Vec<String> {
    let Some(raw) = raw_mail(example) else {
        return vec!["an example needs either text or html, not both".into()];
    };
    let reading = super::read(&raw, banks, &Intake::trusted(Timestamp::MAX));
    let mut out = Vec::new();
    if reading.date.is_none() {
        out.push(format!(
            "date: {:?} is not a mail's date, such as \"Mon, 30 Mar 2026 09:19:20 +0100\"",
            example.date
        ));
    }
    for (field, want) in &example.expect {
        match shown(&reading, field) {
            None => out.push(format!("{field}: unknown field")),
            Some(got) if got != *want => out.push(format!("{field}: expected {want:?}, read {got:?}")),
            Some(_) => {}
        }
    }
    if out.is_empty() && example.expect.is_empty() {
        out.push("the example expects nothing".into());
    }
    out
}

/// A field of a reading as text, empty when unread; `None` for a name that is no field. Every fact is named, so that a
/// new one does not compile before it is shown here or said not to be.
pub fn shown(reading: &Reading, field: &str) -> Option<String> {
    let AlertFacts {
        bank,
        template,
        direction,
        kind,
        amount,
        currency,
        account_number,
        virtual_account,
        virtual_amount,
        virtual_day: _,   // examples name the amount beside it
        is_collection: _, // a doubt may follow from it, which is shown
        holder_name,
        payer_name,
        payer_name_cut,
        payer_account_number,
        payer_bank,
        narration,
        narration_cut,
        remarks,
        reference,
        reference_is_unique: _, // the template's word
        session_id,
        occurred,
        balance,
        doubts,
    } = &reading.facts;
    let text = |v: &Option<String>| v.clone().unwrap_or_default();
    let money = |m: &Option<Money>| m.map(|m| m.to_string()).unwrap_or_default();
    Some(match field {
        "outcome" => outcome_word(reading.outcome).into(),
        "authentic" => authenticity_word(reading.authenticity).into(),
        "bank" => text(bank),
        "layout" => text(template),
        "direction" => direction.map(direction_word).unwrap_or_default().into(),
        "kind" => kind.map(kind_word).unwrap_or_default().into(),
        "amount" => money(amount),
        "currency" => text(currency),
        "account" => text(account_number),
        "virtual" => text(virtual_account),
        "virtual_amount" => money(virtual_amount),
        "holder" => text(holder_name),
        "payer" => text(payer_name),
        "payer_cut" => payer_name_cut.to_string(),
        "payer_account" => text(payer_account_number),
        "payer_bank" => text(payer_bank),
        "narration" => text(narration),
        "narration_cut" => narration_cut.to_string(),
        "remarks" => text(remarks),
        "reference" => text(reference),
        "session" => text(session_id),
        "balance" => match balance {
            Some(Balance::Available(m) | Balance::Ledger(m)) => m.to_string(),
            None => String::new(),
        },
        "occurred" => match occurred {
            Some(t) if t.precision != TimePrecision::None => lagos(t.begin, t.precision),
            _ => String::new(),
        },
        "doubts" => doubts.join("; "),
        _ => return None,
    })
}

/// `2026-07-30`, `2026-07-30T19:33` or `2026-07-30T19:33:11`, as exact as the bank was, in Lagos.
fn lagos(at: Timestamp, precision: TimePrecision) -> String {
    let local =
        Timestamp(at.0 + i64::from(crate::domain::time::LAGOS_OFFSET_SECONDS) * 1_000_000).to_string();
    let length = match precision {
        TimePrecision::Second => 19,
        TimePrecision::Minute => 16,
        TimePrecision::Day | TimePrecision::None => 10,
    };
    local.get(..length).unwrap_or_default().to_owned()
}

/// The words of the command line for an outcome.
pub const fn outcome_word(outcome: ReadOutcome) -> &'static str {
    match outcome {
        ReadOutcome::Read => "read",
        ReadOutcome::Ignored => "ignored",
        ReadOutcome::Unreadable => "unreadable",
        ReadOutcome::Quarantined => "quarantined",
    }
}

/// Proven, unproven or refuted; a forward is unproven by its nature.
pub const fn authenticity_word(authenticity: Authenticity) -> &'static str {
    match authenticity {
        Authenticity::Proven => "proven",
        Authenticity::Refuted => "refuted",
        Authenticity::Trusted
        | Authenticity::Unproven
        | Authenticity::Forwarded
        | Authenticity::Simulated => "unproven",
    }
}

pub const fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Credit => "credit",
        Direction::Debit => "debit",
    }
}

pub const fn kind_word(kind: AlertKind) -> &'static str {
    match kind {
        AlertKind::Payment => "payment",
        AlertKind::Reversal => "reversal",
        AlertKind::Fee => "fee",
        AlertKind::OwnTransfer => "own_transfer",
        AlertKind::Notice => "notice",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert_reader::template::FieldName;

    #[test]
    fn an_example_can_expect_every_field_that_a_template_places() {
        let banks = Banks::embedded().unwrap();
        let reading = crate::alert_reader::read(b"", &banks, &Intake::trusted(Timestamp::MAX));
        for name in FieldName::ALL {
            let field = match name {
                FieldName::Date | FieldName::Time => "occurred",
                FieldName::Available | FieldName::Ledger => "balance",
                other => other.as_str(),
            };
            assert!(shown(&reading, field).is_some(), "`shown` does not know the field {field}");
        }
    }
}
