//! The command line: one file per group of commands, each reading arguments, calling ops, printing.
//!
//! Commands work on the database directly, also while the service runs. `serve` and `migrate` make it and bring
//! its schema up to date; all others take what is there, and make nothing (`database.rs`).
//!
//! Exit codes: 0 done, 1 refused or failed (one line on stderr), 2 wrong usage. With `--json` one
//! JSON object is on stdout; warnings go to stderr. Called by `main` alone.

/// The examples that end a command's help: what follows `tillbell` in each line.
macro_rules! examples {
    ($($line:literal),+ $(,)?) => { concat!("Examples:", $("\n  tillbell ", $line),+) };
}

mod accounts;
mod activity;
mod alert_view;
mod alerts;
mod approvals;
mod backup;
mod banks;
mod businesses;
mod database;
mod demo;
mod dismissals;
mod doctor;
mod exposed;
#[cfg(test)]
mod help_tests;
mod keys;
mod listen;
mod logging;
mod mailboxes;
mod messages;
mod names;
mod options;
mod payments;
mod payouts;
mod person;
mod print;
mod reread;
mod reversal;
mod rotation;
mod settings;
mod shell;
mod shell_files;
mod system;
mod test_api;
mod trigger;
mod typed;
mod users;
mod wallets;
mod webhooks;
mod websites;

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::error::{ContextKind, ErrorKind};
use clap::{Parser, Subcommand};

use crate::config::Config;
use crate::terminal;
use database::ConfigFile;
use print::Printer;

/// The largest configuration file that is read.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Accept bank transfers as payments: a self-hosted gateway that reads your bank's alert mails
///
/// Try `tillbell demo` first. To run it for real: `tillbell migrate` makes the database, `business add`, `key
/// add` and `account add` fill it, and `tillbell serve` runs the service. All other commands may be used while
/// it runs.
#[derive(Parser)]
#[command(name = "tillbell", version, propagate_version = true)]
#[command(after_help = examples!["demo", "serve --config /etc/tillbell/tillbell.toml", "payment list --since 24h"])]
struct Cli {
    /// Configuration file (TOML); TILLBELL_CONFIG=FILE does the same for all commands
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL)]
    config: Option<PathBuf>,
    /// Print one JSON object, for scripts
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,
    /// Print full lines and exact times, whatever the terminal's width
    #[arg(long, global = true, help_heading = GLOBAL)]
    wide: bool,
    #[command(subcommand)]
    command: Command,
}

/// Where options stand that every command takes.
const GLOBAL: &str = "Options of every command";

