//! Reads a narration: the payer's name, bank and account, the session id, a virtual account. Its forms are data
//! (templates and data/narration.toml). This file runs them, and decides whether the text in the name's place
//! is a name. Called by `extract` only.

pub mod tried;

use regex::Captures;
use unicode_normalization::char::is_combining_mark;

use super::template::{Bank, NarrationRule, Shared};
use super::text_table::collapse;
use crate::domain::alert::Direction;
use crate::domain::money::Money;
use crate::domain::time::Timestamp;

/// Longer is no name (contract/names.md#n2).
const MAX_NAME_CHARS: usize = 120;

/// Shorter endings may repeat the beginning of a name by chance.
const SHORTEST_REPEAT: usize = 6;
/// Words that a shortened repetition of a name must have. Glued to the first, a shorter one may be the end of a
/// surname; after a separator, one word may be half of a double name.
const CUT_WORDS_GLUED: usize = 3;
const CUT_WORDS_PARTED: usize = 2;

/// What was found. Everything is `None` if the form of the narration is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Narration {
    pub payer: Option<String>,
    pub payer_cut: bool,
    /// The names of two people are where the payer's should be, so neither was taken.
    pub two_names: bool,
    /// The name of the receiver, if the narration tells it.
    pub receiver: Option<String>,
    pub payer_bank: Option<String>,
    pub payer_account: Option<String>,
    pub session: Option<String>,
    pub reference: Option<String>,
    pub virtual_account: Option<String>,
    pub virtual_amount: Option<Money>,
    pub virtual_day: Option<i64>,
}

/// What is needed to read a narration, apart from its text.
pub struct Setting<'a> {
    pub bank: &'a Bank,
    pub shared: &'a Shared,
    pub layout: &'a str,
    pub direction: Option<Direction>,
    pub holder: Option<&'a str>,
    /// The narration fills its field to the limit, so its end may be missing.
    pub filled: bool,
}

/// Reads a narration, whitespace collapsed and parts joined.
pub fn read(text: &str, setting: &Setting<'_>) -> Narration {
    let mut narration = Narration::default();
    for (_, rule) in rules(setting) {
        if came_to(rule, text, setting, &mut narration).ends() {
            break;
        }
    }
    if narration.payer_bank.is_none() {
        let session = narration.session.as_deref();
        narration.payer_bank =
            session.and_then(|s| setting.shared.institutions.by_code(s)).map(str::to_owned);
    }
    narration
}

/// Every rule in its order, and whether it is the template's own.
fn rules<'a>(setting: &Setting<'a>) -> impl Iterator<Item = (bool, &'a NarrationRule)> {
    // If the narration of a credit holds only what the payer typed, the network's forms in it are typed too.
    let is_typed = setting.bank.narration_is_typed && setting.direction != Some(Direction::Debit);
    let network = setting.shared.narrations.iter().filter(move |_| !is_typed);
    setting.bank.narrations.iter().map(|rule| (true, rule)).chain(network.map(|rule| (false, rule)))
}

/// The result of one rule.
#[derive(Clone, Debug, PartialEq)]
enum Came {
    /// The rule is for other narrations.
    Aside,
    NotFound,
    /// Such narrations name no payer.
    NoPayer,
    /// The bank before the name did not make the session id.
    TypedBank,
    /// The name may be the payer's typing.
    TypedName,
    /// The text in the name's place is not a name.
    NoName,
    TwoNames,
    Payer(String),
}

impl Came {
    /// No further rule is tried.
    fn ends(&self) -> bool {
        !matches!(self, Came::Aside | Came::NotFound | Came::NoName)
    }
}

