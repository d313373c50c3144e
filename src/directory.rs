//! Keys, businesses, websites and accounts as they were at most a second ago.
use crate::clock::Clock;
use crate::store::Store;
use std::sync::Arc;
pub struct Directory {
    #[allow(dead_code)]
    store: Store,
    #[allow(dead_code)]
    clock: Arc<dyn Clock>,
}
impl Directory {
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Directory {
        Directory { store, clock }
    }
}
