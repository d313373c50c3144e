//! `/operator/businesses/{id}`: one merchant with volume, balance, members, websites, keys, accounts and limits.

use axum::response::Response;

use super::businesses::{Wrong, accounts_of, decide_website, field, shown_once, state, website_rows};
use super::page::DeskView;
use super::{DeskPage, forbidden, frame, id_behind, may, operator};
use crate::domain::merchant::{Business, Mode};
use crate::domain::money::Money;
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Choice, Field, Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Tile, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Facts, Rows};
use crate::http::pages::text::grouped;
use crate::http::pages::times::age;
use crate::http::paths::{OPERATOR_ACTIVITY, OPERATOR_BUSINESSES, OPERATOR_PAYMENTS, OPERATOR_WEBHOOKS};
use crate::ops::OpError;
use crate::ops::figures::days::{Days, figures_of};
use crate::ops::figures::waiting::waiting_of;
use crate::ops::merchants::accounts::{AccountPage, browse_accounts};
use crate::ops::merchants::businesses::{
    BusinessChange, BusinessRefusal, BusinessStanding, ChargeChange, business_standing, find_business,
    set_business,
};
use crate::ops::merchants::keys::list_keys;
use crate::ops::merchants::websites::list_websites;
use crate::ops::people::members::{Member, members};

const SET: &str = "set-business";

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let id = id_behind(ask, OPERATOR_BUSINESSES);
    let Ok(standing) = business_standing(ask.app(), id).await? else { return Ok(unknown(ask)) };
    if !ask.is_form() {
        return show(ask, &standing, None).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Administer) {
        return Ok(forbidden);
    }
    let done = match ask.field("act") {
        "set" => set(ask, id).await?,
        _ => decide_website(ask).await?,
    };
    match done {
        Ok(done) => Ok(ask.see(&format!("{OPERATOR_BUSINESSES}/{id}"), Some(Flash::done(done)))),
        Err(wrong) => show(ask, &standing, Some(wrong)).await,
    }
}

/// A switch as a form says it; `None` where it is not sent.
fn switch(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "on" | "1" | "yes" | "true" => Some(true),
        "off" | "0" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// Changes what the form holds; what is not sent is left alone.
async fn set(ask: &Ask, id: i64) -> Result<Result<String, Wrong>, OpError> {
    let is_sent = |name: &str| ask.form.as_ref().is_some_and(|form| form.all(name).next().is_some());
    let text = |name: &'static str| is_sent(name).then(|| ask.field(name).trim());
    let mut wrong = None;
    let mut number = |name: &'static str| match text(name) {
        None => None,
        Some("") => Some(None),
        Some(text) => match text.parse::<i64>() {
            Ok(number) => Some(Some(number)),
            Err(_) => {
                wrong = Some(Wrong::at(SET, name, "write a whole number, or leave it empty for the default"));
                None
            }
        },
    };
    let (rate_limit, wallet_rate_limit) = (number("rate_limit"), number("wallet_rate_limit"));
    let mut amount = |name: &'static str| match text(name) {
        None | Some("") => None,
        Some(text) => match Money::parse(text) {
            Ok(amount) => Some(amount),
            Err(_) => {
                wrong = Some(Wrong::at(SET, name, "write a number with at most two decimals"));
                None
            }
        },
    };
    let (percentage, fixed, cap) = (amount("percentage"), amount("fixed"), amount("cap"));
    if let Some(wrong) = wrong {
        return Ok(Err(wrong));
    }
    let was_on = find_business(ask.app(), id).await?.map(|business| business.wallet_enabled);
    let change = BusinessChange {
        active: switch(ask.field("active")),
        // That it stays on says nothing about a stop after wrong PINs, which somebody looks into first.
        wallet_enabled: switch(ask.field("wallet")).filter(|is_on| Some(*is_on) != was_on),
        rate_limit,
        wallet_rate_limit,
        charges: ChargeChange {
            // Hundredths of a percent, as kobo are of a naira.
            rate: percentage.map(Money::kobo),
            fixed,
            cap: match text("cap") {
                Some("") => Some(None),
                _ => cap.map(Some),
            },
            paid_by_customer: switch(ask.field("paid_by_customer")),
            enabled: switch(ask.field("charged")),
        },
        ..BusinessChange::default()
    };
    Ok(match set_business(ask.app(), operator(ask), id, &change).await? {
        Ok(business) => Ok(format!("{} is changed. New payments follow it.", business.name)),
        Err(why) => {
            let field = match &why {
                BusinessRefusal::Percentage => "percentage",
                BusinessRefusal::Amount("cap") => "cap",
                BusinessRefusal::Amount(_) => "fixed",
                _ => "rate_limit",
            };
            Err(Wrong::at(SET, field, why))
        }
    })
}

