//! Gathers everything a decision about one alert rests on, and has the domain decide.
//!
//! Read only. Used when an alert is new, when a correction looks at waiting alerts, and when a
//! person asks for suggestions. All reads begin after the alert's own commit, so of an alert and a
//! correction that happen at the same moment at least one sees the other (contract/matching.md#m21).

use super::may_be_meant::{Read, SUGGEST_WITHIN, others_meant, read_open_payments, with_suggestions};
use super::named_besides::named_besides;
use super::other_accounts::{
    OnFitting, OtherMeant, asked_by_whom_he_knows, of_others_elsewhere, on_fitting_accounts,
    on_other_accounts,
};
use super::reach::sight;
use super::same_payer::SentBefore;
use super::similar::{Similar, similar_alerts};
use crate::app::App;
use crate::domain::account::{ReceivingAccount, is_full_account_number};
use crate::domain::alert::AlertRow;
use crate::domain::matching::{
    Beneficiary, Candidate, Considered, Decision, Incoming, NOT_ALL_CHECKED, ReviewKind, SUGGESTIONS_MAX,
    Verdicts, WhichAccount, consider_alone, consider_on, decide, of_another_in_words,
};
use crate::domain::money::Money;
use crate::domain::name::{NameVerdict, fold};
use crate::domain::payment::Payment;
use crate::domain::same_transfer::interval;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::payments::like_names::add_unknown;
use crate::ops::wallet_payments::topup::{HeldTopup, held_topup};
use crate::store::tables::payments::Own;
use crate::store::tables::settlements::ProvenName;

/// Followed by whose.
pub const NAMES_ANOTHER: &str = "the narration names the payer of";
/// Behind whose payment it is.
const ASKED_BY_KNOWN: &str = "asks for about this amount from a payer of such a name on another account, and was paid by this payer \
                              on this account before";
const NOT_ALL_ELSEWHERE: &str = "too many payments bear the payer's name, or were paid under it, to find out whether he means one on another account";
const NOT_ALL_NAMED: &str = "too many payments bear a name of the narration for all of them to be looked at";

/// What was decided and what it rests on.
pub struct Weighed {
    pub decision: Decision,
    pub payments: Vec<Payment>,
    pub account: Option<ReceivingAccount>,
    /// Not all payments that speak against an approval by a person could be read.
    pub is_incomplete: bool,
    /// The debit or reversal that may have taken the money back.
    pub undone_by: Option<i64>,
    /// Of what kind the doubts were under which was decided; the domain knows those of its own reasons.
    pub doubt_kinds: Vec<&'static str>,
    /// The top-up that it would pay but for its wallet.
    pub held: Option<HeldTopup>,
    /// Version of the amount on its account before the similar alerts were read; the settling
    /// Unit is guarded by it.
    pub amount_version: i64,
}

/// What the caller knows that speaks against an approval by itself.
pub struct Objection {
    pub reason: String,
    /// The payments it is about, which a person must see among the suggestions.
    pub about: Vec<Payment>,
}

pub async fn weigh(app: &App, alert: &AlertRow) -> Result<Weighed, OpError> {
    weigh_against(app, alert, None).await
}

/// As [`weigh`], under an objection: never an approval, and its payments are among the suggestions.
pub async fn weigh_against(
    app: &App,
    alert: &AlertRow,
    objection: Option<&Objection>,
) -> Result<Weighed, OpError> {
    let weighed = Box::pin(weigh_since(app, alert, objection, alert.first_seen)).await?;
    // A payment that was kept open for longer than alerts are compared: whatever came since may be its money.
    let asked = weighed.payments.iter().map(|payment| payment.created_at).min();
    let is_approved = matches!(weighed.decision.verdict, Verdicts::Approve { .. });
    match asked.filter(|asked| is_approved && *asked < sight(app, alert).0) {
        Some(asked) => Box::pin(weigh_since(app, alert, objection, asked)).await,
        None => Ok(weighed),
    }
}

impl Weighed {
    /// Puts an objection beside what keeps the alert for a person already: none of that is lost, and later alerts go by it.
    pub fn stand_beside(&mut self, alert: &AlertRow, objection: Objection) {
        let (Some(account), Some(received)) = (&self.account, alert.facts.amount) else { return };
        let Verdicts::Review { reasons, .. } = &mut self.decision.verdict else { return };
        reasons.push(objection.reason.clone());
        self.decision.doubts.push(objection.reason);
        self.doubt_kinds.push("amount_corrected");
        let cut = alert.facts.cut_lengths();
        let incoming = incoming(alert, received, &cut, &account.name);
        show(&incoming, alert.account_id, &objection.about, &mut self.decision);
        add_unknown(&mut self.payments, objection.about);
    }
}

