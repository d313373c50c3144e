//! Look-ups by key, gathered: those that wait while the last ones are under way go out as one.
//!
//! A statement costs the server far more than the row it finds, and a busy service asks the same
//! look-up from many connections at once. Nothing waits for company: a look-up that is alone goes
//! alone. Each begins after it was asked, as every read does. The readers' side of `postgres.rs`.

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::connection::{Question, Slot};
use super::errors::{away, fault};
use crate::store::engine::sql::Sql;
use crate::store::engine::value::{Row, Value};
use crate::store::{StoreError, WAIT_MAX, overloaded};

/// Keys in one statement.
const KEYS_MAX: usize = 128;
/// Look-ups waiting per gatherer; more is refused as overload.
const QUEUE_MAX: usize = 8_192;

struct Job {
    sql: &'static Sql,
    keys: Vec<Value>,
    asked: Instant,
    answer: oneshot::Sender<Result<Vec<Row>, StoreError>>,
}

/// One queue of look-ups on one connection.
pub(super) struct LookupBatcher(mpsc::Sender<Job>);

impl LookupBatcher {
    pub(super) fn start(slot: Slot) -> LookupBatcher {
        let (sender, jobs) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(run(slot, jobs));
        LookupBatcher(sender)
    }

    pub(super) async fn look_up(&self, sql: &'static Sql, keys: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let (answer, wait) = oneshot::channel();
        let job = Job { sql, keys, asked: Instant::now(), answer };
        self.0.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => overloaded(),
            mpsc::error::TrySendError::Closed(_) => away("the reader has ended"),
        })?;
        wait.await.map_err(|_| away("the reader has ended"))?
    }
}

async fn run(slot: Slot, mut jobs: mpsc::Receiver<Job>) {
    let mut batch: Vec<Job> = Vec::with_capacity(KEYS_MAX);
    while jobs.recv_many(&mut batch, KEYS_MAX).await > 0 {
        let mut groups: Vec<Vec<Job>> = Vec::new();
        for job in batch.drain(..).filter(|job| !job.answer.is_closed()) {
            if job.asked.elapsed() > WAIT_MAX {
                let _ = job.answer.send(Err(overloaded()));
                continue;
            }
            match groups.iter_mut().find(|group| std::ptr::eq(group[0].sql, job.sql)) {
                Some(group) => group.push(job),
                None => groups.push(vec![job]),
            }
        }
        for group in groups {
            answer_all(&slot, group).await;
        }
    }
}

async fn answer_all(slot: &Slot, group: Vec<Job>) {
    let sql = group[0].sql;
    if let [job] = &group[..] {
        let rows = slot.ask(&Question::One { sql, params: &job.keys }).await;
        return group.into_iter().for_each(|job| drop(job.answer.send(rows.clone())));
    }
    let keys = group.iter().map(|job| &job.keys[..]).collect();
    let found =
        slot.ask(&Question::Many { sql, keys }).await.and_then(|rows| by_place(sql, group.len(), rows));
    match found {
        Ok(found) => group.into_iter().zip(found).for_each(|(job, rows)| drop(job.answer.send(Ok(rows)))),
        Err(error) => group.into_iter().for_each(|job| drop(job.answer.send(Err(error.clone())))),
    }
}

/// The rows of each key; the last column of an answer is the key's place, counted from 1.
fn by_place(sql: &Sql, keys: usize, rows: Vec<Row>) -> Result<Vec<Vec<Row>>, StoreError> {
    let mut found: Vec<Vec<Row>> = (0..keys).map(|_| Vec::new()).collect();
    for mut row in rows {
        let place = match row.values.pop() {
            Some(Value::Int(place)) => usize::try_from(place - 1).ok(),
            _ => None,
        };
        let slot = place.and_then(|place| found.get_mut(place));
        slot.ok_or_else(|| fault(sql.name, "a row without its place"))?.push(row);
    }
    Ok(found)
}
