//! What speaks for somebody else's payment when a person approves one: that it fits better, that the time fits it alone,
//! or that it asks for the same on another account of those that the alert may mean (contract/matching.md#m25). Read
//! only; used by `approve`.

use super::evidence;
use super::may_be_meant::{asked_before, ended_lately};
use super::named_besides::named_besides;
use super::other_accounts::{OtherMeant, asked_by_whom_he_knows, on_all_but, shows_digits};
use super::weigh::{asked_by_known, names_another, weigh, weigh_elsewhere};
use super::weigh_corrected::untold_of_fished;
use crate::app::App;
use crate::domain::account::{ReceivingAccount, in_words, mask_fits};
use crate::domain::alert::AlertRow;
use crate::domain::matching::{
    AmountFit, Beneficiary, Considered, TimeFit, WhichAccount, as_many_as_told, is_another_named, is_timely,
    of_another_in_words, one_of_each,
};
use crate::domain::money::Money;
use crate::domain::name::{self, Comparison, Folded, NameVerdict, says_nothing};
use crate::domain::payment::{Payment, Status};
use crate::domain::same_transfer::interval;
use crate::domain::time::Span;
use crate::ops::OpError;
use crate::ops::payments::like_names::{add_unknown, of_others};
use crate::store::tables::payments::Own;

/// Payments elsewhere that were made so long before the alert came are looked at.
const MADE_WITHIN: Span = Span::days(30);
/// Payments that the amount would pay, of which those of other beneficiaries are looked for, be it exactly or by the charges rule.
const ASKING_MAX: usize = 2_000;
/// Other accounts that an alert may mean whose payments are read whatever their names.
const ACCOUNTS_MAX: usize = 50;

const NOT_ALL_THAT_ASK: &str =
    "the alert shows no payer, and not all payments that ask for what was received were checked";
const NOT_ALL_ELSEWHERE: &str = "the alert does not settle its account, and not all payments of this amount on the \
     others that may be meant were checked";

/// Whom the payer's words name, who asks elsewhere that he has paid on this account before, and whose money it may be where the payment
/// may be fished for: another beneficiary's payment that the reason does not name for which the alert waits.
pub async fn untold_meanings(
    app: &App,
    alert: &AlertRow,
    payment: &Payment,
    (account, received): (&ReceivingAccount, Money),
) -> Result<Vec<String>, OpError> {
    let before = asked_before(app, alert, account.id, received).await?.before;
    let named = named_besides(app, alert, payment, (account, received), &before).await?;
    let known = asked_by_whom_he_knows(app, alert, account, payment, received).await?;
    let untold = |others: Vec<OtherMeant>, in_words: &dyn Fn(&OtherMeant) -> String| {
        let is_told = |other: &OtherMeant| evidence::is_told_of(alert, |doubt| doubt == in_words(other));
        let left = others.into_iter().filter(|other| !is_told(other)).collect();
        OtherMeant::likeliest(left).iter().map(in_words).collect::<Vec<String>>()
    };
    let mut all = untold(named, &|other| names_another(other, payment));
    all.extend(untold(known, &asked_by_known));
    all.extend(untold_of_fished(app, alert, account, payment).await?);
    Ok(all)
}