#[derive(Subcommand)]
enum Command {
    /// Run the service: API, customer pages, mail intake and workers
    ///
    /// Makes the database if there is none, brings its schema up to date and runs until Ctrl-C or SIGTERM.
    #[command(after_help = examples!["serve", "serve --config /etc/tillbell/tillbell.toml --role api,work"])]
    Serve(system::ServeArgs),
    /// See a payment from request to webhook, with nothing to set up
    ///
    /// Runs on this machine only, with a database in a temporary folder. Afterwards it keeps running, so that
    /// you can try the commands that it prints.
    #[command(after_help = examples!["demo", "demo --once --json"])]
    Demo(system::DemoArgs),
    /// Create the database, or update its schema, without starting the service
    #[command(after_help = examples!["migrate", "migrate --config /etc/tillbell/tillbell.toml"])]
    Migrate,
    /// Manage businesses: the merchants who receive payments
    #[command(subcommand, after_help = examples![
        "business add --name \"Suya Spot\" --email till@suya-spot.example",
        "business list",
    ])]
    Business(businesses::BusinessCommand),
    /// Manage the websites that a business may send webhooks and customers to
    #[command(subcommand, after_help = examples!["website add 1 suya-spot.example --approve", "website list 1"])]
    Website(websites::WebsiteCommand),
    /// Manage the API keys of a business
    #[command(subcommand, after_help = examples!["key add 1 --label \"web shop\"", "key list 1"])]
    Key(keys::KeyCommand),
    /// Manage the people who sign in: the operator's staff, and members of businesses
    #[command(subcommand, after_help = examples![
        "user add --email ife@till.example --staff admin",
        "user list",
    ])]
    User(users::UserCommand),
    /// Manage the bank accounts that customers pay into
    #[command(subcommand, after_help = examples![
        "account add --bank GTBank --number 0123456785 --name \"SUYA SPOT LTD\"",
        "account list",
    ])]
    Account(accounts::AccountCommand),
    /// Take in bank alert mails and decide about those that need a person
    #[command(subcommand, after_help = examples!["alert list --outcome review", "alert show 42"])]
    Alert(alerts::AlertCommand),
    /// Check the mailboxes that are read over IMAP
    #[command(subcommand, after_help = examples!["mailbox list"])]
    Mailbox(mailboxes::MailboxCommand),
    /// List and test the templates that read bank alert mails
    #[command(subcommand, after_help = examples!["bank list", "bank try alert.eml"])]
    Bank(banks::BankCommand),
    /// Test the rule that compares payer names
    #[command(subcommand, after_help = examples!["name compare \"Chidi Okafor\" \"OKAFOR CHIDI EMEKA\""])]
    Name(names::NameCommand),
    /// Find, show, reject and reverse payments
    #[command(subcommand, after_help = examples!["payment list --status pending", "payment show ORDER-81"])]
    Payment(payments::PaymentCommand),
    /// List payouts to businesses, say what became of them, write a file for the bank
    #[command(subcommand, after_help = examples!["payout list --status pending", "payout export --format csv"])]
    Payout(payouts::PayoutCommand),
    /// Show what is kept of somebody who paid, or take it out
    #[command(subcommand, after_help = examples!["person export --payment ORDER-81"])]
    Person(person::PersonCommand),
    /// Show and manage customers' wallets
    #[command(subcommand, after_help = examples!["wallet show 08031234567"])]
    Wallet(wallets::WalletCommand),
    /// Show the messages that were sent to customers
    #[command(subcommand, after_help = examples!["message list --phone 08031234567", "message show 12"])]
    Message(messages::MessageCommand),
    /// List, resend and test webhooks
    #[command(subcommand, after_help = examples!["webhook list --failed", "webhook test 1"])]
    Webhook(webhooks::WebhookCommand),
    /// Make an event happen in test mode, at a running service
    ///
    /// Asks for a test payment and simulates the mail that pays it, by the service's API. It works from any machine.
    #[command(after_help = examples!["trigger --url https://pay.example --key tb_test_... payment.approved"])]
    Trigger(trigger::TriggerArgs),
    /// Bring the webhooks of test mode to a program on this machine
    ///
    /// Follows the events of a running service by its API and posts each, with the bytes and headers of its webhook, to an
    /// address of yours. It works from any machine, and goes on where it was after a lost connection.
    #[command(after_help = examples!["listen --url URL --key tb_test_... --forward http://localhost:3000"])]
    Listen(listen::ListenArgs),
    /// Show who did what, and why, newest first
    ///
    /// Every approval, dismissal, reversal, rejection and change of settings that a person made, mails ingested with
    /// --trusted and webhooks sent again, each with the reason that was given.
    #[command(after_help = examples!["activity --since 24h", "activity --about \"alert 42\""])]
    Activity(activity::ActivityArgs),
    /// Check that the books are in order; exit 1 if they are not
    ///
    /// Recomputes every balance, charge and seal from the stored entries, and names the rows that are wrong.
    /// Changes nothing. Run it daily, after a restore, and before you move a database.
    #[command(after_help = examples!["audit", "audit --json"])]
    Audit,
    /// Copy the embedded database to a file, also while the service runs
    ///
    /// The copy holds everything that was acknowledged before it began. It is whole when FILE is there. The key is not in it:
    /// keep it elsewhere. For PostgreSQL it names the tools to use.
    #[command(after_help = examples!["backup /var/backups/tillbell-monday.db", "backup --verify /var/backups/tillbell-monday.db"])]
    Backup(backup::BackupArgs),
    /// Put a copy that `backup` wrote in the place of the database, which must be empty
    ///
    /// Checks the copy, brings its schema up to date, runs the audit, and holds everything that goes out by itself until
    /// you run `tillbell resume`, so that nobody is told the past again.
    #[command(after_help = examples!["restore /var/backups/tillbell-monday.db"])]
    Restore(backup::RestoreArgs),
    /// Hold back webhooks, messages to customers, mails and alarms until `resume`
    ///
    /// For a database that you restored with other tools, before the service is started on it.
    #[command(after_help = examples!["hold", "hold --reason \"restored to Monday noon\""])]
    Hold(backup::HoldArgs),
    /// Send what is held back
    #[command(after_help = examples!["resume"])]
    Resume,
    /// Look at everything that the service needs, and say what to do about what is wrong; exit 1 if something is
    ///
    /// Configuration, key, database, disk, clock, name servers, certificates, mailboxes, messages, and whether the public
    /// address leads here. Changes nothing, and may be run beside the service or before its first start.
    #[command(after_help = examples!["doctor", "doctor --config /etc/tillbell/tillbell.toml --json"])]
    Doctor,
    /// Print completions of these commands for a shell
    #[command(after_help = examples!["completions bash > /etc/bash_completion.d/tillbell"])]
    Completions(shell_files::CompletionsArgs),
    /// Write manual pages of these commands
    #[command(after_help = examples!["man /usr/local/share/man/man1"])]
    Man(shell_files::ManArgs),
    /// Show the configuration in effect, without its secrets
    #[command(after_help = examples!["config", "config --config /etc/tillbell/tillbell.toml --json"])]
    Config,
}

