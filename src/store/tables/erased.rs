//! A person's data taken out of the rows that hold it: of a payment that has ended, of the alerts that told of its money, and of
//! what was learned from them. Amounts, times, ids and the keys by which a second telling is known stay.
//!
//! Used by `ops::privacy` alone, which asks whether it may be done.

use crate::domain::alert::AlertRow;
use crate::domain::money::Money;
use crate::domain::name::words_key;
use crate::domain::payment::Payment;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Step, Store, StoreError};

statements! {
    PAYMENT: query {
        "update payments set payer_name = '[erased]', payer_bank = null, first_name = null, last_name = null, bvn = null, \
         registration_number = null, service = null, erased_at = $3, version = version + 1 \
         where id = $1 and version = $2 and status in ('approved', 'rejected') and erased_at is null"
    }
    ALERT: query {
        "update alerts set payer_name = null, payer_key = null, payer_account = null, payer_bank = null, narration = null, \
         remarks = null, subject = null, doubts = '', reason = '[erased]', evidence = '{\"erased\":true}', erased_at = $3, \
         version = version + 1 where id = $1 and version = $2 and erased_at is null \
         and status not in ('new', 'review', 'unmatched')"
    }
    MAIL: query { "delete from mails where alert_id = $1" }
    SETTLEMENT: query {
        "update settlements set rule = '[erased]', evidence = '{\"erased\":true}', reverse_reason = case when reverse_reason is null \
         then null else '[erased]' end where id = $1"
    }
    ATTEMPTS: query {
        "delete from attempts where job_id in (select j.id from jobs j where j.subject_id = $1 and j.kind = 'deliver' \
         and j.done_at is not null)"
    }
    ERASED_PAYMENT: query { "select erased_at from payments where id = $1 and erased_at is not null" }
    ERASED_ALERT: query { "select erased_at from alerts where id = $1 and erased_at is not null" }
}

/// Takes the payer out of a payment that has ended; guarded by its version.
pub fn payment(payment: &Payment, now: Timestamp) -> Step {
    Step::one(&PAYMENT, vec![payment.id.into(), payment.version.into(), now.into()])
}

/// What is kept of why money was taken for a payment's own, or taken off it.
pub fn settlement(settlement_id: i64) -> Step {
    Step::one(&SETTLEMENT, vec![settlement_id.into()])
}

/// Takes the payer out of an alert that is decided, with its mail if that is still there; guarded by its version.
pub fn alert(alert: &AlertRow, now: Timestamp) -> [Step; 2] {
    let row = Step::one(&ALERT, vec![alert.id.into(), alert.version.into(), now.into()]);
    [row, Step::any(&MAIL, vec![alert.id.into()])]
}

/// What receivers answered to an event, once its delivery is over: some repeat what they were sent.
pub fn attempts(event: i64) -> Step {
    Step::any(&ATTEMPTS, vec![event.into()])
}

impl Store {
    /// When a payment's payer was taken out of it.
    pub async fn payment_erased_at(&self, payment_id: i64) -> Result<Option<Timestamp>, StoreError> {
        let row = self.read_one(&ERASED_PAYMENT, vec![payment_id.into()]).await?;
        row.map(|row| row.reader("payments").time("erased_at")).transpose()
    }

    /// When an alert's payer was taken out of it.
    pub async fn alert_erased_at(&self, alert_id: i64) -> Result<Option<Timestamp>, StoreError> {
        let row = self.read_one(&ERASED_ALERT, vec![alert_id.into()]).await?;
        row.map(|row| row.reader("alerts").time("erased_at")).transpose()
    }

    /// Other tellings of the money of an alert, copies and debits included: those that are linked with it, of its session id or of its
    /// payer and amount, and those of its session id and its payer; so many of each are looked at. Of another's transfer in the same name
    /// none.
    pub async fn tellings_of(
        &self,
        alert: &AlertRow,
        amount: Money,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let mut found = match &alert.facts.session_id {
            Some(session) => self.all_by_session(session, limit).await?,
            None => Vec::new(),
        };
        if let Some(payer) = &alert.facts.payer_name {
            found.extend(self.copies_of_payer(payer, amount, limit).await?);
        }
        let mut known = vec![alert.id];
        found.retain(|one| {
            let is_first = !known.contains(&one.id);
            known.push(one.id);
            let is_linked = one.linked_alert_id == Some(alert.id) || alert.linked_alert_id == Some(one.id);
            let words = |alert: &AlertRow| alert.facts.payer_name.as_deref().map(words_key);
            let is_of_payer = one.facts.session_id.is_some()
                && one.facts.session_id == alert.facts.session_id
                && words(one).is_some()
                && words(one) == words(alert);
            is_first && (is_linked || is_of_payer)
        });
        Ok(found)
    }
}