async fn show(ask: &Ask, standing: &BusinessStanding, wrong: Option<Wrong>) -> Result<Response, OpError> {
    let (app, business) = (ask.app(), &standing.business);
    let (id, zone, wrong) = (business.id, ask.zone(), wrong.as_ref());
    let may_act = may(ask, StaffRight::Administer);
    let (month, waits, team, accounts) = tokio::try_join!(
        figures_of(app, id, Mode::Live, Days::Thirty),
        waiting_of(app, id, Mode::Live),
        members(app, id),
        browse_accounts(app, false, Some(id), None),
    )?;
    let websites = list_websites(app, id).await?.unwrap_or_default();
    let keys = list_keys(app, id).await?.unwrap_or_default();
    let (text, here) = (id.to_string(), format!("{OPERATOR_BUSINESSES}/{id}"));
    let median = month.median.map_or_else(|| "–".to_owned(), age);
    let failed = Tile::new("Failed webhooks", grouped(waits.webhooks.failed.count))
        .href(link(OPERATOR_WEBHOOKS, &[("business", &text), ("status", "failed")]));
    let failed = if waits.webhooks.failed.count > 0 { failed.tone(Tone::Bad) } else { failed };
    let tiles = vec![
        Tile::money("Balance", standing.balance.unwrap_or_default()),
        Tile::money("Approved, 30 days", month.totals.approved_amount)
            .note(format!("{} payments, half within {median}", grouped(month.totals.approved)))
            .href(link(OPERATOR_PAYMENTS, &[("business", &text)])),
        Tile::money("Open payments", waits.open.amount)
            .note(format!("{} payments", grouped(waits.open.count))),
        failed,
    ];
    let mut facts = Facts::new()
        .fact("Number", Cell::text(&text))
        .fact("E-mail", Cell::text(&business.email))
        .fact("Webhooks go to", business.webhook_url.as_ref().map_or(Cell::None, Cell::code))
        .fact("Added", zone.exact(business.created_at))
        .fact("Accounts of its own", Cell::link(accounts_of(id), "Accounts"))
        .fact("What people did", Cell::link(link(OPERATOR_ACTIVITY, &[("business", &text)]), "Activity"));
    if let Some(at) = standing.wallet_stopped_at {
        facts = facts.fact("Wallet payments stopped for wrong PINs", zone.exact(at));
    }
    let state = state(business);
    let mut view = DeskView::new(frame(ask, &business.name, DeskPage::Business).await?, &business.name)
        .back(OPERATOR_BUSINESSES, "All businesses")
        .act(Cell::badge(state.0, state.1))
        .refused(wrong.map(|wrong| wrong.why.as_str()));
    for block in shown_once(ask) {
        view = view.add(block);
    }
    view = view
        .add(tiles)
        .add(facts)
        .section("websites", "Websites")
        .add(website_rows(ask, &here, &websites, wrong, may_act))
        .section("members", "Members")
        .add(member_rows(ask, &team))
        .section("keys", "Keys")
        .add(key_rows(ask, &keys))
        .section("accounts", "Accounts of its own")
        .add(account_rows(&accounts));
    if may_act && business.waits() {
        view = view.section("activate", "It waits for you").add(activate_form(ask, &here));
    }
    if may_act {
        view = view.section("set", "Settings and charges").add(set_form(ask, business, &here, wrong));
    }
    Ok(view.answer(ask))
}

/// Lets a business take real money that somebody registered himself.
fn activate_form(ask: &Ask, here: &str) -> Form {
    ask.new_form("activate-business", here, "Let it take real money")
        .hidden("act", "set")
        .hidden("active", "on")
}

