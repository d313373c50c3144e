//! The bodies of webhooks, made once and stored; every attempt sends these bytes.
//!
//! `payment.approved` has the fields of contract/webhooks.md#h3 in that order, amounts as JSON numbers with
//! two decimals, null fields kept. `name_mismatch` is always there: a receiver that looks for it
//! should not have to know that only mismatches carry it. `webhook.test` is an addition of ours.
//! Nothing is sent here; `record` gives the steps that put an event and its job into a Unit.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::Random;
use crate::domain::account::ReceivingAccount;
use crate::domain::merchant::Mode;
use crate::domain::money::Money;
use crate::domain::payment::{Kind, Payment};
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::tables::events::{self, Event};
use crate::store::tables::jobs::{self, JobKind};
use crate::store::{IdKind, Step, Store, StoreError};
use crate::wire::{JsonMoney, JsonTime, encode};

/// Event sent when a payment was approved (contract/webhooks.md#h1).
pub const PAYMENT_APPROVED: &str = "payment.approved";
/// Event an operator or merchant sends to try a target.
pub const WEBHOOK_TEST: &str = "webhook.test";

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 62^22 is more than 2^128.
const WEBHOOK_ID_CHARS: usize = 22;

/// What the alert that funded a transfer tells the merchant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlertNote {
    /// The payer's bank as the alert tells it; `None`: as the merchant gave it.
    pub payer_bank: Option<String>,
    pub payer_account: Option<String>,
    /// Address the mail came from.
    pub from: Option<String>,
    pub subject: Option<String>,
    /// When we first saw the mail.
    pub received_at: Option<Timestamp>,
    pub message_id: Option<String>,
}

/// The body of `payment.approved`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PaymentApproved")]
pub struct Approved<'a> {
    #[schemars(extend("const" = PAYMENT_APPROVED))]
    event: &'static str,
    transaction_id: &'a str,
    /// Wallet payments only: your `order_reference`.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_reference: Option<&'a str>,
    #[schemars(extend("const" = "approved"))]
    status: &'static str,
    /// What the customer was asked to pay, with the charges that they pay. Never send it back as `new_amount`.
    amount: JsonMoney,
    /// What arrived; reconcile with this one.
    received_amount: JsonMoney,
    /// As you sent it.
    payer_name: &'a str,
    /// The payer's bank from the alert, else as you sent it.
    bank: Option<&'a str>,
    /// From the alert.
    payer_account_number: Option<&'a str>,
    /// The account that the customer was told to pay into; null for wallet payments.
    account_number: Option<&'a str>,
    /// Whether `received_amount` differs from `amount`.
    is_mismatch: bool,
    /// How, in words.
    mismatch_reason: Option<&'a str>,
    /// A person approved the payment although the names do not agree.
    name_mismatch: bool,
    charges: ChargesBody,
    /// `live` or `test`: check it before you deliver.
    #[schemars(extend("enum" = Mode::ALL.map(Mode::as_str)))]
    mode: &'static str,
    /// When it was approved.
    timestamp: JsonTime,
    email_data: EmailData<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ApprovedCharges")]
struct ChargesBody {
    percentage: JsonMoney,
    fixed: JsonMoney,
    total: JsonMoney,
    /// What your balance grew by.
    business_receives: JsonMoney,
    /// Only where `is_mismatch` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    paid_by_customer: Option<bool>,
}

/// Of the bank's alert mail; empty for wallet payments.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "EmailData")]
struct EmailData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received_at: Option<Option<JsonTime>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<Option<&'a str>>,
}

/// The body of `webhook.test`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookTest")]
pub struct TestBody<'a> {
    #[schemars(extend("const" = WEBHOOK_TEST))]
    event: &'static str,
    business_id: i64,
    message: &'a str,
    timestamp: JsonTime,
}

/// The body of `payment.approved` for a payment that was just approved. `alert` is what funded a
/// transfer; a wallet payment has none, and its bank fields are null.
pub fn payment_approved(
    payment: &Payment,
    account: Option<&ReceivingAccount>,
    alert: Option<&AlertNote>,
) -> Vec<u8> {
    let is_transfer = payment.kind != Kind::Wallet;
    let alert = alert.filter(|_| is_transfer);
    let email_data = match alert {
        // Of a mail all four are told, also those that are not known.
        Some(alert) => EmailData {
            from: Some(alert.from.as_deref()),
            subject: Some(alert.subject.as_deref()),
            received_at: Some(alert.received_at.map(JsonTime)),
            message_id: Some(alert.message_id.as_deref()),
        },
        None => EmailData::default(),
    };
    let told_bank = alert.and_then(|alert| alert.payer_bank.as_deref());
    let body = Approved {
        event: PAYMENT_APPROVED,
        transaction_id: &payment.transaction_id,
        external_reference: payment.external_reference.as_deref(),
        status: "approved",
        amount: JsonMoney(payment.amount),
        received_amount: JsonMoney(payment.received.unwrap_or(payment.amount)),
        payer_name: &payment.payer_name,
        bank: told_bank.or(payment.payer.bank.as_deref()).filter(|_| is_transfer),
        payer_account_number: alert.and_then(|alert| alert.payer_account.as_deref()),
        account_number: account.map(|account| account.number.as_str()).filter(|_| is_transfer),
        is_mismatch: payment.is_mismatch,
        mismatch_reason: payment.mismatch_reason.as_deref().filter(|_| payment.is_mismatch),
        name_mismatch: payment.name_mismatch,
        charges: ChargesBody {
            percentage: JsonMoney(payment.charges.percentage),
            fixed: JsonMoney(payment.charges.fixed),
            total: JsonMoney(payment.charges.total()),
            business_receives: JsonMoney(payment.business_receives),
            paid_by_customer: payment.is_mismatch.then_some(payment.schedule.paid_by_customer),
        },
        mode: payment.mode.as_str(),
        timestamp: JsonTime(payment.approved_at.unwrap_or(payment.updated_at)),
        email_data,
    };
    encode(&body)
}

