//! `backup`, `restore`, `hold`, `resume`: a copy of the embedded database and the way back, and what goes out meanwhile.
//!
//! The key is never in a copy: whoever finds one can read no secret. Nothing is overwritten, and what was restored tells nobody
//! of the past until an operator has looked (docs/decisions/0090-backup-and-restore.md).

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::Desk;
use super::print::{self, Object};
use crate::app::App;
use crate::app::copies::{self, Copied};
use crate::config::Secret;
use crate::ops::holds;
use crate::ops::ledger::audit::audit;

const MIB: f64 = 1024.0 * 1024.0;
const OF_A_SERVER: &str = "the database is a server's, which has tools of its own: pg_dump or pg_basebackup to back up, \
                           pg_restore or the archived log to restore; docs/operating.md shows both. After a restore run \
                           tillbell hold before you start the service";
const AFTER_RESTORE: &str = "restored from a backup";

#[derive(Args)]
pub(super) struct BackupArgs {
    /// Where the copy is written; it must not be there yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Check a copy that is there instead: brings it up beside it, with your key, and runs the audit over it
    #[arg(long)]
    verify: bool,
}

#[derive(Args)]
pub(super) struct RestoreArgs {
    /// The copy that `backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Send at once what the copy still had to send
    #[arg(long)]
    resume: bool,
}

#[derive(Args)]
pub(super) struct HoldArgs {
    /// Why, for the list of what was done
    #[arg(long, value_name = "TEXT", default_value = AFTER_RESTORE)]
    reason: String,
}

pub(super) async fn backup(args: &BackupArgs, desk: &Desk) -> anyhow::Result<()> {
    if args.verify {
        return verify(&args.file, desk).await;
    }
    let Some(source) = copies::file_of(desk.config.database_url()) else { bail!(OF_A_SERVER) };
    // Says what is wrong with the database that is named, if there is none.
    drop(desk.open().await?);
    let began = Instant::now();
    let bytes = copied(&source, &args.file, "backed up").await?;
    copies::settle(&args.file)?;
    let seconds = began.elapsed().as_secs_f64();
    if let Secret::File(key) = &desk.config.secret {
        print::note(format_args!(
            "the key is not in it: keep {} elsewhere; without it the secrets in this copy cannot be read",
            key.display()
        ));
    }
    let object = Object::new()
        .with("file", args.file.display().to_string())
        .with("bytes", i64::try_from(bytes).unwrap_or(i64::MAX))
        .with("seconds", format!("{seconds:.1}"))
        .with("mib_per_second", format!("{:.0}", bytes as f64 / MIB / seconds.max(0.001)));
    desk.printer.object(&object)
}

/// With a bar where somebody looks.
async fn copied(from: &Path, to: &Path, what: &'static str) -> anyhow::Result<u64> {
    let bar = ProgressBar::new(0).with_message(what);
    let style = ProgressStyle::with_template("{bar:30} {bytes} of {total_bytes} {msg}, {eta} left");
    bar.set_style(style.context("the bar")?);
    let shown = bar.clone();
    let told = move |copied: Copied| {
        shown.set_length(copied.all);
        shown.set_position(copied.done);
    };
    let done = copies::copy(from.to_owned(), to.to_owned(), told).await;
    bar.finish_and_clear();
    Ok(done?)
}

/// Opens what `copied` wrote for `to`, and says that its books are in order.
async fn brought_up(desk: &Desk, file: &Path) -> anyhow::Result<(App, i64)> {
    let wrong = copies::check(file.to_owned()).await?;
    if !wrong.is_empty() {
        bail!("the copy is damaged: {}", wrong.join("; "));
    }
    let app = copies::bring_up(&desk.config, file).await.map_err(|error| desk.explain(error))?;
    let checks = audit(&app).await?;
    let broken: Vec<&str> =
        checks.iter().filter(|check| check.violations != 0).map(|check| check.name).collect();
    if !broken.is_empty() {
        bail!("the books of the copy are not in order: {}; run tillbell audit over it", broken.join(", "));
    }
    Ok((app, checks.iter().map(|check| check.rows).sum()))
}

async fn verify(file: &Path, desk: &Desk) -> anyhow::Result<()> {
    if !file.is_file() {
        bail!("there is no file {}", file.display());
    }
    let target = copies::beside(file, ".verify");
    let bytes = copied(file, &target, "read").await?;
    let scratch = copies::partial(&target);
    let done = brought_up(desk, &scratch).await;
    let done = match done {
        Ok((app, rows)) => {
            drop(app);
            copies::join_log(&scratch).map(|()| rows).map_err(anyhow::Error::from)
        }
        Err(error) => Err(error),
    };
    copies::remove(&scratch)?;
    let rows = done.with_context(|| file.display().to_string())?;
    let object = Object::new()
        .with("file", file.display().to_string())
        .with("ok", true)
        .with("bytes", i64::try_from(bytes).unwrap_or(i64::MAX))
        .with("rows_audited", rows);
    desk.printer.object(&object)
}

pub(super) async fn restore(args: &RestoreArgs, desk: &Desk) -> anyhow::Result<()> {
    let Some(target) = copies::file_of(desk.config.database_url()) else { bail!(OF_A_SERVER) };
    if !args.file.is_file() {
        bail!("there is no file {}", args.file.display());
    }
    for end in ["", "-wal", "-shm"] {
        let name = copies::beside(&target, end);
        if name.exists() {
            bail!(
                "{} is there already, and nothing is overwritten; stop the service and move it away first",
                name.display()
            );
        }
    }
    copied(&args.file, &target, "restored").await?;
    let scratch = copies::partial(&target);
    let (app, rows) = brought_up(desk, &scratch)
        .await
        .with_context(|| format!("nothing was put in place; the copy is at {}", scratch.display()))?;
    if !args.resume {
        holds::hold(&app, &desk.operator, AFTER_RESTORE).await?;
    }
    let waiting = holds::waiting(&app).await?;
    drop(app);
    copies::join_log(&scratch)?;
    copies::settle(&target)?;
    if !args.resume {
        print::note(
            "everything that goes out by itself is held: webhooks, messages, mails. Start the service, look, then run \
             tillbell resume",
        );
    }
    let object = Object::new()
        .with("database", target.display().to_string())
        .with("rows_audited", rows)
        .with("held", !args.resume)
        .with("waiting", waiting);
    desk.printer.object(&object)
}

pub(super) async fn hold(args: &HoldArgs, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    holds::hold(&app, &desk.operator, &args.reason).await?;
    told(&app, desk).await
}

pub(super) async fn resume(desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    if !holds::resume(&app, &desk.operator).await? {
        print::note("nothing was held");
    }
    told(&app, desk).await
}

async fn told(app: &App, desk: &Desk) -> anyhow::Result<()> {
    let since = holds::held_since(app).await?;
    let object = Object::new().with("held_since", since).with("waiting", holds::waiting(app).await?);
    desk.printer.object(&object)
}
