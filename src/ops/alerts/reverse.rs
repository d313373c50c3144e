//! Undoes a settlement by its mirror entry, once.
//!
//! The payment stays `approved` and shows `reversed_at`. After a wrong match the alert waits in
//! review again; when the bank took the money back it is `reversed` for good. A reversal is the
//! one debit that may take a balance below zero: the money is gone whether the merchant (or, of a
//! top-up, the wallet) has it or not. A wallet payment's mirror gives the customer the money back.
//! Nothing is reversed by itself.

use crate::app::App;
use crate::domain::alert::{AlertRow, AlertStatus, Direction};
use crate::domain::event::EventKind;
use crate::domain::matching::Beneficiary;
use crate::domain::message::MessageKind;
use crate::domain::money::{Money, naira};
use crate::domain::payment::{Kind, Payment};
use crate::domain::same_transfer::{
    holding_account_of, is_before, is_fee, is_forwarded, is_timed, may_be_on_one_account,
    may_be_the_same_money, takes_back, takes_money,
};
use crate::domain::time::Timestamp;
use crate::domain::told_before::{REVERSED_BY, has_paid_once};
use crate::ops::alerts::taken_back::{concerned_by, told_again};
use crate::ops::messages::outbox::{self, By, NOTES_VALID, Note};
use crate::ops::payouts::from_alert::named_payout;
use crate::ops::wallet_payments::topup::tell_reversed;
use crate::ops::wallets::find::known_wallet;
use crate::ops::webhooks::body::{self, About, AlertNote};
use crate::ops::webhooks::event::{self, Fact};
use crate::ops::{OpError, RACES_MAX, given_reason};
use crate::store::tables::settlements::{self, EntryNote};
use crate::store::tables::{acts, alerts, events, payments};
use crate::store::{Applied, IdKind, Step};

/// What a person asks for.
pub struct Reverse<'a> {
    pub business_id: i64,
    pub transaction_id: &'a str,
    pub reason: &'a str,
    pub operator: &'a str,
    /// The bank's own debit or reversal; without it, the match was wrong.
    pub undoing_alert: Option<i64>,
    /// The reason to go on although that alert does not look like this transfer's, or none is named where one may have taken
    /// the money back.
    pub despite: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReverseRefused {
    #[error("business {0} has no payment {1}")]
    NoPayment(i64, String),
    #[error("payment {0} is {1}; only an approved payment can be reversed, and only once")]
    NotApproved(String, &'static str),
    #[error("a reason is required: at most 500 characters, no control characters")]
    Reason,
    #[error("there is no alert {0}")]
    NoAlert(i64),
    #[error("alert {0} is a copy of alert {1}; name that one")]
    Copy(i64, i64),
    #[error(
        "alert {0} is not an authentic debit or reversal; leave --alert out if it is a credit's mail that tells of \
         another state"
    )]
    NotUndoing(i64),
    #[error("{}; to reverse it anyway, give your reason with --despite", .0.join("; "))]
    Obstacles(Vec<String>),
    #[error("the payment has just changed; look at it again")]
    Changed,
}

