//! What every table needs: the two engines behind one Unit, values and rows, ids, the schema, and a look at a
//! database that is not opened yet.

pub mod backup;
pub(in crate::store) mod guards;
pub(in crate::store) mod ids;
pub mod look;
pub(in crate::store) mod migrate;
pub(in crate::store) mod parted;
pub mod partitions;
pub(in crate::store) mod people;
pub(in crate::store) mod postgres;
pub(in crate::store) mod schema;
#[doc(hidden)]
pub mod sql; // open to the tests, which declare statements of their own
pub(in crate::store) mod sqlite;
pub(in crate::store) mod tls;
pub mod unit;
pub mod value;
