//! Group commit on one PostgreSQL connection: many Units, one transaction, counts before commit.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;

use tokio_postgres::error::SqlState;

use super::super::sql::{Sql, Text, statements};
use super::super::unit::{Applied, Expect, Unit};
use super::super::value::{Row, Value};
use super::{ANSWER_TIMEOUT, Connection, REPLAY_MAX, Slot, StoreError, away, classify, convert, describe};
use crate::crash;

statements! {
    UNIT_MADE: insert(units) { id: Int }
    UNIT_WAS_MADE: query { "select id from units where id = $1" }
}

/// Why a batch was not committed.
enum Trouble {
    /// These Units touched another number of rows than they must.
    Lost(Vec<(usize, &'static str)>),
    /// A constraint; `unit` is unknown when it came from an insert shared by several.
    Refused { unit: Option<usize>, statement: &'static str },
    /// Deadlock or serialization failure: nobody's fault, run again.
    Again(String),
    /// The server refused a statement: a fault of the program.
    Fault { unit: Option<usize>, error: StoreError },
    /// The connection broke or fell silent. `in_doubt`: the commit had been sent.
    Broken { in_doubt: bool, error: StoreError },
}

type Answer = Result<Applied, StoreError>;

/// Every Unit gets its own answer, in order.
pub(super) async fn commit(slot: &Slot, units: &[Unit]) -> Vec<Answer> {
    let mut answers: Vec<Option<Answer>> = units.iter().map(|_| None).collect();
    let mut together: Vec<usize> = (0..units.len()).collect();
    let mut alone: Vec<usize> = Vec::new();
    // Each round takes at least one Unit out of the batch or ends it.
    while together.len() > 1 {
        let connection = match slot.get().await {
            Ok(connection) => connection,
            Err(error) => {
                for i in together.drain(..) {
                    answers[i] = Some(Err(error.clone()));
                }
                break;
            }
        };
        let batch: Vec<&Unit> = together.iter().map(|i| &units[*i]).collect();
        match run(&connection, &batch).await {
            Ok(results) => {
                for (i, rows) in together.drain(..).zip(results) {
                    answers[i] = Some(Ok(Applied::Done(rows)));
                }
            }
            Err(Trouble::Lost(culprits)) => {
                let culprits: Vec<usize> = culprits.iter().map(|(n, _)| together[*n]).collect();
                together.retain(|i| !culprits.contains(i));
                alone.extend(culprits);
            }
            Err(Trouble::Refused { unit: Some(n), .. } | Trouble::Fault { unit: Some(n), .. }) => {
                alone.push(together.remove(n));
            }
            Err(Trouble::Broken { .. }) => {
                slot.discard(&connection).await;
                alone.append(&mut together);
            }
            Err(_) => alone.append(&mut together),
        }
    }
    alone.append(&mut together);
    for i in alone {
        answers[i] = Some(commit_alone(slot, &units[i]).await);
    }
    answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(away("no answer")))).collect()
}

async fn commit_alone(slot: &Slot, unit: &Unit) -> Answer {
    let mut doubted = false;
    let mut last = away("no attempt");
    for _ in 0..REPLAY_MAX {
        let connection = slot.get().await?;
        let negative = match run(&connection, &[unit]).await {
            Ok(mut results) => return Ok(Applied::Done(results.pop().unwrap_or_default())),
            Err(Trouble::Lost(culprits)) => {
                Applied::Lost { statement: culprits.first().map_or("?", |(_, name)| name) }
            }
            Err(Trouble::Refused { statement, .. }) => Applied::Refused { statement },
            Err(Trouble::Fault { error, .. }) => return Err(error),
            Err(Trouble::Again(why)) => {
                last = away(why);
                continue;
            }
            Err(Trouble::Broken { in_doubt, error }) => {
                slot.discard(&connection).await;
                doubted |= in_doubt;
                last = error;
                continue;
            }
        };
        // The same Unit, sent before, may be the very one that was faster.
        if unit.id != 0 && was_made(&connection, unit).await? {
            return Ok(Applied::Done(Vec::new()));
        }
        return Ok(negative);
    }
    if doubted {
        tracing::warn!(unit = unit.id, "the end of a unit is unknown");
    }
    Err(last)
}

async fn was_made(connection: &Connection, unit: &Unit) -> Result<bool, StoreError> {
    Ok(!connection.query(&UNIT_WAS_MADE, &[unit.id.into()]).await?.is_empty())
}

enum StepAnswer {
    Rows(Vec<Row>),
    Count(u64),
}

type Sending<'a> =
    Pin<Box<dyn Future<Output = Result<StepAnswer, (tokio_postgres::Error, &'static str)>> + Send + 'a>>;

/// Sends every future's request now, in order, then collects the answers in order. (A plain join
/// does not promise the order in which it polls for the first time; the wire's order is ours.)
async fn in_order<'a>(
    mut sending: Vec<Sending<'a>>,
) -> Vec<Result<StepAnswer, (tokio_postgres::Error, &'static str)>> {
    let mut done: Vec<Option<_>> = sending.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, slot) in sending.iter_mut().zip(done.iter_mut()) {
            if let std::task::Poll::Ready(result) = future.as_mut().poll(cx) {
                *slot = Some(result);
            }
        }
        std::task::Poll::Ready(())
    })
    .await;
    let mut results = Vec::with_capacity(done.len());
    for (future, early) in sending.into_iter().zip(done) {
        results.push(match early {
            Some(result) => result,
            None => future.await,
        });
    }
    results
}

