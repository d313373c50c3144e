//! Jobs: the outbox is the queue. What is to be done later is a row written in the Unit of the
//! fact it follows from.
//!
//! `run_at` is schedule, back-off and lease at once: claiming moves it past the lease, so a dead worker's job
//! becomes due by itself; `held_until_at` is as claiming left it and tells people a lease from a schedule.
//! `attempt` is the fence: every claim and every resend raises it, and a result is written only under the
//! number it was claimed with. `tries` counts real deliveries since the last resend and is the position in the
//! retry schedule. First tries (`tries = 0`) and later ones are claimed by statements of their own, each with
//! its own index, so that 50,000 old retries never stand before news. Used by ops (enqueue) and work.

use crate::domain::merchant::Mode;
use crate::domain::time::{Span, Timestamp};
use crate::store::engine::sql::{Sql, statements};
use crate::store::engine::unit::{Applied, Step, Unit};
use crate::store::engine::value::{Row, Value};
use crate::store::{Store, StoreError};

/// Jobs one claim takes. The statements hold the same number as a literal: PostgreSQL plans a
/// parameter there as a tenth of the table and would read all of it.
pub const CLAIM_BATCH: usize = 64;
/// Finished jobs forgotten in one Unit; the statement holds the same number as a literal.
pub const FORGET_BATCH: usize = 500;
/// Open jobs that are counted for the metrics; a longer queue is shown as this long.
pub const COUNT_MAX: i64 = 100_000;

macro_rules! claimed {
    () => {
        " returning id, kind, business_id, subject_id, is_test, attempt, tries, run_at, created_at, outcome, note"
    };
}
macro_rules! claim {
    ($queue:literal) => {
        concat!(
            "with due as materialized (select id from jobs where kind = $1 and done_at is null and ",
            $queue,
            " and run_at <= $2 and not exists (select 1 from holds where holds.kind = $1) order by run_at limit 64 {skip_locked}) \
             update jobs set run_at = $3, held_until_at = $3, attempt = attempt + 1 where id in (select id from due)",
            claimed!()
        )
    };
}
macro_rules! due {
    ($kind:literal, $queue:literal, $tries:literal) => {
        concat!(
            "select '", $kind, "' as kind, '", $queue, "' as queue where exists (select 1 from jobs where kind = '", $kind,
            "' and done_at is null and tries ", $tries, " and run_at <= $1 limit 1) \
             and not exists (select 1 from holds where holds.kind = '", $kind, "')"
        )
    };
    ($first:literal $(, $kind:literal)*) => {
        concat!(
            due!($first, "first", "= 0"), " union all ", due!($first, "again", "> 0")
            $(, " union all ", due!($kind, "first", "= 0"), " union all ", due!($kind, "again", "> 0"))*
        )
    };
}
macro_rules! depth {
    ($queue:literal) => {
        concat!(
            "select count(*) as count, min(run_at) as run_at from (select run_at from jobs where kind = $1 and \
             done_at is null and ",
            $queue,
            " order by run_at limit $2) waiting"
        )
    };
}
statements! {
    ENQUEUE: insert(jobs) {
        id: Int, kind: Text, business_id: Int, subject_id: Int, is_test: Int, run_at: Int, attempt: Int, tries: Int, created_at: Int,
        held_until_at: Int
    }
    CLAIM_FIRST: query { claim!("tries = 0") }
    CLAIM_AGAIN: query { claim!("tries > 0") }
    DUE: query { due!("deliver", "decide", "rematch", "place", "verify", "message", "notify", "mail") }
    FINISH: query {
        "update jobs set done_at = $3, outcome = $4, note = $5, tries = tries + 1 \
         where id = $1 and attempt = $2 and done_at is null"
    }
    DROP: query {
        "update jobs set done_at = $3, outcome = $4, note = $5 where id = $1 and attempt = $2 and done_at is null"
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
    // Said of the row itself too: it may have been taken up again meanwhile.
    FORGET_FINISHED: query {
        "delete from jobs where done_at < $1 and kind <> 'deliver' and id in \
         (select id from jobs where done_at < $1 and kind <> 'deliver' order by done_at limit 500) returning id"
    }
    DEPTH_FIRST: query { depth!("tries = 0") }
    DEPTH_AGAIN: query { depth!("tries > 0") }
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
    /// Place alerts that wait on an account that was added: an id of `receiving_accounts`.
    Place,
    /// Ask again for the key that could prove a mail: an id of `alerts`.
    Verify,
    /// Send a message to a customer: an id of `messages`.
    Message,
    /// Post an alarm to the operator's own webhook: an id of `notices`.
    Notify,
    /// Send a mail to somebody who signs in: an id of `outgoing_mails`.
    Mail,
}

impl JobKind {
    pub const ALL: [JobKind; 8] = [
        JobKind::Deliver,
        JobKind::Decide,
        JobKind::Rematch,
        JobKind::Place,
        JobKind::Verify,
        JobKind::Message,
        JobKind::Notify,
        JobKind::Mail,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            JobKind::Deliver => "deliver",
            JobKind::Decide => "decide",
            JobKind::Rematch => "rematch",
            JobKind::Place => "place",
            JobKind::Verify => "verify",
            JobKind::Message => "message",
            JobKind::Notify => "notify",
            JobKind::Mail => "mail",
        }
    }

    pub fn parse(word: &str) -> Option<JobKind> {
        JobKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Which of the two queues of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Never delivered yet.
    Fresh,
    /// Retries.
    Retry,
}

/// A claimed job; `attempt` is what its result must be written under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: i64,
    pub kind: JobKind,
    pub business_id: i64,
    pub subject_id: i64,
    /// A delivery of test mode.
    pub is_test: bool,
    pub attempt: i64,
    /// Deliveries made since the last resend, this one not counted.
    pub tries: i64,
    /// End of the lease.
    pub run_at: Timestamp,
    pub created_at: Timestamp,
    /// Was put aside because its target is paused.
    pub was_paused: bool,
}

