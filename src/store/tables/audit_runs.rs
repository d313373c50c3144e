//! Audits that people had run: who, when, how far one is, and what it came to. Written and read by `ops::ledger`.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

statements! {
    BEGIN: query {
        "insert into audit_runs (id, operator, started_at, beat_at, steps, steps_done, checks) \
         select cast($1 as bigint), cast($2 as text), cast($3 as bigint), cast($3 as bigint), cast($4 as bigint), 0, '' where not exists \
         (select 1 from audit_runs where finished_at is null and beat_at > cast($5 as bigint))"
    }
    BEAT: query { "update audit_runs set beat_at = $2, steps_done = $3 where id = $1 and finished_at is null" }
    FINISH: query {
        "update audit_runs set beat_at = $2, finished_at = $2, steps_done = $3, violations = $4, checks = $5, \
         trouble = $6 where id = $1 and finished_at is null"
    }
    NEWEST: query {
        "select id, operator, started_at, beat_at, finished_at, steps, steps_done, violations, checks, trouble \
         from audit_runs order by id desc limit $1"
    }
}

/// One audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRun {
    pub id: i64,
    pub operator: String,
    pub started_at: Timestamp,
    /// The last sign of life while it runs.
    pub beat_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub steps: i64,
    pub steps_done: i64,
    /// `None` before its end.
    pub violations: Option<i64>,
    /// As JSON; empty before its end.
    pub checks: String,
    /// Why it ended without an answer.
    pub trouble: Option<String>,
}

fn decode(row: Row) -> Result<AuditRun, StoreError> {
    let mut r = row.reader("audit_runs");
    Ok(AuditRun {
        id: r.int("id")?,
        operator: r.text("operator")?,
        started_at: r.time("started_at")?,
        beat_at: r.time("beat_at")?,
        finished_at: r.opt_time("finished_at")?,
        steps: r.int("steps")?,
        steps_done: r.int("steps_done")?,
        violations: r.opt_int("violations")?,
        checks: r.text("checks")?,
        trouble: r.opt_text("trouble")?,
    })
}

/// A run that begins now, unless another one has shown a sign of life since `alive_since`.
pub fn begin(id: i64, operator: &str, steps: i64, now: Timestamp, alive_since: Timestamp) -> Step {
    Step::one(&BEGIN, vec![id.into(), operator.into(), now.into(), steps.into(), alive_since.into()])
}

/// It goes on.
pub fn beat(id: i64, now: Timestamp, steps_done: i64) -> Step {
    Step::any(&BEAT, vec![id.into(), now.into(), steps_done.into()])
}

/// What it came to.
pub struct Finish<'a> {
    pub id: i64,
    pub at: Timestamp,
    pub steps_done: i64,
    pub violations: Option<i64>,
    pub checks: &'a str,
    pub trouble: Option<&'a str>,
}

pub fn finish(end: &Finish<'_>) -> Step {
    Step::one(
        &FINISH,
        vec![
            end.id.into(),
            end.at.into(),
            end.steps_done.into(),
            end.violations.into(),
            end.checks.into(),
            end.trouble.into(),
        ],
    )
}

impl Store {
    /// The newest runs, at most so many.
    pub async fn audit_runs(&self, limit: usize) -> Result<Vec<AuditRun>, StoreError> {
        let rows = self.read(&NEWEST, vec![(limit as i64).into()]).await?;
        rows.into_iter().map(decode).collect()
    }
}
