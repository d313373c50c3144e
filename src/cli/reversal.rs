//! `tillbell payment reverse`: asks a person first, and says afterwards what became of the money and what is left to do.

use anyhow::bail;

use super::{Desk, print, typed};
use crate::app::App;
use crate::domain::money::naira;
use crate::domain::payment::{Kind, Payment, Status};
use crate::ops::alerts::reverse::{Reverse, ReverseRefused, reverse_payment};
use crate::ops::merchants::businesses::merchant_balance;
use crate::ops::payments::read::{find_payment, payment_history};
use crate::ops::wallets::held::paid_since;
use crate::terminal;

pub(super) async fn run(app: &App, ask: &Reverse<'_>) -> anyhow::Result<()> {
    let refused = match reverse_payment(app, ask).await? {
        Ok(_) => return Ok(()),
        Err(refused) => refused,
    };
    if let ReverseRefused::Obstacles(all) = &refused
        && all.len() > 1
    {
        let what = format!("payment {} is not reversed", ask.transaction_id);
        return Err(print::obstacles(&what, all, "to reverse it anyway, give your reason with --despite"));
    }
    Err(refused.into())
}

/// What follows from a reversal, for people.
pub(super) async fn tell(app: &App, ask: &Reverse<'_>, desk: &Desk) -> anyhow::Result<()> {
    if desk.printer.json {
        return Ok(());
    }
    let Some(history) = payment_history(app, ask.business_id, ask.transaction_id).await? else {
        return Ok(());
    };
    let payment = &history.view.payment;
    let balance = merchant_balance(app, ask.business_id).await?.unwrap_or_default();
    let mut lines = vec![String::new()];
    let of_business = format!(
        "{} was taken out of the balance of business {}, which is now {}.",
        naira(payment.business_receives),
        payment.business_id,
        naira(balance)
    );
    let webhook = "The webhook payment.reversed tells the merchant; the API shows `reversed_at`.".to_owned();
    let amount = naira(payment.received.unwrap_or(payment.amount));
    match payment.kind {
        Kind::Transfer => lines.extend([of_business, webhook]),
        Kind::Wallet => {
            lines.extend([of_business, format!("{amount} went back to the customer's wallet.")]);
            lines.extend(["A message tells the customer.".to_owned(), webhook]);
        }
        Kind::Topup => {
            lines.push(format!(
                "{amount} was taken out of the customer's wallet. A message tells the customer."
            ));
            if let Some(wallet) = payment.wallet_id {
                let shops = paid_since(app, wallet, payment.created_at).await?;
                let shops: Vec<String> = shops.iter().map(i64::to_string).collect();
                lines.extend((!shops.is_empty()).then(|| {
                    format!(
                        "Since the top-up was asked for, the wallet has paid these businesses, whose payouts are held no \
                         longer: {}. Look at them before the next export: `payout list --status pending`.",
                        shops.join(", ")
                    )
                }));
            }
        }
    }
    let credit = history.settlements.iter().rev().find_map(|settlement| settlement.alert_id);
    lines.extend(credit.map(|credit| match ask.undoing_alert {
        None => format!(
            "Alert {credit}, which paid it, is in review again: `alert show {credit}`. Approve its money onto the right \
             payment, or dismiss it."
        ),
        Some(undoing) => {
            format!("Alert {credit}, which paid it, is reversed: alert {undoing} took its money back.")
        }
    }));
    desk.printer.remark(true, &lines.join("\n"))
}

/// Asks a person at a terminal whether it is this payment that they mean; a script is not asked.
pub(super) async fn confirm(app: &App, business: i64, transaction_id: &str) -> anyhow::Result<()> {
    // What cannot be reversed is refused by the reversal itself.
    let found = find_payment(app, business, transaction_id).await?;
    let is_open = |one: &Payment| one.status == Status::Approved && one.reversed_at.is_none();
    let Some(payment) = found.filter(is_open) else { return Ok(()) };
    let amount = naira(payment.received.unwrap_or(payment.amount));
    let question = terminal::harmless_line(&format!(
        "Reverse payment {transaction_id:?} of business {business}: {amount} from {}? This cannot be undone. Type yes: ",
        payment.payer_name
    ));
    if typed::says_yes(&question)? == Some(false) {
        bail!("nothing was reversed");
    }
    Ok(())
}
