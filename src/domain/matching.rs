//! Which payment an alert funds: a pure decision with its reasons (contract/matching.md).
//!
//! The caller has found the account, read the candidates by index and gathered what speaks
//! against an automatic decision. Here all of it is weighed: one winner, a review with reasons
//! and ranked suggestions, or no match. Nothing approves by itself but a payer name that matches
//! and an amount that is exact or explained by the charges.

use super::money::Money;
use super::name::{
    Comparison, CutLengths, Folded, InCommon, NameVerdict, compare_folded, in_common, says_nothing,
    surname_agrees, verdict_folded,
};
use super::payment::{Kind, Payment, Status};
use super::time::Timestamp;

mod elsewhere;
mod fit;
mod only;
mod reasons;
mod rivals;

pub use elsewhere::{consider_alone, consider_on};
pub use fit::{
    AmountFit, CLOCK_SLACK, ENDED_WITHIN, Interval, NEAR_MISS, TimeFit, has_ended_lately, is_timely,
    similar_amounts, speaks_since,
};
use reasons::Reasons;
pub use reasons::ReviewKind;
pub use rivals::{
    MORE_MAY_BE_MEANT, OTHERS_TOLD, as_many_as_told, first_of_each, is_another_named, of_another_in_words,
    one_of_each,
};
use rivals::{likeliest_first, meant_for_another, one_of_each_first};

/// Candidates of like names read for one alert. At the limit the set may be incomplete, and a person decides.
pub const CANDIDATES_MAX: usize = 2_000;
/// Suggestions kept with an alert.
pub const SUGGESTIONS_MAX: usize = 20;

/// Why a person decides where payments may be missing.
pub const NOT_ALL_CHECKED: &str =
    "too many open payments have this amount or a similar name; not all were checked";

/// Who gets the money. Two candidates of one beneficiary may be chosen between, of two never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Beneficiary {
    Business(i64),
    Wallet(i64),
}

impl Beneficiary {
    /// Who gets what is transferred for a payment.
    pub fn of(payment: &Payment) -> Beneficiary {
        match (payment.kind, payment.wallet_id) {
            (Kind::Topup, Some(wallet)) => Beneficiary::Wallet(wallet),
            _ => Beneficiary::Business(payment.business_id),
        }
    }
}

/// The alert, as far as the decision needs it.
pub struct Incoming<'a> {
    pub received: Money,
    pub payer_name: Option<&'a str>,
    pub cut: CutLengths<'a>,
    pub time: Interval,
    pub first_seen: Timestamp,
    /// Registered name of the receiving account's holder.
    pub holder: &'a str,
    /// What speaks against deciding without a person, in words.
    pub doubts: &'a [String],
    /// The candidate read was cut off.
    pub limit_reached: bool,
}

/// A payment that might be meant.
pub struct Candidate<'a> {
    pub payment: &'a Payment,
    pub beneficiary: Beneficiary,
    /// A person has accepted this payer under this name before (contract/names.md#n16).
    pub proven: bool,
    /// As it asked before it was corrected a short time ago.
    pub before: Vec<&'a Payment>,
}

/// The account on which a payment asks for money, beside the one that the alert is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichAccount {
    Own,
    /// The alert does not say for certain which account it is about; it may be this one.
    Perhaps,
    Another,
}

impl WhichAccount {
    pub fn as_str(self) -> &'static str {
        match self {
            WhichAccount::Own => "the alert's account",
            WhichAccount::Perhaps => "perhaps the alert's account",
            WhichAccount::Another => "another account",
        }
    }
}

