//! `tillbell user ...`

use std::io::Read;

use anyhow::{Context, bail};
use clap::{ArgGroup, Subcommand, ValueEnum};
use zeroize::Zeroizing;

use super::Desk;
use super::print::Object;
use crate::domain::user::{MemberRole, PASSWORD_MAX, StaffRole};
use crate::ops::people::users::{self, Added, Listed, Place, UserRow, Which};

const LISTED_AT_ONCE: usize = 500;

/// The bytes of a password in UTF-8, and the end of its line.
const PASSWORD_BYTES: u64 = 4 * PASSWORD_MAX as u64 + 2;

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum StaffChoice {
    /// Everything, users and accounts included
    Admin,
    /// Decides alerts, payments, wallets and webhooks
    Reviewer,
    /// Looks
    Viewer,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum MemberChoice {
    /// Everything of the business
    Owner,
    /// Keys, websites and webhooks; reads payments
    Developer,
    /// Payments, corrections, balance and payouts
    Finance,
    /// The till alone
    Cashier,
    /// Looks
    Viewer,
}

#[derive(Subcommand)]
pub(super) enum UserCommand {
    /// Add a person who signs in: to the operator's staff, or to a business
    ///
    /// Answers a link on which the person sets a password. It is good once, for 72 hours. An e-mail address is one user,
    /// who may be on the staff and in several businesses.
    #[command(
        after_help = examples![
            "user add --email ife@till.example --staff admin",
            "user add --email halima@suya-spot.example --business 1 --role owner",
        ],
        group = ArgGroup::new("place").required(true).args(["staff", "business"])
    )]
    Add {
        /// E-mail address with which the person signs in
        #[arg(long)]
        email: String,
        /// On the operator's staff, with this role
        #[arg(long, value_name = "ROLE")]
        staff: Option<StaffChoice>,
        /// Id of the business
        #[arg(long, value_name = "ID", requires = "role")]
        business: Option<i64>,
        /// Role in the business
        #[arg(long, requires = "business")]
        role: Option<MemberChoice>,
        /// Read the person's password from standard input, instead of making a link
        #[arg(long)]
        password_stdin: bool,
    },
    /// List all people who sign in
    #[command(after_help = examples!["user list"])]
    List,
    /// Disable a user; sessions and links end within a second
    #[command(after_help = examples!["user disable 3"])]
    Disable {
        /// Id of the user, from `user list`
        id: i64,
    },
    /// Make a new link for a user who cannot sign in; the old password and authenticator app stop working
    #[command(after_help = examples!["user reset 3"])]
    Reset {
        /// Id of the user, from `user list`
        id: i64,
    },
}

impl From<StaffChoice> for StaffRole {
    fn from(choice: StaffChoice) -> StaffRole {
        match choice {
            StaffChoice::Admin => StaffRole::Admin,
            StaffChoice::Reviewer => StaffRole::Reviewer,
            StaffChoice::Viewer => StaffRole::Viewer,
        }
    }
}

impl From<MemberChoice> for MemberRole {
    fn from(choice: MemberChoice) -> MemberRole {
        match choice {
            MemberChoice::Owner => MemberRole::Owner,
            MemberChoice::Developer => MemberRole::Developer,
            MemberChoice::Finance => MemberRole::Finance,
            MemberChoice::Cashier => MemberRole::Cashier,
            MemberChoice::Viewer => MemberRole::Viewer,
        }
    }
}

fn object(user: &UserRow) -> Object {
    Object::new()
        .with("id", user.id)
        .with("email", &user.email)
        .with("staff", user.staff.map(StaffRole::as_str))
        .with("has_password", user.password.is_some())
        .with("has_totp", user.totp.is_some())
        .with("disabled_at", user.disabled_at)
        .with("created_at", user.created_at)
}

fn row(listed: &Listed) -> Object {
    let place = |one: &users::Membership| format!("{} of {}", one.role.as_str(), one.business_id);
    let places: Vec<String> = listed.memberships.iter().map(place).collect();
    object(&listed.user).with("businesses", places.join(", "))
}

/// One line of standard input.
fn password() -> anyhow::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::new());
    std::io::stdin().take(PASSWORD_BYTES).read_to_string(&mut text).context("standard input")?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        bail!("standard input has no password: write it on one line");
    }
    Ok(Zeroizing::new(line.to_owned()))
}

fn tell(desk: &Desk, added: &Added) -> anyhow::Result<()> {
    let link = added.link.as_ref().map(|link| link.as_str());
    let object = Object::new()
        .with("id", added.user.id)
        .with("email", &added.user.email)
        .with("staff", added.user.staff.map(StaffRole::as_str))
        .with("link", link);
    desk.printer.object(&object)?;
    let remark = match link {
        Some(_) => "give the link to the person now: it is shown only once, and good for 72 hours",
        None => "there is no link: the person signs in with the password",
    };
    desk.printer.remark(true, remark)
}

pub(super) async fn run(command: UserCommand, desk: &Desk) -> anyhow::Result<()> {
    let app = desk.open().await?;
    match command {
        UserCommand::Add { email, staff, business, role, password_stdin } => {
            let place = match (staff, business, role) {
                (Some(role), None, _) => Place::Staff(role.into()),
                (None, Some(business), Some(role)) => Place::Member(business, role.into()),
                _ => bail!("name --staff ROLE, or --business ID and --role ROLE"),
            };
            let password = password_stdin.then(password).transpose()?;
            let password = password.as_ref().map(|password| password.as_str());
            let added = users::add_user(&app, &desk.operator, &email, place, password).await??;
            tell(desk, &added)
        }
        UserCommand::List => {
            let (mut rows, mut after) = (Vec::new(), None);
            loop {
                let page = users::browse_users(&app, Which::All, after, LISTED_AT_ONCE).await?;
                rows.extend(page.rows.iter().map(row));
                after = page.after;
                if after.is_none() {
                    break;
                }
            }
            let columns = ["id", "email", "staff", "businesses", "has_password", "has_totp", "disabled_at"];
            desk.printer.list("users", &columns, rows)
        }
        UserCommand::Disable { id } => {
            let user = users::disable_user(&app, &desk.operator, id).await??;
            desk.printer.object(&object(&user))
        }
        UserCommand::Reset { id } => {
            let added = users::reset_user(&app, &desk.operator, id).await??;
            tell(desk, &added)
        }
    }
}
