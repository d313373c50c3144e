//! Names of businesses: the core (the words that are its own) must be the same; the form of
//! the company says nothing, what it does may be missing on both sides or must be the same.
//!
//! A person against a business is at most `close`: the account is another's, even when
//! the shop bears the person's name. Called by `compare_folded` only.

use std::collections::BTreeSet;

use super::fold::{Folded, Kind, Word};
use super::pair::{How, Pairing, Side, Ways, pair};
use super::{NameVerdict, Ruling};

/// Compares two names of which at least one is a business. `cut`: the received name is
/// exactly as long as a length at which its bank cuts.
pub(super) fn compare(expected: &Folded, received: &Folded, cut: bool) -> Ruling {
    let both = expected.business && (received.business || (cut && cut_inside_a_form(expected, received)));
    let pairing = agreeing(expected, received, cut);
    if both { two_businesses(expected, received, cut, &pairing) } else { person_and_business(&pairing) }
}

/// The agreeing words of the two cores.
pub(super) fn agreeing(expected: &Folded, received: &Folded, cut: bool) -> Pairing {
    let ways = if expected.business && received.business { Ways::Whole } else { Ways::All };
    let (e, r) = (core(expected, false), core(received, cut));
    pair(&e, &r, ways)
}

fn two_businesses(expected: &Folded, received: &Folded, cut: bool, pairing: &Pairing) -> Ruling {
    let names = pairing.names();
    let uncounted = pairing.agreements.iter().any(|a| a.names == 0);
    let expected_trades = trades(expected);
    let received_trades = trades(received);
    let mut left_received = pairing.left_received.clone();
    let mut initials_received = pairing.initials_received.clone();
    let mut trades_agree = expected_trades == received_trades;
    if cut && cut_inside_a_form(expected, received) {
        // The last word is the stump of a business word, and what follows is unseen.
        let stump = core(received, true).stump;
        left_received.retain(|at| Some(*at) != stump);
        initials_received.retain(|at| Some(*at) != stump);
        trades_agree = seen_trades_agree(expected, received);
    } else if cut && pairing.agreements.iter().any(|a| a.how == How::Cut && a.names > 0) {
        trades_agree |= received_trades.is_subset(&expected_trades);
    }
    let left_expected = &pairing.left_expected;
    let no_initials = pairing.initials_expected.is_empty() && initials_received.is_empty();
    if left_expected.is_empty() && left_received.is_empty() && names > 0 {
        return if trades_agree && no_initials && !uncounted {
            Ruling::new(NameVerdict::Match, "the same business")
        } else {
            Ruling::new(NameVerdict::Close, "the same business name, but another kind of business")
        };
    }
    let one_side = left_expected.is_empty() || left_received.is_empty();
    if pairing.left_on_both() && left_expected.len() == left_received.len() && pairing.nearly_all() {
        return Ruling::new(NameVerdict::Close, "the business names differ by one letter");
    }
    if one_side && names > 1 {
        return Ruling::new(NameVerdict::Close, "one business name has words that the other does not have");
    }
    Ruling::new(NameVerdict::Different, "a different business")
}

fn person_and_business(pairing: &Pairing) -> Ruling {
    let one_side = pairing.left_expected.is_empty() || pairing.left_received.is_empty();
    let all = pairing.left_expected.is_empty() && pairing.left_received.is_empty();
    let names = pairing.names();
    if !pairing.initials_contradict() && ((all && names > 0) || (one_side && names > 1)) {
        Ruling::new(NameVerdict::Close, "one is a person, the other a business with the person's name")
    } else {
        Ruling::new(NameVerdict::Different, "one is a person, the other a business with a different name")
    }
}

/// The words of a name that are its own.
fn core(name: &Folded, cut: bool) -> Side<'_> {
    let last = name.words.len().checked_sub(1);
    let mut words: Vec<&Word> = Vec::with_capacity(name.words.len());
    let mut stump = None;
    for (at, word) in name.words.iter().enumerate() {
        if matches!(word.kind, Kind::Name | Kind::Initial | Kind::Particle) {
            if cut && Some(at) == last {
                stump = Some(words.len());
            }
            words.push(word);
        }
    }
    Side { words, stump }
}

fn trades(name: &Folded) -> BTreeSet<&'static str> {
    let trade = |w: &Word| if let Kind::Trade(word) = w.kind { Some(word) } else { None };
    name.words.iter().filter_map(trade).collect()
}

/// The written words without AND, which is as often left out.
fn written(name: &Folded) -> Vec<&Word> {
    name.words.iter().filter(|w| w.kind != Kind::And).collect()
}

/// The last received word is the begin, and only the begin, of the business word that
/// stands in its place in the expected name.
fn cut_inside_a_form(expected: &Folded, received: &Folded) -> bool {
    let (expected, received) = (written(expected), written(received));
    let Some(stump) = received.last() else { return false };
    expected.get(received.len() - 1).is_some_and(|whole| {
        matches!(whole.kind, Kind::Legal | Kind::Trade(_))
            && whole.text.len() > stump.text.len()
            && whole.text.starts_with(&stump.text)
    })
}

/// The business words before the stump are the same on both sides.
fn seen_trades_agree(expected: &Folded, received: &Folded) -> bool {
    let (expected, received) = (written(expected), written(received));
    let seen = received.len().saturating_sub(1);
    let kinds = |words: &[&Word]| {
        let trades = words.iter().take(seen).filter_map(|w| match w.kind {
            Kind::Trade(word) => Some(word),
            _ => None,
        });
        trades.collect::<BTreeSet<_>>()
    };
    kinds(&expected) == kinds(&received)
}
