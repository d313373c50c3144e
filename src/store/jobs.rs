//! Jobs: the outbox is the queue. What is to be done later is a row written in the Unit of the
//! fact it follows from.
//!
//! `run_at` is schedule, back-off and lease at once: claiming moves it past the lease, so a dead
//! worker's job becomes due by itself. `attempt` is the fence: every claim and every resend raises
//! it, and a result is written only under the number it was claimed with. `tries` counts real
//! deliveries since the last resend and is the position in the retry schedule. First tries
//! (`tries = 0`) and later ones are claimed by statements of their own, each with its own index,
//! so that 50,000 old retries never stand before news. Used by ops (enqueue) and work.

use super::sql::{Sql, statements};
use super::unit::{Applied, Step, Unit};
use super::value::{Row, Value};
use super::{Store, StoreError};
use crate::domain::time::{Span, Timestamp};

/// Jobs one claim takes. The statements hold the same number as a literal: PostgreSQL plans a
/// parameter there as a tenth of the table and would read all of it.
pub const CLAIM_BATCH: usize = 64;
/// Open jobs that are counted for the metrics; a longer queue is shown as this long.
pub const COUNT_MAX: i64 = 100_000;
/// Rows one call of the list answers.
pub const LIST_MAX: i64 = 1_000;
/// Jobs whose attempts are read at once; the statement has as many places.
const ATTEMPTS_BATCH: usize = 16;

macro_rules! claimed {
    () => {
        " returning id, kind, business_id, subject_id, attempt, tries, run_at, created_at, outcome, note"
    };
}
macro_rules! claim {
    ($lane:literal) => {
        concat!(
            "with due as materialized (select id from jobs where kind = $1 and done_at is null and ",
            $lane,
            " and run_at <= $2 order by run_at limit 64 {skip_locked}) \
             update jobs set run_at = $3, attempt = attempt + 1 where id in (select id from due)",
            claimed!()
        )
    };
}
macro_rules! depth {
    ($lane:literal) => {
        concat!(
            "select count(*), min(run_at) from (select run_at from jobs where kind = $1 and \
             done_at is null and ",
            $lane,
            " order by run_at limit $2) waiting"
        )
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
        "select j.id, j.business_id, j.subject_id, j.run_at, j.attempt, j.tries, j.created_at, j.done_at, \
         j.outcome, j.note, e.kind, e.webhook_id, e.payment_id, p.transaction_id, p.reversed_at \
         from jobs j join events e on e.id = j.subject_id left join payments p on p.id = e.payment_id "
    };
}

