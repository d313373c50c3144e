//! Keys by which payments are found by name: what a payment's name is stored under, and what is looked for.
//!
//! An index over these keys answers "which open payments of this amount bear a name like that one" without
//! reading the payments of other names, however many share the amount. A key only finds candidates; what they
//! are worth is the name rule's to say. The promise is one-sided: two names that are not `different` share a
//! key, except for the exotic forms named in `index/tests.rs`, which are counted there.
//!
//! Two names that are not different agree in two words, or one of them is a single word, or they agree in one
//! word and the others are nearly the same. So a name is stored under every two of its words (each by the key of
//! its spelling, or by the known name that is left without a usual first or last part), a single word by
//! itself, and a word that no table knows, which alone may be a typing error, by its ends. The looking side does
//! the rest of the work, because names are written more often than they are looked for.

#[cfg(test)]
mod mutated_tests;
mod related;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::fold::{Folded, Kind, Word};
use super::tables::tables;

/// Keys stored for one name. Two words make one, three make three; more only where words are unknown or have
/// several stems. A name that would need more is found by its first ones.
pub const STORED_KEYS_MAX: usize = 64;
/// Keys looked for at once; a name that would need more says that its keys are not all.
pub const SOUGHT_KEYS_MAX: usize = 512;
/// Unknown words of longer names would need too many keys for their ends: each of their words is stored by itself.
const WORDS_WITH_ENDS_MAX: usize = 4;
/// Pieces of a joined word have at least this many letters.
const PIECE_MIN: usize = 2;
/// A word joined of more pieces is not looked for, as by the name rule.
const JOINED_PIECES_MAX: usize = 4;
/// Orders of words that are joined, of names with very many: their keys are too many anyhow.
const ORDERS_MAX: usize = 512;
/// Words between two names that are none themselves, of two letters or more.
const PARTICLES: [&str; 5] = ["BINTI", "BINT", "BIN", "IBN", "DAN"];
/// A letter changed inside a word this short may leave neither its first two nor its last two letters.
const SHORT_WORD: usize = 4;

/// What is looked for, and whether it covers every name that is not different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoughtKeys {
    pub keys: Vec<i64>,
    /// Some names that are not different may be stored under other keys.
    pub is_incomplete: bool,
    /// A stored name that is close to this one may share a single word with it, which is no key: this one has an
    /// initial, which that one may write out, or a word that may be a title.
    pub may_share_one_word: bool,
}

/// How like the name a stored one must be to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Two names agree: every name that matches.
    Agreeing,
    /// Every name that is not different.
    NotDifferent,
}

/// The keys a payment of this payer's name is stored under; none for a name too long to be decided by rule.
pub fn stored_keys(name: &Folded) -> Vec<i64> {
    let name = name.likely.as_deref().unwrap_or(name);
    // A title in front that is a name as well counts, because another writing of the name may keep it.
    let may_be_name = |word: &&Word| {
        word.kind == Kind::Name || (word.kind == Kind::Title && related::is_name_as_well(word))
    };
    let words: Vec<&Word> = name.words.iter().filter(may_be_name).collect();
    let keys: Vec<Vec<String>> = words.iter().map(|word| related::stored_with_stems(&word.text)).collect();
    let mut found = Keys::new(STORED_KEYS_MAX);
    if let ([word], [own]) = (&words[..], &keys[..]) {
        found.singles(own);
        if !word.known {
            found.ends(&[SINGLE.to_owned()], &related::ends(&word.text, word.sound()));
        }
    }
    // Written out in another name, an initial leaves one word in common; and so does a title that may be a name.
    // Beside a typing error a long name has no other key, see below.
    let is_long = words.len() > WORDS_WITH_ENDS_MAX && words.iter().any(|word| !word.known);
    if is_long || name.words.iter().any(|word| word.kind == Kind::Initial || word.may_be_title) {
        // First, for there may be too many of the others.
        keys.iter().for_each(|own| found.singles(own));
    }
    // A word that no table knows may be two names written as one, which are all of the name that a bank shows.
    for (_, own) in words.iter().zip(&keys).filter(|(word, _)| !word.known) {
        found.wholes(own);
    }
    found.pairs_within(&keys);
    if !is_long {
        for (i, word) in words.iter().enumerate().filter(|(_, word)| !word.known) {
            let ends = related::ends(&word.text, word.sound());
            for (j, others) in keys.iter().enumerate() {
                if i != j {
                    found.ends(others, &ends);
                }
            }
        }
    }
    found.hashed.into_iter().collect()
}

