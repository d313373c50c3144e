//! The shape of a template file, as it stands in TOML. Every unknown key is an error.
//!
//! Nothing is interpreted here; `template` compiles these into what `extract` runs. The
//! meaning of each key is told in docs/banks.md; this file is its reference.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One bank: `banks/<code>.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawBank {
    pub code: String,
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub nip_codes: Vec<String>,
    /// Exact addresses that alerts come from.
    pub senders: Vec<String>,
    /// Domains that may sign them.
    pub dkim_domains: Vec<String>,
    /// Currency of alerts that show none.
    pub currency: Option<String>,
    /// The narration of a credit holds only what the payer typed, and nothing that the network adds.
    #[serde(default)]
    pub narration_is_typed: bool,
    /// The bank's signatures cover Content-Type.
    #[serde(default = "yes")]
    pub signs_content_type: bool,
    /// Lengths, in characters, at which the bank cuts names.
    #[serde(default)]
    pub cut_lengths: Vec<usize>,
    pub mask: Option<RawMask>,
    /// Further labels of the bank's mails: where one begins, the value before it has ended.
    #[serde(default)]
    pub other_labels: Vec<String>,
    /// Mails of this bank that are no transaction, by subject or text.
    #[serde(default)]
    pub notices: Vec<String>,
    #[serde(default)]
    pub layout: Vec<RawLayout>,
    /// Expressions over narrations of credits that came through virtual accounts, whole or damaged.
    #[serde(default)]
    pub collections: Vec<String>,
    #[serde(default)]
    pub narration: Vec<RawNarration>,
    #[serde(default)]
    pub kind: Vec<RawKind>,
    #[serde(default)]
    pub example: Vec<RawExample>,
    /// How a mail of the bank's is written for test mode.
    pub simulation: Option<RawSimulation>,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawMask {
    pub lead: usize,
    pub trail: usize,
    #[serde(default)]
    pub hidden_end: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLayout {
    pub name: String,
    /// All of these must be found in the visible text.
    pub all: Vec<String>,
    /// None of these may be found.
    #[serde(default)]
    pub none: Vec<String>,
    /// One of these must be found in the subject, if any is given.
    #[serde(default)]
    pub subject: Vec<String>,
    /// One space may separate a label from its value.
    #[serde(default)]
    pub spaced: bool,
    #[serde(default)]
    pub reference_is_unique: bool,
    /// Characters at which the bank cuts the narration.
    pub narration_limit: Option<usize>,
    #[serde(default)]
    pub direction: RawDirection,
    #[serde(default)]
    pub fields: BTreeMap<String, RawField>,
    pub continuation: Option<RawContinuation>,
}

/// Where the direction is told. All places that tell one must agree.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawDirection {
    /// Rows whose value begins with credit or debit.
    #[serde(default)]
    pub labels: Vec<String>,
    #[serde(default)]
    pub credit: Vec<String>,
    #[serde(default)]
    pub debit: Vec<String>,
    #[serde(default)]
    pub subject_credit: Vec<String>,
    #[serde(default)]
    pub subject_debit: Vec<String>,
    /// CR or DR behind the amount counts.
    #[serde(default)]
    pub amount_suffix: bool,
}

/// Where a field is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawField {
    #[serde(default)]
    pub labels: Vec<String>,
    /// Expressions over the visible text; the value is group `v`.
    #[serde(default)]
    pub lines: Vec<String>,
    /// Expressions over the subject; a check, or the value where `subject_alone`.
    #[serde(default)]
    pub subject: Vec<String>,
    #[serde(default)]
    pub subject_alone: bool,
}

/// A narration that goes on in another row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawContinuation {
    pub labels: Vec<String>,
    /// The first part is cut at this many characters.
    pub at: usize,
    /// The second part has one space too many after this many characters.
    pub gap_after: usize,
    /// The second part is cut at this many characters.
    pub limit: usize,
}

