//! `tillbell payment ...`

use clap::{Args, Subcommand};

use super::Desk;
use super::print::{Field, Object};
use super::webhooks::delivery;
use crate::app::App;
use crate::domain::payment::{Kind, Payment};
use crate::ops::read_payments::{PaymentView, view};
use crate::ops::reverse::{Reverse, ReverseRefused, reject_payment, reverse_payment};
use crate::store::settlements::Settlement;

/// Which payment.
#[derive(Args)]
pub(super) struct Which {
    /// The transaction id
    #[arg(value_name = "TXN")]
    transaction_id: String,
    #[arg(long, value_name = "ID")]
    business: i64,
}

#[derive(Subcommand)]
pub(super) enum PaymentCommand {
    /// One payment with its match evidence and deliveries
    Show {
        #[command(flatten)]
        which: Which,
    },
    /// End a pending payment
    Reject {
        #[command(flatten)]
        which: Which,
        #[arg(long)]
        reason: String,
    },
    /// Post the mirror entry of an approved payment
    Reverse {
        #[command(flatten)]
        which: Which,
        #[arg(long)]
        reason: String,
        /// The bank's own reversal, where there is one
        #[arg(long, value_name = "ID")]
        alert: Option<i64>,
    },
}

pub(super) async fn run(command: PaymentCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    let which = match command {
        PaymentCommand::Show { which } => which,
        PaymentCommand::Reject { which, reason } => {
            reject_payment(&app, which.business, &which.transaction_id, &desk.operator, &reason).await??;
            which
        }
        PaymentCommand::Reverse { which, reason, alert } => {
            let ask = Reverse {
                business_id: which.business,
                transaction_id: &which.transaction_id,
                reason: &reason,
                operator: &desk.operator,
                undoing_alert: alert,
            };
            reverse_payment(&app, &ask).await??;
            which
        }
    };
    show(&app, which.business, &which.transaction_id, desk).await
}

/// Prints a payment with everything an operator asks about it.
pub(super) async fn show(app: &App, business: i64, transaction_id: &str, desk: &Desk) -> anyhow::Result<()> {
    let found = app.store.payment_by_transaction(business, transaction_id).await?;
    let payment = found.ok_or_else(|| ReverseRefused::NoPayment(business, transaction_id.to_owned()))?;
    let settlements: Vec<Object> =
        app.store.settlements_of(payment.id).await?.iter().map(settlement).collect();
    let deliveries: Vec<Object> =
        app.store.deliveries_of_payment(payment.id).await?.iter().map(delivery).collect();
    let view = view(app, payment).await?;
    let object = object(&view).with("settlements", settlements).with("deliveries", deliveries);
    desk.printer.object(&object)
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Transfer => "transfer",
        Kind::Wallet => "wallet",
        Kind::Topup => "topup",
    }
}

fn charges(payment: &Payment) -> Object {
    Object::new()
        .with("percentage", payment.charges.percentage)
        .with("fixed", payment.charges.fixed)
        .with("total", payment.charges.total())
        .with("paid_by_customer", payment.schedule.paid_by_customer)
        .with("business_receives", payment.business_receives)
}

fn object(view: &PaymentView) -> Object {
    let PaymentView { payment, account, website } = view;
    let website = website.as_ref().map(|site| Object::new().with("id", site.id).with("url", &site.url));
    Object::new()
        .with("transaction_id", &payment.transaction_id)
        .with("business_id", payment.business_id)
        .with("kind", kind_word(payment.kind))
        .with("mode", payment.mode.as_str())
        .with("status", payment.status.as_str())
        .with("amount", payment.amount)
        .with("received_amount", payment.received)
        .with("payer_name", &payment.payer_name)
        .with("bank", payment.payer.bank.as_ref())
        .with("account_number", account.as_ref().map(|a| &a.number))
        .with("account_name", account.as_ref().map(|a| &a.name))
        .with("bank_name", account.as_ref().map(|a| &a.bank_name))
        .with("webhook_url", Some(&payment.webhook_url).filter(|url| !url.is_empty()))
        .with("external_reference", payment.external_reference.as_ref())
        .with("is_mismatch", payment.is_mismatch)
        .with("mismatch_reason", payment.mismatch_reason.as_ref())
        .with("name_mismatch", payment.name_mismatch)
        .with("corrections", payment.corrections)
        .with("expires_at", payment.expires_at)
        .with("matched_at", payment.matched_at)
        .with("approved_at", payment.approved_at)
        .with("rejected_at", payment.rejected_at)
        .with("reject_reason", payment.reject_reason.as_ref())
        .with("reversed_at", payment.reversed_at)
        .with("created_at", payment.created_at)
        .with("updated_at", payment.updated_at)
        .with("charges", charges(payment))
        .with("website", website)
}

fn settlement(settlement: &Settlement) -> Object {
    Object::new()
        .with("id", settlement.id)
        .with("alert_id", settlement.alert_id)
        .with("rule", &settlement.rule)
        .with("operator", settlement.operator.as_ref())
        .with("received_amount", settlement.received)
        .with("charges", settlement.charge)
        .with("business_receives", settlement.business_receives)
        .with("settled_at", settlement.settled_at)
        .with("reversed_at", settlement.reversed_at)
        .with("reverse_reason", settlement.reverse_reason.as_ref())
        .with("evidence", Field::json(&settlement.evidence))
}
