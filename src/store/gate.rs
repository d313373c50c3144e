//! Where an outside hand may hold, refuse or break off what is asked of the store. Tests draw the order of all calls and
//! every fault from a seed by it; the service has none.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::StoreError;

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    BeforeRead,
    AfterRead,
    BeforeUnit,
    AfterUnit,
}

pub trait Gate: Send + Sync {
    /// Comes when the call may go on; an error is then the call's answer. One that never comes is a process that
    /// stopped here.
    fn pass(&self, point: Point) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Beside the other options of a store.
#[derive(Clone)]
pub struct Gated(pub Arc<dyn Gate>);

impl fmt::Debug for Gated {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Gated")
    }
}
