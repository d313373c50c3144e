//! Alerts that may tell of the same money as another one: second tellings of a transfer, and debits or
//! reversals that took it back (contract/alerts.md#a27). Read only; whoever asks decides what follows.
//!
//! What shares a session id or a reference is found over all time; the rest by account, amount and time. An
//! alert that names no account may be about any.

use super::copies::{SHARING_MAX, settled_on, sharing_session, standing};
use super::payout_debits::may_bear_its_reference;
use super::reach::is_told_to_another;
use super::reach::{FORWARDED_WITHIN, named_by, sight};
use super::same_payer::{OfPayer, credits_of_its_payer, with_perhaps_reversed};
use crate::app::App;
use crate::domain::account::ReceivingAccount;
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::money::Money;
use crate::domain::same_transfer::{
    BANKS_APART, LAYOUTS_APART, holding_account_of, is_credit, is_forwarded, is_one_transfer, is_timed,
    is_vouched, leaves_alone, may_be_on, may_be_on_one_account, may_be_the_same_money, may_be_told_again,
    may_have_one_payer, may_undo, takes_back, tells_of_loss, told_time, undoing_in_words, usable_reference,
};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::payouts::from_alert::has_paid_out;
use crate::store::tables::alerts::alike::When;

/// Accounts whose alerts are compared with one that was forwarded, which may show any of them.
pub(super) const FORWARDED_ACCOUNTS_MAX: usize = 1_000;
/// Alerts of the same account and amount that are compared.
const SIMILAR_MAX: usize = 200;
/// Debits of the same amount of which it is asked whether they belong to another credit.
const UNDOING_ASKED_MAX: usize = 10;

/// What other alerts say against one.
#[derive(Default)]
pub struct Similar {
    pub doubts: Vec<String>,
    /// The debit or reversal that may have taken its money back.
    pub undone_by: Option<i64>,
    /// What else its payer sent, as `same_payer` reads it.
    pub of_payer: OfPayer,
}

impl Similar {
    fn doubt(&mut self, why: String) {
        if !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }

    fn undone(&mut self, by: &AlertRow) {
        self.doubt(undoing_in_words(by));
        self.undone_by.get_or_insert(by.id);
    }
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asking {
    /// The rules: of two that are decided at the same moment the version of their amount lets one win, and the
    /// other sees it settled.
    Rule,
    /// A person, to whom an undecided alert is as good a reason to stop.
    Person,
}

/// Looks at the other alerts for a decision by the rules: also at those seen since the payment was asked for that it would
/// pay, which may be long ago where a mailbox could not be read.
pub async fn similar_alerts(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
    since: Timestamp,
) -> Result<Similar, OpError> {
    let accounts = app.directory.accounts().await?;
    let holding_account = holding_account_of(&accounts, account_id);
    let mut on_accounts = vec![Some(account_id), None];
    if holding_account != account_id {
        on_accounts.push(Some(holding_account));
    }
    // Another telling of what came over a virtual account may name the one that it is settled through.
    on_accounts.extend(accounts.iter().filter(|one| one.via == Some(account_id)).map(|one| Some(one.id)));
    // Boxed: ten concurrent reads make a large future, deep in a chain of calls.
    let compared = Compared { on_accounts: &on_accounts, holding_account, received, since };
    Box::pin(compare(app, alert, &accounts, &compared, Asking::Rule)).await
}

/// The same for a person who credits the money to this account. Of an alert that names none, and of money
/// that virtual accounts may share, all accounts that it may be about are looked at.
pub async fn similar_for_person(
    app: &App,
    alert: &AlertRow,
    account_id: i64,
    received: Money,
    since: Timestamp,
) -> Result<Similar, OpError> {
    let accounts = app.directory.accounts().await?;
    let holding_account = holding_account_of(&accounts, account_id);
    let at_bank = |one: &ReceivingAccount| alert.facts.bank.as_ref().is_none_or(|bank| *bank == one.bank);
    // At its bank whatever it shows; and what is settled through an account that it may be about.
    let may_be_its = |one: &ReceivingAccount| at_bank(one) || may_be_on(alert, one.id, &accounts);
    let mut on_accounts = vec![None];
    let is_looked_at = |one: &&ReceivingAccount| alert.simulated_for.is_some() || !one.is_of_test_bank();
    for one in accounts.iter().filter(is_looked_at) {
        let near = holding_account_of(&accounts, one.id) == holding_account;
        // Whoever forwarded it could have written another account into it.
        if near || is_forwarded(alert) || alert.account_id.is_none() && may_be_its(one) {
            on_accounts.push(Some(one.id));
        }
    }
    let is_cut = is_forwarded(alert) && on_accounts.len() > FORWARDED_ACCOUNTS_MAX;
    if is_cut {
        on_accounts.truncate(FORWARDED_ACCOUNTS_MAX);
    }
    let compared = Compared { on_accounts: &on_accounts, holding_account, received, since };
    let mut similar = Box::pin(compare(app, alert, &accounts, &compared, Asking::Person)).await?;
    if is_cut {
        similar
            .doubt("it was forwarded, and there are too many accounts to compare it with all alerts".into());
    }
    Ok(similar)
}

/// With what an alert is compared.
struct Compared<'a> {
    /// `None`: alerts that name no account.
    on_accounts: &'a [Option<i64>],
    holding_account: i64,
    received: Money,
    /// When the payment was asked for, if it is known; else our first sight of the alert.
    since: Timestamp,
}

