//! Keys by which payments are found by name: every two words of a folded name, hashed.
//!
//! Two names of one person share at least two words, so a payment whose payer's name agrees with
//! an alert's is found among millions by one of a few keys, whatever its amount. A key only finds
//! candidates; what they are worth is the name rule's to say.

use sha2::{Digest, Sha256};

use crate::domain::name::Folded;

/// Words of a name that make keys; longer names are covered by their first words well enough.
const WORDS_MAX: usize = 5;

/// Keys of a name, without repetition; none for a single word.
pub fn name_pairs(name: &str) -> Vec<i64> {
    let folded = Folded::new(name);
    let mut words: Vec<String> = folded.index_words().collect();
    words.sort_unstable();
    words.dedup();
    words.truncate(WORDS_MAX);
    let mut pairs = Vec::new();
    for (i, first) in words.iter().enumerate() {
        for second in &words[i + 1..] {
            let digest = Sha256::digest(format!("{first}|{second}").as_bytes());
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&digest[..8]);
            pairs.push(i64::from_be_bytes(bytes));
        }
    }
    pairs
}
