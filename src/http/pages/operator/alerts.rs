//! `/operator/alerts`: the alerts of one state, the oldest of those that wait first. A view is its address: it can be kept
//! and sent to a colleague. Several are ticked and dismissed together; and here the desk's keys are switched.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{DeskPage, forbidden, frame, may};
use crate::domain::alert::{AlertRow, AlertStatus};
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::cookie::Cookie;
use crate::http::pages::export::{csv_file, is_csv};
use crate::http::pages::field::{Field, Filters, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::{Frame, link};
use crate::http::pages::parts::{Empty, Naira, Notice, Pager, Tab, Tabs, Tone};
use crate::http::pages::rows::{Cell, Column, Rows, Tick};
use crate::http::pages::text::sentence;
use crate::http::paths::OPERATOR_ALERTS;
use crate::ops::OpError;
use crate::ops::alerts::browse::{BrowseAlerts, DeskState, browse_alerts};
use crate::ops::alerts::dismiss::{DismissRefused, dismiss_alert};
use crate::ops::alerts::read::{alert_totals, find_alert};
use crate::ops::csv::CsvSource;
use crate::ops::paging::{PAGE_ROWS, Page};

const FORM: &str = "filter-alerts";
const DISMISS: &str = "dismiss-many";
/// Alerts of one form: twice as many as a page shows.
const DISMISSED_MAX: usize = 2 * PAGE_ROWS;
/// How long a browser remembers that keys are off.
const A_YEAR: u32 = 365 * 24 * 3_600;

#[derive(Template)]
#[template(path = "operator/alerts.html")]
struct Alerts {
    frame: Frame,
    keys: bool,
    tabs: Tabs,
    filters: Filters,
    rows: Rows,
    dismiss: Option<Form>,
    switch: Form,
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

/// Whether somebody has left the desk's keys on in this browser.
pub fn keys_are_on(ask: &Ask) -> bool {
    let kept = Cookie::Keys.read(&ask.parts.headers, &ask.app().public_url());
    kept.is_none_or(|kept| kept.as_str() != "off")
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let view = View::of(ask);
    if ask.is_form() && ask.field("act") == "keys" {
        return Ok(switch_keys(ask, &view));
    }
    if ask.is_form() {
        if let Some(forbidden) = forbidden(ask, StaffRight::Decide) {
            return Ok(forbidden);
        }
        return match dismiss_many(ask).await? {
            Ok(done) => Ok(ask.see(&view.address(OPERATOR_ALERTS), Some(Flash::done(done)))),
            Err(why) => show(ask, &view, Some(why)).await,
        };
    }
    if is_csv(ask)
        && let Ok(file) = csv_file(ask, "alerts", CsvSource::Alerts(view.browse()))
    {
        return Ok(file);
    }
    show(ask, &view, None).await
}

fn switch_keys(ask: &Ask, view: &View) -> Response {
    let is_off = ask.field("keys") == "off";
    let told = if is_off { "Keys are off in this browser." } else { "Keys are on in this browser." };
    let mut response = ask.see(&view.address(OPERATOR_ALERTS), Some(Flash::done(told)));
    let value = if is_off { "off" } else { "on" };
    Cookie::Keys.set(&mut response, &ask.app().public_url(), value, Some(A_YEAR));
    response
}

/// Dismisses what was ticked, each by itself; what was done, or why not, in words.
async fn dismiss_many(ask: &Ask) -> Result<Result<String, String>, OpError> {
    let ticked: Vec<&str> = ask.form.iter().flat_map(|form| form.all("alerts")).collect();
    let words = ticked.iter().flat_map(|text| text.split([',', ' '])).filter(|word| !word.is_empty());
    let Ok(ids) = words.map(str::parse::<i64>).collect::<Result<Vec<_>, _>>() else {
        return Ok(Err("Alerts are named by their numbers. Nothing was dismissed.".to_owned()));
    };
    if ids.is_empty() || ids.len() > DISMISSED_MAX {
        return Ok(Err(format!("Tick 1 to {DISMISSED_MAX} alerts. Nothing was dismissed.")));
    }
    let (mut done, mut left) = (0, Vec::new());
    // What became something else since it was ticked was not seen so.
    let shown = AlertStatus::parse(View::of(ask).state.as_str());
    for id in &ids {
        let now = find_alert(ask.app(), *id).await?.map(|alert| alert.status);
        if let (Some(shown), Some(now)) = (shown, now)
            && shown != now
            && (now.is_waiting() || now == AlertStatus::New)
        {
            left.push(format!("Alert {id} is {} now.", now.as_str()));
            continue;
        }
        match dismiss_alert(ask.app(), *id, ask.operator(), ask.field("reason")).await? {
            Ok(_) => done += 1,
            Err(why @ DismissRefused::Reason) => return Ok(Err(sentence(&why.to_string()))),
            Err(why) => left.push(sentence(&why.to_string())),
        }
    }
    let alerts = |count: usize| format!("{count} alert{}", if count == 1 { "" } else { "s" });
    Ok(match (done, left.len()) {
        (_, 0) => Ok(format!("{} dismissed. No money was moved.", alerts(done))),
        (0, _) => Err(format!("Nothing was dismissed. {}", left.join(" "))),
        (done, some) => {
            Ok(format!("{} dismissed, {} left as they are: {}", alerts(done), alerts(some), left.join(" ")))
        }
    })
}

async fn show(ask: &Ask, view: &View, refused: Option<String>) -> Result<Response, OpError> {
    let cursor = ask.cursor();
    let totals = alert_totals(ask.app()).await?;
    let count = |state: DeskState| {
        let status = AlertStatus::parse(state.as_str())?;
        Some(totals.iter().find(|total| total.status == status).map_or(0, |total| total.count))
    };
    let mut frame = frame(ask, "Alerts", DeskPage::Alerts).await?;
    let (page, mut status) = match browse_alerts(ask.app(), &view.browse(), cursor).await? {
        Ok(page) => (page, StatusCode::OK),
        Err(refused) => {
            frame = frame.notice(Notice::refused(refused.to_string()));
            (Page::empty(), StatusCode::UNPROCESSABLE_ENTITY)
        }
    };
    if let Some(why) = &refused {
        frame = frame.notice(Notice::refused(why));
        status = StatusCode::UNPROCESSABLE_ENTITY;
    }
    let tab = |state: DeskState| {
        let other = View { state, query: view.query.clone() };
        let tab = Tab::new(other.address(OPERATOR_ALERTS), words(state), state == view.state);
        count(state).map_or(tab.clone(), |count| tab.count(count))
    };
    let may_dismiss = may(ask, StaffRight::Decide) && view.state != DeskState::All && !page.rows.is_empty();
    let alerts = Alerts {
        frame,
        keys: keys_are_on(ask),
        tabs: Tabs { label: "States".into(), tabs: DeskState::ALL.map(tab).into() },
        filters: filters(view),
        rows: rows(ask, view, &page, cursor.is_some(), may_dismiss),
        dismiss: may_dismiss.then(|| dismiss_form(ask, view, refused.as_deref())),
        switch: switch_form(ask, view),
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
    let csv = [("state", view.state.as_str()), ("q", &view.query), ("format", "csv")];
    Filters {
        action: OPERATOR_ALERTS.to_owned(),
        hidden: vec![("state", view.state.as_str().into())],
        fields: vec![search.key("/")],
        more: Vec::new(),
        reset: (!view.query.is_empty()).then(|| none.address(OPERATOR_ALERTS)),
        csv: Some(link(OPERATOR_ALERTS, &csv)),
    }
}

fn dismiss_form(ask: &Ask, view: &View, wrong: Option<&str>) -> Form {
    let reason = Field::new(DISMISS, "reason", "Why the ticked alerts pay nothing", Kind::Text)
        .value(ask.field("reason"))
        .error(wrong);
    ask.new_form(DISMISS, view.address(OPERATOR_ALERTS), "Dismiss the ticked ones")
        .look(Look::Danger)
        .hidden("act", "dismiss-many")
        .field(reason)
        .key("d")
}

fn switch_form(ask: &Ask, view: &View) -> Form {
    let (to, button) = if keys_are_on(ask) { ("off", "Switch keys off") } else { ("on", "Switch keys on") };
    ask.new_form("desk-keys", view.address(OPERATOR_ALERTS), button)
        .hidden("act", "keys")
        .hidden("keys", to)
        .small()
}

fn rows(ask: &Ask, view: &View, page: &Page<AlertRow>, is_on: bool, has_ticks: bool) -> Rows {
    let mut columns = vec![
        Column::new("Payer"),
        Column::figure("Amount"),
        Column::new("Why"),
        Column::new("Bank"),
        Column::new("First seen"),
    ];
    if has_ticks {
        columns.insert(0, Column::ticks("Tick"));
    }
    let empty = match (view.query.is_empty(), view.state) {
        (false, _) => Empty::new("Nothing was found", "Search for less, or in all alerts."),
        (_, DeskState::Review) => Empty::new(
            "Nothing waits for you",
            "Alerts that the rules cannot decide will stand here. All others are matched without you.",
        ),
        (_, DeskState::Unmatched) => {
            Empty::new("Nothing is here", "Money for which no payment waits will stand here.")
        }
        (_, DeskState::Quarantined) => {
            Empty::new("Nothing is here", "Mails that nothing proves to be from the bank will stand here.")
        }
        (_, DeskState::Unreadable) => {
            Empty::new("Nothing is here", "Mails of a layout that no template knows will stand here.")
        }
        (_, DeskState::All) => Empty::new("No alerts yet", "Every mail of your banks will stand here."),
    };
    let mut rows = Rows::new("Alerts", columns, empty);
    let zone = ask.zone();
    for alert in &page.rows {
        let facts = &alert.facts;
        let payer = facts.payer_name.as_deref().unwrap_or("No payer is named");
        let to = view.address(&format!("{OPERATOR_ALERTS}/{}", alert.id));
        let mut cells = vec![
            match view.state {
                DeskState::All => Cell::link(to, payer).under(state(alert)),
                _ => Cell::link(to, payer),
            },
            facts.amount.map_or(Cell::None, |amount| Cell::Money(Naira(amount))),
            Cell::text(sentence(&alert.reason)),
            facts.bank.as_deref().map_or(Cell::None, |code| Cell::text(ask.http.mails.bank_name(code))),
            zone.time(alert.first_seen).into(),
        ];
        if has_ticks {
            let label = format!("Alert {} of {payer}", alert.id).into();
            let value = alert.id.to_string();
            let is_ticked = ask.form.iter().flat_map(|form| form.all("alerts")).any(|one| one == value);
            let tick = Tick { form: DISMISS, name: "alerts", value, label, is_ticked };
            cells.insert(0, Cell::Tick(tick));
        }
        rows.row(cells);
    }
    let older = page.next.map(|cursor| {
        let cursor = cursor.to_string();
        link(OPERATOR_ALERTS, &[("state", view.state.as_str()), ("q", &view.query), ("cursor", &cursor)])
    });
    let note = page.looked_back_to.map(|at| format!("Looked at alerts up to {}", zone.time(at).text).into());
    let newest = is_on.then(|| view.address(OPERATOR_ALERTS));
    rows.pager = Pager::by_time(newest, older, note);
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