/// How long a queue is, and since when its oldest due job waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    pub kind: JobKind,
    pub queue: Queue,
    /// At most [`COUNT_MAX`].
    pub count: i64,
    pub oldest_run_at: Option<Timestamp>,
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
    added(&waiting(id, kind, (business_id, subject_id), run_at, now))
}

/// The delivery of an event, due at once.
pub fn enqueue_delivery(id: i64, mode: Mode, business_id: i64, event_id: i64, now: Timestamp) -> Step {
    let job = waiting(id, JobKind::Deliver, (business_id, event_id), now, now);
    added(&Job { is_test: mode == Mode::Test, ..job })
}

fn waiting(
    id: i64,
    kind: JobKind,
    (business_id, subject_id): (i64, i64),
    run_at: Timestamp,
    now: Timestamp,
) -> Job {
    Job {
        id,
        kind,
        business_id,
        subject_id,
        is_test: false,
        attempt: 0,
        tries: 0,
        run_at,
        created_at: now,
        was_paused: false,
    }
}

/// A job that this process does at once: claimed from its beginning, due for others when `held_until`
/// is over. Answers it with the step that writes it.
pub fn enqueue_held(
    id: i64,
    kind: JobKind,
    business_id: i64,
    subject_id: i64,
    held_until: Timestamp,
    now: Timestamp,
) -> (Job, Step) {
    let job = Job {
        id,
        kind,
        business_id,
        subject_id,
        is_test: false,
        attempt: 1,
        tries: 0,
        run_at: held_until,
        created_at: now,
        was_paused: false,
    };
    let step = added(&job);
    (job, step)
}

fn added(job: &Job) -> Step {
    Step::insert(ENQUEUE {
        id: job.id.into(),
        kind: job.kind.as_str().into(),
        business_id: job.business_id.into(),
        subject_id: job.subject_id.into(),
        is_test: i64::from(job.is_test).into(),
        run_at: job.run_at.into(),
        attempt: job.attempt.into(),
        tries: job.tries.into(),
        created_at: job.created_at.into(),
        held_until_at: (job.attempt > 0).then_some(job.run_at).into(),
    })
}

/// Ends the open jobs of a subject, whoever runs them: for an op that did their work itself.
pub fn finish_by_subject(kind: JobKind, subject_id: i64, outcome: &str, now: Timestamp) -> Step {
    Step::any(&FINISH_BY_SUBJECT, vec![subject_id.into(), kind.as_str().into(), now.into(), outcome.into()])
}

/// Ends a claimed job; lost if it was resent or claimed anew meanwhile.
pub fn finish(job: &Job, outcome: &str, note: Option<&str>, now: Timestamp) -> Step {
    Step::one(&FINISH, vec![job.id.into(), job.attempt.into(), now.into(), outcome.into(), note.into()])
}

