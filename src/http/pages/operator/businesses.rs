//! `/operator/businesses`: every merchant with what it turns over and is owed, and websites that wait for an operator.

use axum::response::Response;

use super::page::{Block, DeskView, Names};
use super::{DeskPage, forbidden, frame, may};
use crate::domain::merchant::{Business, Website};
use crate::domain::user::{MemberRole, StaffRight, normal_email};
use crate::http::pages::ask::Ask;
use crate::http::pages::export::{csv_file, is_csv};
use crate::http::pages::field::{Field, Filters, Form, Kind, Look};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Pager, Secret, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::sign_in::confirm;
use crate::http::pages::text::sentence;
use crate::http::paths::{OPERATOR_ACCOUNTS, OPERATOR_BUSINESSES};
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::merchants::businesses::{
    BusinessPage, BusinessRefusal, ChargeChange, NewBusiness, add_business, browse_businesses,
};
use crate::ops::merchants::waiting::waiting_businesses;
use crate::ops::merchants::websites::{approve_website, pending_websites, reject_website};
use crate::ops::people::users::{Place, add_user};

const ADD: &str = "add-business";

/// Why a form was refused, and at which field.
pub struct Wrong {
    pub form: String,
    pub field: &'static str,
    pub why: String,
}

impl Wrong {
    pub fn at(form: impl Into<String>, field: &'static str, why: impl std::fmt::Display) -> Wrong {
        Wrong { form: form.into(), field, why: sentence(&why.to_string()) }
    }
}

/// A field of a form with what was typed and what is wrong with it.
pub fn field(
    ask: &Ask,
    form: &str,
    name: &'static str,
    label: &str,
    kind: Kind,
    wrong: Option<&Wrong>,
) -> Field {
    let of_form = wrong.filter(|wrong| wrong.form == form);
    let error = of_form.filter(|wrong| wrong.field == name).map(|wrong| wrong.why.as_str());
    let typed = if of_form.is_some() { ask.field(name) } else { "" };
    Field::new(form, name, label, kind).value(typed).error(error)
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if !ask.is_form() {
        return show(ask, None).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Administer) {
        return Ok(forbidden);
    }
    let is_checked = ask.session.as_ref().is_some_and(|session| session.is_checked(ask.app().now()));
    let done = match ask.field("act") {
        // Secrets and people are made.
        "add" if !is_checked => return Ok(ask.see(&confirm::address(OPERATOR_BUSINESSES), None)),
        "add" => match add(ask).await? {
            Ok((id, flash)) => return Ok(ask.see(&format!("{OPERATOR_BUSINESSES}/{id}"), Some(flash))),
            Err(wrong) => Err(wrong),
        },
        _ => decide_website(ask).await?,
    };
    match done {
        Ok(done) => Ok(ask.see(OPERATOR_BUSINESSES, Some(Flash::done(done)))),
        Err(wrong) => show(ask, Some(wrong)).await,
    }
}

/// Adds a business with its first owner; where to go, and what is shown once.
async fn add(ask: &Ask) -> Result<Result<(i64, Flash), Wrong>, OpError> {
    let owner = ask.field("owner").trim();
    if !owner.is_empty() && normal_email(owner).is_none() {
        return Ok(Err(Wrong::at(ADD, "owner", "this is not an e-mail address")));
    }
    let new = NewBusiness {
        name: ask.field("name").to_owned(),
        email: ask.field("email").to_owned(),
        webhook_url: None,
        charges: ChargeChange::default(),
    };
    let added = match add_business(ask.app(), ask.operator(), &new).await? {
        Ok(added) => added,
        Err(why @ BusinessRefusal::Email(_)) => return Ok(Err(Wrong::at(ADD, "email", why))),
        Err(why) => return Ok(Err(Wrong::at(ADD, "name", why))),
    };
    let id = added.business.id;
    let mut flash = Flash::done(format!("Business {id} is added. Its webhook secret is below, once."))
        .once("secret", added.secret.as_str());
    if !owner.is_empty() {
        let place = Place::Member(id, MemberRole::Owner);
        match add_user(ask.app(), ask.operator(), owner, place, None).await? {
            Ok(made) => {
                if let Some(link) = made.link {
                    flash = flash.once("link", link.as_str());
                }
            }
            Err(why) => {
                let why = sentence(&why.to_string());
                flash.done = format!("Business {id} is added, but its owner is not: {why}");
            }
        }
    }
    Ok(Ok((id, flash)))
}

