//! Folding: from a name as written to upper-case words without marks, each with its keys and
//! with what it is (name, initial, title, business word ...).
//!
//! Nothing is compared here. `Folded` is made once for a name and compared many times; it
//! does not know the bank's cut lengths, so a title at the end is kept until `pair` decides.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::key::{Vowels, spelling_key};
use super::tables::{Part, Special, tables};

/// Longer names, and names of more words, are never decided by a rule.
pub(super) const MAX_CHARS: usize = 120;
/// A name that stands before a description has no more words than most people's.
const WORDS_OF_BEGINNING: usize = 4;
/// Names that a table knows and that stand further back, as in "Order 12 of Chidi Okafor".
const NAMES_BEHIND: usize = 4;
/// So many words of a text are looked at for them.
const WORDS_OF_TEXT: usize = 64;
pub(super) const MAX_WORDS: usize = 10;
/// `fold` reads no further than this; the API allows 255, wallets 120.
const MAX_FOLD_CHARS: usize = 1024;
/// One sign can unfold into up to 18 letters; this bounds the folded text.
const MAX_FOLDED_BYTES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Initial,
    Title,
    /// BIN, IBN, DAN between two names.
    Particle,
    /// JNR, SNR, II: which of two bearers of one name; the number tells them apart.
    Generation(u8),
    And,
    /// A word without a letter.
    Number,
    Legal,
    Trade(&'static str),
}

#[derive(Clone, Debug)]
pub(super) struct Word {
    pub text: String,
    pub kind: Kind,
    key: String,
    long_key: String,
    group: u32,
    name_key: String,
    stems: Vec<(Part, String)>,
    swapped: Vec<String>,
    sound: Option<String>,
    short_forms: &'static [(Part, String)],
    /// The short forms of its stems: Lola, of Damilola, of Oluwadamilola.
    stem_short_forms: Vec<(Part, &'static [(Part, String)])>,
    nicknames: &'static [String],
    pub known: bool,
    /// A title that stands in front and is kept as a name, because a single one would remain.
    pub may_be_title: bool,
}

impl Word {
    fn new(text: String, kind: Kind) -> Word {
        let key = spelling_key(&text, Vowels::Sound);
        let doubled = text.contains("EE") || text.contains("OO");
        let long_key = if doubled { spelling_key(&text, Vowels::Long) } else { key.clone() };
        let group = tables().group(&text, &key);
        let known = tables().is_known(&text);
        let name_key = if group == 0 { key.clone() } else { format!("#{group}") };
        let stems = tables().stems(&text);
        let swapped = tables().swapped(&text);
        let sound = sound_of(&key);
        let short_forms = tables().short_forms(&name_key);
        let forms = stems.iter().map(|(part, stem)| (*part, tables().short_forms(stem)));
        let stem_short_forms = forms.filter(|(_, forms)| !forms.is_empty()).collect();
        let nicknames = tables().nicknames(&name_key);
        Word {
            text,
            kind,
            key,
            long_key,
            group,
            name_key,
            stems,
            swapped,
            sound,
            short_forms,
            stem_short_forms,
            nicknames,
            known,
            may_be_title: false,
        }
    }

    /// Keys of the spelling: that of its group or sound, its own, and its own with long vowels.
    pub(super) fn spelling_keys(&self) -> [&str; 3] {
        [&self.name_key, &self.key, &self.long_key]
    }

    /// What is left without vowels, where that says enough.
    pub(super) fn sound(&self) -> Option<&str> {
        self.sound.as_deref()
    }

    /// Words written together as one name.
    pub(super) fn joined(words: &[&Word]) -> Word {
        let texts = words.iter().map(|w| w.text.as_str());
        Word::new(texts.collect(), Kind::Name)
    }

    /// The same name, perhaps in another spelling.
    pub(super) fn same_name(&self, other: &Word) -> bool {
        if self.text == other.text {
            return true;
        }
        let one_group = self.group != 0 && self.group == other.group;
        let one_key = self.key == other.key || self.long_key == other.long_key;
        let alike = one_group || (one_key && !self.short_doubled(other));
        alike && !tables().are_different(&self.text, &other.text)
    }

