//! Which Units go into one transaction, and what each of them is told.
//!
//! A batch that fails is divided until the culprit stands alone: Units that lost a race are known
//! by their place, a broken constraint in an insert shared by many Units is found by halving.
//! Units of one shard keep their order through all of this. A connection that breaks during the
//! commit leaves the end unknown; the Units are sent again under the same ids, and their rows in
//! `units` tell whether it had happened. "Done" is said only of what the server confirmed.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::batch::{self, Trouble};
use super::connection::{Connection, Question, Slot, Unread};
use super::errors::away;
use crate::store::StoreError;
use crate::store::engine::sql::statements;
use crate::store::engine::unit::{Applied, Unit};
use crate::store::engine::value::Row;

// CONFIRM changes nothing, but its commit is confirmed only after all commits before it.
statements! {
    UNIT_WAS_MADE: query { "select id from units where id = $1" }
    CONFIRM: query { "update counters set value = value where name = 'unit' returning value" }
}

/// Tries of one group after deadlocks or broken connections; then it is given back.
const TRIES_MAX: usize = 5;
/// No further try begins later than this after the first.
const COMMIT_WITHIN: Duration = Duration::from_secs(10);
/// Between two attempts to learn the end of a commit while the server is away.
const DOUBT_PAUSE: Duration = Duration::from_millis(250);

type Answer = Result<Applied, StoreError>;

/// A Unit whose caller waits.
pub(super) struct Waiting {
    unit: Unit,
    answer: Option<oneshot::Sender<Answer>>,
    /// What the caller hears if a commit whose end is unknown turns out to have happened.
    doubted: Option<Vec<Vec<Row>>>,
}

impl Waiting {
    pub(super) fn new(unit: Unit, answer: oneshot::Sender<Answer>) -> Waiting {
        Waiting { unit, answer: Some(answer), doubted: None }
    }

    fn tell(&mut self, answer: Answer) {
        if let Some(sender) = self.answer.take() {
            // The caller may have hung up; that changes nothing.
            let _ = sender.send(answer);
        }
    }
}

/// Places of Units that are tried in one transaction.
#[derive(Default)]
struct Group {
    members: Vec<usize>,
    tries: usize,
    /// A commit of exactly these members was sent and not answered.
    in_doubt: bool,
}

struct Work<'a> {
    slot: &'a Slot,
    waiting: Vec<Waiting>,
    groups: VecDeque<Group>,
    until: Instant,
}

/// Every Unit gets its own answer as soon as it is known.
pub(super) async fn commit(slot: &Slot, waiting: Vec<Waiting>) {
    let first = Group { members: (0..waiting.len()).collect(), ..Group::default() };
    let mut work =
        Work { slot, waiting, groups: VecDeque::from([first]), until: Instant::now() + COMMIT_WITHIN };
    while let Some(group) = work.groups.pop_front() {
        if group.members.is_empty() {
            continue;
        }
        if Instant::now() > work.until {
            work.tell_all(&group.members, &away("too slow"));
            continue;
        }
        work.advance(group).await;
    }
}

