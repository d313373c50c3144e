//! Listeners and connections: every deadline and bound named, and what happens around every request.

pub mod bounds;
pub mod caller;
pub mod connection;
pub mod framing;
pub mod limit_verdict;
pub mod listen;
pub mod meters;
pub mod middleware;
pub mod pulse;
pub mod rate_limits;
pub mod shared_windows;
