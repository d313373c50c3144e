//! The command line: one file per group of commands, each reading arguments, calling ops, printing.
//!
//! Commands work on the database directly, also while the service runs, and every command that
//! opens it brings the schema up to date first, as `serve` does: a fresh installation needs no
//! step of its own, and two programs that migrate at once wait for one another.
//!
//! Exit codes: 0 done, 1 refused or failed (one line on stderr), 2 wrong usage. With `--json` one
//! JSON object is on stdout; warnings go to stderr. Called by `main` alone.

mod accounts;
mod alerts;
mod banks;
mod businesses;
mod csv;
mod demo;
mod keys;
mod logging;
mod mailboxes;
mod names;
mod options;
mod payments;
mod print;
mod reread;
mod settings;
mod system;
mod wallets;
mod webhooks;
mod websites;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};

use crate::app::App;
use crate::config::Config;
use crate::store::StoreOptions;
use crate::terminal;
use print::Printer;

/// The largest configuration file that is read.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// A payment gateway for plain bank transfers.
#[derive(Parser)]
#[command(name = "tillbell", version, propagate_version = true)]
struct Cli {
    /// Configuration file (TOML); the environment (TILLBELL_SECTION__KEY) overrides it
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service: API, pages, mail intake, workers
    Serve(system::ServeArgs),
    /// Show the whole way of a payment on a throw-away database
    Demo(system::DemoArgs),
    /// Bring the database's schema up to date
    Migrate,
    /// Businesses (merchants)
    #[command(subcommand)]
    Business(businesses::BusinessCommand),
    /// Websites of businesses
    #[command(subcommand)]
    Website(websites::WebsiteCommand),
    /// API keys of businesses
    #[command(subcommand)]
    Key(keys::KeyCommand),
    /// Receiving bank accounts
    #[command(subcommand)]
    Account(accounts::AccountCommand),
    /// Bank alert mails
    #[command(subcommand)]
    Alert(alerts::AlertCommand),
    /// Mailboxes that are read over IMAP
    #[command(subcommand)]
    Mailbox(mailboxes::MailboxCommand),
    /// Templates that read bank alert mails
    #[command(subcommand)]
    Bank(banks::BankCommand),
    /// The rule that compares payer names
    #[command(subcommand)]
    Name(names::NameCommand),
    /// Payments
    #[command(subcommand)]
    Payment(payments::PaymentCommand),
    /// Wallets of customers
    #[command(subcommand)]
    Wallet(wallets::WalletCommand),
    /// Messages to customers
    #[command(subcommand)]
    Message(wallets::MessageCommand),
    /// Webhook deliveries
    #[command(subcommand)]
    Webhook(webhooks::WebhookCommand),
    /// Recompute the books; exit 1 on any difference
    Audit,
    /// Show the effective configuration, secrets redacted
    Config,
}

/// What a command gets: how to print, and how to open the rest.
struct Desk {
    config: Config,
    printer: Printer,
    /// Who acts, for the record.
    operator: String,
}

impl Desk {
    /// Opens database, vault and the rest, the schema brought up to date.
    async fn open(&self) -> anyhow::Result<App> {
        let options = StoreOptions::command(self.config.database_url());
        let app = App::open(self.config.clone(), &options).await?;
        app.prepare().await?;
        Ok(app)
    }
}

/// Runs the command that `args` name (the first is the program's own name).
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // Help and version are answers; everything else is wrong usage.
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    match start(cli) {
        Ok(code) => code,
        // The reader of a pipe had enough, `| head` for instance: nothing to tell.
        Err(error) if is_hang_up(&error) => ExitCode::FAILURE,
        Err(error) => {
            let line = format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ");
            eprintln!("tillbell: {}", terminal::harmless_line(&line));
            ExitCode::FAILURE
        }
    }
}

fn start(cli: Cli) -> anyhow::Result<ExitCode> {
    let file = match &cli.config {
        Some(path) => read_config(path)?,
        None => String::new(),
    };
    // A variable that is not Unicode is none of ours; its name would have to be.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let config = Config::load(&file, environment)?;
    let is_long_running = matches!(cli.command, Command::Serve(_));
    // The service's log must not hold it up; a command's few warnings may. Dropped last.
    let _log = if is_long_running {
        Some(crate::serve::logging::start(config.log_format).context("starting the log")?)
    } else {
        logging::start(config.log_format);
        None
    };
    let desk = Desk { config, printer: Printer { json: cli.json }, operator: operator() };
    let mut builder = match cli.command {
        Command::Serve(_) | Command::Demo(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build().context("starting the runtime")?;
    runtime.block_on(dispatch(cli.command, &desk))
}

async fn dispatch(command: Command, desk: &Desk) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => system::serve(args, desk).await?,
        Command::Demo(args) => demo::run(&args).await?,
        Command::Migrate => system::migrate(desk).await?,
        Command::Audit => return system::audit(desk).await,
        Command::Business(command) => businesses::run(command, desk).await?,
        Command::Website(command) => websites::run(command, desk).await?,
        Command::Key(command) => keys::run(command, desk).await?,
        Command::Account(command) => accounts::run(command, desk).await?,
        Command::Alert(command) => alerts::run(command, desk).await?,
        Command::Mailbox(command) => mailboxes::run(command, desk).await?,
        Command::Bank(command) => return banks::run(command, desk).await,
        Command::Name(command) => names::run(command, desk)?,
        Command::Payment(command) => payments::run(command, desk).await?,
        Command::Wallet(command) => wallets::run(command, desk).await?,
        Command::Message(command) => wallets::run_messages(command, desk).await?,
        Command::Webhook(command) => webhooks::run(command, desk).await?,
        Command::Config => settings::show(desk)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn read_config(path: &std::path::Path) -> anyhow::Result<String> {
    let shown = path.display();
    let size = std::fs::metadata(path).with_context(|| format!("configuration file {shown}"))?.len();
    if size > CONFIG_BYTES_MAX {
        bail!("configuration file {shown}: larger than {CONFIG_BYTES_MAX} bytes");
    }
    std::fs::read_to_string(path).with_context(|| format!("configuration file {shown}"))
}

/// The login name, for the record of who did what; it proves nothing.
fn operator() -> String {
    let name = ["SUDO_USER", "USER", "LOGNAME"]
        .iter()
        .filter_map(|variable| std::env::var(variable).ok())
        .find(|name| !name.is_empty());
    let name: String = name.unwrap_or_default().chars().filter(|c| !c.is_control()).take(60).collect();
    if name.is_empty() { "command line".to_owned() } else { format!("command line: {name}") }
}

fn is_hang_up(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(broken)
}