impl Work<'_> {
    fn tell_all(&mut self, members: &[usize], error: &StoreError) {
        for i in members {
            self.waiting[*i].tell(Err(error.clone()));
        }
    }

    /// The server is away: everybody hears it now, instead of one after the other.
    async fn give_up_or_wait(&mut self, group: Group, error: StoreError) {
        let doubted = group.in_doubt || group.members.iter().any(|i| self.waiting[*i].doubted.is_some());
        if doubted && Instant::now() < self.until {
            tokio::time::sleep(DOUBT_PAUSE).await;
            self.groups.push_front(group);
            return;
        }
        if group.in_doubt {
            tracing::warn!(units = group.members.len(), "it is unknown whether a commit happened");
        }
        self.tell_all(&group.members, &error);
        for later in std::mem::take(&mut self.groups) {
            self.tell_all(&later.members, &error);
        }
    }

    async fn advance(&mut self, mut group: Group) {
        let connection = match self.slot.get().await {
            Ok(connection) => connection,
            Err(error) => return self.give_up_or_wait(group, error).await,
        };
        if group.in_doubt {
            match self.settle_doubt(&connection, &group).await {
                Ok(true) => return,
                Ok(false) => group.in_doubt = false,
                Err(error) => return self.again(group, &connection, error).await,
            }
        }
        let units: Vec<&Unit> = group.members.iter().map(|i| &self.waiting[*i].unit).collect();
        match batch::run(&connection, &units).await {
            Ok(results) => {
                for (i, rows) in group.members.into_iter().zip(results) {
                    self.waiting[i].tell(Ok(Applied::Done(rows)));
                }
            }
            Err(Trouble::Lost(culprits)) if group.members.len() > 1 => {
                let culprits = culprits.into_iter().map(|(n, _)| group.members[n]).collect();
                self.part(&group, &culprits);
            }
            Err(Trouble::Refused { unit: Some(n), .. } | Trouble::Fault { unit: Some(n), .. })
                if group.members.len() > 1 =>
            {
                self.part(&group, &HashSet::from([group.members[n]]));
            }
            Err(Trouble::Refused { .. } | Trouble::Fault { .. } | Trouble::Again(_))
                if group.members.len() > 1 =>
            {
                self.halve(&group);
            }
            Err(Trouble::Lost(culprits)) => {
                let statement = culprits.first().map_or("?", |(_, name)| name);
                self.decline(group, &connection, Applied::Conflict { statement }).await;
            }
            Err(Trouble::Refused { statement, .. }) => {
                self.decline(group, &connection, Applied::ConstraintViolation { statement }).await;
            }
            Err(Trouble::Fault { error, .. }) => self.tell_all(&group.members, &error),
            Err(Trouble::Again(why)) => self.retry(group, away(why)),
            Err(Trouble::Broken(error)) => self.again(group, &connection, error).await,
            Err(Trouble::Doubt { results, error }) => {
                for (i, rows) in group.members.iter().zip(results) {
                    self.waiting[*i].doubted = Some(rows);
                }
                group.in_doubt = true;
                self.again(group, &connection, error).await;
            }
        }
    }

    /// Another try on a fresh connection.
    async fn again(&mut self, group: Group, connection: &Arc<Connection>, error: StoreError) {
        self.slot.discard(connection).await;
        self.retry(group, error);
    }

    fn retry(&mut self, mut group: Group, error: StoreError) {
        group.tries += 1;
        if group.tries < TRIES_MAX && Instant::now() < self.until {
            self.groups.push_front(group);
            return;
        }
        if group.in_doubt {
            tracing::warn!(units = group.members.len(), "it is unknown whether a commit happened");
        }
        self.tell_all(&group.members, &error);
    }

    /// A commit was sent and not answered. True when it had happened; everybody was told then.
    async fn settle_doubt(&mut self, connection: &Connection, group: &Group) -> Result<bool, StoreError> {
        // They were one transaction: one of them speaks for all.
        let Some(id) = group.members.iter().map(|i| self.waiting[*i].unit.id).find(|id| *id != 0) else {
            return Ok(false);
        };
        if !was_made(connection, id).await? {
            return Ok(false); // or not yet: then sending it again waits for the first to end
        }
        let mut nameless = Vec::new();
        for i in &group.members {
            let waiting = &mut self.waiting[*i];
            if waiting.unit.id == 0 {
                nameless.push(*i);
            } else {
                let rows = waiting.doubted.take().unwrap_or_default();
                waiting.tell(Ok(Applied::Done(rows)));
            }
        }
        self.groups.push_front(Group { members: nameless, ..Group::default() });
        Ok(true)
    }

    /// A Unit that stands alone was lost or refused, unless it is the very one that was faster.
    async fn decline(&mut self, group: Group, connection: &Arc<Connection>, answer: Applied) {
        let Some(&i) = group.members.first() else { return };
        let waiting = &mut self.waiting[i];
        if waiting.unit.id == 0 {
            return waiting.tell(Ok(answer));
        }
        match was_made(connection, waiting.unit.id).await {
            Ok(true) => {
                let rows = waiting.doubted.take().unwrap_or_default();
                waiting.tell(Ok(Applied::Done(rows)));
            }
            Ok(false) => waiting.tell(Ok(answer)),
            Err(error) => self.again(group, connection, error).await,
        }
    }

    /// Everybody but the culprits, and but those of a culprit's shard who come after it, goes
    /// first; then come the culprits and the ones between them, in their order.
    fn part(&mut self, group: &Group, culprits: &HashSet<usize>) {
        let mut shards = HashSet::new();
        let mut first = Vec::new();
        let mut pieces: Vec<Vec<usize>> = Vec::new();
        let mut open = false;
        for i in &group.members {
            let shard = self.waiting[*i].unit.shard;
            if culprits.contains(i) {
                shards.insert(shard);
                pieces.push(vec![*i]);
                open = false;
            } else if !shards.contains(&shard) {
                first.push(*i);
            } else if let (true, Some(piece)) = (open, pieces.last_mut()) {
                piece.push(*i);
            } else {
                pieces.push(vec![*i]);
                open = true;
            }
        }
        for members in pieces.into_iter().rev() {
            self.groups.push_front(Group { members, ..Group::default() });
        }
        self.groups.push_front(Group { members: first, ..Group::default() });
    }

    fn halve(&mut self, group: &Group) {
        let (left, right) = group.members.split_at(group.members.len() / 2);
        self.groups.push_front(Group { members: right.to_vec(), ..Group::default() });
        self.groups.push_front(Group { members: left.to_vec(), ..Group::default() });
    }
}

/// Whether the Unit is in the database for good. A commit that the server shows but whose standby
/// has not confirmed it is not for good yet: the confirmed commit of a change after it proves both.
async fn was_made(connection: &Connection, id: i64) -> Result<bool, StoreError> {
    if connection.query(&Question::One { sql: &UNIT_WAS_MADE, params: &[id.into()] }).await?.is_empty() {
        return Ok(false);
    }
    connection.query(&Question::One { sql: &CONFIRM, params: &[] }).await.map_err(|unread| match unread {
        Unread::Final(error @ StoreError::Fault(_)) => error,
        unread => away(StoreError::from(unread)),
    })?;
    if connection.take_unreplicated() {
        return Err(away("a commit was not confirmed by the standby"));
    }
    Ok(true)
}
