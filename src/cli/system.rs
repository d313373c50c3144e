//! `serve`, `demo`, `migrate`, `audit`: commands about the installation as a whole.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::print::Object;
use super::{Desk, not_available};
use crate::app::App;
use crate::store::StoreOptions;

/// Parts of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Role {
    Api,
    Pages,
    Mail,
    Work,
}

#[derive(Args)]
pub(super) struct ServeArgs {
    /// Run only these parts
    #[arg(long, value_delimiter = ',', value_name = "PART,PART")]
    role: Vec<Role>,
}

#[derive(Args)]
pub(super) struct DemoArgs {
    /// End after the run instead of serving on
    #[arg(long)]
    once: bool,
}

pub(super) async fn serve(args: ServeArgs, _desk: &Desk) -> anyhow::Result<()> {
    let _ = args.role;
    Err(not_available("serve"))
}

pub(super) async fn demo(args: DemoArgs, _desk: &Desk) -> anyhow::Result<()> {
    let _ = args.once;
    Err(not_available("demo"))
}

pub(super) async fn migrate(desk: &Desk) -> anyhow::Result<()> {
    let options = StoreOptions::command(desk.config.database_url());
    let app = App::open(desk.config.clone(), &options).await?;
    let migrations = app.store.migrate(app.now()).await?;
    let object = Object::new().with("database", app.store.engine()).with("migrations", migrations);
    desk.printer.object(&object)
}

pub(super) async fn audit(_desk: &Desk) -> anyhow::Result<ExitCode> {
    Err(not_available("audit"))
}
