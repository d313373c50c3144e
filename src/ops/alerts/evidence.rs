//! A decision as JSON, for the database and for people who ask why.
//!
//! Kept with the alert and with the settlement, so that every approval and every refusal to
//! approve can be explained years later from what was known then.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::domain::alert::AlertRow;
use crate::domain::matching::{Considered, Decision, Verdicts};
use crate::domain::time::Timestamp;

#[derive(Serialize)]
struct Evidence<'a> {
    verdict: &'static str,
    /// What is told of the payments is as of then; a program of before did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken_at: Option<String>,
    reasons: Vec<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    doubts: &'a [String],
    considered: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    transaction_id: &'a str,
    business_id: i64,
    /// Whether the payment asks for money on the account that the alert is about, if that is certain.
    account: &'static str,
    status: &'static str,
    expected_name: &'a str,
    name: &'static str,
    name_reason: &'a str,
    amount: String,
    amount_fit: &'static str,
    time_fit: &'static str,
}

fn line(c: &Considered) -> Line<'_> {
    Line {
        transaction_id: &c.transaction_id,
        business_id: c.business_id,
        account: c.which_account.as_str(),
        status: c.status.as_str(),
        expected_name: &c.expected_name,
        name: c.name.as_str(),
        name_reason: &c.name_reason,
        amount: c.amount.to_string(),
        amount_fit: c.amount_fit.as_str(),
        time_fit: c.time_fit.as_str(),
    }
}

/// The decision's JSON text, made at `now`.
pub fn encode(decision: &Decision, now: Timestamp) -> String {
    encode_taken(decision, Some(now.to_string()))
}

/// Whether the stored evidence says the same, whenever it was taken.
pub fn is_told(decision: &Decision, stored: &str) -> bool {
    let taken = serde_json::from_str::<Taken>(stored).map(|taken| taken.taken_at);
    taken.is_ok_and(|taken_at| encode_taken(decision, taken_at) == stored)
}

#[derive(Deserialize)]
struct Taken {
    taken_at: Option<String>,
}

/// A payment as it was weighed, in the words of the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Suggestion {
    pub transaction_id: String,
    pub business_id: i64,
    /// On which account it asks; a program of before did not say.
    #[serde(default)]
    pub account: String,
    #[serde(default)]
    pub expected_name: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub name_reason: String,
    #[serde(default)]
    pub amount_fit: String,
    #[serde(default)]
    pub time_fit: String,
}

/// The reasons that stored evidence gave for leaving an alert to a person.
pub fn reasons_of(stored: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Reasons {
        reasons: Vec<String>,
    }
    serde_json::from_str::<Reasons>(stored).map(|found| found.reasons).unwrap_or_default()
}

/// What spoke against an approval beside the payments themselves, each by itself and in no other words: also before a person approved,
/// whose approval may have been taken back since. None where a program of before wrote it.
pub fn doubts_of(stored: &str) -> Vec<String> {
    takes(stored).filter_map(|take| take.doubts).flatten().collect()
}

/// What the rules read of stored evidence, and of what it holds of before a person approved; the last first.
#[derive(Deserialize)]
struct Take {
    doubts: Option<Vec<String>>,
    considered: Option<Box<RawValue>>,
    before: Option<Box<Take>>,
}

fn takes(stored: &str) -> impl Iterator<Item = Take> {
    let mut next = serde_json::from_str::<Take>(stored).ok();
    std::iter::from_fn(move || {
        let mut take = next.take()?;
        next = take.before.take().map(|before| *before);
        Some(take)
    })
}

/// Whether one of the doubts for which an alert waits says something already to whoever decides. Whole doubts are asked about, for a merchant's
/// words stand within some reasons; and the alert's reason still says it, for one that was held since says something else.
pub fn is_told_of(alert: &AlertRow, says_it: impl Fn(&str) -> bool) -> bool {
    let told = if alert.status.is_waiting() { doubts_of(&alert.evidence) } else { Vec::new() };
    told.iter().any(|doubt| says_it(doubt) && alert.reason.contains(doubt))
}

/// The payments that the rules considered when they last looked, the likeliest first: before a person approved, where
/// one did, for the approval may have been taken back since.
pub fn considered_in(stored: &str) -> Vec<Suggestion> {
    let considered = takes(stored).find_map(|take| take.considered);
    considered.and_then(|lines| serde_json::from_str(lines.get()).ok()).unwrap_or_default()
}

fn encode_taken(decision: &Decision, taken_at: Option<String>) -> String {
    let (verdict, reasons) = match &decision.verdict {
        Verdicts::Approve { rule, .. } => ("approve", vec![rule.as_str()]),
        Verdicts::Review { reasons, .. } => ("review", reasons.iter().map(String::as_str).collect()),
        Verdicts::Unmatched { reason } => ("unmatched", vec![reason.as_str()]),
    };
    let considered = decision.considered.iter().map(line).collect();
    let evidence = Evidence { taken_at, verdict, reasons, doubts: &decision.doubts, considered };
    // Strings and lists of strings cannot fail to serialise.
    serde_json::to_string(&evidence).unwrap_or_default()
}

/// What a person decided against or for, beside what the rules had seen.
#[derive(Serialize)]
struct Approval<'a> {
    verdict: &'static str,
    taken_at: String,
    operator: &'a str,
    despite: Option<&'a str>,
    obstacles: &'a [String],
    name: &'static str,
    name_reason: &'a str,
    received: String,
    requested: String,
    before: Option<Box<RawValue>>,
}

/// A person's approval as JSON text.
pub struct OperatorApproval<'a> {
    pub now: Timestamp,
    pub operator: &'a str,
    pub despite: Option<&'a str>,
    pub obstacles: &'a [String],
    pub name: crate::domain::name::NameVerdict,
    pub name_reason: &'a str,
    pub received: crate::domain::money::Money,
    pub requested: crate::domain::money::Money,
    /// The alert's evidence until now: what the rules had seen. Kept inside.
    pub before: &'a str,
}

pub fn encode_operator(approval: &OperatorApproval<'_>) -> String {
    let wire = Approval {
        taken_at: approval.now.to_string(),
        verdict: "approved by an operator",
        operator: approval.operator,
        despite: approval.despite,
        obstacles: approval.obstacles,
        name: approval.name.as_str(),
        name_reason: approval.name_reason,
        received: approval.received.to_string(),
        requested: approval.requested.to_string(),
        before: RawValue::from_string(approval.before.to_owned()).ok(),
    };
    serde_json::to_string(&wire).unwrap_or_default()
}
