//! Keys of single words: what a word is stored under, and what is looked for to find every word it may stand
//! for. Made of the same tables as the name rule, turned round once. Called by `index` only.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::super::fold::{Word, sound_of};
use super::super::key::{Vowels, spelling_key};
use super::super::pair::one_letter_apart;
use super::super::tables::{Special, tables};
use super::SHORT_WORD;

/// The tables of names, turned round.
struct Turned {
    /// Name keys of full forms by a short form's.
    full_forms: HashMap<String, Vec<String>>,
    full_of_nicknames: HashMap<String, Vec<String>>,
    /// Stored keys of known names that are stored under others than their own, by their name key.
    stored: HashMap<String, BTreeSet<String>>,
    /// Name keys of spelling groups by the spelling key of any of their words.
    groups: HashMap<String, BTreeSet<String>>,
}

/// Known names by their ends and their sound: asked for words alone that no table knows.
fn known_by_end() -> &'static HashMap<String, Vec<&'static str>> {
    static BY_END: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
        let mut by_end: HashMap<String, Vec<&'static str>> = HashMap::new();
        for word in tables().known_names() {
            for end in ends(word, sound_of(&spelling_key(word, Vowels::Sound)).as_deref()) {
                by_end.entry(end).or_default().push(word);
            }
        }
        by_end
    });
    &BY_END
}

fn turned() -> &'static Turned {
    static TURNED: LazyLock<Turned> = LazyLock::new(Turned::read);
    &TURNED
}

impl Turned {
    fn read() -> Turned {
        let t = tables();
        let mut turned = Turned {
            full_forms: turn(t.all_short_forms()),
            full_of_nicknames: turn(t.all_nicknames()),
            stored: HashMap::new(),
            groups: HashMap::new(),
        };
        for word in t.known_names().filter(|word| known_stems(word).next().is_some()) {
            turned.stored.entry(t.name_key(word)).or_default().extend(stored_text(word));
        }
        for (word, group) in t.grouped_words() {
            for vowels in [Vowels::Sound, Vowels::Long] {
                let group = format!("#{group}");
                turned.groups.entry(spelling_key(word, vowels)).or_default().insert(group);
            }
        }
        turned
    }
}