fn set_form(ask: &Ask, business: &Business, here: &str, wrong: Option<&Wrong>) -> Form {
    let is_wrong = wrong.is_some_and(|wrong| wrong.form == SET);
    let filled = |name: &'static str, label: &str, kind: Kind, now: String| -> Field {
        let one = field(ask, SET, name, label, kind, wrong);
        if is_wrong { one } else { one.value(now) }
    };
    let choice = |name: &'static str, label: &str, on: &str, off: &str, now: bool| {
        let choices = vec![Choice::new("on", on), Choice::new("off", off)];
        filled(name, label, Kind::Select(choices), if now { "on" } else { "off" }.to_owned())
    };
    let limit = |limit: Option<i64>| limit.map_or_else(String::new, |limit| limit.to_string());
    let schedule = &business.schedule;
    let mut standings = vec![Choice::new("on", "Active"), Choice::new("off", "Switched off: its keys stop")];
    // What is no switch is left alone.
    if business.waits() {
        standings.insert(0, Choice::new("waits", "Waits for you: test mode alone"));
    }
    let standing = if business.waits() {
        "waits"
    } else if business.active {
        "on"
    } else {
        "off"
    };
    ask.new_form(SET, here, "Change it")
        .hidden("act", "set")
        .field(filled("active", "Business", Kind::Select(standings), standing.to_owned()))
        .field(choice("wallet", "Wallet payments", "On", "Off", business.wallet_enabled))
        .field(choice("charged", "Charges", "On", "Off", schedule.enabled))
        .field(filled("percentage", "Percentage", Kind::Text, Money(schedule.rate).to_string()))
        .field(filled("fixed", "Fixed part", Kind::Amount, schedule.fixed.to_string()))
        .field(
            filled(
                "cap",
                "At most",
                Kind::Amount,
                schedule.cap.map_or_else(String::new, |cap| cap.to_string()),
            )
            .optional()
            .hint("Empty: no cap."),
        )
        .field(choice(
            "paid_by_customer",
            "Who pays the charges",
            "The customer",
            "The business",
            schedule.paid_by_customer,
        ))
        .field(
            filled("rate_limit", "Requests a minute", Kind::Text, limit(business.rate_limit))
                .optional()
                .hint("Empty: the default."),
        )
        .field(
            filled(
                "wallet_rate_limit",
                "Wallet requests a minute",
                Kind::Text,
                limit(business.wallet_rate_limit),
            )
            .optional()
            .hint("Empty: the default."),
        )
}

fn member_rows(ask: &Ask, team: &[Member]) -> Rows {
    let columns =
        vec![Column::new("E-mail"), Column::new("Role"), Column::new("State"), Column::new("Since")];
    let empty = Empty::new("Nobody yet", "An owner is added with the business, and invites the others.");
    let mut rows = Rows::new("Members", columns, empty);
    for one in team {
        let state = match (one.is_disabled, one.has_begun) {
            (true, _) => Cell::badge(Tone::Bad, "disabled"),
            (false, true) => Cell::badge(Tone::Good, "signs in"),
            (false, false) => Cell::badge(Tone::Warn, "invited"),
        };
        rows.row(vec![
            Cell::text(&one.email),
            Cell::text(one.role.as_str()),
            state,
            ask.zone().day(one.since).into(),
        ]);
    }
    rows
}

fn key_rows(ask: &Ask, keys: &[crate::domain::merchant::ApiKey]) -> Rows {
    let columns = vec![
        Column::new("Label"),
        Column::new("Begins with"),
        Column::new("Mode"),
        Column::new("State"),
        Column::new("Made"),
        Column::new("Last used"),
    ];
    let empty = Empty::new("No keys", "A developer of the business makes them in its dashboard.");
    let mut rows = Rows::new("Keys", columns, empty);
    let (zone, now) = (ask.zone(), ask.app().now());
    for key in keys {
        let is_over = key.expires_at.is_some_and(|at| at <= now);
        let state = match (key.revoked_at, is_over) {
            (Some(_), _) => Cell::badge(Tone::Muted, "revoked"),
            (None, true) => Cell::badge(Tone::Muted, "expired"),
            (None, false) => Cell::badge(Tone::Good, "in use"),
        };
        rows.row(vec![
            Cell::text(key.label.as_deref().unwrap_or("No label")),
            Cell::code(&key.hint),
            Cell::text(key.mode.as_str()),
            state,
            zone.day(key.created_at).into(),
            key.last_used_at.map_or(Cell::None, |at| zone.time(at).into()),
        ]);
    }
    rows
}

fn account_rows(page: &AccountPage) -> Rows {
    let columns = vec![
        Column::new("Account"),
        Column::new("Bank"),
        Column::new("Holder"),
        Column::figure("Open payments"),
    ];
    let empty = Empty::new("None of its own", "Its customers pay into the shared accounts.");
    let mut rows = Rows::new("Accounts", columns, empty);
    for one in &page.rows {
        rows.row(vec![
            Cell::code(&one.account.number),
            Cell::text(&one.account.bank_name),
            Cell::text(&one.account.name),
            one.open_payments.into(),
        ]);
    }
    rows
}
