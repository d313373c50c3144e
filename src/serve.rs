//! The service: opens the database, migrates it, starts the doors, and ends them.
//!
//! [`run`] is what the command calls; [`start`] and [`Running`] are its parts, so that tests and the
//! demo can serve inside their own process. Nothing is decided here.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::alert_reader::{Banks, TemplateError};
use crate::app::keys::{KeysProblem, read_keys};
use crate::app::{App, StartError, check_authorities};
use crate::config::{Config, SmtpAddress};
use crate::domain::notice::NoticeKind;
use crate::http::pages::brand::{Brand, LogoProblem};
use crate::http::server::bounds::Bounds;
use crate::http::server::listen::TLS_PROTOCOLS;
use crate::http::server::meters;
use crate::http::{self, Http, Purpose};
use crate::log_limit::warn_of;
use crate::mail_intake::imap;
use crate::mail_intake::ingest::MailIngestor;
use crate::mail_intake::smtp::SmtpProblem;
use crate::ops::OpError;
use crate::ops::alerts::prove_later::Verifier;
use crate::ops::figures;
use crate::ops::notices::alarms::raise;
use crate::ops::wallet_payments::start::PAGES;
use crate::store::{StoreError, StoreOptions};
use crate::tls::{Tls, TlsProblem};
use crate::work;

mod alone;
mod intake;
pub mod logging;
pub mod other_nodes;
mod supervised;

/// Time between two flushes of the directory.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// A Redis server that restarts is no alarm.
const LIMITS_APART_FOR: Duration = Duration::from_secs(60);
/// What is left of the 30 s after the listeners had 25 s to drain.
const STOP_WITHIN: Duration = Duration::from_secs(29);

/// Which doors this node opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    pub api: bool,
    pub pages: bool,
    pub mail: bool,
    pub work: bool,
}

impl Roles {
    pub const ALL: Roles = Roles { api: true, pages: true, mail: true, work: true };

