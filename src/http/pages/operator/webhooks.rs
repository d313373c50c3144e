//! `/operator/webhooks`: the webhooks of all businesses or of one, newest first, by state or transaction; sending one again,
//! or all that failed.

use axum::response::Response;

use super::page::{DeskView, Names};
use super::{DeskPage, forbidden, frame, may};
use crate::domain::time::Span;
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::{csv_file, is_csv};
use crate::http::pages::field::{Choice, Field, Filters, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Pager, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::paths::OPERATOR_WEBHOOKS;
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::paging::{Cursor, Page};
use crate::ops::payments::find::whose_payment;
use crate::ops::webhooks::browse::{
    Delivery, DeliveryFilter, DeliveryStatus, browse_all_deliveries, browse_deliveries, deliveries_about,
    resend_failed_everywhere,
};
use crate::ops::webhooks::deliveries::{Attempt, resend};

const FILTER: &str = "filter-webhooks";
const RESEND_FAILED: &str = "resend-failed";
/// Hours of a bulk resend, at most.
const HOURS_MAX: i64 = 24 * 90;

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if !ask.is_form() {
        return show(ask, None).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Decide) {
        return Ok(forbidden);
    }
    match ask.field("act") {
        "resend" => {
            let id = ask.field("event").trim().parse().unwrap_or(0);
            match resend_one(ask, id).await? {
                Ok(done) => Ok(ask.see(&here(ask), Some(Flash::done(done)))),
                Err(why) => show(ask, Some(why)).await,
            }
        }
        "resend-failed" => match hours(ask.field("since")) {
            Some(hours) => {
                let sent = resend_failed_everywhere(ask.app(), ask.operator(), Span::hours(hours)).await?;
                let more = if sent.more { " There may be more: send the form again." } else { "" };
                let done = format!("{} webhooks are sent again.{more}", sent.count);
                Ok(ask.see(&here(ask), Some(Flash::done(done))))
            }
            None => show(ask, Some("Write for how many hours back, such as 24.".to_owned())).await,
        },
        _ => show(ask, Some("This form is not known here. Open the page again.".to_owned())).await,
    }
}

/// `24`, `24h` or `7d`, in hours.
fn hours(text: &str) -> Option<i64> {
    let text = text.trim();
    let (digits, unit) = match text.strip_suffix('d') {
        Some(days) => (days, 24),
        None => (text.strip_suffix('h').unwrap_or(text), 1),
    };
    let hours = digits.trim().parse::<i64>().ok()?.checked_mul(unit)?;
    (1..=HOURS_MAX).contains(&hours).then_some(hours)
}

/// Sends one again; what was done, or why not.
pub async fn resend_one(ask: &Ask, id: i64) -> Result<Result<String, String>, OpError> {
    let resent = resend(ask.app(), ask.operator(), &[id]).await?;
    Ok(match (resent.ids.is_empty(), resent.why_not()) {
        (false, _) => Ok("The webhook is sent again now.".to_owned()),
        (true, Some(why)) => Err(format!("It is not sent again, because {why}.")),
        (true, None) => Err("There is no such webhook. Nothing was sent.".to_owned()),
    })
}

fn here(ask: &Ask) -> String {
    address(ask, &[])
}

fn address(ask: &Ask, more: &[(&str, &str)]) -> String {
    let kept = ["status", "business", "transaction"].map(|name| (name, ask.query(name).unwrap_or_default()));
    let mut query: Vec<(&str, &str)> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
    query.extend(more);
    link(OPERATOR_WEBHOOKS, &query)
}

async fn page(ask: &Ask, cursor: Option<Cursor>) -> Result<Page<Delivery>, OpError> {
    let app = ask.app();
    let status = ask.query("status").and_then(|word| DeliveryStatus::parse(&word));
    let business = ask.query("business").and_then(|text| text.trim().parse::<i64>().ok());
    let transaction = ask.query("transaction").filter(|text| !text.trim().is_empty());
    if let Some(id) = transaction {
        let id = id.trim();
        let Ok(business_id) = whose_payment(app, id, business).await? else { return Ok(Page::empty()) };
        let filter = DeliveryFilter { business_id, status, event: None, mode: None };
        let rows = deliveries_about(app, &filter, id).await?;
        return Ok(Page { rows, ..Page::empty() });
    }
    match business {
        Some(business_id) => {
            browse_deliveries(app, &DeliveryFilter { business_id, status, event: None, mode: None }, cursor)
                .await
        }
        None => browse_all_deliveries(app, status, cursor).await,
    }
}

/// The list that the address asks for as CSV; `None` where no such payment is known.
async fn source(ask: &Ask) -> Result<Option<CsvSource>, OpError> {
    let status = ask.query("status").and_then(|word| DeliveryStatus::parse(&word));
    let business = ask.query("business").and_then(|text| text.trim().parse::<i64>().ok());
    let of = |business_id| DeliveryFilter { business_id, status, event: None, mode: None };
    let transaction = ask.query("transaction").unwrap_or_default();
    Ok(match (transaction.trim(), business) {
        ("", Some(id)) => Some(CsvSource::Deliveries(of(id))),
        ("", None) => Some(CsvSource::AllDeliveries(status)),
        (about, _) => {
            let whose = whose_payment(ask.app(), about, business).await?.ok();
            whose.map(|id| CsvSource::DeliveriesAbout(of(id), about.to_owned()))
        }
    })
}

