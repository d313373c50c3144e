//! Forms of pages that count once: which were sent, and what each came to. The SQL and the reading of rows; only ops call
//! this.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError, Value};

/// Rows forgotten in one step; the statement holds the same number as a literal.
pub const FORGET_BATCH: usize = 1_000;

statements! {
    BEGIN: insert(sent_forms) { hash: Bytes, sent_at: Int }
    SENT: query { "select answer, sent_at from sent_forms where hash = $1" }
    ANSWER: query { "update sent_forms set answer = $2 where hash = $1 and answer is null" }
    TAKE_BACK: query { "delete from sent_forms where hash = $1 and answer is null" }
    FORGET: query {
        "delete from sent_forms where sent_at < $1 and hash in (select hash from sent_forms where sent_at < $1 \
         order by sent_at limit 1000) returning sent_at"
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentForm {
    /// `None`: it is at work, or its process died.
    pub answer: Option<Vec<u8>>,
    pub sent_at: Timestamp,
}

/// Refused where the form was sent before.
pub fn begin(hash: &[u8; 32], now: Timestamp) -> Step {
    Step::insert(BEGIN { hash: hash.to_vec().into(), sent_at: now.into() })
}

pub fn answer(hash: &[u8; 32], answer: &[u8]) -> Step {
    Step::any(&ANSWER, vec![Value::from(hash.to_vec()), answer.to_vec().into()])
}

/// It came to nothing, and may be sent again.
pub fn take_back(hash: &[u8; 32]) -> Step {
    Step::any(&TAKE_BACK, vec![hash.to_vec().into()])
}

impl Store {
    pub async fn sent_form(&self, hash: &[u8; 32]) -> Result<Option<SentForm>, StoreError> {
        let row = self.read_one(&SENT, vec![hash.to_vec().into()]).await?;
        let form = |row: Row| {
            let mut r = row.reader("sent_forms");
            Ok(SentForm { answer: r.opt_bytes("answer")?, sent_at: r.time("sent_at")? })
        };
        row.map(form).transpose()
    }

    /// Forgets forms sent before a time; answers how many.
    pub async fn forget_sent_forms(&self, before: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET, vec![before.into()]).await?.into_rows().len())
    }
}
