//! Payments of other beneficiaries that may be meant beside the one that fits: what keeps it from being approved by
//! itself, and what a person is told who approves it. Used by `matching`.

use std::collections::{HashMap, HashSet};

use super::{AmountFit, Beneficiary, Considered, Decision, NameVerdict, Status};

/// Beneficiaries beside the own one of whom a person is told.
pub const OTHERS_TOLD: usize = 5;
/// Beneficiaries of whom it is known what they ask for, the own one among them: what a reason tells already is taken off before
/// the others are told.
pub(super) const OTHERS_KNOWN: usize = 50;

impl Considered {
    /// Leaves nothing to ask of name and amount, and the time fits it.
    fn may_be_the_one(&self) -> bool {
        (self.amount_fit.approves() || self.asked_before) && self.name == NameVerdict::Match && self.is_timely
    }

    /// The time fits it, and neither its name nor its amount is far off. Of a name that is different two may be the payer's:
    /// merchants write a description beside a name, and banks a middle name.
    pub(super) fn is_near(&self) -> bool {
        (self.name != NameVerdict::Different || self.in_common.is_much())
            && !self.is_name_undecidable
            && (self.amount_fit.approves() || self.is_about || self.asked_before)
            && self.is_timely
    }

    /// Whose payment it is, and how it asks for what was received: for a person who approves another one.
    pub fn rival_in_words(&self) -> String {
        let theirs = of_another_in_words(&self.transaction_id, self.business_id);
        let ended = if self.status == Status::Pending { "" } else { ", which has ended," };
        let asks = match self.amount_fit {
            AmountFit::Exact => "asks for exactly what was received",
            AmountFit::ChargesRule => "asks for what was received and its charges",
            _ if self.asked_before => "asked for such an amount before it was corrected",
            _ => "asks for about what was received",
        };
        format!("{theirs}{ended} {asks}")
    }
}

impl Decision {
    /// Payments that would have been approved if nothing had spoken against it, the best first.
    pub fn winners(&self) -> impl Iterator<Item = &Considered> {
        self.considered.iter().filter(|c| c.wins_alone())
    }

    /// Payments of somebody else that leave nothing to ask: amount, name and time fit, and they are open or have ended
    /// lately. The amount may be one that they asked for before they were corrected.
    pub fn fitting_others(&self, own: Beneficiary) -> impl Iterator<Item = &Considered> {
        self.of_others(own).filter(|c| c.may_be_the_one())
    }

    /// Payments of somebody else that the time fits, open or ended lately, of a like name, that ask for about what was
    /// received, or did before they were corrected.
    pub fn near_others(&self, own: Beneficiary) -> impl Iterator<Item = &Considered> {
        self.of_others(own).filter(|c| c.is_near())
    }

    /// Payments on other accounts that may speak against an approval by a person, beside those that are suggested.
    pub fn ask_elsewhere(&mut self, elsewhere: Vec<Considered>) {
        self.rivals.extend(elsewhere);
    }

    fn of_others(&self, own: Beneficiary) -> impl Iterator<Item = &Considered> {
        self.rivals.iter().chain(&self.considered).filter(move |c| c.beneficiary != own)
    }
}

/// The likeliest payments that may speak against an approval by a person, however many others there are.
pub(super) fn of(considered: &[Considered]) -> Vec<Considered> {
    // Whoever is asked about, the others are not his.
    let each = |passes: fn(&Considered) -> bool| {
        let passing = considered.iter().filter(|c| passes(c)).cloned();
        let mut each = one_of_each(passing, whose, None);
        each.truncate(OTHERS_KNOWN);
        each
    };
    let mut rivals = each(Considered::may_be_the_one);
    rivals.extend(each(Considered::is_near));
    rivals
}

/// Of each beneficiary, the payment that fits and asked for the amount last: what came before it was asked for says more against it
/// than against any other of the same.
pub(super) fn last_fitting(considered: &[Considered]) -> Vec<i64> {
    let mut fitting: Vec<&Considered> = considered.iter().filter(|c| c.wins_alone()).collect();
    fitting.sort_by_key(|c| std::cmp::Reverse(c.asked_at));
    let mut each = one_of_each(fitting, |c| whose(c), None);
    each.truncate(OTHERS_KNOWN);
    each.into_iter().map(|c| c.payment_id).collect()
}

fn whose(c: &Considered) -> (i64, Beneficiary) {
    (c.business_id, c.beneficiary)
}

pub(super) fn likeliest_first(considered: &mut [Considered]) {
    considered.sort_by(|a, b| b.likelihood().cmp(&a.likelihood()).then(a.payment_id.cmp(&b.payment_id)));
}

/// The likeliest payment of each business before those of the wallets that are filled through it, and these before the
/// others of anybody, so that many payments of one do not push another's out of the suggestions.
pub(super) fn one_of_each_first(considered: &mut [Considered]) {
    let mut places = Places::of(considered.iter().map(whose));
    let places: HashMap<i64, u8> =
        considered.iter().map(|c| (c.payment_id, places.next(whose(c)).unwrap_or(LAST))).collect();
    // What would be approved is never pushed out.
    let best = considered.iter().find(|c| c.wins_alone()).map(|c| c.payment_id);
    considered.sort_by_key(|c| (Some(c.payment_id) != best, places.get(&c.payment_id).copied()));
}