/// What a narration tells, by named groups: payer, payer2, bank, payer_account, session,
/// reference, receiver, virtual, kobo, day.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawNarration {
    pub pattern: String,
    /// Only in these layouts; in all when empty.
    #[serde(default)]
    pub layouts: Vec<String>,
    /// credit (the default), debit or any.
    #[serde(default)]
    pub direction: Option<String>,
    /// Only when the narration did (or did not) fill its field.
    pub filled: Option<bool>,
    /// A narration of this form names no payer.
    #[serde(default)]
    pub no_payer: bool,
    /// Where `payer` and `payer2` name two people, `payer` is the bank's own word. Otherwise none is read.
    #[serde(default)]
    pub payer_wins: bool,
    /// Characters at which the bank cuts the name in `payer`.
    pub payer_cut_at: Option<usize>,
    /// The bank also writes other things in the name's place: two words at least, and none of
    /// `not_in_loose_names`.
    #[serde(default)]
    pub loose: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawKind {
    /// reversal, fee, own_transfer, or doubt.
    pub kind: String,
    /// Found in the narration.
    pub pattern: String,
    /// credit, debit or any (the default).
    #[serde(default)]
    pub direction: Option<String>,
}

/// A mail of the template's own and what must be read from it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawExample {
    pub name: String,
    pub from: String,
    pub subject: String,
    pub date: String,
    pub text: Option<String>,
    pub html: Option<String>,
    pub expect: BTreeMap<String, String>,
}

/// A mail of the bank's about money that came, with places for what it tells; see `write`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawSimulation {
    pub from: String,
    pub subject: String,
    pub text: Option<String>,
    pub html: Option<String>,
    /// What the bank makes of the payer's name and remark.
    pub narration: Option<String>,
    /// Characters at which the bank cuts it.
    pub narration_limit: Option<usize>,
}

/// Words that hold for every bank: `data/narration.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawShared {
    /// Cut out of a name, whatever they match.
    pub name_noise: Vec<String>,
    /// Whole names that are an institution or no name at all.
    pub not_names: Vec<String>,
    /// If found in a name, it is not a name.
    pub not_in_names: Vec<String>,
    /// The same for names from places where a bank also writes other things.
    pub not_in_loose_names: Vec<String>,
    pub notices: Vec<String>,
    /// Found in a mail, they tell that something happened to the account, so that it is no notice.
    pub transactions: Vec<String>,
    /// Found in a mail, each of them tells of an amount of money that moved.
    pub moves: Vec<String>,
    /// Found in the subject or in a short row of a credit, they send it to a person.
    pub reversals: Vec<String>,
    pub states: RawStates,
    pub claims: RawClaims,
    #[serde(default)]
    pub narration: Vec<RawNarration>,
    pub kind: Vec<RawKind>,
}

/// Rows that tell what became of the money.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawStates {
    pub labels: Vec<String>,
    /// The end of other labels of a state, and those of them that tell of something else.
    pub label_ends: String,
    pub other_labels: String,
    /// A whole value that says that the money came.
    pub come: String,
    /// In a debit: a whole value that says that it left.
    pub out: String,
    /// A whole label of money that is kept back, and a whole value that means none.
    pub kept: String,
    pub none_kept: String,
    /// A whole row that says that the money waits.
    pub waiting: String,
    /// A sentence about charges, or of advice: it tells of no debit of this money.
    pub charges: String,
    pub advice: String,
    /// The label was the beginning of a sentence.
    pub prose: String,
    /// Another state, in the middle of a line.
    pub other: String,
    /// Words of return and failure.
    pub lost: String,
    /// That nothing came, waits, was stopped, or was taken again.
    pub went: Vec<String>,
    /// A long sentence that speaks of this transaction.
    pub about: String,
    /// Up to those words: a sentence about any transaction.
    pub general: String,
    /// From those words on: transactions in general, or a row of another meaning.
    pub plural: String,
    /// A row that says that there is no such thing.
    pub no: String,
    /// The same as `lost` in a subject, where "pending" is a state as well.
    pub subject: String,
    /// Labels at which a payer's remark may stand.
    pub typed: Vec<String>,
}

/// Words by which the parts of a mail are compared; `extract/parts.rs` says how each is used.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawClaims {
    pub aside: Vec<String>,
    pub told: Vec<String>,
    pub fillers: Vec<String>,
    pub neutral: Vec<String>,
    pub debit: Vec<String>,
    pub credit: Vec<String>,
    pub payer_rows: Vec<String>,
    pub payer_told: Vec<String>,
    pub stops: Vec<String>,
    pub nobody: Vec<String>,
    pub ordinary: Vec<String>,
    pub links: String,
}

/// Institutions of the interbank network: `data/nip_codes.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawInstitutions {
    pub institution: Vec<RawInstitution>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawInstitution {
    /// Six digits; several names may share none.
    pub code: Option<String>,
    pub name: String,
    /// How narrations write it.
    #[serde(default)]
    pub letters: Vec<String>,
}
