//! The name tables: spellings, short forms, nicknames, look-alikes, titles, business words
//! and the known names, read once from `data/names/*.txt`, which are part of the binary.
//!
//! Tables are data, not rules; what they mean is said in `pair` and `business`. A line that
//! does not fit is skipped here and found by the tests. Called by the files of this room only.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use super::key::{Vowels, spelling_key};

const SPELLING: &str = include_str!("../../../data/names/spelling.txt");
const SHORT_FORMS: &str = include_str!("../../../data/names/short_forms.txt");
const NICKNAMES: &str = include_str!("../../../data/names/nicknames.txt");
const AFFIXES: &str = include_str!("../../../data/names/affixes.txt");
const NEIGHBOURS: &str = include_str!("../../../data/names/neighbours.txt");
const GENDER_PAIRS: &str = include_str!("../../../data/names/gender_pairs.txt");
const TITLES: &str = include_str!("../../../data/names/titles.txt");
const BUSINESS: &str = include_str!("../../../data/names/business.txt");
const KNOWN: &str = include_str!("../../../data/names/known_names.txt");

/// Every table, by the name of its file.
#[cfg(test)]
pub(super) const FILES: [(&str, &str); 9] = [
    ("affixes", AFFIXES),
    ("business", BUSINESS),
    ("gender_pairs", GENDER_PAIRS),
    ("known_names", KNOWN),
    ("neighbours", NEIGHBOURS),
    ("nicknames", NICKNAMES),
    ("short_forms", SHORT_FORMS),
    ("spelling", SPELLING),
    ("titles", TITLES),
];

/// Shorter words belong to a spelling group only when a table has them.
const MIN_LETTERS_BY_KEY: usize = 6;

/// What a word is apart from being a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    /// No part of a name wherever it stands.
    Title,
    /// A title in front of a name, a name elsewhere.
    LeadingTitle,
    /// LTD, PLC, NIG: the form of a company.
    Legal,
    /// What a business does, as the one word that stands for all its spellings.
    Trade(&'static str),
    /// As `Trade`, but only beside another business word.
    WeakTrade(&'static str),
}

/// Which side of a name its short form is; the other side was left away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Front,
    Back,
}

/// FNV-1a: no table takes words from outside, so nobody can choose words that collide.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Map<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;
type Set<K> = HashSet<K, BuildHasherDefault<Fnv>>;

pub(super) struct Tables {
    /// The first word of each group; group 1 stands first.
    group_names: Vec<&'static str>,
    groups: Map<&'static str, u32>,
    groups_by_key: Map<String, u32>,
    short_forms: Map<String, Vec<(Part, String)>>,
    nicknames: Map<String, Vec<String>>,
    different: Set<(&'static str, &'static str)>,
    special: Map<&'static str, Special>,
    known: Set<String>,
    parts: Set<&'static str>,
    joins: Set<&'static str>,
    starts: Vec<(&'static str, usize)>,
    ends: Vec<(&'static str, usize)>,
    swaps: Vec<(&'static str, &'static str, usize)>,
}

pub(super) fn tables() -> &'static Tables {
    static TABLES: LazyLock<Tables> = LazyLock::new(Tables::read);
    &TABLES
}

/// The data are written in ordinary case for people; the rules compare upper case. The
/// leaked copy lives as long as the process, as the table does.
fn upper(text: &'static str) -> &'static str {
    Box::leak(text.to_ascii_uppercase().into_boxed_str())
}

fn lines(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    upper(text)
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|l| l.split_whitespace().collect::<Vec<_>>())
        .filter(|w| !w.is_empty())
}

impl Tables {
    fn read() -> Tables {
        let mut t = Tables {
            group_names: Vec::new(),
            groups: Map::default(),
            groups_by_key: Map::default(),
            short_forms: Map::default(),
            nicknames: Map::default(),
            different: Set::default(),
            special: Map::default(),
            known: Set::default(),
            parts: Set::default(),
            joins: Set::default(),
            starts: Vec::new(),
            ends: Vec::new(),
            swaps: Vec::new(),
        };
        t.read_spellings();
        t.read_pairs();
        t.read_words();
        t
    }

    fn read_spellings(&mut self) {
        self.group_names = lines(SPELLING).map(|words| words[0]).collect();
        let mut unclear = HashSet::new();
        for (number, words) in (1u32..).zip(lines(SPELLING)) {
            for word in words {
                self.groups.entry(word).or_insert(number);
                self.known.insert(word.to_owned());
                for vowels in [Vowels::Sound, Vowels::Long] {
                    let key = spelling_key(word, vowels);
                    if *self.groups_by_key.entry(key.clone()).or_insert(number) != number {
                        unclear.insert(key);
                    }
                }
            }
        }
        // A key that two groups share decides nothing.
        for key in unclear {
            self.groups_by_key.remove(&key);
        }
    }