/// One candidate, weighed.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    pub payment_id: i64,
    pub transaction_id: String,
    pub business_id: i64,
    pub expected_name: String,
    pub amount: Money,
    pub status: Status,
    pub amount_fit: AmountFit,
    pub time_fit: TimeFit,
    pub name: NameVerdict,
    pub name_reason: String,
    /// The same folded words, in any order.
    pub equal_name: bool,
    /// The expected name is longer than the rule takes, and two names of the payer's do not stand in it: close to everybody,
    /// it speaks against nobody.
    is_name_undecidable: bool,
    /// What its name and the payer's have in common; nothing where the money may not have been sent for it.
    in_common: InCommon,
    /// On which account it asks for money. On any but the alert's own it is for a person's eyes.
    pub which_account: WhichAccount,
    created_at: Timestamp,
    /// When it asked for what it asks for: since it was made, or since it was corrected.
    asked_at: Timestamp,
    pub beneficiary: Beneficiary,
    /// It was rejected or reversed a short time ago, and the money may have been sent before.
    has_ended_lately: bool,
    /// The money may have been sent for it: the time fits it, or nearly, or it has ended lately.
    is_timely: bool,
    /// It asks for about what was received.
    is_about: bool,
    /// It asked for what was received, or about as much, before it was corrected.
    asked_before: bool,
}

impl Considered {
    /// Would be approved if it were the only candidate and there were no obstacles.
    fn wins_alone(&self) -> bool {
        self.status == Status::Pending
            && self.which_account == WhichAccount::Own
            && self.amount_fit.approves()
            && self.time_fit == TimeFit::Fits
            && self.name == NameVerdict::Match
    }

    /// Amount, name and time leave nothing to ask but whether the account is the right one.
    fn fits_exactly(&self) -> bool {
        self.amount_fit == AmountFit::Exact
            && self.time_fit == TimeFit::Fits
            && self.name == NameVerdict::Match
            && self.status != Status::Approved
    }

    /// What fits stands before what nearly fits, on the alert's own account before any other.
    fn rank(&self) -> u8 {
        match (self.which_account, self.wins_alone() || self.fits_exactly()) {
            (WhichAccount::Own, true) => 0,
            (_, true) => 1,
            (WhichAccount::Own, false) => 2,
            (_, false) => 3,
        }
    }

    /// For ranking suggestions: the greater, the likelier.
    fn likelihood(&self) -> (bool, u8, u8, u8, Timestamp) {
        let name = match self.name {
            NameVerdict::Match => 2,
            NameVerdict::Close => 1,
            NameVerdict::Different => 0,
        };
        let amount = match self.amount_fit {
            AmountFit::Exact => 2,
            AmountFit::ChargesRule => 1,
            AmountFit::Under | AmountFit::Over => u8::from(self.asked_before),
        };
        let time = match self.time_fit {
            TimeFit::Fits => 2,
            TimeFit::Near => 1,
            TimeFit::Outside => 0,
        };
        (self.wins_alone(), name + amount, name, time, self.created_at)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdicts {
    Approve {
        payment_id: i64,
        fit: AmountFit,
        rule: String,
    },
    /// `kinds` says the same without a name or a number, for who must not be told more. What `Incoming::doubts`
    /// says is among the reasons alone: its kind is the caller's to know.
    Review {
        reasons: Vec<String>,
        kinds: Vec<ReviewKind>,
    },
    Unmatched {
        reason: String,
    },
}

/// A decision and what it rests on, best candidate first.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub verdict: Verdicts,
    /// So many as a person is shown.
    pub considered: Vec<Considered>,
    /// What the caller knew against an approval, each by itself: the verdict's reasons hold them among other words.
    pub doubts: Vec<String>,
    /// The likeliest that speak against an approval by a person, however many are likelier to be suggested.
    rivals: Vec<Considered>,
    /// Of each beneficiary's payments that would be approved if nothing spoke against it, the one that asked for the amount last.
    pub last_fitting: Vec<i64>,
}

impl Decision {
    /// Nothing was weighed.
    pub fn unweighed(verdict: Verdicts) -> Decision {
        Decision {
            verdict,
            considered: Vec::new(),
            doubts: Vec::new(),
            rivals: Vec::new(),
            last_fitting: Vec::new(),
        }
    }
}

/// Weighs the candidates. The order in which they are given does not matter.
pub fn decide(incoming: &Incoming<'_>, candidates: &[Candidate<'_>]) -> Decision {
    let received_name = incoming.payer_name.map(Folded::new);
    let mut considered: Vec<Considered> =
        candidates.iter().map(|c| consider(incoming, received_name.as_ref(), c)).collect();
    likeliest_first(&mut considered);
    let verdict = judge(incoming, received_name.as_ref(), &considered);
    let rivals = rivals::of(&considered);
    let last_fitting = rivals::last_fitting(&considered);
    considered.retain(|c| {
        c.name != NameVerdict::Different || (c.amount_fit.approves() && c.time_fit != TimeFit::Outside)
    });
    one_of_each_first(&mut considered);
    considered.truncate(SUGGESTIONS_MAX);
    considered.sort_by_key(Considered::rank);
    Decision { verdict, considered, doubts: incoming.doubts.to_vec(), rivals, last_fitting }
}

