//! By what it is seen that a payment, or anything of a business, has changed: numbers that differ from those of before.
//! Look-ups by key, so that those of everything that is watched are asked as one.

use crate::store::engine::sql::statements;
use crate::store::{Row, Store, StoreError};

statements! {
    PAYMENT_MARK: lookup(payments) {
        "id, version, coalesce((select max(a.id) from arrivals a where a.payment_id = payments.id), 0) as last_arrival, \
         (select count(*) from arrivals a where a.payment_id = payments.id and a.ended_at is null) as open_arrivals"
        by id: Int
    }
    // Of the payments made last: of older ones a till shows nothing.
    BUSINESS_MARK: lookup(businesses) {
        "id, (select cast(coalesce(sum(l.version), 0) as bigint) from (select p.version from payments p \
         where p.business_id = businesses.id order by p.created_at desc, p.id desc limit 50) as l) as versions, \
         (select cast(coalesce(sum(l.id), 0) as bigint) from (select p.id from payments p \
         where p.business_id = businesses.id order by p.created_at desc, p.id desc limit 50) as l) as ids, \
         (select cast(coalesce(sum(l.id), 0) as bigint) from (select a.id from arrivals a \
         where a.business_id = businesses.id and a.ended_at is null order by a.id desc limit 50) as l) as arrivals"
        by id: Int
    }
    // Of what was asked for last and of what was approved last: a sale of this morning is approved among many others.
    TILL_MARK: lookup(businesses) {
        "id, (select cast(coalesce(sum(l.version + l.id), 0) as bigint) from (select p.version, p.id from payments p \
         where p.business_id = businesses.id and p.mode = 'live' and p.till_user_id is not null \
         order by p.created_at desc, p.id desc limit 50) as l) as asked, \
         (select cast(coalesce(sum(l.version + l.id), 0) as bigint) from (select p.version, p.id from payments p \
         where p.business_id = businesses.id and p.mode = 'test' and p.till_user_id is not null \
         order by p.created_at desc, p.id desc limit 50) as l) as tried, \
         (select cast(coalesce(sum(l.version + l.id), 0) as bigint) from (select p.version, p.id from payments p \
         where p.business_id = businesses.id and p.mode = 'live' and p.till_user_id is not null \
         and p.approved_at is not null order by p.approved_at desc, p.id desc limit 20) as l) as paid, \
         (select cast(coalesce(sum(l.id), 0) as bigint) from (select a.id from arrivals a \
         where a.business_id = businesses.id and a.ended_at is null order by a.id desc limit 50) as l) as arrivals"
        by id: Int
    }
    TEST_EVENTS_MARK: lookup(businesses) {
        "id, (select cast(coalesce(max(p.place), 0) as bigint) from event_places p \
         where p.business_id = businesses.id and p.mode = 'test') as last_place"
        by id: Int
    }
}

/// Says nothing but by being another one than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark([i64; 4]);

fn of_payment(row: Row) -> Result<(i64, Mark), StoreError> {
    let mut r = row.reader("payments");
    let mark = Mark([r.int("version")?, r.int("last_arrival")?, r.int("open_arrivals")?, 0]);
    Ok((r.int("id")?, mark))
}

fn of_business(row: Row) -> Result<(i64, Mark), StoreError> {
    let mut r = row.reader("businesses");
    let mark = Mark([r.int("versions")?, r.int("ids")?, r.int("arrivals")?, 0]);
    Ok((r.int("id")?, mark))
}

fn of_till(row: Row) -> Result<(i64, Mark), StoreError> {
    let mut r = row.reader("businesses");
    let mark = Mark([r.int("asked")?, r.int("tried")?, r.int("paid")?, r.int("arrivals")?]);
    Ok((r.int("id")?, mark))
}

fn of_test_events(row: Row) -> Result<(i64, Mark), StoreError> {
    let mut r = row.reader("businesses");
    let mark = Mark([r.int("last_place")?, 0, 0, 0]);
    Ok((r.int("id")?, mark))
}

impl Store {
    /// The marks of the events of these businesses in test mode, those that exist.
    pub async fn test_event_marks(&self, ids: &[i64]) -> Result<Vec<(i64, Mark)>, StoreError> {
        let keys = ids.iter().map(|id| vec![(*id).into()]).collect();
        self.look_up_all(&TEST_EVENTS_MARK, keys).await?.into_iter().map(of_test_events).collect()
    }

    /// The marks of the tills of these businesses, those that exist.
    pub async fn till_marks(&self, ids: &[i64]) -> Result<Vec<(i64, Mark)>, StoreError> {
        let keys = ids.iter().map(|id| vec![(*id).into()]).collect();
        self.look_up_all(&TILL_MARK, keys).await?.into_iter().map(of_till).collect()
    }

    /// The marks of these payments, those that exist.
    pub async fn payment_marks(&self, ids: &[i64]) -> Result<Vec<(i64, Mark)>, StoreError> {
        let keys = ids.iter().map(|id| vec![(*id).into()]).collect();
        self.look_up_all(&PAYMENT_MARK, keys).await?.into_iter().map(of_payment).collect()
    }

    /// The marks of these businesses, those that exist: of the payments made last and what waits for any.
    pub async fn business_marks(&self, ids: &[i64]) -> Result<Vec<(i64, Mark)>, StoreError> {
        let keys = ids.iter().map(|id| vec![(*id).into()]).collect();
        self.look_up_all(&BUSINESS_MARK, keys).await?.into_iter().map(of_business).collect()
    }
}
