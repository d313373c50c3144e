//! What every op gets: the database, the clock, randomness, the configuration, the way out.
//!
//! One `App` per process. Tests build it with a clock they set and randomness they seed; nothing
//! below asks the machine for either.

pub mod copies;
pub mod keys;
pub mod requests;

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tokio::sync::watch;

use crate::clock::{Clock, Random, SharedClock, SystemClock, SystemRandom};
use crate::config::{Config, MessengerChoice, Origin, Secret};
use crate::directory::Directory;
use crate::domain::address::AddressPolicy;
use crate::domain::time::Timestamp;
use crate::log_limit::LogLimit;
use crate::outbound::hook::{Hook, HookProblem};
use crate::outbound::mailer::{Mailer, MailerProblem};
use crate::outbound::messenger::Messenger;
use crate::outbound::whatsapp::{WhatsApp, WhatsAppProblem};
use crate::outbound::{Outbound, OutboundConfig, OutboundProblem, authorities};
pub use crate::store::StoreOptions;
pub use crate::store::engine::look::place as database_place;
use crate::store::engine::look::{self, Found, Schema};
use crate::store::{Store, StoreError};
use crate::vault::hasher::SecretHasher;
use crate::vault::{Vault, VaultError};
use keys::KeysProblem;
use requests::RequestLog;

/// Handed to ops and doors as `Arc<App>`.
pub struct App {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    /// The same, where it is the database's that all nodes share; see [`App::read_clock`].
    pub shared_clock: Option<Arc<SharedClock>>,
    pub random: Arc<dyn Random>,
    pub config: Config,
    pub outbound: Outbound,
    pub vault: Vault,
    /// Where PINs are hashed, one at a time.
    pub pins: SecretHasher,
    /// Where passwords are, beside them.
    pub passwords: SecretHasher,
    /// Held while a PIN's try takes its places, so that tries of one node do not race one another.
    pub place_turn: tokio::sync::Mutex<()>,
    /// Held while events get their places, so that readers and workers of one node do not race one another.
    pub event_turn: tokio::sync::Mutex<()>,
    /// The way to customers' phones.
    pub messenger: Messenger,
    /// The way to people who sign in, where a mail server is configured.
    pub mailer: Option<Mailer>,
    /// Where operators hear of alarms beside their mails.
    pub hook: Option<Hook>,
    /// Base of links to our own pages where the configuration names none; set once it is listened.
    pub own_url: OnceLock<String>,
    /// Keys, businesses, websites, accounts, as they were at most a second ago.
    pub directory: Directory,
    /// Changes when a job was committed, so that workers need not wait for their poll. A worker marks it as seen
    /// before it looks for jobs: what is committed from then on ends its next wait at once.
    pub wake: watch::Sender<()>,
    /// Changes when this process committed something that other nodes are to look at.
    pub committed: watch::Sender<()>,
    /// Holds back log lines that a stranger could make come without end.
    pub log_limit: LogLimit,
    /// What became of merchants' requests, until it is written.
    pub requests: RequestLog,
}

/// Why the program cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Outbound(#[from] OutboundProblem),
    #[error("webhooks.extra_ca_file: {0}")]
    ExtraCaFile(String),
    #[error(transparent)]
    WhatsApp(#[from] WhatsAppProblem),
    #[error(transparent)]
    Mailer(#[from] MailerProblem),
    #[error(transparent)]
    Hook(#[from] HookProblem),
    #[error(
        "this database was made with another key: {found}; restore the key that belongs to it, because webhook \
         secrets cannot be read without it"
    )]
    OtherKey { found: String },
    #[error(
        "the key file {path} is missing; restore the one that belongs to this database, or name it in \
         secret.key_file, because webhook secrets cannot be read without it"
    )]
    NoKeyFile { path: String },
    #[error(transparent)]
    Standing(#[from] Standing),
}

/// Why a database is not opened, from what was seen of it. Each names the database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Standing {
    #[error("there is no database {0}")]
    Nothing(String),
    #[error("the database {0} has no tillbell tables")]
    Empty(String),
    #[error("{place} is not a tillbell database: {why}")]
    Foreign { place: String, why: String },
    #[error("the database {0} was only partly created")]
    Unfinished(String),
    #[error("the schema of the database {place} is older than this program; missing: {missing}")]
    Older { place: String, missing: String },
    #[error(
        "the database {place} was updated by a newer tillbell; this program ({own}) does not know its migration \
         {unknown}; use the newer program"
    )]
    Newer { place: String, unknown: String, own: &'static str },
}

/// Such a program would not keep what the newer one's tables are for.
fn refuse_newer(schema: &Schema, place: impl Fn() -> String) -> Result<(), Standing> {
    if schema.unknown.is_empty() {
        return Ok(());
    }
    let (place, unknown) = (place(), schema.unknown.join(", "));
    Err(Standing::Newer { place, unknown, own: env!("CARGO_PKG_VERSION") })
}

