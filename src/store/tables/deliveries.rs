//! Deliveries as people see them: the job of a webhook with its event, its log of attempts and its
//! state, and what a person can do to it.
//!
//! The queue itself is `store::tables::jobs`; this file never claims. A delivery is `delivered` or `failed`
//! when done, or `not_sent` because its payment was reversed or nobody gave a URL; it is `paused` while its target
//! is, and otherwise waits for its `run_at`. The log survives resends; an attempt never changes, and is deleted when it is
//! old and its delivery is over. Used by ops, and by work for the log and the pauses.

use crate::domain::payment::Status;
use crate::domain::superseded::superseded;
use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::engine::unit::Step;
use crate::store::engine::value::{Row, Value};
use crate::store::{Store, StoreError};

/// Attempts forgotten in one Unit; the statement holds the same number as a literal.
pub const FORGET_BATCH: usize = 500;
/// Jobs whose attempts are read at once; the statement has as many places.
const ATTEMPTS_BATCH: usize = 16;

/// Attempts of a delivery that are read, the newest; the statement holds the same number as a literal. Whoever sends one
/// again and again makes no page long, and takes nothing from its neighbours.
pub const ATTEMPTS_READ: usize = 100;

macro_rules! newest {
    ($job:literal) => {
        concat!(
            "select * from (select id, job_id, try, url, status, error, answer, duration_ms, attempted_at from attempts \
             where job_id = ",
            $job,
            " order by attempted_at desc, id desc limit 100) as newest"
        )
    };
    (and $job:literal) => {
        concat!(" union all ", newest!($job))
    };
}

macro_rules! wake {
    ($lane:literal) => {
        concat!(
            "update jobs set run_at = $3, outcome = null where kind = 'deliver' and done_at is null and ",
            $lane,
            " and business_id = $1 and outcome = 'paused' and (note = $2 or cast($2 as text) is null)"
        )
    };
}
macro_rules! delivery {
    () => {
        delivery!("jobs j join events e on e.id = j.subject_id")
    };
    ($of:literal) => {
        concat!(
            "select j.id, j.business_id, j.subject_id, j.run_at, j.held_until_at, j.attempt, j.tries, j.created_at, \
             j.done_at, j.outcome, j.note, e.kind, e.webhook_id, e.payment_id, e.reduced_at, p.transaction_id, p.reversed_at, \
             p.status as payment_status, \
             t.paused_at from ",
            $of,
            " left join payments p on p.id = e.payment_id \
             left join paused_targets t on t.business_id = j.business_id and t.url = j.note "
        )
    };
}

/// What a bulk resend takes: as `domain::superseded`, and no test events.
macro_rules! resendable {
    () => {
        "e.kind <> 'webhook.test' and e.reduced_at is null and (e.kind <> 'payment.approved' or p.reversed_at is null) \
         and (e.kind <> 'payment.rejected' or p.status <> 'approved')"
    };
}

pub mod pages;

