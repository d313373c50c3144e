//! A setting that takes one text or a list of them.

use serde::Deserialize;

/// A single text or a list of them: one address needs no brackets, above all in the environment.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a text or a list of texts")]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Default for OneOrMore {
    fn default() -> OneOrMore {
        OneOrMore::More(Vec::new())
    }
}

impl OneOrMore {
    pub(super) fn list(self) -> Vec<String> {
        match self {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}