/// `Ok(Ok(payment))` is the payment after the reversal.
pub async fn reverse_payment(
    app: &App,
    ask: &Reverse<'_>,
) -> Result<Result<Payment, ReverseRefused>, OpError> {
    let Some(reason) = given_reason(ask.reason) else { return Ok(Err(ReverseRefused::Reason)) };
    let despite = match ask.despite.map(given_reason) {
        Some(None) => return Ok(Err(ReverseRefused::Reason)),
        Some(given) => given,
        None => None,
    };
    let ask = &Reverse { reason, despite, ..*ask };
    for _ in 0..RACES_MAX {
        let found = app.store.payment_by_transaction(ask.business_id, ask.transaction_id).await?;
        let Some(payment) = found else {
            return Ok(Err(ReverseRefused::NoPayment(ask.business_id, ask.transaction_id.to_owned())));
        };
        let Some(settlement_id) = payment.settlement_id.filter(|_| payment.reversed_at.is_none()) else {
            let status = if payment.reversed_at.is_some() { "reversed" } else { payment.status.as_str() };
            return Ok(Err(ReverseRefused::NotApproved(payment.transaction_id, status)));
        };
        let settlement = app.store.settlement(settlement_id).await?;
        let settlement =
            settlement.ok_or_else(|| OpError::Fault(format!("settlement {settlement_id} is missing")))?;
        let credit = match settlement.alert_id {
            Some(id) => app.store.alert(id).await?,
            None => None,
        };
        let undoing = match ask.undoing_alert {
            None => None,
            Some(id) => match app.store.alert(id).await? {
                None => return Ok(Err(ReverseRefused::NoAlert(id))),
                Some(AlertRow { status: AlertStatus::Duplicate, linked_alert_id: Some(of), .. }) => {
                    return Ok(Err(ReverseRefused::Copy(id, of)));
                }
                Some(alert)
                    if !takes_money(&alert)
                        || !alert.authenticity.counts()
                        || alert.simulated_for.is_some() =>
                {
                    return Ok(Err(ReverseRefused::NotUndoing(id)));
                }
                Some(alert) => Some(alert),
            },
        };
        // Read before other tellings of the debit are: whoever takes_money_back another payment by one of them meanwhile wins.
        let amount_version = match &undoing {
            Some(undoing) => debit_version(app, undoing, credit.as_ref(), &payment).await?,
            None => None,
        };
        let obstacles = match &undoing {
            Some(undoing) => obstacles(app, undoing, credit.as_ref(), Beneficiary::of(&payment)).await?,
            None => alarm_beside(app, credit.as_ref()).await?,
        };
        if !obstacles.is_empty() && despite.is_none() {
            return Ok(Err(ReverseRefused::Obstacles(obstacles)));
        }
        let reversal = Reversal { payment, settlement_id, credit, undoing, amount_version, obstacles };
        if let Some(payment) = mirror(app, ask, &reversal).await? {
            return Ok(Ok(payment));
        }
    }
    Ok(Err(ReverseRefused::Changed))
}

/// What shows that a debit or reversal is not that of the transfer, or has undone another one already.
async fn obstacles(
    app: &App,
    undoing: &AlertRow,
    credit: Option<&AlertRow>,
    own: Beneficiary,
) -> Result<Vec<String>, OpError> {
    let id = undoing.id;
    let Some(credit) = credit else {
        return Ok(vec![format!("no bank transfer funded the payment, so alert {id} cannot have undone it")]);
    };
    let accounts = app.directory.accounts().await?;
    let mut all = Vec::new();
    let amounts = (undoing.facts.amount.unwrap_or_default(), credit.facts.amount.unwrap_or_default());
    if undoing.facts.amount.is_none() {
        all.push(format!("alert {id} shows no amount that can be read, and {} came", naira(amounts.1)));
    } else if amounts.0 != amounts.1 {
        all.push(format!("alert {id} reports {}, but {} came", naira(amounts.0), naira(amounts.1)));
    }
    if !may_be_on_one_account(undoing, credit, &accounts) {
        all.push(format!("alert {id} is about another account than the one that the money came to"));
    }
    let sessions = (&undoing.facts.session_id, &credit.facts.session_id);
    if let (Some(x), Some(y)) = sessions
        && x != y
    {
        all.push(format!("alert {id} shows the session id {x}, but the transfer's is {y}"));
    }
    let is_named = sessions.0.is_some() && sessions.0 == sessions.1;
    if undoing.facts.account_number.is_none() && !is_timed(undoing) && !is_named {
        all.push(format!("alert {id} shows neither an account nor a time, so it may be about any transfer"));
    }
    if undoing.facts.direction == Some(Direction::Credit) {
        all.push(format!("alert {id} reports money that came, whatever its narration says"));
    }
    if is_before(undoing, credit) && !is_forwarded(credit) {
        all.push(format!("alert {id} is from before the transfer, by the bank's time"));
    }
    if is_fee(undoing) && !takes_back(undoing, credit) {
        all.push(format!("alert {id} reads as a fee of the bank's"));
    }
    if let Some(named) = named_payout(app, undoing).await? {
        let (payout, status) = (named.payout.id, named.payout.status.as_str());
        all.push(format!("alert {id} names payout {payout} of {}, which is {status}", named.business));
    }
    let concerned = concerned_by(app, undoing).await?;
    let concerned = [concerned.all, concerned.any_one].concat();
    if let Some(other) = concerned.first().filter(|_| concerned.iter().all(|one| one.id != credit.id)) {
        let payer = other.facts.payer_name.as_deref().unwrap_or("no name");
        let came = naira(other.facts.amount.unwrap_or_default());
        all.push(format!("alert {id} seems to be about alert {} ({came} from {payer})", other.id));
    }
    let is_concerned = concerned.iter().any(|one| one.id == credit.id);
    for other in concerned.iter().filter(|other| is_concerned && other.id != credit.id) {
        let is_of_others = match other.payment_id {
            Some(payment) => {
                app.store.payment(payment).await?.is_some_and(|payment| Beneficiary::of(&payment) != own)
            }
            None => false,
        };
        // What was reversed by hand, and put aside, may have gone by this very debit.
        let is_gone = other.status == AlertStatus::Dismissed && has_paid_once(other);
        let may_wait = (other.status.is_waiting() || is_gone) && !may_be_the_same_money(other, credit);
        if may_wait || other.status == AlertStatus::Matched && is_of_others {
            all.push(format!(
                "alert {id} may as well be about alert {}; look at the bank's statement",
                other.id
            ));
        }
    }
    if undoing.facts.is_told_as_lost() {
        all.push(format!(
            "alert {id} says of the debit itself that it failed or waits: {}",
            undoing.facts.told_states().join("; ")
        ));
    }
    if undoing.status == AlertStatus::Dismissed {
        all.push(format!("alert {id} was dismissed: {}", undoing.reason));
    }
    for undone in app.store.settlements_undone_by(id).await? {
        let which = of_settlement(app, undone).await?;
        all.push(format!("alert {id} has undone another payment already ({which})"));
    }
    for other in told_again(app, undoing).await? {
        for undone in app.store.settlements_undone_by(other.id).await? {
            let which = of_settlement(app, undone).await?;
            all.push(format!(
                "alert {id} may report the same debit as alert {}, which has undone another payment already ({which})",
                other.id
            ));
        }
    }
    Ok(all)
}

