//! Requests of merchants' programs that were refused, and how many of each day were answered. Kept for some days. Used by
//! ops alone.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::tables::places::{Place, Window};
use crate::store::{Row, Step, Store, StoreError};

/// Requests forgotten in one Unit; the statement holds the same number as a literal.
pub const FORGET_BATCH: usize = 500;

statements! {
    ADD: insert(refused_requests) {
        id: Int, business_id: Int, refused_at: Int, method: Text, route: Text, status: Int, code: Text, message: Text,
        request_id: Text
    }
    COUNT: query {
        "insert into request_counts (business_id, day, good, refused, unlisted) values ($1, $2, $3, $4, $5) \
         on conflict (business_id, day) do update set good = request_counts.good + excluded.good, \
         refused = request_counts.refused + excluded.refused, unlisted = request_counts.unlisted + excluded.unlisted"
    }
    REFUSED_END: query {
        "select refused_at, id from refused_requests where (business_id, refused_at, id) < ($1, $2, $3) \
         and (business_id, refused_at) >= ($1, 0) order by business_id desc, refused_at desc, id desc limit 1 offset $4"
    }
    REFUSED_WALK: query {
        "select id, business_id, refused_at, method, route, status, code, message, request_id from refused_requests \
         where (business_id, refused_at, id) < ($1, $2, $3) and (business_id, refused_at, id) >= ($1, $4, $5) \
         order by business_id desc, refused_at desc, id desc limit $6"
    }
    COUNTS: query {
        "select cast(coalesce(sum(good), 0) as bigint) as good, cast(coalesce(sum(refused), 0) as bigint) as refused, \
         cast(coalesce(sum(unlisted), 0) as bigint) as unlisted from request_counts where business_id = $1 and day >= $2"
    }
    FORGET: query {
        "delete from refused_requests where refused_at < $1 and id in (select id from refused_requests \
         where refused_at < $1 order by refused_at limit 500) returning id"
    }
    FORGET_COUNTS: query { "delete from request_counts where day < $1" }
}

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRequest {
    pub id: i64,
    pub business_id: i64,
    pub at: Timestamp,
    pub method: String,
    /// The template, such as `/api/v1/payments`.
    pub route: String,
    pub status: i64,
    pub code: Option<String>,
    pub message: String,
    pub request_id: String,
}

/// Requests that were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    pub good: i64,
    pub refused: i64,
    /// Refused ones that are not listed, because there were too many at a time.
    pub unlisted: i64,
}

pub fn add(request: &RefusedRequest) -> Step {
    Step::insert(ADD {
        id: request.id.into(),
        business_id: request.business_id.into(),
        refused_at: request.at.into(),
        method: (&request.method).into(),
        route: (&request.route).into(),
        status: request.status.into(),
        code: request.code.as_ref().into(),
        message: (&request.message).into(),
        request_id: (&request.request_id).into(),
    })
}

pub fn count(business_id: i64, day: i64, counts: &RequestCounts) -> Step {
    let RequestCounts { good, refused, unlisted } = *counts;
    Step::one(&COUNT, vec![business_id.into(), day.into(), good.into(), refused.into(), unlisted.into()])
}

fn decode(row: Row) -> Result<RefusedRequest, StoreError> {
    let mut r = row.reader("refused_requests");
    Ok(RefusedRequest {
        id: r.int("id")?,
        business_id: r.int("business_id")?,
        at: r.time("refused_at")?,
        method: r.text("method")?,
        route: r.text("route")?,
        status: r.int("status")?,
        code: r.opt_text("code")?,
        message: r.text("message")?,
        request_id: r.text("request_id")?,
    })
}

impl Store {
    /// Where the window of `rows` requests ends that begins before a place; `None` when there are not as many.
    pub async fn refused_window_end(
        &self,
        business_id: i64,
        before: Place,
        rows: usize,
    ) -> Result<Option<Place>, StoreError> {
        let behind = rows.saturating_sub(1) as i64;
        let params = vec![business_id.into(), before.at.into(), before.id.into(), behind.into()];
        self.place(&REFUSED_END, params, ("refused_requests", "refused_at")).await
    }

    /// Requests of a window, newest first.
    pub async fn refused_in(
        &self,
        business_id: i64,
        window: Window,
        limit: usize,
    ) -> Result<Vec<RefusedRequest>, StoreError> {
        let mut params = vec![business_id.into()];
        params.extend(window.params(limit));
        self.read(&REFUSED_WALK, params).await?.into_iter().map(decode).collect()
    }

    /// Requests of a business from a day on.
    pub async fn request_counts(&self, business_id: i64, day: i64) -> Result<RequestCounts, StoreError> {
        let row = self.read_one(&COUNTS, vec![business_id.into(), day.into()]).await?;
        let Some(row) = row else { return Ok(RequestCounts::default()) };
        let mut r = row.reader("request_counts");
        Ok(RequestCounts { good: r.int("good")?, refused: r.int("refused")?, unlisted: r.int("unlisted")? })
    }

    /// Forgets requests of before a time, at most [`FORGET_BATCH`], and the counts of their days; answers how many
    /// requests those were.
    pub async fn forget_refused(&self, before: Timestamp) -> Result<usize, StoreError> {
        let unit = self.unit(0).await?.step(Step::any(&FORGET_COUNTS, vec![before.lagos_day().into()]));
        let unit = unit.step(Step::returning(&FORGET, vec![before.into()]));
        Ok(self.apply(unit).await?.into_rows().len())
    }
}
