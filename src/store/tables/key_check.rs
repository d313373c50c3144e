//! One value, sealed under the root key: by it a program with another one is recognised in a database of before, which has no
//! keys of its own (`data_keys`).

use crate::store::engine::sql::statements;
use crate::store::{Step, Store, StoreError};

statements! {
    READ: query { "select sealed from key_checks where id = 1" }
    ADD: insert(key_checks) { id: Int, sealed: Bytes }
}

/// Keeps the value; of two programs the second is refused.
pub fn add(sealed: Vec<u8>) -> Step {
    Step::insert(ADD { id: 1.into(), sealed: sealed.into() })
}

impl Store {
    pub async fn key_check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_one(&READ, Vec::new())
            .await?
            .map(|row| row.reader("key_checks").bytes("sealed"))
            .transpose()
    }
}
