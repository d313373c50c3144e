//! `tillbell business ...`

use anyhow::bail;
use clap::Subcommand;

use super::Desk;
use super::options::{ChargeOptions, Rate, Switch, rate};
use super::print::{Object, Shown, warn};
use super::webhooks::WALLET_PAYMENTS_ONLY;
use crate::domain::charges::Schedule;
use crate::domain::event::{Chosen, EventKind};
use crate::domain::merchant::Business;
use crate::domain::time::Timestamp;
use crate::domain::user::{MemberRole, normal_email};
use crate::domain::weburl;
use crate::ops::merchants::businesses::{self, BusinessChange, NewBusiness, WithSecret};
use crate::ops::merchants::websites::list_websites;
use crate::ops::people::users::{Place, add_user};
use crate::ops::webhooks::target::{LeftBehind, is_on_a_website, left_behind};

/// Of a business that was registered and works in test mode alone.
const WAITS: &str = "waits_for_operator";
const SECRET_ONCE: &str = "keep the webhook secret now: it is shown only once";

#[derive(Subcommand)]
pub(super) enum BusinessCommand {
    /// Add a business; its webhook secret is shown only this once
    ///
    /// Unless you name others, its charges are 1 percent plus NGN 50.00 of each payment, paid by the merchant.
    #[command(after_help = examples![
        "business add --name \"Suya Spot\" --email till@suya-spot.example",
        "business add --name Kilishi --email a@kilishi.example --cap 2000",
    ])]
    Add {
        /// Name of the business, as customers know it
        #[arg(long)]
        name: String,
        /// E-mail address of the business
        #[arg(long)]
        email: String,
        /// Webhook URL for test events and wallet payments; bank transfers name their own
        #[arg(long, value_name = "URL")]
        webhook_url: Option<String>,
        /// E-mail address of its first owner, who gets a link to set a password
        #[arg(long, value_name = "EMAIL")]
        owner: Option<String>,
        #[command(flatten)]
        charges: ChargeOptions,
    },
    /// Change settings of a business; what you do not name stays as it is
    #[command(after_help = examples![
        "business set 1 --percentage 1.5 --fixed 50.00 --cap 2000",
        "business set 1 --wallet on --rate-limit 120",
        "business set 1 --events payment.rejected,payout.paid",
        "business set 1 --active off",
    ])]
    Set {
        /// Id of the business
        id: i64,
        /// New name
        #[arg(long)]
        name: Option<String>,
        /// New e-mail address
        #[arg(long)]
        email: Option<String>,
        /// Webhook URL for test events and wallet payments; bank transfers name their own
        #[arg(long, value_name = "URL")]
        webhook_url: Option<String>,
        /// Remove the webhook URL
        #[arg(long, conflicts_with = "webhook_url")]
        no_webhook_url: bool,
        /// Allow or stop its use of customers' wallets; `on` also lifts a stop after too many wrong PINs
        #[arg(long, value_name = "on/off")]
        wallet: Option<Switch>,
        /// Off stops its API keys; money for open payments is still credited. On also lets a business that somebody registered
        /// take real money
        #[arg(long, value_name = "on/off")]
        active: Option<Switch>,
        /// API requests a minute, or `default` for the configured limit
        #[arg(long, value_name = "N", value_parser = rate)]
        rate_limit: Option<Rate>,
        /// Wallet requests a minute, or `default` for the configured limit
        #[arg(long, value_name = "N", value_parser = rate)]
        wallet_rate_limit: Option<Rate>,
        /// Webhook events beside payment.approved and payment.reversed, with commas between them, or `none`
        #[arg(long, value_name = "EVENTS", value_parser = events)]
        events: Option<Chosen>,
        #[command(flatten)]
        charges: ChargeOptions,
    },
    /// List all businesses
    #[command(after_help = examples!["business list"])]
    List,
    /// Show one business, its settings and its balance
    #[command(after_help = examples!["business show 1"])]
    Show {
        /// Id of the business
        id: i64,
    },
    /// Make a new webhook secret; the old one stays valid for 24 hours
    ///
    /// Use it if the secret may have leaked. Until the old one expires, webhooks are signed with both.
    #[command(after_help = examples!["business rotate-secret 1"])]
    RotateSecret {
        /// Id of the business
        id: i64,
    },
}

/// The settings of a schedule, named as the options are.
pub(super) fn schedule_fields(object: Object, schedule: Option<Schedule>) -> Object {
    object
        .with("percentage", schedule.map_or(Shown::Null, |s| Shown::Percent(s.rate)))
        .with("fixed", schedule.map(|s| s.fixed))
        .with("cap", schedule.and_then(|s| s.cap))
        .with("paid_by_customer", schedule.map(|s| s.paid_by_customer))
        .with("charges_enabled", schedule.map(|s| s.enabled))
}

/// The choice of `--events`.
fn events(text: &str) -> Result<Chosen, String> {
    Chosen::parse(text).map_err(|name| {
        let all: Vec<&str> =
            EventKind::ALL.into_iter().filter(|kind| kind.is_by_choice()).map(EventKind::as_str).collect();
        format!("{name:?} is no event that can be switched on; these can: {}, or none", all.join(", "))
    })
}

fn object(business: &Business) -> Object {
    object_with(business, None)
}