/// A settlement by what a person knows of it: its payment.
async fn of_settlement(app: &App, id: i64) -> Result<String, OpError> {
    let payment = match app.store.settlement(id).await? {
        Some(settlement) => app.store.payment(settlement.payment_id).await?,
        None => None,
    };
    Ok(payment.map_or_else(
        || format!("settlement {id}"),
        |one| format!("payment {:?} of business {}", one.transaction_id, one.business_id),
    ))
}

/// What is to be reversed, as it was read.
struct Reversal {
    payment: Payment,
    settlement_id: i64,
    /// The alert that funded it.
    credit: Option<AlertRow>,
    undoing: Option<AlertRow>,
    /// The version of the debit's amount on the account that holds it, as it was read.
    amount_version: Option<(i64, Money, i64)>,
    /// What a person overrides.
    obstacles: Vec<String>,
}

/// The match is said to be wrong, but the bank may have taken the money back: then nothing is left that another payment could be
/// paid by.
async fn alarm_beside(app: &App, credit: Option<&AlertRow>) -> Result<Vec<String>, OpError> {
    let Some(credit) = credit else { return Ok(Vec::new()) };
    let alarm = app.store.alarm_of(credit.id).await?;
    let told = |undoing| {
        format!(
            "alert {undoing} may have taken this money back; if it did, name it, for then the money is gone"
        )
    };
    Ok(alarm.map(told).into_iter().collect())
}

async fn debit_version(
    app: &App,
    undoing: &AlertRow,
    credit: Option<&AlertRow>,
    payment: &Payment,
) -> Result<Option<(i64, Money, i64)>, OpError> {
    let account = undoing.account_id.or(credit.and_then(|credit| credit.account_id)).or(payment.account_id);
    let (Some(account), Some(amount)) = (account, undoing.facts.amount) else { return Ok(None) };
    let holding_account = holding_account_of(&app.directory.accounts().await?, account);
    Ok(Some((holding_account, amount, app.store.amount_version(holding_account, amount).await?)))
}

