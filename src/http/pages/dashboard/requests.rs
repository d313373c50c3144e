//! `/dashboard/requests`: the requests of the business's programs that were refused in the last days, and how many were
//! not.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::export::csv;
use super::frame::{frame, pager};
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::is_csv;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Tile, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::grouped;
use crate::http::paths::DASHBOARD_REQUESTS;
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::figures::refused::{refused_requests, request_counts};

#[derive(Template)]
#[template(path = "dashboard/requests.html")]
struct Requests {
    frame: Frame,
    csv: String,
    tiles: Vec<Tile>,
    rows: Rows,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    if is_csv(ask)
        && let Ok(file) = csv(ask, here, "requests", MemberRight::Integrate, CsvSource::Refused(here.id()))
    {
        return Ok(file);
    }
    let (page, counts) = tokio::try_join!(
        refused_requests(ask.app(), here.id(), ask.cursor()),
        request_counts(ask.app(), here.id())
    )?;
    let columns = vec![
        Column::new("What was wrong"),
        Column::figure("Status"),
        Column::new("Request"),
        Column::new("When"),
        Column::new("Request id"),
    ];
    let empty =
        Empty::new("No request was refused", "What your programs sent wrong in the last 7 days stands here.");
    let mut rows = Rows::new("Refused requests", columns, empty);
    let zone = ask.zone();
    for one in &page.rows {
        let message = Cell::text(&one.message);
        let what = match &one.code {
            Some(code) => message.under(Cell::code(code)),
            None => message,
        };
        rows.row(vec![
            what,
            one.status.into(),
            Cell::code(format!("{} {}", one.method, one.route)),
            zone.exact(one.at).into(),
            Cell::code(&one.request_id),
        ]);
    }
    rows.pager = pager(ask, here, DASHBOARD_REQUESTS, &page, &[]);
    let refused = Tile::new("Refused in 7 days", grouped(counts.refused));
    let refused = if counts.refused > 0 { refused.tone(Tone::Warn) } else { refused };
    let refused = match counts.unlisted {
        0 => refused.note("each is listed below"),
        n => refused.note(format!("{} of them are not listed, because there were too many", grouped(n))),
    };
    let page = Requests {
        frame: frame(ask, here, "Refused requests", DASHBOARD_REQUESTS),
        csv: here.link(DASHBOARD_REQUESTS, &[("format", "csv")]),
        tiles: vec![Tile::new("Went well in 7 days", grouped(counts.good)), refused],
        rows,
    };
    Ok(ask.html(StatusCode::OK, &page))
}
