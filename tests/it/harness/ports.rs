//! Addresses for programs that are stopped and started again at the same one. The system gives ports of another range to those
//! who connect, so nobody takes one of these meanwhile.

use std::net::{SocketAddr, TcpListener};

use tillbell::clock::{Random, SystemRandom};

/// Below the range from which Linux takes the ports of outgoing connections.
const FIRST: u16 = 20_000;
const PORTS: u64 = 12_000;
const TRIES: usize = 100;

/// So many addresses of 127.0.0.1 at which nobody listens, no two alike.
pub fn own_addresses(count: usize) -> Vec<SocketAddr> {
    let mut held: Vec<TcpListener> = Vec::new();
    for _ in 0..TRIES {
        if held.len() == count {
            break;
        }
        let port = FIRST + u16::try_from(SystemRandom.next_u64() % PORTS).unwrap();
        held.extend(TcpListener::bind(("127.0.0.1", port)));
    }
    assert_eq!(held.len(), count, "no free ports from {FIRST} on");
    held.iter().map(|listener| listener.local_addr().unwrap()).collect()
}
