//! What is left of an event when its text is not kept any more: money, times, ids and words of the program, as they were told; who
//! paid, from which bank and account, and what people typed goes. So the ledger can still be held against it
//! (`ledger::audit_webhooks`), and whoever reads events in their order finds every one.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::app::App;
use crate::crash;
use crate::domain::time::Timestamp;
use crate::ops::OpError;
use crate::store::tables::events::{self, REDUCE_BATCH};

/// What stands in the place of a text that is not kept.
const ERASED: &str = "[erased]";
/// Members that stay.
const KEPT: [&str; 28] = [
    "account_number",
    "amount",
    "bank_reference",
    "business_id",
    "charges",
    "created_at",
    "currency",
    "event",
    "external_reference",
    "id",
    "is_mismatch",
    "mismatch_reason",
    "mode",
    "name_mismatch",
    "occurred_at",
    "outcome",
    "payout_account_id",
    "payout_id",
    "previous_amount",
    "received_amount",
    "reference",
    "reversed_at",
    "status",
    "test",
    "timestamp",
    "transaction_id",
    "transfer_reference",
    "wallet_id",
];

/// The body of an event without what is a person's, and when that was taken out. A text becomes `[erased]`, an object empty, and
/// whatever else it was null, so that who reads a whole event can read this one.
pub fn reduced(body: &[u8], at: Timestamp) -> Result<Vec<u8>, OpError> {
    let told: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(body)
        .map_err(|error| OpError::Fault(format!("an event that is no JSON object: {error}")))?;
    let raw = |text: &str| RawValue::from_string(text.to_owned()).map_err(fault);
    let mut left = BTreeMap::new();
    for (name, value) in told {
        let value = match value.get().as_bytes().first() {
            _ if KEPT.contains(&name.as_str()) => value,
            Some(b'"') => raw(&format!("\"{ERASED}\""))?,
            Some(b'{') => raw("{}")?,
            _ => raw("null")?,
        };
        left.insert(name, value);
    }
    left.insert("reduced_at".to_owned(), raw(&format!("\"{at}\""))?);
    serde_json::to_vec(&left).map_err(fault)
}

#[expect(clippy::needless_pass_by_value, reason = "it is mapped to")]
fn fault(error: serde_json::Error) -> OpError {
    OpError::Fault(format!("a reduced event: {error}"))
}

/// Reduces events of before a time, at most so many batches; how many those were.
pub(in crate::ops) async fn reduce_old(app: &App, before: Timestamp, steps: usize) -> Result<usize, OpError> {
    let mut done = 0;
    for _ in 0..steps {
        let found = app.store.events_to_reduce(before).await?;
        let Some(first) = found.first() else { break };
        let now = app.now();
        let mut unit = app.store.unit(first.business_id).await?;
        for event in &found {
            unit = unit.step(events::reduce(event.id, &reduced(&event.body, now)?, now));
        }
        if !app.store.apply(unit).await?.is_done() {
            break; // one of them is being sent again: the next run looks anew
        }
        crash::point("retention.step");
        done += found.len();
        if found.len() < REDUCE_BATCH {
            break;
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_and_ids_stay_as_they_were_told_and_people_go() {
        let body = br#"{"event":"payment.approved","id":"msg_1","transaction_id":"A-1","amount":5000.00,"received_amount":5000.10,
            "payer_name":"NGOZI \"N\" UMEADI","bank":"Kuda","payer_account_number":null,"charges":{"percentage":50.00,"total":100.00},
            "is_mismatch":true,"reason":"she asked","of_later":[1,{"a":2}],"count":3,"email_data":{"from":"a@b","subject":"x"}}"#;
        let left = String::from_utf8(reduced(body, Timestamp(1_773_000_000_000_000)).unwrap()).unwrap();
        assert_eq!(
            left,
            concat!(
                r#"{"amount":5000.00,"bank":"[erased]","charges":{"percentage":50.00,"total":100.00},"count":null,"email_data":{},"#,
                r#""event":"payment.approved","id":"msg_1","is_mismatch":true,"of_later":null,"payer_account_number":null,"#,
                r#""payer_name":"[erased]","reason":"[erased]","received_amount":5000.10,"reduced_at":"2026-03-08T20:00:00.000000Z","#,
                r#""transaction_id":"A-1"}"#
            )
        );
        assert!(reduced(b"[]", Timestamp(0)).is_err() && reduced(b"", Timestamp(0)).is_err());
    }
}