/// Rows of one kind of insert, over all Units of the batch.
struct Gathered<'a> {
    sql: &'static Sql,
    rows: Vec<&'a [Value]>,
    /// The only Unit with rows in here, if there is just one.
    unit: Option<usize>,
}

fn gather<'a>(units: &[&'a Unit], made: &'a [Vec<Value>]) -> Vec<Gathered<'a>> {
    let mut all: Vec<Gathered<'a>> = Vec::new();
    let mut add = |sql: &'static Sql, row: &'a [Value], n: usize| match all
        .iter_mut()
        .find(|g| std::ptr::eq(g.sql, sql))
    {
        Some(gathered) => {
            gathered.rows.push(row);
            if gathered.unit != Some(n) {
                gathered.unit = None;
            }
        }
        None => all.push(Gathered { sql, rows: vec![row], unit: Some(n) }),
    };
    for (n, unit) in units.iter().enumerate() {
        if unit.id != 0 {
            add(&UNIT_MADE, &made[n], n);
        }
        for step in unit.steps.iter().filter(|step| step.is_insert()) {
            add(step.sql, &step.params, n);
        }
    }
    all
}

async fn run(connection: &Connection, units: &[&Unit]) -> Result<Vec<Vec<Vec<Row>>>, Trouble> {
    match tokio::time::timeout(ANSWER_TIMEOUT, run_steps(connection, units)).await {
        Ok(Ok(results)) => match tokio::time::timeout(ANSWER_TIMEOUT, finish(connection)).await {
            Ok(Ok(())) => Ok(results),
            Ok(Err(trouble)) => Err(trouble),
            Err(_) => Err(Trouble::Broken { in_doubt: true, error: away("no answer to a commit") }),
        },
        Ok(Err(trouble)) => {
            if !matches!(trouble, Trouble::Broken { .. }) {
                let rollback = connection.client.batch_execute("rollback");
                if !matches!(tokio::time::timeout(ANSWER_TIMEOUT, rollback).await, Ok(Ok(()))) {
                    return Err(Trouble::Broken { in_doubt: false, error: away("no answer to a rollback") });
                }
            }
            Err(trouble)
        }
        Err(_) => Err(Trouble::Broken { in_doubt: false, error: away("no answer within 5 s") }),
    }
}

async fn finish(connection: &Connection) -> Result<(), Trouble> {
    crash::point("store.before_commit");
    match connection.client.batch_execute("commit").await {
        // "committed locally, but might not have been replicated": unknown, never success.
        Ok(()) if connection.unreplicated.swap(false, Ordering::SeqCst) => {
            Err(Trouble::Broken { in_doubt: true, error: away("a commit was not confirmed by the standby") })
        }
        Ok(()) => {
            crash::point("store.after_commit");
            Ok(())
        }
        Err(error) if error.code().is_some() => Err(judge(&error, None, "commit")),
        Err(error) => Err(Trouble::Broken { in_doubt: true, error: away(describe(&error)) }),
    }
}

