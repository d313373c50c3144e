//! What people did at the command line or in the dashboard: who, what, why; append only.
//!
//! An act is a Step of the very Unit that does it, so that none goes unnoted. Only ops write them.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::tables::places::Place;
use crate::store::{Row, Step, Store, StoreError};

macro_rules! columns {
    () => {
        "id, operator, act, subject, reason, acted_at, business_id, address, is_members"
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
             acted_at >= $2 and (cast($4 as bigint) = 0 or business_id = $4) order by acted_at desc, id desc limit $3) as ",
            $column,
            "s"
        )
    };
}

statements! {
    RECORD: insert(operator_acts) {
        id: Int, operator: Text, act: Text, subject: Text, reason: Text, acted_at: Int, business_id: Int, address: Text,
        is_members: Int
    }
    NEWEST: query {
        concat!("select ", columns!(), " from operator_acts where acted_at >= $1 order by acted_at desc, id desc \
                 limit $2")
    }
    // Before a place, by whole places.
    WALK: query {
        concat!("select ", columns!(), " from operator_acts where (acted_at, id) < ($1, $2) \
                 order by acted_at desc, id desc limit $3")
    }
    WALK_OF_BUSINESS: query {
        concat!("select ", columns!(), " from operator_acts where business_id = $4 and (acted_at, id) < ($1, $2) \
                 order by acted_at desc, id desc limit $3")
    }
    NEWEST_OF_BUSINESS: query {
        concat!("select ", columns!(), " from operator_acts where business_id = $3 and acted_at >= $1 \
                 order by acted_at desc, id desc limit $2")
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
    /// Whose payment, website, key, account or webhook it was. A program of before did not note it.
    pub business_id: Option<i64>,
    /// From which address on the net it was done on a page.
    pub address: Option<String>,
    /// By a member of the business on its pages.
    pub is_members: bool,
}

impl OperatorAct {
    /// Who it was, for the people of the business: the operator's own people have no names there.
    pub fn who(&self) -> &str {
        if self.is_members { &self.operator } else { "the operator" }
    }

    /// From where, for the same.
    pub fn told_address(&self) -> Option<&String> {
        self.address.as_ref().filter(|_| self.is_members)
    }

    /// The reason or the values, for the same. What the operator's people write about alerts may be about others.
    pub fn told_reason(&self) -> Option<&String> {
        let is_about_settings = |act: &str| {
            ["business ", "website ", "key ", "member ", "user "].iter().any(|of| act.starts_with(of))
        };
        let is_told = self.is_members || is_about_settings(&self.act);
        (!self.reason.is_empty() && is_told).then_some(&self.reason)
    }
}

/// On whose pages somebody acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Operator,
    Business,
}

tokio::task_local! {
    /// Where the person sits for whom something is done just now, and on whose pages. Acts are written deep inside of ops,
    /// and most of them are written at a command line, which has no address.
    static FROM: (String, Side);
}

/// Does something for a person at this address, on these pages: the acts that it writes bear it.
pub async fn from_address<T>(address: String, side: Side, doing: impl Future<Output = T>) -> T {
    FROM.scope((address, side), doing).await
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
        business_id: r.opt_int("business_id")?,
        address: r.opt_text("address")?,
        is_members: r.flag("is_members")?,
    })
}

/// Notes an act. `subject` names the row in words, such as `website 4`; `id` is of `IdKind::Act`.
pub fn record(id: i64, operator: &str, act: &str, subject: &str, reason: &str, now: Timestamp) -> Step {
    record_of(None, id, operator, act, subject, reason, now)
}

/// The same of an act about something of one business.
pub fn record_of(
    business_id: impl Into<Option<i64>>,
    id: i64,
    operator: &str,
    act: &str,
    subject: &str,
    reason: &str,
    now: Timestamp,
) -> Step {
    let from = FROM.try_with(Clone::clone).ok();
    Step::insert(RECORD {
        id: id.into(),
        operator: operator.into(),
        act: act.into(),
        subject: subject.into(),
        reason: reason.into(),
        acted_at: now.into(),
        business_id: business_id.into().into(),
        address: from.as_ref().map(|(address, _)| address).into(),
        is_members: i64::from(from.as_ref().is_some_and(|(_, side)| *side == Side::Business)).into(),
    })
}

impl Store {
    /// Acts before a place, newest first, of one business or of all.
    pub async fn acts_before(
        &self,
        business_id: Option<i64>,
        before: Place,
        limit: usize,
    ) -> Result<Vec<OperatorAct>, StoreError> {
        let mut params = vec![before.at.into(), before.id.into(), (limit as i64).into()];
        let rows = match business_id {
            Some(id) => {
                params.push(id.into());
                self.read(&WALK_OF_BUSINESS, params).await?
            }
            None => self.read(&WALK, params).await?,
        };
        rows.into_iter().map(decode).collect()
    }

    /// Acts since a time, newest first; of one subject and of one business if they are given. An approval is about its alert and its payment.
    pub async fn acts(
        &self,
        subject: Option<&str>,
        business_id: Option<i64>,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<OperatorAct>, StoreError> {
        let limit = limit as i64;
        let rows = match (subject, business_id) {
            (Some(subject), _) => {
                let business = business_id.unwrap_or(0);
                self.read(&ABOUT, vec![subject.into(), since.into(), limit.into(), business.into()]).await?
            }
            (None, Some(business)) => {
                self.read(&NEWEST_OF_BUSINESS, vec![since.into(), limit.into(), business.into()]).await?
            }
            (None, None) => self.read(&NEWEST, vec![since.into(), limit.into()]).await?,
        };
        rows.into_iter().map(decode).collect()
    }
}
