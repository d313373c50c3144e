//! How a payment is written in the three answers (contract/payments.md#p9). Their members differ on purpose:
//! merchants' programs rely on them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::intent::reject_word;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::{Kind, Status};
use crate::domain::time::{Span, Timestamp};
use crate::ops::payments::read::PaymentView;
use crate::wire::{JsonMoney, JsonTime};

/// Data of `POST /payment-request`: these members and no others.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CreatedPayment", description = "A payment as it was created.")]
pub struct CreatedBody<'a> {
    transaction_id: &'a str,
    /// What your customer pays, with the charges that they pay.
    amount: JsonMoney,
    payer_name: &'a str,
    /// Where your customer transfers to.
    account_number: Option<&'a str>,
    account_name: Option<&'a str>,
    bank_name: Option<&'a str>,
    #[schemars(extend("enum" = Status::ALL.map(Status::as_str)))]
    status: &'static str,
    /// Until then your customer should pay.
    expires_at: JsonTime,
    created_at: JsonTime,
    charges: ChargesBody,
    /// The approved website that it belongs to.
    website: Option<WebsiteBody<'a>>,
    /// The page that you may show your customer.
    checkout_url: Option<&'a str>,
}

/// Data of `GET /payment/{id}` and of `PATCH /payment/{id}/amount`, and rows of `GET /payments`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Payment", description = "A payment as it is.")]
pub struct FullBody<'a> {
    transaction_id: &'a str,
    /// What your customer pays, with the charges that they pay: never send it back as `new_amount`.
    amount: JsonMoney,
    payer_name: &'a str,
    /// As you sent it.
    bank: Option<&'a str>,
    /// Where your customer transfers to; null for wallet payments, as the two that follow.
    account_number: Option<&'a str>,
    account_name: Option<&'a str>,
    bank_name: Option<&'a str>,
    #[schemars(extend("enum" = Status::ALL.map(Status::as_str)))]
    status: &'static str,
    /// As you sent it; null where the payment was asked for at a till.
    webhook_url: Option<&'a str>,
    expires_at: JsonTime,
    /// When the bank's alert was matched.
    matched_at: Option<JsonTime>,
    approved_at: Option<JsonTime>,
    created_at: JsonTime,
    updated_at: JsonTime,
    // As in the webhook, for those who read instead of waiting for it.
    /// What arrived; null until the payment is approved. Compare it with `amount` before you deliver.
    received_amount: Option<JsonMoney>,
    /// Whether it differs from `amount`.
    is_mismatch: bool,
    /// How, in words.
    mismatch_reason: Option<&'a str>,
    /// A person approved the payment although the names do not agree.
    name_mismatch: bool,
    /// `live` or `test`: check it before you deliver.
    #[schemars(extend("enum" = Mode::ALL.map(Mode::as_str)))]
    mode: &'static str,
    charges: ChargesBody,
    /// The approved website that it belongs to.
    website: Option<WebsiteBody<'a>>,
    /// The page that you may show your customer; a payment from a wallet has none.
    checkout_url: Option<&'a str>,
    /// Wallet payments only: your `order_reference`.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_reference: Option<&'a str>,
    /// Why it is rejected: `expired`, `cancelled`, `wrong_pins` or `rejected`; values may be added.
    #[serde(skip_serializing_if = "Option::is_none")]
    reject_reason: Option<&'static str>,
    /// When the approval was taken back: the money is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    reversed_at: Option<JsonTime>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Charges")]
struct ChargesBody {
    /// The part that is a percentage, as an amount.
    percentage: JsonMoney,
    fixed: JsonMoney,
    /// Both together.
    total: JsonMoney,
    #[serde(skip_serializing_if = "Option::is_none")]
    paid_by_customer: Option<bool>,
    /// The same as the payment's `amount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount_to_pay: Option<JsonMoney>,
    /// What your balance grows by.
    business_receives: JsonMoney,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Website")]
struct WebsiteBody<'a> {
    id: i64,
    url: &'a str,
}

/// When the payment of the document's examples was made.
const SAMPLE: Timestamp = Timestamp(1_773_129_600_357_173);

/// Of the document's examples.
fn sample_charges() -> ChargesBody {
    ChargesBody {
        percentage: JsonMoney(Money(12_500)),
        fixed: JsonMoney(Money(5_000)),
        total: JsonMoney(Money(17_500)),
        paid_by_customer: None,
        amount_to_pay: None,
        business_receives: JsonMoney(Money(1_232_500)),
    }
}

const SAMPLE_CHECKOUT: &str = "https://pay.example.com/c/5gW3tq0c9Zr7uXb1LkYvH2dNsPjMfQaEoT6iC8wRzXy";

