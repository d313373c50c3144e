//! `/operator/alerts`: the alerts of one state, the oldest of those that wait first. A view is its address: it can be kept
//! and sent to a colleague.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{At, frame};
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Filters, Kind};
use crate::http::pages::layout::{Frame, link};
use crate::http::pages::parts::{Empty, Naira, Notice, Pager, Tab, Tabs, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::paths::OPERATOR_ALERTS;
use crate::ops::OpError;
use crate::ops::alerts::browse::{BrowseAlerts, DeskState, browse_alerts};
use crate::ops::alerts::read::alert_totals;
use crate::ops::paging::{Cursor, Page};

const FORM: &str = "filter-alerts";

#[derive(Template)]
#[template(path = "operator/alerts.html")]
struct Alerts {
    frame: Frame,
    tabs: Tabs,
    filters: Filters,
    rows: Rows,
}

/// What the desk shows, as the address says it.
pub struct View {
    pub state: DeskState,
    pub query: String,
}

impl View {
    pub fn of(ask: &Ask) -> View {
        let state = ask.query("state").and_then(|word| DeskState::parse(&word)).unwrap_or_default();
        View { state, query: ask.query("q").unwrap_or_default() }
    }

    /// What waits is worked off from its oldest end.
    pub fn browse(&self) -> BrowseAlerts {
        let query = Some(self.query.clone()).filter(|query| !query.trim().is_empty());
        BrowseAlerts { state: self.state, oldest_first: self.state != DeskState::All, query }
    }

    pub fn address(&self, path: &str) -> String {
        link(path, &[("state", self.state.as_str()), ("q", &self.query)])
    }
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let view = View::of(ask);
    let cursor = ask.query("cursor").and_then(|text| Cursor::parse(&text));
    let totals = alert_totals(ask.app()).await?;
    let count = |state: DeskState| {
        let status = AlertStatus::parse(state.as_str())?;
        Some(totals.iter().find(|total| total.status == status).map_or(0, |total| total.count))
    };
    let mut frame = frame(ask, "Alerts", At::Alerts, count(DeskState::Review).unwrap_or(0));
    let (page, status) = match browse_alerts(ask.app(), &view.browse(), cursor).await? {
        Ok(page) => (page, StatusCode::OK),
        Err(refused) => {
            frame = frame.notice(Notice::refused(refused.to_string()));
            (Page::empty(), StatusCode::UNPROCESSABLE_ENTITY)
        }
    };
    let tab = |state: DeskState| {
        let other = View { state, query: view.query.clone() };
        let tab = Tab::new(other.address(OPERATOR_ALERTS), words(state), state == view.state);
        count(state).map_or(tab.clone(), |count| tab.count(count))
    };
    let alerts = Alerts {
        frame,
        tabs: Tabs { label: "States".into(), tabs: DeskState::ALL.map(tab).into() },
        filters: filters(&view),
        rows: rows(ask, &view, &page, cursor.is_some()),
    };
    Ok(ask.html(status, &alerts))
}

fn words(state: DeskState) -> &'static str {
    match state {
        DeskState::Review => "Review",
        DeskState::Unmatched => "Unmatched",
        DeskState::Quarantined => "Quarantined",
        DeskState::Unreadable => "Unreadable",
        DeskState::All => "All",
    }
}

fn filters(view: &View) -> Filters {
    let search =
        Field::new(FORM, "q", "Amount, name, reference or session id", Kind::Search).value(&view.query);
    let none = View { state: view.state, query: String::new() };
    Filters {
        action: OPERATOR_ALERTS.to_owned(),
        hidden: vec![("state", view.state.as_str().into())],
        fields: vec![search],
        more: Vec::new(),
        reset: (!view.query.is_empty()).then(|| none.address(OPERATOR_ALERTS)),
        csv: None,
    }
}

fn rows(ask: &Ask, view: &View, page: &Page<AlertRow>, is_on: bool) -> Rows {
    let columns = vec![
        Column::new("Payer"),
        Column::figure("Amount"),
        Column::new("Why"),
        Column::new("Bank"),
        Column::new("First seen"),
    ];
    let empty = match (view.query.is_empty(), view.state) {
        (false, _) => Empty::new("Nothing was found", "Search for less, or in all alerts."),
        (_, DeskState::Review) => Empty::new("Nothing waits for you", "Doubtful alerts will stand here."),
        _ => Empty::new("Nothing is here", "Alerts of this state will stand here."),
    };
    let mut rows = Rows::new("Alerts", columns, empty);
    let zone = ask.zone();
    for alert in &page.rows {
        let facts = &alert.facts;
        let payer = facts.payer_name.as_deref().unwrap_or("No payer is named");
        let to = view.address(&format!("{OPERATOR_ALERTS}/{}", alert.id));
        rows.row(vec![
            Cell::link(to, payer).under(state(alert)),
            facts.amount.map_or(Cell::None, |amount| Cell::Money(Naira(amount))),
            Cell::text(&alert.reason),
            facts.bank.as_ref().map_or(Cell::None, Cell::text),
            zone.time(alert.first_seen).into(),
        ]);
    }
    let older = page.next.map(|cursor| {
        let cursor = cursor.to_string();
        link(OPERATOR_ALERTS, &[("state", view.state.as_str()), ("q", &view.query), ("cursor", &cursor)])
    });
    let note = page.looked_back_to.map(|at| format!("Looked at alerts up to {}", zone.time(at).text).into());
    let newest = is_on.then(|| view.address(OPERATOR_ALERTS));
    rows.pager = (older.is_some() || newest.is_some()).then_some(Pager { newest, older, note });
    rows
}

/// The state of an alert as a badge.
pub fn state(alert: &AlertRow) -> Cell {
    let tone = match alert.status {
        AlertStatus::Matched => Tone::Good,
        AlertStatus::Review | AlertStatus::Unmatched => Tone::Warn,
        AlertStatus::Quarantined | AlertStatus::Unreadable | AlertStatus::Reversed => Tone::Bad,
        AlertStatus::New => Tone::Info,
        _ => Tone::Muted,
    };
    Cell::badge(tone, alert.status.as_str())
}
