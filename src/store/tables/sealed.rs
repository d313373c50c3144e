//! Every sealed value that stays in the database, read and replaced by itself: for sealing it anew under another key.
//!
//! Whoever adds a sealed column adds it here; a test compares this list with the columns of the schema. Used by ops.

use crate::store::engine::sql::{Sql, statements};
use crate::store::{Row, Step, Store, StoreError};

macro_rules! read {
    ($table:literal, $first:literal, $second:literal) => {
        concat!(
            "select id, ",
            $first,
            " as first, ",
            $second,
            " as second from ",
            $table,
            " where id > $1 order by id limit $2"
        )
    };
}

macro_rules! write {
    ($table:literal, $column:literal, $more:literal) => {
        concat!("update ", $table, " set ", $column, " = $3", $more, " where id = $1 and ", $column, " = $2")
    };
}

statements! {
    SEALED_SECRETS: query { read!("businesses", "webhook_secret", "previous_webhook_secret") }
    RESEAL_SECRET: query { write!("businesses", "webhook_secret", "") }
    RESEAL_PREVIOUS: query { write!("businesses", "previous_webhook_secret", "") }
    SEALED_FACTORS: query { read!("users", "totp", "totp_begun") }
    RESEAL_FACTOR: query { write!("users", "totp", ", version = version + 1") }
    RESEAL_FACTOR_BEGUN: query { write!("users", "totp_begun", ", version = version + 1") }
    SEALED_PHONES: query { read!("wallets", "phone", "cast(null as bytea)") }
    RESEAL_PHONE: query { write!("wallets", "phone", "") }
    SEALED_MESSAGES: query { read!("messages", "phone", "text") }
    RESEAL_RECIPIENT: query { write!("messages", "phone", "") }
    RESEAL_TEXT: query { write!("messages", "text", "") }
    SEALED_BVNS: query { read!("payments", "bvn", "cast(null as bytea)") }
    RESEAL_BVN: query { write!("payments", "bvn", "") }
    SEALED_MAILS: query { read!("outgoing_mails", "case when kind = 'text' then body end", "cast(null as bytea)") }
    RESEAL_MAIL: query { write!("outgoing_mails", "body", "") }
}

/// Sealed values of one table: one or two columns of it.
pub struct SealedTable {
    pub table: &'static str,
    /// What the place of a value is called before the row: `wallets` of `wallets/7/phone`.
    rows: &'static str,
    pub columns: &'static [SealedColumn],
    read: &'static Sql,
}

pub struct SealedColumn {
    pub column: &'static str,
    /// And after it: `phone`.
    place: &'static str,
    write: &'static Sql,
}

/// In this order they are sealed anew.
pub static SEALED: [SealedTable; 6] = [
    SealedTable {
        table: "businesses",
        rows: "businesses",
        columns: &[
            SealedColumn { column: "webhook_secret", place: "webhook_secret", write: &RESEAL_SECRET },
            SealedColumn {
                column: "previous_webhook_secret",
                place: "webhook_secret",
                write: &RESEAL_PREVIOUS,
            },
        ],
        read: &SEALED_SECRETS,
    },
    SealedTable {
        table: "users",
        rows: "users",
        columns: &[
            SealedColumn { column: "totp", place: "totp", write: &RESEAL_FACTOR },
            SealedColumn { column: "totp_begun", place: "totp", write: &RESEAL_FACTOR_BEGUN },
        ],
        read: &SEALED_FACTORS,
    },
    SealedTable {
        table: "wallets",
        rows: "wallets",
        columns: &[SealedColumn { column: "phone", place: "phone", write: &RESEAL_PHONE }],
        read: &SEALED_PHONES,
    },
    SealedTable {
        table: "messages",
        rows: "messages",
        columns: &[
            SealedColumn { column: "phone", place: "phone", write: &RESEAL_RECIPIENT },
            SealedColumn { column: "text", place: "text", write: &RESEAL_TEXT },
        ],
        read: &SEALED_MESSAGES,
    },
    SealedTable {
        table: "payments",
        rows: "payments",
        columns: &[SealedColumn { column: "bvn", place: "bvn", write: &RESEAL_BVN }],
        read: &SEALED_BVNS,
    },
    SealedTable {
        table: "outgoing_mails",
        rows: "mails",
        columns: &[SealedColumn { column: "body", place: "body", write: &RESEAL_MAIL }],
        read: &SEALED_MAILS,
    },
];

/// A row's sealed values, in the order of its table's columns.
pub struct SealedRow {
    pub id: i64,
    pub values: [Option<Vec<u8>>; 2],
}

impl SealedTable {
    /// Where a value is sealed.
    pub fn place(&self, row_id: i64, column: &SealedColumn) -> String {
        format!("{}/{row_id}/{}", self.rows, column.place)
    }
}

impl SealedColumn {
    /// Puts one sealed value in the place of another; nothing happens where that one is not there any more.
    pub fn replace(&self, row_id: i64, before: Vec<u8>, after: Vec<u8>) -> Step {
        Step::any(self.write, vec![row_id.into(), before.into(), after.into()])
    }
}

impl Store {
    /// The next rows of a table, by id.
    pub async fn sealed_rows(
        &self,
        table: &SealedTable,
        after_id: i64,
        limit: usize,
    ) -> Result<Vec<SealedRow>, StoreError> {
        let rows = self.read(table.read, vec![after_id.into(), (limit as i64).into()]).await?;
        let decode = |row: Row| {
            let mut r = row.reader(table.table);
            Ok(SealedRow { id: r.int("id")?, values: [r.opt_bytes("first")?, r.opt_bytes("second")?] })
        };
        rows.into_iter().map(decode).collect()
    }
}