/// What the rules are told of an alert, without doubts that come from elsewhere.
fn incoming<'a>(alert: &'a AlertRow, received: Money, cut: &'a [usize], holder: &'a str) -> Incoming<'a> {
    Incoming {
        received,
        payer_name: alert.facts.payer_name.as_deref(),
        cut,
        time: interval(alert),
        first_seen: alert.first_seen,
        holder,
        doubts: &[],
        limit_reached: false,
    }
}

async fn weigh_since(
    app: &App,
    alert: &AlertRow,
    objection: Option<&Objection>,
    since: Timestamp,
) -> Result<Weighed, OpError> {
    let account = match alert.account_id {
        Some(id) => app.directory.accounts().await?.iter().find(|account| account.id == id).cloned(),
        None => None,
    };
    // Whoever simulates on an account that several share meets his own payments alone.
    let account = account.map(|account| ReceivingAccount {
        business_id: alert.simulated_for.or(account.business_id),
        ..account
    });
    let (Some(account), Some(received)) = (account, alert.facts.amount) else {
        return without_account(app, alert).await;
    };
    let holding_account = account.holding_account();
    let amount_version = app.store.amount_version(holding_account, received).await?;
    let mut doubts = alert.facts.doubts.clone();
    doubts.extend(objection.map(|objection| objection.reason.clone()));
    let similar = similar_alerts(app, alert, account.id, received, since).await?;
    let mut doubt_kinds = kinds_of_doubts(alert, objection, &similar);
    for doubt in &similar.doubts {
        if !doubts.contains(doubt) {
            doubts.push(doubt.clone());
        }
    }
    let cut = alert.facts.cut_lengths();
    let Read { payments, of_other_names, limit_reached, by_name } =
        read_open_payments(app, alert, account.id, received).await?;
    let mut known = Known { of: alert.simulated_for, ..Known::default() };
    known.add(payments);
    let mut incoming =
        Incoming { doubts: &doubts, limit_reached, ..incoming(alert, received, &cut, &account.name) };
    let mut decision = known.decide(&incoming);
    known.proven = proven_payers(app, alert, &decision.considered).await?;
    if !known.proven.is_empty() {
        decision = known.decide(&incoming);
    }
    let mut are_others_read = false;
    let mut is_incomplete = limit_reached;
    if let Some(winner) = known.winner(&decision) {
        let price = (account.id, received, Own::of(winner));
        let (more, asked) = others_meant(app, alert, price, by_name).await?;
        are_others_read = true;
        incoming.limit_reached |= more.may_be_more || asked.may_be_more;
        is_incomplete = incoming.limit_reached;
        if known.add(more.payments) | known.add(asked.payments) | incoming.limit_reached
            || !asked.before.is_empty()
        {
            known.before = asked.before;
            decision = known.decide(&incoming);
        }
    }
    let (mut of_winner, mut of_all, mut held) = (doubts.clone(), Vec::new(), None);
    if let Some(payment) = known.winner(&decision) {
        if let Some(topup) = held_topup(app, payment, received).await? {
            held = Some(topup);
            of_winner.push(topup.doubt.to_string());
            doubt_kinds.push("wallet");
        }
        let named = named_besides(app, alert, payment, (&account, received), &known.before).await?;
        if !named.is_empty() {
            of_winner.extend(OtherMeant::likeliest(named).iter().map(|other| names_another(other, payment)));
            doubt_kinds.push("names_another");
        }
        let asked = asked_by_whom_he_knows(app, alert, &account, payment, received).await?;
        if !asked.is_empty() {
            of_winner.extend(OtherMeant::likeliest(asked).iter().map(asked_by_known));
            doubt_kinds.push("asked_elsewhere");
        }
    }
    let before = SentBefore::read(app, alert, &similar.of_payer).await?;
    if let Some(payment) = known.winner(&decision) {
        let sent = before.for_another(app, payment).await?;
        if !sent.is_empty() {
            of_winner.extend(sent);
            doubt_kinds.push("paid_another");
        }
    }
    if of_winner.len() > doubts.len() {
        incoming.doubts = &of_winner;
        decision = known.decide(&incoming);
    }
    if !matches!(decision.verdict, Verdicts::Approve { .. }) {
        // Nothing found here can be approved by itself: other names, other amounts, and payments that ended.
        known.add(of_other_names);
        if !are_others_read {
            let price = (account.id, received, Own::NOBODYS);
            let (more, asked) = others_meant(app, alert, price, by_name).await?;
            is_incomplete |= more.may_be_more || asked.may_be_more;
            known.add(more.payments);
            known.add(asked.payments);
            known.before = asked.before;
        }
        let suggested =
            with_suggestions(app, alert, account.id, received, std::mem::take(&mut known.payments)).await?;
        known.add(suggested);
        decision = known.decide(&incoming);
        // Later transfers go by it, and what else speaks may be over by then.
        let mut sent = Vec::new();
        for payment in known.last_fitting(&decision) {
            sent.extend(before.for_another(app, payment).await?);
        }
        if is_incomplete {
            sent.extend(before.for_anybody(app).await?);
        }
        of_all.clone_from(&of_winner);
        let told = of_all.len();
        for one in sent {
            if !of_all.contains(&one) {
                of_all.push(one);
            }
        }
        if of_all.len() > told {
            doubt_kinds.retain(|kind| *kind != "paid_another");
            doubt_kinds.push("paid_another");
            incoming.doubts = &of_all;
            decision = known.decide(&incoming);
        }
        // After the verdict, in which they have no part.
        let since = alert.first_seen - SUGGEST_WITHIN;
        let elsewhere = on_other_accounts(app, alert, &account, received, since).await?.payments;
        decision.show_elsewhere(consider_on(WhichAccount::Another, &incoming, &candidates(&elsewhere)));
    }
    let mut payments = known.payments;
    if let Some(objection) = objection {
        show(&incoming, alert.account_id, &objection.about, &mut decision);
        add_unknown(&mut payments, objection.about.clone());
    }
    let undone_by = similar.undone_by;
    let account = Some(account);
    Ok(Weighed { decision, payments, account, is_incomplete, undone_by, doubt_kinds, held, amount_version })
}

