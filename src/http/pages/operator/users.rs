//! `/operator/users`: everybody who signs in. Links to a password are shown once.

use axum::response::Response;

use super::businesses::{Wrong, field, shown_once};
use super::page::DeskView;
use super::{DeskPage, forbidden, frame};
use crate::domain::user::{StaffRight, StaffRole};
use crate::http::pages::ask::Ask;
use crate::http::pages::export::{csv_file, is_csv};
use crate::http::pages::field::{Choice, Confirm, Field, Filters, Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Empty, Pager, Tone};
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::sign_in::confirm;
use crate::http::paths::{OPERATOR_BUSINESSES, OPERATOR_USERS};
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::paging::PAGE_ROWS;
use crate::ops::people::users::{
    Listed, Place, UserRefusal, Which, add_user, browse_users, disable_user, find_user, reset_user,
};

const ADD: &str = "add-user";
const STAFF: &str = "staff";
const MEMBERS: &str = "members";

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    if !ask.is_form() {
        return show(ask, None).await;
    }
    if let Some(forbidden) = forbidden(ask, StaffRight::Administer) {
        return Ok(forbidden);
    }
    if ask.session.as_ref().is_none_or(|session| !session.is_checked(ask.app().now())) {
        return Ok(ask.see(&confirm::address(OPERATOR_USERS), None));
    }
    match act(ask).await? {
        Ok(flash) => Ok(ask.see(OPERATOR_USERS, Some(flash))),
        Err(wrong) => show(ask, Some(wrong)).await,
    }
}

async fn act(ask: &Ask) -> Result<Result<Flash, Wrong>, OpError> {
    let id = ask.field("id").trim().parse::<i64>().unwrap_or(0);
    let is_oneself = ask.session.as_ref().is_some_and(|session| session.user_id == id);
    Ok(match ask.field("act") {
        "add" => {
            let Some(role) = StaffRole::parse(ask.field("role")) else {
                return Ok(Err(Wrong::at(ADD, "role", "choose a role")));
            };
            let email = ask.field("email");
            match add_user(ask.app(), ask.operator(), email, Place::Staff(role), None).await? {
                Ok(added) => {
                    let flash = Flash::done(format!("{} is added as {}.", added.user.email, role.as_str()));
                    Ok(match added.link {
                        Some(link) => flash.once("link", link.as_str()),
                        None => flash,
                    })
                }
                Err(why) => Err(Wrong::at(ADD, "email", why)),
            }
        }
        "disable" if is_oneself => {
            Err(Wrong::at("", "", "you cannot disable yourself; ask another administrator"))
        }
        "disable" => match disable_user(ask.app(), ask.operator(), id).await? {
            Ok(user) => Ok(Flash::done(format!("{} is disabled, and signed out everywhere.", user.email))),
            Err(why) => Err(Wrong::at("", "", why)),
        },
        "reset" => match reset_user(ask.app(), ask.operator(), id).await? {
            Ok(made) => {
                let told = format!(
                    "{} is signed out everywhere. Give them the link; their password and second factor are gone.",
                    made.user.email
                );
                let flash = Flash::done(told);
                Ok(match made.link {
                    Some(link) => flash.once("link", link.as_str()),
                    None => flash,
                })
            }
            Err(why @ UserRefusal::Unknown(_)) => Err(Wrong::at("", "", why)),
            Err(why) => Err(Wrong::at("", "", why)),
        },
        _ => Err(Wrong::at("", "", "this form is not known here; open the page again")),
    })
}

async fn show(ask: &Ask, wrong: Option<Wrong>) -> Result<Response, OpError> {
    if is_csv(ask)
        && !ask.is_form()
        && let Ok(file) = csv_file(ask, "users", CsvSource::Users)
    {
        return Ok(file);
    }
    let mut view = DeskView::new(frame(ask, "Users", DeskPage::Users).await?, "Users")
        .refused(wrong.as_ref().map(|wrong| wrong.why.as_str()));
    for block in shown_once(ask) {
        view = view.add(block);
    }
    let query = ask.query("q").unwrap_or_default();
    view = view.add(filters(&query));
    if !query.trim().is_empty() {
        let found = find_user(ask.app(), &query).await?;
        let empty = Empty::new("Nobody has this address", "Type the whole e-mail address.");
        return Ok(view.add(rows(ask, &found, "Found", empty)).answer(ask));
    }
    let staff = list(ask, Which::Staff).await?;
    let members = list(ask, Which::NotStaff).await?;
    let view = view
        .section(STAFF, "Your people")
        .add(staff)
        .section("add", "Add somebody of the staff")
        .add(add_form(ask, wrong.as_ref()))
        .section(MEMBERS, "Members of businesses")
        .add(members);
    Ok(view.answer(ask))
}