/// The body of `webhook.test`.
pub fn webhook_test(business_id: i64, now: Timestamp) -> Vec<u8> {
    encode(&TestBody {
        event: WEBHOOK_TEST,
        business_id,
        message: "This is a test event. It does not refer to a payment.",
        timestamp: JsonTime(now),
    })
}

/// A body as it may come, for the API's document.
pub fn sample_approved() -> Vec<u8> {
    let at = JsonTime(Timestamp(1_773_130_361_320_358));
    encode(&Approved {
        event: PAYMENT_APPROVED,
        transaction_id: "order-2001",
        external_reference: None,
        status: "approved",
        amount: JsonMoney(Money(1_200_000)),
        received_amount: JsonMoney(Money(1_200_000)),
        payer_name: "Adaeze Blessing Nwosu",
        bank: Some("Union Bank"),
        payer_account_number: None,
        account_number: Some("0040003311"),
        is_mismatch: false,
        mismatch_reason: None,
        name_mismatch: false,
        charges: ChargesBody {
            percentage: JsonMoney(Money(12_000)),
            fixed: JsonMoney(Money(5_000)),
            total: JsonMoney(Money(17_000)),
            business_receives: JsonMoney(Money(1_183_000)),
            paid_by_customer: None,
        },
        mode: Mode::Live.as_str(),
        timestamp: at,
        email_data: EmailData {
            from: Some(Some("alerts@premiumtrustbank.com")),
            subject: Some(Some("Transaction Alert")),
            received_at: Some(Some(at)),
            message_id: Some(Some("first@premiumtrustbank.com")),
        },
    })
}

pub fn sample_test() -> Vec<u8> {
    webhook_test(1, Timestamp(1_773_130_361_320_358))
}

/// A fresh `webhook-id`: `msg_` and 128 random bits in base62.
pub fn webhook_id(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    let mut left = u128::from_le_bytes(bytes);
    let mut id = String::with_capacity(4 + WEBHOOK_ID_CHARS);
    id.push_str("msg_");
    for _ in 0..WEBHOOK_ID_CHARS {
        id.push(char::from(BASE62[(left % 62) as usize]));
        left /= 62;
    }
    id
}

/// The two steps that tell a merchant of something: the event and the job that delivers it. They
/// belong into the Unit of the fact; there is no other way to enqueue a webhook. After the commit
/// call `app.wake_workers`.
pub async fn record(
    store: &Store,
    random: &dyn Random,
    business_id: i64,
    payment_id: Option<i64>,
    kind: &str,
    body: Vec<u8>,
    now: Timestamp,
) -> Result<[Step; 2], StoreError> {
    let event = event(store, random, business_id, payment_id, kind, body, now).await?;
    let job_id = store.id(IdKind::Job).await?;
    let enqueued = jobs::enqueue(job_id, JobKind::Deliver, business_id, event.id, now, now);
    Ok([events::record(&event), enqueued])
}

/// Why a pending payment cannot be approved that has an event already: a fault of the program that wrote it.
pub(in crate::ops) fn has_an_event(transaction_id: &str) -> OpError {
    OpError::Fault(format!(
        "payment {transaction_id} cannot be approved: it already has a webhook event, and a payment may have only one"
    ))
}