impl Command {
    /// Whether the section about mails bears on it. A command that only makes ready or shows is held to all of
    /// it.
    fn needs_mail(&self) -> bool {
        match self {
            Command::Serve(_) | Command::Demo(_) | Command::Migrate | Command::Config => true,
            Command::Doctor => true,
            Command::Completions(_) | Command::Man(_) => false,
            Command::Alert(_) | Command::Mailbox(_) | Command::Bank(_) => true,
            Command::Business(_) | Command::Website(_) | Command::Key(_) | Command::Account(_) => false,
            Command::Payout(_) | Command::Listen(_) | Command::Trigger(_) => false,
            Command::Payment(_)
            | Command::Person(_)
            | Command::Wallet(_)
            | Command::Message(_)
            | Command::Webhook(_) => false,
            Command::Name(_) | Command::Audit | Command::Activity(_) | Command::User(_) => false,
            Command::Backup(_) | Command::Restore(_) | Command::Hold(_) | Command::Resume => false,
        }
    }
}

/// What a command gets: how to print, and how to open the rest.
struct Desk {
    config: Config,
    /// Where the configuration was read from, if from a file.
    file: Option<ConfigFile>,
    printer: Printer,
    /// Who acts, for the record.
    operator: String,
}

/// Runs the command that `args` name (the first is the program's own name).
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let parsed = Cli::try_parse_from(args).map_err(in_words).and_then(|cli| match missing(&cli.command) {
        Some(text) => Err(misused(ErrorKind::MissingRequiredArgument, text)),
        None => Ok(cli),
    });
    let cli = match parsed {
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
    let file = ConfigFile::chosen(cli.config.as_deref());
    let config = configuration(&cli.command, file.as_ref())?;
    let is_long_running = matches!(cli.command, Command::Serve(_));
    // The service's log must not hold it up; a command's few warnings may. Dropped last.
    let _log = if is_long_running {
        Some(crate::serve::logging::start(config.log_format)?)
    } else {
        logging::start(config.log_format)?;
        None
    };
    let printer = Printer::new(cli.json, cli.wide);
    let desk = Desk { config, file, printer, operator: operator() };
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
        Command::Demo(args) => demo::run(&args, &desk.printer).await?,
        Command::Migrate => system::migrate(desk).await?,
        Command::Audit => return system::audit(desk).await,
        Command::Business(command) => businesses::run(command, desk).await?,
        Command::Website(command) => websites::run(command, desk).await?,
        Command::Key(command) => keys::run(command, desk).await?,
        Command::User(command) => users::run(command, desk).await?,
        Command::Account(command) => accounts::run(command, desk).await?,
        Command::Alert(command) => alerts::run(command, desk).await?,
        Command::Mailbox(command) => mailboxes::run(command, desk).await?,
        Command::Bank(command) => return banks::run(command, desk).await,
        Command::Activity(args) => activity::run(&args, desk).await?,
        Command::Name(command) => names::run(command, desk)?,
        Command::Payment(command) => payments::run(command, desk).await?,
        Command::Payout(command) => payouts::run(command, desk).await?,
        Command::Person(command) => person::run(command, desk).await?,
        Command::Wallet(command) => wallets::run(command, desk).await?,
        Command::Message(command) => messages::run(command, desk).await?,
        Command::Webhook(command) => webhooks::run(command, desk).await?,
        Command::Listen(args) => listen::run(&args, &desk.printer).await?,
        Command::Trigger(args) => trigger::run(&args, &desk.printer).await?,
        Command::Backup(args) => backup::backup(&args, desk).await?,
        Command::Restore(args) => backup::restore(&args, desk).await?,
        Command::Hold(args) => backup::hold(&args, desk).await?,
        Command::Resume => backup::resume(desk).await?,
        Command::Doctor => return doctor::run(desk).await,
        Command::Completions(args) => shell_files::completions(&args, desk.printer)?,
        Command::Man(args) => shell_files::man(&args, desk.printer)?,
        Command::Config => settings::show(desk)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What the file and the environment say. The demo has settings of its own, and what talks to a service's address alone needs
/// none.
fn configuration(command: &Command, file: Option<&ConfigFile>) -> anyhow::Result<Config> {
    if matches!(
        command,
        Command::Demo(_)
            | Command::Listen(_)
            | Command::Trigger(_)
            | Command::Completions(_)
            | Command::Man(_)
    ) {
        return Ok(Config::load("", std::iter::empty())?);
    }
    // A variable that is not Unicode is none of ours; its name would have to be.
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("TILLBELL_"))
        .collect();
    let is_overridden = environment.iter().any(|(name, _)| name.contains("__"));
    let text = match file {
        Some(file) => read_config(&file.path).with_context(|| file.told())?,
        None => String::new(),
    };
    let from = match (file, is_overridden) {
        (Some(file), true) => format!("{}, with TILLBELL_ variables", file.told()),
        (Some(file), false) => file.told(),
        (None, _) => "configuration".to_owned(),
    };
    match Config::load(&text, environment.iter().cloned()) {
        Ok(config) => Ok(config),
        Err(error) => match Config::load_without_mail(&text, environment.into_iter()) {
            Ok(config) if !command.needs_mail() => {
                print::warn(format_args!(
                    "{from}: {error}; this command continues, because it needs no mail settings"
                ));
                Ok(config)
            }
            _ => Err(error).context(from),
        },
    }
}

