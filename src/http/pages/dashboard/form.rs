//! What the forms of the dashboard have in common: the refusal that stands at its field, what was typed, and the password
//! that is asked for again before what matters.

use axum::response::Response;
use http::StatusCode;

use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::{Field, Form, Kind};
use crate::http::pages::flash::Flash;
use crate::http::pages::here::Here;
use crate::http::pages::layout::Frame;
use crate::http::pages::parts::Notice;
use crate::http::pages::plain::not_allowed;
use crate::http::pages::sign_in::confirm;
use crate::ops::OpError;

/// So many characters an address may have that leads back from the password.
const BACK_MAX: usize = 450;
/// What an address calls a field's value that comes back.
const WITH: &str = "with_";

/// A form that was refused: which, at which field, why. Nothing was changed.
pub(super) struct Refusal {
    /// Its id, with its number where it stands in each row.
    pub form: String,
    pub field: &'static str,
    pub why: String,
}

/// What a form came to: an answer, or why not.
pub(super) type Acted = Result<Response, Refusal>;

/// What a page's request came to: where a form was sent and done, `Err` is its answer; else the page is to be shown, with
/// why the form was refused.
pub(super) async fn sent(
    ask: &Ask,
    act: impl Future<Output = Result<Acted, OpError>>,
) -> Result<Result<Option<Refusal>, Response>, OpError> {
    Ok(match ask.is_form() {
        true => match act.await? {
            Ok(response) => Err(response),
            Err(refusal) => Ok(Some(refusal)),
        },
        false => Ok(None),
    })
}

impl Refusal {
    pub fn new(form: impl Into<String>, field: &'static str, why: impl Into<String>) -> Refusal {
        Refusal { form: form.into(), field, why: why.into() }
    }

    /// A form that no page of ours has.
    pub fn unknown() -> Refusal {
        Refusal::new("", "", "This form is not known here. Open the page again.")
    }
}

/// One page's forms: where they go, and what was refused.
pub(super) struct Forms<'a> {
    ask: &'a Ask,
    path: String,
    refusal: Option<&'a Refusal>,
}

impl<'a> Forms<'a> {
    pub fn new(ask: &'a Ask, here: &'a Here, path: &str, refusal: Option<&'a Refusal>) -> Forms<'a> {
        Forms::at(ask, here.link(path, &[]), refusal)
    }

    /// The same where the address is whole.
    pub fn at(ask: &'a Ask, path: String, refusal: Option<&'a Refusal>) -> Forms<'a> {
        Forms { ask, path, refusal }
    }

    /// A form that says by its hidden `act` what it is.
    pub fn form(&self, act: &str, button: &str) -> Form {
        self.ask.new_form(act, &self.path, button).hidden("act", act)
    }

    /// A form that makes something, which counts once however often it is sent.
    pub fn making(&self, act: &str, button: &str) -> Form {
        self.form(act, button).once(self.ask.mark())
    }

    /// The same as `form` in a row of a list.
    pub fn in_row(&self, act: &str, number: usize, button: &str) -> Form {
        self.ask.new_form(in_row(act, number), &self.path, button).hidden("act", act)
    }

    /// A field with what was typed before and what is wrong with it.
    pub fn field(&self, form: &str, name: &'static str, label: &str, kind: Kind) -> Field {
        self.field_of(form, name, label, kind, "")
    }

    /// The same, with what stands there at first.
    pub fn field_of(&self, form: &str, name: &'static str, label: &str, kind: Kind, first: &str) -> Field {
        let is_of = |refusal: &&&Refusal| refusal.form == form;
        let typed = match self.refusal.as_ref().filter(is_of) {
            Some(_) => Some(self.ask.field(name).to_owned()),
            // What stood in the form before the password was asked for; a link of somebody else's fills nothing.
            None if self.is_from_password() => {
                self.ask.query(&format!("{WITH}{name}")).filter(|_| !form.ends_with(char::is_numeric))
            }
            None => None,
        };
        let error = self.refusal.as_ref().filter(is_of).filter(|refusal| refusal.field == name);
        Field::new(form, name, label, kind)
            .value(typed.unwrap_or_else(|| first.to_owned()))
            .error(error.map(|refusal| refusal.why.as_str()))
    }

    fn is_from_password(&self) -> bool {
        self.ask.session.as_ref().is_some_and(|session| session.was_just_checked(self.ask.app().now()))
    }

    /// The frame with what was refused above the page's content.
    pub fn told(&self, frame: Frame) -> Frame {
        match self.refusal {
            Some(refusal) if refusal.field.is_empty() => frame.notice(Notice::refused(&refusal.why)),
            Some(_) => frame.notice(Notice::refused("Nothing was changed. See below why.")),
            None => frame,
        }
    }

    pub fn status(&self) -> StatusCode {
        if self.refusal.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }
    }
}

/// The id of a form in a row; rows are counted from 1.
pub(super) fn in_row(act: &str, number: usize) -> String {
    format!("{act}-{number}")
}

/// The id of the row that a form names.
pub(super) fn named(ask: &Ask) -> Option<i64> {
    ask.field("id").parse().ok()
}

/// Whose row a form in a list stands in, by what the form's id ends with.
pub(super) fn row_of<T>(rows: &[T], is_it: impl Fn(&T) -> bool) -> Option<(usize, &T)> {
    rows.iter().enumerate().find(|(_, row)| is_it(row)).map(|(at, row)| (at + 1, row))
}

/// The answer to who has too few rights for a form.
pub(super) fn refuse(ask: &Ask, here: &Here, right: MemberRight) -> Option<Response> {
    (!here.may(right)).then(|| not_allowed(ask, &right.roles()))
}

/// Where the password was not asked for lately: leads to it, and back with what was typed.
pub(super) fn password_first(ask: &Ask, here: &Here, path: &str, keep: &[&str]) -> Option<Response> {
    let is_checked = ask.session.as_ref().is_some_and(|session| session.is_checked(ask.app().now()));
    if is_checked {
        return None;
    }
    let kept: Vec<(String, &str)> =
        keep.iter().map(|name| (format!("{WITH}{name}"), ask.field(name))).collect();
    let query: Vec<(&str, &str)> = kept.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let back = here.link(path, &query);
    let back = if back.len() > BACK_MAX { here.link(path, &[]) } else { back };
    Some(ask.see(&confirm::address(&back), None))
}

/// To the page that shows what was done.
pub(super) fn done(ask: &Ask, here: &Here, path: &str, told: impl Into<String>) -> Response {
    ask.see(&here.link(path, &[]), Some(Flash::done(told)))
}