fn consider(incoming: &Incoming<'_>, received: Option<&Folded>, candidate: &Candidate<'_>) -> Considered {
    let payment = candidate.payment;
    let expected = Folded::new(&payment.payer_name);
    let (low, high) = similar_amounts(incoming.received);
    let is_about = |payment: &Payment| low <= payment.amount && payment.amount <= high;
    let may_ask = |before: &Payment| AmountFit::of(before, incoming.received).approves() || is_about(before);
    let (mut name, mut name_reason) = match received.zip(incoming.payer_name) {
        None => (NameVerdict::Different, "the alert shows no payer name".to_owned()),
        Some(received) => {
            let comparison = compare_folded_payer(payment, &expected, received, incoming.cut);
            (comparison.verdict, comparison.reason)
        }
    };
    if name == NameVerdict::Close && candidate.proven {
        name = NameVerdict::Match;
        name_reason = format!("{name_reason}; a person accepted this payer under this name before");
    }
    let amount_fit = AmountFit::of(payment, incoming.received);
    let asked_before = candidate.before.iter().any(|before| may_ask(before));
    let is_timely = is_timely(payment, incoming.time, incoming.first_seen);
    let may_be_meant = is_timely && (amount_fit.approves() || is_about(payment) || asked_before);
    let in_common = match received {
        Some(received) if may_be_meant => in_common(&expected, received, incoming.cut),
        _ => InCommon::default(),
    };
    Considered {
        payment_id: payment.id,
        transaction_id: payment.transaction_id.clone(),
        business_id: payment.business_id,
        expected_name: payment.payer_name.clone(),
        amount: payment.amount,
        status: payment.status,
        amount_fit,
        time_fit: TimeFit::of(payment, incoming.time, incoming.first_seen),
        name,
        name_reason,
        is_name_undecidable: says_nothing(&expected, received, incoming.cut),
        which_account: WhichAccount::Own,
        equal_name: received.is_some_and(|received| expected.same_words(received)),
        created_at: payment.created_at,
        asked_at: if payment.corrections > 0 { payment.updated_at } else { payment.created_at },
        beneficiary: candidate.beneficiary,
        has_ended_lately: has_ended_lately(payment, incoming.time, incoming.first_seen),
        is_timely,
        in_common,
        is_about: is_about(payment),
        asked_before,
    }
}

/// Whether the name that an alert shows is that of the payment's payer: by the names, and by the last name that was
/// given with the payment (contract/names.md#n15). The one rule, for decisions of the program and of people.
pub fn compare_payer(payment: &Payment, received: &str, cut: CutLengths<'_>) -> Comparison {
    let expected = Folded::new(&payment.payer_name);
    compare_folded_payer(payment, &expected, (&Folded::new(received), received), cut)
}

fn compare_folded_payer(
    payment: &Payment,
    expected: &Folded,
    (received, text): (&Folded, &str),
    cut: CutLengths<'_>,
) -> Comparison {
    let mut comparison = compare_folded(expected, received, cut);
    if let (NameVerdict::Match, Some(last)) = (comparison.verdict, payment.payer.last_name.as_deref())
        && !surname_agrees(last, &payment.payer_name, text, cut)
    {
        comparison.verdict = NameVerdict::Close;
        comparison.reason.push_str("; but the last name given with the payment is not one of them");
    }
    comparison
}

