//! Reads mailboxes over IMAP: one reader per folder, over all nodes, for as long as the service runs.
//!
//! ```text
//! reader (lease, back-off) -> catch_up (what is new) -> batch (fetch, hand to `ingest`)
//!                                     \-> session (commands) -> wire (bytes) -> connect (TLS)
//! watch (alarms, gauges)
//! ```
//!
//! Nothing is changed in a mailbox. A mail is noted as taken in the Unit of its alert; see
//! docs/decisions/0019-mailbox-reading.md. Started by `serve`.

mod batch;
mod catch_up;
mod connect;
mod folder;
mod lease;
mod progress;
mod reader;
mod response;
mod secret;
mod session;
mod suspects;
mod watch;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::ingest::MailIngestor;
use crate::app::App;
use crate::config::ImapServer;
use crate::ops::mailboxes::MailboxKey;
use crate::ops::{OpError, mailboxes};
use reader::Reader;

/// How long everything may take. Tests use shorter ones.
#[derive(Clone, Copy, Debug)]
pub struct Timings {
    /// For the TCP connection, and for the TLS handshake.
    pub connect: Duration,
    /// Longest time without a byte while an answer is due.
    pub silence: Duration,
    /// For a whole command; the longest is a batch of mails over a slow line.
    pub command: Duration,
    /// IDLE is restarted after this time, before network devices forget the connection.
    pub idle: Duration,
    /// The folder is also checked this often, because servers sometimes do not tell.
    pub poll: Duration,
    /// The same if the server has no IDLE.
    pub poll_without_idle: Duration,
    /// Pause after a failure, doubled each time up to the second; up to half of it is added at random.
    pub retry: (Duration, Duration),
    /// The same after a refused login: too many lock an account.
    pub retry_login: (Duration, Duration),
    /// A mail that failed is tried again after this, doubled each time.
    pub retry_mail: Duration,
    /// How often the reader shows that it is alive.
    pub beat: Duration,
    /// After this time without a sign of life another reader takes over.
    pub take_over: Duration,
    /// How often alarms and gauges are looked at.
    pub watch: Duration,
}

impl Default for Timings {
    fn default() -> Timings {
        let seconds = Duration::from_secs;
        Timings {
            connect: seconds(15),
            silence: seconds(30),
            command: seconds(180),
            idle: seconds(9 * 60),
            poll: seconds(60),
            poll_without_idle: seconds(15),
            retry: (seconds(1), seconds(60)),
            retry_login: (seconds(15), seconds(300)),
            retry_mail: seconds(5),
            beat: seconds(2),
            take_over: seconds(8),
            watch: seconds(5),
        }
    }
}

/// Why reading stopped. They contain no secrets and may be logged.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("cannot connect to {0}")]
    Connect(String),
    #[error("TLS with {0}")]
    Tls(String),
    /// A file of the operator's is at fault; no server was asked.
    #[error("the login was not tried: {0}")]
    Secret(String),
    #[error("the login was refused: {0}")]
    Login(String),
    #[error("the connection was lost: {0}")]
    Connection(String),
    #[error("the server did not respond for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("the server ended the session: {0}")]
    Bye(String),
    #[error("the server's response is not valid IMAP: {0}")]
    Protocol(String),
    #[error("the server announced {announced} bytes; at most {allowed} are allowed")]
    TooLong { announced: u64, allowed: usize },
    /// The only trouble after which the connection can still be used.
    #[error("the server refused the command: {0}")]
    Refused(String),
    #[error(transparent)]
    Op(#[from] OpError),
    /// Another reader took over.
    #[error("another reader has taken over this mailbox")]
    LeaseLost,
}

/// Makes the rows of the configured mailboxes before anything else runs, so that nothing is decided as if there
/// were no mailboxes. Every node does it, whether it reads them or not.
pub async fn register(app: &App) -> Result<(), OpError> {
    for (server, folder) in folders(app) {
        mailboxes::configure(app, &key(server, folder), &server.folder_name(folder)).await?;
    }
    Ok(())
}

/// Logs in and opens every folder, and reads nothing: how many mails are there.
pub async fn try_it(server: &ImapServer) -> Result<u64, Trouble> {
    let mut session = session::Session::open(server, &Timings::default()).await?;
    let mut mails = 0;
    for folder in &server.folders {
        session.examine(folder).await?;
        mails += session.mails();
    }
    Ok(mails)
}

/// Starts the watch over the configured mailboxes alone, for a node that does not read them: when the
/// node that does is gone, somebody must raise the alarm.
pub fn start_watch(app: &Arc<App>, stop: &CancellationToken) -> Option<JoinHandle<()>> {
    let is_needed = folders(app).next().is_some();
    is_needed.then(|| tokio::spawn(watch::run(app.clone(), Timings::default(), stop.clone())))
}

/// Starts a reader for each configured folder, and the watch over them. They end with `stop`.
pub fn start(app: &Arc<App>, ingestor: &MailIngestor, stop: &CancellationToken) -> Vec<JoinHandle<()>> {
    start_with(app, ingestor, stop, Timings::default())
}

/// The same with the caller's timings.
pub fn start_with(
    app: &Arc<App>,
    ingestor: &MailIngestor,
    stop: &CancellationToken,
    timings: Timings,
) -> Vec<JoinHandle<()>> {
    let mut tasks: Vec<JoinHandle<()>> = folders(app)
        .map(|(server, folder)| start_one(app, ingestor, server, folder, stop, timings))
        .collect();
    if !tasks.is_empty() {
        tasks.push(tokio::spawn(watch::run(app.clone(), timings, stop.clone())));
    }
    tasks
}

/// A single reader, configured or not.
pub fn start_one(
    app: &Arc<App>,
    ingestor: &MailIngestor,
    server: &ImapServer,
    folder: &str,
    stop: &CancellationToken,
    timings: Timings,
) -> JoinHandle<()> {
    let reader = Reader::new(app.clone(), ingestor.clone(), server.clone(), folder.to_owned(), timings);
    tokio::spawn(reader.run(stop.clone()))
}

fn folders(app: &App) -> impl Iterator<Item = (&ImapServer, &str)> {
    app.config.mail.imap.iter().flat_map(|server| server.folders.iter().map(move |f| (server, f.as_str())))
}

fn key(server: &ImapServer, folder: &str) -> MailboxKey {
    MailboxKey {
        host: server.host.clone(),
        port: server.port,
        login: server.user.clone(),
        folder: folder.to_owned(),
    }
}