statements! {
    ENQUEUE: insert(jobs) {
        id: Int, kind: Text, business_id: Int, subject_id: Int, run_at: Int, attempt: Int, tries: Int, created_at: Int
    }
    CLAIM_FIRST: query { claim!("tries = 0") }
    CLAIM_AGAIN: query { claim!("tries > 0") }
    DUE_FIRST: query { "select id from jobs where kind = $1 and done_at is null and tries = 0 and run_at <= $2 limit 1" }
    DUE_AGAIN: query { "select id from jobs where kind = $1 and done_at is null and tries > 0 and run_at <= $2 limit 1" }
    FINISH: query {
        "update jobs set done_at = $3, outcome = $4, note = $5, tries = tries + 1 \
         where id = $1 and attempt = $2 and done_at is null"
    }
    FINISH_BY_SUBJECT: query {
        "update jobs set done_at = $3, outcome = $4 where subject_id = $1 and kind = $2 and done_at is null"
    }
    RETRY: query {
        "update jobs set run_at = $3, note = $4, outcome = null, tries = tries + 1 \
         where id = $1 and attempt = $2 and done_at is null"
    }
    DEFER: query {
        "update jobs set run_at = $3, outcome = null where id = $1 and attempt = $2 and done_at is null"
    }
    PAUSE: query {
        "update jobs set run_at = $3, outcome = 'paused', note = $4, tries = tries + $5 \
         where id = $1 and attempt = $2 and done_at is null"
    }
    WAKE_FIRST: query { wake!("tries = 0") }
    WAKE_AGAIN: query { wake!("tries > 0") }
    RESEND: query {
        "update jobs set attempt = attempt + 1, tries = 0, run_at = $2, done_at = null, outcome = null, note = null \
         where id = $1 and kind = 'deliver'"
    }
    RESEND_FAILED: query {
        "update jobs set attempt = attempt + 1, tries = 0, run_at = $2, done_at = null, outcome = null, note = null \
         where id = $1 and kind = 'deliver' and outcome = 'failed'"
    }
    ATTEMPT: insert(attempts) {
        id: Int, job_id: Int, try: Int, url: Text, status: Int, error: Text, answer: Text, duration_ms: Int, attempted_at: Int
    }
    ATTEMPTS_OF: query {
        "select id, job_id, try, url, status, error, answer, duration_ms, attempted_at from attempts \
         where job_id in ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         order by attempted_at, id"
    }
    DEPTH_FIRST: query { depth!("tries = 0") }
    DEPTH_AGAIN: query { depth!("tries > 0") }
    DELIVERY_BY_ID: query { concat!(delivery!(), "where j.id = $1 and j.kind = 'deliver'") }
    DELIVERIES: query {
        concat!(delivery!(), "where j.kind = 'deliver' and j.id < $1 order by j.id desc limit $2")
    }
    DELIVERIES_FAILED: query {
        concat!(delivery!(), "where j.kind = 'deliver' and j.outcome = 'failed' and j.id < $1 order by j.id desc limit $2")
    }
    DELIVERIES_OF_PAYMENT: query {
        concat!(delivery!(), "where j.kind = 'deliver' and e.payment_id = $1 order by j.id")
    }
    FAILED_SINCE: query {
        concat!(
            delivery!(),
            "where j.kind = 'deliver' and j.outcome = 'failed' and j.done_at >= $1 and p.reversed_at is null \
             and j.id > $2 order by j.id limit $3"
        )
    }
    PAUSE_TARGET: query {
        "insert into paused_targets (business_id, url, paused_at) values ($1, $2, $3) \
         on conflict (business_id, url) do nothing"
    }
    RESUME_TARGET: query { "delete from paused_targets where business_id = $1 and url = $2" }
    PAUSED_TARGETS: query {
        "select business_id, url, paused_at from paused_targets order by paused_at limit 10000"
    }
}

/// What a job is about; `subject_id` is the row named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// Send an event's webhook: an id of `events`.
    Deliver,
    /// Decide an alert: an id of `alerts`.
    Decide,
    /// Look at waiting alerts again after a correction: an id of `payments`.
    Rematch,
}

impl JobKind {
    pub const ALL: [JobKind; 3] = [JobKind::Deliver, JobKind::Decide, JobKind::Rematch];

    pub fn as_str(self) -> &'static str {
        match self {
            JobKind::Deliver => "deliver",
            JobKind::Decide => "decide",
            JobKind::Rematch => "rematch",
        }
    }

    pub fn parse(word: &str) -> Option<JobKind> {
        JobKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Which of the two queues of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Never delivered yet.
    First,
    /// Retries.
    Again,
}

/// A claimed job; `attempt` is what its result must be written under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: i64,
    pub kind: JobKind,
    pub business_id: i64,
    pub subject_id: i64,
    pub attempt: i64,
    /// Deliveries made since the last resend, this one not counted.
    pub tries: i64,
    /// End of the lease.
    pub run_at: Timestamp,
    pub created_at: Timestamp,
    /// Was put aside because its target is paused.
    pub was_paused: bool,
}

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
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub answer: Option<String>,
    pub duration_ms: i64,
    pub at: Timestamp,
}

/// A webhook delivery as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What `webhook resend` takes.
    pub id: i64,
    pub business_id: i64,
    pub event_id: i64,
    pub run_at: Timestamp,
    pub attempt: i64,
    pub tries: i64,
    pub created_at: Timestamp,
    pub done_at: Option<Timestamp>,
    /// `delivered`, `failed`, `paused`, or `None` while it waits for its next attempt.
    pub outcome: Option<String>,
    /// The last error, or the paused target.
    pub note: Option<String>,
    pub event: String,
    pub webhook_id: String,
    pub payment_id: Option<i64>,
    pub transaction_id: Option<String>,
    pub reversed_at: Option<Timestamp>,
    /// Oldest first; those before a resend included.
    pub attempts: Vec<Attempt>,
}

