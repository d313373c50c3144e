//! Whether a debit that bears our reference of a payout is that payout, and not a customer's money on its way back. The
//! business knows the reference, and a bank that takes a transfer back repeats what its payer wrote. Used by `taken_back`.

use super::copies::{SHARING_MAX, sharing_session};
use super::reach::sight;
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::AlertRow;
use crate::domain::payout::{codes_begun_in, codes_in};
use crate::domain::same_transfer::{
    is_incoming_money, is_vouched, may_be_about, may_name_the_payer, repeats_end,
};
use crate::ops::OpError;
use crate::ops::payouts::from_alert::pays_out;

/// Alerts of its amount that are looked at; where there are more, a person decides.
const ALERTS_MAX: usize = 2_000;

/// Whether the payer of a credit may have typed the reference of ours that a debit bears: in its narration, or, as a doubt says,
/// elsewhere; or if the debit repeats the end of what the credit shows, behind which blanks may have been lost, or the bank cut it
/// off and the debit may name the payer.
pub(super) fn may_bear_its_reference(debit: &AlertRow, credit: &AlertRow) -> bool {
    let told = debit.facts.narration.as_deref().unwrap_or_default();
    let codes = codes_in(told);
    let bears = |text: &str| codes_begun_in(text).iter().any(|code| codes.contains(code));
    credit.facts.typed().chain(credit.facts.doubts.iter().map(String::as_str)).any(bears)
        || repeats_end(debit, credit)
        || credit.facts.narration_cut && may_name_the_payer(debit, credit)
}

/// Marks the payout paid that a debit is about. Answers whether the debit is the payout's: then it takes no money back.
pub(super) async fn is_of_a_payout(app: &App, debit: &AlertRow) -> Result<bool, OpError> {
    let codes = debit.facts.narration.as_deref().map(codes_in).unwrap_or_default();
    if codes.is_empty() {
        return Ok(false);
    }
    let is_on_a_credit = may_repeat_a_remark(app, debit).await?;
    pays_out(app, debit, is_on_a_credit).await
}

/// A credit of its amount bears the reference, whose payer wrote it. What a debit before it says, `pays_out` asks.
async fn may_repeat_a_remark(app: &App, debit: &AlertRow) -> Result<bool, OpError> {
    let Some(amount) = debit.facts.amount else { return Ok(false) };
    let accounts = app.directory.accounts().await?;
    let seen = sight(app, debit);
    let (realm, session) = (debit.simulated_for, debit.facts.session_id.as_deref());
    let mut others = sharing_session(app, realm, session, Some(amount)).await?;
    // Not all that bear its session id were read.
    let mut is_cut = others.len() >= SHARING_MAX;
    // Nothing real comes to the test bank.
    let is_real = |one: &&ReceivingAccount| !one.is_of_test_bank() && may_be_about(debit, one);
    let on_accounts = accounts.iter().filter(is_real).map(|one| Some(one.id));
    for account in on_accounts.chain([None]) {
        let read = app.store.alerts_seen((realm, account), amount, seen, ALERTS_MAX).await?;
        is_cut |= read.len() >= ALERTS_MAX;
        others.extend(read);
    }
    let is_credit = |other: &AlertRow| other.id != debit.id && is_vouched(other) && is_incoming_money(other);
    Ok(is_cut || others.iter().any(|other| is_credit(other) && may_bear_its_reference(debit, other)))
}