async fn compare(
    app: &App,
    alert: &AlertRow,
    accounts: &[ReceivingAccount],
    compared: &Compared<'_>,
    asking: Asking,
) -> Result<Similar, OpError> {
    let (facts, received) = (&alert.facts, compared.received);
    let (by_key, by_session, by_reference, others, of_payer, forwarded) = tokio::try_join!(
        settled_on(app, alert, compared.holding_account),
        sharing_session(app, alert.simulated_for, facts.session_id.as_deref(), Some(received)),
        sharing_reference(app, alert),
        gather(app, alert, accounts, compared),
        credits_of_its_payer(app, alert, received),
        paid_by_forwards(app, alert, received),
    )?;
    let mut similar = Similar::default();
    for settled in standing(alert, by_key, &by_session) {
        similar.doubt(format!(
            "it has the same {} as alert {}, which is settled",
            settled.what, settled.alert_id
        ));
    }
    let mut known = vec![alert.id];
    for other in by_session.into_iter().chain(by_reference) {
        if known.contains(&other.id) {
            continue;
        }
        if takes_back(&other, alert) {
            known.push(other.id);
            // Money moves between accounts of ours under one session id.
            if may_be_on_one_account(alert, &other, accounts) {
                similar.undone(&other);
            }
        } else if is_decided_credit(&other, asking) && is_one_transfer(alert, &other, accounts) {
            known.push(other.id);
            similar.doubt(format!("it may report the same money as alert {}", other.id));
        }
        // A reference that several may bear says nothing either way: amount, time and name are compared below.
    }
    let (others, full) = others;
    if full {
        similar.doubt(format!("the account has more than {SIMILAR_MAX} alerts with this amount and time"));
    }
    for other in forwarded {
        // Whatever account it shows: that was a person's to write as well.
        if !known.contains(&other.id) && may_be_the_same_money(alert, &other) {
            known.push(other.id);
            similar.doubt(format!("it may report the same money as alert {}, which was forwarded", other.id));
        }
    }
    let mut asked = 0;
    for other in others.iter().chain(&of_payer.credits) {
        if known.contains(&other.id) || !is_vouched(other) || !may_be_on_one_account(alert, other, accounts) {
            continue;
        }
        known.push(other.id);
        if takes_back(other, alert) {
            asked += 1;
            let is_elsewhere = |named: &AlertRow| leaves_alone(other, named, alert);
            let belongs_elsewhere =
                asked <= UNDOING_ASKED_MAX && named_by(app, other, accounts).await?.iter().any(is_elsewhere);
            let is_of_payer = !tells_of_loss(other) || may_have_one_payer(other, alert);
            let is_meant = may_undo(other, alert) && is_of_payer && !belongs_elsewhere;
            // A payout's debit takes nothing back, whichever of the two came first; nor one that the bank told somebody else.
            let is_a_payouts =
                is_meant && !may_bear_its_reference(other, alert) && has_paid_out(app, other).await?;
            if is_meant && !is_a_payouts && !is_told_to_another(app, other, accounts) {
                similar.undone(other);
            }
        } else if is_decided_credit(other, asking) && may_be_told_again(alert, other) {
            similar.doubt(format!("it may report the same money as alert {}", other.id));
        }
    }
    similar.of_payer = with_perhaps_reversed(app, alert, received, of_payer, &others).await?;
    Ok(similar)
}

