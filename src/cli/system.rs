//! `serve`, `demo`, `migrate`, `audit`: commands about the installation as a whole.

use std::process::ExitCode;

use clap::Args;

use super::Desk;
use super::print::{self, Object};
use crate::ops::ledger::audit;
use crate::ops::ledger::check::{Check, Found};
use crate::serve::{self, Roles, ServeError};

#[derive(Args)]
pub(super) struct ServeArgs {
    /// Run only these parts, separated by commas: api, pages, mail, work
    #[arg(long, value_name = "PART,PART", value_parser = Roles::parse)]
    role: Option<Roles>,
}

#[derive(Args)]
pub(super) struct DemoArgs {
    /// Exit after the run instead of staying up
    #[arg(long)]
    pub(super) once: bool,
}

pub(super) async fn serve(args: ServeArgs, desk: &Desk) -> anyhow::Result<()> {
    let roles = args.role.unwrap_or(Roles::ALL);
    for words in desk.exposed_files() {
        tracing::warn!("{words}");
    }
    let used = serve::Used { configuration: desk.configured_by(), database: desk.database() };
    match serve::run(desk.config.clone(), roles, &used, serve::until_told()).await {
        Err(ServeError::Start(error)) => Err(desk.explain(error)),
        Err(error @ (ServeError::Logo(_) | ServeError::Tls(_))) => {
            Err(anyhow::anyhow!("{}: {error}", desk.configuration()))
        }
        done => Ok(done?),
    }
}

pub(super) async fn migrate(desk: &Desk) -> anyhow::Result<()> {
    for words in desk.exposed_files() {
        print::warn(words);
    }
    let app = desk.make().await?;
    let migrations = app.prepare().await?;
    print::note(format_args!("configuration file: {}; database: {}", desk.configured_by(), desk.database()));
    if let Some(told) = app.new_key() {
        print::note(told);
    }
    let object = Object::new().with("database", app.engine()).with("migrations", migrations);
    desk.printer.object(&object)
}

pub(super) async fn audit(desk: &Desk) -> anyhow::Result<ExitCode> {
    let app = desk.open().await?;
    let checks = audit::audit(&app).await?;
    let ok = checks.iter().all(|check| check.violations == 0);
    let rows: Vec<Object> = checks.iter().map(check).collect();
    let printer = desk.printer;
    if printer.json {
        printer.object(&Object::new().with("ok", ok).with("checks", rows))?;
    } else {
        printer.list("checks", &["name", "rows", "violations"], rows)?;
        for broken in checks.iter().filter(|check| check.violations != 0) {
            printer.line("")?;
            printer.object(&violation(broken))?;
        }
        printer.remark(true, if ok { "the books are in order" } else { NOT_IN_ORDER })?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const NOT_IN_ORDER: &str = "
THE BOOKS ARE NOT IN ORDER
Stop paying out. Keep a copy of the database. Look at the rows named above. The cause is a bug, a storage fault, or \
somebody who changed the database by hand. On PostgreSQL the schema `people` shows the rows in readable form.";

fn check(check: &Check) -> Object {
    let found: Vec<Object> = check.found.iter().map(found).collect();
    let advice = (check.violations != 0).then(|| audit::what_to_do(check.name));
    Object::new()
        .with("name", check.name)
        .with("rows", check.rows)
        .with("violations", check.violations)
        .with("found", found)
        .with("what_to_do", advice)
}

fn found(found: &Found) -> Object {
    let (business_id, transaction_id) = found.payment.clone().unzip();
    Object::new()
        .with("table", &found.table)
        .with("id", found.id)
        .with("business_id", business_id)
        .with("transaction_id", transaction_id)
}

/// What people are told of a clause that is broken.
fn violation(check: &Check) -> Object {
    let mut tables: Vec<(&str, Vec<String>)> = Vec::new();
    for one in &check.found {
        let id = one.id.map_or_else(|| "the whole table".into(), |id| id.to_string());
        let row = match &one.payment {
            Some((business, transaction)) => format!("{id} ({transaction} of business {business})"),
            None => id,
        };
        match tables.iter_mut().find(|(table, _)| *table == one.table) {
            Some((_, rows)) => rows.push(row),
            None => tables.push((&one.table, vec![row])),
        }
    }
    let told: Vec<String> =
        tables.iter().map(|(table, rows)| format!("{table} {}", rows.join(", "))).collect();
    let more = check.violations > check.found.len() as i64;
    let rows = if more { format!("{}; and more", told.join("; ")) } else { told.join("; ") };
    Object::new()
        .with("check", check.name)
        .with("violations", check.violations)
        .with("first_rows", rows)
        .with("what_to_do", audit::what_to_do(check.name))
}
