//! `tillbell wallet ...`

use anyhow::bail;
use clap::Subcommand;

use super::Desk;
use super::options::money;
use super::print::Object;
use super::typed;
use crate::app::App;
use crate::domain::money::{Money, naira};
use crate::domain::wallet::{Wallet, WalletStatus};
use crate::ops::wallets::desk::StatementLine;
use crate::ops::wallets::desk::{self, Act, GivenCredit, WalletStatement};
use crate::ops::wallets::find::limits;
use crate::ops::wallets::held;

#[derive(Subcommand)]
pub(super) enum WalletCommand {
    /// Show a wallet: balance, limits, state and statement
    #[command(after_help = examples!["wallet show 08031234567"])]
    Show {
        /// The customer's mobile number
        phone: String,
    },
    /// Put money into a wallet, for example as goodwill
    ///
    /// The money is booked against the house account for adjustments. It must fit the limit of the wallet's tier. The
    /// same amount within ten minutes needs a new --ref.
    #[command(after_help = examples!["wallet credit 08031234567 2500 --reason \"goodwill\" --ref G-7"])]
    Credit {
        /// The customer's mobile number
        phone: String,
        /// Amount in naira, for example 2500 or 2500.50
        #[arg(value_parser = money)]
        amount: Money,
        /// Why, for the record
        #[arg(long)]
        reason: String,
        /// A reference of your own, shown by `wallet show`; one reference is credited only once, ever
        #[arg(long = "ref", value_name = "REFERENCE")]
        reference: Option<String>,
        /// Do not ask first
        #[arg(long)]
        yes: bool,
    },
    /// Unlock a wallet that was locked after too many wrong PINs
    #[command(after_help = examples!["wallet unlock 08031234567"])]
    Unlock {
        /// The customer's mobile number
        phone: String,
    },
    /// Change the tier of a wallet, which limits its balance and daily payments
    #[command(after_help = examples!["wallet tier 08031234567 2"])]
    Tier {
        /// The customer's mobile number
        phone: String,
        /// New tier: 1, 2 or 3
        #[arg(value_name = "1-3")]
        tier: i64,
    },
    /// Suspend a wallet: it cannot pay, and no top-up is credited without a person
    #[command(after_help = examples!["wallet suspend 08031234567 --reason \"the phone was stolen\""])]
    Suspend {
        /// The customer's mobile number
        phone: String,
        /// Why, for the record
        #[arg(long)]
        reason: String,
    },
    /// End the suspension of a wallet
    #[command(after_help = examples!["wallet resume 08031234567 --reason \"the owner has a new SIM\""])]
    Resume {
        /// The customer's mobile number
        phone: String,
        /// Why, for the record
        #[arg(long)]
        reason: String,
    },
}

pub(super) async fn run(command: WalletCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    let operator = &desk.operator;
    let credited = matches!(command, WalletCommand::Credit { .. });
    let act = |phone: String, act: Act, reason: String| {
        let app = &app;
        async move { desk::act(app, operator, &phone, act, &reason).await }
    };
    let wallet = match command {
        WalletCommand::Show { phone } => {
            let statement = desk::statement(&app, &phone).await??;
            return desk.printer.object(&statement_object(&app, &statement));
        }
        WalletCommand::Credit { phone, amount, reason, reference, yes } => {
            if !yes {
                confirm_credit(&app, &phone, amount).await?;
            }
            let given =
                GivenCredit { phone: &phone, amount, reason: &reason, reference: reference.as_deref() };
            desk::credit(&app, operator, &given).await??
        }
        WalletCommand::Unlock { phone } => act(phone, Act::Unlock, String::new()).await??,
        WalletCommand::Tier { phone, tier } => act(phone, Act::SetTier(tier), String::new()).await??,
        WalletCommand::Suspend { phone, reason } => act(phone, Act::Suspend, reason).await??,
        WalletCommand::Resume { phone, reason } => act(phone, Act::Resume, reason).await??,
    };
    let alarm = held::alarm_of(&app, &wallet).await?;
    desk.printer.object(&object(&app, &wallet).with("held_by_alert", alarm))?;
    desk.printer.remark(credited && wallet.suspended, SUSPENDED)
}

const SUSPENDED: &str = "the wallet is suspended: nobody can spend the money until `wallet resume`";

/// A person at a terminal sees whom the money goes to: no command takes it back.
async fn confirm_credit(app: &App, phone: &str, amount: Money) -> anyhow::Result<()> {
    // What cannot be credited is refused by the credit itself.
    let Ok(sheet) = desk::statement(app, phone).await? else { return Ok(()) };
    let wallet = &sheet.wallet;
    let suspended = if wallet.suspended { ", which is suspended" } else { "" };
    let question = format!(
        "Credit {} to the wallet of {}{suspended}? No command takes it back. Type yes: ",
        naira(amount),
        wallet.phone.e164()
    );
    if typed::says_yes(&question)? == Some(false) {
        bail!("nothing was credited");
    }
    Ok(())
}

fn object(app: &App, wallet: &Wallet) -> Object {
    let status = wallet.status(app.now());
    let locked_until = match status {
        WalletStatus::Locked(until) => Some(until),
        WalletStatus::Active | WalletStatus::Suspended => None,
    };
    let limits = limits(app, wallet);
    Object::new()
        .with("wallet_id", wallet.id)
        .with("phone", wallet.phone.e164())
        .with("tier", wallet.tier.number())
        .with("status", status.as_str())
        .with("locked_until", locked_until)
        .with("has_pin", wallet.has_pin())
        .with("balance", wallet.balance)
        .with("balance_limit", limits.balance)
        .with("spent_today", wallet.spent_on(app.now()))
        .with("daily_limit", limits.daily)
        .with("created_at", wallet.created_at)
}

fn statement_object(app: &App, statement: &WalletStatement) -> Object {
    let lines: Vec<Object> = statement.lines.iter().map(line).collect();
    object(app, &statement.wallet).with("expected_topups", statement.expected_topups).with("statement", lines)
}

fn line(line: &StatementLine) -> Object {
    let what = match (line.entry_kind.as_str(), line.settlement_kind.as_deref()) {
        ("settlement", Some("topup")) => "top-up",
        ("settlement", _) => "payment",
        ("reversal", Some("topup")) => "top-up reversed",
        ("reversal", _) => "payment reversed",
        _ => "credit by an operator",
    };
    let amount = if line.is_credit { line.amount } else { Money(-line.amount.kobo()) };
    let is_payment = line.settlement_kind.as_deref() == Some("wallet");
    Object::new()
        .with("posted_at", line.posted_at)
        .with("kind", what)
        .with("amount", amount)
        .with("transaction_id", line.transaction_id.as_ref())
        .with("merchant", line.merchant.as_ref().filter(|_| is_payment))
        .with("reference", line.reference.as_ref())
        .with("memo", &line.memo)
}
