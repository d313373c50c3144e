//! How a payment is written, once for each of its three answers (contract/payments.md#p9). The sets of
//! members differ on purpose: merchants' programs are written against them.

use crate::domain::intent::reject_word;
use crate::domain::money::Money;
use crate::domain::payment::{Kind, Payment};
use crate::http::response::json::Json;
use crate::ops::payments::read::PaymentView;

/// Data of `POST /payment-request`: these members and no others.
pub fn write_created(json: &mut Json, view: &PaymentView) {
    let payment = &view.payment;
    json.text("transaction_id", &payment.transaction_id);
    json.money("amount", payment.amount);
    json.text("payer_name", &payment.payer_name);
    write_account(json, view);
    json.text("status", payment.status.as_str());
    json.time("expires_at", payment.expires_at);
    json.time("created_at", payment.created_at);
    json.begin("charges");
    write_parts(json, payment);
    json.flag("paid_by_customer", payment.schedule.paid_by_customer);
    json.money("amount_to_pay", payment.amount);
    // A top-up is the customer's money.
    let is_topup = payment.kind == Kind::Topup;
    json.money("business_receives", if is_topup { Money::ZERO } else { payment.business_receives });
    json.end();
    write_website(json, view);
}

/// Data of `GET /payment/{id}` and rows of `GET /payments`.
pub fn write_read(json: &mut Json, view: &PaymentView) {
    let payment = &view.payment;
    write_full(json, view);
    json.begin("charges");
    write_parts(json, payment);
    json.money("business_receives", payment.business_receives);
    json.end();
    write_website(json, view);
    if let Some(reference) = &payment.external_reference {
        json.text("external_reference", reference);
    }
    if let Some(word) = reject_word(payment) {
        json.text("reject_reason", word);
    }
    if let Some(at) = payment.reversed_at {
        json.time("reversed_at", at);
    }
}

/// Data of `PATCH /payment/{id}/amount`.
pub fn write_corrected(json: &mut Json, view: &PaymentView) {
    let payment = &view.payment;
    write_full(json, view);
    json.begin("charges");
    write_parts(json, payment);
    json.flag("paid_by_customer", payment.schedule.paid_by_customer);
    json.money("business_receives", payment.business_receives);
    json.end();
    write_website(json, view);
}

/// Everything but charges, website and the reference.
fn write_full(json: &mut Json, view: &PaymentView) {
    let payment = &view.payment;
    json.text("transaction_id", &payment.transaction_id);
    json.money("amount", payment.amount);
    json.text("payer_name", &payment.payer_name);
    json.opt_text("bank", payment.payer.bank.as_deref());
    write_account(json, view);
    json.text("status", payment.status.as_str());
    json.text("webhook_url", &payment.webhook_url);
    json.time("expires_at", payment.expires_at);
    json.opt_time("matched_at", payment.matched_at);
    json.opt_time("approved_at", payment.approved_at);
    json.time("created_at", payment.created_at);
    json.time("updated_at", payment.updated_at);
    // As in the webhook, for those who read instead of waiting for it.
    json.opt_money("received_amount", payment.received);
    json.flag("is_mismatch", payment.is_mismatch);
    json.opt_text("mismatch_reason", payment.mismatch_reason.as_deref());
    json.flag("name_mismatch", payment.name_mismatch);
    json.text("mode", payment.mode.as_str());
}

/// The receiving account; a wallet payment has none.
fn write_account(json: &mut Json, view: &PaymentView) {
    let account = view.account.as_ref();
    json.opt_text("account_number", account.map(|account| account.number.as_str()));
    json.opt_text("account_name", account.map(|account| account.name.as_str()));
    json.opt_text("bank_name", account.map(|account| account.bank_name.as_str()));
}

fn write_parts(json: &mut Json, payment: &Payment) {
    json.money("percentage", payment.charges.percentage);
    json.money("fixed", payment.charges.fixed);
    json.money("total", payment.charges.total());
}

fn write_website(json: &mut Json, view: &PaymentView) {
    match &view.website {
        Some(website) => {
            json.begin("website");
            json.int("id", website.id);
            json.text("url", &website.url);
            json.end();
        }
        None => json.null("website"),
    }
}
