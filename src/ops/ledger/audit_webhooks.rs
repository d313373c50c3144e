//! The audit of what merchants were told: the webhook bodies of every approval and of every reversal agree with their
//! ledger entries to the kobo. Events and entries never change, so batches need no common snapshot.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::check::Check;
use crate::app::App;
use crate::domain::event::EventKind;
use crate::domain::money::Money;
use crate::ops::OpError;
use crate::store::audit::counted_once::{BODIES_PER_READ, ToldAndPosted};

#[derive(Deserialize)]
struct Body<'a> {
    event: String,
    /// Bodies of before had none.
    id: Option<String>,
    transaction_id: String,
    status: String,
    reversed_at: Option<String>,
    #[serde(borrow)]
    amount: &'a RawValue,
    #[serde(borrow)]
    received_amount: &'a RawValue,
    #[serde(borrow)]
    charges: Charges<'a>,
}

#[derive(Deserialize)]
struct Charges<'a> {
    #[serde(borrow)]
    percentage: &'a RawValue,
    #[serde(borrow)]
    fixed: &'a RawValue,
    #[serde(borrow)]
    total: &'a RawValue,
    #[serde(borrow)]
    business_receives: &'a RawValue,
}

pub(in crate::ops) async fn bodies_agree(app: &App) -> Result<Check, OpError> {
    let mut check = Check::new("events_agree_with_entries");
    let mut last = 0;
    loop {
        let batch = app.store.told_and_posted(last).await?;
        let full = batch.len() >= BODIES_PER_READ;
        for one in batch {
            last = one.event_id;
            check.look("events", one.event_id, agrees(&one));
        }
        if !full {
            return Ok(check);
        }
    }
}

fn agrees(one: &ToldAndPosted) -> bool {
    let Ok(body) = serde_json::from_slice::<Body<'_>>(&one.body) else { return false };
    let is = |told: &RawValue, posted: Money| Money::parse(told.get()) == Ok(posted);
    let parts = (Money::parse(body.charges.percentage.get()), Money::parse(body.charges.fixed.get()));
    let adds_up = match parts {
        (Ok(percentage), Ok(fixed)) => percentage.checked_add(fixed) == Some(one.fees),
        _ => false,
    };
    let status = match EventKind::parse(&one.event_kind) {
        Some(EventKind::PaymentApproved) => "approved",
        Some(EventKind::PaymentReversed) => "reversed",
        _ => return false,
    };
    let reversed_at = one.reversed_at.filter(|_| status == "reversed").map(|at| at.to_string());
    body.event == one.event_kind
        && body.reversed_at == reversed_at
        && body.id.is_none_or(|id| id == one.webhook_id)
        && body.status == status
        && body.transaction_id == one.transaction_id
        && is(body.amount, one.amount)
        && is(body.received_amount, one.received)
        && is(body.charges.total, one.fees)
        && is(body.charges.business_receives, one.business_receives)
        && adds_up
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    const BODY: &str = r#"{"event":"payment.approved","id":"msg_9","transaction_id":"T-9","status":"approved",
        "amount":810.00,"received_amount":800.05,"payer_name":"\u0041","charges":{"percentage":8.05,
        "fixed":50.00,"total":58.05,"business_receives":742.00},"email_data":{}}"#;

    fn row(body: &str) -> ToldAndPosted {
        ToldAndPosted {
            event_id: 1,
            event_kind: "payment.approved".into(),
            webhook_id: "msg_9".into(),
            body: body.as_bytes().to_vec(),
            transaction_id: "T-9".into(),
            amount: Money(81_000),
            received: Money(80_005),
            fees: Money(5_805),
            business_receives: Money(74_200),
            reversed_at: Some(Timestamp(1_790_000_000_000_001)),
        }
    }

    #[test]
    fn a_reversal_tells_of_its_own_time() {
        let told =
            BODY.replace("payment.approved", "payment.reversed").replace("\"approved\"", "\"reversed\"");
        let one = |body: &str| ToldAndPosted { event_kind: "payment.reversed".into(), ..row(body) };
        assert!(!agrees(&one(&told)), "no time");
        let timed = told.replace("\"amount\"", "\"reversed_at\":\"2026-09-21T14:13:20.000001Z\",\"amount\"");
        assert!(agrees(&one(&timed)));
        assert!(!agrees(&one(&timed.replace("20.000001", "20.000002"))));
        assert!(!agrees(&row(&timed)), "another event");
    }

    #[test]
    fn a_kobo_is_seen() {
        assert!(agrees(&row(BODY)));
        for (from, to) in [
            ("800.05", "800.06"),
            ("810.00", "810.01"),
            ("58.05", "58.06"),
            ("742.00", "742.01"),
            (":8.05", ":8.06"),
            ("50.00", "\"50.00\""),
            ("T-9", "T-8"),
            ("msg_9", "msg_8"),
            ("\"approved\"", "\"pending\""),
            ("\"fixed\"", "\"fixt\""),
            ("}}", "}"),
        ] {
            let changed = BODY.replacen(from, to, 1);
            assert_ne!(changed, BODY, "{from}");
            assert!(!agrees(&row(&changed)), "{to}");
        }
    }
}
