//! `serve`, `demo`, `migrate`, `audit`: commands about the installation as a whole.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::print::Object;
use super::{Desk, not_available};
use crate::app::App;
use crate::ops::audit;
use crate::serve::{self, Roles};
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

pub(super) async fn serve(args: ServeArgs, desk: &Desk) -> anyhow::Result<()> {
    let named = |role| args.role.is_empty() || args.role.contains(&role);
    let roles = Roles {
        api: named(Role::Api),
        pages: named(Role::Pages),
        mail: named(Role::Mail),
        work: named(Role::Work),
    };
    Ok(serve::run(desk.config.clone(), roles, serve::until_told()).await?)
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

pub(super) async fn audit(desk: &Desk) -> anyhow::Result<ExitCode> {
    let app = desk.open().await?;
    let checks = audit::audit(&app).await?;
    let ok = checks.iter().all(|check| check.violations == 0);
    let rows: Vec<Object> = checks
        .iter()
        .map(|check| {
            Object::new()
                .with("name", check.name)
                .with("rows", check.rows)
                .with("violations", check.violations)
        })
        .collect();
    if desk.printer.json {
        desk.printer.object(&Object::new().with("ok", ok).with("checks", rows))?;
    } else {
        desk.printer.list("checks", &["name", "rows", "violations"], rows)?;
        desk.printer.line(if ok { "the books are in order" } else { "THE BOOKS ARE NOT IN ORDER" })?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
