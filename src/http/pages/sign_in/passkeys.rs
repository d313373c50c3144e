//! The part of `/me` about passkeys: the list, adding and removing.

use axum::response::Response;
use serde_json::json;

use super::own::{CODE, ErrorOf, Refusal, act};
use super::{confirm, passkey};
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Confirm, Field, Form, Kind, Look, Passkey};
use crate::http::pages::flash::Flash;
use crate::http::pages::parts::Empty;
use crate::http::pages::rows::{Cell, Column, Rows};
use crate::http::paths::ME;
use crate::ops::OpError;
use crate::ops::people::passkeys::{
    AddRefused, PasskeyRow, add_passkey, are_possible, begin_passkey, end_passkey,
};
use crate::ops::people::sessions::Session;

const FORM: &str = "passkey-add";

pub struct Passkeys {
    /// `None`: there is none.
    pub own: Option<Rows>,
    /// `None`: browsers have no passkeys for our address.
    pub add: Option<Form>,
}

pub fn part(ask: &Ask, own: &[PasskeyRow], error: &ErrorOf<'_>) -> Passkeys {
    let typed = if ask.field("act") == FORM { ask.field("label") } else { "" };
    let label = Field::new(FORM, "label", "Name", Kind::Text)
        .value(typed)
        .hint("Such as My phone: by it you know the passkey again.")
        .error(error(FORM, "label"));
    let add = act(ask, FORM, "Add a passkey").look(Look::Plain).field(label).passkey(Passkey::Make);
    Passkeys { own: (!own.is_empty()).then(|| rows(ask, own)), add: are_possible(ask.app()).then_some(add) }
}

fn rows(ask: &Ask, own: &[PasskeyRow]) -> Rows {
    let columns =
        vec![Column::new("Name"), Column::new("Added"), Column::new("Last used"), Column::acts("Remove")];
    let mut rows = Rows::new("Your passkeys", columns, Empty::new("None", "You have no passkey."));
    let zone = ask.zone();
    for (number, one) in own.iter().enumerate() {
        let form = ask.new_form(format!("end-passkey-{}", number + 1), ME, "Remove it");
        let form = form.hidden("act", "end-passkey").hidden("id", one.id.to_string());
        let question = format!("{} will open nothing any more.", one.label);
        rows.row(vec![
            Cell::text(&one.label),
            zone.time(one.created_at).into(),
            one.used_at.map_or(Cell::text("Never"), |at| zone.time(at).into()),
            Confirm::new("Remove", question, form).into(),
        ]);
    }
    rows
}

/// The question for the browser.
pub async fn begin(ask: &Ask, session: &Session) -> Result<Response, OpError> {
    if !session.is_checked(ask.app().now()) {
        return Ok(ask.json(json!({ "go": confirm::address(ME) }).to_string()));
    }
    Ok(passkey::question(ask, begin_passkey(ask.app(), session).await?, ME))
}

pub async fn add(ask: &Ask, session: &Session) -> Result<Result<Response, Refusal>, OpError> {
    let (label, answer) = (ask.field("label"), ask.field("credential"));
    let why = match add_passkey(ask.app(), session, label, answer).await? {
        Ok(added) => {
            let told = match added.recovery_codes.is_empty() {
                true => Flash::done("Your passkey is added. Everywhere else you are signed out."),
                false => Flash::done("Your passkey is added. Keep the recovery codes now."),
            };
            let told = added.recovery_codes.iter().fold(told, |told, code| told.once(CODE, code.as_str()));
            return Ok(Ok(ask.see_as(ME, Some(told), Some(&added.token.0))));
        }
        Err(AddRefused::Label) => "Write a name of at most 60 characters.",
        Err(AddRefused::Wrong) => "The passkey was not accepted, or it took too long. Try again.",
        Err(AddRefused::Many) => "You have as many passkeys as there may be. Remove one that you do not use.",
    };
    Ok(Err(Refusal::new(FORM, "label", why)))
}

pub async fn end(ask: &Ask, session: &Session) -> Result<Response, OpError> {
    if !session.is_checked(ask.app().now()) {
        return Ok(ask.see(&confirm::address(ME), None));
    }
    let ended = match ask.field("id").parse() {
        Ok(id) => end_passkey(ask.app(), session, id).await?,
        Err(_) => None,
    };
    Ok(match ended {
        Some(token) => {
            let told = Flash::done("The passkey is removed. Everywhere else you are signed out.");
            ask.see_as(ME, Some(told), Some(&token.0))
        }
        None => ask.see(ME, None),
    })
}