    fn read_pairs(&mut self) {
        for (text, short) in [(SHORT_FORMS, true), (NICKNAMES, false)] {
            for words in lines(text) {
                let Some((full, rest)) = words.split_first() else { continue };
                self.known.insert((*full).to_owned());
                let keys = rest.iter().map(|w| self.name_key(w)).collect::<Vec<_>>();
                let parts = rest.iter().map(|w| if full.ends_with(w) { Part::Back } else { Part::Front });
                let full = self.name_key(full);
                if short {
                    self.known.extend(rest.iter().map(|w| (*w).to_owned()));
                    self.short_forms.entry(full).or_default().extend(parts.zip(keys));
                } else {
                    self.nicknames.entry(full).or_default().extend(keys);
                }
            }
        }
        for words in lines(NEIGHBOURS).chain(lines(GENDER_PAIRS)) {
            if let [a, b] = words[..] {
                self.different.insert((a, b));
                self.different.insert((b, a));
                self.known.insert(a.to_owned());
                self.known.insert(b.to_owned());
            }
        }
    }

    fn read_words(&mut self) {
        for words in lines(TITLES) {
            let Some((kind, rest)) = words.split_first() else { continue };
            let kind = if *kind == "ANY" { Special::Title } else { Special::LeadingTitle };
            for word in rest {
                self.special.insert(word, kind);
            }
        }
        for words in lines(BUSINESS) {
            let [kind, first, ..] = words[..] else { continue };
            for word in &words[1..] {
                let special = match kind {
                    "LEGAL" => Special::Legal,
                    "WEAK" => Special::WeakTrade(first),
                    _ => Special::Trade(first),
                };
                // A word that is also a title keeps the title.
                self.special.entry(word).or_insert(special);
            }
        }
        for words in lines(AFFIXES) {
            match words[..] {
                ["START", part, n] => self.starts.push((part, n.parse().unwrap_or(usize::MAX))),
                ["END", part, n] => self.ends.push((part, n.parse().unwrap_or(usize::MAX))),
                ["SWAP", long, short, n] => {
                    self.swaps.push((long, short, n.parse().unwrap_or(usize::MAX)));
                }
                ["PART", ..] => self.parts.extend(&words[1..]),
                ["JOIN", ..] => self.joins.extend(&words[1..]),
                _ => {}
            }
        }
        self.known.extend(lines(KNOWN).flatten().map(str::to_owned));
    }

    /// One text for all spellings of a name: its group where a table has one, else its key.
    pub(super) fn name_key(&self, word: &str) -> String {
        let key = spelling_key(word, Vowels::Sound);
        match self.group(word, &key) {
            0 => key,
            group => format!("#{group}"),
        }
    }

    /// The spelling group of a word; 0 when no table has it.
    pub(super) fn group(&self, word: &str, key: &str) -> u32 {
        // A short word with the key of a spelling may be a name of its own.
        let by_key = || self.groups_by_key.get(key).filter(|_| word.len() >= MIN_LETTERS_BY_KEY);
        self.groups.get(word).or_else(by_key).copied().unwrap_or(0)
    }

    /// Every known name, sorted.
    #[cfg(test)]
    pub(super) fn all_known(&self) -> Vec<&String> {
        let mut known = self.known.iter().collect::<Vec<_>>();
        known.sort_unstable();
        known
    }

    pub(super) fn is_known(&self, word: &str) -> bool {
        self.known.contains(word)
    }

    /// A fixed first part of names (ADE, CHUKWU) or a piece of one (CHUK): says little by itself.
    pub(super) fn is_part(&self, stump: &str) -> bool {
        self.parts.iter().any(|part| part.starts_with(stump))
    }

    /// A part that makes one name with the word after it, not two.
    pub(super) fn joins_next(&self, word: &str) -> bool {
        self.joins.contains(word)
    }

    pub(super) fn special(&self, word: &str) -> Option<Special> {
        self.special.get(word).copied()
    }

    /// Two real names that only look alike: never the same person.
    pub(super) fn are_different(&self, a: &str, b: &str) -> bool {
        self.different.contains(&(a, b))
    }

    /// The short forms of a name, as name keys, and which side of it they are.
    pub(super) fn short_forms(&self, name_key: &str) -> &[(Part, String)] {
        self.short_forms.get(name_key).map_or(&[], Vec::as_slice)
    }