/// A new key must not take the place of one that sealed what the database holds.
fn refuse_lost_key(secret: &Secret) -> Result<(), StartError> {
    let Secret::File(path) = secret else { return Ok(()) };
    let is_lost =
        matches!(std::fs::metadata(path), Err(error) if error.kind() == std::io::ErrorKind::NotFound);
    if !is_lost {
        return Ok(());
    }
    // Relative to a folder that may be another one today.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    Err(StartError::NoKeyFile { path: whole.display().to_string() })
}

/// What the key check holds, and its place.
const KEY_CHECK: &str = "key_checks/1/sealed";

/// The authorities that webhooks trust besides the machine's, in PEM.
fn extra_roots(config: &Config) -> Result<Vec<u8>, StartError> {
    match &config.webhooks.extra_ca_file {
        Some(path) => authorities::read(path).map_err(StartError::ExtraCaFile),
        None => Ok(Vec::new()),
    }
}

/// Makes sure that the authorities can be read, before anything is made.
pub fn check_authorities(config: &Config) -> Result<(), StartError> {
    extra_roots(config).map(drop)
}

impl App {
    /// For the programs that make what is not there yet. Does not migrate.
    pub async fn make(config: Config, options: &StoreOptions) -> Result<App, StartError> {
        let place = || look::place(options.session_url());
        let found = look::look(options.session_url()).await?;
        let found_nothing = found == Found::Nothing;
        let has_key = match found {
            // A server's databases are made by whoever runs it.
            Found::Nothing if !options.url.starts_with("sqlite:") => {
                return Err(Standing::Nothing(place()).into());
            }
            Found::Nothing | Found::Empty => false,
            Found::Foreign(why) => return Err(Standing::Foreign { place: place(), why }.into()),
            Found::Ours(schema) => {
                refuse_newer(&schema, place)?;
                schema.has_key
            }
        };
        if has_key {
            refuse_lost_key(&config.secret)?;
        }
        let is_default = config.database.origin == Origin::Default;
        let app = App::open(config, options).await?;
        let relative = options.url.strip_prefix("sqlite:").filter(|path| !path.starts_with('/'));
        if let Some(path) = relative.filter(|_| found_nothing && !is_default) {
            // Started in another folder, a service would find no data.
            let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
            tracing::warn!("a new, empty database was created at {}", whole.display());
        }
        if found_nothing && is_default {
            tracing::warn!(
                database = place(),
                "a new, empty database was created, because no configuration file and no environment variable names \
                 one; if you have one already, name it in database.url"
            );
        }
        Ok(app)
    }

    /// For all others: takes what is there, whole and up to date, and makes nothing.
    pub async fn find(config: Config, options: &StoreOptions) -> Result<App, StartError> {
        App::found(config, options, false).await
    }

    /// The same of one whose schema may be older than this program.
    async fn find_any(config: Config, options: &StoreOptions) -> Result<App, StartError> {
        App::found(config, options, true).await
    }

    async fn found(config: Config, options: &StoreOptions, older: bool) -> Result<App, StartError> {
        let place = || look::place(options.session_url());
        let schema = match look::look(options.session_url()).await? {
            Found::Nothing => return Err(Standing::Nothing(place()).into()),
            Found::Empty => return Err(Standing::Empty(place()).into()),
            Found::Foreign(why) => return Err(Standing::Foreign { place: place(), why }.into()),
            Found::Ours(schema) => schema,
        };
        refuse_newer(&schema, place)?;
        if schema.is_bare() {
            return Err(Standing::Unfinished(place()).into());
        }
        if !schema.missing.is_empty() && !older {
            return Err(Standing::Older { place: place(), missing: schema.missing.join(", ") }.into());
        }
        if !schema.has_key {
            return Err(Standing::Unfinished(place()).into());
        }
        refuse_lost_key(&config.secret)?;
        let app = App::open(config, options).await?;
        if schema.missing.is_empty() {
            app.check_key().await?
        } else {
            app.check_root().await?
        }
        Ok(app)
    }

    /// Opens everything with the database's clock, or the machine's where it has none of its own, and the machine's
    /// randomness, without a look at what is there. Does not migrate.
    pub async fn open(config: Config, options: &StoreOptions) -> Result<App, StartError> {
        let clock = Arc::new(SharedClock::new(Arc::new(SystemClock)));
        let mut app = App::open_with(config, options, clock.clone(), Arc::new(SystemRandom)).await?;
        app.shared_clock = Some(clock);
        app.read_clock().await?;
        Ok(app)
    }

    /// Reads the database's clock, by which leases, deadlines and expiry go on all nodes alike. To be done now and then.
    pub async fn read_clock(&self) -> Result<(), StoreError> {
        let Some(clock) = &self.shared_clock else { return Ok(()) };
        let asked = Instant::now();
        if let Some(reading) = self.store.clock().await? {
            clock.set(reading, asked);
        }
        Ok(())
    }

