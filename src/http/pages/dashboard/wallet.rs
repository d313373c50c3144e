//! `/dashboard/wallet`: whether customers may pay from a wallet, and who switches that on.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::frame::frame;
use crate::http::pages::ask::Ask;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Badge, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::text::Text;
use crate::http::paths::{DASHBOARD_PAYMENTS, DASHBOARD_WALLET};
use crate::ops::OpError;
use crate::ops::merchants::businesses::business_standing;

#[derive(Template)]
#[template(path = "dashboard/wallet.html")]
struct Wallet {
    frame: Frame,
    badge: Badge,
    is_on: bool,
    /// Since when wallet payments are stopped.
    stopped: Option<Text>,
    contact: Text,
    payments: String,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    let Ok(standing) = business_standing(ask.app(), here.id()).await? else { return Ok(unknown(ask)) };
    let is_on = standing.business.wallet_enabled;
    let stopped = standing.wallet_stopped_at.map(|at| ask.zone().time(at).text);
    let badge = match (is_on, &stopped) {
        (true, None) => Badge::new(Tone::Good, "On"),
        (true, Some(_)) => Badge::new(Tone::Bad, "Stopped"),
        (false, _) => Badge::new(Tone::Muted, "Off"),
    };
    let page = Wallet {
        frame: frame(ask, here, "Wallet", DASHBOARD_WALLET),
        badge,
        is_on,
        stopped: stopped.map(Text::from),
        contact: (&ask.http.brand.contact).into(),
        payments: here.link(DASHBOARD_PAYMENTS, &[]),
    };
    Ok(ask.html(StatusCode::OK, &page))
}
