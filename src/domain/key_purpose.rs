//! What the keys of a database are for (`vault::ring`).

/// What a key of the database is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPurpose {
    /// Tokens, look-up hashes, peppers.
    Derive,
    Seal,
}

impl KeyPurpose {
    pub fn as_str(self) -> &'static str {
        match self {
            KeyPurpose::Derive => "derive",
            KeyPurpose::Seal => "seal",
        }
    }

    pub fn parse(text: &str) -> Option<KeyPurpose> {
        [KeyPurpose::Derive, KeyPurpose::Seal].into_iter().find(|purpose| purpose.as_str() == text)
    }
}
