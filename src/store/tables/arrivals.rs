//! Money that waits for a payment: the SQL and the reading of rows. Used by ops alone.
//!
//! A row is written behind two guards: that of the alert's version, and that of the payment's, which holds the payment
//! without changing it. So whoever changes either afterwards ends the rows that are open by then with one statement behind
//! his own guard, and needs to have read none of them. For that order among statements the insert is a plain one.

use crate::domain::arrival::{Arrival, ArrivalEnd, ArrivalKind};
use crate::domain::merchant::Mode;
use crate::domain::payment::Payment;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

macro_rules! columns {
    () => {
        "id, alert_id, payment_id, business_id, kind, received_kobo, occurred_at, made_at, ended_at, outcome"
    };
}

/// Open ones of one payment that are read: more of them say nothing more.
const OF_PAYMENT_MAX: i64 = 50;

statements! {
    // No version is raised: nothing that others decide rests on what waits for a payment.
    HOLD: query {
        "update payments set version = version \
         where id = $1 and version = $2 and (status = 'pending' or (status = 'rejected' and is_swept = 1))"
    }
    ADD: query {
        "insert into arrivals (id, alert_id, payment_id, business_id, kind, received_kobo, occurred_at, made_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)"
    }
    END_OF_ALERT: query {
        "update arrivals set ended_at = $2, outcome = $3 where alert_id = $1 and ended_at is null"
    }
    END_SETTLED: query {
        "update arrivals set ended_at = $2, outcome = case when payment_id = $3 then 'approved' else 'elsewhere' end \
         where alert_id = $1 and ended_at is null"
    }
    END_OF_PAYMENT: query {
        "update arrivals set ended_at = $2, outcome = $3 where payment_id = $1 and ended_at is null"
    }
    OPEN_OF_ALERT: query {
        concat!("select ", columns!(), " from arrivals where alert_id = $1 and ended_at is null")
    }
    OPEN_OF_PAYMENT: query {
        concat!("select ", columns!(), " from arrivals where payment_id = $1 and ended_at is null order by id limit $2")
    }
    OPEN_OF_TILL: query {
        concat!("select ", columns!(), " from arrivals where business_id = $1 and ended_at is null and exists \
                 (select 1 from payments p where p.id = arrivals.payment_id and p.mode = $2 and p.till_user_id is not null) \
                 order by id desc limit $3")
    }
    OPEN_OF_BUSINESS: query {
        concat!("select ", columns!(), " from arrivals where business_id = $1 and ended_at is null \
                 order by id desc limit $2")
    }
}

fn decode(row: Row) -> Result<Arrival, StoreError> {
    let mut r = row.reader("arrivals");
    Ok(Arrival {
        id: r.int("id")?,
        alert_id: r.int("alert_id")?,
        payment_id: r.int("payment_id")?,
        business_id: r.int("business_id")?,
        kind: r.word("kind", ArrivalKind::parse)?,
        received: r.money("received_kobo")?,
        occurred_at: r.time("occurred_at")?,
        made_at: r.time("made_at")?,
        ended: r.opt_time("ended_at")?.zip(r.opt_word("outcome", ArrivalEnd::parse)?),
    })
}

/// The steps that write it, behind the guard on the alert, in place of what the alert waited for: the payment stands as the
/// decision saw it, and can still be paid. The payment is held before any row that belongs to it, as by whoever ends it.
pub fn add(arrival: &Arrival, payment: &Payment) -> [Step; 3] {
    let values = vec![
        arrival.id.into(),
        arrival.alert_id.into(),
        payment.id.into(),
        payment.business_id.into(),
        arrival.kind.as_str().into(),
        arrival.received.into(),
        arrival.occurred_at.into(),
        arrival.made_at.into(),
    ];
    [
        Step::one(&HOLD, vec![payment.id.into(), payment.version.into()]),
        end_of_alert(arrival.alert_id, ArrivalEnd::DecidedAgain, arrival.made_at),
        Step::one(&ADD, values),
    ]
}

/// Behind the guard on the alert: it waits for nothing any more.
pub fn end_of_alert(alert_id: i64, end: ArrivalEnd, at: Timestamp) -> Step {
    Step::any(&END_OF_ALERT, vec![alert_id.into(), at.into(), end.as_str().into()])
}

/// Behind the guard on the alert that pays a payment.
pub fn end_settled(alert_id: i64, payment_id: i64, at: Timestamp) -> Step {
    Step::any(&END_SETTLED, vec![alert_id.into(), at.into(), payment_id.into()])
}

/// Behind the guard on a payment that can be paid no more: nothing waits for it.
pub fn end_of_payment(payment_id: i64, end: ArrivalEnd, at: Timestamp) -> Step {
    Step::any(&END_OF_PAYMENT, vec![payment_id.into(), at.into(), end.as_str().into()])
}

impl Store {
    /// What waits by an alert, if anything.
    pub async fn open_arrival_of(&self, alert_id: i64) -> Result<Option<Arrival>, StoreError> {
        self.read_one(&OPEN_OF_ALERT, vec![alert_id.into()]).await?.map(decode).transpose()
    }

    /// What waits for a payment, the oldest first.
    pub async fn open_arrivals(&self, payment_id: i64) -> Result<Vec<Arrival>, StoreError> {
        let params = vec![payment_id.into(), OF_PAYMENT_MAX.into()];
        self.read(&OPEN_OF_PAYMENT, params).await?.into_iter().map(decode).collect()
    }

    /// What waits for sales at the tills of a business, the newest first.
    pub async fn open_arrivals_of_till(
        &self,
        (business_id, mode): (i64, Mode),
        limit: usize,
    ) -> Result<Vec<Arrival>, StoreError> {
        let params = vec![business_id.into(), mode.as_str().into(), (limit as i64).into()];
        self.read(&OPEN_OF_TILL, params).await?.into_iter().map(decode).collect()
    }

    /// What waits for payments of a business, of either mode, the newest first.
    pub async fn open_arrivals_of_business(
        &self,
        business_id: i64,
        limit: i64,
    ) -> Result<Vec<Arrival>, StoreError> {
        self.read(&OPEN_OF_BUSINESS, vec![business_id.into(), limit.into()])
            .await?
            .into_iter()
            .map(decode)
            .collect()
    }
}
