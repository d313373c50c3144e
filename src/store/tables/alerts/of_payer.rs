//! What one payer has sent, found by the words of his name or, where a bank cut its end, by how it begins; and whom he has paid.
//! Called by `ops`, which judges what is found.

use super::alike::Realm;
use super::decode;
use crate::domain::alert::AlertRow;
use crate::domain::money::Money;
use crate::domain::name::words_key;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::{Sql, statements};
use crate::store::engine::value::Value;
use crate::store::{Store, StoreError};

/// Credits of one amount from payers so named, seen between two times, or before and perhaps taken back since.
macro_rules! of_payer {
    ($so_named:literal) => {
        concat!(
            "select ",
            columns!(),
            " from alerts where ",
            $so_named,
            " and payer_name is not null and amount_kobo = $2 \
             and first_seen_at between $7 and $4 and (first_seen_at >= $3 or status = 'reversed' \
             or linked_alert_id is not null or coalesce((select s.id from settlements s where s.alert_id = alerts.id \
             and s.reversed_at is not null and s.alert_id is not null order by s.id limit 1), 0) > 0) \
             and direction = 'credit' and (authenticity in ('proven', 'trusted', 'simulated', 'forwarded') \
             and status <> 'quarantined' or status in ('matched', 'reversed') or status = 'quarantined' \
             and exists (select 1 from jobs j where j.subject_id = alerts.id and j.kind = 'verify' \
             and j.done_at is null)) and status <> 'duplicate' \
             and coalesce(simulated_for, 0) = $6 order by first_seen_at desc limit $5"
        )
    };
}

statements! {
    PAID_BY: query {
        "select payment_id from (select payment_id from alerts where coalesce(payer_key, payer_name) in ($1, $2) \
         and payer_name is not null and direction = 'credit' and payment_id is not null and (account_id + 0 = $3 \
         or account_id is null and exists \
         (select 1 from payments p where p.id = alerts.payment_id and p.account_id + 0 = $3)) limit $4) as paid union all \
         select payment_id from (select a.account_id, (select s.payment_id from settlements s where s.alert_id = a.id \
         and s.reversed_at is not null and (s.undoing_alert_id is not null or a.linked_alert_id is not null) \
         order by s.id desc limit 1) as payment_id \
         from alerts a where coalesce(a.payer_key, a.payer_name) in ($1, $2) and a.payer_name is not null \
         and a.direction = 'credit' and a.status in ('reversed', 'review', 'unmatched', 'dismissed') \
         and (a.account_id + 0 = $3 or a.account_id is null) limit 2000) as undone \
         where payment_id is not null and (account_id is not null or exists \
         (select 1 from payments p where p.id = undone.payment_id and p.account_id + 0 = $3))"
    }
    COPIES_OF_PAYER: query {
        concat!("select ", columns!(), " from alerts where coalesce(payer_key, payer_name) in ($1, $2) and payer_name is not null \
                 and amount_kobo = $3 and direction = 'credit' and status = 'duplicate' order by first_seen_at limit $4")
    }
    OF_PAYER: query { of_payer!("coalesce(payer_key, payer_name) in ($1, $8)") }
    OF_BEGINNING: query { of_payer!("upper(substr(payer_name, 1, 10)) = upper($1) and substr(payer_name, 1, 10) is not null and (is_payer_name_cut = 1 or cast($8 as bigint) = 1)") }
}

/// Which of a payer's credits are asked for.
pub struct Sought {
    pub realm: Realm,
    pub amount: Money,
    /// First seen between these times,
    pub seen: (Timestamp, Timestamp),
    /// or since then, and perhaps taken back.
    pub reversed_since: Timestamp,
}

impl Store {
    /// Payments that transfers of a payer, with the words of this name, paid on an account, those included that the bank took
    /// back later; whichever, where there are more.
    pub async fn payments_paid_by(
        &self,
        payer_name: &str,
        account_id: i64,
        limit: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let params =
            vec![words_key(payer_name).into(), payer_name.into(), account_id.into(), (limit as i64).into()];
        let paid = self.read(&PAID_BY, params).await?;
        paid.into_iter().take(limit).map(|row| row.single_int("alerts")).collect()
    }

    /// Copies of credits of a payer and an amount; oldest first.
    pub async fn copies_of_payer(
        &self,
        payer_name: &str,
        amount: Money,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params =
            vec![words_key(payer_name).into(), payer_name.into(), amount.into(), (limit as i64).into()];
        self.read(&COPIES_OF_PAYER, params).await?.into_iter().map(decode).collect()
    }

    /// Credits whose payer bears the words of this name, in whatever order and however written, whatever account they show; newest
    /// first. Also those that one of our own people forwarded, or whose proof is still asked for.
    pub async fn credits_of_payer(
        &self,
        payer_name: &str,
        sought: &Sought,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        // The name as it is written finds rows of before the key was kept.
        self.credits_so_named(&OF_PAYER, words_key(payer_name).into(), payer_name.into(), sought, limit).await
    }

    /// The same of payers whose names begin with these ten characters, in whatever case: those whose end the bank cut, or, for a
    /// name that was cut itself, all.
    pub async fn credits_of_names_that_begin(
        &self,
        (beginning, is_cut): (&str, bool),
        sought: &Sought,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        self.credits_so_named(&OF_BEGINNING, beginning.into(), is_cut.into(), sought, limit).await
    }

    async fn credits_so_named(
        &self,
        statement: &'static Sql,
        name: Value,
        also: Value,
        sought: &Sought,
        limit: usize,
    ) -> Result<Vec<AlertRow>, StoreError> {
        let params = vec![
            name,
            sought.amount.into(),
            sought.seen.0.into(),
            sought.seen.1.into(),
            (limit as i64).into(),
            sought.realm.unwrap_or(0).into(),
            sought.reversed_since.into(),
            also,
        ];
        self.read(statement, params).await?.into_iter().map(decode).collect()
    }
}
