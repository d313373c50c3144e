//! A Unit: the one way to change anything. A list of statements that happen together or not at
//! all, each with the number of rows it must touch.
//!
//! An op reads, decides in pure domain code, and hands over a Unit whose guarded statements carry
//! what the decision rested on (`... where id = $1 and version = $2`). If one of them touches
//! another number of rows than it names, somebody was faster: the whole Unit leaves no trace and
//! the outcome is [`Applied::Conflict`]. See docs/decisions/0002-counted-units.md for why the counts
//! are checked before the commit instead of fencing every statement in SQL.

use crate::store::StoreError;
use crate::store::engine::sql::{InsertRow, Sql, Text};
use crate::store::engine::value::{Row, Value};

/// Statements one Unit may hold; a larger one is a fault of the program. The largest is a seal over
/// 500 ledger entries; an approval has about fifteen.
pub const UNIT_MAX_STEPS: usize = 1_100;

/// One statement of a Unit.
#[derive(Clone, Debug)]
pub struct Step {
    pub(in crate::store) sql: &'static Sql,
    pub(in crate::store) params: Vec<Value>,
    pub(in crate::store) expect: Expect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Expect {
    /// Exactly this many rows, else the Unit is lost.
    Rows(u64),
    /// As many as there are.
    Any,
    /// As many as there are, and the caller wants them (`returning`).
    Returned,
}

impl Step {
    /// A guard or an insert: it must touch exactly one row.
    pub fn one(sql: &'static Sql, params: Vec<Value>) -> Step {
        Step { sql, params, expect: Expect::Rows(1) }
    }

    /// One new row.
    pub(in crate::store) fn insert(row: impl InsertRow) -> Step {
        Step::one(row.sql(), row.values())
    }

    /// A statement that may touch any number of rows.
    pub fn any(sql: &'static Sql, params: Vec<Value>) -> Step {
        Step { sql, params, expect: Expect::Any }
    }

    pub(in crate::store) fn is_insert(&self) -> bool {
        matches!(self.sql.text, Text::Insert { .. })
    }

    /// A statement with `returning`, whose rows come back in [`Applied::Done`].
    pub fn returning(sql: &'static Sql, params: Vec<Value>) -> Step {
        Step { sql, params, expect: Expect::Returned }
    }
}

/// Statements that happen together.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Unique for ever; sent again unchanged when the end of the first sending is unknown.
    pub(in crate::store) id: i64,
    /// Units with the same shard go through the same writer in order, so that hot rows
    /// (a merchant's balance) are not fought over: the business, wallet or alert id.
    pub(in crate::store) shard: i64,
    pub(in crate::store) steps: Vec<Step>,
}

impl Unit {
    pub(in crate::store) fn new(id: i64, shard: i64) -> Unit {
        Unit { id, shard, steps: Vec::with_capacity(8) }
    }

    /// Adds a statement. Whatever the order of adding, a Unit runs its guards and updates first and
    /// its inserts after them, because PostgreSQL gathers the inserts of many Units.
    pub fn step(mut self, step: Step) -> Unit {
        let at =
            if step.is_insert() { self.steps.len() } else { self.steps.partition_point(|s| !s.is_insert()) };
        self.steps.insert(at, step);
        self
    }

    /// Adds several statements, as [`Unit::step`] does.
    pub fn steps(self, steps: impl IntoIterator<Item = Step>) -> Unit {
        steps.into_iter().fold(self, Unit::step)
    }

    /// What no engine needs to be asked about. An insert with too few values would otherwise be
    /// filled up with nulls on its way into an array.
    pub(in crate::store) fn check(&self) -> Result<(), StoreError> {
        if self.steps.len() > UNIT_MAX_STEPS {
            return Err(StoreError::Fault(format!("a unit of {} steps", self.steps.len())));
        }
        for step in &self.steps {
            let (name, given) = (step.sql.name, step.params.len());
            match &step.sql.text {
                Text::Insert { columns, .. } if columns.len() != given => {
                    let wanted = columns.len();
                    return Err(StoreError::Fault(format!("{name}: {given} values for {wanted} columns")));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Size of the parameters, about.
    pub(in crate::store) fn bytes(&self) -> usize {
        let size = |value: &Value| match value {
            Value::Null | Value::Int(_) => size_of::<i64>(),
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
        };
        self.steps.iter().flat_map(|step| &step.params).map(size).sum()
    }
}

/// What became of a Unit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Applied {
    /// Committed and durable. Rows of the `returning` steps, in their order; none when a Unit that was
    /// handed over a second time turned out to be in the database already.
    Done(Vec<Vec<Row>>),
    /// A statement touched another number of rows than it must; nothing was written.
    Conflict { statement: &'static str },
    /// A constraint of the database forbade it; nothing was written.
    ConstraintViolation { statement: &'static str },
}

impl Applied {
    pub fn is_done(&self) -> bool {
        matches!(self, Applied::Done(_))
    }

    /// The rows of the first `returning` step; none when the Unit was not done.
    pub fn into_rows(self) -> Vec<Row> {
        match self {
            Applied::Done(mut all) if !all.is_empty() => all.swap_remove(0),
            _ => Vec::new(),
        }
    }
}