async fn run_steps(connection: &Connection, units: &[&Unit]) -> Result<Vec<Vec<Vec<Row>>>, Trouble> {
    let made: Vec<Vec<Value>> = units.iter().map(|unit| vec![unit.id.into()]).collect();
    let gathered = gather(units, &made);
    let mut sending: Vec<Sending<'_>> = Vec::new();
    let mut owners: Vec<(Option<usize>, Expect)> = vec![(None, Expect::Any)];
    // Prepared before the transaction begins; an array is only worth its text for several rows.
    let broken = |error: tokio_postgres::Error, name: &'static str| judge(&error, None, name);
    sending.push(Box::pin(async {
        connection
            .client
            .batch_execute("begin")
            .await
            .map(|()| StepAnswer::Count(0))
            .map_err(|e| (e, "begin"))
    }));
    for (n, unit) in units.iter().enumerate() {
        for step in unit.steps.iter().filter(|step| !step.is_insert()) {
            let statement =
                connection.prepared(step.sql, false).await.map_err(|e| broken(e, step.sql.name))?;
            crash::point("store.between_statements");
            let returned = step.expect == Expect::Returned;
            sending.push(Box::pin(async move {
                let params = convert::params(&step.params);
                let name = step.sql.name;
                if returned {
                    let rows = connection.client.query(&statement, &params).await.map_err(|e| (e, name))?;
                    let rows: Result<Vec<Row>, StoreError> =
                        rows.iter().map(|row| convert::row(name, row)).collect();
                    // A row of a type the store does not know is found by the prepare-all test.
                    Ok(StepAnswer::Rows(rows.unwrap_or_default()))
                } else {
                    connection
                        .client
                        .execute(&statement, &params)
                        .await
                        .map(StepAnswer::Count)
                        .map_err(|e| (e, name))
                }
            }));
            owners.push((Some(n), step.expect));
        }
    }
    for group in &gathered {
        let statement = connection.prepared(group.sql, true).await.map_err(|e| broken(e, group.sql.name))?;
        let Text::Insert { columns, .. } = &group.sql.text else { continue };
        let arrays = convert::arrays(columns, &group.rows)
            .map_err(|error| Trouble::Fault { unit: group.unit, error })?;
        let name = group.sql.name;
        sending.push(Box::pin(async move {
            let params: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> = arrays
                .iter()
                .map(|array| array.as_ref() as &(dyn tokio_postgres::types::ToSql + Sync))
                .collect();
            connection.client.execute(&statement, &params).await.map(StepAnswer::Count).map_err(|e| (e, name))
        }));
        owners.push((group.unit, Expect::Rows(group.rows.len() as u64)));
    }
    collect(units, owners, in_order(sending).await)
}

fn collect(
    units: &[&Unit],
    owners: Vec<(Option<usize>, Expect)>,
    answers: Vec<Result<StepAnswer, (tokio_postgres::Error, &'static str)>>,
) -> Result<Vec<Vec<Vec<Row>>>, Trouble> {
    let mut results: Vec<Vec<Vec<Row>>> = units.iter().map(|_| Vec::new()).collect();
    let mut lost: Vec<(usize, &'static str)> = Vec::new();
    let mut positions = vec![0usize; units.len()];
    for ((owner, expect), answer) in owners.into_iter().zip(answers) {
        match answer {
            Ok(StepAnswer::Rows(rows)) => {
                if let Some(n) = owner {
                    results[n].push(rows);
                    positions[n] += 1;
                }
            }
            Ok(StepAnswer::Count(count)) => {
                if let Some(n) = owner {
                    let name = statement_name(units[n], positions[n]);
                    positions[n] += 1;
                    if let Expect::Rows(wanted) = expect
                        && wanted != count
                        && !lost.iter().any(|(m, _)| *m == n)
                    {
                        lost.push((n, name));
                    }
                }
            }
            // What a Unit lost before the error is the truer answer: the error may follow from it.
            Err(_) if !lost.is_empty() => break,
            Err((error, name)) => return Err(judge(&error, owner, name)),
        }
    }
    if lost.is_empty() { Ok(results) } else { Err(Trouble::Lost(lost)) }
}

fn statement_name(unit: &Unit, position: usize) -> &'static str {
    unit.steps.iter().filter(|step| !step.is_insert()).nth(position).map_or("insert", |step| step.sql.name)
}

fn judge(error: &tokio_postgres::Error, unit: Option<usize>, statement: &'static str) -> Trouble {
    let Some(code) = error.code() else {
        return match classify(statement, error) {
            fault @ StoreError::Fault(_) => Trouble::Fault { unit, error: fault },
            error => Trouble::Broken { in_doubt: false, error },
        };
    };
    if code.code().starts_with("23") {
        return Trouble::Refused { unit, statement };
    }
    if *code == SqlState::T_R_DEADLOCK_DETECTED
        || *code == SqlState::T_R_SERIALIZATION_FAILURE
        || *code == SqlState::LOCK_NOT_AVAILABLE
    {
        return Trouble::Again(describe(error));
    }
    match classify(statement, error) {
        fault @ StoreError::Fault(_) => Trouble::Fault { unit, error: fault },
        error => Trouble::Broken { in_doubt: false, error },
    }
}
