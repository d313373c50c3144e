//! `tillbell key ...`: API keys; `rotate` is about the database's own keys (`rotation`).

use clap::Subcommand;

use super::Desk;
use super::options::span;
use super::print::Object;
use super::rotation::{self, RotateArgs};
use crate::domain::merchant::{ApiKey, KeyRights, KeyScope, Mode};
use crate::domain::time::{Span, Timestamp};
use crate::ops::merchants::keys;

#[derive(Subcommand)]
pub(super) enum KeyCommand {
    /// Make an API key; it is shown only this once
    #[command(after_help = examples![
        "key add 1 --label \"web shop\"",
        "key add 1 --test --expires 90d",
        "key add 1 --label reports --rights read",
    ])]
    Add {
        /// Id of the business
        business: i64,
        /// What the key is for, shown in `key list`
        #[arg(long)]
        label: Option<String>,
        /// How long the key is valid, for example 90d; without it, it does not expire
        #[arg(long, value_name = "TIME", value_parser = span)]
        expires: Option<Span>,
        /// Make a test key (tb_test_...): its payments use test accounts only
        #[arg(long)]
        test: bool,
        /// What it may do: read payments, or make and correct them as well
        #[arg(long, value_name = "RIGHTS", default_value = "write", value_parser = ["read", "write"])]
        rights: String,
    },
    /// List the API keys of a business, newest first
    #[command(after_help = examples!["key list 1"])]
    List {
        /// Id of the business
        business: i64,
    },
    /// Revoke an API key; every request with it is refused within a second
    #[command(after_help = examples!["key revoke 5"])]
    Revoke {
        /// Id of the key, from `key list`
        id: i64,
    },
    /// Replace the key that secrets in the database are sealed under, or the root key in its file
    ///
    /// This is about the database's encryption, not about API keys. Nothing stops: the new key seals half a minute later, and
    /// older values are sealed under it anew while the service runs. With --root and --finish the root key is replaced instead,
    /// the one in secret.key_file.
    #[command(after_help = examples![
        "key rotate",
        "key rotate --status",
        "key rotate --root /etc/tillbell/tillbell.key.new",
        "key rotate --finish",
    ])]
    Rotate(RotateArgs),
}

fn object(key: &ApiKey, now: Timestamp) -> Object {
    Object::new()
        .with("id", key.id)
        .with("business_id", key.business_id)
        .with("hint", format!("{}...", key.hint))
        .with("label", key.label.as_ref())
        .with("mode", key.mode.as_str())
        .with("rights", key.rights.as_str())
        .with("active", key.is_live_at(now))
        .with("state", key.state_at(now).as_str())
        .with("created_at", key.created_at)
        .with("expires_at", key.expires_at)
        .with("revoked_at", key.revoked_at)
        .with("last_used_at", key.last_used_at)
}

pub(super) async fn run(command: KeyCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    match command {
        KeyCommand::Add { business, label, expires, test, rights } => {
            let mode = if test { Mode::Test } else { Mode::Live };
            let rights = KeyRights::parse(&rights).unwrap_or(KeyRights::Write);
            let scope = KeyScope { mode, rights };
            let new =
                keys::add_key(&app, &desk.operator, business, scope, label.as_deref(), expires).await??;
            let object = Object::new()
                .with("id", new.key.id)
                .with("key", new.text.as_str())
                .with("business_id", business)
                .with("label", new.key.label.as_ref())
                .with("mode", mode.as_str())
                .with("rights", rights.as_str())
                .with("created_at", new.key.created_at)
                .with("expires_at", new.key.expires_at);
            desk.printer.object(&object)?;
            desk.printer.remark(true, "keep this API key now: it is shown only once")
        }
        KeyCommand::List { business } => {
            let now = app.now();
            let rows = keys::list_keys(&app, business).await??.iter().map(|key| object(key, now)).collect();
            let columns = [
                "id",
                "hint",
                "label",
                "mode",
                "rights",
                "state",
                "created_at",
                "expires_at",
                "last_used_at",
            ];
            desk.printer.list("keys", &columns, rows)
        }
        KeyCommand::Revoke { id } => {
            let key = keys::revoke_key(&app, &desk.operator, id).await??;
            desk.printer.object(&object(&key, app.now()))
        }
        KeyCommand::Rotate(args) => rotation::run(&args, &app, desk).await,
    }
}
