//! Payments whose late window is over are rejected.
//!
//! A payment is left alone while an alert of its account is undecided: that alert may be its money.
//! So is one while a mail that may be about its account waits for a key of the bank's, and one whose window
//! ended after a configured mailbox was last read to its end: its alert may lie there.
//! Every rejection is a guarded Unit of its own; a match at the same moment wins or loses whole.

use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::merchant::Mode;
use crate::domain::payment::{Kind, Payment};
use crate::domain::time::{Span, Timestamp};
use crate::ops::OpError;
use crate::ops::webhooks::chosen;
use crate::store::IdKind;
use crate::store::tables::alerts::alike::WaitingMails;
use crate::store::tables::{acts, payments};

/// Payments looked at in one read, and reads in one run; the next run goes on.
const BATCH: usize = 500;
const BATCHES_MAX: usize = 20;
/// Accounts, ours or not, for which mails may wait; if more do, every payment is left.
const WAITING_MAX: usize = 1_000;
/// A mail that waits for a key is asked about for a day, and a payment is not left for mails that came after its
/// window longer than this: whoever can make mails wait must not keep it open for ever.
const LEFT_FOR: Span = Span::days(7);
/// Why a swept payment is rejected; shown to operators.
const REASON: &str = "no payment arrived in time";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    pub rejected: u64,
    /// Left alone because an alert of the account is undecided or waits for a key, or changed at this moment.
    pub left: u64,
}

pub async fn sweep(app: &App) -> Result<SweepReport, OpError> {
    let now = app.now();
    let mut report = SweepReport::default();
    let mut after = Timestamp(-1);
    // Asked before alerts are: what was in the mailboxes until then is among the alerts by now.
    let until =
        crate::ops::mailboxes::slowest(app).await?.map_or(now, |slowest| slowest.last_read_at.min(now));
    for _ in 0..BATCHES_MAX {
        let due = app.store.payments_to_sweep(after, until, BATCH).await?;
        let Some(last) = due.last() else { break };
        // Several payments may share the last instant; a shorter step loses none of them.
        after = Timestamp((last.approvable_until.0 - 1).max(after.0 + 1));
        let full = due.len() == BATCH;
        // Before undecided alerts: a mail that is proven in between is one of those.
        let waiting = app.store.mails_waiting_for_a_key(now - LEFT_FOR, WAITING_MAX).await?;
        let accounts = app.directory.accounts().await?;
        for payment in &due {
            let undecided = match payment.account_id {
                _ if may_be_waited_for(payment, &waiting, &accounts, now) => true,
                Some(account) => app.store.has_undecided_alerts(account).await?,
                None => false,
            };
            let rejected = match payment.reject(REASON, true, now) {
                Ok(after) if !undecided => {
                    let unit = app.store.unit(payment.business_id).await?;
                    let told = chosen::rejected(app, &after).await?;
                    let unit = unit.step(payments::rejected(payment, &after)).steps(told);
                    app.store.apply(unit).await?.is_done()
                }
                _ => false,
            };
            if rejected {
                report.rejected += 1;
            } else {
                report.left += 1;
            }
        }
        if !full {
            break;
        }
    }
    if report.rejected > 0 {
        app.wake_workers();
    }
    Ok(report)
}

/// Ends a test payment as if its time were over, to see what money comes to that is late. One that has ended stays as it
/// is, and a live one is left alone.
pub async fn end_test_payment(app: &App, operator: &str, payment: &Payment) -> Result<(), OpError> {
    let now = app.now();
    // One from a wallet ends with its intent.
    if payment.mode != Mode::Test || payment.kind == Kind::Wallet {
        return Ok(());
    }
    let Ok(after) = payment.reject(REASON, true, now) else { return Ok(()) };
    let act = app.store.id(IdKind::Act).await?;
    let subject = format!("payment {}", payment.transaction_id);
    let noted =
        acts::record_of(payment.business_id, act, operator, "payment end", &subject, "simulated", now);
    let told = chosen::rejected(app, &after).await?;
    let unit = app.store.unit(payment.business_id).await?.step(payments::rejected(payment, &after));
    // Whoever was faster paid it or ended it.
    if app.store.apply(unit.steps(told).step(noted)).await?.is_done() {
        app.wake_workers();
    }
    Ok(())
}

/// Whether the payment's alert may be a mail that waits for a key. One whose account is not known may be about
/// any account of its bank; one whose bank is not known, about any.
fn may_be_waited_for(
    payment: &Payment,
    waiting: &[WaitingMails],
    accounts: &[ReceivingAccount],
    now: Timestamp,
) -> bool {
    let Some(account) = accounts.iter().find(|account| Some(account.id) == payment.account_id) else {
        return !waiting.is_empty() && payment.account_id.is_some();
    };
    waiting.len() >= WAITING_MAX
        || waiting.iter().any(|mails| {
            let its_own = match (mails.account_id, &mails.bank) {
                (Some(id), _) => id == account.id || account.via == Some(id),
                (None, Some(bank)) => *bank == account.bank,
                (None, None) => true,
            };
            let in_time = mails.oldest <= payment.approvable_until;
            its_own && (in_time || now <= payment.approvable_until + LEFT_FOR)
        })
}