async fn show(ask: &Ask, refused: Option<String>) -> Result<Response, OpError> {
    if is_csv(ask)
        && !ask.is_form()
        && let Some(source) = source(ask).await?
        && let Ok(file) = csv_file(ask, "webhooks", source)
    {
        return Ok(file);
    }
    let cursor = ask.cursor();
    let page = page(ask, cursor).await?;
    let empty = Empty::new("No webhooks here", "A webhook is sent for every approved payment.");
    let path = here(ask);
    let act = may(ask, StaffRight::Decide).then_some(path.as_str());
    let names = Names::of(ask, page.rows.iter().map(|one| one.business_id).collect()).await?;
    let mut rows = rows(ask, &page.rows, &names, empty, act);
    let older = page.next.map(|cursor| address(ask, &[("cursor", &cursor.to_string())]));
    let newest = cursor.is_some().then(|| path.clone());
    let note = page.looked_back_to.map(|at| format!("Looked back to {}", ask.zone().time(at).text).into());
    rows.pager = Pager::by_time(newest, older, note);
    let view = DeskView::new(frame(ask, "Webhooks", DeskPage::Webhooks).await?, "Webhooks")
        .refused(refused)
        .add(filters(ask))
        .add(rows);
    let view = match act {
        Some(_) => view.section("again", "Send again what failed").add(bulk_form(ask)),
        None => view,
    };
    Ok(view.answer(ask))
}

fn bulk_form(ask: &Ask) -> Form {
    let since = Field::new(RESEND_FAILED, "since", "Of the last hours", Kind::Text)
        .value(if ask.field("since").is_empty() { "24" } else { ask.field("since") })
        .hint("Of all businesses. Reversed payments and tests are left out.");
    ask.new_form(RESEND_FAILED, here(ask), "Send them again")
        .hidden("act", "resend-failed")
        .look(Look::Plain)
        .field(since)
}

fn filters(ask: &Ask) -> Filters {
    let value = |name: &str| ask.query(name).unwrap_or_default();
    let statuses =
        DeliveryStatus::ALL.into_iter().map(|status| Choice::new(status.as_str(), words(status.as_str()).1));
    let statuses = std::iter::once(Choice::new("", "Any state")).chain(statuses).collect();
    let is_filtered = ["status", "business", "transaction"].iter().any(|name| !value(name).is_empty());
    Filters {
        action: OPERATOR_WEBHOOKS.to_owned(),
        hidden: Vec::new(),
        fields: vec![
            Field::new(FILTER, "status", "State", Kind::Select(statuses)).optional().value(value("status")),
            Field::new(FILTER, "business", "Business number", Kind::Text).optional().value(value("business")),
            Field::new(FILTER, "transaction", "Transaction id", Kind::Text)
                .optional()
                .value(value("transaction")),
        ],
        more: Vec::new(),
        reset: is_filtered.then(|| OPERATOR_WEBHOOKS.to_owned()),
        csv: Some(address(ask, &[("format", "csv")])),
    }
}

/// How a state looks and what it is called.
pub fn words(status: &str) -> (Tone, &str) {
    match status {
        "delivered" => (Tone::Good, "delivered"),
        "failed" => (Tone::Bad, "failed"),
        "paused" => (Tone::Warn, "paused"),
        "waiting" => (Tone::Info, "waiting"),
        "not_sent" => (Tone::Muted, "not sent"),
        other => (Tone::Muted, other),
    }
}

/// Deliveries, each with a button to send it again where `act` is the path of the form.
pub fn rows(ask: &Ask, deliveries: &[Delivery], names: &Names, empty: Empty, act: Option<&str>) -> Rows {
    let mut columns =
        vec![Column::new("Event"), Column::new("State"), Column::new("Business"), Column::new("Made")];
    if act.is_some() {
        columns.push(Column::acts("Acts"));
    }
    let mut rows = Rows::new("Webhooks", columns, empty);
    for (at, one) in deliveries.iter().enumerate() {
        let (tone, word) = words(one.status());
        let event = Cell::link(format!("{OPERATOR_WEBHOOKS}/{}", one.id), &one.event);
        let event = match &one.transaction_id {
            Some(id) => event.under(Cell::code(id)),
            None => event,
        };
        let state = Cell::badge(tone, word);
        let state = match one.attempts.last() {
            Some(attempt) => state.under(Cell::text(last_answer(one.attempts.len(), attempt))),
            None => state,
        };
        let mut cells =
            vec![event, state, names.link(one.business_id), ask.zone().time(one.created_at).into()];
        if let Some(path) = act {
            cells.push(match one.superseded() {
                Some(_) => Cell::None,
                None => resend_form(ask, format!("resend-{}", at + 1), path, one.id).small().into(),
            });
        }
        rows.row(cells);
    }
    rows
}

/// What the receiver said last, and at which attempt.
fn last_answer(attempts: usize, last: &Attempt) -> String {
    let told = last.error.clone().or(last.status.map(|status| status.to_string())).unwrap_or_default();
    if attempts == 1 { told } else { format!("{told}, attempt {attempts}") }
}

pub fn resend_form(ask: &Ask, id: String, path: &str, delivery: i64) -> Form {
    ask.new_form(id, path, "Send again")
        .hidden("act", "resend")
        .hidden("event", delivery.to_string())
        .look(Look::Plain)
}

#[cfg(test)]
mod tests {
    use super::hours;

    #[test]
    fn a_length_of_time_is_read_in_hours_or_days() {
        for (text, wanted) in [
            ("24", Some(24)),
            (" 24h ", Some(24)),
            ("7d", Some(168)),
            ("0", None),
            ("x", None),
            ("-1", None),
            ("", None),
            ("9999999d", None),
        ] {
            assert_eq!(hours(text), wanted, "{text}");
        }
    }
}
