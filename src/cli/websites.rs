//! `tillbell website ...`

use clap::Subcommand;

use super::Desk;
use super::businesses::schedule_fields;
use super::options::ChargeOptions;
use super::print::Object;
use crate::domain::merchant::{Website, WebsiteStatus};
use crate::ops::merchants::websites::{self, NewWebsite, WebsiteChange};

#[derive(Subcommand)]
pub(super) enum WebsiteCommand {
    /// Register a website of a business
    ///
    /// Payments and webhooks can use the website once it is approved. Its webhooks go only to its own domain.
    #[command(after_help = examples![
        "website add 1 suya-spot.example --approve",
        "website add 1 suya-spot.example --percentage 1.0 --fixed 50.00",
    ])]
    Add {
        /// Id of the business
        business: i64,
        /// Address of the website, for example suya-spot.example
        url: String,
        /// Where webhooks of this website's payments go
        #[arg(long, value_name = "URL")]
        webhook_url: Option<String>,
        /// Approve the website at once
        #[arg(long)]
        approve: bool,
        #[command(flatten)]
        charges: ChargeOptions,
    },
    /// Change a website's webhook URL or give it charges of its own
    #[command(after_help = examples![
        "website set 3 --webhook-url https://suya-spot.example/hook",
        "website set 3 --percentage 1.0 --fixed 50.00",
        "website set 3 --inherit-charges",
    ])]
    Set {
        /// Id of the website
        id: i64,
        /// Where webhooks of this website's payments go
        #[arg(long, value_name = "URL")]
        webhook_url: Option<String>,
        /// Remove the webhook URL
        #[arg(long, conflicts_with = "webhook_url")]
        no_webhook_url: bool,
        /// Remove its own charges: those of the business apply
        #[arg(long)]
        inherit_charges: bool,
        #[command(flatten)]
        charges: ChargeOptions,
    },
    /// Approve a website, so that payments and webhooks can use it
    #[command(after_help = examples!["website approve 3"])]
    Approve {
        /// Id of the website
        id: i64,
    },
    /// Reject a website, or withdraw its approval
    #[command(after_help = examples!["website reject 3 --reason \"the domain has expired\""])]
    Reject {
        /// Id of the website
        id: i64,
        /// Why, for the record
        #[arg(long)]
        reason: String,
    },
    /// List the websites of a business
    #[command(after_help = examples!["website list 1"])]
    List {
        /// Id of the business
        business: i64,
    },
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
            let rows = websites::list_websites(&app, business).await??.iter().map(object).collect();
            let columns = ["id", "url", "host", "status", "webhook_url", "created_at"];
            return desk.printer.list("websites", &columns, rows);
        }
    };
    desk.printer.object(&object(&website))
}
