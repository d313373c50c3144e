//! `/dashboard/keys`: the API keys of a business. A key's text is shown once, when it is made.

use askama::Template;
use axum::response::Response;

use super::export::csv;
use super::form::{Acted, Forms, Refusal, done, named, password_first, sent};
use super::frame::{frame, pager};
use crate::domain::merchant::{ApiKey, KeyRights, KeyScope, KeyState, Mode};
use crate::domain::time::Span;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::is_csv;
use crate::http::pages::field::{Choice, Confirm, Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::{Empty, Secret, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::pages::text::sentence;
use crate::http::paths::DASHBOARD_KEYS;
use crate::ops::OpError;
use crate::ops::csv::CsvSource;
use crate::ops::merchants::keys::{KeyRefusal, add_key, list_keys, revoke_key};
use crate::ops::paging::{Page, page_of_whole};

const ADD: &str = "add-key";
const REVOKE: &str = "revoke-key";
/// Under this name a key is shown once.
const KEY: &str = "API key";

#[derive(Template)]
#[template(path = "dashboard/keys.html")]
struct Keys {
    frame: Frame,
    csv: String,
    made: Vec<Secret>,
    rows: Rows,
    add: Form,
}

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let Some(here) = &ask.here else { return Ok(unknown(ask)) };
    if is_csv(ask)
        && let Ok(file) = csv(ask, here, "keys", MemberRight::Integrate, CsvSource::Keys(here.id()))
    {
        return Ok(file);
    }
    let refusal = match sent(ask, act(ask, here)).await? {
        Ok(refusal) => refusal,
        Err(response) => return Ok(response),
    };
    let keys = list_keys(ask.app(), here.id()).await?.unwrap_or_default();
    let page = page_of_whole(keys, ask.cursor(), named(ask), |key| key.id);
    Ok(show(ask, here, &page, refusal.as_ref()))
}

async fn act(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    match ask.field("act") {
        ADD => add(ask, here).await,
        REVOKE => {
            let id = ask.field("id").parse::<i64>().unwrap_or(0);
            let keys = list_keys(ask.app(), here.id()).await?.unwrap_or_default();
            let Some(key) = keys.iter().find(|key| key.id == id) else { return Ok(Ok(unknown(ask))) };
            if let Some(first) = password_first(ask, here, DASHBOARD_KEYS, &[]) {
                return Ok(Ok(first));
            }
            Ok(match revoke_key(ask.app(), ask.operator(), id).await? {
                Ok(_) => {
                    let name = key.label.as_deref().unwrap_or(&key.hint);
                    let told =
                        format!("The key {name} is revoked. Requests with it are refused from now on.");
                    Ok(done(ask, here, DASHBOARD_KEYS, told))
                }
                Err(why) => Err(Refusal::new("", "", sentence(&why.to_string()))),
            })
        }
        _ => Ok(Err(Refusal::unknown())),
    }
}

async fn add(ask: &Ask, here: &Here) -> Result<Acted, OpError> {
    let refused = |field, why: &str| Ok(Err(Refusal::new(ADD, field, why)));
    if let Some(first) = password_first(ask, here, DASHBOARD_KEYS, &["label", "mode", "rights", "expires"]) {
        return Ok(Ok(first));
    }
    let Some(mode) = Mode::parse(ask.field("mode")) else { return refused("mode", "Choose live or test.") };
    let Some(rights) = KeyRights::parse(ask.field("rights")) else {
        return refused("rights", "Choose what the key may do.");
    };
    let days = ask.field("expires").trim();
    let life = match (days, days.parse::<i64>()) {
        ("", _) => None,
        (_, Ok(days @ 1..=3650)) => Some(Span::days(days)),
        _ => return refused("expires", "Write a number of days from 1 to 3650, or leave it empty."),
    };
    let label = Some(ask.field("label").trim()).filter(|label| !label.is_empty());
    let scope = KeyScope { mode, rights };
    Ok(match add_key(ask.app(), ask.operator(), here.id(), scope, label, life).await? {
        Ok(new) => {
            let told = Flash::done("The key is made. Copy it now.").once(KEY, new.text.as_str());
            Ok(ask.see(&here.link(DASHBOARD_KEYS, &[]), Some(told)))
        }
        Err(KeyRefusal::Life) => {
            return refused("expires", "Write a number of days from 1 to 3650, or leave it empty.");
        }
        Err(why @ KeyRefusal::Waits) => Err(Refusal::new(ADD, "mode", sentence(&why.to_string()))),
        Err(KeyRefusal::Label) => return refused("label", "Write 1 to 100 characters on one line."),
        Err(why) => Err(Refusal::new(ADD, "", sentence(&why.to_string()))),
    })
}

fn show(ask: &Ask, here: &Here, page: &Page<ApiKey>, refusal: Option<&Refusal>) -> Response {
    let forms = Forms::new(ask, here, DASHBOARD_KEYS, refusal);
    let once = ask.flash.iter().flat_map(|flash| &flash.once).filter(|(name, _)| name == KEY);
    let mut rows = rows(ask, &forms, &page.rows);
    rows.pager = pager(ask, here, DASHBOARD_KEYS, page, &[]);
    let page = Keys {
        csv: here.link(DASHBOARD_KEYS, &[("format", "csv")]),
        frame: forms.told(frame(ask, here, "Keys", DASHBOARD_KEYS)),
        made: once.map(|(name, key)| Secret::once("new-key", name, key)).collect(),
        rows,
        add: add_form(here, &forms),
    };
    ask.html(forms.status(), &page)
}

fn add_form(here: &Here, forms: &Forms<'_>) -> Form {
    let modes = vec![Choice::new("live", "Live: real money"), Choice::new("test", "Test: no money moves")];
    let rights = vec![
        Choice::new("write", "Write: make and correct payments, and read"),
        Choice::new("read", "Read: look at payments alone"),
    ];
    forms
        .making(ADD, "Make the key")
        .field(
            forms
                .field(ADD, "label", "Label", Kind::Text)
                .optional()
                .hint("Which program has it, such as: web shop. It is shown here alone."),
        )
        .field(forms.field_of(ADD, "mode", "Money", Kind::Select(modes), here.mode.as_str()))
        .field(forms.field(ADD, "rights", "What it may do", Kind::Select(rights)))
        .field(
            forms
                .field(ADD, "expires", "Ends after days", Kind::Text)
                .optional()
                .hint("Such as 90. Left empty, it works until you revoke it."),
        )
}

fn rows(ask: &Ask, forms: &Forms<'_>, keys: &[ApiKey]) -> Rows {
    let columns = vec![
        Column::new("Key"),
        Column::new("May"),
        Column::new("State"),
        Column::new("Made"),
        Column::new("Last used"),
        Column::acts("Revoke"),
    ];
    let empty =
        Empty::new("No keys yet", "Your programs ask for payments with a key. Make the first one below.");
    let mut rows = Rows::new("Keys", columns, empty);
    let (zone, now) = (ask.zone(), ask.app().now());
    for (at, key) in keys.iter().enumerate() {
        let state = match key.state_at(now) {
            KeyState::Active => Cell::badge(Tone::Good, "Active"),
            KeyState::Expired => Cell::badge(Tone::Muted, "Ended"),
            KeyState::Revoked => Cell::badge(Tone::Muted, "Revoked"),
        };
        let state = match key.expires_at.filter(|_| key.is_live_at(now)) {
            Some(until) => state.under(Cell::text(format!("until {}", zone.time(until).text))),
            None => state,
        };
        let revoke = match key.is_live_at(now) {
            true => {
                let form = forms.in_row(REVOKE, at + 1, "Revoke it").hidden("id", key.id.to_string());
                let question =
                    "Every request with this key is refused from then on. This cannot be taken back.";
                Confirm::new("Revoke", question, form).into()
            }
            false => Cell::None,
        };
        let may = match key.rights {
            KeyRights::Read => "read",
            KeyRights::Write => "read and write",
        };
        rows.row(vec![
            Cell::text(key.label.as_deref().unwrap_or("No label"))
                .under(Cell::code(format!("{}…", key.hint))),
            Cell::text(format!("{}, {may}", key.mode.as_str())),
            state,
            zone.day(key.created_at).into(),
            key.last_used_at.map_or(Cell::text("Never"), |at| zone.time(at).into()),
            revoke,
        ]);
    }
    rows
}