fn judge(incoming: &Incoming<'_>, received: Option<&Folded>, considered: &[Considered]) -> Verdicts {
    let mut reasons = Reasons { texts: incoming.doubts.to_vec(), kinds: Vec::new() };
    if incoming.time.begin > incoming.first_seen + CLOCK_SLACK {
        reasons.add(ReviewKind::Future, "the bank's time is in the future");
    }
    if incoming.limit_reached {
        reasons.add(ReviewKind::Limit, NOT_ALL_CHECKED);
    }
    let winners: Vec<&Considered> = considered.iter().filter(|c| c.wins_alone()).collect();
    if let Some(received) = received
        && let holder = Folded::new(incoming.holder)
        && verdict_folded(&holder, received, incoming.cut) != NameVerdict::Different
    {
        reasons.add(
            ReviewKind::OwnTransfer,
            "the payer's name is like the account holder's: a transfer between own accounts, \
             or the receiver was read as the payer",
        );
    }
    if winners.windows(2).any(|pair| pair[0].beneficiary != pair[1].beneficiary) {
        reasons.add(ReviewKind::SeveralBeneficiaries, "the money fits payments of several beneficiaries");
    }
    if let Some(winner) = winners.first() {
        for text in meant_for_another(winner, considered) {
            reasons.add(ReviewKind::AnotherBeneficiary, text);
        }
    }
    let best = best_of(&winners, incoming.time.end);
    if let Some(text) = best.and_then(|best| of_another_payer(best, considered)) {
        reasons.add(ReviewKind::SeveralPayers, text);
    }
    if reasons.texts.is_empty()
        && let Some(best) = best
    {
        return Verdicts::Approve {
            payment_id: best.payment_id,
            fit: best.amount_fit,
            rule: explain(best, winners.len()),
        };
    }
    match (best, reasons.texts.first_mut()) {
        // What speaks against it is all that a person has to judge: what nearly fits only distracts.
        (Some(best), Some(first)) if !reasons.kinds.contains(&ReviewKind::SeveralBeneficiaries) => {
            *first = format!("{}, but {first}", fit_in_words(best));
        }
        (Some(_), _) => {}
        (None, _) => why_a_person_should_look(incoming, considered, &mut reasons),
    }
    if reasons.texts.is_empty() {
        Verdicts::Unmatched { reason: "no open payment fits the amount, the name and the time".into() }
    } else {
        Verdicts::Review { reasons: reasons.texts, kinds: reasons.kinds }
    }
}

fn why_a_person_should_look(incoming: &Incoming<'_>, considered: &[Considered], reasons: &mut Reasons) {
    let open = || considered.iter().filter(|c| c.status == Status::Pending);
    let in_time = |c: &&Considered| c.time_fit == TimeFit::Fits;
    if incoming.payer_name.is_none() {
        reasons.add_if(
            open().filter(in_time).any(|c| c.amount_fit.approves()),
            ReviewKind::NoPayerName,
            "the amount fits an open payment, but the alert shows no payer name",
        );
        return;
    }
    let named = |c: &Considered, verdict| c.name == verdict;
    reasons.add_if(
        open().filter(in_time).any(|c| c.amount_fit.approves() && named(c, NameVerdict::Close)),
        ReviewKind::NameClose,
        "the amount fits a payment whose payer's name is close but not the same",
    );
    let is_half = |c: &Considered| named(c, NameVerdict::Different) && c.in_common.is_much();
    reasons.add_if(
        open().filter(in_time).any(|c| c.amount_fit.approves() && is_half(c)),
        ReviewKind::NameClose,
        "the amount fits a payment whose payer has two names of this one, but each has one that the other has not",
    );
    reasons.add_if(
        open()
            .any(|c| c.amount_fit.approves() && c.time_fit == TimeFit::Near && named(c, NameVerdict::Match)),
        ReviewKind::Time,
        "name and amount fit a payment, but the time does not",
    );
    let near = |c: &&Considered| c.time_fit != TimeFit::Outside && named(c, NameVerdict::Match);
    let ended = considered.iter().filter(|c| c.status == Status::Rejected);
    let ended: Vec<&Considered> = ended.filter(near).filter(|c| c.amount_fit.approves()).collect();
    reasons.add_if(
        !ended.is_empty(),
        ReviewKind::PaymentEnded,
        "name and amount fit a payment that has ended",
    );
    if ended.iter().any(in_time) || open().filter(near).any(|c| c.amount_fit.approves()) {
        return; // Of the amount nothing is to be said.
    }
    reasons.add_if(
        open().filter(near).any(|c| c.amount_fit == AmountFit::Under),
        ReviewKind::TooLittle,
        "the payer's name matches an open payment, but less was received than asked for",
    );
    reasons.add_if(
        open().filter(near).any(|c| c.amount_fit == AmountFit::Over),
        ReviewKind::TooMuch,
        "the payer's name matches an open payment, but more was received than asked for",
    );
}

