//! What the shop's developer tries in test mode, so that its pages are full too: a payment that is paid, one that a person would
//! have to look at, one that waits, and a test wallet whose customer was sent a link.
//!
//! All of it over HTTP with a test key, as any program would.

use serde_json::{Value, json};

use crate::cli::test_api::Service;

const NUMBER: &str = "+2340000000001";
const PAYER: &str = "Ngozi Okafor";

/// Does it at the running service.
pub(super) async fn live(base: &str, test_key: &str) -> anyhow::Result<()> {
    let service = Service::new(base, test_key)?;
    for (naira, payer, comes) in
        [(4_500, PAYER, Some(4_500)), (8_200, "Yusuf Danladi", Some(8_000)), (6_000, "Efe Tamuno", None)]
    {
        let asked =
            service.post("/payment-request", &json!({ "amount": naira, "payer_name": payer })).await?;
        if let Some(comes) = comes {
            pay(&service, &asked["data"], comes, payer).await?;
        }
    }
    service.post("/wallet/ensure", &json!({ "phone": NUMBER })).await?;
    let top_up = json!({ "phone": NUMBER, "amount": 20_000, "payer_name": PAYER });
    let asked = service.post("/wallet/topup", &top_up).await?;
    pay(&service, &asked["data"], 20_000, PAYER).await?;
    let order = json!({
        "phone": NUMBER, "amount": 3_500, "order_reference": "A-7", "order_summary": "2 x Suya\n1 x Zobo",
        "payer_name": PAYER, "idempotency_key": "A-7",
    });
    service.post("/wallet/pay/start", &order).await?;
    Ok(())
}

async fn pay(service: &Service, asked: &Value, naira: i64, payer: &str) -> anyhow::Result<()> {
    let mail = json!({ "transaction_id": asked["transaction_id"], "amount": naira, "payer_name": payer });
    service.post("/test/alerts", &mail).await?;
    Ok(())
}
