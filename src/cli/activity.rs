//! `tillbell activity`: who did what, and why.

use anyhow::bail;
use clap::Args;

use super::Desk;
use super::options::{Since, newest, since};
use super::print::Object;
use crate::app::App;
use crate::domain::phone::Phone;
use crate::domain::time::Timestamp;
use crate::ops::activity::{OperatorAct, Search, find_acts};
use crate::ops::alerts::read::find_alert;
use crate::ops::payments::read::is_known;
use crate::ops::wallets::find;

#[derive(Args)]
pub(super) struct ActivityArgs {
    /// Only what was done to this: "alert 42", "payment ORDER-81", "wallet 08031234567", "business 1" and so on
    ///
    /// Also "website 1", "key 1", "account 1", "mailbox 1" and "webhook 1".
    #[arg(long, value_name = "WHAT", value_parser = about)]
    about: Option<About>,
    /// Only what was done to this business and to its payments, websites, keys, accounts and webhooks
    #[arg(long, value_name = "ID")]
    business: Option<i64>,
    /// Actions of the last 24h, 7d, ... or since a day (2026-03-10, UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// Largest number of actions to show
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

/// What acts are looked for by.
#[derive(Clone, Debug)]
enum About {
    /// In the words of the record.
    Subject(String),
    Wallet(Phone),
}

/// Things that the record names by their number.
const NUMBERED: [&str; 9] =
    ["alert", "wallet", "business", "website", "key", "account", "mailbox", "webhook", "payout"];

/// A form that no act has would find nothing, and pass for "nobody did anything".
fn about(text: &str) -> Result<About, String> {
    let wrong = || {
        "must be one of \"alert 42\", \"payment ORDER-81\", \"wallet 08031234567\", \"business 1\", \"website 1\", \
         \"key 1\", \"account 1\", \"mailbox 1\", \"webhook 1\", \"payout 1\""
            .to_owned()
    };
    let (thing, which) = text.trim().split_once(' ').ok_or_else(wrong)?;
    let which = which.trim();
    if thing == "payment" && !which.is_empty() {
        return Ok(About::Subject(format!("payment {which}")));
    }
    if thing == "wallet"
        && let Ok(phone) = Phone::parse(which)
    {
        return Ok(About::Wallet(phone));
    }
    let id: i64 = which.parse().map_err(|_| wrong())?;
    if NUMBERED.contains(&thing) { Ok(About::Subject(format!("{thing} {id}"))) } else { Err(wrong()) }
}

pub(super) async fn run(args: &ActivityArgs, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    let since = args.since.as_ref().map_or(Timestamp::MIN, |since| since.before(app.now()));
    let limit = args.limit as usize;
    let subject = match &args.about {
        None => None,
        Some(About::Subject(subject)) => Some(subject.clone()),
        Some(About::Wallet(phone)) => match find::find(&app, phone).await? {
            Some(wallet) => Some(format!("wallet {}", wallet.id)),
            None => bail!("the number {} has no wallet", phone.masked()),
        },
    };
    let search = Search { subject: subject.as_deref(), business_id: args.business, since, limit };
    let Some((acts, more)) = find_acts(&app, &search).await? else {
        bail!("there is no business {}", args.business.unwrap_or_default());
    };
    let columns = ["at", "operator", "act", "about", "reason"];
    let mut rows = Vec::with_capacity(acts.len());
    for act in &acts {
        let mut about = thing(&app, &act.subject).await?;
        if let Some(id) = act.business_id.filter(|_| !desk.printer.json && !about.starts_with("business ")) {
            about = format!("{about} (business {id})");
        }
        rows.push(object(act, about));
    }
    if let (true, Some(About::Subject(subject))) = (rows.is_empty(), &args.about) {
        is_there(&app, subject).await?;
    }
    if rows.is_empty() && !desk.printer.json {
        return desk.printer.line("no actions");
    }
    desk.printer.list_with("acts", &columns, rows, Object::new().with("more", more))?;
    desk.printer.remark(more, &newest(args.limit))
}

/// A slip of the pen must not look like a thing to which nothing was done.
async fn is_there(app: &App, subject: &str) -> anyhow::Result<()> {
    let known = match subject.split_once(' ') {
        Some(("alert", id)) => find_alert(app, id.parse()?).await?.is_some(),
        Some(("payment", id)) => is_known(app, None, id).await?,
        _ => true,
    };
    if known { Ok(()) } else { bail!("there is no {subject}") }
}

/// What an act is about, as people know it: a wallet by its number, masked.
async fn thing(app: &App, subject: &str) -> anyhow::Result<String> {
    let id = subject.strip_prefix("wallet ").and_then(|id| id.parse().ok());
    let Some(id) = id else { return Ok(subject.to_owned()) };
    let wallet = find::wallet(app, id).await?;
    Ok(wallet.map_or_else(|| subject.to_owned(), |wallet| format!("wallet {}", wallet.phone.masked())))
}

fn object(act: &OperatorAct, about: String) -> Object {
    Object::new()
        .with("id", act.id)
        .with("at", act.at)
        .with("operator", &act.operator)
        .with("act", &act.act)
        .with("about", about)
        .with("business_id", act.business_id)
        .with("reason", Some(&act.reason).filter(|reason| !reason.is_empty()))
}
