//! How many connections a listener holds, and how long they may do nothing.

use std::time::Duration;

/// Connections of one listener at one time; more of them wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 8_192;
/// Connections that one address may hold. Many customers share an address behind their provider's
/// NAT, and a connection lasts seconds; a merchant's server that keeps more open should not.
const CONNECTIONS_OF_ONE: usize = 512;
/// From the first wait for a request to the end of its head; so also the longest idle time of a
/// kept connection.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// From a request's head to the last byte of its answer that the client takes. A body has its own
/// deadline, the longest wait behind an answer is a messenger's of 10 s, and answers are small. A stream has this time
/// anew with each piece that its client takes, of which there is one every 15 s.
const REQUEST_MAX: Duration = Duration::from_secs(60);

/// Limits of connections and of their time.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub connections: usize,
    /// Of one address; trusted proxies, and this machine in dev mode, have no such limit.
    pub of_one: usize,
    /// Without a request.
    pub idle: Duration,
    /// For a request and its answer.
    pub request: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            connections: CONNECTIONS_MAX,
            of_one: CONNECTIONS_OF_ONE,
            idle: IDLE_MAX,
            request: REQUEST_MAX,
        }
    }
}