statements! {
    WAKE_FIRST: query { wake!("tries = 0") }
    WAKE_AGAIN: query { wake!("tries > 0") }
    RESEND_FAILED: query {
        "update jobs set attempt = attempt + 1, tries = 0, run_at = $2, done_at = null, outcome = null, note = null \
         where id = $1 and kind = 'deliver' and outcome = 'failed'"
    }
    RESEND: query {
        "update jobs set attempt = attempt + 1, tries = 0, run_at = $2, done_at = null, outcome = null, note = null \
         where id = $1 and kind = 'deliver'"
    }
    ATTEMPTS_OF: query {
        concat!(
            newest!("$1"), newest!(and "$2"), newest!(and "$3"), newest!(and "$4"), newest!(and "$5"), newest!(and "$6"),
            newest!(and "$7"), newest!(and "$8"), newest!(and "$9"), newest!(and "$10"), newest!(and "$11"),
            newest!(and "$12"), newest!(and "$13"), newest!(and "$14"), newest!(and "$15"), newest!(and "$16")
        )
    }
    ATTEMPT: insert(attempts) {
        id: Int, job_id: Int, r#try: Int, url: Text, status: Int, error: Text, answer: Text, duration_ms: Int, attempted_at: Int
    }
    FORGET_ATTEMPTS: query {
        "delete from attempts where attempted_at < $1 and id in (select a.id from attempts a join jobs j on j.id = a.job_id \
         where a.attempted_at < $1 and j.done_at is not null order by a.attempted_at limit 500) returning id"
    }
    DELIVERY_BY_ID: query { concat!(delivery!(), "where j.id = $1 and j.kind = 'deliver'") }
    DELIVERY_OF_EVENT: query { concat!(delivery!(), "where j.subject_id = $1 and j.kind = 'deliver'") }
    DELIVERIES_FAILED: query {
        // Its index holds failed deliveries alone, newest first.
        concat!(delivery!(), "where j.kind = 'deliver' and j.outcome = 'failed' \
                 and j.created_at >= $2 and (cast($3 as bigint) = 0 or j.business_id = $3) \
                 order by j.created_at desc, j.id desc limit $1")
    }
    DELIVERIES_OF_PAYMENT: query {
        concat!(delivery!(), "where j.kind = 'deliver' and e.payment_id = $1 order by j.created_at, j.id")
    }
    // By way of the events, each of which has a delivery: most jobs are of other kinds. SQLite keeps the order
    // of a cross join.
    DELIVERIES_FOUND: query {
        concat!(
            delivery!("events e cross join jobs j"),
            "where e.created_at >= $1 and e.created_at < $2 and j.subject_id = e.id and j.kind = 'deliver' \
             and (cast($3 as bigint) = 0 or j.business_id = $3) \
             and (cast($4 as text) = '' or coalesce(j.outcome, 'waiting') = $4) \
             order by e.created_at desc, e.id desc limit $5"
        )
    }
    EVENT_SLICE_END: query {
        "select created_at from events where created_at >= $1 and created_at < $2 \
         order by created_at desc limit 1 offset $3"
    }
    FAILED_SINCE: query {
        concat!(
            delivery!(),
            "where j.kind = 'deliver' and j.outcome = 'failed' and j.done_at >= $1 and ",
            resendable!(),
            " and j.id > $2 order by j.id limit $3"
        )
    }
    PAUSE_TARGET: query {
        "insert into paused_targets (business_id, url, paused_at) values ($1, $2, $3) \
         on conflict (business_id, url) do nothing"
    }
    RESUME_TARGET: query { "delete from paused_targets where business_id = $1 and url = $2" }
    // Each half has its queue's index.
    PUT_ASIDE: query {
        "select distinct business_id, note from (select business_id, note from jobs where kind = 'deliver' \
         and done_at is null and tries = 0 and outcome = 'paused' union all select business_id, note from jobs \
         where kind = 'deliver' and done_at is null and tries > 0 and outcome = 'paused') aside \
         order by business_id, note limit 10000"
    }
    PAUSED_TARGETS: query {
        "select business_id, url, paused_at from paused_targets order by paused_at limit 10000"
    }
}

/// Outcome of a delivery that is not made any more.
pub const NOT_SENT: &str = "not_sent";

/// One delivery as it went, for the log of attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub id: i64,
    pub job_id: i64,
    /// 1 for the first delivery after creation or a resend.
    pub number: i64,
    /// Where it went; `None` when there was nowhere to send it.
    pub url: Option<String>,
    pub status: Option<i64>,
    /// What went wrong; beside a 2xx, what came behind the status.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub answer: Option<String>,
    pub duration_ms: i64,
    pub at: Timestamp,
}

/// What became of a delivery, as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    Waiting,
    Delivered,
    Failed,
    Paused,
    NotSent,
}

