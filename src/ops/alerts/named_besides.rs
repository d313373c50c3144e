//! Another payment that the payer's own words are about, though the money came under another name: whoever collects money for
//! others writes for whom (contract/matching.md#m14). What a payer types decides nothing by itself; it sends money to a person. Read
//! only; used by `weigh` and `who_else`.

use super::may_be_meant::{like, open_or_ended_lately, possible_amounts};
use super::other_accounts::{OtherMeant, named_elsewhere};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::AlertRow;
use crate::domain::matching::{AmountFit, CANDIDATES_MAX, is_timely, similar_amounts};
use crate::domain::money::Money;
use crate::domain::name::{self, Folded, NameVerdict, verdict_folded};
use crate::domain::narrated::{Narrated, narrated_names, tells_of_somebody};
use crate::domain::payment::Payment;
use crate::domain::same_transfer::interval;
use crate::ops::OpError;

/// Open payments of about the amount that are looked at for a name whose end is missing.
const BEGUN_NAMES_MAX: usize = 200;

/// Payments, of whichever beneficiaries, that the payer's words name, one of each: open, ended lately or corrected, and of about the amount; on
/// another account an open one of exactly the amount. Whoever bears the payer's own name is weighed by that; the account's holder, whom banks name in every narration, and the shop
/// that a person pays, pay nobody.
///
/// `before`: payments as they asked before they were corrected.
pub async fn named_besides(
    app: &App,
    alert: &AlertRow,
    winner: &Payment,
    (account, received): (&ReceivingAccount, Money),
    before: &[Payment],
) -> Result<Vec<OtherMeant>, OpError> {
    let payer_name = alert.facts.payer_name.as_deref().unwrap_or_default();
    let (payer, holder) = (Folded::new(payer_name), Folded::new(&account.name));
    // Who collects for others may have a customer of the shop's name.
    let shop = match name::is_persons(&payer) {
        true => app.directory.business(winner.business_id).await?,
        false => None,
    };
    let own = [payer_name, &account.name, shop.as_ref().map_or("", |shop| &shop.name)];
    let mut names: Vec<Narrated> = Vec::new();
    for (at, typed) in alert.facts.typed().enumerate() {
        names.extend(narrated_names(typed, &own, at == 0 && alert.facts.narration_cut));
    }
    let (cut, similar) = (alert.facts.cut_lengths(), similar_amounts(received));
    let asks = |payment: &Payment| {
        AmountFit::of(payment, received).approves()
            || similar.0 <= payment.amount && payment.amount <= similar.1
    };
    // Of a name whose end is missing no index tells; no more than so many of about the amount are looked at.
    let around = match names.iter().any(|name| name.is_cut) {
        true => app.store.open_payments_between(account.id, similar, BEGUN_NAMES_MAX).await?,
        false => Vec::new(),
    };
    let (mut named, mut not_all) = (Vec::new(), false);
    for name in names {
        let found = like(app, alert, (account.id, &name.text), possible_amounts(received)).await?;
        let is_cut_short = found.payments.len() >= CANDIDATES_MAX;
        let (narrated, known) = (Folded::new(&name.text), before.iter().chain(&around).cloned());
        let is_named = |other: &Payment| {
            let expected = Folded::new(&other.payer_name);
            other.id != winner.id
                && alert.simulated_for.is_none_or(|business_id| business_id == other.business_id)
                && is_timely(other, interval(alert), alert.first_seen)
                && tells_of_somebody(&other.payer_name, payer_name)
                && (name::in_common(&expected, &narrated, &[]).is_much()
                    || verdict_folded(&expected, &narrated, &[]) == NameVerdict::Match
                    || name.begins(&other.payer_name))
                && !name::is_like(&expected, &payer, &cut)
                && !name::is_like(&expected, &holder, &[])
        };
        let here = open_or_ended_lately(alert, found.payments.into_iter().chain(known).collect());
        named.extend(here.into_iter().filter(|other| asks(other) && is_named(other)));
        let elsewhere = named_elsewhere(app, account, &narrated, received).await?;
        named.extend(elsewhere.payments.into_iter().filter(is_named));
        not_all |= is_cut_short || elsewhere.may_be_more;
    }
    Ok(OtherMeant::one_of_each(named, not_all, winner))
}