    /// Whether the other is a short form of this one: by a table, by a part left away, or by both
    /// (Oluwadamilola, Damilola, Lola). It is one side of the name; a piece from the middle of it
    /// (Dami) is a nickname.
    pub(super) fn has_short_form(&self, other: &Word) -> bool {
        let is_other = |(_, form): &(Part, String)| *form == other.name_key;
        let of_stem = |(part, forms): &(Part, &'static [(Part, String)])| {
            forms.iter().any(|form| form.0 == *part && is_other(form))
        };
        self.text.len() > other.text.len()
            && (self.stems.iter().any(is_other)
                || self.short_forms.iter().any(is_other)
                || self.stem_short_forms.iter().any(of_stem))
    }

    /// Not the same name for sure, but the same but for its vowels; or one with Olu and one
    /// with Oluwa before the same. A person looks.
    pub(super) fn sounds_like(&self, other: &Word) -> bool {
        let alike = || self.sound.is_some() && self.sound == other.sound;
        let god = |a: &Word, b: &Word| {
            let rest = (a.text.strip_prefix("OLUWA"), b.text.strip_prefix("OLU"));
            matches!(rest, (Some(a), Some(b)) if a.len() >= MIN_AFTER_OLU && a == b)
        };
        god(self, other) || god(other, self) || (!(self.known && other.known) && alike())
    }

    pub(super) fn has_nickname(&self, other: &Word) -> bool {
        self.nicknames.contains(&other.name_key) || self.swapped.contains(&other.name_key)
    }

    /// Whether some table knows the name, in this spelling or another.
    pub(super) fn is_listed(&self) -> bool {
        self.known || self.group != 0
    }

    /// Short words that differ in a doubled letter: too little to call them one name. A
    /// final H aside, which says nothing.
    fn short_doubled(&self, other: &Word) -> bool {
        let bare = |word: &Word| word.text.strip_suffix('H').unwrap_or(&word.text).to_owned();
        let single = |word: &str| {
            let mut letters = word.chars().collect::<Vec<_>>();
            letters.dedup();
            letters
        };
        let (a, b) = (bare(self), bare(other));
        a.len().min(b.len()) <= SHORT_WITH_DOUBLE && a != b && single(&a) == single(&b)
    }
}

/// What is left of a key without its vowels: the first letter and the consonants, Z as S.
/// Fewer than `MIN_CONSONANTS` say nothing.
pub(super) fn sound_of(key: &str) -> Option<String> {
    let mut sound = key.chars().take(1).collect::<String>();
    for c in key.chars().filter(|c| !matches!(c, 'A' | 'E' | 'I' | 'O' | 'U' | 'Y')) {
        let c = if c == 'Z' { 'S' } else { c };
        if sound.len() == 1 || !sound.ends_with(c) {
            sound.push(c);
        }
    }
    (sound.chars().count() > MIN_CONSONANTS).then_some(sound)
}

const MIN_CONSONANTS: usize = 3;
const MIN_AFTER_OLU: usize = 3;

/// Up to this length a doubled letter can make another name (Sani, Sanni; Tona, Tonna).
const SHORT_WITH_DOUBLE: usize = 5;

/// Shorter pieces make one name with their neighbour.
const MIN_GLUED_LETTERS: usize = 3;

/// A name folded once: its words in written order. Compare with `compare_folded`.
#[derive(Clone, Debug)]
pub struct Folded {
    pub(super) words: Vec<Word>,
    /// Characters of the name as written, outer blanks aside.
    pub(super) chars: usize,
    pub(super) too_long: bool,
    pub(super) business: bool,
    /// Of a text that is too long: those of its words that may be a name before, in or behind a description of the order.
    pub(super) likely: Option<Box<Folded>>,
}

impl Folded {
    /// Folds a name as written by a person or a bank. Any text is allowed; one over 120
    /// characters or 10 words is not read and compares as `close`.
    pub fn new(name: &str) -> Folded {
        let name = name.trim();
        let chars = name.chars().take(MAX_CHARS + 1).count();
        let text = fold(name);
        let short = (chars <= MAX_CHARS).then(|| Folded::of_text(&text, chars)).flatten();
        short.unwrap_or_else(|| {
            let likely = likely_name(&text).map(Box::new);
            Folded { words: Vec::new(), chars, too_long: true, business: false, likely }
        })
    }