impl DeliveryStatus {
    pub const ALL: [DeliveryStatus; 5] = [
        DeliveryStatus::Waiting,
        DeliveryStatus::Delivered,
        DeliveryStatus::Failed,
        DeliveryStatus::Paused,
        DeliveryStatus::NotSent,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            DeliveryStatus::Waiting => "waiting",
            DeliveryStatus::Delivered => "delivered",
            DeliveryStatus::Failed => "failed",
            DeliveryStatus::Paused => "paused",
            DeliveryStatus::NotSent => NOT_SENT,
        }
    }

    pub fn parse(word: &str) -> Option<DeliveryStatus> {
        DeliveryStatus::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A webhook delivery as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What `webhook resend` takes.
    pub id: i64,
    pub business_id: i64,
    pub event_id: i64,
    pub run_at: Timestamp,
    /// `run_at` is the end of a worker's lease, not the time of an attempt.
    pub is_held: bool,
    pub attempt: i64,
    pub tries: i64,
    pub created_at: Timestamp,
    pub done_at: Option<Timestamp>,
    /// Since when its target is paused, where the delivery was put aside for that.
    pub paused_at: Option<Timestamp>,
    /// `delivered`, `failed`, `not_sent`, `paused`, or `None` while it waits for its next attempt.
    pub outcome: Option<String>,
    /// The last error, the paused target, or what is to be noted of an answer that counted.
    pub note: Option<String>,
    pub event: String,
    pub webhook_id: String,
    pub payment_id: Option<i64>,
    pub transaction_id: Option<String>,
    pub reversed_at: Option<Timestamp>,
    pub payment_status: Option<Status>,
    /// Its text is not kept any more.
    pub is_reduced: bool,
    /// The newest [`ATTEMPTS_READ`], oldest first; those before a resend included.
    pub attempts: Vec<Attempt>,
}

impl Delivery {
    /// Its status in a word.
    pub fn status(&self) -> &str {
        self.outcome.as_deref().unwrap_or(DeliveryStatus::Waiting.as_str())
    }

    /// Why it is not to be sent any more.
    pub fn superseded(&self) -> Option<&'static str> {
        superseded(&self.event, self.payment_status, self.reversed_at.is_some(), self.is_reduced)
    }
}

/// A target that answered 410.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedTarget {
    pub business_id: i64,
    pub url: String,
    pub paused_at: Timestamp,
}

/// Pauses a target; nothing happens if it is paused already.
pub fn pause_target(business_id: i64, url: &str, now: Timestamp) -> Step {
    Step::any(&PAUSE_TARGET, vec![business_id.into(), url.into(), now.into()])
}

/// Lifts the pause of a target and makes the deliveries that waited for it due now.
pub fn resume_target(business_id: i64, url: &str, now: Timestamp) -> [Step; 3] {
    let params = || vec![business_id.into(), url.into(), now.into()];
    [
        Step::any(&RESUME_TARGET, vec![business_id.into(), url.into()]),
        Step::any(&WAKE_FIRST, params()),
        Step::any(&WAKE_AGAIN, params()),
    ]
}

/// Lets every paused delivery of a business look at its target again now: for an op that changed
/// a webhook URL. Pauses stay; a URL that is still paused puts its deliveries aside again.
pub fn wake_paused(business_id: i64, now: Timestamp) -> [Step; 2] {
    let params = || vec![business_id.into(), Value::Null, now.into()];
    [Step::any(&WAKE_FIRST, params()), Step::any(&WAKE_AGAIN, params())]
}

/// Starts a delivery's schedule anew at once; a running attempt can no longer write its result.
pub fn resend(job_id: i64, now: Timestamp) -> Step {
    Step::one(&RESEND, vec![job_id.into(), now.into()])
}

/// The same if it is still failed; two bulk resends at once send each delivery once.
pub fn resend_failed(job_id: i64, now: Timestamp) -> Step {
    Step::any(&RESEND_FAILED, vec![job_id.into(), now.into()])
}

