//! A person decides that an alert pays a payment.
//!
//! A person may do what the rules may not, but not by oversight: whatever speaks against it is named and must be
//! overridden with a reason, which is kept with the settlement.

use std::cmp::Ordering;

use super::copies::{Standing, fresh_keys, settled_copy, settled_on, sharing_session, standing};
use super::evidence::{self, OperatorApproval};
use super::obstacles::{compare_names, obstacles};
use super::same_payer::SentBefore;
use super::similar::{FORWARDED_ACCOUNTS_MAX, similar_for_person};
use super::simulated::may_pay;
use super::taken_back::alarm;
use super::who_else::{asks_for_the_same, fits_another, fits_elsewhere, unclear_account, untold_meanings};
use crate::app::App;
use crate::domain::account::{ReceivingAccount, is_full_account_number};
use crate::domain::alert::{AlertKind, AlertRow, AlertStatus, Direction};
use crate::domain::money::{CURRENCY, Money, naira};
use crate::domain::name::{Comparison, NameVerdict, fold};
use crate::domain::payment::{Kind, Payment, Status};
use crate::domain::same_transfer::{MESSAGE, came_from, describe, is_forwarded};
use crate::domain::time::Timestamp;
use crate::ops::alerts::settle::{ByOperator, Settled, Settling, settle};
use crate::ops::wallet_payments::topup::wallet_doubt;
use crate::ops::{OpError, RACES_MAX, given_reason};
use crate::store::tables::settlements::ProvenName;

/// What a person asks for.
#[derive(Clone, Copy)]
pub struct Approve<'a> {
    pub alert_id: i64,
    pub business_id: i64,
    pub transaction_id: &'a str,
    pub operator: &'a str,
    /// The reason to go on against what speaks against it.
    pub despite: Option<&'a str>,
    /// What the person was shown that speaks against it: the reason covers no more. `None`: nothing was shown.
    pub seen: Option<&'a [String]>,
}

/// Why it is not done, in words for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApproveRefused {
    #[error("there is no alert {0}")]
    NoAlert(i64),
    #[error("business {0} has no payment {1}")]
    NoPayment(i64, String),
    #[error(
        "alert {0} is {1}; only alerts in review, unmatched or dismissed, and credits set aside as a fee or an own transfer, can be approved"
    )]
    AlertStatus(i64, &'static str),
    #[error("a reason is required: at most 500 characters, no control characters")]
    Reason,
    #[error("alert {0} is not an incoming payment in {CURRENCY} with an amount")]
    NotACredit(i64),
    #[error("alert {0} is not proven to be from the bank and was not ingested with --trusted")]
    NotAuthentic(i64),
    #[error(
        "alert {0} was {1} when it was dismissed, so it cannot be approved; if the mail is genuine after all, take in \
         a copy with `alert ingest`"
    )]
    Aside(i64, &'static str),
    #[error(
        "alert {0} has the same {1} as alert {2}, which is settled: one transfer pays once; if that payment was \
         the wrong one, reverse it first"
    )]
    Settled(i64, &'static str, i64),
    #[error("payment {0} is {1} and cannot be approved")]
    PaymentStatus(String, String),
    #[error(
        "payment {0} was approved and then reversed; it cannot be approved again: create a new payment for this money, \
         and approve onto that with --despite, because it is younger than the money"
    )]
    Reversed(String),
    #[error("payment {0} is a {1} payment, but the money came to an account of the other mode")]
    OtherMode(String, &'static str),
    #[error("alert {0}: test mode's mails pay test payments alone, and nothing else pays at its bank")]
    OfTestMode(i64),
    #[error("{}; to approve it anyway, give your reason with --despite", .0.join("; "))]
    Obstacles(Vec<String>),
    #[error("nothing was approved: more speaks against it than you were shown: {}", .0.join("; "))]
    Unseen(Vec<String>),
    #[error("the alert or the payment has just changed; look at both again")]
    Changed,
}

/// Everything that an approval rests on, as it was read.
struct Prepared {
    alert: AlertRow,
    payment: Payment,
    account: ReceivingAccount,
    received: Money,
    name: Comparison,
    /// The state of these was read before anything else: whatever comes or is settled later makes it a lost race.
    amount_versions: Vec<(i64, i64)>,
    /// Another settlement with the same session id, of other money.
    is_beside_another: bool,
    obstacles: Vec<String>,
}