    /// Its nicknames, as name keys: whatever else people call somebody of that name.
    pub(super) fn nicknames(&self, name_key: &str) -> &[String] {
        self.nicknames.get(name_key).map_or(&[], Vec::as_slice)
    }

    /// The name keys of the word with another last part of the same meaning (Kelechukwu,
    /// Kelechi): often one person, but also two brothers.
    pub(super) fn swapped(&self, word: &str) -> Vec<String> {
        let swapped = self.swaps.iter().filter_map(|(long, short, least)| {
            let rest = word.strip_suffix(long).filter(|rest| rest.len() >= *least)?;
            Some(self.name_key(&format!("{rest}{short}")))
        });
        swapped.collect()
    }

    /// The name keys of what is left when a usual first or last part is left away, and the side it is.
    pub(super) fn stems(&self, word: &str) -> Vec<(Part, String)> {
        self.stem_texts(word).map(|(part, rest)| (part, self.name_key(rest))).collect()
    }

    /// What is left when a usual first or last part is left away, and the side it is.
    pub(super) fn stem_texts<'w>(&self, word: &'w str) -> impl Iterator<Item = (Part, &'w str)> {
        let back = move |(p, n): &(&str, usize)| Some((Part::Back, word.strip_prefix(p)?, *n));
        let front = move |(p, n): &(&str, usize)| Some((Part::Front, word.strip_suffix(p)?, *n));
        let all = self.starts.iter().filter_map(back).chain(self.ends.iter().filter_map(front));
        let says_little = |rest: &str| matches!(rest, "NWA" | "OLUWA" | "CHUKWU");
        let stems = all.filter(move |(_, rest, least)| rest.len() >= *least && !says_little(rest));
        stems.map(|(part, rest, _)| (part, rest))
    }

    /// The word with each usual first and last part that is left away from such a long one.
    pub(super) fn with_affixes(&self, word: &str) -> impl Iterator<Item = String> {
        let starts =
            self.starts.iter().filter(|(_, n)| word.len() >= *n).map(move |(p, _)| format!("{p}{word}"));
        let ends = self.ends.iter().filter(|(_, n)| word.len() >= *n).map(move |(p, _)| format!("{word}{p}"));
        starts.chain(ends)
    }

    /// The word with a last part written long where it is short: the way back of [`Tables::swapped`].
    pub(super) fn swapped_back(&self, word: &str) -> impl Iterator<Item = String> {
        self.swaps.iter().filter_map(|(long, short, least)| {
            let rest = word.strip_suffix(short).filter(|rest| rest.len() >= *least)?;
            Some(format!("{rest}{long}"))
        })
    }