/// How long a queue is, and since when its oldest due job waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    pub kind: JobKind,
    pub lane: Lane,
    /// At most [`COUNT_MAX`].
    pub count: i64,
    pub oldest_run_at: Option<Timestamp>,
}

/// A target that answered 410.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedTarget {
    pub business_id: i64,
    pub url: String,
    pub paused_at: Timestamp,
}

/// A job to be done from `run_at` on. `business_id` is 0 where no business is known yet.
pub fn enqueue(
    id: i64,
    kind: JobKind,
    business_id: i64,
    subject_id: i64,
    run_at: Timestamp,
    now: Timestamp,
) -> Step {
    Step::one(
        &ENQUEUE,
        vec![
            id.into(),
            kind.as_str().into(),
            business_id.into(),
            subject_id.into(),
            run_at.into(),
            0.into(),
            0.into(),
            now.into(),
        ],
    )
}

/// Ends the open jobs of a subject, whoever runs them: for an op that did their work itself.
pub fn finish_by_subject(kind: JobKind, subject_id: i64, outcome: &str, now: Timestamp) -> Step {
    Step::any(&FINISH_BY_SUBJECT, vec![subject_id.into(), kind.as_str().into(), now.into(), outcome.into()])
}

/// Ends a claimed job; lost if it was resent or claimed anew meanwhile.
pub fn finish(job: &Job, outcome: &str, note: Option<&str>, now: Timestamp) -> Step {
    Step::one(&FINISH, vec![job.id.into(), job.attempt.into(), now.into(), outcome.into(), note.into()])
}

/// Counts the try and makes the job due again at `at`.
pub fn retry(job: &Job, at: Timestamp, why: &str) -> Step {
    Step::one(&RETRY, vec![job.id.into(), job.attempt.into(), at.into(), why.into()])
}

/// Puts a claimed job back untried; `at` may be now.
pub fn defer(job: &Job, at: Timestamp) -> Step {
    Step::one(&DEFER, vec![job.id.into(), job.attempt.into(), at.into()])
}

/// Puts a delivery aside because its target `url` is paused; it looks again at `at`. `tried` says
/// whether a delivery was made just now.
pub fn pause(job: &Job, url: &str, tried: bool, at: Timestamp) -> Step {
    let tries = Value::Int(i64::from(tried));
    Step::one(&PAUSE, vec![job.id.into(), job.attempt.into(), at.into(), url.into(), tries])
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
    Step::one(
        &ATTEMPT,
        vec![
            attempt.id.into(),
            attempt.job_id.into(),
            attempt.number.into(),
            attempt.url.as_ref().into(),
            attempt.status.into(),
            attempt.error.as_ref().into(),
            attempt.answer.as_ref().into(),
            attempt.duration_ms.into(),
            attempt.at.into(),
        ],
    )
}

impl Lane {
    fn claim(self) -> &'static Sql {
        match self {
            Lane::First => &CLAIM_FIRST,
            Lane::Again => &CLAIM_AGAIN,
        }
    }

    fn due(self) -> &'static Sql {
        match self {
            Lane::First => &DUE_FIRST,
            Lane::Again => &DUE_AGAIN,
        }
    }

    fn depth(self) -> &'static Sql {
        match self {
            Lane::First => &DEPTH_FIRST,
            Lane::Again => &DEPTH_AGAIN,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Lane::First => "first",
            Lane::Again => "again",
        }
    }
}

impl Store {
    /// Whether a job of this kind and lane is due: cheap, writes nothing.
    pub async fn job_is_due(&self, kind: JobKind, lane: Lane, now: Timestamp) -> Result<bool, StoreError> {
        let row = self.read_one(lane.due(), vec![kind.as_str().into(), now.into()]).await?;
        Ok(row.is_some())
    }