/// What speaks against an approval, to be shown before the person's reason overrides it; empty where nothing does.
pub async fn approval_obstacles(
    app: &App,
    ask: &Approve<'_>,
) -> Result<Result<Vec<String>, ApproveRefused>, OpError> {
    if ask.despite.is_some_and(|despite| given_reason(despite).is_none()) {
        return Ok(Err(ApproveRefused::Reason));
    }
    Ok(prepare(app, ask).await?.map(|prepared| prepared.obstacles))
}

/// `Ok(Err(..))` is a refusal; `Ok(Ok(payment))` the approved payment as it was before.
pub async fn approve_alert(app: &App, ask: &Approve<'_>) -> Result<Result<Payment, ApproveRefused>, OpError> {
    let despite = match ask.despite.map(given_reason) {
        Some(None) => return Ok(Err(ApproveRefused::Reason)),
        Some(given) => given,
        None => None,
    };
    for _ in 0..RACES_MAX {
        let prepared = match prepare(app, ask).await? {
            Ok(prepared) => prepared,
            Err(refused) => return Ok(Err(refused)),
        };
        if !prepared.obstacles.is_empty() && despite.is_none() {
            return Ok(Err(ApproveRefused::Obstacles(prepared.obstacles)));
        }
        if let Some(seen) = ask.seen {
            let unseen: Vec<String> =
                prepared.obstacles.iter().filter(|one| !seen.contains(one)).cloned().collect();
            if !unseen.is_empty() {
                return Ok(Err(ApproveRefused::Unseen(unseen)));
            }
        }
        if carry_out(app, ask, &prepared, despite).await? == Settled::Done {
            let since = prepared.payment.created_at;
            alarm_if_undone(app, &prepared.alert, prepared.account.id, prepared.received, since).await?;
            return Ok(Ok(prepared.payment));
        }
    }
    Ok(Err(ApproveRefused::Changed))
}

async fn prepare(app: &App, ask: &Approve<'_>) -> Result<Result<Prepared, ApproveRefused>, OpError> {
    let (mut alert, payment) = match load(app, ask).await? {
        Ok(both) => both,
        Err(refused) => return Ok(Err(refused)),
    };
    let aside = alert.facts.kind.and_then(AlertKind::set_aside_as);
    if aside.is_some() {
        // A person says that it is one: copies of it are looked for like those of any other.
        alert.facts.kind = Some(AlertKind::Payment);
    }
    let received = alert.facts.amount.unwrap_or_default();
    let name = compare_names(&alert, &payment);
    let accounts = app.directory.accounts().await?;
    let wanted = alert.account_id.or(payment.account_id);
    let Some(account) = accounts.iter().find(|account| Some(account.id) == wanted).cloned() else {
        return Err(OpError::Fault("the payment has no receiving account".into()));
    };
    if account.mode != payment.mode {
        return Ok(Err(ApproveRefused::OtherMode(payment.transaction_id, payment.mode.as_str())));
    }
    if !may_pay(&alert, &payment, &account) {
        return Ok(Err(ApproveRefused::OfTestMode(alert.id)));
    }
    let holding_account = account.holding_account();
    let amount_versions = amount_versions(app, &alert, &accounts, (holding_account, received)).await?;
    let (realm, session) = (alert.simulated_for, alert.facts.session_id.as_deref());
    let sharing = sharing_session(app, realm, session, Some(received)).await?;
    let standing = standing(&alert, settled_on(app, &alert, holding_account).await?, &sharing);
    if let Some(same) = standing.iter().find(|one| !one.is_other_money) {
        return Ok(Err(ApproveRefused::Settled(alert.id, same.what, same.alert_id)));
    }
    if let Some(other) = settled_copy(app, &alert).await? {
        return Ok(Err(ApproveRefused::Settled(alert.id, describe(MESSAGE), other)));
    }
    let asked_on = accounts.iter().find(|one| Some(one.id) == payment.account_id);
    let mut obstacles = obstacles(&alert, &payment, (&account, asked_on), received, &name, ask.operator);
    if payment.corrections > 0 && app.store.is_corrected_after(payment.id, came_from(&alert)).await? {
        obstacles.push("the payment's amount was corrected after the money came, or may have been".into());
    }
    obstacles.extend(unclear_account(&alert, &accounts));
    obstacles.extend(fits_elsewhere(app, &alert, &payment, &accounts, received).await?);
    obstacles.extend(fits_another(app, &alert, &payment, received, &name).await?);
    obstacles.extend(asks_for_the_same(app, &alert, &payment, received).await?);
    let similar = similar_for_person(app, &alert, account.id, received, payment.created_at).await?;
    obstacles.extend(SentBefore::read(app, &alert, &similar.of_payer).await?.untold(app, &payment).await?);
    obstacles.extend(untold_meanings(app, &alert, &payment, (&account, received)).await?);
    if let Some(aside) = aside {
        obstacles.insert(0, format!("alert {} was set aside as {aside}: {}", alert.id, alert.reason));
    }
    obstacles.extend(standing.iter().map(typed_perhaps));
    obstacles.extend(similar.doubts);
    obstacles.extend(wallet_doubt(app, &payment, received).await?);
    let is_beside_another = !standing.is_empty();
    Ok(Ok(Prepared {
        alert,
        payment,
        account,
        received,
        name,
        amount_versions,
        is_beside_another,
        obstacles,
    }))
}