/// Adds to the log of attempts.
pub fn record_attempt(attempt: &Attempt) -> Step {
    Step::insert(ATTEMPT {
        id: attempt.id.into(),
        job_id: attempt.job_id.into(),
        r#try: attempt.number.into(),
        url: attempt.url.as_ref().into(),
        status: attempt.status.into(),
        error: attempt.error.as_ref().into(),
        answer: attempt.answer.as_ref().into(),
        duration_ms: attempt.duration_ms.into(),
        attempted_at: attempt.at.into(),
    })
}

impl Store {
    /// One delivery with its attempts.
    pub async fn delivery(&self, id: i64) -> Result<Option<Delivery>, StoreError> {
        let rows = self.read(&DELIVERY_BY_ID, vec![id.into()]).await?;
        Ok(self.with_attempts(rows).await?.pop())
    }

    /// The delivery of an event, with its attempts.
    pub async fn delivery_of_event(&self, event_id: i64) -> Result<Option<Delivery>, StoreError> {
        let rows = self.read(&DELIVERY_OF_EVENT, vec![event_id.into()]).await?;
        Ok(self.with_attempts(rows).await?.pop())
    }

    /// Deliveries, newest first by the time of their events, at most `limit`, with their attempts.
    pub async fn deliveries(&self, failed_only: bool, limit: i64) -> Result<Vec<Delivery>, StoreError> {
        if failed_only {
            return self.failed_deliveries(None, Timestamp::MIN, limit).await;
        }
        self.deliveries_found(None, None, (Timestamp::MIN, Timestamp::MAX), limit).await
    }

    /// Those that failed for good, made since then, newest first, with their attempts.
    pub async fn failed_deliveries(
        &self,
        business_id: Option<i64>,
        since: Timestamp,
        limit: i64,
    ) -> Result<Vec<Delivery>, StoreError> {
        let params = vec![limit.into(), since.into(), business_id.unwrap_or(0).into()];
        let rows = self.read(&DELIVERIES_FAILED, params).await?;
        self.with_attempts(rows).await
    }

    /// Deliveries whose events were made in a time (its end excluded) and that fit, newest first, with their attempts.
    pub async fn deliveries_found(
        &self,
        business_id: Option<i64>,
        status: Option<DeliveryStatus>,
        (from, until): (Timestamp, Timestamp),
        limit: i64,
    ) -> Result<Vec<Delivery>, StoreError> {
        let params = vec![
            from.into(),
            until.into(),
            business_id.unwrap_or(0).into(),
            status.map_or("", DeliveryStatus::as_str).into(),
            limit.into(),
        ];
        let rows = self.read(&DELIVERIES_FOUND, params).await?;
        self.with_attempts(rows).await
    }

    /// Where the newest `rows` events of a time end; `None` when there are no more than these.
    pub async fn event_slice_end(
        &self,
        (from, until): (Timestamp, Timestamp),
        rows: usize,
    ) -> Result<Option<Timestamp>, StoreError> {
        let params = vec![from.into(), until.into(), (rows as i64).into()];
        match self.read_one(&EVENT_SLICE_END, params).await? {
            Some(row) => row.reader("events").time("created_at").map(Some),
            None => Ok(None),
        }
    }

    /// All deliveries about a payment, with their attempts.
    pub async fn deliveries_of_payment(&self, payment_id: i64) -> Result<Vec<Delivery>, StoreError> {
        let rows = self.read(&DELIVERIES_OF_PAYMENT, vec![payment_id.into()]).await?;
        self.with_attempts(rows).await
    }