/// Tries a rule and adds what it found to the narration.
fn came_to(rule: &NarrationRule, text: &str, setting: &Setting<'_>, narration: &mut Narration) -> Came {
    if !applies(rule, setting) {
        return Came::Aside;
    }
    let Some(found) = rule.pattern.captures(text) else { return Came::NotFound };
    take_codes(&found, setting.shared, narration);
    if rule.no_payer {
        return Came::NoPayer;
    }
    if typed_by_the_payer(&found, setting.shared) {
        return Came::TypedBank;
    }
    if may_be_typed(text, &found, setting.filled) {
        return Came::TypedName;
    }
    match choose(&found, rule, setting) {
        Choice::None => Came::NoName,
        Choice::Unclear => {
            narration.two_names = true;
            Came::TwoNames
        }
        Choice::Payer(payer) => {
            let at_the_end = collapse(text).ends_with(&payer);
            let length = payer.chars().count();
            narration.payer_cut = setting.bank.cut_lengths.contains(&length) || setting.filled && at_the_end;
            narration.payer = Some(payer.clone());
            Came::Payer(payer)
        }
    }
}

fn applies(rule: &NarrationRule, setting: &Setting<'_>) -> bool {
    (rule.layouts.is_empty() || rule.layouts.iter().any(|l| l == setting.layout))
        && rule.direction.is_none_or(|d| setting.direction == Some(d))
        && rule.filled.is_none_or(|f| f == setting.filled)
}

/// Everything but the name; what an earlier rule found stays.
fn take_codes(found: &Captures<'_>, shared: &Shared, narration: &mut Narration) {
    let group = |name: &str| found.name(name).map(|m| collapse(m.as_str())).filter(|t| !t.is_empty());
    let keep = |slot: &mut Option<String>, value: Option<String>| {
        if slot.is_none() {
            *slot = value;
        }
    };
    keep(&mut narration.session, group("session"));
    keep(&mut narration.reference, group("reference"));
    keep(&mut narration.receiver, group("receiver"));
    keep(&mut narration.payer_account, group("payer_account"));
    keep(&mut narration.virtual_account, group("virtual"));
    let bank = group("bank").and_then(|b| shared.institutions.by_letters(&b).map(str::to_owned));
    // The session id is the network's own word, the letters may be an app's.
    let network =
        narration.session.as_deref().and_then(|s| shared.institutions.by_code(s)).map(str::to_owned);
    keep(&mut narration.payer_bank, network.or(bank));
    if narration.virtual_amount.is_none() {
        narration.virtual_amount = group("kobo").and_then(|k| k.parse().ok()).map(Money);
        narration.virtual_day = group("day").and_then(|d| day(&d));
    }
}