/// Writes the approval, if nothing changed since it was prepared.
async fn carry_out(
    app: &App,
    ask: &Approve<'_>,
    prepared: &Prepared,
    despite: Option<&str>,
) -> Result<Settled, OpError> {
    let Prepared { alert, payment, account, received, name, .. } = prepared;
    let differs = difference(payment, *received).map_or(String::new(), |differs| format!(" ({differs})"));
    let reason = format!("{}{differs}", despite.unwrap_or("nothing spoke against it"));
    let text = evidence::encode_operator(&OperatorApproval {
        now: app.now(),
        operator: ask.operator,
        despite,
        obstacles: &prepared.obstacles,
        name: name.verdict,
        name_reason: &name.reason,
        received: *received,
        requested: payment.amount,
        before: &alert.evidence,
    });
    let (expected, seen) =
        (fold(&payment.payer_name), fold(alert.facts.payer_name.as_deref().unwrap_or_default()));
    let settling = Settling {
        alert,
        payment,
        account,
        amount_versions: &prepared.amount_versions,
        rule: "approved by an operator",
        fit: "operator",
        evidence: &text,
        name_mismatch: name.verdict != NameVerdict::Match,
        operator: Some(ByOperator {
            name: ask.operator,
            reason: &reason,
            proven: newly_proven(app, alert, payment, name, (&expected, &seen)).await?,
            keys: fresh_keys(app, alert, account.holding_account()).await?,
            beside_another: prepared.is_beside_another,
        }),
    };
    settle(app, &settling).await
}

/// The version of this amount on the account it is credited to, and of an alert that was forwarded, or names no account,
/// those on all accounts that its money may be on: somebody may settle it there at this moment.
async fn amount_versions(
    app: &App,
    alert: &AlertRow,
    accounts: &[ReceivingAccount],
    (here, received): (i64, Money),
) -> Result<Vec<(i64, i64)>, OpError> {
    let mut on_accounts = Vec::new();
    if alert.account_id.is_none() || is_forwarded(alert) {
        let real = accounts.iter().filter(|one| !one.is_of_test_bank());
        on_accounts.extend(real.map(ReceivingAccount::holding_account).filter(|account| *account != here));
        on_accounts.sort_unstable();
        on_accounts.dedup();
        on_accounts.truncate(FORWARDED_ACCOUNTS_MAX);
    }
    on_accounts.push(here);
    on_accounts.sort_unstable();
    let mut versions = Vec::with_capacity(on_accounts.len());
    for account in on_accounts {
        versions.push((account, app.store.amount_version(account, received).await?));
    }
    Ok(versions)
}

/// A debit that came while the person decided found nothing to raise an alarm for: nobody vouched for the money yet.
async fn alarm_if_undone(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
    since: Timestamp,
) -> Result<(), OpError> {
    let Some(by) = similar_for_person(app, alert, account_id, received, since).await?.undone_by else {
        return Ok(());
    };
    match app.store.alert(alert.id).await? {
        Some(credited) => alarm(app, &credited, by).await,
        None => Ok(()),
    }
}

