//! Finds alerts for an operator who has an amount, a name, an account, a bank or a day; and open alarms: credits whose
//! money the bank may have taken back, with which nobody has dealt yet. Read only.
//!
//! A name is found by the beginnings of its words, in the payer's name or, where none was read, in the narration.

use std::collections::HashMap;

use crate::app::App;
use crate::domain::account::{is_full_account_number, mask_fits};
use crate::domain::alert::AlertRow;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::ops::look_back::{Found, NAMED_REACH, REACH, look_back};
use crate::ops::payments::find::{bears, words_of};
pub use crate::store::tables::alerts::search::Filter;

/// Open alarms that are read at once.
const ALARMS_MAX: usize = 10_000;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Search {
    pub filter: Filter,
    pub name: Option<String>,
    pub since: Timestamp,
    pub limit: usize,
}

/// Why there is no answer. The texts are for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindAlertsRefused {
    #[error("--name must contain a letter or a digit")]
    Name,
    #[error("--account must be an account number of 10 digits")]
    Account,
}

pub async fn find_alerts(
    app: &App,
    search: &Search,
) -> Result<Result<Found<AlertRow>, FindAlertsRefused>, OpError> {
    let filter = &search.filter;
    let words = match search.name.as_deref().map(words_of) {
        Some(None) => return Ok(Err(FindAlertsRefused::Name)),
        words => words.flatten(),
    };
    if filter.account.as_ref().is_some_and(|number| !is_full_account_number(number)) {
        return Ok(Err(FindAlertsRefused::Account));
    }
    let accounts = app.directory.accounts().await?;
    let ours: Vec<i64> = accounts
        .iter()
        .filter(|account| Some(&account.number) == filter.account.as_ref())
        .map(|account| account.id)
        .collect();
    let fits = |alert: &AlertRow| {
        words.as_ref().is_none_or(|words| {
            let facts = &alert.facts;
            facts.payer_name.as_ref().or(facts.narration.as_ref()).is_some_and(|name| bears(name, words))
        }) && filter.account.as_ref().is_none_or(|number| is_about(alert, number, &ours))
    };
    let judged_here = words.is_some() || filter.account.is_some();
    let is_filtered = judged_here || filter.amount.is_some() || filter.bank.is_some();
    let reach = if judged_here { NAMED_REACH } else { REACH };
    // Open alarms are few, and their index holds little else.
    let reach = Some(reach).filter(|_| is_filtered && !filter.alarms);
    let most = match (judged_here, filter.alarms) {
        (false, _) => search.limit + 1,
        (true, true) => ALARMS_MAX,
        // A slice holds all that was seen at its first moment, which may be a few more.
        (true, false) => 2 * NAMED_REACH.rows,
    };
    let found = look_back(
        search.since,
        search.limit,
        reach,
        async |time, rows| app.store.alert_slice_end(filter, time, rows).await,
        async |time| {
            let mut read = app.store.alerts_found(filter, time, most).await?;
            read.retain(fits);
            Ok(read)
        },
    )
    .await?;
    Ok(Ok(found.first(search.limit)))
}

/// Whether an alert is about the account of this number: it is one of ours and the alert's, or the mail shows the
/// number, or a mask of it and no account of ours.
fn is_about(alert: &AlertRow, number: &str, ours: &[i64]) -> bool {
    let facts = &alert.facts;
    if alert.account_id.is_some_and(|id| ours.contains(&id))
        || facts.virtual_account.as_deref() == Some(number)
    {
        return true;
    }
    let shown = facts.account_number.as_deref();
    shown == Some(number) || alert.account_id.is_none() && shown.is_some_and(|shown| mask_fits(shown, number))
}

/// The open alarms: which debit or reversal may have taken back the money of a credit, and of a payment.
#[derive(Clone, Debug, Default)]
pub struct OpenAlarms {
    by_credit: HashMap<i64, i64>,
    by_payment: HashMap<i64, i64>,
}

impl OpenAlarms {
    pub fn count(&self) -> usize {
        self.by_credit.len()
    }

    pub fn of_credit(&self, alert_id: i64) -> Option<i64> {
        self.by_credit.get(&alert_id).copied()
    }

    pub fn of_payment(&self, payment_id: i64) -> Option<i64> {
        self.by_payment.get(&payment_id).copied()
    }
}

/// The newest 10,000 of them.
pub async fn open_alarms(app: &App) -> Result<OpenAlarms, OpError> {
    let mut all = OpenAlarms::default();
    for alarm in app.store.open_alarms(ALARMS_MAX).await? {
        all.by_credit.insert(alarm.credit, alarm.undoing);
        all.by_payment.insert(alarm.payment, alarm.undoing);
    }
    Ok(all)
}