/// `yyyymmdd` as a Lagos day number.
fn day(text: &str) -> Option<i64> {
    let (year, rest) = text.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    Timestamp::from_utc_date(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
        .map(|t| t.lagos_day())
}

/// Whether the payer typed the bank and the name after it: another institution made the session id, so the real
/// bank and name were cut off or are unknown.
fn typed_by_the_payer(found: &Captures<'_>, shared: &Shared) -> bool {
    let group = |name: &str| found.name(name).map(|m| m.as_str());
    group("session")
        .zip(group("bank"))
        .is_some_and(|(session, bank)| shared.institutions.contradict(session, bank))
}

/// Whether the payer may have typed the name after the network's letters although the letters are right. If the
/// narration fills its field, the real end may have been cut off; then the text before must have the same name.
/// And if a name of two words is followed by two hyphens (or by one, if the end is missing), it is a typed name
/// before letters that are in no list.
fn may_be_typed(text: &str, found: &Captures<'_>, filled: bool) -> bool {
    let (Some(session), Some(bank), Some(payer)) =
        (found.name("session"), found.name("bank"), found.name("payer"))
    else {
        return false;
    };
    let parts: Vec<&str> = payer.as_str().split('-').map(str::trim).filter(|p| !p.is_empty()).collect();
    let whole_before = parts.first().is_some_and(|p| p.split_whitespace().count() >= 2);
    if whole_before && parts.len() > if filled { 1 } else { 2 } {
        return true;
    }
    let name = squeeze(payer.as_str());
    let before = text.get(session.end()..bank.start()).map(squeeze).unwrap_or_default();
    filled && !before.contains(&name)
}

enum Choice {
    None,
    Payer(String),
    /// Two people.
    Unclear,
}

/// Chooses the payer from `payer` and `payer2`. The account holder's own name is used only if there is no
/// other. If both are one name, `payer` is used, which is the network's. If they are two people, the rule
/// decides, or neither is used. What the payer may have typed adds nothing to a name, unless the name was cut.
fn choose(found: &Captures<'_>, rule: &NarrationRule, setting: &Setting<'_>) -> Choice {
    let name = |group: &str| {
        let name = found.name(group).and_then(|m| clean_name(m.as_str(), setting.shared));
        name.filter(|n| !rule.loose || stands_for_itself(n, setting.shared))
    };
    let (a, b) = match (name("payer"), name("payer2")) {
        (Some(a), Some(b)) => (a, b),
        (Some(a), None) => return Choice::Payer(a),
        (None, Some(b)) => {
            // An institution, or the first letters of a name that was cut off.
            let begun = found.name("payer").map(|m| squeeze(m.as_str()));
            let same = begun.is_none_or(|begun| squeeze(&b).starts_with(&begun));
            return if same { Choice::Payer(b) } else { Choice::None };
        }
        (None, None) => return Choice::None,
    };
    if let Some(holder) = setting.holder {
        match (same_words(&a, holder), same_words(&b, holder)) {
            (true, false) => return Choice::Payer(b),
            (false, true) => return Choice::Payer(a),
            _ => {}
        }
    }
    let (left, right) = (squeeze(&a), squeeze(&b));
    if right.starts_with(&left) && right != left && rule.payer_cut_at == Some(a.chars().count()) {
        Choice::Payer(b)
    } else if right.starts_with(&left) || left.starts_with(&right) || same_words(&a, &b) || rule.payer_wins {
        Choice::Payer(a)
    } else {
        Choice::Unclear
    }
}

/// For a place where a bank also writes other things: at least two words, none of which names a payment.
fn stands_for_itself(name: &str, shared: &Shared) -> bool {
    name.split_whitespace().filter(|w| w.chars().any(char::is_alphabetic)).count() >= 2
        && !shared.not_in_loose_names.iter().any(|r| r.is_match(name))
}

/// A name of several words that is written twice without a space between (`ADA OBIADA OBI`) becomes one. The
/// second may be cut after two whole words. A last word that only ends like the first one (`EZE IFEANYI
/// NWAEZE`) is part of the name.
fn halve(name: &str) -> &str {
    if let Some(once) = twice_with_a_sign(name) {
        return once;
    }
    for (at, c) in name.char_indices().skip(1) {
        let (front, back) = name.split_at(at);
        let glued = c.is_alphabetic() && front.ends_with(char::is_alphabetic);
        if glued
            && back.len() >= SHORTEST_REPEAT
            && back.len() <= front.len()
            && front.contains(' ')
            && is_repeated(front, back, CUT_WORDS_GLUED)
        {
            return front;
        }
    }
    name
}

/// The first of two writings with a separator between (`ADA OBI-ADA OBI`); the second may be cut.
fn twice_with_a_sign(name: &str) -> Option<&str> {
    let parts = name.char_indices().filter(|(_, c)| "-/|,.;:&+_".contains(*c));
    for (at, sign) in parts {
        let (front, back) = (name[..at].trim(), name[at + sign.len_utf8()..].trim_matches([' ', sign]));
        let is_cut = back.len() >= SHORTEST_REPEAT
            && is_repeated(front, back, CUT_WORDS_PARTED)
            && ends_in_a_word(back);
        let repeats = is_cut || squeeze(front) == squeeze(back);
        if repeats && front.contains(' ') && front.chars().any(char::is_alphabetic) {
            return Some(front);
        }
    }
    None
}

/// Whether `back` is `front`, or its first `words` words or more, of which the last may be cut.
fn is_repeated(front: &str, back: &str, words: usize) -> bool {
    if front == back {
        return true;
    }
    let squeezed = |name: &str| name.split_whitespace().map(squeeze).collect::<Vec<_>>();
    let (whole, cut) = (squeezed(front), squeezed(back));
    let Some((last, before)) = cut.split_last() else { return false };
    cut.len() >= words
        && whole.starts_with(before)
        && whole.get(before.len()).is_some_and(|word| word.starts_with(last.as_str()))
}

/// An initial may be a name of its own.
fn ends_in_a_word(name: &str) -> bool {
    name.split_whitespace().next_back().is_some_and(|word| word.chars().count() > 1)
}

fn squeeze(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_uppercase).collect()
}

