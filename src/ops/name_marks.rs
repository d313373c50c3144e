//! Marks by which payments are found by name: a few bits for every word of a folded name.
//!
//! Two names of one person share at least two words, so a payment whose payer's name agrees with an
//! alert's bears the bits of two of the alert's words, whatever its amount. Marks only find
//! candidates; what they are worth is the name rule's to say.

use sha2::{Digest, Sha256};

use crate::domain::name::Folded;
use crate::store::payments::NAME_MASKS;

/// Bits of a word. With three of 64, about one in fifty thousand names of four words bears the bits
/// of two words it does not hold.
const BITS_PER_WORD: usize = 3;
/// Words of an alert's name that are looked for, two at a time: `NAME_MASKS` is how many pairs
/// they make. Longer names are covered by their first words well enough.
const WORDS_MAX: usize = 5;

/// The bits of all words of a name; none for a name without words.
pub fn name_marks(name: &Folded) -> i64 {
    name.index_words().map(|word| bits(&word)).fold(0, |marks, word| marks | word)
}

/// What the marks of a payment must hold, one pair of words at a time; empty for a single word.
pub fn name_masks(name: &str) -> Vec<i64> {
    let mut words: Vec<String> = Folded::new(name).index_words().collect();
    words.sort_unstable();
    words.dedup();
    words.truncate(WORDS_MAX);
    let words: Vec<i64> = words.iter().map(|word| bits(word)).collect();
    let mut masks = Vec::with_capacity(NAME_MASKS);
    for (i, first) in words.iter().enumerate() {
        masks.extend(words[i + 1..].iter().map(|second| first | second));
    }
    masks
}

fn bits(word: &str) -> i64 {
    let digest = Sha256::digest(word.as_bytes());
    digest[..BITS_PER_WORD].iter().fold(0, |bits, byte| bits | (1 << (byte & 63)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(received: &str, expected: &str) -> bool {
        let marks = name_marks(&Folded::new(expected));
        name_masks(received).iter().any(|mask| marks & mask == *mask)
    }

    #[test]
    fn two_shared_words_in_any_order_and_spelling_find_a_name() {
        assert!(finds("BASSEY EKAETE", "Ekaete Ima Bassey"));
        assert!(finds("Mohammed Danlami Sule", "SULE MUHAMMED"));
        assert!(!finds("BASSEY EKAETE", "Ekaete Ima Duke"));
    }

    #[test]
    fn a_single_word_finds_nothing_and_five_words_fill_the_masks() {
        assert!(name_masks("Bassey").is_empty());
        assert_eq!(name_masks("Ada Bem Chi Dan Efe Fola Gozie").len(), NAME_MASKS);
    }

    #[test]
    fn marks_stay_what_they_were() {
        // They are stored: other bits would hide every payment made before.
        assert_eq!(bits("EKAETE"), 1 << 7 | 1 << 10 | 1 << 32);
    }
}