async fn mirror(app: &App, ask: &Reverse<'_>, reversal: &Reversal) -> Result<Option<Payment>, OpError> {
    let now = app.now();
    let (payment, settlement_id) = (&reversal.payment, reversal.settlement_id);
    let entry = app.store.entry_of(settlement_id).await?.mirror();
    let note = EntryNote {
        id: app.store.id(IdKind::Entry).await?,
        kind: "reversal",
        settlement_id: Some(settlement_id),
        business_id: Some(payment.business_id),
        memo: ask.reason,
        at: now,
    };
    let act = app.store.id(IdKind::Act).await?;
    let mut unit = app.store.unit(payment.business_id).await?;
    if let Some(credit) = &reversal.credit {
        let status = if reversal.undoing.is_some() { AlertStatus::Reversed } else { AlertStatus::Review };
        let why = format!("{REVERSED_BY}{}: {}", ask.operator, ask.reason);
        unit = unit.step(alerts::unmatched_again(credit, status, &why));
        unit = unit.steps(reversal.undoing.as_ref().map(|undoing| alerts::undid(undoing, credit.id)));
    }
    let after =
        Payment { reversed_at: Some(now), updated_at: now, version: payment.version + 1, ..payment.clone() };
    let told = match (payment.wallet_id, payment.kind) {
        (Some(wallet_id), Kind::Wallet) => tell_customer(app, payment, wallet_id).await?,
        (Some(wallet_id), Kind::Topup) => tell_reversed(app, wallet_id, payment).await?,
        (_, Kind::Transfer) | (None, _) => Vec::new(),
    };
    let subject = format!("payment {}", payment.transaction_id);
    let why = match ask.despite.filter(|_| !reversal.obstacles.is_empty()) {
        Some(despite) => format!("{}; {despite}, despite: {}", ask.reason, reversal.obstacles.join("; ")),
        None => ask.reason.to_owned(),
    };
    let unit = unit
        .steps(
            reversal.amount_version.map(|(account, amount, version)| {
                alerts::raise_amount_version_from(account, amount, version)
            }),
        )
        .steps(told)
        .steps(announce(app, ask, reversal, &after, now).await?)
        .step(payments::reversed(payment, now))
        .step(settlements::reversed(settlement_id, now, ask.reason, ask.undoing_alert))
        .step(settlements::forget_keys(settlement_id))
        .step(settlements::forget_proven_name(settlement_id))
        .steps(settlements::post(&note, &entry))
        .step(acts::record_of(payment.business_id, act, ask.operator, "reverse", &subject, &why, now));
    match app.store.apply(unit).await? {
        Applied::Done(_) => {
            app.wake_workers();
            tracing::info!(transaction_id = payment.transaction_id, reason = ask.reason, "payment reversed");
            Ok(Some(after))
        }
        Applied::ConstraintViolation { statement } if events::is_second(statement) => {
            Err(event::was_told(&payment.transaction_id, EventKind::PaymentReversed))
        }
        Applied::Conflict { .. } | Applied::ConstraintViolation { .. } => Ok(None),
    }
}

/// What the merchant's programs are told, where they were told of the approval, too: of a top-up only by choice.
async fn announce(
    app: &App,
    ask: &Reverse<'_>,
    reversal: &Reversal,
    after: &Payment,
    now: Timestamp,
) -> Result<Vec<Step>, OpError> {
    if after.kind == Kind::Topup && !was_told_of(app, after).await? {
        return Ok(Vec::new());
    }
    let accounts = app.directory.accounts().await?;
    let account = accounts.iter().find(|account| Some(account.id) == after.account_id);
    let note = reversal.credit.as_ref().map(AlertNote::of);
    let about = About { payment: after, account, alert: note.as_ref() };
    let fact = Fact::of(after, EventKind::PaymentReversed, now);
    Ok(event::record(app, fact, |id| body::payment_reversed(id, about, ask.reason, now)).await?.to_vec())
}

/// Whether programs were told that the top-up's money came.
async fn was_told_of(app: &App, topup: &Payment) -> Result<bool, OpError> {
    let told = app.store.deliveries_of_payment(topup.id).await?;
    Ok(told.iter().any(|one| one.event == EventKind::WalletToppedUp.as_str()))
}

/// The customer of a wallet payment has the money back.
async fn tell_customer(app: &App, payment: &Payment, wallet_id: i64) -> Result<Vec<Step>, OpError> {
    let wallet = known_wallet(app, wallet_id).await?;
    let note = Note {
        to: &wallet.phone,
        business_id: Some(payment.business_id),
        wallet_id: Some(wallet_id),
        kind: MessageKind::Refund,
        subject_id: payment.id,
        text: None,
        valid_until: app.now() + NOTES_VALID,
    };
    Ok(outbox::compose(app, &note, By::Workers).await?.steps)
}
