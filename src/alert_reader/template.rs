//! The banks' templates: TOML under `banks/`, embedded, and checked when they are read.
//!
//! A template says which senders are the bank's, how its mails are recognised, and where their fields are. This
//! file knows no bank. The operator's own folder can replace or add templates. Doors and `ops` ask it for
//! banks; `extract` runs the layouts.

mod compile;
pub mod embedded;
mod pattern;
pub mod raw;

use std::collections::{HashMap, HashSet};
use std::path::Path;

pub(super) use pattern::Pattern;

use crate::domain::alert::{AlertKind, Direction};

/// Template files read from a folder.
const MAX_TEMPLATES: usize = 500;
/// Bytes of one template file.
const MAX_TEMPLATE_BYTES: u64 = 512 * 1024;

/// Characters that the interbank network carries in a narration.
const NETWORK_LIMIT: usize = 100;
/// Characters of a narration of a bank whose limit nobody knows.
const LONGEST_TYPED: usize = 160;

/// What is wrong with a template; names the file and the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("{file}: {message}")]
    Parse { file: String, message: String },
    #[error("{file}: {key}: {message}")]
    Value { file: String, key: String, message: String },
    #[error("{file}: cannot be read: {message}")]
    Io { file: String, message: String },
    #[error("banks.folder: {0}")]
    Configured(Box<TemplateError>),
}

/// How many digits of an account number a bank's alerts leave visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskForm {
    /// Visible digits at the beginning.
    pub lead: usize,
    /// Visible digits at the end, before `hidden_end` masked ones.
    pub trail: usize,
    pub hidden_end: usize,
}

impl MaskForm {
    /// Whether alerts under this mask could belong to either of two account numbers.
    pub fn confuses(&self, a: &str, b: &str) -> bool {
        self.visible(a) == self.visible(b)
    }

    fn visible<'a>(&self, number: &'a str) -> (&'a [u8], &'a [u8]) {
        let digits = number.as_bytes();
        let end = digits.len().saturating_sub(self.hidden_end);
        let (lead, trail) = (self.lead.min(digits.len()), end.saturating_sub(self.trail));
        (&digits[..lead], &digits[trail..end])
    }
}

/// One bank as its template describes it.
#[derive(Debug)]
pub struct Bank {
    /// Short name used in the database: `gtbank`.
    pub code: String,
    /// Display name: `GTBank`.
    pub name: String,
    pub aliases: Vec<String>,
    pub nip_codes: Vec<String>,
    /// Lower case.
    pub senders: Vec<String>,
    pub dkim_domains: Vec<String>,
    pub currency: Option<String>,
    /// The narration of a credit holds only what the payer typed, and nothing that the network adds.
    pub narration_is_typed: bool,
    /// Its signatures cover Content-Type. If they do not, the body of its mails must show what it is.
    pub signs_content_type: bool,
    /// Lengths in characters at which the bank cuts names; ascending.
    pub cut_lengths: Vec<usize>,
    /// `None` where the alerts show the whole number or none.
    pub mask: Option<MaskForm>,
    /// Names of the layouts, in the order they are tried.
    pub layout_names: Vec<String>,
    pub(super) layouts: Vec<Layout>,
    /// Narrations of collections through virtual accounts.
    pub(super) collections: Vec<Pattern>,
    pub(super) narrations: Vec<NarrationRule>,
    pub(super) kinds: Vec<KindRule>,
    pub(super) notices: Vec<Pattern>,
    pub(super) examples: Vec<raw::RawExample>,
    /// `None`: no mail of its can be written for test mode.
    pub(super) simulation: Option<raw::RawSimulation>,
}

#[derive(Debug)]
pub(super) struct Layout {
    pub name: String,
    pub all: Vec<Pattern>,
    pub none: Vec<Pattern>,
    pub subject: Vec<Pattern>,
    pub spaced: bool,
    pub reference_is_unique: bool,
    pub narration_limit: Option<usize>,
    pub direction: DirectionRule,
    pub fields: HashMap<FieldName, FieldRule>,
    pub continuation: Option<Continuation>,
    /// Every label of the layout, folded.
    pub known: Vec<String>,
}