/// What was received beside what was asked for, in words; `None` where they are the same.
pub fn difference(payment: &Payment, received: Money) -> Option<String> {
    let (got, asked) = (received.kobo(), payment.amount.kobo());
    let by = |kobo: i64| naira(Money(kobo));
    match got.cmp(&asked) {
        Ordering::Less => Some(format!("received {} less than requested", by(asked - got))),
        Ordering::Equal => None,
        Ordering::Greater => Some(format!("received {} more than requested", by(got - asked))),
    }
}

async fn load(app: &App, ask: &Approve<'_>) -> Result<Result<(AlertRow, Payment), ApproveRefused>, OpError> {
    let Some(alert) = app.store.alert(ask.alert_id).await? else {
        return Ok(Err(ApproveRefused::NoAlert(ask.alert_id)));
    };
    let found = app.store.payment_by_transaction(ask.business_id, ask.transaction_id).await?;
    let Some(payment) = found else {
        return Ok(Err(ApproveRefused::NoPayment(ask.business_id, ask.transaction_id.to_owned())));
    };
    let is_open =
        matches!(alert.status, AlertStatus::Review | AlertStatus::Unmatched | AlertStatus::Dismissed)
            || alert.is_credit_aside();
    if !is_open {
        return Ok(Err(ApproveRefused::AlertStatus(alert.id, alert.status.as_str())));
    }
    if let Some(before) = alert.dismissed_from.filter(|_| alert.is_aside_for_good()) {
        return Ok(Err(match before {
            AlertStatus::Quarantined => ApproveRefused::NotAuthentic(alert.id),
            other => ApproveRefused::Aside(alert.id, other.as_str()),
        }));
    }
    if !alert.authenticity.counts() && alert.authenticity != crate::domain::alert::Authenticity::Forwarded {
        return Ok(Err(ApproveRefused::NotAuthentic(alert.id)));
    }
    let facts = &alert.facts;
    let is_credit = facts.direction == Some(Direction::Credit)
        && facts.kind.is_none_or(AlertKind::may_be_a_payment)
        && facts.currency.as_deref().is_none_or(|currency| currency == CURRENCY)
        && facts.amount.is_some_and(Money::is_positive);
    if !is_credit {
        return Ok(Err(ApproveRefused::NotACredit(alert.id)));
    }
    if payment.reversed_at.is_some() {
        return Ok(Err(ApproveRefused::Reversed(payment.transaction_id)));
    }
    let open = payment.status == Status::Pending || (payment.status == Status::Rejected && payment.swept);
    let by_transfer = payment.kind != Kind::Wallet;
    if !open || !by_transfer {
        let why = match (payment.status, by_transfer) {
            (_, false) => "not a bank transfer".to_owned(),
            (Status::Rejected, _) => "rejected by a person".to_owned(),
            (status, _) => status.as_str().to_owned(),
        };
        return Ok(Err(ApproveRefused::PaymentStatus(payment.transaction_id, why)));
    }
    Ok(Ok((alert, payment)))
}

/// A settlement of other money that stands on the alert's session id.
fn typed_perhaps(other: &Standing) -> String {
    format!(
        "alert {}, which is settled, shows the same {} with another amount or payer: one of the two payers may have \
         typed it; look at the bank's statement",
        other.alert_id, other.what
    )
}

/// A close name that counts as proven from now on, for exactly this payer (contract/names.md#n16).
async fn newly_proven<'a>(
    app: &App,
    alert: &'a AlertRow,
    payment: &Payment,
    name: &Comparison,
    (expected, received): (&'a str, &'a str),
) -> Result<Option<ProvenName<'a>>, OpError> {
    let facts = &alert.facts;
    let account = facts.payer_account_number.as_deref().filter(|number| is_full_account_number(number));
    let (Some(payer_account), Some(payer_bank)) = (account, facts.payer_bank.as_deref()) else {
        return Ok(None);
    };
    if name.verdict != NameVerdict::Close || facts.payer_name.is_none() {
        return Ok(None);
    }
    let proven =
        ProvenName { business_id: payment.business_id, expected, received, payer_bank, payer_account };
    let is_known = app.store.is_name_proven(&proven).await?;
    Ok((!is_known).then_some(proven))
}
