//! The events that are told by webhooks, as `ops::webhooks::body` writes them.

use schemars::Schema;

use crate::http::describe::operation::Writer;
use crate::ops::webhooks::body::{self, Approved, TestBody};

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
    vec![
        Webhook {
            name: body::PAYMENT_APPROVED,
            id: "paymentApproved",
            about: "The money for a payment is in. Compare `received_amount` with `amount` before you deliver, and \
                    de-duplicate by `webhook-id`, or by `transaction_id`.",
            schema: writer.schema::<Approved<'static>>(),
            example: body::sample_approved(),
        },
        Webhook {
            name: body::WEBHOOK_TEST,
            id: "webhookTest",
            about: "Sent when somebody tries your address. It refers to no payment, and is never sent again.",
            schema: writer.schema::<TestBody<'static>>(),
            example: body::sample_test(),
        },
    ]
}
