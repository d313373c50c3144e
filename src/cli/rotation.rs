//! `tillbell key rotate`: a new key to seal with, or a new root key, while nodes serve.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::Args;
use indicatif::ProgressBar;

use super::Desk;
use super::print::{self, Object};
use crate::app::App;
use crate::config::Secret;
use crate::ops::data_keys::reseal::{self, Progress};
use crate::ops::data_keys::{self, KeysRefused, Standing, Stays};
use crate::vault::Vault;

const OLDER: &str = "the database has no keys of its own yet; run tillbell migrate";
/// Between two looks at a key that does not seal yet.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Args)]
#[group(multiple = false)]
pub(super) struct RotateArgs {
    /// Make the key and leave the sealing of older values to the service
    #[arg(long)]
    detach: bool,
    /// Only tell how the keys stand
    #[arg(long)]
    status: bool,
    /// Let the root key in this file open the database as well; the file is made if it is not there
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    /// End the use of the root key of before, when every node runs with the new one
    #[arg(long)]
    finish: bool,
    /// Take the new root key back instead, when every node runs with the one of before
    #[arg(long)]
    undo: bool,
}

pub(super) async fn run(args: &RotateArgs, app: &App, desk: &Desk) -> anyhow::Result<()> {
    if args.status {
        return told(app, desk).await;
    }
    if let Some(file) = &args.root {
        return add_root(file, app, desk).await;
    }
    if args.finish {
        data_keys::drop_other_roots(app, Stays::New, &desk.operator).await??;
        print::note(
            "the root key of before opens this database no more; keep it as long as backups made under it, and run tillbell key \
             rotate now",
        );
        return told(app, desk).await;
    }
    if args.undo {
        data_keys::drop_other_roots(app, Stays::Before, &desk.operator).await??;
        return told(app, desk).await;
    }
    let key = data_keys::rotate(app, &desk.operator).await??;
    if args.detach {
        print::note("the service seals older values under the new key; see tillbell key rotate --status");
        return told(app, desk).await;
    }
    print::note(format_args!(
        "key {} seals from {} on, when every node knows it; you may interrupt this, the service goes on with it",
        key.id, key.seals_from
    ));
    follow(app).await?;
    told(app, desk).await
}

/// Seals what is older, with what has been done on the terminal.
async fn follow(app: &App) -> anyhow::Result<()> {
    let bar = ProgressBar::new_spinner();
    let mut rows = 0;
    loop {
        match reseal::step(app).await? {
            Progress::Idle | Progress::Ended(_) => break,
            Progress::Waits => {
                bar.set_message("the key is being told to every node");
                bar.tick();
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Progress::Went { table, looked_at } => {
                rows += looked_at;
                bar.set_message(format!("{table}: {rows} rows looked at"));
                bar.tick();
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}

async fn add_root(file: &std::path::Path, app: &App, desk: &Desk) -> anyhow::Result<()> {
    let root = Vault::open(&Secret::File(file.to_owned()), app.random.as_ref())?;
    match data_keys::add_root(app, &root, &desk.operator).await? {
        Ok(()) => {}
        // Nothing was changed. Where that is not known, the file may be the key of the database.
        Err(refused @ (KeysRefused::TwoRoots | KeysRefused::SameRoot)) => {
            root.withdraw();
            bail!(refused);
        }
        Err(refused) => bail!(refused),
    }
    let used = match &desk.config.secret {
        Secret::Key(_) => "give its content to every node as secret.key".to_owned(),
        Secret::File(path) => {
            format!("put it in the place of {}, or name it in secret.key_file, on every node", path.display())
        }
    };
    print::note(format_args!(
        "both root keys open the database now. Back {} up apart from the database; {used}; restart the nodes one by \
         one; then run tillbell key rotate --finish with the new key",
        file.display()
    ));
    told(app, desk).await
}

async fn told(app: &App, desk: &Desk) -> anyhow::Result<()> {
    let Some(standing) = data_keys::standing(app).await? else { bail!(OLDER) };
    let state = state(app, &standing);
    let Standing { newest, sealing_keys, roots } = standing;
    let older = i64::try_from(sealing_keys).map_err(|_| anyhow!("too many keys"))? - 1;
    let object = Object::new()
        .with("key", newest.id)
        .with("state", state)
        .with("made_at", newest.made_at)
        .with("seals_from", newest.seals_from)
        .with("values_resealed", newest.resealed)
        .with("older_keys_kept", older)
        .with("root_keys", roots.join(", "))
        .with("root_key_in_use", app.vault.root_fingerprint());
    desk.printer.object(&object)
}

fn state(app: &App, standing: &Standing) -> &'static str {
    let newest = &standing.newest;
    match newest.pass_ended {
        None if app.now() < newest.seals_from => "being told to every node",
        None => "older values are being sealed under it",
        Some(_) if newest.pass == 1 => "in use; older keys go after a second look a week later",
        Some(_) => "in use",
    }
}