/// An event with an id and a `webhook-id` of its own.
pub(in crate::ops) async fn event(
    store: &Store,
    random: &dyn Random,
    business_id: i64,
    payment_id: Option<i64>,
    kind: &str,
    body: Vec<u8>,
    now: Timestamp,
) -> Result<Event, StoreError> {
    Ok(Event {
        id: store.id(IdKind::Event).await?,
        business_id,
        payment_id,
        kind: kind.to_owned(),
        webhook_id: webhook_id(random),
        body,
        created_at: now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SeededRandom;
    use crate::domain::charges::{Charges, Schedule};
    use crate::domain::payment::{PayerDetails, Status};

    fn payment() -> Payment {
        Payment {
            id: 5,
            business_id: 3,
            transaction_id: "ORDER-81".into(),
            kind: Kind::Transfer,
            mode: Mode::Live,
            status: Status::Approved,
            version: 2,
            amount: Money(1_250_000),
            charges: Charges { percentage: Money(12_500), fixed: Money(5_000) },
            business_receives: Money(1_232_500),
            schedule: Schedule::DEFAULT,
            payer_name: "Bisi \"B\" Okafor".into(),
            payer: PayerDetails { bank: Some("Wema".into()), ..PayerDetails::default() },
            webhook_url: Some("https://shop.example/hook".into()),
            website_id: None,
            external_reference: None,
            account_id: Some(1),
            wallet_id: None,
            till_user_id: None,
            corrections: 0,
            created_at: Timestamp(1),
            updated_at: Timestamp(2),
            expires_at: Timestamp(3),
            approvable_until: Timestamp(4),
            matched_at: Some(Timestamp(1_790_000_000_000_001)),
            approved_at: Some(Timestamp(1_790_000_000_000_001)),
            rejected_at: None,
            reject_reason: None,
            swept: false,
            reversed_at: None,
            settlement_id: Some(9),
            received: Some(Money(1_250_000)),
            is_mismatch: false,
            mismatch_reason: None,
            name_mismatch: false,
            link: None,
        }
    }

    fn text(body: Vec<u8>) -> String {
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn a_transfer_byte_for_byte() {
        let alert = AlertNote {
            payer_bank: Some("Kuda".into()),
            payer_account: Some("2000111222".into()),
            from: Some("alerts@bank.example".into()),
            subject: None,
            received_at: Some(Timestamp(1_790_000_000_000_000)),
            message_id: Some("a@b".into()),
        };
        assert_eq!(
            text(payment_approved(
                &payment(),
                Some(&ReceivingAccount::sample(1, "0011223344")),
                Some(&alert)
            )),
            concat!(
                r#"{"event":"payment.approved","transaction_id":"ORDER-81","status":"approved","#,
                r#""amount":12500.00,"received_amount":12500.00,"payer_name":"Bisi \"B\" Okafor","#,
                r#""bank":"Kuda","payer_account_number":"2000111222","account_number":"0011223344","#,
                r#""is_mismatch":false,"mismatch_reason":null,"name_mismatch":false,"#,
                r#""charges":{"percentage":125.00,"fixed":50.00,"total":175.00,"business_receives":12325.00},"#,
                r#""mode":"live","timestamp":"2026-09-21T14:13:20.000001Z","#,
                r#""email_data":{"from":"alerts@bank.example","subject":null,"#,
                r#""received_at":"2026-09-21T14:13:20.000000Z","message_id":"a@b"}}"#
            )
        );
    }

    #[test]
    fn a_mismatch_says_who_pays_the_charges_and_why() {
        let mut payment = payment();
        payment.received = Some(Money(1_232_500));
        payment.is_mismatch = true;
        payment.mismatch_reason = Some("175.00 less".into());
        payment.schedule.paid_by_customer = true;
        payment.external_reference = Some("REF 1".into());
        let body: serde_json::Value = serde_json::from_slice(&payment_approved(
            &payment,
            Some(&ReceivingAccount::sample(1, "0011223344")),
            None,
        ))
        .unwrap();
        assert_eq!(body["charges"]["paid_by_customer"], true);
        assert_eq!(body["mismatch_reason"], "175.00 less");
        assert_eq!(body["external_reference"], "REF 1");
        assert_eq!(body["bank"], "Wema", "as given when the alert does not tell");
        assert_eq!(body["received_amount"], 12325.0);
        payment.mode = Mode::Test;
        let body = text(payment_approved(&payment, Some(&ReceivingAccount::sample(1, "0011223344")), None));
        assert!(body.contains(r#""mode":"test","timestamp""#), "{body}");
    }

    #[test]
    fn a_wallet_payment_has_no_bank() {
        let wallet = Payment { kind: Kind::Wallet, ..payment() };
        let body = text(payment_approved(
            &wallet,
            Some(&ReceivingAccount::sample(1, "0011223344")),
            Some(&AlertNote::default()),
        ));
        assert!(body.contains(r#""bank":null,"payer_account_number":null,"account_number":null"#), "{body}");
        assert!(body.ends_with(r#""email_data":{}}"#), "{body}");
    }

    #[test]
    fn a_test_event_byte_for_byte() {
        assert_eq!(
            text(webhook_test(7, Timestamp(1_790_000_000_000_001))),
            concat!(
                r#"{"event":"webhook.test","business_id":7,"#,
                r#""message":"This is a test event. It does not refer to a payment.","#,
                r#""timestamp":"2026-09-21T14:13:20.000001Z"}"#
            )
        );
    }

    #[test]
    fn webhook_ids_are_long_and_differ() {
        let random = SeededRandom::new(3);
        let (a, b) = (webhook_id(&random), webhook_id(&random));
        assert!(a.len() == 26 && a.starts_with("msg_") && a != b, "{a} {b}");
        assert!(a.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
    }
}