/// One payment of each beneficiary, the first that is found, so that nobody's hides another's. Those of as many businesses come before the
/// wallets that are filled through the same: who has a shop can have as many wallets as he likes. And last those wallets that are filled through the
/// business whose payment is asked about, for it may be he who would hide the others.
pub fn one_of_each<T>(
    found: impl IntoIterator<Item = T>,
    whose: impl Fn(&T) -> (i64, Beneficiary),
    asked_about: Option<i64>,
) -> Vec<T> {
    let found: Vec<T> = found.into_iter().collect();
    let mut places = Places::of(found.iter().map(&whose));
    let mut placed: Vec<(u8, T)> = Vec::new();
    for one in found {
        let (business_id, beneficiary) = whose(&one);
        if let Some(place) = places.next((business_id, beneficiary)) {
            let is_asking_ones =
                asked_about == Some(business_id) && matches!(beneficiary, Beneficiary::Wallet(_));
            placed.push((if is_asking_ones { LAST } else { place }, one));
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, one)| one).collect()
}

/// The place of what comes after all others.
const LAST: u8 = 2;

/// Before whom a beneficiary is told of: businesses first, each with a payment of its own, or with the first of the wallets where it
/// has none; then the other wallets.
struct Places {
    with_own: HashSet<i64>,
    businesses: HashSet<i64>,
    beneficiaries: HashSet<Beneficiary>,
}

impl Places {
    fn of(found: impl Iterator<Item = (i64, Beneficiary)>) -> Places {
        let own = found.filter(|(_, beneficiary)| matches!(beneficiary, Beneficiary::Business(_)));
        Places {
            with_own: own.map(|(business_id, _)| business_id).collect(),
            businesses: HashSet::new(),
            beneficiaries: HashSet::new(),
        }
    }

    /// Of a beneficiary that had its place there is nothing more to place.
    fn next(&mut self, (business_id, beneficiary): (i64, Beneficiary)) -> Option<u8> {
        if !self.beneficiaries.insert(beneficiary) {
            return None;
        }
        let is_wallet_behind =
            matches!(beneficiary, Beneficiary::Wallet(_)) && self.with_own.contains(&business_id);
        Some(u8::from(is_wallet_behind || !self.businesses.insert(business_id)))
    }
}

/// That there are others of whom a person is not told by name. Without their number: it changes with every order of anybody's, and
/// what a person has seen must not be something else a moment later.
pub const MORE_MAY_BE_MEANT: &str = "payments of more beneficiaries may be meant as well";

/// As many as a person is told of, and that there are more.
pub fn as_many_as_told(mut each: Vec<String>) -> Vec<String> {
    let are_more = each.len() > OTHERS_TOLD;
    each.truncate(OTHERS_TOLD);
    each.extend(are_more.then(|| MORE_MAY_BE_MEANT.to_owned()));
    each
}

/// The first of each beneficiary, so that nobody's payment hides another's: of so many beneficiaries.
pub fn first_of_each<T>(
    found: impl IntoIterator<Item = T>,
    whose: impl Fn(&T) -> Beneficiary,
    most: usize,
) -> Vec<T> {
    let mut seen: Vec<Beneficiary> = Vec::new();
    let mut first = Vec::new();
    for one in found {
        let of = whose(&one);
        if seen.len() < most && !seen.contains(&of) {
            seen.push(of);
            first.push(one);
        }
    }
    first
}

/// Payments of other beneficiaries, open or ended lately, that may be the one that is meant, though they would not be
/// approved: one of each.
pub(super) fn meant_for_another(winner: &Considered, considered: &[Considered]) -> Vec<String> {
    let is_another = |c: &&Considered| c.beneficiary != winner.beneficiary;
    let others = considered.iter().filter(is_another).filter(|c| !c.is_name_undecidable && c.is_timely);
    let meant = others.filter_map(|c| {
        let how = match c.name {
            NameVerdict::Close if c.amount_fit.approves() => {
                "also fits the amount, and its payer's name is close"
            }
            // A close name may be one that a person has accepted, or be close for its last name alone.
            NameVerdict::Close if c.is_about => "has a close payer's name and a similar amount",
            // Money for several beneficiaries is told as that.
            NameVerdict::Match if c.wins_alone() => return None,
            NameVerdict::Match if c.amount_fit.approves() => "also fits the amount and the payer's name",
            NameVerdict::Match if c.is_about => "has the same payer's name and a similar amount",
            NameVerdict::Close if c.asked_before => {
                "has a close payer's name, and asked for such an amount before it was corrected"
            }
            NameVerdict::Match if c.asked_before => {
                "has the same payer's name, and asked for such an amount before it was corrected"
            }
            NameVerdict::Different if !c.in_common.is_much() => return None,
            NameVerdict::Different if c.amount_fit.approves() => {
                "also fits the amount, and its payer has two of these names"
            }
            NameVerdict::Different if c.is_about => "has two of the payer's names and a similar amount",
            NameVerdict::Different if c.asked_before => {
                "has two of the payer's names, and asked for such an amount before it was corrected"
            }
            _ => return None,
        };
        let ended = if c.has_ended_lately { ", which has ended," } else { "" };
        let theirs = of_another_in_words(&c.transaction_id, c.business_id);
        Some((whose(c), format!("{theirs}{ended} {how}")))
    });
    let each = one_of_each(meant, |(whose, _)| *whose, Some(winner.business_id));
    as_many_as_told(each.into_iter().map(|(_, told)| told).collect())
}

/// Whether a text names this payment of another beneficiary as [`of_another_in_words`] does. What stands behind ends the number.
pub fn is_another_named(text: &str, transaction_id: &str, business_id: i64) -> bool {
    let theirs = of_another_in_words(transaction_id, business_id);
    [" ", ","].iter().any(|end| text.contains(&format!("{theirs}{end}")))
}

/// Another beneficiary's payment, by its id in quotes: a merchant chose it, and it is no part of the sentence.
pub fn of_another_in_words(transaction_id: &str, business_id: i64) -> String {
    format!("another beneficiary's payment {transaction_id:?} of business {business_id}")
}