impl Layout {
    /// Characters that a payer may have typed into one value: the bank's limit, or the network's.
    pub fn typed_max(&self) -> usize {
        let continued = self.continuation.as_ref().map(|c| c.at.max(c.limit));
        self.narration_limit.max(continued).map_or(LONGEST_TYPED, |limit| limit.max(NETWORK_LIMIT))
    }

    /// Labels of the values that a payer may have typed, folded.
    pub fn free_labels(&self) -> Vec<String> {
        let mut free: Vec<String> = self.continuation.iter().flat_map(|c| c.labels.clone()).collect();
        for name in [FieldName::Narration, FieldName::Payer] {
            free.extend(self.fields.get(&name).into_iter().flat_map(|f| f.labels.clone()));
        }
        free
    }
}

#[derive(Debug)]
pub(super) struct DirectionRule {
    pub labels: Vec<String>,
    pub credit: Vec<Pattern>,
    pub debit: Vec<Pattern>,
    pub subject_credit: Vec<Pattern>,
    pub subject_debit: Vec<Pattern>,
    pub amount_suffix: bool,
}

#[derive(Debug, Default)]
pub(super) struct FieldRule {
    pub labels: Vec<String>,
    pub lines: Vec<Pattern>,
    pub subject: Vec<Pattern>,
    pub subject_alone: bool,
}

#[derive(Debug)]
pub(super) struct Continuation {
    pub labels: Vec<String>,
    pub at: usize,
    pub gap_after: usize,
    pub limit: usize,
}

#[derive(Debug)]
pub(super) struct NarrationRule {
    pub pattern: Pattern,
    /// As it is written in the template.
    pub written: String,
    pub layouts: Vec<String>,
    pub direction: Option<Direction>,
    pub filled: Option<bool>,
    pub no_payer: bool,
    pub payer_wins: bool,
    pub payer_cut_at: Option<usize>,
    pub loose: bool,
}

#[derive(Debug)]
pub(super) struct KindRule {
    /// `None`: only a doubt.
    pub kind: Option<AlertKind>,
    pub pattern: Pattern,
    pub direction: Option<Direction>,
}

/// The fields a layout may place. `date` may hold a time as well; `time` adds to a bare date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FieldName {
    Amount,
    Currency,
    Account,
    Holder,
    Narration,
    Reference,
    Session,
    Payer,
    PayerAccount,
    PayerBank,
    Date,
    Time,
    Available,
    Ledger,
}

impl FieldName {
    pub const ALL: [FieldName; 14] = [
        FieldName::Amount,
        FieldName::Currency,
        FieldName::Account,
        FieldName::Holder,
        FieldName::Narration,
        FieldName::Reference,
        FieldName::Session,
        FieldName::Payer,
        FieldName::PayerAccount,
        FieldName::PayerBank,
        FieldName::Date,
        FieldName::Time,
        FieldName::Available,
        FieldName::Ledger,
    ];

    /// Its name in templates.
    pub const fn as_str(self) -> &'static str {
        match self {
            FieldName::Amount => "amount",
            FieldName::Currency => "currency",
            FieldName::Account => "account",
            FieldName::Holder => "holder",
            FieldName::Narration => "narration",
            FieldName::Reference => "reference",
            FieldName::Session => "session",
            FieldName::Payer => "payer",
            FieldName::PayerAccount => "payer_account",
            FieldName::PayerBank => "payer_bank",
            FieldName::Date => "date",
            FieldName::Time => "time",
            FieldName::Available => "available",
            FieldName::Ledger => "ledger",
        }
    }
}

/// What holds for every bank.
#[derive(Debug)]
pub(super) struct Shared {
    /// What replaces `{BANK}` in an expression.
    pub words: String,
    pub name_noise: Vec<Pattern>,
    /// Folded.
    pub not_names: Vec<String>,
    pub not_in_names: Vec<Pattern>,
    pub not_in_loose_names: Vec<Pattern>,
    pub notices: Vec<Pattern>,
    pub transactions: Vec<Pattern>,
    pub moves: Vec<Pattern>,
    pub reversals: Vec<Pattern>,
    pub states: States,
    pub claims: Claims,
    pub narrations: Vec<NarrationRule>,
    pub kinds: Vec<KindRule>,
    pub institutions: Institutions,
}

