//! The bodies of webhooks, made once and stored; every attempt sends these bytes.
//!
//! `payment.approved` has the fields of contract/webhooks.md#h3 in that order, amounts as JSON numbers with
//! two decimals, null fields kept. `name_mismatch` is always there: a receiver that looks for it
//! should not have to know that only mismatches carry it. Other events about a payment have the same fields, and their own
//! before `timestamp`. `webhook.test` is an addition of ours.
//! `id` is the `webhook-id`. Nothing is sent here; `event` puts bodies into Units.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::domain::account::ReceivingAccount;
use crate::domain::alert::AlertRow;
use crate::domain::arrival::{Arrival, ArrivalEnd};
use crate::domain::event::EventKind;
use crate::domain::intent::reject_word;
use crate::domain::merchant::Mode;
use crate::domain::money::{CURRENCY, Money};
use crate::domain::payment::{Kind, Payment};
use crate::domain::payout::{Payout, PayoutEnd};
use crate::domain::time::Timestamp;
use crate::wire::{JsonMoney, JsonTime, encode};

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

impl AlertNote {
    pub fn of(alert: &AlertRow) -> AlertNote {
        AlertNote {
            payer_bank: alert.facts.payer_bank.clone(),
            payer_account: alert.facts.payer_account_number.clone(),
            from: alert.mail_from.clone(),
            subject: alert.subject.clone(),
            received_at: Some(alert.first_seen),
            message_id: alert.message_id.clone(),
        }
    }
}

/// A payment in an event.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PaymentEvent")]
pub struct PaymentBody<'a> {
    event: &'static str,
    /// The event's, the same as `webhook-id`.
    id: &'a str,
    transaction_id: &'a str,
    /// Wallet payments only: your `order_reference`.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_reference: Option<&'a str>,
    /// Of the payment at that time; `reversed` where its money went back.
    status: &'static str,
    /// What the customer was asked to pay, with the charges that they pay. Never send it back as `new_amount`.
    amount: JsonMoney,
    /// What arrived; reconcile with this one. Null as long as nothing did.
    received_amount: Option<JsonMoney>,
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
    /// True of a test payment; a live one's body has no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reversed_at: Option<JsonTime>,
    /// The operator's, of a reversal.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reject_reason: Option<&'a str>,
    /// What was asked for before a correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_amount: Option<JsonMoney>,
    /// The bank's time of money that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred_at: Option<JsonTime>,
    /// What became of money that waited and did not pay this payment: `dismissed` by a person, `taken_back` by the bank, or
    /// `elsewhere`: it paid another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wallet_id: Option<i64>,
    /// When it happened.
    timestamp: JsonTime,
    email_data: EmailData<'a>,
    /// Only where the text is no longer kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    reduced_at: Option<JsonTime>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EventCharges")]
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
    #[schemars(extend("const" = EventKind::WebhookTest.as_str()))]
    event: &'static str,
    id: &'a str,
    business_id: i64,
    message: &'a str,
    timestamp: JsonTime,
}

/// The payment that an event is about, as it is after the fact.
#[derive(Clone, Copy)]
pub struct About<'a> {
    pub payment: &'a Payment,
    pub account: Option<&'a ReceivingAccount>,
    /// What funded a transfer. A wallet payment has none, and its bank fields are null.
    pub alert: Option<&'a AlertNote>,
}

/// The body of `payment.approved` for a payment that was just approved.
pub fn payment_approved(id: &str, about: About<'_>) -> Vec<u8> {
    let payment = about.payment;
    let at = payment.approved_at.unwrap_or(payment.updated_at);
    let received_amount = Some(JsonMoney(payment.received.unwrap_or(payment.amount)));
    encode(&PaymentBody { received_amount, ..of_payment(id, EventKind::PaymentApproved, about, at) })
}

/// The body of `payment.reversed`: the payment is `approved` for ever, and its money went back.
pub fn payment_reversed(id: &str, about: About<'_>, reason: &str, at: Timestamp) -> Vec<u8> {
    let body = of_payment(id, EventKind::PaymentReversed, about, at);
    encode(&PaymentBody { status: "reversed", reversed_at: Some(JsonTime(at)), reason: Some(reason), ..body })
}

/// The body of `payment.rejected`, with the word that the API has for it.
pub fn payment_rejected(id: &str, about: About<'_>) -> Vec<u8> {
    let payment = about.payment;
    let reject_reason = reject_word(payment);
    let at = payment.rejected_at.unwrap_or(payment.updated_at);
    encode(&PaymentBody { reject_reason, ..of_payment(id, EventKind::PaymentRejected, about, at) })
}

