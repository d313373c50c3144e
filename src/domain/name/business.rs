//! Names of businesses: the core (the words that are its own) must be the same; the form of
//! the company says nothing, what it does may be missing on both sides or must be the same.
//!
//! A person against a business is at most `close`: the account is another's, even when
//! the shop bears the person's name. Called by `compare_folded` only.

use std::collections::BTreeSet;

use super::fold::{Folded, Kind, Word};
use super::pair::{Pairing, Side, Ways, pair};
use super::{Ruling, Verdict};

/// Compares two names of which at least one is a business. `cut`: the received name is
/// exactly as long as a length at which its bank cuts.
pub(super) fn compare(expected: &Folded, received: &Folded, cut: bool) -> Ruling {
    let both = expected.business && (received.business || (cut && ends_in_trade(expected, received)));
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
    let mut received_trades = trades(received);
    let mut left_received = pairing.left_received.clone();
    let mut trades_agree = expected_trades == received_trades;
    if cut {
        // The last word may be the stump of a business word, and what follows is unseen.
        let (last, stump) = split_last(received);
        if let Some(stump) = stump {
            let stands_for = business_word_begun(expected, stump);
            if stands_for {
                left_received.retain(|at| *at != last);
                received_trades.retain(|t| !stump.starts_with(t) && Some(*t) != trade_of(received));
            }
            trades_agree |= received_trades.is_subset(&expected_trades)
                && (stands_for || pairing.agreements.iter().all(|a| a.names > 0));
        }
    }
    let left_expected = &pairing.left_expected;
    let no_initials = pairing.initials_expected.is_empty() && pairing.initials_received.is_empty();
    if left_expected.is_empty() && left_received.is_empty() && names > 0 {
        return if trades_agree && no_initials && !uncounted {
            Ruling::new(Verdict::Match, "the same business")
        } else {
            Ruling::new(Verdict::Close, "the same business name with another kind of business")
        };
    }
    let one_side = left_expected.is_empty() || left_received.is_empty();
    if pairing.left_on_both() && left_expected.len() == left_received.len() && pairing.nearly_all() {
        return Ruling::new(Verdict::Close, "business names one letter apart");
    }
    if one_side && names > 1 {
        return Ruling::new(Verdict::Close, "one business name has words the other has not");
    }
    Ruling::new(Verdict::Different, "another business")
}

fn person_and_business(pairing: &Pairing) -> Ruling {
    let one_side = pairing.left_expected.is_empty() || pairing.left_received.is_empty();
    let all = pairing.left_expected.is_empty() && pairing.left_received.is_empty();
    let names = pairing.names();
    if !pairing.initials_contradict() && ((all && names > 0) || (one_side && names > 1)) {
        Ruling::new(Verdict::Close, "a person against a business that bears the person's name")
    } else {
        Ruling::new(Verdict::Different, "a person against a business of another name")
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

fn trade_of(name: &Folded) -> Option<&'static str> {
    match name.words.last()?.kind {
        Kind::Trade(word) => Some(word),
        _ => None,
    }
}

/// The last word and its place in the core.
fn split_last(name: &Folded) -> (usize, Option<&str>) {
    let in_core = core(name, true).stump.unwrap_or(usize::MAX);
    (in_core, name.words.last().map(|w| w.text.as_str()))
}

fn business_word_begun(expected: &Folded, stump: &str) -> bool {
    let is_form = |w: &&Word| matches!(w.kind, Kind::Legal | Kind::Trade(_) | Kind::And);
    expected.words.iter().filter(is_form).any(|w| w.text.starts_with(stump))
}

/// A cut alert that ends before any whole business word.
fn ends_in_trade(expected: &Folded, received: &Folded) -> bool {
    split_last(received).1.is_some_and(|stump| business_word_begun(expected, stump))
}