/// Rows that tell what became of the money.
#[derive(Debug)]
pub(super) struct States {
    /// Folded.
    pub labels: Vec<String>,
    pub label_ends: Pattern,
    pub other_labels: Pattern,
    pub come: Pattern,
    pub out: Pattern,
    pub kept: Pattern,
    pub none_kept: Pattern,
    pub waiting: Pattern,
    pub charges: Pattern,
    pub advice: Pattern,
    pub prose: Pattern,
    pub other: Pattern,
    pub lost: Pattern,
    pub went: Vec<Pattern>,
    pub about: Pattern,
    pub general: Pattern,
    pub plural: Pattern,
    pub no: Pattern,
    pub subject: Pattern,
    /// Folded.
    pub typed: Vec<String>,
}

impl States {
    /// Everything that tells of money that is not there.
    pub fn words(&self) -> impl Iterator<Item = &Pattern> {
        std::iter::once(&self.lost).chain(&self.went)
    }
}

/// Words by which the parts of a mail are compared. Lists of words are in lower case.
#[derive(Debug)]
pub(super) struct Claims {
    pub aside: Vec<String>,
    pub told: Vec<String>,
    pub fillers: Vec<String>,
    pub neutral: Vec<Pattern>,
    pub debit: Vec<Pattern>,
    pub credit: Vec<Pattern>,
    pub payer_rows: Vec<Pattern>,
    pub payer_told: Vec<Pattern>,
    pub stops: Vec<String>,
    pub nobody: Vec<String>,
    pub ordinary: Vec<String>,
    pub links: Pattern,
}

/// The interbank network's members, by code and by the letters in narrations.
#[derive(Debug, Default)]
pub struct Institutions {
    by_code: HashMap<String, String>,
    by_letters: HashMap<String, String>,
    /// Names and letters without the words of `FORMS`, as `core` writes them.
    cores: HashSet<String>,
}

/// Words that say what kind of institution it is.
const FORMS: [&str; 11] =
    ["BANK", "PLC", "LTD", "LIMITED", "NIGERIA", "NIG", "OF", "THE", "MFB", "MICROFINANCE", "NIGERIAN"];

/// The words of an institution's name that are its own.
fn core(name: &str) -> String {
    let upper = name.to_uppercase();
    let words = upper.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty() && !FORMS.contains(w));
    words.collect::<Vec<_>>().join(" ")
}

impl Institutions {
    /// Display name for a six-digit code, or for the code that a session id begins with.
    pub fn by_code(&self, code: &str) -> Option<&str> {
        self.by_code.get(code.get(..6)?).map(String::as_str)
    }

    /// Whether the session id was made by another institution than the narration names. Letters
    /// without a code and codes nobody listed contradict nothing.
    pub fn contradict(&self, session: &str, letters: &str) -> bool {
        let named = self.by_letters(letters);
        self.by_code(session).zip(named).is_some_and(|(maker, named)| maker != named)
    }

    /// Whether a name is an institution's and nothing else: `ACCESS BANK PLC`, `UBA`.
    pub fn is_one(&self, name: &str) -> bool {
        let core = core(name);
        !core.is_empty() && self.cores.contains(&core)
    }

    /// Display name of an institution as a narration writes it.
    pub fn by_letters(&self, letters: &str) -> Option<&str> {
        self.by_letters.get(&super::text_table::collapse(letters).to_uppercase()).map(String::as_str)
    }
}

/// All templates, compiled.
#[derive(Debug)]
pub struct Banks {
    banks: Vec<Bank>,
    replaced: Vec<(String, String)>,
    by_sender: HashMap<String, usize>,
    by_domain: HashMap<String, usize>,
    pub(super) shared: Shared,
}

impl Banks {
    /// The templates that the binary carries.
    pub fn embedded() -> Result<Banks, TemplateError> {
        Banks::assemble(embedded::TEMPLATES.iter().map(|(f, t)| ((*f).to_owned(), (*t).to_owned())).collect())
    }

    /// The built-in templates, with those of the configured folder if there is one.
    pub fn configured(folder: Option<&Path>) -> Result<Banks, TemplateError> {
        match folder {
            Some(folder) => Banks::load(folder).map_err(|error| TemplateError::Configured(Box::new(error))),
            None => Banks::embedded(),
        }
    }

