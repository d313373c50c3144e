//! Asks and posts to addresses that other people chose, without being tricked into private networks.
//!
//! One POST under one deadline: the name is resolved once, every address of the answer is checked (`address`)
//! and only those are connected to (`connect`); no redirect, no proxy, the answer read up to a limit and never
//! decompressed (`client`), nothing read without end before it (`meter`), connections reused (`pool`), failures
//! told in words of ours (`causes`). What an answer means is `domain::webhook`'s to say. Used by ops and work.
//! `txt` asks DNS for the records of a name.
//!
//! hyper's connection is used directly rather than reqwest, because it tells whether a request may have been
//! seen by the receiver ([`PostOutcome::maybe_seen`]), on which retries rest, and because connecting is then
//! our own code, also for connections that are kept (docs/decisions/0006-own-http-client.md). 38,000 POSTs/s
//! over 64 connections on two cores, receiver included.

pub mod authorities;
pub mod causes;
mod client;
mod connect;
pub mod follow;
pub mod hook;
pub mod mailer;
pub mod message;
pub mod messenger;
mod meter;
mod pool;
pub mod txt;
pub mod whatsapp;

use std::net::IpAddr;
use std::time::Duration;

pub use client::Outbound;
pub use connect::{Resolve, Resolved, SystemResolver};

use crate::domain::address::{AddressPolicy, Network};

/// From the look-up of the name to the last byte of the answer (`webhooks.timeout`).
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the body of an answer may take whose status alone counts.
pub const BODY_PATIENCE: Duration = Duration::from_secs(1);
/// Bytes of an answer's body that are read; with a longer body the connection is closed.
pub const MAX_ANSWER_BYTES: usize = 16 * 1024;
/// The most an answer's status line and headers may take.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The most headers an answer may have: more than servers send. Room for all of them is made for every interim
/// answer too, so a far larger number would let a receiver keep us busy.
pub const MAX_HEADERS: usize = 500;

/// How a client is set up; the same for all that it sends.
#[derive(Clone, Debug)]
pub struct OutboundConfig {
    /// One deadline for the whole of a POST.
    pub timeout: Duration,
    pub policy: AddressPolicy,
    /// Root certificates in PEM to trust in addition to the machine's own; usually empty.
    pub extra_roots_pem: Vec<u8>,
}

impl Default for OutboundConfig {
    fn default() -> OutboundConfig {
        OutboundConfig {
            timeout: DEFAULT_TIMEOUT,
            policy: AddressPolicy::default(),
            extra_roots_pem: Vec::new(),
        }
    }
}

impl OutboundConfig {
    /// For what an operator names, whom it may lead into his own network.
    pub fn anywhere(timeout: Duration) -> OutboundConfig {
        let all = ["0.0.0.0/0", "::/0"];
        let policy = AddressPolicy {
            allow_networks: all.iter().filter_map(|block| Network::parse(block)).collect(),
            allow_loopback: true,
        };
        OutboundConfig { timeout, policy, extra_roots_pem: Vec::new() }
    }
}

/// Why a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum OutboundProblem {
    #[error("a root certificate cannot be read: {0}")]
    BadRoot(String),
    #[error("TLS cannot be set up: {0}")]
    Tls(rustls::Error),
}

/// The result of one POST.
#[derive(Clone, Debug, Default)]
pub struct PostOutcome {
    /// The status, as soon as the headers were there; look at `error` as well.
    pub status: Option<u16>,
    /// The Retry-After header as it came; whether it makes sense is `domain::webhook`'s matter.
    pub retry_after: Option<String>,
    /// Up to 16 KiB of the body as text, for people; control characters are replaced, so that
    /// any database takes it. Longer bodies are cut here, which is no error.
    pub body_excerpt: String,
    /// `None` only if the answer arrived to its end (or to the limit) in time. Beside a status it says what
    /// became of the body, which changes nothing for who asks for the status alone.
    pub error: Option<PostError>,
    /// Some of the request may have reached the other side, whatever came back: a sender that
    /// must not send twice looks here before it sends again.
    pub maybe_seen: bool,
    pub duration: Duration,
}

impl PostOutcome {
    /// The status of an answer that arrived whole, for who must read its body.
    pub fn answered(&self) -> Option<u16> {
        if self.error.is_none() { self.status } else { None }
    }
}

/// What went wrong with a POST, in words for the record of the attempt (`causes`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// The host is, or resolves to, an address that is not connected to.
    #[error("the address {address} is not allowed as a target: {why}")]
    AddressRefused { address: IpAddr, why: &'static str },
    #[error("{0}")]
    Dns(&'static str),
    #[error("could not connect: {0}")]
    Connect(String),
    /// The handshake failed, an untrusted or wrong certificate included.
    #[error("no secure connection: {0}")]
    Tls(String),
    #[error("timed out")]
    Timeout,
    /// The status was there, and that was enough.
    #[error("the body did not end within {} s", BODY_PATIENCE.as_secs())]
    BodyOpen,
    /// More headers, interim answers or framing than are read.
    #[error("the response is too large: endless headers, interim responses or framing")]
    TooLarge,
    /// The connection broke off, or what came was no HTTP.
    #[error("{0}")]
    Protocol(String),
}