/// Alerts of the bank with the same reference, over all time and whatever the amount.
async fn sharing_reference(app: &App, alert: &AlertRow) -> Result<Vec<AlertRow>, OpError> {
    let (Some(bank), Some(reference)) = (&alert.facts.bank, usable_reference(&alert.facts.reference)) else {
        return Ok(Vec::new());
    };
    Ok(app.store.alerts_by_reference(alert.simulated_for, bank, reference, SHARING_MAX).await?)
}

/// Alerts of the amount that were forwarded and paid something.
async fn paid_by_forwards(app: &App, alert: &AlertRow, received: Money) -> Result<Vec<AlertRow>, OpError> {
    // Nobody forwards what test mode writes.
    if alert.simulated_for.is_some() {
        return Ok(Vec::new());
    }
    let seen = (alert.first_seen - FORWARDED_WITHIN, alert.first_seen + FORWARDED_WITHIN);
    Ok(app.store.forwarded_and_paid(received, seen, SIMILAR_MAX).await?)
}

/// Alerts of these accounts and of this amount whose time may be the same, and whether there are more. Of a forwarded
/// alert the time that it shows is a person's to write; and of one that tells of another state than success the mail of
/// its success has another time.
async fn gather(
    app: &App,
    alert: &AlertRow,
    accounts: &[ReceivingAccount],
    compared: &Compared<'_>,
) -> Result<(Vec<AlertRow>, bool), OpError> {
    let (since, until) = sight(app, alert);
    let (seen, received) = ((since.min(compared.since), until), compared.received);
    let time = told_time(alert);
    let when = When {
        time: (time.begin, time.end),
        slack: if has_two_banks(accounts, compared.holding_account) { BANKS_APART } else { LAYOUTS_APART },
        bank: alert.facts.bank.as_deref(),
        template: alert.facts.template.as_deref(),
    };
    let (mut others, mut full) = (Vec::new(), false);
    let realm = alert.simulated_for;
    for account in compared.on_accounts.iter().copied() {
        let is_by_time = is_timed(alert) && !is_forwarded(alert) && !alert.facts.is_told_as_lost();
        let (timed, rest) = if is_by_time {
            // A credit of its own session id is found by that; one of another in its layout is other money.
            let credits_with_session = alert.facts.session_id.is_none();
            tokio::try_join!(
                app.store.alerts_at((realm, account), received, &when, credits_with_session, SIMILAR_MAX),
                app.store.timeless_alerts((realm, account), received, seen, SIMILAR_MAX),
            )?
        } else {
            (Vec::new(), app.store.alerts_seen((realm, account), received, seen, SIMILAR_MAX).await?)
        };
        full |= timed.len() >= SIMILAR_MAX || rest.len() >= SIMILAR_MAX;
        others.extend(timed);
        others.extend(rest);
    }
    Ok((others, full))
}

/// Whether a virtual account of another bank is settled through this one, so that two banks tell of its money.
fn has_two_banks(accounts: &[ReceivingAccount], holding_account: i64) -> bool {
    let mut banks = accounts
        .iter()
        .filter(|one| holding_account_of(accounts, one.id) == holding_account)
        .map(|one| &one.bank);
    let first = banks.next();
    banks.any(|bank| Some(bank) != first)
}

/// A credit that has been decided, whatever became of it. One that was dismissed or reversed counts as well: a second
/// mail about it is not new money.
fn is_decided_credit(alert: &AlertRow, asking: Asking) -> bool {
    let decided = match alert.status {
        AlertStatus::Matched
        | AlertStatus::Review
        | AlertStatus::Unmatched
        | AlertStatus::Dismissed
        | AlertStatus::Reversed => true,
        AlertStatus::New => asking == Asking::Person,
        _ => false,
    };
    decided && is_credit(alert)
}
