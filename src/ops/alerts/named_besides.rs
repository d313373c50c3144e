//! Another payment that the payer's own words are about, though the money came under another name: whoever collects money for
//! others writes for whom, by name or by the payment's id (contract/matching.md#m14). What a payer types decides nothing by itself;
//! it sends money to a person. Read only; used by `weigh` and `who_else`.

use super::may_be_meant::{like, open_or_ended_lately, possible_amounts};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::AlertRow;
use crate::domain::matching::{AmountFit, is_timely, similar_amounts};
use crate::domain::money::Money;
use crate::domain::name::{self, Folded, NameVerdict, verdict_folded};
use crate::domain::narrated::{Narrated, may_tell_id, narrated_names, tells_id, tells_of_somebody};
use crate::domain::payment::Payment;
use crate::domain::same_transfer::interval;
use crate::ops::OpError;

/// Open payments of about the amount that are looked at for an id, or for a name whose end is missing.
const AROUND_MAX: usize = 200;

/// A payment, of whichever beneficiary, that the payer's words name: open, ended lately or corrected, and of about the amount.
/// Whoever bears the payer's own name is weighed by that; the account's holder, whom banks name in every narration, and the shop
/// that is paid pay nobody.
///
/// `before`: payments as they asked before they were corrected.
pub async fn named_besides(
    app: &App,
    alert: &AlertRow,
    winner: &Payment,
    (account, received): (&ReceivingAccount, Money),
    before: &[Payment],
) -> Result<Option<Payment>, OpError> {
    let payer_name = alert.facts.payer_name.as_deref().unwrap_or_default();
    let shop = app.directory.business(winner.business_id).await?;
    let own = [payer_name, &account.name, shop.as_ref().map_or("", |shop| &shop.name)];
    let mut names: Vec<Narrated> = Vec::new();
    for (at, typed) in alert.facts.typed().enumerate() {
        names.extend(narrated_names(typed, &own, at == 0 && alert.facts.narration_cut));
    }
    let may_tell = names.iter().any(|name| name.is_cut) || alert.facts.typed().any(may_tell_id);
    let similar = similar_amounts(received);
    // Of an id, and of a name whose end is missing, no index tells; no more than so many of about the amount are looked at.
    let around = match may_tell {
        true => app.store.open_payments_between(account.id, similar, AROUND_MAX).await?,
        false => Vec::new(),
    };
    let (payer, holder, cut) =
        (Folded::new(payer_name), Folded::new(&account.name), alert.facts.cut_lengths());
    let may_be_meant = |other: &Payment| {
        other.id != winner.id
            && alert.simulated_for.is_none_or(|business_id| business_id == other.business_id)
            && is_timely(other, interval(alert), alert.first_seen)
            && (AmountFit::of(other, received).approves()
                || similar.0 <= other.amount && other.amount <= similar.1)
    };
    let known = || before.iter().chain(&around).cloned();
    let is_told = |other: &Payment| alert.facts.typed().any(|typed| tells_id(typed, &other.transaction_id));
    // Two may have one id. Of a person who types it the winner's is meant; who collects for others may have sent either's money.
    let is_winners = |other: &Payment| {
        !name::is_business(&payer) && tells_id(&winner.transaction_id, &other.transaction_id)
    };
    let told = open_or_ended_lately(alert, known().collect())
        .into_iter()
        .find(|other| may_be_meant(other) && is_told(other) && !is_winners(other));
    if told.is_some() {
        return Ok(told);
    }
    for name in names {
        let found = like(app, alert, (account.id, &name.text), possible_amounts(received)).await?;
        let narrated = Folded::new(&name.text);
        let other = open_or_ended_lately(alert, found.payments.into_iter().chain(known()).collect());
        let other = other.into_iter().find(|other| {
            let expected = Folded::new(&other.payer_name);
            may_be_meant(other)
                && tells_of_somebody(&other.payer_name, payer_name)
                && (name::in_common(&expected, &narrated, &[]).is_much()
                    || verdict_folded(&expected, &narrated, &[]) == NameVerdict::Match
                    || name.begins(&other.payer_name))
                && !name::is_like(&expected, &payer, &cut)
                && !name::is_like(&expected, &holder, &[])
        });
        if other.is_some() {
            return Ok(other);
        }
    }
    Ok(None)
}