    /// A folded text of a name that had `chars` characters; none when it has too many words.
    fn of_text(text: &str, chars: usize) -> Option<Folded> {
        let texts = text.split(' ').filter(|w| !w.is_empty());
        let texts = texts.take(MAX_WORDS + 1).collect::<Vec<_>>();
        if texts.len() > MAX_WORDS {
            return None;
        }
        let business = texts.iter().any(|w| is_business_word(w));
        let words = words_of(&texts, business);
        Some(Folded { words, chars, too_long: false, business, likely: None })
    }

    /// The received name when its bank may have cut it: a last word that alone makes it a
    /// business (BANK) is more likely the stump of a name (BANKOLE).
    pub(super) fn without_last_trade(&self, expected: &Folded) -> Option<Folded> {
        let is_form = |w: &Word| matches!(w.kind, Kind::Legal | Kind::Trade(_));
        let (last, before) = self.words.split_last()?;
        let begun = |w: &Word| w.text.len() > last.text.len() && w.text.starts_with(&last.text);
        if !expected.words.iter().any(begun) || !is_form(last) || before.iter().any(is_form) {
            return None;
        }
        let mut person = self.clone();
        person.business = false;
        if let Some(word) = person.words.last_mut() {
            word.kind = Kind::Name;
        }
        Some(person)
    }

    /// Longer, or of more words, than a rule decides: close to every other name.
    pub fn is_too_long(&self) -> bool {
        self.too_long
    }

    /// Whether it is one word beside a title that may be a name: close to whoever bears that word.
    pub fn is_one_beside_title(&self) -> bool {
        let names = || self.words.iter().filter(|word| word.kind == Kind::Name);
        names().any(|word| word.may_be_title) && names().filter(|word| !word.may_be_title).count() < 2
    }

    /// Whether a word that no table knows is two or more known names written together.
    pub(super) fn is_glued(&self) -> bool {
        let is_two = |word: &Word| {
            let letters = word.text.char_indices().map(|(at, _)| at).skip(MIN_GLUED_LETTERS);
            word.kind == Kind::Name
                && !word.known
                && letters.filter_map(|at| word.text.split_at_checked(at)).any(|(first, rest)| {
                    rest.chars().count() >= MIN_GLUED_LETTERS
                        && !tables().joins_next(first)
                        && tables().is_known(first)
                        && tables().is_known(rest)
                })
        };
        !self.too_long && self.words.iter().any(is_two)
    }

    /// The same words in any order, titles and forms of companies aside: the stricter
    /// equality that decides between two payments that both fit.
    pub fn same_words(&self, other: &Folded) -> bool {
        !self.too_long && !other.too_long && self.sorted_words() == other.sorted_words()
    }

