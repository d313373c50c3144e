//! How a payment is written in the three answers (contract/payments.md#p9). Their members differ on purpose:
//! merchants' programs rely on them.

use serde::Serialize;

use crate::domain::intent::reject_word;
use crate::domain::money::Money;
use crate::domain::payment::Kind;
use crate::ops::payments::read::PaymentView;
use crate::wire::{JsonMoney, JsonTime};

/// Data of `POST /payment-request`: these members and no others.
#[derive(Serialize)]
pub struct CreatedBody<'a> {
    transaction_id: &'a str,
    amount: JsonMoney,
    payer_name: &'a str,
    account_number: Option<&'a str>,
    account_name: Option<&'a str>,
    bank_name: Option<&'a str>,
    status: &'static str,
    expires_at: JsonTime,
    created_at: JsonTime,
    charges: ChargesBody,
    website: Option<WebsiteBody<'a>>,
}

/// Data of `GET /payment/{id}` and of `PATCH /payment/{id}/amount`, and rows of `GET /payments`.
#[derive(Serialize)]
pub struct FullBody<'a> {
    transaction_id: &'a str,
    amount: JsonMoney,
    payer_name: &'a str,
    bank: Option<&'a str>,
    account_number: Option<&'a str>,
    account_name: Option<&'a str>,
    bank_name: Option<&'a str>,
    status: &'static str,
    webhook_url: Option<&'a str>,
    expires_at: JsonTime,
    matched_at: Option<JsonTime>,
    approved_at: Option<JsonTime>,
    created_at: JsonTime,
    updated_at: JsonTime,
    // As in the webhook, for those who read instead of waiting for it.
    received_amount: Option<JsonMoney>,
    is_mismatch: bool,
    mismatch_reason: Option<&'a str>,
    name_mismatch: bool,
    mode: &'static str,
    charges: ChargesBody,
    website: Option<WebsiteBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reject_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reversed_at: Option<JsonTime>,
}

#[derive(Serialize)]
struct ChargesBody {
    percentage: JsonMoney,
    fixed: JsonMoney,
    total: JsonMoney,
    #[serde(skip_serializing_if = "Option::is_none")]
    paid_by_customer: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount_to_pay: Option<JsonMoney>,
    business_receives: JsonMoney,
}

#[derive(Serialize)]
struct WebsiteBody<'a> {
    id: i64,
    url: &'a str,
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
        external_reference: None,
        reject_reason: None,
        reversed_at: None,
    }
}
