//! `tillbell activity`: who did what, and why.

use clap::Args;

use super::Desk;
use super::options::{Since, since};
use super::print::Object;
use crate::domain::time::Timestamp;
use crate::store::tables::acts::OperatorAct;

#[derive(Args)]
pub(super) struct ActivityArgs {
    /// Only what was done to this, in the words of the list, such as "alert 42" or "payment ORDER-81"
    #[arg(long, value_name = "WHAT")]
    about: Option<String>,
    /// Acts of the last 24h, 7d, ... or since a day (2026-03-10, UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// Largest number of acts to show
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

pub(super) async fn run(args: &ActivityArgs, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    let since = args.since.as_ref().map_or(Timestamp::MIN, |since| since.before(app.now()));
    let limit = args.limit as usize;
    let mut acts = app.store.acts(args.about.as_deref(), since, limit + 1).await?;
    let more = acts.len() > limit;
    acts.truncate(limit);
    let columns = ["at", "operator", "act", "about", "reason"];
    let rows = acts.iter().map(object).collect();
    desk.printer.list_with("acts", &columns, rows, Object::new().with("more", more))?;
    desk.printer.remark(more, &format!("only the newest {limit} are shown; --limit shows more"))
}

fn object(act: &OperatorAct) -> Object {
    Object::new()
        .with("id", act.id)
        .with("at", act.at)
        .with("operator", &act.operator)
        .with("act", &act.act)
        .with("about", &act.subject)
        .with("reason", Some(&act.reason).filter(|reason| !reason.is_empty()))
}
