//! `/dashboard/activity`: who did what, from where. Nothing in it can be changed or taken away.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::export::csv;
use super::frame::{frame, pager};
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::is_csv;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::Empty;
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::paths::DASHBOARD_ACTIVITY;
use crate::ops::OpError;
use crate::ops::activity::{OperatorAct, browse_acts};
use crate::ops::csv::CsvSource;

#[derive(Template)]
#[template(path = "dashboard/activity.html")]
struct Activity {
    frame: Frame,
    csv: String,
    rows: Rows,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    if is_csv(ask)
        && let Ok(file) = csv(ask, here, "activity", MemberRight::Manage, CsvSource::Acts(here.id()))
    {
        return Ok(file);
    }
    let page = browse_acts(ask.app(), Some(here.id()), ask.cursor()).await?;
    let columns = vec![
        Column::new("What"),
        Column::new("About"),
        Column::new("Who"),
        Column::new("From"),
        Column::new("When"),
    ];
    let empty =
        Empty::new("Nothing yet", "What people do to keys, websites, payments and the team stands here.");
    let mut rows = Rows::new("Activity", columns, empty);
    let zone = ask.zone();
    for act in &page.rows {
        let what = Cell::text(words(act));
        rows.row(vec![
            match act.told_reason() {
                Some(reason) => what.under(Cell::text(reason)),
                None => what,
            },
            Cell::text(&act.subject),
            Cell::text(act.who()),
            act.told_address().map_or(Cell::None, Cell::code),
            zone.exact(act.at).into(),
        ]);
    }
    rows.pager = pager(ask, here, DASHBOARD_ACTIVITY, &page, &[]);
    let page = Activity {
        frame: frame(ask, here, "Activity", DASHBOARD_ACTIVITY),
        csv: here.link(DASHBOARD_ACTIVITY, &[("format", "csv")]),
        rows,
    };
    Ok(ask.html(StatusCode::OK, &page))
}

/// An act as people say it; what has no words of its own stands as it is kept.
fn words(act: &OperatorAct) -> &str {
    match act.act.as_str() {
        "business add" => "Business added",
        "business set" => "Settings changed",
        "business rotate-secret" => "Webhook secret replaced",
        "website add" | "website add --approve" => "Website added",
        "website approve" => "Website approved",
        "website reject" => "Website rejected",
        "website prove" => "Website proven",
        "website set" => "Website changed",
        "key add" => "Key made",
        "key revoke" => "Key revoked",
        "account add" => "Receiving account added",
        "account retire" => "Receiving account retired",
        "alert simulate" => "Mail simulated",
        "payment end" => "Test payment ended",
        "payment add" => "Payment asked for",
        "payment correct" => "Amount corrected",
        "approve" => "Payment approved by a person",
        "reject" => "Payment rejected",
        "reverse" => "Payment reversed",
        "webhook resend" => "Webhook sent again",
        "user add" => "Member added",
        "member role" => "Role changed",
        "member remove" => "Member removed",
        "payout request" => "Payout asked for",
        "payout cancel" => "Payout cancelled",
        "payout paid" => "Payout paid",
        "payout refused" => "Payout refused",
        "payout account add" => "Payout account added",
        "payout account remove" => "Payout account removed",
        other => other,
    }
}
