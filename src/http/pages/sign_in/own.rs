//! What the parts of `/me` share: how their forms begin, and what is said of one that was refused.

use http::StatusCode;

use super::refused_password;
use crate::http::pages::ask::Ask;
use crate::http::pages::field::Form;
use crate::http::paths::ME;
use crate::ops::people::passwords::PasswordRefusal;

/// Under this name recovery codes are shown once.
pub const CODE: &str = "recovery code";

/// A form that was refused: which, why, with what status.
pub struct Refusal {
    pub form: &'static str,
    pub field: &'static str,
    pub why: String,
    pub status: StatusCode,
    pub seconds: Option<i64>,
}

impl Refusal {
    pub fn new(form: &'static str, field: &'static str, why: impl Into<String>) -> Refusal {
        Refusal { form, field, why: why.into(), status: StatusCode::UNPROCESSABLE_ENTITY, seconds: None }
    }

    pub fn password(form: &'static str, refusal: PasswordRefusal) -> Refusal {
        let (status, why) = refused_password(refusal);
        let seconds = match refusal {
            PasswordRefusal::TooMany(many) => Some(many.seconds),
            _ => None,
        };
        let field = if matches!(refusal, PasswordRefusal::Unfit(_)) { "new_password" } else { "password" };
        Refusal { status, seconds, ..Refusal::new(form, field, why) }
    }
}

pub type ErrorOf<'a> = dyn Fn(&str, &str) -> Option<String> + 'a;

pub fn act(ask: &Ask, form: &'static str, button: &str) -> Form {
    ask.new_form(form, ME, button).hidden("act", form)
}
