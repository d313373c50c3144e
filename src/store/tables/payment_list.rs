//! The listing of a business's payments: a page of them, newest first, and how many there are.
//!
//! Those that were reversed are few among many: they have an index of their own, which begins with an expression so
//! that no planner takes another, and the statements about them judge the other filters row by row. Used by ops
//! alone.

use crate::domain::merchant::Mode;
use crate::domain::payment::{Payment, Status};
use crate::domain::time::Timestamp;
use crate::store::engine::sql::{Sql, statements};
use crate::store::tables::payments::{columns, decode};
use crate::store::{Store, StoreError, Value};

/// Rows after a position, newest first.
macro_rules! listed {
    ($filter:literal) => {
        listed!("business_id", $filter)
    };
    ($business:literal, $filter:literal) => {
        concat!(
            "select ",
            columns!(),
            " from payments where ",
            $business,
            " = $1 and kind <> 'topup' and mode = $2 \
             and created_at >= $3 and created_at <= $4 and (created_at < $4 or id < $5)",
            $filter,
            " order by created_at desc, id desc limit $6 offset $7"
        )
    };
}

/// How many there are, up to a limit.
macro_rules! counted {
    ($filter:literal) => {
        counted!("business_id", $filter)
    };
    ($business:literal, $filter:literal) => {
        concat!(
            "select count(*) from (select 1 from payments where ",
            $business,
            " = $1 and kind <> 'topup' \
             and mode = $2 and created_at >= $3 and created_at < $4",
            $filter,
            " limit $5) as counted"
        )
    };
}

statements! {
    OF_WALLETS: query {
        concat!("select ", columns!(), " from payments where business_id = $1 and kind = 'wallet' and mode = 'live' \
                 order by created_at desc, id desc limit $2")
    }
    OF_TEST_WALLETS: query {
        concat!("select ", columns!(), " from payments where business_id = $1 and kind = 'wallet' and mode = 'test' \
                 order by created_at desc, id desc limit $2")
    }
    LIST: query { listed!("") }
    LIST_STATUS: query { listed!(" and status = $8") }
    LIST_WEBSITE: query { listed!(" and website_id = $8") }
    LIST_STATUS_WEBSITE: query { listed!(" and status = $8 and website_id = $9") }
    LIST_KEPT: query { listed!(" and reversed_at is null") }
    LIST_KEPT_STATUS: query { listed!(" and reversed_at is null and status = $8") }
    LIST_KEPT_WEBSITE: query { listed!(" and reversed_at is null and website_id = $8") }
    LIST_KEPT_STATUS_WEBSITE: query { listed!(" and reversed_at is null and status = $8 and website_id = $9") }
    LIST_REVERSED: query {
        listed!("business_id + 0", " and reversed_at is not null and (cast($8 as text) = '' or status = $8) \
                 and (cast($9 as bigint) = -1 or website_id = $9)")
    }
    COUNT: query { counted!("") }
    COUNT_STATUS: query { counted!(" and status = $6") }
    COUNT_WEBSITE: query { counted!(" and website_id = $6") }
    COUNT_STATUS_WEBSITE: query { counted!(" and status = $6 and website_id = $7") }
    COUNT_KEPT: query { counted!(" and reversed_at is null") }
    COUNT_KEPT_STATUS: query { counted!(" and reversed_at is null and status = $6") }
    COUNT_KEPT_WEBSITE: query { counted!(" and reversed_at is null and website_id = $6") }
    COUNT_KEPT_STATUS_WEBSITE: query { counted!(" and reversed_at is null and status = $6 and website_id = $7") }
    COUNT_REVERSED: query {
        counted!("business_id + 0", " and reversed_at is not null and (cast($6 as text) = '' or status = $6) \
                  and (cast($7 as bigint) = -1 or website_id = $7)")
    }
}

/// By the filters on status and website: neither, the first, the second, both.
type ByFilter = [&'static Sql; 4];
static LISTS: ByFilter = [&LIST, &LIST_STATUS, &LIST_WEBSITE, &LIST_STATUS_WEBSITE];
static LISTS_KEPT: ByFilter = [&LIST_KEPT, &LIST_KEPT_STATUS, &LIST_KEPT_WEBSITE, &LIST_KEPT_STATUS_WEBSITE];
static COUNTS: ByFilter = [&COUNT, &COUNT_STATUS, &COUNT_WEBSITE, &COUNT_STATUS_WEBSITE];
static COUNTS_KEPT: ByFilter =
    [&COUNT_KEPT, &COUNT_KEPT_STATUS, &COUNT_KEPT_WEBSITE, &COUNT_KEPT_STATUS_WEBSITE];
/// Of the statements that judge filters themselves: any website. None has this id.
const ANY_WEBSITE: i64 = -1;

/// One page of a listing: the rows wanted and the position after which they begin.
pub struct Page {
    pub status: Option<Status>,
    pub website_id: Option<i64>,
    /// Only those that were reversed, or only the others.
    pub reversed: Option<bool>,
    pub mode: Mode,
    pub from: Timestamp,
    /// Inclusive; with `before_id` the position of a cursor.
    pub until: Timestamp,
    pub before_id: i64,
    pub limit: i64,
    pub offset: i64,
}

impl Page {
    /// The statement, and the values of its filters.
    fn choose(&self, all: &ByFilter, kept: &ByFilter, reversed: &'static Sql) -> (&'static Sql, Vec<Value>) {
        let status = self.status.map(Status::as_str);
        if self.reversed == Some(true) {
            let website = self.website_id.unwrap_or(ANY_WEBSITE);
            return (reversed, vec![status.unwrap_or_default().into(), website.into()]);
        }
        let at = usize::from(status.is_some()) + 2 * usize::from(self.website_id.is_some());
        let filters = status.map(Value::from).into_iter().chain(self.website_id.map(Value::from));
        (if self.reversed.is_some() { kept[at] } else { all[at] }, filters.collect())
    }
}

impl Store {
    /// The newest wallet payments of a business.
    pub async fn wallet_payments(
        &self,
        business_id: i64,
        mode: Mode,
        limit: i64,
    ) -> Result<Vec<Payment>, StoreError> {
        let list = match mode {
            Mode::Live => &OF_WALLETS,
            Mode::Test => &OF_TEST_WALLETS,
        };
        let rows = self.read(list, vec![business_id.into(), limit.into()]).await?;
        rows.into_iter().map(decode).collect()
    }

    /// A page of the business's payments, newest first; top-ups are not among them.
    pub async fn list_payments(&self, business_id: i64, page: &Page) -> Result<Vec<Payment>, StoreError> {
        let (sql, filters) = page.choose(&LISTS, &LISTS_KEPT, &LIST_REVERSED);
        let mut params: Vec<Value> = vec![
            business_id.into(),
            page.mode.as_str().into(),
            page.from.into(),
            page.until.into(),
            page.before_id.into(),
            page.limit.into(),
            page.offset.into(),
        ];
        params.extend(filters);
        self.read(sql, params).await?.into_iter().map(decode).collect()
    }

    /// How many payments a listing has in all, counted up to `limit`.
    pub async fn count_payments(
        &self,
        business_id: i64,
        page: &Page,
        until: Timestamp,
        limit: i64,
    ) -> Result<i64, StoreError> {
        let (sql, filters) = page.choose(&COUNTS, &COUNTS_KEPT, &COUNT_REVERSED);
        let mut params: Vec<Value> =
            vec![business_id.into(), page.mode.as_str().into(), page.from.into(), until.into(), limit.into()];
        params.extend(filters);
        self.read_one(sql, params).await?.map_or(Ok(0), |row| row.single_int("payments"))
    }
}
