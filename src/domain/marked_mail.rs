//! A mail as a person sees it, as text, with the places marked from which the facts of its alert were read.
//!
//! Made by `alert_reader`, shown by pages. Every text in it is the bank's, the payer's or a stranger's.

/// What was read at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarkedField {
    Amount,
    Currency,
    Account,
    Holder,
    Payer,
    PayerAccount,
    PayerBank,
    Narration,
    Reference,
    Session,
    Time,
    Balance,
    VirtualAccount,
}

impl MarkedField {
    /// In a word or two, for the label beside the place.
    pub fn in_words(self) -> &'static str {
        match self {
            MarkedField::Amount => "amount",
            MarkedField::Currency => "currency",
            MarkedField::Account => "account",
            MarkedField::Holder => "holder",
            MarkedField::Payer => "payer",
            MarkedField::PayerAccount => "payer's account",
            MarkedField::PayerBank => "payer's bank",
            MarkedField::Narration => "narration",
            MarkedField::Reference => "reference",
            MarkedField::Session => "session id",
            MarkedField::Time => "time",
            MarkedField::Balance => "balance",
            MarkedField::VirtualAccount => "virtual account",
        }
    }
}

/// A part of a line; what was read there, if anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedPiece {
    pub text: String,
    pub field: Option<MarkedField>,
}

/// One readable part of the mail: its lines, without empty ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkedPart {
    /// It was HTML; else plain text.
    pub is_page: bool,
    pub lines: Vec<Vec<MarkedPiece>>,
    /// There are more lines, or longer ones, than are shown.
    pub is_cut: bool,
}

impl MarkedPart {
    /// How many places are marked.
    pub fn marks(&self) -> usize {
        self.lines.iter().flatten().filter(|piece| piece.field.is_some()).count()
    }
}

/// A mail as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkedMail {
    pub from: Vec<String>,
    pub to: Vec<String>,
    pub subject: Option<String>,
    /// The part with the most marks first.
    pub parts: Vec<MarkedPart>,
}
