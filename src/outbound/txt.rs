//! TXT records from DNS, within bounds: a deadline, few servers, a small cache.
//!
//! It distinguishes three results: records, a name server's answer that there are none, and trouble, from which
//! nothing follows. What they mean is not judged here. Called by `mail_proof` for the keys of signatures, and by ops for
//! the proof that a website is a merchant's.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::system_conf::read_system_conf;

/// Answers kept in memory; every bank has one or two keys.
const CACHED_ANSWERS: u64 = 512;
/// For how long an answer is used: a revoked key counts no longer than this, and a new key is seen this soon.
const FRESH_FOR: Duration = Duration::from_secs(600);
const ABSENT_FOR: Duration = Duration::from_secs(60);
/// One question to one server.
const ONE_TRY: Duration = Duration::from_millis(1_500);
/// Records and bytes of one answer that are taken.
const MAX_RECORDS: usize = 10;
const MAX_RECORD_BYTES: usize = 8 * 1024;

/// What DNS says of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The TXT records of the name, each joined to one.
    Records(Vec<Vec<u8>>),
    /// A name server says that there is none.
    Absent,
    /// No answer, or one that says nothing: try again later.
    Trouble(String),
}

/// After a server was silent, a caller in a hurry does not ask again for this long.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// A resolver of TXT records. Cheap to clone.
#[derive(Clone)]
pub struct TxtRecords {
    resolver: Result<Arc<TokioResolver>, String>,
    /// When a query last timed out.
    silent: Arc<Mutex<Option<Instant>>>,
}

impl TxtRecords {
    /// Asks `servers`, or the system's where none are named. Never fails: what is wrong is told at
    /// every question, as trouble.
    pub fn new(servers: &[SocketAddr]) -> TxtRecords {
        let resolver = resolver(servers).map(Arc::new);
        let resolver = resolver.map_err(|error| format!("no name server can be used: {error}"));
        TxtRecords { resolver, silent: Arc::default() }
    }

    /// The records of `name` (absolute, with its final dot), or trouble when `within` is over. In a
    /// hurry (a person feeds in many files) a server that was silent just now is not waited for again.
    pub async fn ask(&self, name: &str, within: Duration, hurry: bool) -> Answer {
        let resolver = match &self.resolver {
            Ok(resolver) => resolver,
            Err(why) => return Answer::Trouble(why.clone()),
        };
        let silence = || Answer::Trouble("the name server did not answer in time".into());
        let was_silent = *self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if hurry && was_silent.is_some_and(|at| at.elapsed() < SILENT_FOR) {
            return silence();
        }
        match tokio::time::timeout(within, resolver.txt_lookup(name)).await {
            Err(_) | Ok(Err(NetError::Timeout)) => {
                *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                silence()
            }
            Ok(Err(error)) => judge(&error),
            Ok(Ok(found)) => {
                let mut texts = found.answers().iter().filter_map(|record| match &record.data {
                    RData::TXT(txt) => Some(txt.txt_data.concat()),
                    _ => None,
                });
                // A record that is too long to be used exists all the same.
                let Some(first) = texts.next() else { return Answer::Absent };
                let all = std::iter::once(first).chain(texts);
                Answer::Records(all.filter(|text| text.len() <= MAX_RECORD_BYTES).take(MAX_RECORDS).collect())
            }
        }
    }
}

fn judge(error: &NetError) -> Answer {
    if let NetError::Dns(DnsError::NoRecordsFound(none)) = error
        && matches!(none.response_code, ResponseCode::NXDomain | ResponseCode::NoError)
    {
        return Answer::Absent;
    }
    Answer::Trouble(format!("the DNS lookup failed: {error}"))
}

fn resolver(servers: &[SocketAddr]) -> Result<TokioResolver, NetError> {
    let (config, mut options) = if servers.is_empty() {
        read_system_conf()?
    } else {
        let servers = servers.iter().map(|server| {
            let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut one| {
                one.port = server.port();
                one
            });
            NameServerConfig::new(server.ip(), true, connections.into())
        });
        (ResolverConfig::from_parts(None, Vec::new(), servers.collect()), ResolverOpts::default())
    };
    options.timeout = ONE_TRY;
    options.attempts = 1;
    options.cache_size = CACHED_ANSWERS;
    options.positive_max_ttl = Some(FRESH_FOR);
    options.negative_max_ttl = Some(ABSENT_FOR);
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).with_options(options).build()
}