/// An alert without an amount, or whose account is not settled, always goes to a person, who is shown what fits on
/// the accounts that it may be about.
async fn without_account(app: &App, alert: &AlertRow) -> Result<Weighed, OpError> {
    let mut reasons = alert.facts.doubts.clone();
    let (mut doubt_kinds, mut kinds) = (Vec::new(), Vec::new());
    if alert.facts.amount.is_none() {
        reasons.push("the amount could not be read".into());
        doubt_kinds.push("no_amount");
    }
    if reasons.is_empty() {
        reasons.push("the alert names no registered account".into());
    }
    if alert.account_id.is_none() {
        doubt_kinds.push("no_account");
    }
    let mut elsewhere = None;
    if let (None, Some(received)) = (alert.account_id, alert.facts.amount) {
        let since = alert.first_seen - SUGGEST_WITHIN;
        let found = on_fitting_accounts(app, alert, received, since).await?;
        if found.beside.may_be_more && alert.facts.payer_name.is_some() {
            reasons.push(NOT_ALL_CHECKED.into());
            kinds.push(ReviewKind::Limit);
        }
        elsewhere = Some((received, found));
    }
    let mut decision = Decision::unweighed(Verdicts::Review { reasons, kinds });
    if let Some((received, OnFitting { which_account, beside })) = elsewhere {
        let cut = alert.facts.cut_lengths();
        let incoming = incoming(alert, received, &cut, "");
        decision.show_elsewhere(consider_on(which_account, &incoming, &candidates(&beside.payments)));
    }
    let (payments, account, undone_by, amount_version) = (Vec::new(), None, None, 0);
    let is_incomplete = false;
    Ok(Weighed {
        decision,
        payments,
        account,
        is_incomplete,
        undone_by,
        doubt_kinds,
        held: None,
        amount_version,
    })
}

/// That the payer's words name somebody else's customer.
pub fn names_another(other: &OtherMeant, chosen: &Payment) -> String {
    let asks = |other: &Payment| {
        let theirs = match Beneficiary::of(other) == Beneficiary::of(chosen) {
            true => format!("payment {:?}", other.transaction_id),
            false => of_another_in_words(&other.transaction_id, other.business_id),
        };
        format!("{NAMES_ANOTHER} {theirs}, which asks for about as much")
    };
    other.in_words(asks, NOT_ALL_NAMED)
}

/// That a shop which the payer knows asks for the money elsewhere.
pub fn asked_by_known(other: &OtherMeant) -> String {
    let asks = |other: &Payment| {
        format!("{} {ASKED_BY_KNOWN}", of_another_in_words(&other.transaction_id, other.business_id))
    };
    other.in_words(asks, NOT_ALL_ELSEWHERE)
}

/// Where the doubts come from: the mail or the account, a correction, other alerts of the same money.
fn kinds_of_doubts(alert: &AlertRow, objection: Option<&Objection>, similar: &Similar) -> Vec<&'static str> {
    let told_again = similar.doubts.len() > usize::from(similar.undone_by.is_some());
    [
        (!alert.facts.doubts.is_empty(), "mail_doubt"),
        (objection.is_some(), "amount_corrected"),
        (similar.undone_by.is_some(), "taken_back"),
        (told_again, "another_alert"),
    ]
    .into_iter()
    .filter_map(|(is_there, kind)| is_there.then_some(kind))
    .collect()
}