    /// The same with a clock and randomness of the caller's.
    pub async fn open_with(
        config: Config,
        options: &StoreOptions,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<App, StartError> {
        let store = Store::open(options).await?;
        let vault = Vault::open(&config.secret, random.as_ref())?;
        let outbound = Outbound::new(&OutboundConfig {
            timeout: config.webhooks.timeout.to_std(),
            policy: AddressPolicy {
                allow_networks: config.webhooks.allow_networks.clone(),
                allow_loopback: config.server.dev,
            },
            extra_roots_pem: extra_roots(&config)?,
        })?;
        let directory = Directory::new(store.clone(), clock.clone());
        let messenger = match &config.messenger {
            MessengerChoice::Log => Messenger::Log { shows_texts: config.server.dev },
            MessengerChoice::WhatsApp(whatsapp) => Messenger::WhatsApp(Arc::new(WhatsApp::new(whatsapp)?)),
        };
        let notify = &config.notify;
        let name = config.pages.operator_name.as_deref();
        let mailer = notify.smtp.as_ref().map(|server| Mailer::new(server, name)).transpose()?;
        let hook = notify.webhook_url.as_ref().map(Hook::new).transpose()?;
        Ok(App {
            store,
            clock,
            shared_clock: None,
            random,
            outbound,
            mailer,
            hook,
            pins: SecretHasher::for_pins(&vault),
            passwords: SecretHasher::for_passwords(&vault),
            place_turn: tokio::sync::Mutex::new(()),
            event_turn: tokio::sync::Mutex::new(()),
            vault,
            messenger,
            own_url: OnceLock::new(),
            directory,
            wake: watch::Sender::new(()),
            committed: watch::Sender::new(()),
            log_limit: LogLimit::default(),
            requests: RequestLog::default(),
            config,
        })
    }

    /// Brings the schema up to date and makes sure that this key sealed what the database holds: a
    /// lost key file must be noticed now, not when the first webhook cannot be signed. Returns the
    /// names of the migrations that ran.
    pub async fn prepare(&self) -> Result<Vec<String>, StartError> {
        let ran = match self.store.migrate(self.now()).await {
            Ok(ran) => ran,
            Err(error) => {
                // It sealed nothing, and whoever looks for the right one must not find it.
                self.vault.withdraw();
                return Err(error.into());
            }
        };
        keys::make_keys(self).await?;
        self.check_key().await?;
        Ok(ran)
    }

    /// Takes the database's keys, if the root key opens them.
    async fn check_key(&self) -> Result<(), StartError> {
        match keys::read_keys(self).await {
            // A schema of before may have no keys; then there is the check alone.
            Ok(()) if self.vault.sealing() == 0 => self.check_root().await,
            Ok(()) => Ok(()),
            Err(KeysProblem::Store(error)) => Err(error.into()),
            Err(KeysProblem::Vault(_)) => Err(self.other_key()),
        }
    }

    /// Makes sure that the root key sealed what a database without keys of its own holds.
    async fn check_root(&self) -> Result<(), StartError> {
        let sealed = self.store.key_check().await?.unwrap_or_default();
        let opened = self.vault.unseal_by_root(KEY_CHECK, &sealed);
        opened.map(drop).map_err(|_| self.other_key())
    }

    fn other_key(&self) -> StartError {
        StartError::OtherKey { found: self.found_key() }
    }

    /// What there is in place of the right key, in words.
    fn found_key(&self) -> String {
        match &self.config.secret {
            Secret::Key(_) => "secret.key is not it".to_owned(),
            Secret::File(path) if self.vault.withdraw() => {
                format!("the key file {} is missing", path.display())
            }
            Secret::File(path) => format!("the key file {} contains a different one", path.display()),
        }
    }

    /// What is to be said of a key file that was made just now.
    pub fn new_key(&self) -> Option<String> {
        let path = self.vault.made()?;
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Some(format!("key: created {}; back it up, separately from the database", whole.display()))
    }

    /// The database's kind, `sqlite` or `postgresql`.
    pub fn engine(&self) -> &'static str {
        self.store.engine()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Tells the workers of this process that a job was committed.
    pub fn wake_workers(&self) {
        self.wake.send_replace(());
        self.committed.send_replace(());
    }

    /// Base of links to our own pages, without a slash at its end: as configured, else as listened on.
    pub fn public_url(&self) -> String {
        let server = &self.config.server;
        let listened = || self.own_url.get().cloned();
        server.public_url.clone().or_else(listened).unwrap_or_else(|| {
            let scheme = if server.tls.is_some() { "https" } else { "http" };
            format!("{scheme}://{}", server.listen)
        })
    }
}