/// The payment fits only nearly or has ended, and another beneficiary's fits; or the time does not fit it, and fits
/// another's, of which amount and name are not far off. Where the alert settles no account, nothing was asked of it by the
/// rules: then anybody's that may be meant on the payment's own account. Where the payment fits, all that the rules would
/// name beside it, but for one that the reason names for which the alert waits: of a credit that was set aside, dismissed,
/// held by a debit or taken off another payment the reason says something else.
pub async fn fits_another(
    app: &App,
    alert: &AlertRow,
    payment: &Payment,
    received: Money,
    name: &Comparison,
) -> Result<Vec<String>, OpError> {
    let in_time = TimeFit::of(payment, interval(alert), alert.first_seen) == TimeFit::Fits;
    let fits = in_time && name.verdict == NameVerdict::Match && AmountFit::of(payment, received).approves();
    let is_settled = alert.account_id.is_some();
    let is_as_good = fits && payment.status == Status::Pending && is_settled;
    let on_its_account = AlertRow { account_id: alert.account_id.or(payment.account_id), ..alert.clone() };
    let mut weighed = weigh(app, &on_its_account).await?;
    if let (true, Some(account)) = (is_settled, &weighed.account) {
        let (elsewhere, may_be_more) = weigh_elsewhere(app, alert, (account, payment), received).await?;
        weighed.is_incomplete |= may_be_more;
        weighed.decision.ask_elsewhere(elsewhere);
    }
    let own = Beneficiary::of(payment);
    let this = match (fits, payment.status) {
        (true, Status::Pending) if is_settled => "this payment fits as well",
        (true, Status::Pending) => "the alert does not settle its account",
        (true, _) => "this payment has ended",
        (false, _) => "this payment fits only nearly",
    };
    // Those on other accounts are asked about by themselves.
    let is_told = |other: &Considered| {
        alert.status.is_waiting() && is_another_named(&alert.reason, &other.transaction_id, other.business_id)
    };
    let is_here = |other: &Considered| is_settled || other.which_account == WhichAccount::Own;
    let counts = |other: &&Considered| is_here(other) && !(is_as_good && is_told(other));
    let whose = |other: &Considered| (other.business_id, other.beneficiary);
    let fitting = weighed.decision.fitting_others(own).filter(counts).map(|other| {
        (whose(other), format!("{}, of just this payer's name, and {this}", other.rival_in_words()))
    });
    // Of two that fit only nearly, and of one that has ended, nothing but the time and the reason says more.
    let is_asked = |other: &&Considered| {
        let neither_fits = (!fits || payment.status != Status::Pending) && !is_told(other);
        counts(other) && (!in_time || !is_settled || is_as_good || neither_fits)
    };
    let near = weighed.decision.near_others(own).filter(is_asked).map(|other| {
        let but = if in_time { this } else { "the time fits it and not this one" };
        (whose(other), format!("{}, from a payer of such a name, and {but}", other.rival_in_words()))
    });
    let each = one_of_each(fitting.chain(near), |(whose, _)| *whose, Some(payment.business_id));
    let mut why = as_many_as_told(each.into_iter().map(|(_, told)| told).collect());
    if weighed.is_incomplete {
        let not_all = "too many others have the amount or a similar name: not all were checked";
        why.push(format!("{this}, and {not_all}"));
    }
    Ok(why)
}

/// The alert shows no payer, and another beneficiary's payment on the account would be paid by the amount as well: nothing
/// tells whose it is.
pub async fn asks_for_the_same(
    app: &App,
    alert: &AlertRow,
    payment: &Payment,
    received: Money,
) -> Result<Vec<String>, OpError> {
    let (None, Some(account_id)) = (&alert.facts.payer_name, alert.account_id.or(payment.account_id)) else {
        return Ok(Vec::new());
    };
    let (exact, by_rule, (ended, is_cut), asked) = tokio::try_join!(
        async { Ok(app.store.open_payments(account_id, received, ASKING_MAX).await?) },
        async { Ok(app.store.open_payments_by_rule(account_id, received, ASKING_MAX).await?) },
        ended_lately(app, alert, account_id, ((received, received), received)),
        asked_before(app, alert, account_id, received)
    )?;
    let not_all = is_cut || asked.may_be_more || exact.len() >= ASKING_MAX || by_rule.len() >= ASKING_MAX;
    let own = Beneficiary::of(payment);
    let is_rival = |other: &&Payment| {
        Beneficiary::of(other) != own
            && AmountFit::of(other, received).approves()
            && is_timely(other, interval(alert), alert.first_seen)
    };
    let all = exact.iter().chain(&by_rule).chain(&ended).chain(&asked.before);
    let rivals = all.filter(is_rival).cloned().collect();
    let asks = |other: &Payment| {
        let theirs = of_another_in_words(&other.transaction_id, other.business_id);
        format!("the alert shows no payer, and {theirs} asks for what was received as well")
    };
    let told = OtherMeant::likeliest(OtherMeant::one_of_each(rivals, not_all, payment));
    Ok(told.iter().map(|other| other.in_words(asks, NOT_ALL_THAT_ASK)).collect())
}

