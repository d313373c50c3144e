//! `tillbell trigger`: has an event happen in test mode, at a running service, by its API alone.
//!
//! It asks for a payment with a test key and simulates the mail that pays it, as any program may. No database is opened.

use anyhow::bail;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::print::{Object, Printer};
use super::test_api::Service;
use crate::clock::{Random, SystemRandom};

/// Whoever pays. A second transfer of one payer and one amount would rightly go to a person.
const FIRST_NAMES: [&str; 12] = [
    "Adaeze",
    "Babatunde",
    "Chidinma",
    "Danjuma",
    "Ebiere",
    "Folasade",
    "Garba",
    "Halima",
    "Ifeanyi",
    "Kehinde",
    "Ngozi",
    "Uche",
];
const LAST_NAMES: [&str; 12] = [
    "Nwosu", "Adeleke", "Okonkwo", "Bello", "Tamuno", "Ogunleye", "Danladi", "Abubakar", "Eze", "Oladipo",
    "Umeh", "Ibrahim",
];
/// Kobo of the amounts: 1,000.00 and so many more.
const AMOUNT_FROM: u64 = 100_000;
const AMOUNT_SPREAD: u64 = 900_000;

/// What can be made to happen.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Event {
    #[value(name = "payment.approved")]
    PaymentApproved,
}

#[derive(Args)]
pub(super) struct TriggerArgs {
    /// Event that is to happen
    event: Event,
    /// Address of the service, or of its API
    #[arg(long, value_name = "URL")]
    url: String,
    /// Test key of the business: tb_test_...
    #[arg(long, value_name = "KEY")]
    key: String,
}

pub(super) async fn run(args: &TriggerArgs, printer: &Printer) -> anyhow::Result<()> {
    let service = Service::new(&args.url, &args.key)?;
    match args.event {
        Event::PaymentApproved => approve(&service, &SystemRandom, printer).await,
    }
}

/// An amount and a payer's name.
fn drawn(random: &dyn Random) -> (String, String) {
    let below = |most: u64| random.next_u64() % most;
    let amount = AMOUNT_FROM + below(AMOUNT_SPREAD);
    let name = |of: &[&'static str]| of[below(of.len() as u64) as usize];
    let payer = format!("{} {}", name(&FIRST_NAMES), name(&LAST_NAMES));
    (format!("{}.{:02}", amount / 100, amount % 100), payer)
}

async fn approve(service: &Service, random: &dyn Random, printer: &Printer) -> anyhow::Result<()> {
    let (amount, payer) = drawn(random);
    let asked = service.post("/payment-request", &json!({ "amount": amount, "payer_name": payer })).await?;
    let payment = &asked["data"];
    let mail = json!({
        "transaction_id": payment["transaction_id"],
        "amount": payment["amount"].to_string(),
        "payer_name": payer,
    });
    let simulated = service.post("/test/alerts", &mail).await?;
    let (told, text) = (&simulated["data"], |value: &Value| value.as_str().unwrap_or_default().to_owned());
    let (outcome, reason) = (text(&told["outcome"]), text(&told["reason"]));
    if outcome != "matched" {
        bail!("the payment {} was not approved: {outcome}: {reason}", payment["transaction_id"]);
    }
    let object = Object::new()
        .with("event", "payment.approved")
        .with("transaction_id", text(&payment["transaction_id"]))
        .with("alert_id", told["alert_id"].as_i64())
        .with("outcome", outcome)
        .with("reason", reason);
    printer.object(&object)
}
