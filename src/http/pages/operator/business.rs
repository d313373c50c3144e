//! `/operator/businesses/{id}`: one merchant with volume, balance, members, websites, keys, accounts and limits.

use axum::response::Response;
use url::form_urlencoded;

use super::businesses::{Wrong, accounts_of, decide_website, field, shown_once, state, website_rows};
use super::page::{DeskView, Names};
use super::{DeskPage, forbidden, frame, id_behind, may};
use crate::domain::merchant::{Business, Mode};
use crate::domain::money::Money;
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Choice, Field, Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Pager, Tile, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Facts, Rows};
use crate::http::pages::text::{counted, grouped};
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
use crate::ops::paging::{Cursor, Page, page_of_whole};
use crate::ops::people::members::{Member, members};

const SET: &str = "set-business";
/// The hidden field that holds what the form showed at first.
const SHOWN: &str = "shown";

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

/// Changes what the form holds. What is not sent, or sent as it was shown, is left alone: a page that was open for an
/// hour does not take back what a colleague has changed since.
async fn set(ask: &Ask, id: i64) -> Result<Result<String, Wrong>, OpError> {
    let shown: Vec<(String, String)> =
        form_urlencoded::parse(ask.field(SHOWN).as_bytes()).into_owned().collect();
    let is_sent = |name: &str| ask.form.as_ref().is_some_and(|form| form.all(name).next().is_some());
    let is_as_shown =
        |name: &str| shown.iter().any(|(one, was)| one == name && was == ask.field(name).trim());
    let text = |name: &'static str| (is_sent(name) && !is_as_shown(name)).then(|| ask.field(name).trim());
    let switch = |name: &'static str| text(name).and_then(switch);
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
        Some(text) => match Money::typed(text) {
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
        active: switch("active"),
        // That it stays on says nothing about a stop after wrong PINs, which somebody looks into first.
        wallet_enabled: switch("wallet").filter(|is_on| Some(*is_on) != was_on),
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
            paid_by_customer: switch("paid_by_customer"),
            enabled: switch("charged"),
        },
        ..BusinessChange::default()
    };
    Ok(match set_business(ask.app(), ask.operator(), id, &change).await? {
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
    let (text, here) = (id.to_string(), format!("{OPERATOR_BUSINESSES}/{id}"));
    let at = |list: &str| ask.query(list).and_then(|text| Cursor::parse(&text));
    let named = ask.field("id").trim().parse().ok();
    let websites = list_websites(app, id).await?.unwrap_or_default();
    let websites = page_of_whole(websites, at("websites"), named, |one| one.id);
    let keys = list_keys(app, id).await?.unwrap_or_default();
    let keys = page_of_whole(keys, at("keys"), None, |one| one.id);
    let team = page_of_whole(team, at("members"), None, |one| one.user_id);
    let half = month.median.map(|median| format!(", half within {}", age(median))).unwrap_or_default();
    let failed = Tile::new("Failed webhooks", grouped(waits.webhooks.failed.count))
        .href(link(OPERATOR_WEBHOOKS, &[("business", &text), ("status", "failed")]));
    let failed = if waits.webhooks.failed.count > 0 { failed.tone(Tone::Bad) } else { failed };
    let tiles = vec![
        Tile::money("Balance", standing.balance.unwrap_or_default()),
        Tile::money("Approved, 30 days", month.totals.approved_amount)
            .note(format!("{}{half}", counted(month.totals.approved, "payment")))
            .href(link(OPERATOR_PAYMENTS, &[("business", &text)])),
        Tile::money("Open payments", waits.open.amount).note(counted(waits.open.count, "payment")),
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
    let names = Names::of(ask, vec![id]).await?;
    for block in shown_once(ask) {
        view = view.add(block);
    }
    view = view
        .add(tiles)
        .add(facts)
        .section("websites", "Websites")
        .add(with_pager(
            ask,
            &here,
            "websites",
            &websites,
            website_rows(ask, &here, &websites.rows, &names, wrong, may_act),
        ))
        .section("members", "Members")
        .add(with_pager(ask, &here, "members", &team, member_rows(ask, &team.rows)))
        .section("keys", "Keys")
        .add(with_pager(ask, &here, "keys", &keys, key_rows(ask, &keys.rows)))
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

/// A list of this page with the way on in it: each list has a cursor of its own, called as its section is.
fn with_pager<T>(ask: &Ask, here: &str, list: &str, page: &Page<T>, rows: Rows) -> Rows {
    let next = page.next.map(|cursor| format!("{}#{list}", link(here, &[(list, &cursor.to_string())])));
    let first = ask.query(list).is_some().then(|| format!("{here}#{list}"));
    Rows { pager: Pager::in_order(first, next), ..rows }
}

/// Lets a business take real money that somebody registered himself.
fn activate_form(ask: &Ask, here: &str) -> Form {
    ask.new_form("activate-business", here, "Let it take real money")
        .hidden("act", "set")
        .hidden("active", "on")
}

fn set_form(ask: &Ask, business: &Business, here: &str, wrong: Option<&Wrong>) -> Form {
    let is_wrong = wrong.is_some_and(|wrong| wrong.form == SET);
    let now = as_it_is(business);
    let filled = |name: &'static str, label: &str, kind: Kind| -> Field {
        let one = field(ask, SET, name, label, kind, wrong);
        let at_first = now.iter().find(|(field, _)| *field == name).filter(|_| !is_wrong);
        match at_first {
            Some((_, value)) => one.value(value),
            None => one,
        }
    };
    let choice = |name: &'static str, label: &str, on: &str, off: &str| {
        let choices = vec![Choice::new("on", on), Choice::new("off", off)];
        filled(name, label, Kind::Select(choices))
    };
    let mut standings = vec![Choice::new("on", "Active"), Choice::new("off", "Switched off: its keys stop")];
    // What is no switch is left alone.
    if business.waits() {
        standings.insert(0, Choice::new("waits", "Waits for you: test mode alone"));
    }
    // What was refused is still compared with what stood there at first.
    let shown = if is_wrong { ask.field(SHOWN).to_owned() } else { encoded(&now) };
    ask.new_form(SET, here, "Change it")
        .hidden("act", "set")
        .hidden(SHOWN, shown)
        .field(filled("active", "Business", Kind::Select(standings)))
        .field(choice("wallet", "Wallet payments", "On", "Off"))
        .field(choice("charged", "Charges", "On", "Off"))
        .field(filled("percentage", "Percentage", Kind::Text))
        .field(filled("fixed", "Fixed part", Kind::Amount))
        .field(filled("cap", "At most", Kind::Amount).optional().hint("Empty: no cap."))
        .field(choice("paid_by_customer", "Who pays the charges", "The customer", "The business"))
        .field(filled("rate_limit", "Requests a minute", Kind::Text).optional().hint("Empty: the default."))
        .field(
            filled("wallet_rate_limit", "Wallet requests a minute", Kind::Text)
                .optional()
                .hint("Empty: the default."),
        )
}

/// What the form of a business holds at first, by field.
fn as_it_is(business: &Business) -> [(&'static str, String); 9] {
    let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
    let limit = |limit: Option<i64>| limit.map_or_else(String::new, |limit| limit.to_string());
    let schedule = &business.schedule;
    [
        ("active", if business.waits() { "waits".to_owned() } else { on(business.active) }),
        ("wallet", on(business.wallet_enabled)),
        ("charged", on(schedule.enabled)),
        ("percentage", Money(schedule.rate).to_string()),
        ("fixed", schedule.fixed.to_string()),
        ("cap", schedule.cap.map_or_else(String::new, |cap| cap.to_string())),
        ("paid_by_customer", on(schedule.paid_by_customer)),
        ("rate_limit", limit(business.rate_limit)),
        ("wallet_rate_limit", limit(business.wallet_rate_limit)),
    ]
}

fn encoded(fields: &[(&'static str, String)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
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