/// `stopped_at`: since when wrong PINs have stopped its wallet payments.
fn object_with(business: &Business, stopped_at: Option<Timestamp>) -> Object {
    let mut object = Object::new()
        .with("id", business.id)
        .with("name", &business.name)
        .with("email", &business.email)
        .with("webhook_url", business.webhook_url.as_ref())
        .with("active", business.active)
        .with("wallet", business.wallet_enabled);
    if business.waits() {
        object = object.with(WAITS, true);
    }
    if let Some(at) = stopped_at {
        object = object.with("wallet_stopped_at", at).with("wallet_stop_reason", "wrong PINs");
    }
    let object =
        object.with("rate_limit", business.rate_limit).with("wallet_rate_limit", business.wallet_rate_limit);
    let events = Some(business.events.to_string()).filter(|events| !events.is_empty());
    let object = object.with("events", events);
    schedule_fields(object, Some(business.schedule)).with("created_at", business.created_at)
}

fn with_secret(made: &WithSecret) -> Object {
    let object = object(&made.business).with("webhook_secret", made.secret.as_str());
    match made.previous_until {
        Some(until) => object.with("previous_secret_valid_until", until),
        None => object,
    }
}

/// Nothing of it is lost: the events wait, and go out when the URL may be sent to again.
fn tell_left_behind(id: i64, old: &str, left: LeftBehind) {
    let LeftBehind { open, undelivered } = left;
    if open + undelivered > 0 {
        warn(format_args!(
            "webhooks of wallet payments still go to the old URL {old} (open payments: {open}, undelivered events: \
             {undelivered}), and fail while it is not saved. Save it again until they are delivered, or approve a \
             website of business {id} for it"
        ));
    }
}

pub(super) async fn run(command: BusinessCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    match command {
        BusinessCommand::Add { name, email, webhook_url, owner, charges } => {
            if let Some(owner) = owner.as_ref().filter(|owner| normal_email(owner).is_none()) {
                bail!("--owner {owner:?} is not an e-mail address");
            }
            let same = |one: &&Business| {
                one.name.trim().eq_ignore_ascii_case(name.trim())
                    && one.email.eq_ignore_ascii_case(email.trim())
            };
            let before = businesses::list_businesses(&app).await?.iter().find(same).map(|one| one.id);
            let new = NewBusiness { name, email, webhook_url, charges: charges.change() };
            let made = businesses::add_business(&app, &desk.operator, &new).await??;
            if let Some(id) = before {
                warn(format_args!("business {id} has the same name and e-mail address"));
            }
            let mut object = with_secret(&made);
            if let Some(owner) = owner {
                let place = Place::Member(made.business.id, MemberRole::Owner);
                match add_user(&app, &desk.operator, &owner, place, None).await? {
                    Ok(added) => {
                        object = object
                            .with("owner", &added.user.email)
                            .with("owner_link", added.link.as_ref().map(|link| link.as_str()));
                    }
                    // The business is there, and its secret is shown only now.
                    Err(refusal) => warn(format_args!("the business has no owner yet: {refusal}")),
                }
            }
            desk.printer.object(&object)?;
            desk.printer.remark(true, SECRET_ONCE)
        }
        BusinessCommand::Set {
            id,
            name,
            email,
            webhook_url,
            no_webhook_url,
            wallet,
            active,
            rate_limit,
            wallet_rate_limit,
            events,
            charges,
        } => {
            let change = BusinessChange {
                name,
                email,
                webhook_url: if no_webhook_url { Some(None) } else { webhook_url.map(Some) },
                active: active.map(bool::from),
                wallet_enabled: wallet.map(bool::from),
                rate_limit: rate_limit.map(|rate| rate.0),
                wallet_rate_limit: wallet_rate_limit.map(|rate| rate.0),
                events,
                charges: charges.change(),
                notices: None,
            };
            if change == BusinessChange::default() {
                bail!("nothing was changed: name at least one setting, such as --rate-limit 120; see --help");
            }
            let is_url_new = matches!(change.webhook_url, Some(Some(_)));
            let before = businesses::find_business(&app, id).await?.and_then(|business| business.webhook_url);
            let business = businesses::set_business(&app, &desk.operator, id, &change).await??;
            desk.printer.object(&object(&business))?;
            let now = business.webhook_url.as_deref();
            if let Some(old) = before.filter(|old| now.is_none_or(|now| !weburl::same_url(old, now))) {
                tell_left_behind(id, &old, left_behind(&app, id, &old).await?);
            }
            if wallet == Some(Switch::On)
                && let Some(words) = app.config.unreachable_links()
            {
                warn(words);
            }
            if is_url_new && let Some(url) = business.webhook_url.as_deref() {
                let websites = list_websites(&app, id).await??;
                let target = weburl::parse_target(url, app.config.server.dev);
                if target.is_ok_and(|target| !is_on_a_website(&target, &websites)) {
                    warn(WALLET_PAYMENTS_ONLY);
                }
            }
            Ok(())
        }
        BusinessCommand::List => {
            let all = businesses::list_businesses(&app).await?;
            let any_waits = all.iter().any(Business::waits);
            let row = |one: &Business| match any_waits && !one.waits() {
                true => object(one).with(WAITS, false),
                false => object(one),
            };
            let rows = all.iter().map(row).collect();
            let mut columns = vec![
                "id",
                "name",
                "email",
                "active",
                "wallet",
                "charges_enabled",
                "percentage",
                "fixed",
                "created_at",
            ];
            // Where nobody registers, nothing is told of it.
            columns.extend(any_waits.then_some(WAITS));
            desk.printer.list("businesses", &columns, rows)
        }
        BusinessCommand::Show { id } => {
            let standing = businesses::business_standing(&app, id).await??;
            let object = object_with(&standing.business, standing.wallet_stopped_at);
            desk.printer.object(&object.with("balance", standing.balance))
        }
        BusinessCommand::RotateSecret { id } => {
            let made = businesses::rotate_secret(&app, &desk.operator, id).await??;
            desk.printer.object(&with_secret(&made))?;
            desk.printer.remark(true, SECRET_ONCE)
        }
    }
}