    /// Reads `api,work`. The error names the word that is no role.
    pub fn parse(list: &str) -> Result<Roles, String> {
        let mut roles = Roles { api: false, pages: false, mail: false, work: false };
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "api" => roles.api = true,
                "pages" => roles.pages = true,
                "mail" => roles.mail = true,
                "work" => roles.work = true,
                other => return Err(format!("{other:?} is not a role: api, pages, mail, work")),
            }
        }
        if roles == (Roles { api: false, pages: false, mail: false, work: false }) {
            return Err("name at least one role: api, pages, mail, work".into());
        }
        Ok(roles)
    }
}

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{key}: cannot listen on {address}: {why}")]
    Listen { key: &'static str, address: SocketAddr, why: std::io::Error },
    #[error(transparent)]
    Tls(#[from] TlsProblem),
    #[error(transparent)]
    Logo(#[from] LogoProblem),
    #[error(transparent)]
    Banks(#[from] TemplateError),
    #[error(transparent)]
    Smtp(#[from] SmtpProblem),
    #[error(transparent)]
    Op(#[from] OpError),
    #[error(
        "another tillbell serve already runs on the database {place} ({holder}); stop it first, or use PostgreSQL to \
         run several"
    )]
    Taken { place: String, holder: String },
}

/// A running service.
pub struct Running {
    pub app: Arc<App>,
    /// What the main listener got, also when port 0 was asked for.
    pub address: SocketAddr,
    pub operator_address: Option<SocketAddr>,
    /// Where mails are accepted, if anywhere.
    pub smtp_address: Option<SmtpAddress>,
    http: Arc<Http>,
    tls: Option<Arc<Tls>>,
    smtp_tls: Option<Arc<Tls>>,
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

/// What a start names in the log, so that nobody looks for data in another database.
pub struct Used {
    pub configuration: String,
    /// Without a password.
    pub database: String,
}

/// Opens, migrates, listens, and serves until `shutdown`. Prints one line to stdout when ready.
pub async fn run(
    config: Config,
    roles: Roles,
    used: &Used,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    check_files(&config, roles)?;
    if roles.mail {
        tell_of_secret_files(&config);
    }
    let options = StoreOptions::service(config.database_url()).beside(config.database.direct_url());
    let app = App::make(config, &options).await?;
    let _alone = alone::hold(app.config.database_url())?;
    tracing::info!(configuration = used.configuration, database = used.database, "starting");
    if let Some(told) = app.new_key() {
        tracing::warn!("{told}");
    }
    if app.config.server.dev {
        tracing::warn!(
            messenger = app.messenger.name(),
            "DEV MODE: webhooks may go to this machine and over plain HTTP, and the messenger `log` prints \
             customers' messages. Do not let other machines reach it"
        );
    }
    // Everybody knows this of the demo.
    if roles.mail && app.config.mail.smtp.is_none() && app.config.mail.imap.is_empty() {
        tracing::warn!(
            "no mails will arrive: neither mail.imap nor mail.smtp is set, so payments are approved only by mails \
             that `alert ingest` takes in, and test payments by those that are simulated"
        );
    }
    let running = start(Arc::new(app), roles).await?;
    println!("listening on {}", running.url());
    supervised::ready(&running.url());
    let watched = supervised::watched();
    let reload = tokio::spawn(reload_on_hangup(vec![
        ("server", running.tls.clone()),
        ("mail.smtp", running.smtp_tls.clone()),
    ]));
    shutdown.await;
    tracing::info!("shutting down: no new requests are accepted; those in progress are finished");
    supervised::stopping();
    reload.abort();
    running.stop().await;
    // Until the end: what is finished may take longer than the watchdog waits.
    if let Some(watched) = watched {
        watched.abort();
    }
    Ok(())
}

/// A password file that is not there yet may be made later, as one with a token is; the reader says it again.
fn tell_of_secret_files(config: &Config) {
    for (key, path) in config.secret_files().into_iter().filter(|(key, _)| key.starts_with("mail.imap")) {
        if let Err(error) = std::fs::File::open(path) {
            tracing::warn!(
                "{key} = {:?} cannot be read: {error}; the mailbox is not read until it can be",
                path.display().to_string()
            );
        }
    }
}

/// Reads what the settings name, so that a mistake there is told before a database is made.
fn check_files(config: &Config, roles: Roles) -> Result<(), ServeError> {
    if let Some(files) = &config.server.tls {
        Tls::load(files, TLS_PROTOCOLS)?;
    }
    let smtp = config.mail.smtp.as_ref().filter(|_| roles.mail);
    if let Some(files) = smtp.and_then(|smtp| smtp.tls.as_ref()) {
        Tls::load(files, &[])?;
    }
    if roles.pages {
        Brand::load(&config.pages)?;
    }
    Banks::configured(config.banks_folder.as_deref())?;
    Ok(check_authorities(config)?)
}

/// Migrates, binds and starts everything on an open `App`.
pub async fn start(app: Arc<App>, roles: Roles) -> Result<Running, ServeError> {
    for name in app.prepare().await? {
        tracing::info!(name, "migrated the database");
    }
    // A rule that asks whether a counter grew misses its first event if that makes the counter. What is counted before
    // there is a recorder counts nowhere.
    let _ = meters::recorder();
    for kind in NoticeKind::ALARMS {
        metrics::counter!("tillbell_alarms_total", "kind" => kind.as_str()).increment(0);
    }
    let server = &app.config.server;
    for words in app.config.warnings() {
        tracing::warn!("{words}");
    }
    let tls = server.tls.as_ref().map(|files| Tls::load(files, TLS_PROTOCOLS)).transpose()?.map(Arc::new);
    let pages = &app.config.pages;
    let brand = if roles.pages { Brand::load(pages)? } else { Brand::plain(pages) };
    // Before anything runs: the sweep must know that there are mailboxes to wait for.
    imap::register(&app).await?;
    let (tcp, address) = bind("server.listen", server.listen).await?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    // Known only now where port 0 was asked for; a second start in one process keeps the first.
    let _ = app.own_url.set(format!("{scheme}://{address}"));
    if app.messenger.is_log() && !server.dev {
        tracing::warn!(
            "messenger = \"log\": customers get no messages, so nobody can confirm a wallet payment"
        );
    }
    tell_of_whatsapp(&app);
    tell_of_wallets(&app, roles).await?;
    if let Some(since) = app.store.held_since().await?.filter(|_| roles.work) {
        tracing::warn!(
            %since,
            "webhooks, messages, mails and alarms are held back, because this database was restored or somebody ran \
             `tillbell hold`; look at it, then run `tillbell resume`"
        );
    }
    let operator = match server.operator_listen {
        Some(address) => Some(bind("server.operator_listen", address).await?),
        None => None,
    };
    let operator_address = operator.as_ref().map(|(_, address)| *address);
    let banks = Banks::configured(app.config.banks_folder.as_deref())?;
    let room = MailIngestor::new(&app.config, Arc::new(banks));
    let http = Http::new(app.clone(), brand, Arc::new(room.clone()));
    let stop = CancellationToken::new();
    let intake = intake::start(&app, roles.mail, &room, &stop).await?;
    let mut tasks = intake.tasks;
    let purpose = Purpose::Public { api: roles.api, pages: roles.pages, tls: tls.clone() };
    tasks.push(tokio::spawn(http::serve(tcp, purpose, http.clone(), Bounds::default(), stop.clone())));
    if let Some((tcp, address)) = operator {
        tracing::info!(%address, "operator listener");
        let serving = http::serve(tcp, Purpose::Operator, http.clone(), Bounds::default(), stop.clone());
        tasks.push(tokio::spawn(serving));
    }
    tasks.push(tokio::spawn(keep_house(app.clone(), http.clone(), stop.clone())));
    tasks.push(tokio::spawn(other_nodes::run(app.clone(), stop.clone())));
    let (watching, ended) = (http.clone(), stop.clone());
    tasks.push(tokio::spawn(async move { watching.watch(&ended).await }));
    if roles.work {
        let verifier: Arc<dyn Verifier> = Arc::new(room);
        tasks.push(tokio::spawn(work::run(app.clone(), Some(verifier), stop.clone())));
    }
    Ok(Running {
        app,
        address,
        operator_address,
        smtp_address: intake.smtp,
        http,
        tls,
        smtp_tls: intake.tls,
        stop,
        tasks,
    })
}

/// What an operator must know after setting it up.
fn tell_of_whatsapp(app: &App) {
    let Some(whatsapp) = app.config.messenger.whatsapp() else { return };
    tracing::info!(
        number = whatsapp.phone_number_id,
        button = format!("{}{PAGES}{{{{1}}}}", app.public_url()),
        "messages are sent by WhatsApp; the button of the payment link template must lead to this address"
    );
    if whatsapp.webhook.is_none() {
        tracing::warn!(
            "whatsapp.app_secret and whatsapp.verify_token are not set: there are no delivery reports, and \
             customers get templates even if they have just written"
        );
    }
}

/// What is missing where customers use wallets: a name, and links that they can open.
async fn tell_of_wallets(app: &App, roles: Roles) -> Result<(), ServeError> {
    let is_nameless = roles.pages && app.config.pages.operator_name.is_none();
    let links = app.config.unreachable_links().filter(|_| roles.api || roles.pages);
    if !is_nameless && links.is_none() {
        return Ok(());
    }
    if !app.store.businesses().await?.iter().any(|business| business.wallet_enabled) {
        return Ok(());
    }
    if let Some(words) = links {
        tracing::warn!("{words}");
    }
    if is_nameless {
        tracing::warn!(
            "wallets are on, but pages.operator_name is not set: pages and messages do not say whose wallet it is, \
             and tell customers to contact \"your wallet provider\". Set pages.support as well, so that they know how"
        );
    }
    Ok(())
}

async fn bind(key: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |why| ServeError::Listen { key, address, why };
    let tcp = TcpListener::bind(address).await.map_err(failed)?;
    let bound = tcp.local_addr().map_err(failed)?;
    Ok((tcp, bound))
}

impl Running {
    /// For how long this node has counted rate limits for itself though nodes share them.
    pub fn limits_apart_for(&self) -> Option<Duration> {
        self.http.limits_apart_for()
    }

    /// Base of the main listener's addresses.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Answers what is under way, then ends; never takes longer than SIGTERM promises.
    pub async fn stop(self) {
        self.http.drain();
        // What asks whether this node is ready sends nothing here any more, before nothing is taken any more.
        let delay = self.app.config.server.stop_delay.to_std();
        tokio::time::sleep(delay).await;
        self.stop.cancel();
        let all = futures_util::future::join_all(self.tasks);
        if tokio::time::timeout(STOP_WITHIN.saturating_sub(delay), all).await.is_err() {
            tracing::warn!("some work did not finish in time; it is taken up again when its leases expire");
        }
        if let Err(error) = self.app.directory.flush().await {
            tracing::warn!(%error, "the last use of some accounts was not stored");
        }
        if let Err(error) = figures::refused::flush(&self.app).await {
            tracing::warn!(%error, "some refused requests were not stored");
        }
    }
}

/// Small regular work of every process: nodes without workers must flush too.
async fn keep_house(app: Arc<App>, http: Arc<Http>, stop: CancellationToken) {
    let mut flush = tokio::time::interval(FLUSH_EVERY);
    let mut upkeep = tokio::time::interval(UPKEEP_EVERY);
    flush.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut is_clock_wrong = false;
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            _ = flush.tick() => {
                if let Err(error) = app.directory.flush().await {
                    warn_of!(app, &error, "the last use of accounts was not stored; retrying");
                }
                follow_keys(&app, &http).await;
                if let Err(error) = figures::refused::flush(&app).await {
                    warn_of!(app, &error, "refused requests were not stored; retrying");
                }
                if app.log_limit.is_away() && app.store.ping().await.is_ok() && app.log_limit.is_back() {
                    tracing::info!("the database answers again");
                }
            }
            _ = upkeep.tick() => {
                http.upkeep();
                follow_clock(&app, &mut is_clock_wrong).await;
                if http.limits_apart_for().is_some_and(|apart| apart >= LIMITS_APART_FOR) {
                    let body = "Redis does not answer: each node counts rate limits for itself.";
                    raise(&app, NoticeKind::LimitsApart, "redis", body, "/operator").await;
                }
            }
        }
    }
}

/// Reads the database's keys. Where the root key opens them no more, this node takes no further part.
async fn follow_keys(app: &App, http: &Http) {
    match read_keys(app).await {
        Ok(()) => {}
        Err(problem @ KeysProblem::Vault(_)) => {
            http.drain();
            warn_of!(
                app,
                &problem,
                "ALARM: this node's root key opens the database no more, so it is not ready: restart it with the new one"
            );
        }
        Err(problem) => {
            warn_of!(
                app,
                &problem,
                "the keys of the database were not read; going on with those that are known"
            );
        }
    }
}

/// Goes by the database's clock, and says once when this machine's is another one: mails are proven by that.
async fn follow_clock(app: &App, is_wrong: &mut bool) {
    let Some(clock) = &app.shared_clock else { return };
    if let Err(error) = app.read_clock().await {
        warn_of!(app, &error, "the clock of the database was not read; going on by the last reading");
        return;
    }
    let Some((ahead, is_off)) = clock.own_is_ahead() else { return };
    metrics::gauge!("tillbell_clock_ahead_seconds").set(ahead.0 as f64 / 1e6);
    let was_wrong = std::mem::replace(is_wrong, is_off);
    if is_off && !was_wrong {
        tracing::warn!(
            seconds = ahead.0 / 1_000_000,
            "this machine's clock is ahead of the database's by so much (negative: behind); the database's counts. Run a \
             time service on both"
        );
    }
}

/// Returns when the process is told to end: SIGTERM, or Ctrl-C.
pub async fn until_told() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut told) => {
                tokio::select! {
                    () = interrupted => {}
                    _ = told.recv() => {}
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot listen for SIGTERM");
                interrupted.await;
            }
        }
    }
    #[cfg(not(unix))]
    interrupted.await;
}

/// SIGHUP reads the certificates again.
async fn reload_on_hangup(listeners: Vec<(&'static str, Option<Arc<Tls>>)>) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
        while hangup.recv().await.is_some() {
            for (listener, tls) in &listeners {
                let Some(tls) = tls else { continue };
                match tls.reload() {
                    Ok(()) => tracing::info!(listener, "a certificate was reloaded"),
                    Err(error) => {
                        tracing::error!(listener, %error, "a certificate could not be reloaded; the current \
                                                           one stays in use")
                    }
                }
            }
        }
    }
    #[cfg(not(unix))]
    drop(listeners);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_from_a_list() {
        assert_eq!(Roles::parse("api,pages, mail,work"), Ok(Roles::ALL));
        let some = Roles::parse("work").unwrap();
        assert!(some.work && !some.api && !some.mail && !some.pages);
        assert!(Roles::parse("api,cook").unwrap_err().contains("cook"));
        assert!(Roles::parse(" ,").is_err());
    }
}