/// The body of `payment.amount_corrected`: what was asked for before, too.
pub fn payment_amount_corrected(id: &str, about: About<'_>, previous: Money) -> Vec<u8> {
    let previous_amount = Some(JsonMoney(previous));
    let at = about.payment.updated_at;
    encode(&PaymentBody { previous_amount, ..of_payment(id, EventKind::PaymentAmountCorrected, about, at) })
}

/// The body of `payment.late`, `payment.underpaid` and `payment.overpaid`: what came, and nothing of whose money it is.
pub fn money_arrived(id: &str, kind: EventKind, about: About<'_>, arrival: &Arrival) -> Vec<u8> {
    let occurred_at = Some(JsonTime(arrival.occurred_at));
    let received_amount = Some(JsonMoney(arrival.received));
    let body = of_payment(id, kind, about, arrival.made_at);
    encode(&PaymentBody { received_amount, occurred_at, ..body })
}

/// The same, once it waits no more: what became of it, and when.
pub fn money_gone(
    id: &str,
    kind: EventKind,
    about: About<'_>,
    arrival: &Arrival,
    end: ArrivalEnd,
    at: Timestamp,
) -> Vec<u8> {
    let occurred_at = Some(JsonTime(arrival.occurred_at));
    let received_amount = Some(JsonMoney(arrival.received));
    let body = of_payment(id, kind, about, at);
    encode(&PaymentBody { received_amount, occurred_at, outcome: Some(end.as_str()), ..body })
}

/// The body of `wallet.topped_up`, of the top-up that brought the money.
pub fn wallet_topped_up(id: &str, about: About<'_>) -> Vec<u8> {
    let payment = about.payment;
    let wallet_id = payment.wallet_id;
    let at = payment.approved_at.unwrap_or(payment.updated_at);
    encode(&PaymentBody { wallet_id, ..of_payment(id, EventKind::WalletToppedUp, about, at) })
}

/// A payout in an event.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PayoutEvent")]
pub struct PayoutBody<'a> {
    event: &'static str,
    /// The event's, the same as `webhook-id`.
    id: &'a str,
    payout_id: i64,
    status: &'static str,
    amount: JsonMoney,
    #[schemars(extend("const" = CURRENCY))]
    currency: &'static str,
    payout_account_id: i64,
    /// Your own.
    reference: Option<&'a str>,
    /// Stands in the narration of the bank's transfer.
    transfer_reference: &'a str,
    /// The bank's own, where it gave one.
    bank_reference: Option<&'a str>,
    /// Why it was refused.
    reason: Option<&'a str>,
    mode: &'static str,
    created_at: JsonTime,
    timestamp: JsonTime,
}

/// The body of `payout.paid` and `payout.refused`.
pub fn payout_ended(id: &str, kind: EventKind, payout: &Payout, end: &PayoutEnd) -> Vec<u8> {
    encode(&PayoutBody {
        event: kind.as_str(),
        id,
        payout_id: payout.id,
        status: payout.status.as_str(),
        amount: JsonMoney(payout.amount),
        currency: CURRENCY,
        payout_account_id: payout.account_id,
        reference: payout.reference.as_deref(),
        transfer_reference: &payout.code,
        bank_reference: end.bank_reference.as_deref(),
        reason: end.reason.as_deref(),
        mode: Mode::Live.as_str(),
        created_at: JsonTime(payout.created_at),
        timestamp: JsonTime(end.at),
    })
}

/// What all events about payments have.
fn of_payment<'a>(id: &'a str, kind: EventKind, about: About<'a>, at: Timestamp) -> PaymentBody<'a> {
    let About { payment, account, alert } = about;
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
    PaymentBody {
        event: kind.as_str(),
        id,
        transaction_id: &payment.transaction_id,
        external_reference: payment.external_reference.as_deref(),
        status: payment.status.as_str(),
        amount: JsonMoney(payment.amount),
        received_amount: payment.received.map(JsonMoney),
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
            // Of a top-up the wallet receives it all.
            business_receives: JsonMoney(match payment.kind {
                Kind::Topup => Money::ZERO,
                Kind::Transfer | Kind::Wallet => payment.business_receives,
            }),
            paid_by_customer: payment.is_mismatch.then_some(payment.schedule.paid_by_customer),
        },
        mode: payment.mode.as_str(),
        test: (payment.mode == Mode::Test).then_some(true),
        reversed_at: None,
        reason: None,
        reject_reason: None,
        previous_amount: None,
        occurred_at: None,
        outcome: None,
        wallet_id: None,
        timestamp: JsonTime(at),
        email_data,
        reduced_at: None,
    }
}

/// The body of `webhook.test`.
pub fn webhook_test(id: &str, business_id: i64, now: Timestamp) -> Vec<u8> {
    encode(&TestBody {
        event: EventKind::WebhookTest.as_str(),
        id,
        business_id,
        message: "This is a test event. It does not refer to a payment.",
        timestamp: JsonTime(now),
    })
}