    /// Takes up to [`CLAIM_BATCH`] due jobs, oldest first, and holds them until `now + lease`.
    /// A claim that is sent twice after a broken connection takes others; the first ones come back
    /// when their lease ends.
    pub async fn claim_jobs(
        &self,
        kind: JobKind,
        lane: Lane,
        now: Timestamp,
        lease: Span,
    ) -> Result<Vec<Job>, StoreError> {
        let params = vec![kind.as_str().into(), now.into(), (now + lease).into()];
        let unit = Unit::new(0, kind as i64).step(Step::returning(lane.claim(), params));
        self.apply(unit).await?.into_rows().into_iter().map(job).collect()
    }

    /// Applies what a claimed job came to. `false`: it was resent or claimed anew, and nothing was
    /// written. Needs no memory of itself: a second sending finds the job ended and changes nothing.
    pub async fn conclude_job(
        &self,
        job: &Job,
        steps: impl IntoIterator<Item = Step>,
    ) -> Result<bool, StoreError> {
        let unit = Unit::new(0, job.business_id).steps(steps);
        match self.apply(unit).await? {
            Applied::Done(_) => Ok(true),
            Applied::Lost { .. } => Ok(false),
            Applied::Refused { statement } => Err(StoreError::Fault(format!("{statement} was refused"))),
        }
    }

    /// Length and age of every queue.
    pub async fn job_depths(&self) -> Result<Vec<Depth>, StoreError> {
        let mut all = Vec::with_capacity(2 * JobKind::ALL.len());
        for kind in JobKind::ALL {
            for lane in [Lane::First, Lane::Again] {
                let params = vec![kind.as_str().into(), COUNT_MAX.into()];
                let Some(row) = self.read_one(lane.depth(), params).await? else { continue };
                let mut reader = row.reader("jobs");
                let count = reader.int("count")?;
                all.push(Depth { kind, lane, count, oldest_run_at: reader.opt_time("run_at")? });
            }
        }
        Ok(all)
    }

    /// One delivery with its attempts.
    pub async fn delivery(&self, id: i64) -> Result<Option<Delivery>, StoreError> {
        let rows = self.read(&DELIVERY_BY_ID, vec![id.into()]).await?;
        Ok(self.with_attempts(rows).await?.pop())
    }

    /// Deliveries with ids under `before` (`i64::MAX` to begin), newest first, at most
    /// [`LIST_MAX`], with their attempts.
    pub async fn deliveries(&self, failed_only: bool, before: i64) -> Result<Vec<Delivery>, StoreError> {
        let sql = if failed_only { &DELIVERIES_FAILED } else { &DELIVERIES };
        let rows = self.read(sql, vec![before.into(), LIST_MAX.into()]).await?;
        self.with_attempts(rows).await
    }

    /// All deliveries about a payment, with their attempts.
    pub async fn deliveries_of_payment(&self, payment_id: i64) -> Result<Vec<Delivery>, StoreError> {
        let rows = self.read(&DELIVERIES_OF_PAYMENT, vec![payment_id.into()]).await?;
        self.with_attempts(rows).await
    }

    /// Deliveries that failed for good since then, of payments that were not reversed, with ids over
    /// `after`, oldest first, at most `limit`; without their attempts.
    pub async fn failed_deliveries_since(
        &self,
        since: Timestamp,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Delivery>, StoreError> {
        let rows = self.read(&FAILED_SINCE, vec![since.into(), after.into(), limit.into()]).await?;
        rows.into_iter().map(delivery).collect()
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
        }
        Ok(all)
    }
}

fn job(row: Row) -> Result<Job, StoreError> {
    let mut reader = row.reader("jobs");
    Ok(Job {
        id: reader.int("id")?,
        kind: reader.word("kind", JobKind::parse)?,
        business_id: reader.int("business_id")?,
        subject_id: reader.int("subject_id")?,
        attempt: reader.int("attempt")?,
        tries: reader.int("tries")?,
        run_at: reader.time("run_at")?,
        created_at: reader.time("created_at")?,
        was_paused: reader.opt_text("outcome")?.is_some(),
    })
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
    Ok(Delivery {
        id: reader.int("id")?,
        business_id: reader.int("business_id")?,
        event_id: reader.int("subject_id")?,
        run_at: reader.time("run_at")?,
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
        attempts: Vec::new(),
    })
}