/// Several accounts of ours may be the one that the money came to.
pub fn unclear_account(alert: &AlertRow, accounts: &[ReceivingAccount]) -> Option<String> {
    let (None, Some(shown), Some(bank)) = (alert.account_id, &alert.facts.account_number, &alert.facts.bank)
    else {
        return None;
    };
    // Too few digits name no account by themselves, but they may leave out this one.
    let fits = |account: &&ReceivingAccount| {
        account.bank == *bank && !account.is_spent_unused && mask_fits(shown, &account.number)
    };
    let fit: Vec<&ReceivingAccount> = match shows_digits(shown) {
        true => accounts.iter().filter(fits).collect(),
        false => Vec::new(),
    };
    (fit.len() > 1).then(|| format!("the alert does not say which account: {}", in_words(&fit)))
}

/// The alert settles no account, and on another one that it may be about somebody else's payment asks for the same, or did
/// before it was corrected.
pub async fn fits_elsewhere(
    app: &App,
    alert: &AlertRow,
    payment: &Payment,
    accounts: &[ReceivingAccount],
    received: Money,
) -> Result<Vec<String>, OpError> {
    if alert.account_id.is_some() {
        return Ok(Vec::new());
    }
    let shown = alert.facts.account_number.as_deref().filter(|shown| shows_digits(shown));
    let may_be_meant = |account: &&ReceivingAccount| {
        Some(account.id) != payment.account_id
            && account.mode == payment.mode
            && !account.is_of_test_bank()
            && !account.is_spent_unused
            && alert.facts.bank.as_ref().is_none_or(|bank| *bank == account.bank)
            && shown.is_none_or(|shown| mask_fits(shown, &account.number))
    };
    let others: Vec<&ReceivingAccount> = accounts.iter().filter(may_be_meant).collect();
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let since = alert.first_seen - MADE_WITHIN;
    let beside = on_all_but(app, alert, (payment.account_id, payment.mode), received, since).await?;
    let mut payments = beside.payments;
    let cut = alert.facts.cut_lengths();
    let payer = alert.facts.payer_name.as_deref();
    let folded = payer.map(Folded::new);
    let is_like =
        |name: &str| folded.as_ref().is_none_or(|payer| name::is_like(&Folded::new(name), payer, &cut));
    let mut not_all = beside.may_be_more && payer.is_some() || others.len() > ACCOUNTS_MAX;
    for account in others.iter().take(ACCOUNTS_MAX) {
        let price = (account.id, received, Own::of(payment));
        let asking = of_others(app, price, is_like).await?;
        add_unknown(&mut payments, asking.payments);
        // A name that is shown whole the index finds.
        not_all |= (payer.is_none() || alert.facts.payer_name_cut) && asking.may_be_more;
        // As they asked before, beside what they ask now.
        let asked = asked_before(app, alert, account.id, received).await?;
        not_all |= asked.may_be_more;
        payments.extend(asked.before);
    }
    let (own, time) = (Beneficiary::of(payment), interval(alert));
    let is_rival = |other: &&Payment| {
        let expected = Folded::new(&other.payer_name);
        let may_be_named_so = folded.as_ref().is_none_or(|payer| name::is_like(&expected, payer, &cut));
        Beneficiary::of(other) != own
            && others.iter().any(|account| Some(account.id) == other.account_id)
            && AmountFit::of(other, received).approves()
            && is_timely(other, time, alert.first_seen)
            && may_be_named_so
            && !says_nothing(&expected, folded.as_ref(), &cut)
    };
    let rivals: Vec<Payment> = payments.iter().filter(is_rival).cloned().collect();
    let asks = |other: &Payment| {
        let theirs = of_another_in_words(&other.transaction_id, other.business_id);
        let whose = if payer.is_some() { ", from a payer of such a name" } else { "" };
        format!(
            "the alert does not settle its account, and {theirs} on another account that may be meant asks for \
             what was received{whose}"
        )
    };
    let told = OtherMeant::likeliest(OtherMeant::one_of_each(rivals, not_all, payment));
    Ok(told.iter().map(|other| other.in_words(asks, NOT_ALL_ELSEWHERE)).collect())
}