/// The keys under which payments are stored whose payer's name is like this one.
pub fn sought_keys(name: &Folded, likeness: Likeness) -> SoughtKeys {
    let words = names_of(name);
    let nearly = likeness == Likeness::NotDifferent;
    let (mut related, mut unheard) = (Vec::new(), Vec::new());
    for word in &words {
        let agreeing = related::agreeing(word);
        related.push(agreeing.keys);
        unheard.push(agreeing.unheard);
    }
    // What is stored most often stands first, should there be too many.
    let mut found = Keys::new(SOUGHT_KEYS_MAX);
    found.pairs_within(&related);
    if nearly || name.business {
        related.iter().for_each(|keys| found.singles(keys));
    }
    if nearly {
        found.near(&words, &related);
        // A title that was dropped here may stand in the other name as a name.
        for title in
            name.words.iter().filter(|word| word.kind == Kind::Title && related::is_name_as_well(word))
        {
            let own = related::stored_text(&title.text);
            related.iter().for_each(|keys| found.pairs(&own, keys));
        }
    }
    found.joined_words(name, &words, &related, nearly);
    found.split_words(&words);
    found.pairs_of_all(&related, &unheard);
    // A single word is close to every name that holds it, among whatever others.
    let is_incomplete = name.too_long || found.is_full() || ((nearly || name.business) && words.len() < 2);
    let is_one_word = |word: &Word| word.kind == Kind::Initial || word.may_be_title;
    let may_share_one_word = nearly && (name.words.iter().any(is_one_word) || may_be_one_known_name(&words));
    SoughtKeys { is_incomplete, may_share_one_word, keys: found.hashed.into_iter().collect() }
}

/// Whether all words are one that a table knows, written apart: close to every name that holds it.
fn may_be_one_known_name(words: &[&Word]) -> bool {
    let in_order: String = words.iter().map(|word| word.text.as_str()).collect();
    let back: String = words.iter().rev().map(|word| word.text.as_str()).collect();
    (2..=JOINED_PIECES_MAX).contains(&words.len())
        && (tables().is_known(&in_order) || tables().is_known(&back))
}

const SINGLE: &str = "1";

fn names_of(name: &Folded) -> Vec<&Word> {
    name.words.iter().filter(|word| word.kind == Kind::Name).collect()
}

struct Keys {
    hashed: BTreeSet<i64>,
    most: usize,
}

impl Keys {
    fn new(most: usize) -> Keys {
        Keys { hashed: BTreeSet::new(), most }
    }

    fn is_full(&self) -> bool {
        self.hashed.len() >= self.most
    }

    fn put(&mut self, parts: &[&str]) {
        if !self.is_full() {
            self.hashed.insert(hash(parts));
        }
    }

    fn singles(&mut self, keys: &[String]) {
        keys.iter().for_each(|key| self.put(&[SINGLE, key]));
    }

    fn wholes(&mut self, keys: &[String]) {
        keys.iter().for_each(|key| self.put(&["4", key]));
    }

    fn pairs(&mut self, first: &[String], second: &[String]) {
        for a in first {
            for b in second {
                self.put(&if a <= b { ["2", a, b] } else { ["2", b, a] });
            }
        }
    }

    /// Every word of the list with every other.
    fn pairs_within(&mut self, words: &[Vec<String>]) {
        for (i, first) in words.iter().enumerate() {
            words[i + 1..].iter().for_each(|second| self.pairs(first, second));
        }
    }

    /// Every word of the one list with every other word of the second.
    fn pairs_of_all(&mut self, one: &[Vec<String>], other: &[Vec<String>]) {
        for (i, first) in one.iter().enumerate() {
            for (_, second) in other.iter().enumerate().filter(|(j, _)| *j != i) {
                self.pairs(first, second);
            }
        }
    }

    /// A word and the ends of another.
    fn ends(&mut self, others: &[String], ends: &[String]) {
        for other in others {
            for end in ends {
                self.put(&["3", other, end]);
            }
        }
    }