fn turn<'a, F: Iterator<Item = &'a String>>(
    table: impl Iterator<Item = (&'a String, F)>,
) -> HashMap<String, Vec<String>> {
    let mut turned: HashMap<String, Vec<String>> = HashMap::new();
    for (full, shorts) in table {
        for short in shorts {
            turned.entry(short.clone()).or_default().push(full.clone());
        }
    }
    turned
}

/// What a word of a payment's name is stored under: the known names that are left without its usual first or
/// last part, else itself. Full and short form then meet without a row for each.
pub(super) fn stored_text(text: &str) -> Vec<String> {
    let t = tables();
    let mut keys: BTreeSet<String> = known_stems(text).map(|rest| t.name_key(rest)).collect();
    if keys.is_empty() {
        let own = t.name_key(text);
        if !own.starts_with('#') && (text.contains("EE") || text.contains("OO")) {
            keys.insert(spelling_key(text, Vowels::Long));
        }
        keys.insert(own);
    }
    keys.iter().map(|key| t.lasting_key(key)).collect()
}

/// The same for a payment's name. Of a word that no table knows, or of which no known name is left, the word itself and
/// whatever is left of it: the other name may have it in another spelling, and beside a typing error.
pub(super) fn stored_with_stems(text: &str) -> Vec<String> {
    let t = tables();
    let mut keys: BTreeSet<String> = stored_text(text).into_iter().collect();
    if !t.is_known(text) || known_stems(text).next().is_none() {
        let own = t.name_key(text);
        if !own.starts_with('#') && (text.contains("EE") || text.contains("OO")) {
            keys.insert(spelling_key(text, Vowels::Long));
        }
        keys.insert(t.lasting_key(&own));
        keys.extend(t.stem_texts(text).map(|(_, rest)| t.lasting_key(&t.name_key(rest))));
    }
    keys.into_iter().collect()
}

fn known_stems(text: &str) -> impl Iterator<Item = &str> {
    tables().stem_texts(text).map(|(_, rest)| rest).filter(|rest| tables().is_known(rest))
}

/// What is looked for to find the words that agree with one.
pub(super) struct Agreeing {
    pub keys: Vec<String>,
    /// Full forms that no table has, of a word that no table has: many, and hardly ever stored.
    pub unheard: Vec<String>,
}

/// What is looked for to find every word that agrees with this one.
pub(super) fn agreeing(word: &Word) -> Agreeing {
    let (t, turned) = (tables(), turned());
    let own = own_keys(word);
    let mut keys = own.clone();
    for key in &own {
        keys.extend(t.short_forms(key).iter().map(|(_, form)| form.clone()));
        keys.extend(turned.full_forms.get(key).into_iter().flatten().cloned());
    }
    let mut found = as_stored(&keys);
    found.extend(stored_text(&word.text));
    let unheard = if word.known {
        Vec::new()
    } else {
        t.with_affixes(&word.text).flat_map(|full| stored_text(&full)).collect()
    };
    Agreeing { keys: found.into_iter().collect(), unheard }
}

/// What is looked for to find every word that is nearly this one: a nickname, a typing error, a like sound.
pub(super) fn nearly(word: &Word) -> Vec<String> {
    let (t, turned) = (tables(), turned());
    let mut keys: BTreeSet<String> = t.swapped(&word.text).into_iter().collect();
    for key in own_keys(word) {
        keys.extend(t.nicknames(&key).iter().cloned());
        keys.extend(turned.full_of_nicknames.get(&key).into_iter().flatten().cloned());
    }
    let mut found = as_stored(&keys);
    found.extend(t.swapped_back(&word.text).flat_map(|long| stored_text(&long)));
    // With God's name written long on one side and short on the other.
    let other = match (word.text.strip_prefix("OLUWA"), word.text.strip_prefix("OLU")) {
        (Some(rest), _) => Some(format!("OLU{rest}")),
        (None, rest) => rest.map(|rest| format!("OLUWA{rest}")),
    };
    found.extend(other.iter().flat_map(|other| stored_text(other)));
    if !word.known {
        for end in ends(&word.text, word.sound()) {
            let is_sound = end.starts_with(SOUND);
            let known = known_by_end().get(&end).into_iter().flatten();
            let alike = known.filter(|known| is_sound || one_letter_apart(&word.text, known));
            found.extend(alike.flat_map(|known| stored_text(known)));
        }
    }
    found.into_iter().collect()
}

/// A title that some bear as a name.
pub(super) fn is_name_as_well(title: &Word) -> bool {
    tables().special(&title.text) == Some(Special::LeadingTitle)
}

fn own_keys(word: &Word) -> BTreeSet<String> {
    let mut own: BTreeSet<String> = word.spelling_keys().into_iter().map(str::to_owned).collect();
    for key in word.spelling_keys() {
        own.extend(turned().groups.get(key).into_iter().flatten().cloned());
    }
    own.extend(tables().stems(&word.text).into_iter().map(|(_, stem)| stem));
    own
}

/// Name keys as payments of known names are stored under them, and as such.
fn as_stored(keys: &BTreeSet<String>) -> BTreeSet<String> {
    let other = keys.iter().filter_map(|key| turned().stored.get(key)).flatten().cloned();
    keys.iter().map(|key| tables().lasting_key(key)).chain(other).collect()
}

const SOUND: char = '~';

/// How a word begins and ends, and its sound: of two words one letter apart, or alike in sound, at least one is
/// the same. Of a short word, whose change may leave neither two first nor two last letters, also one of each.
pub(super) fn ends(word: &str, sound: Option<&str>) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let counts = if letters.len() <= SHORT_WORD { [1, 2] } else { [2, 2] };
    let mut ends = BTreeSet::new();
    for count in counts.into_iter().filter(|count| letters.len() > *count) {
        ends.insert(format!("<{}", letters[..count].iter().collect::<String>()));
        ends.insert(format!(">{}", letters[letters.len() - count..].iter().collect::<String>()));
    }
    // Swapped, two letters have no end in common.
    if let [a, b] = letters[..] {
        ends.insert(format!("={}{}", a.min(b), a.max(b)));
    }
    ends.extend(sound.map(|sound| format!("{SOUND}{sound}")));
    ends.into_iter().collect()
}
