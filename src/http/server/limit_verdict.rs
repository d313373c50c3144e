//! What a count of requests comes to, whoever counts: this process (`rate_limits`) or all nodes together (`shared_windows`).

use std::time::Duration;

/// How long a window is open.
pub const WINDOW: Duration = Duration::from_secs(60);

/// What a request is told about its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitVerdict {
    pub allowed: bool,
    pub limit: u32,
    pub remaining: u32,
    /// Until the window ends.
    pub reset_after: Duration,
}
