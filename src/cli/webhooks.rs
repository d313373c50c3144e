//! `tillbell webhook ...`

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand};

use super::Desk;
use super::options::{LIST_MAX, LIST_USUAL, Since, newest, not_searched, since, span};
use super::print::{Object, Shown};
use crate::app::App;
use crate::domain::time::{Span, Timestamp};
use crate::domain::webhook::DeliveryOutcome;
use crate::ops::look_back::Found;
use crate::ops::merchants::businesses::find_business;
use crate::ops::payments::find::whose_payment;
use crate::ops::payments::read::find_payment;
use crate::ops::webhooks::deliveries::{self, Resent, Search};
use crate::ops::webhooks::deliveries::{Attempt, Delivery, DeliveryStatus};
use crate::ops::webhooks::test_event::{TestOf, TestSent, Tested, send_test};

#[derive(Subcommand)]
pub(super) enum WebhookCommand {
    /// List webhook deliveries, newest first
    ///
    /// Options combine: a delivery is listed only if it fits all of them. A search covers the newest 1,000,000
    /// webhooks (all that failed), and says so if older ones were left out.
    #[command(after_help = examples![
        "webhook list",
        "webhook list --failed --business 1 --since 24h",
        "webhook list --payment ORDER-81",
    ])]
    List(ListArgs),
    /// Show one delivery with every attempt: time, URL, status, error and the beginning of the response
    #[command(after_help = examples!["webhook show 12"])]
    Show {
        /// Id of the delivery, from `webhook list`
        id: i64,
    },
    /// Send webhooks again, by id or all that failed
    ///
    /// Use it once the merchant's server is repaired. A webhook about a payment that was reversed is not sent
    /// again. --failed leaves test events out; by their ids they are sent again.
    #[command(after_help = examples!["webhook resend 12 13", "webhook resend --failed --since 24h"])]
    Resend {
        /// Ids of deliveries, from `webhook list`
        #[arg(conflicts_with = "failed", value_name = "ID")]
        ids: Vec<i64>,
        /// All deliveries that failed for good since --since
        #[arg(long, requires = "since")]
        failed: bool,
        /// With --failed: how far back, for example 24h
        #[arg(long, value_name = "TIME", value_parser = span, requires = "failed")]
        since: Option<Span>,
    },
    /// Send a test event and show the answer; exit 1 if it was not delivered
    ///
    /// The event goes from this machine to the webhook URL of the business, or else of its first website. With
    /// --payment it goes where the webhooks of that payment go. It is sent once and never retried. A target
    /// that was paused because it answered 410 is resumed when a test event is delivered to it.
    #[command(after_help = examples!["webhook test 1", "webhook test 1 --payment ORDER-81"])]
    Test {
        /// Id of the business
        business: i64,
        /// Send it where the webhooks of this payment go
        #[arg(long, value_name = "TXN")]
        payment: Option<String>,
        /// Send it where the bank transfers of this website go
        #[arg(long, value_name = "ID", conflicts_with = "payment")]
        website: Option<i64>,
    },
}

/// What deliveries are looked for.
#[derive(Args)]
pub(super) struct ListArgs {
    /// Only deliveries to this business
    #[arg(long, value_name = "ID")]
    business: Option<i64>,
    /// Only deliveries about the payment with this transaction id
    #[arg(long, value_name = "TXN")]
    payment: Option<String>,
    /// Only deliveries with this status: waiting, delivered, failed, paused or not_sent
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<DeliveryStatus>,
    /// Only deliveries that failed for good; the same as --status failed
    #[arg(long, conflicts_with = "status")]
    failed: bool,
    /// Deliveries created in the last 24h, 7d, ... or since a day (2026-03-10, UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// Largest number of deliveries to show, up to 100000
    #[arg(long, value_name = "N", default_value_t = LIST_USUAL, value_parser = clap::value_parser!(u32).range(1..=LIST_MAX))]
    limit: u32,
}

fn status(word: &str) -> Result<DeliveryStatus, String> {
    DeliveryStatus::parse(word)
        .ok_or_else(|| "must be waiting, delivered, failed, paused or not_sent".to_owned())
}

