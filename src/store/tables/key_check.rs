//! One sealed value by which a program with another key is recognised before it writes anything.

use crate::store::engine::sql::statements;
use crate::store::{Store, StoreError};

statements! {
    READ: query { "select sealed from key_checks where id = 1" }
    ADD: query { "insert into key_checks (id, sealed) values (1, $1) on conflict do nothing" }
}

impl Store {
    pub async fn key_check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_one(&READ, Vec::new())
            .await?
            .map(|row| row.reader("key_checks").bytes("sealed"))
            .transpose()
    }

    /// Keeps the value if there is none yet; the first of two programs wins.
    pub async fn add_key_check(&self, sealed: Vec<u8>) -> Result<(), StoreError> {
        self.write(&ADD, vec![sealed.into()]).await.map(drop)
    }
}
