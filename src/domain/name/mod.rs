//! Payer names: whether the name a payment expects and the name a bank's alert shows are one
//! person's. The answer is match, close or different, with the reason in words.
//!
//! There is no score: whole agreeing names are counted, for no likeness of letters is fit to
//! approve money (Adebayo and Adedayo are two people). Only `Match` may approve; `Close` is
//! for a person to look at. Pure and bounded: a name over 120 characters or 10 words is
//! `Close` unread. Called by `matching` and by the doors that must know a name.

mod business;
mod fold;
pub mod index;
mod key;
#[cfg(test)]
mod measure_tests;
mod pair;
mod person;
mod tables;
#[cfg(test)]
mod tests;

pub use fold::{Folded, fold, has_letter, is_deleted, words_key};

use pair::{How, Pairing};

/// Lengths in characters at which a bank cuts a payer name. Only the last word of a
/// received name exactly that long may be the stump of a longer one.
pub type CutLengths<'a> = &'a [usize];

/// What two names are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameVerdict {
    /// The same person or business, as sure as names can be: may approve.
    Match,
    /// Perhaps the same: a person looks.
    Close,
    /// Not the same.
    Different,
}

impl NameVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            NameVerdict::Match => "match",
            NameVerdict::Close => "close",
            NameVerdict::Different => "different",
        }
    }
}

/// A verdict and its reason, for the operator who has to understand it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub verdict: NameVerdict,
    pub reason: String,
}

/// A verdict with the rule that gave it.
struct Ruling {
    verdict: NameVerdict,
    rule: &'static str,
}

impl Ruling {
    fn new(verdict: NameVerdict, rule: &'static str) -> Ruling {
        Ruling { verdict, rule }
    }
}

/// Compares the expected name with the received one, with the reason in words.
pub fn compare(expected: &str, received: &str, cut: CutLengths<'_>) -> Comparison {
    compare_folded(&Folded::new(expected), &Folded::new(received), cut)
}

/// The verdict alone, without the words.
pub fn verdict(expected: &str, received: &str, cut: CutLengths<'_>) -> NameVerdict {
    rule_on(&Folded::new(expected), &Folded::new(received), cut).verdict
}

/// As [`compare`], for names folded before.
pub fn compare_folded(expected: &Folded, received: &Folded, cut: CutLengths<'_>) -> Comparison {
    let ruling = rule_on(expected, received, cut);
    let mut reason = ruling.rule.to_owned();
    if !expected.too_long && !received.too_long {
        tell_words(&mut reason, expected, received, cut);
    }
    Comparison { verdict: ruling.verdict, reason }
}

/// The verdict alone, for names folded before: what a search over many payments asks.
pub fn verdict_folded(expected: &Folded, received: &Folded, cut: CutLengths<'_>) -> NameVerdict {
    rule_on(expected, received, cut).verdict
}

/// Whether the name reads as a person's: no word of a business's in it, and one at least by which people are known to be called. Whoever
/// collects for others may have neither ("FLUTTERWAVE PAYOUTS").
pub fn is_persons(name: &Folded) -> bool {
    !name.business && name.words.iter().any(|word| word.kind == fold::Kind::Name && word.known)
}

/// Whether a payment of this name can be approved by the rule at all: a single name, or more words than the rule
/// takes, never can, whoever pays. Two names written as one word can: their payer's bank may write two.
pub fn may_match(expected: &Folded) -> bool {
    verdict_folded(expected, expected, &[]) == NameVerdict::Match || expected.is_glued()
}

/// Whether a payment of such a name says nothing about whose transfer it is: one that is longer than the rule takes is
/// close to everybody, unless two names of the payer's stand in it.
pub fn says_nothing(expected: &Folded, received: Option<&Folded>, cut: CutLengths<'_>) -> bool {
    expected.too_long && !received.is_some_and(|received| in_common(expected, received, cut).is_much())
}

/// What an expected name and a received one have in common, whatever else stands in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InCommon {
    /// Agreeing names.
    names: usize,
    /// A bit for each word of the received name that agrees, or nearly does.
    received: u32,
}

impl InCommon {
    /// Two names agree: shared by few people, though each may have a name, or a description, that the other has not.
    pub fn is_much(self) -> bool {
        self.names >= person::MIN_NAMES
    }

    /// Bears a name of the payer's that the other does not bear.
    pub fn has_more_than(self, other: InCommon) -> bool {
        self.received & !other.received != 0
    }
}

/// Of an expected name that is too long to be compared, by the words of it that may be a name.
pub fn in_common(expected: &Folded, received: &Folded, cut: CutLengths<'_>) -> InCommon {
    let expected = expected.likely.as_deref().unwrap_or(expected);
    if expected.too_long || received.too_long {
        return InCommon::default();
    }
    // A merchant's own words ("school fees") make no business of a person.
    let pairing = match expected.business && received.business {
        true => agreeing(expected, received, cut),
        false => person::agreeing(expected, received, is_cut(received, cut)),
    };
    let agree = pairing.agreements.iter().filter(|a| a.names > 0).flat_map(|a| a.received.iter());
    let nearly = pairing.nearly.iter().map(|(_, at)| at);
    let received = agree.chain(nearly).fold(0, |bits, at| bits | 1_u32.checked_shl(*at as u32).unwrap_or(0));
    InCommon { names: pairing.names(), received }
}