/// Ends a claimed job that is not to be done any more; no try is counted.
pub fn drop_untried(job: &Job, outcome: &str, note: &str, now: Timestamp) -> Step {
    Step::one(&DROP, vec![job.id.into(), job.attempt.into(), now.into(), outcome.into(), note.into()])
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

impl Queue {
    pub const BOTH: [Queue; 2] = [Queue::Fresh, Queue::Retry];

    fn claim(self) -> &'static Sql {
        match self {
            Queue::Fresh => &CLAIM_FIRST,
            Queue::Retry => &CLAIM_AGAIN,
        }
    }

    fn depth(self) -> &'static Sql {
        match self {
            Queue::Fresh => &DEPTH_FIRST,
            Queue::Retry => &DEPTH_AGAIN,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Queue::Fresh => "first",
            Queue::Retry => "again",
        }
    }

    fn parse(word: &str) -> Option<Queue> {
        Queue::BOTH.into_iter().find(|queue| queue.as_str() == word)
    }
}

impl Store {
    /// Queues in which a job is due, of kinds that are not held: cheap, writes nothing.
    pub async fn due_jobs(&self, now: Timestamp) -> Result<Vec<(JobKind, Queue)>, StoreError> {
        let due = |row: Row| {
            let mut reader = row.reader("jobs");
            Ok((reader.word("kind", JobKind::parse)?, reader.word("queue", Queue::parse)?))
        };
        self.read(&DUE, vec![now.into()]).await?.into_iter().map(due).collect()
    }

    /// Takes up to [`CLAIM_BATCH`] due jobs, oldest first, and holds them until `now + lease`.
    /// A claim that is sent twice after a broken connection takes others; the first ones come back
    /// when their lease ends.
    pub async fn claim_jobs(
        &self,
        kind: JobKind,
        queue: Queue,
        now: Timestamp,
        lease: Span,
    ) -> Result<Vec<Job>, StoreError> {
        let params = vec![kind.as_str().into(), now.into(), (now + lease).into()];
        let unit = Unit::new(0, kind as i64).step(Step::returning(queue.claim(), params));
        self.apply(unit).await?.into_rows().into_iter().map(decode).collect()
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
            Applied::Conflict { .. } => Ok(false),
            Applied::ConstraintViolation { statement } => {
                Err(StoreError::Fault(format!("{statement} was refused")))
            }
        }
    }

    /// Forgets jobs other than deliveries that were finished before a time, at most [`FORGET_BATCH`], and answers
    /// how many those were.
    pub async fn forget_finished_jobs(&self, before: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET_FINISHED, vec![before.into()]).await?.into_rows().len())
    }

    /// Length and age of every queue.
    pub async fn job_depths(&self) -> Result<Vec<Depth>, StoreError> {
        let mut all = Vec::with_capacity(2 * JobKind::ALL.len());
        for kind in JobKind::ALL {
            for queue in [Queue::Fresh, Queue::Retry] {
                let params = vec![kind.as_str().into(), COUNT_MAX.into()];
                let Some(row) = self.read_one(queue.depth(), params).await? else { continue };
                let mut reader = row.reader("jobs");
                let count = reader.int("count")?;
                all.push(Depth { kind, queue, count, oldest_run_at: reader.opt_time("run_at")? });
            }
        }
        Ok(all)
    }
}

pub(in crate::store) fn decode(row: Row) -> Result<Job, StoreError> {
    let mut reader = row.reader("jobs");
    Ok(Job {
        id: reader.int("id")?,
        kind: reader.word("kind", JobKind::parse)?,
        business_id: reader.int("business_id")?,
        subject_id: reader.int("subject_id")?,
        is_test: reader.flag("is_test")?,
        attempt: reader.int("attempt")?,
        tries: reader.int("tries")?,
        run_at: reader.time("run_at")?,
        created_at: reader.time("created_at")?,
        was_paused: reader.opt_text("outcome")?.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::sql::Dialect;

    #[test]
    fn every_kind_is_looked_for_in_both_queues() {
        let text = DUE.render(Dialect::Sqlite);
        for kind in JobKind::ALL {
            for queue in Queue::BOTH {
                let look = format!("select '{}' as kind, '{}' as queue", kind.as_str(), queue.as_str());
                assert_eq!(text.matches(&look).count(), 1, "{look}");
            }
        }
    }
}