    fn sorted_words(&self) -> Vec<&str> {
        let words = self.words.iter().filter(|w| !matches!(w.kind, Kind::Title | Kind::Legal));
        let mut texts: Vec<&str> = words.map(|w| w.text.as_str()).collect();
        texts.sort_unstable();
        texts
    }
}

/// The words of a name in one form, under which what its bearer did before is found: upper case, sorted, titles and forms of
/// companies aside, however a bank writes it. Of a name without other words, or longer than the rule takes, the beginning as it is
/// folded; an index takes no entry of any length.
pub fn words_key(name: &str) -> String {
    let folded = Folded::new(name);
    let words = folded.sorted_words();
    if words.is_empty() { fold(name).chars().take(MAX_CHARS).collect() } else { words.join(" ") }
}

/// Of a text with too many words, or too long, those that may be its name: the first ones, titles and numbers aside, and
/// known names behind them. No more letters than a name may have: any text is compared as fast as a name.
fn likely_name(folded: &str) -> Option<Folded> {
    let may_be_name = |word: &&str| {
        let is_title = matches!(tables().special(word), Some(Special::Title | Special::LeadingTitle));
        word.chars().any(char::is_alphabetic) && !is_title
    };
    let mut left = MAX_CHARS;
    let fits = |word: &&str| {
        let rest = left.checked_sub(word.chars().count() + 1);
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let mut words = folded.split(' ').take(WORDS_OF_TEXT).filter(may_be_name).filter(fits);
    let mut likely: Vec<&str> = words.by_ref().take(WORDS_OF_BEGINNING).collect();
    likely.extend(words.filter(|word| tables().is_known(word)).take(NAMES_BEHIND));
    let text = likely.join(" ");
    (!likely.is_empty()).then(|| Folded::of_text(&text, text.chars().count())).flatten()
}

/// The canonical folded text: upper-case words in written order with one blank between,
/// titles included. Two names with equal text are written alike but for case, marks and signs.
pub fn fold(name: &str) -> String {
    let mut out = String::with_capacity(name.len().min(MAX_FOLDED_BYTES) + 8);
    for c in name.chars().take(MAX_FOLD_CHARS) {
        if out.len() > MAX_FOLDED_BYTES {
            break;
        }
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_uppercase());
        } else if c == '&' {
            put_word(&mut out, "AND");
        } else if !is_deleted(c) {
            if c.is_ascii() {
                put_blank(&mut out);
            } else {
                put_unfolded(&mut out, c);
            }
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Apostrophes in all their forms, and signs of no width: the letters around belong together.
pub fn is_deleted(c: char) -> bool {
    matches!(
        c,
        '\'' | '`' | '\u{b4}' | '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}' | '\u{2bb}'
            | '\u{2bc}' | '\u{2bd}' | '\u{2be}' | '\u{2bf}' | '\u{2b9}' | '\u{2c8}' | '\u{a78b}' | '\u{a78c}' | '\u{ff07}'
            | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
    )
}

fn put_blank(out: &mut String) {
    if !out.is_empty() && !out.ends_with(' ') {
        out.push(' ');
    }
}

fn put_word(out: &mut String, word: &str) {
    put_blank(out);
    out.push_str(word);
    out.push(' ');
}

fn put_unfolded(out: &mut String, c: char) {
    for part in std::iter::once(c).nfkd() {
        if part == '&' {
            put_word(out, "AND");
        } else if is_combining_mark(part) || is_deleted(part) {
            // A mark belongs to the letter before it.
        } else if let Some(plain) = plain_letters(part) {
            out.push_str(plain);
        } else if part.is_alphanumeric() {
            out.extend(part.to_uppercase());
        } else {
            put_blank(out);
        }
    }
}

/// Letters that no decomposition makes plain: the hooked ones of Hausa, the open vowels of
/// the south, and those of European names.
fn plain_letters(c: char) -> Option<&'static str> {
    Some(match c {
        'ɓ' | 'Ɓ' | 'ƀ' => "B",
        'ɗ' | 'Ɗ' | 'đ' | 'Đ' | 'ɖ' | 'Ɖ' | 'ð' | 'Ð' => "D",
        'ƙ' | 'Ƙ' => "K",
        'ƴ' | 'Ƴ' => "Y",
        'ɣ' | 'Ɣ' | 'ɠ' | 'Ɠ' => "G",
        'ŋ' | 'Ŋ' | 'ɲ' | 'Ɲ' => "N",
        'ɔ' | 'Ɔ' | 'ø' | 'Ø' | 'ɵ' | 'Ɵ' => "O",
        'ɛ' | 'Ɛ' | 'ǝ' | 'Ǝ' | 'ə' | 'Ə' => "E",
        'ı' | 'ɩ' | 'Ɩ' | 'ɨ' | 'Ɨ' => "I",
        'ʊ' | 'Ʊ' | 'ʉ' | 'Ʉ' => "U",
        'ʋ' | 'Ʋ' => "V",
        'ł' | 'Ł' => "L",
        'ħ' | 'Ħ' => "H",
        'ŧ' | 'Ŧ' => "T",
        'ß' | 'ẞ' => "SS",
        'æ' | 'Æ' => "AE",
        'œ' | 'Œ' => "OE",
        'þ' | 'Þ' => "TH",
        _ => return None,
    })
}

fn is_business_word(word: &str) -> bool {
    matches!(tables().special(word), Some(Special::Legal | Special::Trade(_)))
}

fn words_of(texts: &[&str], business: bool) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::with_capacity(texts.len());
    let mut article: Option<&str> = None;
    let mut only_titles = true;
    for (at, text) in texts.iter().copied().enumerate() {
        let last = at + 1 == texts.len();
        // AL and EL belong to the word that follows.
        if matches!(text, "AL" | "EL") && article.is_none() && !last {
            article = Some(text);
            continue;
        }
        if let Some(article) = article.take() {
            words.push(Word::new(format!("{article}{text}"), Kind::Name));
            only_titles = false;
            continue;
        }
        let inside = words.iter().any(|w| w.kind == Kind::Name) && !last;
        let kind = kind_of(text, business, only_titles, inside);
        only_titles &= matches!(kind, Kind::Title | Kind::And);
        words.push(Word::new(text.to_owned(), kind));
    }
    keep_titles_that_may_be_names(&mut words);
    if !words.iter().any(|w| matches!(w.kind, Kind::Name | Kind::Initial)) {
        keep_something(&mut words, business);
    }
    words
}

/// Drops a title that is a name as well (Yerima, Prince) only where two other names remain: of Yerima
/// Folake one would, and one name proves nothing.
fn keep_titles_that_may_be_names(words: &mut [Word]) {
    let may_be =
        |word: &Word| word.kind == Kind::Title && tables().special(&word.text) == Some(Special::LeadingTitle);
    let mut undecided = words.iter().filter(|word| may_be(word)).count();
    let names = words.iter().filter(|word| word.kind == Kind::Name).count();
    for word in words.iter_mut().filter(|word| may_be(word)) {
        undecided -= 1;
        if names + undecided < 2 {
            word.kind = Kind::Name;
            word.may_be_title = true;
        }
    }
}

/// A name that consists of titles and business words alone (Prince; Global Services Ltd) is
/// compared by them.
fn keep_something(words: &mut [Word], business: bool) {
    for word in words {
        let keep = if business {
            matches!(word.kind, Kind::Title | Kind::Trade(_))
        } else {
            matches!(word.kind, Kind::Title | Kind::Generation(_))
        };
        if keep {
            word.kind = Kind::Name;
        }
    }
}

fn kind_of(text: &str, business: bool, leading: bool, inside: bool) -> Kind {
    match text {
        "AND" => return Kind::And,
        "BIN" | "IBN" | "BINT" | "BINTI" if inside || leading => return Kind::Particle,
        "DAN" if inside => return Kind::Particle,
        "JNR" | "JR" | "JUNIOR" if !leading => return Kind::Generation(1),
        "SNR" | "SR" | "SENIOR" if !leading => return Kind::Generation(2),
        "II" if !leading => return Kind::Generation(3),
        "III" if !leading => return Kind::Generation(4),
        _ => {}
    }
    if !text.chars().any(char::is_alphabetic) {
        return if business { Kind::Name } else { Kind::Number };
    }
    match tables().special(text) {
        Some(Special::Title) if !business || leading => return Kind::Title,
        Some(Special::LeadingTitle) if leading && !business => return Kind::Title,
        Some(Special::Legal) => return Kind::Legal,
        Some(Special::Trade(word)) => return Kind::Trade(word),
        Some(Special::WeakTrade(word)) if business => return Kind::Trade(word),
        _ => {}
    }
    if text.chars().count() == 1 { Kind::Initial } else { Kind::Name }
}

/// Whether a text holds a letter of any script: without one it names nobody.
pub fn has_letter(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}