fn same_words(a: &str, b: &str) -> bool {
    let words = |name: &str| {
        let mut words: Vec<String> = name
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .map(str::to_uppercase)
            .collect();
        words.sort();
        words
    };
    words(a) == words(b)
}

/// A name without the text that is glued to it. `None` if it is not a name: digits, an institution, a word
/// such as "payment".
pub fn clean_name(raw: &str, shared: &Shared) -> Option<String> {
    let mut name = collapse(raw);
    for noise in &shared.name_noise {
        name = noise.replace_all(&name, "").into_owned();
    }
    let name = collapse(name.trim_matches([' ', '-', ',', '/', '.', ':', '|', '*', '_', ';']));
    let name = halve(&name).to_owned();
    let letters = name.chars().filter(|c| c.is_alphabetic()).count();
    let digits = name.chars().filter(char::is_ascii_digit).count();
    // Some letters of Yoruba have no single sign of their own: a mark stands behind the letter.
    let marks = name.chars().filter(|c| is_combining_mark(*c)).count();
    let allowed = marks <= letters
        && name.chars().all(|c| c.is_alphanumeric() || is_combining_mark(c) || " '’`-.,&()/+".contains(c));
    let wanted = letters >= 2 && digits <= 3 && allowed && name.chars().count() <= MAX_NAME_CHARS;
    let named = !shared.not_names.contains(&name.to_uppercase())
        && !shared.institutions.is_one(&name)
        && !shared.not_in_names.iter().any(|r| r.is_match(&name));
    (wanted && named).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_written_twice_without_a_blank_is_one() {
        for (text, want) in [
            ("TEMI DARE ALABITEMI DARE ALABI", "TEMI DARE ALABI"),
            ("TEMI DARE ALABITEMI DARE A", "TEMI DARE ALABI"),
            ("NKECHI NKECHI OKPALA", "NKECHI NKECHI OKPALA"),
            ("OBIOBI", "OBIOBI"),
            ("ADA ADA", "ADA ADA"),
            ("ANN ANNA", "ANN ANNA"),
            ("A & B STORES", "A & B STORES"),
            ("TEMI DARE-TEMI DARE", "TEMI DARE"),
            ("TEMI DARE / TEMI DA", "TEMI DARE"),
            ("TEMI DARE-TEMI DOLA", "TEMI DARE-TEMI DOLA"),
            ("DARE-DARE", "DARE-DARE"),
        ] {
            assert_eq!(halve(text), want);
        }
    }

    #[test]
    fn a_last_word_that_ends_with_the_first_is_no_repetition() {
        for name in [
            "EZE IFEANYI NWAEZE",
            "OBINNA ADA OKOBINNA",
            "AMAKA OBI OKOYE-AMAKA",
            "BABATUNDE SEUN OLABABATUNDE",
            "AMAKA OBI OKOYE/AMAKA",
            "EZENWA ADA OBI NWAEZENWA",
            "NWEKE ADA OKONWEKE A",
            "NWEKE ADA OKO-NWEKE A",
            "ADA OBIADA O",
        ] {
            assert_eq!(halve(name), name);
        }
        for (text, want) in [("NGO EBIANGO EBIA", "NGO EBIA"), ("NGO EBIA OKONGO EBIA OK", "NGO EBIA OKO")] {
            assert_eq!(halve(text), want);
        }
    }
}