/// Of a webhook URL of the business's own that is on none of its websites.
pub(super) const WALLET_PAYMENTS_ONLY: &str = "this webhook URL is not on an approved website of the business: only \
     wallet payments can use it, and webhooks of bank transfers are not sent there";

fn attempt(attempt: &Attempt) -> Object {
    Object::new()
        .with("number", attempt.number)
        .with("at", attempt.at)
        .with("url", attempt.url.as_ref())
        .with("status", attempt.status)
        .with("error", attempt.error.as_ref())
        .with("answer", attempt.answer.as_ref())
        .with("duration_ms", attempt.duration_ms)
}

/// `webhook resend` without anything to resend.
pub(super) fn missing(command: &WebhookCommand) -> Option<&'static str> {
    match command {
        WebhookCommand::Resend { ids, failed: false, .. } if ids.is_empty() => Some(
            "name the deliveries to send again by their ids, which `webhook list` shows, or send all that failed \
             with --failed --since 24h",
        ),
        _ => None,
    }
}

/// What was not resent, and why.
fn not_resent(done: &Resent) -> Option<String> {
    let list = |ids: &[i64]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut why = Vec::new();
    if !done.unknown.is_empty() {
        why.push(format!("there is no delivery {}", list(&done.unknown)));
    }
    for delivery in &done.superseded {
        let (id, event) = (delivery.id, &delivery.event);
        let because = delivery.superseded().unwrap_or("it does not hold any more");
        why.push(format!("delivery {id} ({event}) will not be sent again: {because}"));
    }
    (!why.is_empty()).then(|| why.join("; "))
}

/// When the next attempt is made: of what is due or held by a worker, now; of what is paused nobody knows.
fn next_attempt(delivery: &Delivery, now: Timestamp) -> Option<Shown> {
    if delivery.done_at.is_some() || delivery.outcome.is_some() {
        return None;
    }
    let at = if delivery.is_held { now.min(delivery.run_at) } else { delivery.run_at };
    Some(Shown::Due(at))
}

/// What is to be noted of it; of a paused one, why it is and what ends that.
fn note(delivery: &Delivery) -> Option<String> {
    let url = delivery.note.as_deref()?;
    if delivery.outcome.as_deref() != Some("paused") {
        return Some(url.to_owned());
    }
    let id = delivery.id;
    Some(format!(
        "HTTP 410 Gone from {url}; resumes after `webhook resend {id}`, a delivered test event or a change of the URL"
    ))
}

/// A delivery with its attempts, oldest first.
pub(super) fn delivery(delivery: &Delivery, now: Timestamp) -> Object {
    let attempts: Vec<Object> = delivery.attempts.iter().map(attempt).collect();
    Object::new()
        .with("id", delivery.id)
        .with("event", &delivery.event)
        .with("webhook_id", &delivery.webhook_id)
        .with("business_id", delivery.business_id)
        .with("transaction_id", delivery.transaction_id.as_ref())
        .with("status", delivery.status())
        .with("tries", delivery.tries)
        .with("created_at", delivery.created_at)
        .with("next_at", next_attempt(delivery, now))
        .with("paused_at", delivery.paused_at)
        .with("done_at", delivery.done_at)
        .with("note", note(delivery))
        .with("attempts", attempts)
}

/// What came back on a test event. One that was not delivered is an error, after its answer was shown.
fn tell_test(sent: &TestSent, desk: &Desk) -> anyhow::Result<()> {
    let attempt = &sent.attempt;
    let is_delivered = sent.verdict == DeliveryOutcome::Delivered;
    let mut object = Object::new()
        .with("delivery_id", sent.delivery_id)
        .with("webhook_id", &sent.webhook_id)
        .with("url", &sent.url)
        .with("delivered", is_delivered)
        .with("status", attempt.status)
        .with("duration_ms", attempt.duration_ms)
        .with("note", attempt.error.as_ref())
        .with("answer", attempt.answer.as_ref())
        .with("resumed", sent.resumed);
    if sent.wallet_payments_only {
        object = object.with("wallet_payments_only", true);
    }
    desk.printer.object(&object)?;
    desk.printer.remark(sent.wallet_payments_only, WALLET_PAYMENTS_ONLY)?;
    for (id, url) in &sent.elsewhere {
        let words = format!(
            "bank transfers of website {id} go to {url} instead; to test that: `webhook test {} --website {id}`",
            sent.business_id
        );
        desk.printer.remark(true, &words)?;
    }
    if !is_delivered {
        let paused = if sent.verdict == DeliveryOutcome::Gone { "; the target is paused" } else { "" };
        let why = attempt.error.as_deref().unwrap_or_default();
        bail!("the test event was not delivered: {why}{paused}");
    }
    Ok(())
}

