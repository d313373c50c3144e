//! What people did at the command line or in the dashboard: who, what, why; append only.
//!
//! An act is a Step of the very Unit that does it, so that none goes unnoted. Only ops write them.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

macro_rules! columns {
    () => {
        "id, operator, act, subject, reason, acted_at"
    };
}

macro_rules! about {
    ($column:literal) => {
        concat!(
            "select ",
            columns!(),
            " from (select ",
            columns!(),
            " from operator_acts where ",
            $column,
            " = $1 and \
             acted_at >= $2 order by acted_at desc, id desc limit $3) as ",
            $column,
            "s"
        )
    };
}

statements! {
    RECORD: insert(operator_acts) { id: Int, operator: Text, act: Text, subject: Text, reason: Text, acted_at: Int }
    NEWEST: query {
        concat!("select ", columns!(), " from operator_acts where acted_at >= $1 order by acted_at desc, id desc \
                 limit $2")
    }
    ABOUT: query {
        concat!(
            "select ", columns!(), " from (", about!("subject"), " union all ", about!("approved_alert"),
            " union all ", about!("approved_payment"), ") as found order by acted_at desc, id desc limit $3"
        )
    }
}

/// What a person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorAct {
    pub id: i64,
    /// The person's name, as the system or the dashboard knows it.
    pub operator: String,
    /// Such as `approve` or `key revoke`.
    pub act: String,
    /// The row it was done to, in words, such as `website 4`.
    pub subject: String,
    /// Why, in the person's words; empty where none are asked for.
    pub reason: String,
    pub at: Timestamp,
}

fn decode(row: Row) -> Result<OperatorAct, StoreError> {
    let mut r = row.reader("operator_acts");
    Ok(OperatorAct {
        id: r.int("id")?,
        operator: r.text("operator")?,
        act: r.text("act")?,
        subject: r.text("subject")?,
        reason: r.text("reason")?,
        at: r.time("acted_at")?,
    })
}

/// Notes an act. `subject` names the row in words, such as `website 4`; `id` is of `IdKind::Act`.
pub fn record(id: i64, operator: &str, act: &str, subject: &str, reason: &str, now: Timestamp) -> Step {
    Step::insert(RECORD {
        id: id.into(),
        operator: operator.into(),
        act: act.into(),
        subject: subject.into(),
        reason: reason.into(),
        acted_at: now.into(),
    })
}

impl Store {
    /// Acts since a time, newest first; of one subject if it is given. An approval is about its alert and its payment.
    pub async fn acts(
        &self,
        subject: Option<&str>,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<OperatorAct>, StoreError> {
        let limit = limit as i64;
        let rows = match subject {
            Some(subject) => self.read(&ABOUT, vec![subject.into(), since.into(), limit.into()]).await?,
            None => self.read(&NEWEST, vec![since.into(), limit.into()]).await?,
        };
        rows.into_iter().map(decode).collect()
    }
}