/// Puts payments among the suggestions, however many are likelier.
fn show(incoming: &Incoming<'_>, account_id: Option<i64>, payments: &[Payment], decision: &mut Decision) {
    let is_new = |payment: &&Payment| decision.considered.iter().all(|c| c.payment_id != payment.id);
    let weighed = |payment: &Payment| {
        let is_own = payment.account_id == account_id;
        let which_account = if is_own { WhichAccount::Own } else { WhichAccount::Another };
        let alone = candidates(std::slice::from_ref(payment));
        alone.iter().map(|one| consider_alone(which_account, incoming, one)).collect::<Vec<_>>()
    };
    let more: Vec<Considered> = payments.iter().filter(is_new).flat_map(weighed).collect();
    decision.considered.truncate(SUGGESTIONS_MAX.saturating_sub(more.len()));
    decision.considered.extend(more);
}

/// What is known of the payments that may be meant.
#[derive(Default)]
struct Known {
    /// Whose payments they are, where only one business's may be meant.
    of: Option<i64>,
    payments: Vec<Payment>,
    /// Of whose payers' names a person has accepted them.
    proven: Vec<i64>,
    /// As some of them asked before they were corrected.
    before: Vec<Payment>,
}

impl Known {
    /// Adds those that are new; answers whether any were.
    fn add(&mut self, mut more: Vec<Payment>) -> bool {
        more.retain(|payment| self.of.is_none_or(|business_id| business_id == payment.business_id));
        let known = self.payments.len();
        add_unknown(&mut self.payments, more);
        self.payments.len() > known
    }

    fn decide(&self, incoming: &Incoming<'_>) -> Decision {
        let mut candidates = candidates(&self.payments);
        for candidate in &mut candidates {
            candidate.proven = self.proven.contains(&candidate.payment.id);
            candidate.before = self.before.iter().filter(|one| one.id == candidate.payment.id).collect();
        }
        decide(incoming, &candidates)
    }

    fn last_fitting<'a>(&'a self, decision: &'a Decision) -> Vec<&'a Payment> {
        let ids = decision.last_fitting.iter();
        ids.filter_map(|id| self.payments.iter().find(|payment| payment.id == *id)).collect()
    }

    /// The payment that a decision approves.
    fn winner(&self, decision: &Decision) -> Option<&Payment> {
        let Verdicts::Approve { payment_id, .. } = &decision.verdict else { return None };
        self.payments.iter().find(|payment| payment.id == *payment_id)
    }
}

/// Payments of other beneficiaries than that of one payment, on other accounts than the one that the money came to, as a decision weighs
/// them; and whether more of them than were read may fit.
pub async fn weigh_elsewhere(
    app: &App,
    alert: &AlertRow,
    (account, payment): (&ReceivingAccount, &Payment),
    received: Money,
) -> Result<(Vec<Considered>, bool), OpError> {
    let since = alert.first_seen - SUGGEST_WITHIN;
    let found = of_others_elsewhere(app, alert, (account, payment), received, since).await?;
    let cut = alert.facts.cut_lengths();
    let incoming = incoming(alert, received, &cut, &account.name);
    let weighed = consider_on(WhichAccount::Another, &incoming, &candidates(&found.payments));
    Ok((weighed, found.may_be_more))
}

fn candidates(payments: &[Payment]) -> Vec<Candidate<'_>> {
    let candidate = |payment| Candidate {
        payment,
        beneficiary: Beneficiary::of(payment),
        proven: false,
        before: Vec::new(),
    };
    payments.iter().map(candidate).collect()
}

/// Payments whose close name a person has accepted for this very payer account.
async fn proven_payers(app: &App, alert: &AlertRow, considered: &[Considered]) -> Result<Vec<i64>, OpError> {
    let (Some(received), Some(bank), Some(account)) =
        (&alert.facts.payer_name, &alert.facts.payer_bank, &alert.facts.payer_account_number)
    else {
        return Ok(Vec::new());
    };
    if !is_full_account_number(account) {
        return Ok(Vec::new());
    }
    let received = fold(received);
    let mut proven = Vec::new();
    for c in considered.iter().filter(|c| c.name == NameVerdict::Close && c.amount_fit.approves()) {
        let expected = fold(&c.expected_name);
        let name = ProvenName {
            business_id: c.business_id,
            expected: &expected,
            received: &received,
            payer_bank: bank,
            payer_account: account,
        };
        if app.store.is_name_proven(&name).await? {
            proven.push(c.payment_id);
        }
    }
    Ok(proven)
}
