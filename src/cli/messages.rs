//! `tillbell message ...`

use anyhow::bail;
use clap::Subcommand;

use super::Desk;
use super::options::newest;
use super::print::{self, Object, Shown};
use crate::domain::phone::Phone;
use crate::ops::messages::shown::{self, Listed};

/// Messages that are listed unless told otherwise.
const LIST_USUAL: u32 = 50;
/// The text of each is made again by reads of its own.
const LIST_MAX: i64 = 1_000;
/// Messages that are named beside a list because they could not be read.
const NAMED_MAX: usize = 10;

#[derive(Subcommand)]
pub(super) enum MessageCommand {
    /// List messages to customers, newest first
    ///
    /// With --json the newest messages are printed oldest first. Codes and links are masked, except in dev mode
    /// when messages only go to the log. A message that cannot be decrypted is listed without its text.
    #[command(after_help = examples![
        "message list --limit 20",
        "message list --phone 08031234567",
    ])]
    List {
        /// Only messages to this mobile number
        #[arg(long, value_name = "PHONE")]
        phone: Option<String>,
        /// Largest number of messages to show, up to 1000
        #[arg(long, value_name = "N", default_value_t = LIST_USUAL, value_parser = clap::value_parser!(u32).range(1..=LIST_MAX))]
        limit: u32,
    },
    /// Show a message: its whole text, its status and what went wrong
    #[command(after_help = examples!["message show 12"])]
    Show {
        /// Id of the message, from `message list`
        id: i64,
    },
}

pub(super) async fn run(command: MessageCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    let (phone, limit) = match command {
        MessageCommand::List { phone, limit } => (phone, limit),
        MessageCommand::Show { id } => {
            return match shown::show(&app, id).await? {
                Some(listed) => {
                    desk.printer.object(&message(&listed))?;
                    tell_unreadable(std::slice::from_ref(&listed));
                    Ok(())
                }
                None => bail!("there is no message {id}"),
            };
        }
    };
    let phone = match phone {
        Some(text) => Some(Phone::parse(&text).map_err(|problem| anyhow::anyhow!("the phone {problem}"))?),
        None => None,
    };
    let (found, more) = shown::list(&app, phone.as_ref(), limit).await?;
    let mut rows: Vec<Object> = found.iter().map(message).collect();
    if desk.printer.json {
        // Programs read the newest at the end, as they did before there was a limit.
        rows.reverse();
    }
    let columns = ["id", "created_at", "status", "phone", "kind", "text"];
    desk.printer.list_with("messages", &columns, rows, Object::new().with("more", more))?;
    desk.printer.remark(more, &newest(limit))?;
    tell_unreadable(&found);
    Ok(())
}

/// What a list shows of a message whose phone or text does not open.
const UNREADABLE: Shown = Shown::Absent("cannot be read with this key");

/// Which messages could not be read, and why the first could not.
fn tell_unreadable(found: &[Listed]) {
    let bad: Vec<&Listed> = found.iter().filter(|listed| listed.unreadable.is_some()).collect();
    let Some(why) = bad.first().and_then(|first| first.unreadable.as_deref()) else { return };
    let ids: Vec<String> = bad.iter().take(NAMED_MAX).map(|listed| listed.row.id.to_string()).collect();
    let more = if bad.len() > NAMED_MAX { ", ..." } else { "" };
    let messages = if bad.len() == 1 { "message" } else { "messages" };
    print::warn(format_args!("{} {messages} could not be read ({}{more}): {why}", bad.len(), ids.join(", ")));
}

fn message(listed: &Listed) -> Object {
    let row = &listed.row;
    Object::new()
        .with("id", row.id)
        .with("phone", listed.phone.as_ref().map_or(UNREADABLE, |phone| phone.e164().into()))
        .with("text", listed.text.as_ref().map_or(UNREADABLE, |text| text.into()))
        .with("status", row.status.as_str())
        .with("created_at", row.created_at)
        .with("kind", row.kind.as_str())
        .with("business_id", row.business_id)
        .with("attempts", row.attempts)
        .with("error", row.error.as_ref())
}
