//! `/dashboard/wallet`: whether customers may pay from a wallet, and who switches that on; the newest wallet payments and
//! messages. In test mode the business's test wallets, and what is sent to their numbers: links and codes included.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::frame::frame;
use super::payments::{address, marks};
use crate::domain::message::{MessageKind, MessageStatus};
use crate::domain::payment::Payment;
use crate::domain::phone::Phone;
use crate::domain::wallet::{self as domain, WalletStatus};
use crate::http::pages::ask::Ask;
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Badge, Empty, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::Text;
use crate::http::paths::{DASHBOARD_PAYMENTS, DASHBOARD_WALLET};
use crate::ops::OpError;
use crate::ops::merchants::businesses::business_standing;
use crate::ops::messages::shown::{Listed, of_business};
use crate::ops::payments::read::wallet_payments;
use crate::ops::wallets::find::of_tests;

#[derive(Template)]
#[template(path = "dashboard/wallet.html")]
struct Wallet {
    frame: Frame,
    badge: Badge,
    is_on: bool,
    /// Since when wallet payments are stopped.
    stopped: Option<Text>,
    contact: Text,
    /// Those of test mode; `None` among live data.
    wallets: Option<Rows>,
    payments: Rows,
    messages: Rows,
    all_payments: String,
}

/// Rows of each list.
const SHOWN: u32 = 50;

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    let Ok(standing) = business_standing(ask.app(), here.id()).await? else { return Ok(unknown(ask)) };
    let is_on = standing.business.wallet_enabled;
    let stopped = standing.wallet_stopped_at.map(|at| ask.zone().time(at).text);
    let badge = match (is_on, &stopped) {
        _ if here.is_test() => Badge::new(Tone::Good, "On for test keys"),
        (true, None) => Badge::new(Tone::Good, "On"),
        (true, Some(_)) => Badge::new(Tone::Bad, "Stopped"),
        (false, _) => Badge::new(Tone::Muted, "Off"),
    };
    let (paid, sent) = match is_on || here.is_test() {
        true => tokio::try_join!(
            wallet_payments(ask.app(), here.id(), here.mode, SHOWN),
            of_business(ask.app(), here.id(), here.mode, SHOWN)
        )?,
        false => (Vec::new(), Vec::new()),
    };
    let wallets = match here.is_test() {
        true => Some(test_wallets(ask, &of_tests(ask.app(), here.id()).await?)),
        false => None,
    };
    let page = Wallet {
        frame: frame(ask, here, "Wallet", DASHBOARD_WALLET),
        badge,
        is_on,
        stopped: stopped.map(Text::from),
        contact: (&ask.http.brand.contact).into(),
        wallets,
        payments: payments(ask, here, &paid),
        messages: messages(ask, here, &sent),
        all_payments: here.link(DASHBOARD_PAYMENTS, &[]),
    };
    Ok(ask.html(StatusCode::OK, &page))
}

fn payments(ask: &Ask, here: &Here, paid: &[Payment]) -> Rows {
    let columns = vec![
        Column::new("Payment"),
        Column::figure("Amount"),
        Column::new("Customer"),
        Column::new("State"),
        Column::new("Made"),
    ];
    let empty = Empty::new("None yet", "What your program starts with pay/start stands here.");
    let mut rows = Rows::new("Payments from wallets", columns, empty);
    for payment in paid {
        let state = marks(payment).into_iter().next().unwrap_or(Cell::None);
        rows.row(vec![
            Cell::link(address(here, &payment.transaction_id), &payment.transaction_id),
            payment.amount.into(),
            Cell::text(&payment.payer_name),
            state,
            ask.zone().exact(payment.created_at).into(),
        ]);
    }
    rows
}

fn test_wallets(ask: &Ask, wallets: &[domain::Wallet]) -> Rows {
    let columns = vec![
        Column::new("Number"),
        Column::figure("Holds"),
        Column::new("PIN"),
        Column::new("State"),
        Column::new("Made"),
    ];
    let empty = Empty::new(
        "None yet",
        "Your program makes one with ensure, and fills it with a top-up and a simulated alert.",
    );
    let mut rows = Rows::new("Test wallets", columns, empty);
    for wallet in wallets {
        let state = match wallet.status(ask.app().now()) {
            WalletStatus::Active => Cell::badge(Tone::Good, "Active"),
            WalletStatus::Locked(_) => Cell::badge(Tone::Bad, "Locked"),
            WalletStatus::Suspended => Cell::badge(Tone::Bad, "Suspended"),
        };
        rows.row(vec![
            Cell::text(wallet.phone.e164()),
            wallet.balance.into(),
            Cell::text(if wallet.has_pin() { "Set" } else { "Not set" }),
            state,
            ask.zone().exact(wallet.created_at).into(),
        ]);
    }
    rows
}

fn messages(ask: &Ask, here: &Here, sent: &[Listed]) -> Rows {
    let columns = vec![
        Column::new("To"),
        Column::new("What"),
        Column::new("Text"),
        Column::new("State"),
        Column::new("When"),
    ];
    let empty = Empty::new("None yet", "Links, receipts and your own texts to customers stand here.");
    let mut rows = Rows::new("Messages to customers", columns, empty);
    for one in sent {
        let (tone, state) = match one.row.status {
            // Nobody but this page ever gets it.
            MessageStatus::Sent if here.is_test() => (Tone::Info, "Shown here"),
            MessageStatus::Queued => (Tone::Warn, "Waits"),
            MessageStatus::Failed => (Tone::Bad, "Failed"),
            MessageStatus::Sent => (Tone::Info, "Sent"),
            MessageStatus::Delivered => (Tone::Good, "Arrived"),
            MessageStatus::Read => (Tone::Good, "Read"),
        };
        rows.row(vec![
            Cell::text(one.phone.as_ref().map_or_else(|| "a number".to_owned(), shown)),
            match &one.link {
                Some(page) => Cell::text(kind(one.row.kind)).under(Cell::link(page, "Open the page")),
                None => Cell::text(kind(one.row.kind)),
            },
            one.text.as_deref().map_or(Cell::None, Cell::text),
            Cell::badge(tone, state),
            ask.zone().exact(one.row.created_at).into(),
        ]);
    }
    rows
}

/// A customer's number is not the business's to read; a test number is nobody's.
fn shown(phone: &Phone) -> String {
    if phone.is_test() { phone.e164() } else { phone.masked() }
}

fn kind(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Merchant => "Your text",
        MessageKind::Link => "Link to a payment",
        MessageKind::Code => "Code",
        MessageKind::Receipt => "Receipt",
        MessageKind::PinChanged => "PIN was set",
        MessageKind::Topup
        | MessageKind::TopupSuspended
        | MessageKind::TopupOverLimit
        | MessageKind::TopupReversed => "Top-up",
        MessageKind::Refund => "Refund",
        MessageKind::Stopped | MessageKind::Locked => "Wrong PINs",
    }
}