    /// A key as it may be stored: a spelling group by its first word, for its number is its place in the table.
    pub(super) fn lasting_key(&self, name_key: &str) -> String {
        let number = name_key.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| self.group_names.get(number.checked_sub(1)?)) {
            Some(first) => format!("#{first}"),
            None => name_key.to_owned(),
        }
    }

    /// Every known name.
    pub(super) fn known_names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(String::as_str)
    }

    /// Every word of a spelling group, with the group's number.
    pub(super) fn grouped_words(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.groups.iter().map(|(word, group)| (*word, *group))
    }

    /// Every full form with its short forms, as name keys; then those with nicknames.
    pub(super) fn all_short_forms(&self) -> impl Iterator<Item = (&String, impl Iterator<Item = &String>)> {
        self.short_forms.iter().map(|(full, forms)| (full, forms.iter().map(|(_, form)| form)))
    }

    pub(super) fn all_nicknames(&self) -> impl Iterator<Item = (&String, impl Iterator<Item = &String>)> {
        self.nicknames.iter().map(|(full, forms)| (full, forms.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_its_words() {
        let t = tables();
        assert!(t.groups.len() > 3000 && t.known.len() > 8000 && t.short_forms.len() > 400);
        assert!(t.different.len() > 500 && t.starts.len() > 8 && t.ends.len() > 3);
        assert_eq!(t.special("LTD"), Some(Special::Legal));
        assert_eq!(t.special("ENT"), Some(Special::Trade("ENTERPRISE")));
        assert_eq!(t.special("ALHAJI"), Some(Special::Title));
        assert_eq!(t.special("BOLA"), None);
    }

    #[test]
    fn a_spelling_stands_in_one_group() {
        let mut seen = HashMap::new();
        for words in lines(SPELLING) {
            for word in &words {
                assert!(word.bytes().all(|b| b.is_ascii_uppercase()), "{word}");
                assert_eq!(seen.insert(*word, words[0]), None, "{word} stands twice");
            }
        }
    }

    /// The lines of a kind (`start`, `any` ...; all lines where a table has no kinds).
    fn by_kind(text: &'static str, kinds: bool) -> Vec<Vec<Vec<&'static str>>> {
        let mut found: Vec<(&str, Vec<Vec<&str>>)> = Vec::new();
        for words in lines(text) {
            let (kind, rest) = if kinds { (words[0], words[1..].to_vec()) } else { ("", words) };
            match found.last_mut().filter(|(last, _)| *last == kind) {
                Some((_, rows)) => rows.push(rest),
                None => found.push((kind, vec![rest])),
            }
        }
        let mut named = found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
        named.sort_unstable();
        named.dedup();
        assert_eq!(named.len(), found.len(), "the lines of a kind stand together");
        found.into_iter().map(|(_, rows)| rows).collect()
    }

    #[test]
    fn tables_are_sorted_and_hold_nothing_twice() {
        let tables = [SPELLING, SHORT_FORMS, NICKNAMES, NEIGHBOURS, GENDER_PAIRS, KNOWN];
        let plain = tables.into_iter().map(|text| (text, false));
        for (text, kinds) in plain.chain([AFFIXES, TITLES, BUSINESS].map(|text| (text, true))) {
            assert!(text.starts_with("# "), "a table says what it is and where it is from");
            for rows in by_kind(text, kinds) {
                assert!(rows.is_sorted_by(|a, b| a < b), "{:?}", rows.windows(2).find(|w| w[0] >= w[1]));
                for row in &rows {
                    let rest = &row[usize::from(text != KNOWN).min(row.len())..];
                    let listed = text == KNOWN || !kinds || text == BUSINESS;
                    assert!(!listed || rest.is_sorted_by(|a, b| a < b), "{row:?}");
                }
            }
        }
        let mut business = HashSet::new();
        assert!(lines(BUSINESS).all(|words| words[1..].iter().all(|w| business.insert(*w))));
        let pairs = lines(NEIGHBOURS).chain(lines(GENDER_PAIRS)).collect::<HashSet<_>>();
        assert!(pairs.iter().all(|pair| pair.len() == 2 && !pairs.contains(&vec![pair[1], pair[0]])));
    }

    #[test]
    fn no_look_alike_is_a_spelling_or_a_short_form() {
        let t = tables();
        for (a, b) in &t.different {
            let (ga, gb) = (t.groups.get(a), t.groups.get(b));
            assert!(ga.is_none() || ga != gb, "{a} {b} are one spelling group");
            assert!(a != b);
        }
    }

    #[test]
    fn a_short_form_is_one_side_of_the_name_and_no_nickname() {
        let nicknames: HashSet<(&str, &str)> = lines(NICKNAMES)
            .flat_map(|row| row[1..].iter().map(|w| (row[0], *w)).collect::<Vec<_>>())
            .collect();
        for row in lines(SHORT_FORMS) {
            for short in &row[1..] {
                assert!(row[0].len() > short.len(), "{row:?}");
                assert!(row[0].starts_with(short) || row[0].ends_with(short), "{} {short}", row[0]);
                assert!(!nicknames.contains(&(row[0], *short)), "{} {short} stands in both tables", row[0]);
            }
        }
        assert_eq!(
            tables().short_forms(&tables().name_key("ADEBAYO")),
            [(Part::Back, tables().name_key("BAYO"))]
        );
        let amara = (Part::Front, tables().name_key("AMARA"));
        assert!(tables().short_forms(&tables().name_key("AMARACHI")).contains(&amara));
    }

    #[test]
    fn affixes_make_short_forms() {
        let t = tables();
        let has = |full: &str, short: &str| t.stems(full).iter().any(|(_, stem)| *stem == t.name_key(short));
        assert!(has("OLUWADUNSIN", "DUNSIN"));
        assert!(has("SOPURUCHUKWU", "SOPURU"));
        assert_eq!(t.swapped("SOPURUCHUKWU"), [t.name_key("SOPURUCHI")]);
        assert!(t.swapped("SOPURUCHI").is_empty() && t.swapped("UGOCHUKWU").is_empty());
        assert!(has("ABDURRASHEED", "RASHID"));
        assert!(!has("NWACHUKWU", "NWA"));
        assert!(!has("DUNSIN", "OLUWADUNSIN"));
        assert!(!has("ADEWALE", "OLAWALE"));
    }
}