/// Whether a payment's name may stand for the payer's: by the rule, or because two names agree whatever stands beside them.
pub fn is_like(expected: &Folded, payer: &Folded, cut: CutLengths<'_>) -> bool {
    verdict_folded(expected, payer, cut) != NameVerdict::Different
        || in_common(expected, payer, cut).is_much()
}

/// Whether the surname given with a payment is among the names that agree. Without a
/// surname (empty, no letter) there is nothing to ask and the answer is yes; a surname of
/// several words must agree with every one of them.
pub fn surname_agrees(lname: &str, expected: &str, received: &str, cut: CutLengths<'_>) -> bool {
    if !has_letter(lname) {
        return true;
    }
    let (lname, expected, received) = (Folded::new(lname), Folded::new(expected), Folded::new(received));
    if lname.too_long || expected.too_long || received.too_long {
        return false;
    }
    let pairing = agreeing(&expected, &received, cut);
    let (words_e, words_r) = (taking_part(&expected), taking_part(&received));
    let counted = pairing.agreements.iter().filter(|a| a.names > 0);
    let mut texts: Vec<&&fold::Word> = Vec::new();
    for agreement in counted {
        texts.extend(agreement.expected.iter().filter_map(|at| words_e.get(*at)));
        // A stump is no name; the expected side has the whole word.
        if agreement.how != How::Cut {
            texts.extend(agreement.received.iter().filter_map(|at| words_r.get(*at)));
        }
    }
    let agreed = texts.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ");
    let agreed = Folded::new(&agreed);
    let found = agreeing(&lname, &agreed, &[]);
    !agreed.too_long && found.left_expected.is_empty() && found.names() > 0
}

fn is_cut(received: &Folded, cut: CutLengths<'_>) -> bool {
    cut.contains(&received.chars)
}

fn cut_person(expected: &Folded, received: &Folded, cut: bool) -> Option<Folded> {
    if cut && !expected.business { received.without_last_trade(expected) } else { None }
}

fn rule_on(expected: &Folded, received: &Folded, cut: CutLengths<'_>) -> Ruling {
    if expected.too_long || received.too_long {
        return Ruling::new(NameVerdict::Close, "a name is too long to compare");
    }
    let cut = is_cut(received, cut);
    if let Some(received) = cut_person(expected, received, cut) {
        return person::compare(expected, &received, cut);
    }
    if expected.business || received.business {
        business::compare(expected, received, cut)
    } else {
        person::compare(expected, received, cut)
    }
}

fn agreeing(expected: &Folded, received: &Folded, cut: CutLengths<'_>) -> Pairing {
    let cut = is_cut(received, cut);
    if let Some(received) = cut_person(expected, received, cut) {
        return person::agreeing(expected, &received, cut);
    }
    if expected.business || received.business {
        business::agreeing(expected, received, cut)
    } else {
        person::agreeing(expected, received, cut)
    }
}

/// The words as `agreeing` numbers them; the title at a cut end comes last, so its absence
/// here moves no other number.
fn taking_part(name: &Folded) -> Vec<&fold::Word> {
    use fold::Kind;
    let takes = |w: &&fold::Word| matches!(w.kind, Kind::Name | Kind::Initial | Kind::Particle);
    name.words.iter().filter(takes).collect()
}

/// Adds which words agree, how, and which stand on one side only.
fn tell_words(reason: &mut String, expected: &Folded, received: &Folded, cut: CutLengths<'_>) {
    let pairing = agreeing(expected, received, cut);
    let (words_e, words_r) = (taking_part(expected), taking_part(received));
    let list = |words: &[&fold::Word], places: &[usize], between: &str| {
        let texts = places.iter().filter_map(|at| words.get(*at)).map(|w| w.text.as_str());
        texts.collect::<Vec<_>>().join(between)
    };
    let mut parts = Vec::new();
    for a in &pairing.agreements {
        let (e, r) = (list(&words_e, &a.expected, " "), list(&words_r, &a.received, " "));
        parts.push(match a.how {
            How::Equal => e,
            How::Spelling => format!("{e} (also spelled {r})"),
            How::Joined => format!("{e} (written as {r})"),
            How::Short => format!("{e} and {r} (full and short form)"),
            How::Cut if a.names == 0 => format!("{e} (perhaps cut to {r})"),
            How::Cut => format!("{e} (cut to {r})"),
        });
    }
    if !parts.is_empty() {
        reason.push_str(&format!("; in both names: {}", parts.join(", ")));
    }
    let only_e = [&pairing.left_expected[..], &pairing.initials_expected[..]].concat();
    let only_r = [&pairing.left_received[..], &pairing.initials_received[..]].concat();
    for (places, words, which) in [(only_e, &words_e, "expected"), (only_r, &words_r, "received")] {
        let texts = list(words, &places, ", ");
        if !texts.is_empty() {
            reason.push_str(&format!("; only in the {which} name: {texts}"));
        }
    }
}
