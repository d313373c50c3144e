//! What speaks for somebody else's payment when a person approves one: that it fits better, that the time fits it alone,
//! or that it asks for the same on another account of those that the alert may mean (contract/matching.md#m25). Read
//! only; used by `approve`.

use super::other_accounts::on_all_but;
use super::weigh::weigh;
use crate::app::App;
use crate::domain::account::{ReceivingAccount, in_words, mask_fits};
use crate::domain::alert::AlertRow;
use crate::domain::matching::{
    AmountFit, Beneficiary, TimeFit, compare_payer, has_ended_lately, of_another_in_words,
};
use crate::domain::money::Money;
use crate::domain::name::{Comparison, Folded, NameVerdict, verdict_folded};
use crate::domain::payment::{Payment, Status};
use crate::domain::same_transfer::interval;
use crate::domain::time::Span;
use crate::ops::OpError;
use crate::ops::payments::like_names::{add_unknown, of_others};

/// Payments elsewhere that were made so long before the alert came are looked at.
const MADE_WITHIN: Span = Span::days(30);
/// Other accounts that an alert may mean whose payments are read whatever their names.
const ACCOUNTS_MAX: usize = 50;

/// The payment fits only nearly or has ended, and another beneficiary's fits exactly; or the time does not fit it, and
/// fits another's, of which amount and name are not far off.
pub async fn fits_another(
    app: &App,
    alert: &AlertRow,
    payment: &Payment,
    received: Money,
    name: &Comparison,
) -> Result<Option<String>, OpError> {
    let in_time = TimeFit::of(payment, interval(alert), alert.first_seen) == TimeFit::Fits;
    let fits = in_time && name.verdict == NameVerdict::Match && AmountFit::of(payment, received).approves();
    if fits && payment.status == Status::Pending {
        return Ok(None);
    }
    let weighed = weigh(app, alert).await?;
    let own = Beneficiary::of(payment);
    let this = if fits { "this payment has ended" } else { "this payment fits only nearly" };
    if let Some(other) = weighed.decision.fits_another(own) {
        return Ok(Some(format!("{}, of just this payer's name, and {this}", other.rival_in_words())));
    }
    if let Some(other) = weighed.decision.is_near_another(own).filter(|_| !in_time) {
        return Ok(Some(format!("{}, and the time fits it and not this one", other.rival_in_words())));
    }
    let not_all = "too many others have the amount or a similar name: not all were checked";
    Ok(weighed.is_incomplete.then(|| format!("{this}, and {not_all}")))
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
    let fit: Vec<&ReceivingAccount> = match shown.contains(|c: char| c.is_ascii_digit()) {
        true => accounts.iter().filter(fits).collect(),
        false => Vec::new(),
    };
    (fit.len() > 1).then(|| format!("the alert does not say which account: {}", in_words(&fit)))
}

/// The alert shows no digit of its account, and on another one that it may be about somebody else's payment asks for the
/// same.
pub async fn fits_elsewhere(
    app: &App,
    alert: &AlertRow,
    payment: &Payment,
    accounts: &[ReceivingAccount],
    received: Money,
) -> Result<Option<String>, OpError> {
    let is_shown = |shown: &String| shown.contains(|c: char| c.is_ascii_digit());
    if alert.account_id.is_some() || alert.facts.account_number.as_ref().is_some_and(is_shown) {
        return Ok(None);
    }
    let may_be_meant = |account: &&ReceivingAccount| {
        Some(account.id) != payment.account_id
            && account.mode == payment.mode
            && !account.is_spent_unused
            && alert.facts.bank.as_ref().is_none_or(|bank| *bank == account.bank)
    };
    let others: Vec<&ReceivingAccount> = accounts.iter().filter(may_be_meant).collect();
    if others.is_empty() {
        return Ok(None);
    }
    let since = alert.first_seen - MADE_WITHIN;
    let beside = on_all_but(app, alert, (payment.account_id, payment.mode), received, since).await?;
    let mut payments = beside.payments;
    let cut = alert.facts.cut_lengths();
    let payer = alert.facts.payer_name.as_deref();
    let folded = payer.map(Folded::new);
    let is_like = |name: &str| {
        folded
            .as_ref()
            .is_none_or(|payer| verdict_folded(&Folded::new(name), payer, &cut) != NameVerdict::Different)
    };
    for account in others.iter().take(ACCOUNTS_MAX) {
        let price = (account.id, received, payment.business_id);
        add_unknown(&mut payments, of_others(app, price, is_like).await?);
    }
    let (own, time) = (Beneficiary::of(payment), interval(alert));
    let is_rival = |other: &&Payment| {
        let speaks = match other.status {
            Status::Pending => TimeFit::of(other, time, alert.first_seen) != TimeFit::Outside,
            _ => has_ended_lately(other, time, alert.first_seen),
        };
        let name = payer.map(|payer| compare_payer(other, payer, &cut).verdict);
        Beneficiary::of(other) != own
            && others.iter().any(|account| Some(account.id) == other.account_id)
            && AmountFit::of(other, received).approves()
            && speaks
            && name != Some(NameVerdict::Different)
            && !Folded::new(&other.payer_name).is_too_long()
    };
    if let Some(other) = payments.iter().find(is_rival) {
        let theirs = of_another_in_words(&other.transaction_id, other.business_id);
        let whose = if payer.is_some() { ", from a payer of such a name" } else { "" };
        return Ok(Some(format!(
            "the alert names no account, and {theirs} on another account that may be meant asks for what was \
             received{whose}"
        )));
    }
    let not_all = "the alert names no account, and not all payments of this amount on the others that may be meant \
                   were checked";
    let may_be_more = beside.may_be_more && payer.is_some() || others.len() > ACCOUNTS_MAX;
    Ok(may_be_more.then(|| not_all.to_owned()))
}
