//! What proves a mail: the answer of `mail_proof`, and the fields that it covers.
//!
//! Only data: nothing is checked here. A mail without an answer is read as unproven.

use crate::domain::alert::Missing;

/// Which fields a proof covers, so that something may be read from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    pub subject: bool,
    pub date: bool,
    pub to: bool,
    pub message_id: bool,
    /// The content's type, or that there is none: one that nobody signed can be taken away as well as
    /// changed, and under another one a narration can be made to read as rows of the bank's.
    pub content_type: bool,
    /// No transfer encoding that changes the bytes is told but by the bank.
    pub encoding: bool,
    /// The transfer encoding is signed, or that there is none.
    pub encoding_signed: bool,
}

impl Covered {
    /// All fields, as for a mail that a person vouches for.
    pub const ALL: Covered = Covered {
        subject: true,
        date: true,
        to: true,
        message_id: true,
        content_type: true,
        encoding: true,
        encoding_signed: true,
    };
}

/// What proves a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// For people and for the record: `dkim d=... s=... key=sha256:...` or `authserv-id ... d=...`.
    pub by: String,
    /// The From address it was given for.
    pub from: String,
    pub covered: Covered,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProofVerdict {
    /// Nothing proves it, nothing refutes it.
    #[default]
    Nothing,
    Proven(Credential),
    /// A signature of the bank's own fails: the mail is not what the bank signed.
    Failed,
    /// A key could not be fetched: ask again later.
    Waits(Missing),
}

/// The answer with its reasons in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    pub verdict: ProofVerdict,
    pub why: Vec<String>,
}