fn filters(query: &str) -> Filters {
    Filters {
        action: OPERATOR_USERS.to_owned(),
        hidden: Vec::new(),
        fields: vec![Field::new("filter-users", "q", "E-mail", Kind::Search).value(query)],
        more: Vec::new(),
        reset: (!query.is_empty()).then(|| OPERATOR_USERS.to_owned()),
        csv: Some(link(OPERATOR_USERS, &[("format", "csv")])),
    }
}

/// One of the two lists, each with a cursor of its own that is called as its section is.
async fn list(ask: &Ask, which: Which) -> Result<Rows, OpError> {
    let (name, caption) = match which {
        Which::Staff => (STAFF, "Staff"),
        _ => (MEMBERS, "Members"),
    };
    let after = ask.query(name).and_then(|text| text.parse().ok());
    let page = browse_users(ask.app(), which, after, PAGE_ROWS).await?;
    let empty = Empty::new("Nobody yet", "Members are added with a business, or invited by its owner.");
    let mut rows = rows(ask, &page.rows, caption, empty);
    let next = page.after.map(|id| format!("{}#{name}", link(OPERATOR_USERS, &[(name, &id.to_string())])));
    let first = after.is_some().then(|| format!("{OPERATOR_USERS}#{name}"));
    rows.pager = Pager::in_order(first, next);
    Ok(rows)
}

fn add_form(ask: &Ask, wrong: Option<&Wrong>) -> Form {
    let roles = vec![
        Choice::new("reviewer", "Reviewer: alerts, payments, wallets, webhooks"),
        Choice::new("viewer", "Viewer: looks, and changes nothing"),
        Choice::new("admin", "Administrator: everything"),
    ];
    ask.new_form(ADD, OPERATOR_USERS, "Add them")
        .hidden("act", "add")
        .once(ask.mark())
        .field(field(ask, ADD, "email", "E-mail", Kind::Email, wrong))
        .field(field(ask, ADD, "role", "Role", Kind::Select(roles), wrong))
}

fn rows(ask: &Ask, users: &[Listed], caption: &str, empty: Empty) -> Rows {
    let columns = vec![
        Column::new("E-mail"),
        Column::new("Role"),
        Column::new("State"),
        Column::new("Added"),
        Column::acts("Acts"),
    ];
    let mut rows = Rows::new(caption, columns, empty);
    for one in users {
        let user = &one.user;
        let mut roles: Vec<Cell> = user.staff.iter().map(|role| Cell::text(role.as_str())).collect();
        roles.extend(one.memberships.iter().map(|place| {
            let to = format!("{OPERATOR_BUSINESSES}/{}", place.business_id);
            Cell::link(to, format!("{} of {}", place.role.as_str(), place.business))
        }));
        let mut state = vec![match (user.disabled_at, &user.password) {
            (Some(_), _) => Cell::badge(Tone::Bad, "disabled"),
            (None, Some(_)) => Cell::badge(Tone::Good, "signs in"),
            (None, None) => Cell::badge(Tone::Warn, "no password yet"),
        }];
        if user.totp.is_some() {
            state.push(Cell::badge(Tone::Muted, "second factor"));
        }
        rows.row(vec![
            Cell::text(&user.email),
            Cell::Under(roles),
            Cell::Beside(state),
            ask.zone().day(user.created_at).into(),
            acts(ask, one),
        ]);
    }
    rows
}

/// The user's number stands behind a form's id: both lists are on one page.
fn acts(ask: &Ask, one: &Listed) -> Cell {
    let user = &one.user;
    let is_oneself = ask.session.as_ref().is_some_and(|session| session.user_id == user.id);
    if user.disabled_at.is_some() || is_oneself {
        return Cell::None;
    }
    let form = |name: &str, act: &str, button: &str| {
        ask.new_form(format!("{name}-{}", user.id), OPERATOR_USERS, button)
            .hidden("act", act)
            .hidden("id", user.id.to_string())
    };
    let reset = Confirm::new(
        "Reset",
        "Their password and second factor go, they are signed out everywhere, and you get a link for them.",
        form("reset-user", "reset", "Reset them").once(ask.mark()),
    );
    let disable = Confirm::new(
        "Disable",
        "They are signed out everywhere and cannot sign in any more.",
        form("disable-user", "disable", "Disable them"),
    );
    Cell::Beside(vec![reset.into(), disable.into()])
}
