//! The audit of what merchants were told: every approved payment's webhook body agrees with its ledger entry to
//! the kobo. Events and entries never change, so batches need no common snapshot.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::check::Check;
use crate::app::App;
use crate::domain::money::Money;
use crate::ops::OpError;
use crate::ops::webhooks::body::PAYMENT_APPROVED;
use crate::store::audit::counted_once::{BODIES_PER_READ, ToldAndPosted};

#[derive(Deserialize)]
struct Body<'a> {
    event: String,
    transaction_id: String,
    status: String,
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
    one.event_kind == PAYMENT_APPROVED
        && body.event == PAYMENT_APPROVED
        && body.status == "approved"
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

    const BODY: &str = r#"{"event":"payment.approved","transaction_id":"T-9","status":"approved",
        "amount":810.00,"received_amount":800.05,"payer_name":"\u0041","charges":{"percentage":8.05,
        "fixed":50.00,"total":58.05,"business_receives":742.00},"email_data":{}}"#;

    fn row(body: &str) -> ToldAndPosted {
        ToldAndPosted {
            event_id: 1,
            event_kind: PAYMENT_APPROVED.into(),
            body: body.as_bytes().to_vec(),
            transaction_id: "T-9".into(),
            amount: Money(81_000),
            received: Money(80_005),
            fees: Money(5_805),
            business_receives: Money(74_200),
        }
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
