//! The events that are told by webhooks, as `ops::webhooks::body` writes them.

use schemars::Schema;

use crate::domain::event::EventKind;
use crate::http::describe::operation::Writer;
use crate::ops::webhooks::body::{self, PaymentBody, PayoutBody, TestBody};

#[derive(Clone, Debug)]
pub struct Webhook {
    /// Of the event.
    pub name: &'static str,
    /// What programs call it.
    pub id: &'static str,
    pub about: &'static str,
    pub schema: Schema,
    /// As it is sent.
    pub example: Vec<u8>,
}

pub fn all(writer: &mut Writer) -> Vec<Webhook> {
    let webhook = |kind: EventKind| {
        let (id, about) = words(kind);
        let schema = match kind {
            EventKind::PayoutPaid | EventKind::PayoutRefused => writer.schema::<PayoutBody<'static>>(),
            EventKind::WebhookTest => writer.schema::<TestBody<'static>>(),
            _ => writer.schema::<PaymentBody<'static>>(),
        };
        Webhook { name: kind.as_str(), id, about, schema, example: body::sample(kind) }
    };
    EventKind::ALL.into_iter().map(webhook).collect()
}

/// What programs call it, and what it says.
fn words(kind: EventKind) -> (&'static str, &'static str) {
    match kind {
        EventKind::PaymentApproved => (
            "paymentApproved",
            "The money for a payment is in. Compare `received_amount` with `amount` before you deliver, and \
             de-duplicate by `webhook-id`, or by `transaction_id`.",
        ),
        EventKind::PaymentReversed => (
            "paymentReversed",
            "The money of a payment went back, for the `reason` of the operator. If you have not delivered yet, do not.",
        ),
        EventKind::PaymentRejected => (
            "paymentRejected",
            "By choice: a payment is rejected, and `reject_reason` says why. A person may still approve it.",
        ),
        EventKind::PaymentLate => {
            ("paymentLate", "By choice: money for a payment came too late, and waits for a person.")
        }
        EventKind::PaymentUnderpaid => {
            ("paymentUnderpaid", "By choice: too little came for a payment, and waits for a person.")
        }
        EventKind::PaymentOverpaid => {
            ("paymentOverpaid", "By choice: too much came for a payment, and waits for a person.")
        }
        EventKind::PaymentAmountCorrected => {
            ("paymentAmountCorrected", "By choice: the amount of a payment is corrected.")
        }
        EventKind::WalletToppedUp => ("walletToppedUp", "By choice: a customer's wallet is topped up."),
        EventKind::PayoutPaid => ("payoutPaid", "By choice: a payout is paid."),
        EventKind::PayoutRefused => ("payoutRefused", "By choice: a payout is refused, and available again."),
        EventKind::WebhookTest => (
            "webhookTest",
            "Sent when somebody tries your address. It refers to no payment, and is never sent again.",
        ),
    }
}
