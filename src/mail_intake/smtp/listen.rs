//! The listener: binds, takes connections while there are places, and ends without losing a mail.
//!
//! When the service ends, no new connection is accepted, idle clients are answered with 421, and a mail that is
//! being received is still taken and answered. `serve` binds and runs it.

#[cfg(unix)]
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::entrance::{Entrance, Refused};
use super::session::{ServerContext, Session, Timeouts};
use super::wire::{SmtpStream, Stream};
use crate::app::App;
use crate::config::{Smtp, SmtpAddress};
use crate::mail_intake::ingest::MailIngestor;
use crate::slots::{Peer, Slot};
use crate::tls::Tls;

/// Mails read and stored at once. Reading takes a core for a moment and several times the mail's size
/// in memory; more at once would only wait for one another.
const INGEST_PERMITS: usize = 16;
/// Connections that are being told at one time that there is no place.
const REFUSALS_MAX: usize = 64;
/// Pause after the machine had no room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time for mails that are being received when the service ends; SIGTERM allows 30 s in all.
const DRAIN: Duration = Duration::from_secs(25);
/// Open to everybody on this machine, like a loopback port; the permissions of its folder decide who reaches
/// it.
#[cfg(unix)]
const SOCKET_MODE: u32 = 0o666;

/// Why there is no listener.
#[derive(Debug, thiserror::Error)]
pub enum SmtpProblem {
    #[error("mail.smtp.listen: cannot listen on {address}: {why}")]
    Bind { address: SmtpAddress, why: std::io::Error },
    #[error("mail.smtp.listen: {0} exists and is in use, or is not a socket; remove it if nothing needs it")]
    InTheWay(SmtpAddress),
}

enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

/// A bound listener.
pub struct Receiver {
    listener: Listener,
    address: SmtpAddress,
    context: Arc<ServerContext>,
}

impl Receiver {
    /// Binds `smtp.listen`; `tls` is what STARTTLS uses, `None`: it is not offered. From `stop` on
    /// nothing new is begun.
    pub async fn bind(
        app: Arc<App>,
        ingestor: MailIngestor,
        smtp: &Smtp,
        tls: Option<Arc<Tls>>,
        timeouts: Timeouts,
        stop: CancellationToken,
    ) -> Result<Receiver, SmtpProblem> {
        let (listener, address) = bind(&smtp.listen).await?;
        let entrance = Entrance::new(smtp.max_connections as usize, smtp.allow_networks.clone());
        let ingest_permits = Arc::new(Semaphore::new(INGEST_PERMITS));
        let smtp = smtp.clone();
        let context =
            Arc::new(ServerContext { app, ingestor, smtp, tls, timeouts, entrance, ingest_permits, stop });
        Ok(Receiver { listener, address, context })
    }

    /// The bound address, also when port 0 was asked for.
    pub fn address(&self) -> &SmtpAddress {
        &self.address
    }

    /// `smtp` or `lmtp`, for people.
    pub fn protocol(&self) -> &'static str {
        self.context.smtp.protocol.as_str()
    }

    /// Takes connections until `stop`, then lets the mails under way end.
    pub async fn run(self) {
        let Receiver { listener, address, context } = self;
        let dialogues = TaskTracker::new();
        let cut = CancellationToken::new();
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        loop {
            let accepted = tokio::select! {
                () = context.stop.cancelled() => break,
                accepted = accept(&listener) => accepted,
            };
            let (io, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "an SMTP connection could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            match context.entrance.take(peer) {
                Ok(slot) => {
                    let (context, cut) = (context.clone(), cut.clone());
                    dialogues.spawn(async move {
                        tokio::select! {
                            () = serve(context, peer, io, slot) => {}
                            () = cut.cancelled() => {}
                        }
                    });
                }
                Err(refused) => turn_away(io, refused, &refusals),
            }
        }
        drop(listener);
        if let SmtpAddress::Unix(path) = &address {
            drop(std::fs::remove_file(path));
        }
        dialogues.close();
        if timeout(DRAIN, dialogues.wait()).await.is_err() {
            tracing::warn!(
                "mails were still being received after {} s; their senders will retry",
                DRAIN.as_secs()
            );
        }
        cut.cancel();
    }
}

async fn serve(context: Arc<ServerContext>, peer: Peer, io: Box<dyn Stream>, slot: Slot) {
    let connections = metrics::gauge!("tillbell_smtp_connections");
    connections.increment(1);
    let end = Session::new(context, peer).run(SmtpStream::new(io)).await;
    connections.decrement(1);
    metrics::counter!("tillbell_smtp_sessions_total", "end" => end).increment(1);
    drop(slot);
}

/// Tells a client that there is no place; of too many of them some are only cut off.
fn turn_away(io: Box<dyn Stream>, refused: Refused, refusals: &Arc<Semaphore>) {
    metrics::counter!("tillbell_smtp_sessions_total", "end" => refused.name()).increment(1);
    let Ok(place) = refusals.clone().try_acquire_owned() else { return };
    tokio::spawn(async move {
        let mut wire = SmtpStream::new(io);
        if wire.say(&[refused.answer()]).await.is_ok() {
            wire.close().await;
        }
        drop(place);
    });
}

async fn accept(listener: &Listener) -> std::io::Result<(Box<dyn Stream>, Peer)> {
    match listener {
        Listener::Tcp(tcp) => {
            let (stream, peer) = tcp.accept().await?;
            // Answers are written whole; waiting for more to fill a packet only delays them.
            let _ = stream.set_nodelay(true);
            Ok((Box::new(stream), Peer::new(peer.ip())))
        }
        #[cfg(unix)]
        Listener::Unix(unix) => {
            let (stream, _) = unix.accept().await?;
            Ok((Box::new(stream), Peer::Local))
        }
    }
}

async fn bind(address: &SmtpAddress) -> Result<(Listener, SmtpAddress), SmtpProblem> {
    let failed = |why| SmtpProblem::Bind { address: address.clone(), why };
    match address {
        SmtpAddress::Tcp(wanted) => {
            let tcp = TcpListener::bind(wanted).await.map_err(failed)?;
            let bound = tcp.local_addr().map_err(failed)?;
            Ok((Listener::Tcp(tcp), SmtpAddress::Tcp(bound)))
        }
        #[cfg(unix)]
        SmtpAddress::Unix(path) => {
            use std::os::unix::fs::PermissionsExt;
            if !remove_stale(path).await {
                return Err(SmtpProblem::InTheWay(address.clone()));
            }
            let unix = UnixListener::bind(path).map_err(failed)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(SOCKET_MODE)).map_err(failed)?;
            Ok((Listener::Unix(unix), address.clone()))
        }
        #[cfg(not(unix))]
        SmtpAddress::Unix(_) => Err(failed(std::io::ErrorKind::Unsupported.into())),
    }
}

/// A process that was killed leaves its socket behind: one that nobody answers on is removed. False if
/// something else is there.
#[cfg(unix)]
async fn remove_stale(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let Ok(there) = std::fs::symlink_metadata(path) else { return true };
    let refused = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionRefused;
    there.file_type().is_socket()
        && tokio::net::UnixStream::connect(path).await.is_err_and(refused)
        && std::fs::remove_file(path).is_ok()
}
