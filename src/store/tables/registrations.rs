//! Businesses that somebody wants to open, until the link that was mailed is used: the SQL and the reading of rows. Only ops
//! call this.

use crate::domain::time::Timestamp;
use crate::store::engine::sql::statements;
use crate::store::{Row, Step, Store, StoreError};

/// Rows forgotten in one step; the statement holds the same number as a literal.
pub const FORGET_BATCH: usize = 500;

statements! {
    ADD: insert(registrations) {
        hash: Bytes, email: Text, business: Text, password: Bytes, is_mailed: Int, created_at: Int, expires_at: Int
    }
    REGISTRATION: query {
        "select email, business, password, is_mailed, expires_at, used_at from registrations where hash = $1"
    }
    USE: query {
        "update registrations set used_at = $2, password = null where hash = $1 and used_at is null and expires_at > $2"
    }
    FORGET: query {
        "delete from registrations where created_at < $1 and hash in (select hash from registrations where created_at < $1 \
         order by created_at limit 500) returning created_at"
    }
}

/// What somebody asked for who has yet to open the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationRow {
    /// As `domain::user::normal_email` makes it.
    pub email: String,
    pub business: String,
    /// As `vault::hasher` makes it; `None` once the link is used up.
    pub password: Option<Vec<u8>>,
    pub is_mailed: bool,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

pub fn add(hash: [u8; 32], row: &RegistrationRow, now: Timestamp) -> Step {
    Step::insert(ADD {
        hash: hash.to_vec().into(),
        email: row.email.as_str().into(),
        business: row.business.as_str().into(),
        password: row.password.clone().into(),
        is_mailed: i64::from(row.is_mailed).into(),
        created_at: now.into(),
        expires_at: row.expires_at.into(),
    })
}

/// Uses the link up; lost if it was used or has expired.
pub fn use_up(hash: &[u8; 32], now: Timestamp) -> Step {
    Step::one(&USE, vec![hash.to_vec().into(), now.into()])
}

impl Store {
    pub async fn registration(&self, hash: &[u8; 32]) -> Result<Option<RegistrationRow>, StoreError> {
        let row = self.read_one(&REGISTRATION, vec![hash.to_vec().into()]).await?;
        let registration = |row: Row| {
            let mut r = row.reader("registrations");
            Ok(RegistrationRow {
                email: r.text("email")?,
                business: r.text("business")?,
                password: r.opt_bytes("password")?,
                is_mailed: r.flag("is_mailed")?,
                expires_at: r.time("expires_at")?,
                used_at: r.opt_time("used_at")?,
            })
        };
        row.map(registration).transpose()
    }

    /// Forgets registrations made before a time; answers how many.
    pub async fn forget_registrations(&self, before: Timestamp) -> Result<usize, StoreError> {
        Ok(self.write(&FORGET, vec![before.into()]).await?.into_rows().len())
    }
}