    /// Words of the name that a stored one may write as one word. A word that no table knows is stored as a whole,
    /// so what else the name holds matters beside known ones only.
    fn joined_words(&mut self, name: &Folded, words: &[&Word], related: &[Vec<String>], nearly: bool) {
        let is_piece = |word: &&Word| matches!(word.kind, Kind::Name | Kind::Particle);
        let pieces: Vec<&Word> = name.words.iter().filter(is_piece).collect();
        let mut known: Vec<([usize; 2], Vec<String>)> = Vec::new();
        for (i, first) in pieces.iter().enumerate() {
            for (j, second) in pieces.iter().enumerate().filter(|(j, _)| *j != i) {
                let whole = Word::joined(&[first, second]);
                let joined = related::stored_text(&whole.text);
                self.singles(&joined);
                self.wholes(&joined);
                for (word, keys) in words.iter().zip(related) {
                    if word.text != first.text && word.text != second.text {
                        self.pairs(&joined, keys);
                        if nearly && whole.known {
                            self.pairs(&joined, &related::nearly(word));
                            self.ends(&joined, &related::ends(&word.text, word.sound()));
                        }
                    }
                }
                if whole.known {
                    known.push(([i, j], joined));
                }
            }
        }
        for (at, (pieces, joined)) in known.iter().enumerate() {
            let beside =
                known[at + 1..].iter().filter(|(others, _)| others.iter().all(|one| !pieces.contains(one)));
            beside.for_each(|(_, other)| self.pairs(joined, other));
        }
        self.long_joined_words(&pieces, words, related);
    }

    /// Three and more words that a stored name may write as one, in any order.
    fn long_joined_words(&mut self, pieces: &[&Word], words: &[&Word], related: &[Vec<String>]) {
        let mut orders: Vec<Vec<usize>> = (0..pieces.len()).map(|at| vec![at]).collect();
        for length in 2..=JOINED_PIECES_MAX {
            let longer = orders.iter().flat_map(|order| {
                (0..pieces.len()).filter(|at| !order.contains(at)).map(|at| [&order[..], &[at]].concat())
            });
            orders = longer.take(ORDERS_MAX).collect();
            for order in orders.iter().filter(|_| length > 2) {
                let parts: Vec<&Word> = order.iter().map(|at| pieces[*at]).collect();
                let whole: String = parts.iter().map(|part| part.text.as_str()).collect();
                let joined = related::stored_text(&whole);
                self.wholes(&joined);
                if tables().is_known(&whole) {
                    self.singles(&joined);
                    let is_other = |word: &Word| parts.iter().all(|part| part.text != word.text);
                    let others = words.iter().zip(related).filter(|(word, _)| is_other(word));
                    others.for_each(|(_, keys)| self.pairs(&joined, keys));
                }
            }
        }
    }

    /// A word that a stored name may write as several. The second piece may end anywhere: more may follow; and a
    /// particle (BIN) may stand before it, which is no name.
    fn split_words(&mut self, words: &[&Word]) {
        for word in words {
            let letters: Vec<char> = word.text.chars().collect();
            for at in PIECE_MIN..letters.len().saturating_sub(PIECE_MIN - 1) {
                let (first, rest) = letters.split_at(at);
                let first = related::stored_text(&first.iter().collect::<String>());
                let rest: String = rest.iter().collect();
                let after_particle = PARTICLES.iter().filter_map(|particle| rest.strip_prefix(particle));
                for rest in std::iter::once(rest.as_str()).chain(after_particle) {
                    for (end, letter) in rest.char_indices().skip(PIECE_MIN - 1) {
                        self.pairs(&first, &related::stored_text(&rest[..end + letter.len_utf8()]));
                    }
                }
            }
        }
    }

    /// One word agrees and another is a typing error, a like sound or a nickname apart.
    fn near(&mut self, words: &[&Word], related: &[Vec<String>]) {
        for (i, word) in words.iter().enumerate() {
            let near = related::nearly(word);
            let ends = related::ends(&word.text, word.sound());
            let alone = vec![SINGLE.to_owned()];
            if words.len() == 1 {
                self.ends(&alone, &ends);
                self.singles(&near);
            }
            for (_, keys) in related.iter().enumerate().filter(|(j, _)| *j != i) {
                self.pairs(keys, &near);
                self.ends(keys, &ends);
            }
        }
    }
}

/// FNV-1a, 64 bits. Not secret: a collision only costs one more comparison, because the name rule decides.
fn hash(parts: &[&str]) -> i64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    // The low bits of the last letters spread over the whole.
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (hash ^ (hash >> 32)).cast_signed()
}
