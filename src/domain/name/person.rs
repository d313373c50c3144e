//! The verdict on two names of persons, from the words that agree and those left over.
//!
//! Two whole names that agree make a match, when what is left over is on one side only and
//! little; one agreeing name never does. Called by `compare_folded` only.

use super::fold::{Folded, Kind, Word};
use super::pair::{Pairing, Side, Ways, pair};
use super::tables::{Special, tables};
use super::{NameVerdict, Ruling};

/// A name made of many common names must not match many payers.
const MAX_LEFT_OVER: usize = 2;
/// One name is shared by thousands; two by few.
pub(super) const MIN_NAMES: usize = 2;

/// Pairs the names of two persons. `cut`: the received name is exactly as long as a length
/// at which its bank cuts, so its last word may be a stump and is no title.
pub(super) fn agreeing(expected: &Folded, received: &Folded, cut: bool) -> Pairing {
    pair(&side(expected, false), &side(received, cut), Ways::All)
}

fn side(name: &Folded, cut: bool) -> Side<'_> {
    let last = name.words.len().checked_sub(1);
    let mut words: Vec<&Word> = Vec::with_capacity(name.words.len());
    let mut stump = None;
    for (at, word) in name.words.iter().enumerate() {
        let cut_here = cut && Some(at) == last;
        match word.kind {
            Kind::Name | Kind::Initial | Kind::Particle => {}
            Kind::Title if cut_here => {}
            _ => continue,
        }
        if cut_here {
            stump = Some(words.len());
        }
        words.push(word);
    }
    Side { words, stump }
}

/// Compares two names of persons.
pub(super) fn compare(expected: &Folded, received: &Folded, cut: bool) -> Ruling {
    let pairing = agreeing(expected, received, cut);
    let ruling = by_names(&pairing);
    if ruling.verdict == NameVerdict::Different {
        let is_aside = pairing.names() > 0 && only_a_title_differs(expected, received, cut, &pairing);
        return if is_aside {
            Ruling::new(NameVerdict::Close, "the first word may be a title or a name")
        } else {
            ruling
        };
    }
    let (ge, gr) = (generation(expected), generation(received));
    if ge != gr {
        return if ge.is_some() && gr.is_some() {
            Ruling::new(NameVerdict::Different, "junior and senior are two people")
        } else {
            Ruling::new(NameVerdict::Close, "only one of the names says junior or senior")
        };
    }
    if father_and_son_swapped(expected, received) {
        return Ruling::new(NameVerdict::Close, "father and son are in the opposite order");
    }
    let (je, jr) = (is_joint(expected), is_joint(received));
    if (je || jr) && !(je && jr && pairing.left_over() == 0) {
        return Ruling::new(NameVerdict::Close, "a joint account");
    }
    if title_may_be_a_name(expected, received, &pairing) {
        return Ruling::new(
            NameVerdict::Close,
            "a title in front may be a name, and the other name has one more",
        );
    }
    ruling
}

/// Prince Ada Obi and Ada Obi Rich: Prince may be a name, and then each has a name the other
/// has not.
fn title_may_be_a_name(expected: &Folded, received: &Folded, pairing: &Pairing) -> bool {
    let stands = |name: &Folded, left: &[usize], other: &Folded| {
        let more = side(other, false);
        name.words.iter().filter(|w| w.kind == Kind::Title && is_also_a_name(w)).any(|title| {
            let mut left = left.iter().filter_map(|at| more.words.get(*at));
            left.any(|word| !word.same_name(title))
        })
    };
    stands(expected, &pairing.left_received, received) || stands(received, &pairing.left_expected, expected)
}

/// Yerima Folake and Folake Ade: all that the one has more may be a title. Prince Folake Ade and Ade
/// Prince: what the other has more was dropped here as a title.
fn only_a_title_differs(expected: &Folded, received: &Folded, cut: bool, pairing: &Pairing) -> bool {
    let (e, r) = (side(expected, false), side(received, cut));
    let is_title = |words: &[&Word], left: &[usize], other: &Folded| {
        let dropped = |word: &Word| {
            other.words.iter().any(|t| t.kind == Kind::Title && is_also_a_name(t) && t.same_name(word))
        };
        let is_one = |at: &usize| words.get(*at).is_some_and(|word| word.may_be_title || dropped(word));
        !left.is_empty() && left.iter().all(is_one)
    };
    is_title(&e.words, &pairing.left_expected, received)
        || is_title(&r.words, &pairing.left_received, expected)
}

fn is_also_a_name(title: &Word) -> bool {
    tables().special(&title.text) == Some(Special::LeadingTitle)
}

fn by_names(pairing: &Pairing) -> Ruling {
    let names = pairing.names();
    if names == 0 {
        return Ruling::new(NameVerdict::Different, "no name agrees");
    }
    if pairing.left_on_both() {
        return if pairing.nearly_all() {
            Ruling::new(NameVerdict::Close, "the rest differs by a typing error or a nickname")
        } else {
            Ruling::new(NameVerdict::Different, "each has a name that the other does not have")
        };
    }
    if names < MIN_NAMES {
        return if pairing.initials_contradict() {
            Ruling::new(NameVerdict::Different, "only one name agrees, and an initial differs")
        } else {
            Ruling::new(NameVerdict::Close, "only one name agrees")
        };
    }
    if pairing.initials_contradict() {
        return Ruling::new(NameVerdict::Close, "an initial differs");
    }
    if pairing.doubtful_cut {
        return Ruling::new(NameVerdict::Close, "the name that was cut off may be a different name");
    }
    if pairing.left_over() > MAX_LEFT_OVER {
        return Ruling::new(NameVerdict::Close, "too many names are on one side only");
    }
    Ruling::new(NameVerdict::Match, "the names agree")
}

fn generation(name: &Folded) -> Option<u8> {
    name.words.iter().find_map(|w| match w.kind {
        Kind::Generation(number) => Some(number),
        _ => None,
    })
}

fn is_joint(name: &Folded) -> bool {
    name.words.iter().any(|w| w.kind == Kind::And)
}

/// The names before and after BIN, IBN or DAN.
fn descent(name: &Folded) -> Option<(&Word, &Word)> {
    let at = name.words.iter().position(|w| w.kind == Kind::Particle)?;
    Some((name.words.get(at.checked_sub(1)?)?, name.words.get(at + 1)?))
}

fn father_and_son_swapped(expected: &Folded, received: &Folded) -> bool {
    let (Some((son, father)), Some((other_son, other_father))) = (descent(expected), descent(received))
    else {
        return false;
    };
    !son.same_name(other_son) && son.same_name(other_father) && father.same_name(other_son)
}