    /// Deliveries that failed for good since then, that still hold and are no test events, with
    /// ids over `after`, oldest first, at most `limit`; without their attempts.
    pub async fn failed_deliveries_since(
        &self,
        since: Timestamp,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Delivery>, StoreError> {
        let rows = self.read(&FAILED_SINCE, vec![since.into(), after.into(), limit.into()]).await?;
        rows.into_iter().map(delivery).collect()
    }

    /// Forgets attempts made before a time whose deliveries are over, at most [`FORGET_BATCH`], and answers how
    /// many those were.
    pub async fn forget_attempts(&self, before: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET_ATTEMPTS, vec![before.into()]).await?.into_rows().len())
    }

    /// Businesses and URLs of paused targets for which deliveries wait, at most 10,000.
    pub async fn targets_waited_for(&self) -> Result<Vec<(i64, String)>, StoreError> {
        let rows = self.read(&PUT_ASIDE, Vec::new()).await?;
        let target = |row: Row| {
            let mut reader = row.reader("jobs");
            Ok((reader.int("business_id")?, reader.text("note")?))
        };
        rows.into_iter().map(target).collect()
    }

    /// Targets that answered 410 and wait for a person, oldest first, at most 10,000.
    pub async fn paused_targets(&self) -> Result<Vec<PausedTarget>, StoreError> {
        let rows = self.read(&PAUSED_TARGETS, Vec::new()).await?;
        let paused = |row: Row| {
            let mut reader = row.reader("paused_targets");
            Ok(PausedTarget {
                business_id: reader.int("business_id")?,
                url: reader.text("url")?,
                paused_at: reader.time("paused_at")?,
            })
        };
        rows.into_iter().map(paused).collect()
    }

    async fn with_attempts(&self, rows: Vec<Row>) -> Result<Vec<Delivery>, StoreError> {
        let mut all = rows.into_iter().map(delivery).collect::<Result<Vec<_>, _>>()?;
        for some in all.chunks_mut(ATTEMPTS_BATCH) {
            let mut ids: Vec<Value> = some.iter().map(|one| one.id.into()).collect();
            ids.resize(ATTEMPTS_BATCH, 0.into());
            for row in self.read(&ATTEMPTS_OF, ids).await? {
                let attempt = attempt(row)?;
                if let Some(one) = some.iter_mut().find(|one| one.id == attempt.job_id) {
                    one.attempts.push(attempt);
                }
            }
            some.iter_mut().for_each(|one| one.attempts.sort_by_key(|attempt| (attempt.at, attempt.id)));
        }
        Ok(all)
    }
}

fn attempt(row: Row) -> Result<Attempt, StoreError> {
    let mut reader = row.reader("attempts");
    Ok(Attempt {
        id: reader.int("id")?,
        job_id: reader.int("job_id")?,
        number: reader.int("try")?,
        url: reader.opt_text("url")?,
        status: reader.opt_int("status")?,
        error: reader.opt_text("error")?,
        answer: reader.opt_text("answer")?,
        duration_ms: reader.int("duration_ms")?,
        at: reader.time("attempted_at")?,
    })
}

fn delivery(row: Row) -> Result<Delivery, StoreError> {
    let mut reader = row.reader("jobs");
    let (id, business_id, event_id) =
        (reader.int("id")?, reader.int("business_id")?, reader.int("subject_id")?);
    let run_at = reader.time("run_at")?;
    let is_held = reader.opt_time("held_until_at")? == Some(run_at);
    let mut delivery = Delivery {
        id,
        business_id,
        event_id,
        run_at,
        is_held,
        attempt: reader.int("attempt")?,
        tries: reader.int("tries")?,
        created_at: reader.time("created_at")?,
        done_at: reader.opt_time("done_at")?,
        outcome: reader.opt_text("outcome")?,
        note: reader.opt_text("note")?,
        event: reader.text("kind")?,
        webhook_id: reader.text("webhook_id")?,
        payment_id: reader.opt_int("payment_id")?,
        transaction_id: reader.opt_text("transaction_id")?,
        reversed_at: reader.opt_time("reversed_at")?,
        payment_status: reader.opt_word("payment_status", Status::parse)?,
        is_reduced: reader.opt_time("reduced_at")?.is_some(),
        paused_at: None,
        attempts: Vec::new(),
    };
    // The note of any other may be the URL of a paused target by chance.
    let paused_at = reader.opt_time("paused_at")?;
    delivery.paused_at = paused_at.filter(|_| delivery.outcome.as_deref() == Some("paused"));
    Ok(delivery)
}