    /// The embedded templates with those of a folder on top: a file whose `code` exists replaces
    /// that bank, another adds one.
    pub fn load(dir: &Path) -> Result<Banks, TemplateError> {
        let io = |path: &Path, e: std::io::Error| TemplateError::Io {
            file: path.display().to_string(),
            message: e.to_string(),
        };
        let mut files: Vec<(String, String)> =
            embedded::TEMPLATES.iter().map(|(f, t)| ((*f).to_owned(), (*t).to_owned())).collect();
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|e| io(dir, e))? {
            let path = entry.map_err(|e| io(dir, e))?.path();
            if path.extension().is_some_and(|e| e == "toml") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.truncate(MAX_TEMPLATES);
        for path in paths {
            let size = std::fs::metadata(&path).map_err(|e| io(&path, e))?.len();
            if size > MAX_TEMPLATE_BYTES {
                let message = format!("the file is larger than {MAX_TEMPLATE_BYTES} bytes");
                return Err(TemplateError::Io { file: path.display().to_string(), message });
            }
            files.push((
                path.display().to_string(),
                std::fs::read_to_string(&path).map_err(|e| io(&path, e))?,
            ));
        }
        Banks::assemble(files)
    }

    /// Compiles named template texts; a later one replaces an earlier one of the same code.
    pub fn assemble(files: Vec<(String, String)>) -> Result<Banks, TemplateError> {
        let (institutions, words) = compile::institutions(embedded::NIP_CODES)?;
        let mut shared = compile::shared(embedded::NARRATION, &words, institutions)?;
        let (mut banks, mut replaced): (Vec<Bank>, Vec<(String, String)>) = (Vec::new(), Vec::new());
        for (file, text) in files {
            let bank = compile::bank(&file, &text, &words, &shared.states.labels)?;
            match banks.iter_mut().find(|b| b.code == bank.code) {
                Some(old) => {
                    replaced.push((bank.code.clone(), file));
                    *old = bank;
                }
                None => banks.push(bank),
            }
        }
        let names = banks.iter().flat_map(|bank| bank.aliases.iter().chain([&bank.name]));
        shared.institutions.cores.extend(names.map(|name| core(name)));
        banks.sort_by_key(|bank| bank.name.to_lowercase());
        let (mut by_sender, mut by_domain) = (HashMap::new(), HashMap::new());
        for (i, bank) in banks.iter().enumerate() {
            for sender in &bank.senders {
                if let Some(other) = by_sender.insert(sender.clone(), i).filter(|o| *o != i) {
                    return Err(TemplateError::Value {
                        file: bank.code.clone(),
                        key: "senders".into(),
                        message: format!("{sender} is already a sender of {}", banks[other].code),
                    });
                }
                if let Some((_, domain)) = sender.split_once('@') {
                    by_domain.entry(domain.to_owned()).or_insert(i);
                }
            }
        }
        Ok(Banks { banks, replaced, by_sender, by_domain, shared })
    }

    /// Files whose codes were there already, with these codes: each takes the place of the one before.
    pub fn replaced(&self) -> &[(String, String)] {
        &self.replaced
    }

    /// All banks, by display name.
    pub fn list(&self) -> &[Bank] {
        &self.banks
    }

    pub fn by_code(&self, code: &str) -> Option<&Bank> {
        self.banks.iter().find(|b| b.code == code)
    }

    /// A bank by code, display name or alias, ignoring case, spaces and punctuation.
    pub fn by_name_or_alias(&self, name: &str) -> Option<&Bank> {
        let wanted = squeeze(name);
        if wanted.is_empty() {
            return None;
        }
        self.banks
            .iter()
            .find(|b| [&b.code, &b.name].into_iter().chain(&b.aliases).any(|n| squeeze(n) == wanted))
    }

    /// The bank that lists this address as a sender (lower case).
    pub fn by_sender(&self, address: &str) -> Option<&Bank> {
        self.by_sender.get(address).map(|i| &self.banks[*i])
    }

    /// The bank whose senders use this domain, exactly.
    pub fn by_sender_domain(&self, domain: &str) -> Option<&Bank> {
        self.by_domain.get(domain).map(|i| &self.banks[*i])
    }

    /// Codes and letters of the interbank network.
    pub fn institutions(&self) -> &Institutions {
        &self.shared.institutions
    }
}

fn squeeze(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