/// A payment that fits, by its id in quotes: a merchant chose it, and it is no part of the sentence.
fn fit_in_words(best: &Considered) -> String {
    let how = match best.amount_fit {
        AmountFit::ChargesRule => "fits (short by the charges)",
        _ => "fits exactly",
    };
    format!("payment {:?} of business {} {how}", best.transaction_id, best.business_id)
}

/// Inside one beneficiary: exact beats the charges rule, an equal name beats a similar one, then
/// the newest created before the bank's time, else the oldest inside the clock slack.
fn best_of<'a>(winners: &[&'a Considered], bank_time_end: Timestamp) -> Option<&'a Considered> {
    winners.iter().copied().max_by_key(|c| {
        let before = c.created_at <= bank_time_end;
        let age = if before { c.created_at.0 } else { -c.created_at.0 };
        (c.amount_fit == AmountFit::Exact, c.equal_name, before, age, -c.payment_id)
    })
}

/// A payment of the same beneficiary that may be meant as well and is another customer's, so that the newest is no better a
/// guess than the others.
fn of_another_payer(best: &Considered, considered: &[Considered]) -> Option<String> {
    if best.equal_name {
        return None;
    }
    let name = Folded::new(&best.expected_name);
    let is_another = |other: &&Considered| {
        let other_name = Folded::new(&other.expected_name);
        other.is_near()
            && (other.equal_name
                || are_two_customers((&name, best.in_common), (&other_name, other.in_common), other.name))
    };
    let mut others =
        considered.iter().filter(|c| c.beneficiary == best.beneficiary && c.payment_id != best.payment_id);
    others.find(is_another).map(|other| {
        let names = [&best.expected_name, &other.expected_name];
        let fits = if other.wins_alone() { "fits as well" } else { "may be meant as well" };
        format!(
            "payment {:?} {fits}, and {:?} and {:?} may be two people",
            other.transaction_id, names[0], names[1]
        )
    })
}

/// Whether two payments of one beneficiary, of whom the first would be paid, are likely of two people: their names are
/// different, or the other one's is no match and has a name of the payer's that the first has not. Where both match and one
/// has a middle name more, they are two tries of one customer.
pub fn are_two_customers(best: (&Folded, InCommon), other: (&Folded, InCommon), name: NameVerdict) -> bool {
    verdict_folded(best.0, other.0, &[]) == NameVerdict::Different
        || name != NameVerdict::Match && other.1.has_more_than(best.1)
}

fn explain(best: &Considered, fitting: usize) -> String {
    let amount = match best.amount_fit {
        AmountFit::ChargesRule => "the amount is short by the charges (within 1.00)",
        _ => "the amount is exact",
    };
    let choice = if fitting > 1 {
        format!("; chosen from {fitting} payments of the same beneficiary that fit")
    } else {
        String::new()
    };
    format!("{amount}; {}{choice}", best.name_reason)
}

#[cfg(test)]
mod tests;