/// Approves or rejects the website that a form names.
pub async fn decide_website(ask: &Ask) -> Result<Result<String, Wrong>, OpError> {
    let id = ask.field("id").trim().parse::<i64>().unwrap_or(0);
    let number = ask.field("number");
    Ok(match ask.field("act") {
        "approve-website" => match approve_website(ask.app(), ask.operator(), id).await? {
            Ok(website) => Ok(format!("{} is approved.", website.url)),
            Err(why) => Err(Wrong::at(format!("approve-website-{number}"), "", why)),
        },
        "reject-website" => match reject_website(ask.app(), ask.operator(), id, ask.field("reason")).await? {
            Ok(website) => Ok(format!("{} is rejected. Webhooks to it stop.", website.url)),
            Err(why) => Err(Wrong::at(format!("reject-website-{number}"), "reason", why)),
        },
        _ => Err(Wrong::at("", "", "this form is not known here; open the page again")),
    })
}

async fn show(ask: &Ask, wrong: Option<Wrong>) -> Result<Response, OpError> {
    let query = ask.query("q").unwrap_or_default();
    if is_csv(ask)
        && !ask.is_form()
        && let Ok(file) = csv_file(ask, "businesses", CsvSource::Businesses(query.clone()))
    {
        return Ok(file);
    }
    let before = ask.query("before").and_then(|text| text.parse().ok());
    let page = browse_businesses(ask.app(), &query, before).await?;
    let may_act = may(ask, StaffRight::Administer);
    let websites = pending_websites(ask.app()).await?;
    let search = Field::new("filter-businesses", "q", "Name, e-mail or number", Kind::Search).value(&query);
    let filters = Filters {
        action: OPERATOR_BUSINESSES.to_owned(),
        hidden: Vec::new(),
        fields: vec![search],
        more: Vec::new(),
        reset: (!query.is_empty()).then(|| OPERATOR_BUSINESSES.to_owned()),
        csv: Some(link(OPERATOR_BUSINESSES, &[("q", &query), ("format", "csv")])),
    };
    let mut view = DeskView::new(frame(ask, "Businesses", DeskPage::Businesses).await?, "Businesses")
        .refused(wrong.as_ref().map(|wrong| wrong.why.as_str()));
    let waiting = waiting_businesses(ask.app()).await?;
    if !waiting.is_empty() {
        view = view.section("waiting", "Businesses that wait for you").add(waiting_rows(ask, &waiting));
    }
    if !websites.is_empty() {
        view = view.section("pending", "Websites that wait for you");
        let names = Names::of(ask, websites.iter().map(|one| one.business_id).collect()).await?;
        view = view.add(website_rows(ask, OPERATOR_BUSINESSES, &websites, &names, wrong.as_ref(), may_act));
    }
    view = view.section("all", "All businesses").add(filters).add(rows(ask, &page, &query, before.is_some()));
    if may_act {
        view = view.section("add", "Add a business").add(add_form(ask, wrong.as_ref()));
    }
    Ok(view.answer(ask))
}

/// How a business stands.
pub fn state(business: &Business) -> (Tone, &'static str) {
    match (business.active, business.live) {
        (true, true) => (Tone::Good, "active"),
        (true, false) => (Tone::Warn, "waits for you"),
        (false, _) => (Tone::Bad, "switched off"),
    }
}

/// Businesses that people registered themselves; each is decided on its own page.
fn waiting_rows(ask: &Ask, waiting: &[Business]) -> Rows {
    let columns = vec![Column::new("Name"), Column::new("E-mail"), Column::new("Registered")];
    let mut rows = Rows::new("Waiting businesses", columns, Empty::new("None waits", ""));
    for one in waiting {
        rows.row(vec![
            Cell::link(format!("{OPERATOR_BUSINESSES}/{}", one.id), &one.name),
            Cell::text(&one.email),
            ask.zone().time(one.created_at).into(),
        ]);
    }
    rows
}

fn add_form(ask: &Ask, wrong: Option<&Wrong>) -> Form {
    ask.new_form(ADD, OPERATOR_BUSINESSES, "Add the business")
        .hidden("act", "add")
        .once(ask.mark())
        .field(field(ask, ADD, "name", "Name", Kind::Text, wrong))
        .field(field(ask, ADD, "email", "E-mail for questions", Kind::Email, wrong))
        .field(
            field(ask, ADD, "owner", "E-mail of its first owner", Kind::Email, wrong)
                .optional()
                .hint("Gets a link to a password, which is shown to you once."),
        )
}

