//! `tillbell account ...`
//!
//! Which bank a name means comes from the mail templates; ops get what they need of it.

use clap::Subcommand;

use super::Desk;
use super::print::{Object, warn};
use crate::alert_reader::Banks;
use crate::domain::account::ReceivingAccount;
use crate::domain::merchant::Mode;
use crate::mail_intake::given_bank::given_bank;
use crate::ops::merchants::accounts::{self, NewAccount};

#[derive(Subcommand)]
pub(super) enum AccountCommand {
    /// Add a bank account that customers pay into
    ///
    /// Without --business the account is shared by all businesses that have none of their own.
    #[command(after_help = examples![
        "account add --bank GTBank --number 0123456785 --name \"SUYA SPOT LTD\"",
        "account add --bank UBA --number 2087654329 --name AMAKA --business 2",
    ])]
    Add {
        /// Account number, 10 digits
        #[arg(long)]
        number: String,
        /// Name of the account holder, as the bank writes it
        #[arg(long)]
        name: String,
        /// Name, code or alias of the bank, from `bank list`
        #[arg(long)]
        bank: String,
        /// Use the account for this business only
        #[arg(long, value_name = "ID")]
        business: Option<i64>,
        /// It is a virtual account: its money arrives in this registered account
        #[arg(long, value_name = "NUMBER")]
        via: Option<String>,
        /// Use the account for test payments only
        #[arg(long)]
        test: bool,
        /// Add it even if its alerts cannot be read, or look like another account's
        #[arg(long)]
        force: bool,
    },
    /// List all accounts, retired ones too
    #[command(after_help = examples!["account list"])]
    List,
    /// Stop using an account for new payments; its alerts are still matched
    #[command(after_help = examples!["account retire 4"])]
    Retire {
        /// Id of the account, from `account list`
        id: i64,
    },
}

fn object(account: &ReceivingAccount) -> Object {
    Object::new()
        .with("id", account.id)
        .with("bank", &account.bank_name)
        .with("bank_code", &account.bank)
        .with("number", &account.number)
        .with("name", &account.name)
        .with("business_id", account.business_id)
        .with("via_account_id", account.via)
        .with("mode", account.mode.as_str())
        .with("forced", account.forced)
        .with("mask_shared", account.mask_shared)
        .with("retired", account.retired_at.is_some())
        .with("created_at", account.created_at)
        .with("retired_at", account.retired_at)
}

pub(super) async fn run(command: AccountCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    match command {
        AccountCommand::Add { number, name, bank, business, via, test, force } => {
            let banks = Banks::configured(app.config.banks_folder.as_deref())?;
            let new = NewAccount {
                number,
                name,
                bank: given_bank(banks.by_name_or_alias(&bank), &bank),
                business_id: business,
                via,
                mode: if test { Mode::Test } else { Mode::Live },
                force,
            };
            let added = accounts::add_account(&app, &desk.operator, &new).await??;
            for warning in &added.warnings {
                warn(warning);
            }
            desk.printer.object(&object(&added.account).with("reopened", added.reopened))
        }
        AccountCommand::List => {
            let accounts = accounts::list_accounts(&app).await?;
            let mut columns =
                vec!["id", "bank", "number", "name", "business_id", "via_account_id", "mode", "retired"];
            // What keeps alerts from matching by themselves is shown where there is any.
            if accounts.iter().any(|account| account.forced) {
                columns.push("forced");
            }
            if accounts.iter().any(|account| account.mask_shared) {
                columns.push("mask_shared");
            }
            let rows = accounts.iter().map(object).collect();
            desk.printer.list("accounts", &columns, rows)
        }
        AccountCommand::Retire { id } => {
            let account = accounts::retire_account(&app, &desk.operator, id).await??;
            desk.printer.object(&object(&account))
        }
    }
}
