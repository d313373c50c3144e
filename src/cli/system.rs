//! `serve`, `demo`, `migrate`, `audit`: commands about the installation as a whole.

use std::process::ExitCode;

use clap::Args;

use super::Desk;
use super::print::Object;
use crate::ops::audit;
use crate::serve::{self, Roles, ServeError};

#[derive(Args)]
pub(super) struct ServeArgs {
    /// Run only these parts of: api, pages, mail, work
    #[arg(long, value_name = "PART,PART", value_parser = Roles::parse)]
    role: Option<Roles>,
}

#[derive(Args)]
pub(super) struct DemoArgs {
    /// End after the run instead of serving on
    #[arg(long)]
    pub(super) once: bool,
}

pub(super) async fn serve(args: ServeArgs, desk: &Desk) -> anyhow::Result<()> {
    let roles = args.role.unwrap_or(Roles::ALL);
    match serve::run(desk.config.clone(), roles, serve::until_told()).await {
        Err(ServeError::Start(error)) => Err(desk.explain(error)),
        done => Ok(done?),
    }
}

pub(super) async fn migrate(desk: &Desk) -> anyhow::Result<()> {
    let app = desk.make().await?;
    let migrations = app.prepare().await?;
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