fn read_config(path: &Path) -> anyhow::Result<String> {
    let size = std::fs::metadata(path)?.len();
    if size > CONFIG_BYTES_MAX {
        bail!("larger than {CONFIG_BYTES_MAX} bytes");
    }
    Ok(std::fs::read_to_string(path)?)
}

/// Who runs this process, as the system knows them, for the record of who did what. What sudo says of its
/// caller is an environment variable like any other, so it stands beside that and never in its place.
fn operator() -> String {
    let name = whoami::username().ok().filter(|name| !name.is_empty());
    let name = name.or_else(|| user_id().map(|id| format!("user id {id}"))).unwrap_or_default();
    let sudo = std::env::var("SUDO_USER").ok().map(|caller| shortened(&caller)).unwrap_or_default();
    let sudo =
        if sudo.is_empty() || sudo == name { String::new() } else { format!(" (SUDO_USER says {sudo})") };
    format!("command line: {}{sudo}", shortened(&name))
}

/// What a name may put into the record.
fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// For a user without a name, as in a container: whose this process is.
fn user_id() -> Option<u32> {
    std::fs::metadata("/proc/self").ok().map(|process| process.uid())
}

/// What is wrong with arguments that can be read: a command that was told on nothing to act.
fn missing(command: &Command) -> Option<&'static str> {
    match command {
        Command::Webhook(command) => webhooks::missing(command),
        Command::Alert(command) => alerts::missing(command),
        _ => None,
    }
}

/// In words of ours where the reader of numbers has its own.
fn in_words(error: clap::Error) -> clap::Error {
    let is_number =
        std::error::Error::source(&error).is_some_and(|source| source.is::<std::num::ParseIntError>());
    if error.kind() != ErrorKind::ValueValidation || !is_number {
        return error;
    }
    let told = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (arg, value) = (told(ContextKind::InvalidArg), told(ContextKind::InvalidValue));
    let text = format!("invalid value '{value}' for '{arg}': it must be a whole number, such as 42");
    misused(ErrorKind::ValueValidation, &text)
}

/// Without a usage line: that of the program as a whole would tell nothing.
fn misused(kind: ErrorKind, text: &str) -> clap::Error {
    clap::Error::raw(kind, format!("{text}\n\nFor more information, try '--help'.\n"))
}

fn is_hang_up(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(broken)
}