fn rows(ask: &Ask, page: &BusinessPage, query: &str, is_on: bool) -> Rows {
    let columns = vec![
        Column::new("Name"),
        Column::figure("Balance"),
        Column::figure("Approved, 30 days"),
        Column::new("State"),
        Column::figure("Number"),
        Column::new("Added"),
    ];
    let empty = Empty::new("No businesses here", "Merchants who take payments will stand here.");
    let mut rows = Rows::new("Businesses", columns, empty);
    for row in &page.rows {
        let one = &row.business;
        let (tone, word) = state(one);
        let mut state = vec![Cell::badge(tone, word)];
        if one.wallet_enabled {
            state.push(Cell::badge(Tone::Info, "wallet"));
        }
        rows.row(vec![
            Cell::link(format!("{OPERATOR_BUSINESSES}/{}", one.id), &one.name).under(Cell::text(&one.email)),
            row.balance.into(),
            row.volume.into(),
            Cell::Beside(state),
            Cell::Number(one.id.to_string().into()),
            ask.zone().day(one.created_at).into(),
        ]);
    }
    let older = page.before.map(|id| link(OPERATOR_BUSINESSES, &[("q", query), ("before", &id.to_string())]));
    let newest = is_on.then(|| link(OPERATOR_BUSINESSES, &[("q", query)]));
    rows.pager = Pager::by_time(newest, older, None);
    rows
}

/// Websites with what may be decided about them.
pub fn website_rows(
    ask: &Ask,
    action: &str,
    websites: &[Website],
    names: &Names,
    wrong: Option<&Wrong>,
    may_act: bool,
) -> Rows {
    use crate::domain::merchant::WebsiteStatus;
    let mut columns = vec![
        Column::new("Website"),
        Column::new("State"),
        Column::new("Webhooks go to"),
        Column::new("Business"),
        Column::new("Added"),
    ];
    if may_act {
        columns.push(Column::acts("Acts"));
    }
    let mut rows =
        Rows::new("Websites", columns, Empty::new("No websites", "A merchant adds them in its dashboard."));
    for (at, one) in websites.iter().enumerate() {
        let number = (at + 1).to_string();
        let state = match one.status {
            WebsiteStatus::Pending => Cell::badge(Tone::Warn, "waits for you"),
            WebsiteStatus::Approved => Cell::badge(Tone::Good, "approved"),
            WebsiteStatus::Rejected => Cell::badge(Tone::Bad, "rejected"),
        };
        let state = match &one.reject_reason {
            Some(reason) => state.under(Cell::text(reason)),
            None => state,
        };
        let mut cells = vec![
            Cell::text(&one.url),
            state,
            one.webhook_url.as_ref().map_or(Cell::None, Cell::code),
            names.link(one.business_id),
            ask.zone().day(one.created_at).into(),
        ];
        if may_act {
            let form = |name: &str, act: &str, button: &str| {
                ask.new_form(format!("{name}-{number}"), action, button)
                    .hidden("act", act)
                    .hidden("id", one.id.to_string())
                    .hidden("number", &number)
            };
            let mut acts = Vec::new();
            if one.status != WebsiteStatus::Approved {
                acts.push(form("approve-website", "approve-website", "Approve").small().into());
            }
            if one.status != WebsiteStatus::Rejected {
                let id = format!("reject-website-{number}");
                let reason = field(ask, &id, "reason", "Why", Kind::Text, wrong);
                let reject =
                    form("reject-website", "reject-website", "Reject").field(reason).look(Look::Danger);
                let question = "Payments can no longer name it, and webhooks to it stop.";
                acts.push(crate::http::pages::field::Confirm::new("Reject", question, reject).into());
            }
            cells.push(Cell::Beside(acts));
        }
        rows.row(cells);
    }
    rows
}

/// What is shown once after a business was added.
pub fn shown_once(ask: &Ask) -> Vec<Block> {
    let all = ask.flash.as_ref().map(|flash| flash.once.as_slice()).unwrap_or_default();
    let label = |name: &str| match name {
        "secret" => "Webhook secret",
        "link" => "Link to a password, for 72 hours",
        _ => "Shown once",
    };
    let secret = |(number, (name, value)): (usize, &(String, String))| {
        Block::Secret(Secret::once(format!("once-{number}"), label(name), value))
    };
    all.iter().enumerate().map(secret).collect()
}

/// The accounts of one business.
pub fn accounts_of(id: i64) -> String {
    link(OPERATOR_ACCOUNTS, &[("business", &id.to_string())])
}