/// Any event, as the list has it.
pub struct AnyEvent;

impl JsonSchema for AnyEvent {
    fn schema_name() -> Cow<'static, str> {
        "Event".into()
    }

    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            schemas.subschema_for::<PaymentBody<'static>>(),
            schemas.subschema_for::<PayoutBody<'static>>(),
            schemas.subschema_for::<TestBody<'static>>(),
        ] })
    }
}

/// The id of the event in the API's document.
pub const SAMPLE_ID: &str = "msg_3f9aQmD0uWc81xKZpTgE5b";

/// A body as it may come, for the API's document.
pub fn sample(kind: EventKind) -> Vec<u8> {
    let at = JsonTime(Timestamp(1_773_130_361_320_358));
    if kind == EventKind::WebhookTest {
        return webhook_test(SAMPLE_ID, 1, at.0);
    }
    if let EventKind::PayoutPaid | EventKind::PayoutRefused = kind {
        let is_paid = kind == EventKind::PayoutPaid;
        return encode(&PayoutBody {
            event: kind.as_str(),
            id: SAMPLE_ID,
            payout_id: 12,
            status: if is_paid { "paid" } else { "refused" },
            amount: JsonMoney(Money(500_000)),
            currency: CURRENCY,
            payout_account_id: 3,
            reference: Some("week 11"),
            transfer_reference: "PAYOUTK7Q2M9XWC4TB",
            bank_reference: None,
            reason: (!is_paid).then_some("the account is closed"),
            mode: Mode::Live.as_str(),
            created_at: at,
            timestamp: at,
        });
    }
    let (status, received) = match kind {
        EventKind::PaymentReversed => ("reversed", Some(1_200_000)),
        EventKind::PaymentRejected => ("rejected", None),
        EventKind::PaymentAmountCorrected => ("pending", None),
        EventKind::PaymentLate => ("pending", Some(1_200_000)),
        EventKind::PaymentUnderpaid => ("pending", Some(1_000_000)),
        EventKind::PaymentOverpaid => ("pending", Some(1_500_000)),
        _ => ("approved", Some(1_200_000)),
    };
    let is = |one: &[EventKind]| one.contains(&kind);
    let waits = is(&[EventKind::PaymentLate, EventKind::PaymentUnderpaid, EventKind::PaymentOverpaid]);
    let has_mail = is(&[EventKind::PaymentApproved, EventKind::PaymentReversed, EventKind::WalletToppedUp]);
    let mail = EmailData {
        from: Some(Some("alerts@premiumtrustbank.com")),
        subject: Some(Some("Transaction Alert")),
        received_at: Some(Some(at)),
        message_id: Some(Some("first@premiumtrustbank.com")),
    };
    encode(&PaymentBody {
        event: kind.as_str(),
        id: SAMPLE_ID,
        transaction_id: "order-2001",
        external_reference: None,
        status,
        amount: JsonMoney(Money(1_200_000)),
        received_amount: received.map(|kobo| JsonMoney(Money(kobo))),
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
        test: None,
        reversed_at: is(&[EventKind::PaymentReversed]).then_some(at),
        reason: is(&[EventKind::PaymentReversed]).then_some("the bank took it back"),
        reject_reason: is(&[EventKind::PaymentRejected]).then_some("expired"),
        previous_amount: is(&[EventKind::PaymentAmountCorrected]).then_some(JsonMoney(Money(1_000_000))),
        occurred_at: waits.then_some(at),
        outcome: None,
        wallet_id: is(&[EventKind::WalletToppedUp]).then_some(31),
        timestamp: at,
        email_data: if has_mail { mail } else { EmailData::default() },
        reduced_at: None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::domain::charges::{Charges, Schedule};
    use crate::domain::payment::{PayerDetails, Status};

    const ID: &str = "msg_0000000000000000000009";

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

    fn about<'a>(payment: &'a Payment, alert: Option<&'a AlertNote>) -> About<'a> {
        static ACCOUNT: LazyLock<ReceivingAccount> =
            LazyLock::new(|| ReceivingAccount::sample(1, "0011223344"));
        About { payment, account: Some(&ACCOUNT), alert }
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
            text(payment_approved(ID, about(&payment(), Some(&alert)))),
            concat!(
                r#"{"event":"payment.approved","id":"msg_0000000000000000000009","transaction_id":"ORDER-81","#,
                r#""status":"approved","#,
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
        let body: serde_json::Value =
            serde_json::from_slice(&payment_approved(ID, about(&payment, None))).unwrap();
        assert_eq!(body["charges"]["paid_by_customer"], true);
        assert_eq!(body["mismatch_reason"], "175.00 less");
        assert_eq!(body["external_reference"], "REF 1");
        assert_eq!(body["bank"], "Wema", "as given when the alert does not tell");
        assert_eq!(body["received_amount"], 12325.0);
        payment.mode = Mode::Test;
        let body = text(payment_approved(ID, about(&payment, None)));
        assert!(body.contains(r#""mode":"test","test":true,"timestamp""#), "{body}");
    }

    #[test]
    fn a_wallet_payment_has_no_bank() {
        let wallet = Payment { kind: Kind::Wallet, ..payment() };
        let body = text(payment_approved(ID, about(&wallet, Some(&AlertNote::default()))));
        assert!(body.contains(r#""bank":null,"payer_account_number":null,"account_number":null"#), "{body}");
        assert!(body.ends_with(r#""email_data":{}}"#), "{body}");
    }

    #[test]
    fn a_reversal_byte_for_byte() {
        let payment = Payment { reversed_at: Some(Timestamp(1_790_000_100_000_001)), ..payment() };
        let at = Timestamp(1_790_000_100_000_001);
        let body = payment_reversed(ID, about(&payment, Some(&AlertNote::default())), "not \"theirs\"", at);
        assert_eq!(
            text(body),
            concat!(
                r#"{"event":"payment.reversed","id":"msg_0000000000000000000009","transaction_id":"ORDER-81","#,
                r#""status":"reversed","amount":12500.00,"received_amount":12500.00,"#,
                r#""payer_name":"Bisi \"B\" Okafor","bank":"Wema","payer_account_number":null,"#,
                r#""account_number":"0011223344","is_mismatch":false,"mismatch_reason":null,"name_mismatch":false,"#,
                r#""charges":{"percentage":125.00,"fixed":50.00,"total":175.00,"business_receives":12325.00},"#,
                r#""mode":"live","reversed_at":"2026-09-21T14:15:00.000001Z","reason":"not \"theirs\"","#,
                r#""timestamp":"2026-09-21T14:15:00.000001Z","#,
                r#""email_data":{"from":null,"subject":null,"received_at":null,"message_id":null}}"#
            )
        );
    }

    /// What stands between the event's name and its time.
    fn middle(body: Vec<u8>) -> String {
        let body = text(body);
        let (_, rest) = body.split_once(r#","transaction_id":"ORDER-81","#).unwrap();
        rest.rsplit_once(r#","email_data""#).unwrap().0.to_owned()
    }

    #[test]
    fn events_by_choice_byte_for_byte() {
        let payment = Payment {
            status: Status::Rejected,
            received: None,
            rejected_at: Some(Timestamp(1_790_000_100_000_001)),
            reject_reason: Some("the customer never came".into()),
            ..payment()
        };
        let common = |status: &str, received: &str| {
            format!(
                concat!(
                    r#""status":"{}","amount":12500.00,"received_amount":{},"payer_name":"Bisi \"B\" Okafor","bank":"Wema","#,
                    r#""payer_account_number":null,"account_number":"0011223344","is_mismatch":false,"#,
                    r#""mismatch_reason":null,"name_mismatch":false,"charges":{{"percentage":125.00,"fixed":50.00,"#,
                    r#""total":175.00,"business_receives":12325.00}},"mode":"live","#
                ),
                status, received
            )
        };
        let rejected = middle(payment_rejected(ID, about(&payment, None)));
        let more = r#""reject_reason":"rejected","timestamp":"2026-09-21T14:15:00.000001Z""#;
        assert_eq!(rejected, common("rejected", "null") + more, "an operator's words are for operators");
        let swept = Payment { swept: true, ..payment.clone() };
        assert!(text(payment_rejected(ID, about(&swept, None))).contains(r#""reject_reason":"expired""#));
        let pending =
            Payment { status: Status::Pending, updated_at: Timestamp(1_790_000_100_000_001), ..payment };
        let corrected = middle(payment_amount_corrected(ID, about(&pending, None), Money(1_000_050)));
        let more = r#""previous_amount":10000.50,"timestamp":"2026-09-21T14:15:00.000001Z""#;
        assert_eq!(corrected, common("pending", "null") + more);
        let topup = Payment { wallet_id: Some(31), ..self::payment() };
        let topped = middle(wallet_topped_up(ID, about(&topup, None)));
        let more = r#""wallet_id":31,"timestamp":"2026-09-21T14:13:20.000001Z""#;
        assert_eq!(topped, common("approved", "12500.00") + more);
    }

    #[test]
    fn a_test_event_byte_for_byte() {
        assert_eq!(
            text(webhook_test(ID, 7, Timestamp(1_790_000_000_000_001))),
            concat!(
                r#"{"event":"webhook.test","id":"msg_0000000000000000000009","business_id":7,"#,
                r#""message":"This is a test event. It does not refer to a payment.","#,
                r#""timestamp":"2026-09-21T14:13:20.000001Z"}"#
            )
        );
    }
}