/// For examples.
pub fn sample_created() -> CreatedBody<'static> {
    CreatedBody {
        transaction_id: "order-2001",
        amount: JsonMoney(Money(1_250_000)),
        payer_name: "Adaeze Blessing Nwosu",
        account_number: Some("0040003311"),
        account_name: Some("MAKO COLLECTIONS"),
        bank_name: Some("PremiumTrust Bank"),
        status: Status::Pending.as_str(),
        expires_at: JsonTime(SAMPLE + Span::days(1)),
        created_at: JsonTime(SAMPLE),
        charges: ChargesBody {
            paid_by_customer: Some(false),
            amount_to_pay: Some(JsonMoney(Money(1_250_000))),
            ..sample_charges()
        },
        website: Some(WebsiteBody { id: 1, url: "https://shop.example.com" }),
        checkout_url: Some(SAMPLE_CHECKOUT),
    }
}

/// For examples.
pub fn sample_full() -> FullBody<'static> {
    FullBody {
        transaction_id: "order-2001",
        amount: JsonMoney(Money(1_250_000)),
        payer_name: "Adaeze Blessing Nwosu",
        bank: None,
        account_number: Some("0040003311"),
        account_name: Some("MAKO COLLECTIONS"),
        bank_name: Some("PremiumTrust Bank"),
        status: Status::Pending.as_str(),
        webhook_url: Some("https://shop.example.com/hook"),
        expires_at: JsonTime(SAMPLE + Span::days(1)),
        matched_at: None,
        approved_at: None,
        created_at: JsonTime(SAMPLE),
        updated_at: JsonTime(SAMPLE),
        received_amount: None,
        is_mismatch: false,
        mismatch_reason: None,
        name_mismatch: false,
        mode: Mode::Live.as_str(),
        charges: sample_charges(),
        website: Some(WebsiteBody { id: 1, url: "https://shop.example.com" }),
        checkout_url: Some(SAMPLE_CHECKOUT),
        external_reference: None,
        reject_reason: None,
        reversed_at: None,
    }
}

/// As it was created.
pub fn created(view: &PaymentView) -> CreatedBody<'_> {
    let (body, payment) = (full(view), &view.payment);
    // A top-up is the customer's money.
    let is_topup = payment.kind == Kind::Topup;
    let business_receives = if is_topup { Money::ZERO } else { payment.business_receives };
    CreatedBody {
        transaction_id: body.transaction_id,
        amount: body.amount,
        payer_name: body.payer_name,
        account_number: body.account_number,
        account_name: body.account_name,
        bank_name: body.bank_name,
        status: body.status,
        expires_at: body.expires_at,
        created_at: body.created_at,
        charges: ChargesBody {
            paid_by_customer: Some(payment.schedule.paid_by_customer),
            amount_to_pay: Some(body.amount),
            business_receives: JsonMoney(business_receives),
            ..body.charges
        },
        website: body.website,
        checkout_url: body.checkout_url,
    }
}

/// As it is.
pub fn read(view: &PaymentView) -> FullBody<'_> {
    FullBody {
        external_reference: view.payment.external_reference.as_deref(),
        reject_reason: reject_word(&view.payment),
        reversed_at: view.payment.reversed_at.map(JsonTime),
        ..full(view)
    }
}

/// As it was corrected.
pub fn corrected(view: &PaymentView) -> FullBody<'_> {
    let mut body = full(view);
    body.charges.paid_by_customer = Some(view.payment.schedule.paid_by_customer);
    body
}

/// What these answers have in common.
fn full(view: &PaymentView) -> FullBody<'_> {
    let (payment, account) = (&view.payment, view.account.as_ref());
    let charges = &payment.charges;
    FullBody {
        transaction_id: &payment.transaction_id,
        amount: JsonMoney(payment.amount),
        payer_name: &payment.payer_name,
        bank: payment.payer.bank.as_deref(),
        // A wallet payment has no account.
        account_number: account.map(|account| account.number.as_str()),
        account_name: account.map(|account| account.name.as_str()),
        bank_name: account.map(|account| account.bank_name.as_str()),
        status: payment.status.as_str(),
        webhook_url: payment.webhook_url.as_deref(),
        expires_at: JsonTime(payment.expires_at),
        matched_at: payment.matched_at.map(JsonTime),
        approved_at: payment.approved_at.map(JsonTime),
        created_at: JsonTime(payment.created_at),
        updated_at: JsonTime(payment.updated_at),
        received_amount: payment.received.map(JsonMoney),
        is_mismatch: payment.is_mismatch,
        mismatch_reason: payment.mismatch_reason.as_deref(),
        name_mismatch: payment.name_mismatch,
        mode: payment.mode.as_str(),
        charges: ChargesBody {
            percentage: JsonMoney(charges.percentage),
            fixed: JsonMoney(charges.fixed),
            total: JsonMoney(charges.total()),
            paid_by_customer: None,
            amount_to_pay: None,
            business_receives: JsonMoney(payment.business_receives),
        },
        website: view.website.as_ref().map(|website| WebsiteBody { id: website.id, url: &website.url }),
        checkout_url: view.checkout_url.as_deref(),
        external_reference: None,
        reject_reason: None,
        reversed_at: None,
    }
}