async fn list(app: &App, args: ListArgs, desk: &Desk) -> anyhow::Result<()> {
    if let Some(id) = args.business
        && find_business(app, id).await?.is_none()
    {
        bail!("there is no business {id}");
    }
    let payment_id = match &args.payment {
        Some(transaction_id) => {
            let business = whose_payment(app, transaction_id, args.business).await??;
            let found = find_payment(app, business, transaction_id).await?;
            Some(found.ok_or_else(|| anyhow!("business {business} has no payment {transaction_id}"))?.id)
        }
        None => None,
    };
    let search = Search {
        business_id: args.business,
        payment_id,
        status: args.status.or_else(|| args.failed.then_some(DeliveryStatus::Failed)),
        since: args.since.map_or(Timestamp::MIN, |since| since.before(app.now())),
        limit: args.limit as usize,
    };
    let Found { rows, more, searched_back_to } = deliveries::find(app, &search).await?;
    let rows = rows.iter().map(|one| delivery(one, app.now())).collect();
    let columns = [
        "id",
        "created_at",
        "status",
        "transaction_id",
        "tries",
        "next_at",
        "paused_at",
        "event",
        "business_id",
        "note",
    ];
    let mut beside = Object::new().with("more", more);
    if let Some(at) = searched_back_to {
        beside = beside.with("searched_back_to", at);
    }
    desk.printer.list_with("webhooks", &columns, rows, beside)?;
    desk.printer.remark(more, &newest(args.limit))?;
    let Some(at) = searched_back_to else { return Ok(()) };
    desk.printer.remark(true, &not_searched("webhooks created", at))
}

pub(super) async fn run(command: WebhookCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    match command {
        WebhookCommand::Test { business, payment, website } => {
            let of = match (&payment, website) {
                (Some(transaction_id), _) => TestOf::Payment(transaction_id),
                (None, Some(id)) => TestOf::Website(id),
                (None, None) => TestOf::Business,
            };
            match send_test(&app, business, of).await? {
                Tested::Sent(sent) => tell_test(&sent, desk),
                Tested::UnknownBusiness => bail!("there is no business {business}"),
                Tested::UnknownPayment => {
                    bail!("business {business} has no payment {}", payment.unwrap_or_default())
                }
                Tested::UnknownWebsite => {
                    bail!("business {business} has no website {}", website.unwrap_or_default())
                }
                Tested::Nowhere(why) if website.is_some() => bail!("there is no target to send to: {why}"),
                Tested::Nowhere(why) => bail!(
                    "there is no target to send to: {why}; set one with `business set {business} --webhook-url URL`, \
                     or choose a payment's own with --payment TXN"
                ),
                Tested::Unfit { url, why } => {
                    bail!("nothing was sent to {url}: {why}")
                }
            }
        }
        WebhookCommand::List(args) => list(&app, args, desk).await,
        WebhookCommand::Show { id } => match deliveries::find_delivery(&app, id).await? {
            Some(found) => desk.printer.object(&delivery(&found, app.now())),
            None => bail!("there is no delivery {id}"),
        },
        WebhookCommand::Resend { ids, since, .. } => {
            let done = match since {
                Some(since) => {
                    let ids = deliveries::resend_failed(&app, &desk.operator, since).await?;
                    Resent { ids, ..Resent::default() }
                }
                None => deliveries::resend(&app, &desk.operator, &ids).await?,
            };
            let refused = not_resent(&done);
            // With nothing done there is no answer, only the error.
            if !done.ids.is_empty() || refused.is_none() {
                desk.printer.object(&Object::new().with("resent", done.ids))?;
            }
            match refused {
                Some(why) => bail!(why),
                None => Ok(()),
            }
        }
    }
}
