//! `tillbell website ...`

use clap::Subcommand;

use super::Desk;
use super::businesses::schedule_fields;
use super::options::ChargeOptions;
use super::print::{Object, warn};
use crate::domain::merchant::{Website, WebsiteStatus};
use crate::ops::websites::{self, NewWebsite, WebsiteChange, WebsiteRefusal};

#[derive(Subcommand)]
pub(super) enum WebsiteCommand {
    /// Register a website of a business
    Add {
        business: i64,
        url: String,
        /// Where webhooks of this website's payments go
        #[arg(long, value_name = "URL")]
        webhook_url: Option<String>,
        /// Approve it at once
        #[arg(long)]
        approve: bool,
        #[command(flatten)]
        charges: ChargeOptions,
    },
    /// Change a website's webhook URL or its own charges
    Set {
        id: i64,
        #[arg(long, value_name = "URL")]
        webhook_url: Option<String>,
        /// Take the webhook URL away
        #[arg(long, conflicts_with = "webhook_url")]
        no_webhook_url: bool,
        /// Charge as the business is charged
        #[arg(long)]
        inherit_charges: bool,
        #[command(flatten)]
        charges: ChargeOptions,
    },
    /// Let payments and webhooks use the website
    Approve { id: i64 },
    /// Refuse the website, or withdraw its approval
    Reject {
        id: i64,
        #[arg(long)]
        reason: String,
    },
    /// Websites of a business
    List { business: i64 },
}

fn object(website: &Website) -> Object {
    let object = Object::new()
        .with("id", website.id)
        .with("business_id", website.business_id)
        .with("url", &website.url)
        .with("host", &website.host)
        .with("webhook_url", website.webhook_url.as_ref())
        .with("status", website.status.as_str())
        .with("approved", website.status == WebsiteStatus::Approved)
        .with("reject_reason", website.reject_reason.as_ref());
    schedule_fields(object, website.schedule).with("created_at", website.created_at)
}

fn print(website: &Website, desk: &Desk) -> anyhow::Result<()> {
    if !websites::is_target_within(website) {
        warn(format_args!(
            "the webhook URL is not on {}; nothing is sent there unless another approved website of the \
             business covers it",
            website.host
        ));
    }
    desk.printer.object(&object(website))
}

pub(super) async fn run(command: WebsiteCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    let website = match command {
        WebsiteCommand::Add { business, url, webhook_url, approve, charges } => {
            let new =
                NewWebsite { business_id: business, url, webhook_url, charges: charges.change(), approve };
            websites::add_website(&app, &desk.operator, &new).await??
        }
        WebsiteCommand::Set { id, webhook_url, no_webhook_url, inherit_charges, charges } => {
            let change = WebsiteChange {
                webhook_url: if no_webhook_url { Some(None) } else { webhook_url.map(Some) },
                charges: charges.change(),
                inherit_charges,
            };
            websites::set_website(&app, &desk.operator, id, &change).await??
        }
        WebsiteCommand::Approve { id } => websites::approve_website(&app, &desk.operator, id).await??,
        WebsiteCommand::Reject { id, reason } => {
            websites::reject_website(&app, &desk.operator, id, &reason).await??
        }
        WebsiteCommand::List { business } => {
            if app.store.business(business).await?.is_none() {
                return Err(WebsiteRefusal::UnknownBusiness(business).into());
            }
            let rows = app.store.websites(business).await?.iter().map(object).collect();
            let columns = ["id", "url", "host", "status", "webhook_url", "created_at"];
            return desk.printer.list("websites", &columns, rows);
        }
    };
    print(&website, desk)
}
