//! Reads a page's form: a small urlencoded body that holds exactly one act.
//!
//! Which act it is, a hidden field says, never a button: what a button is called differs from language
//! to language, and Enter sends none. Bodies hold PINs and codes, so what is read is wiped when it is
//! dropped, and nothing here has `Debug`. What an act does is not known here.

use http::HeaderMap;
use url::form_urlencoded;
use zeroize::Zeroizing;

use crate::http::pages::body::{FormProblem, is_form};

/// Our longest form has about two hundred bytes.
pub const FORM_MAX: usize = 4 * 1024;
/// More fields than any form of ours has.
const FIELDS_MAX: usize = 16;

/// What the field `cancel` holds where the customer was asked; before, it holds `1` as others do.
const SURE: &str = "sure";

const FORM_TOKEN: &str = "form_token";
const FIELDS: [&str; 8] =
    [FORM_TOKEN, "send_code", "cancel", "reset", "pin", "code", "new_pin", "new_pin_again"];

/// What a customer wants.
pub enum Act {
    SendCode,
    /// The same for a wallet that has a PIN.
    Reset,
    /// To cancel; the customer is asked first.
    AskCancel,
    /// To cancel, after the question.
    Cancel,
    Pay {
        pin: Zeroizing<String>,
    },
    SetPin {
        code: Zeroizing<String>,
        new_pin: Zeroizing<String>,
        new_pin_again: Zeroizing<String>,
    },
}

pub struct Form {
    /// The token that our page puts into its forms.
    pub token: Option<Zeroizing<String>>,
    pub act: Act,
}

pub fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Form, FormProblem> {
    if !is_form(headers) {
        return Err(FormProblem::NotAForm);
    }
    let mut given: [Option<Zeroizing<String>>; FIELDS.len()] = Default::default();
    for (at, (name, value)) in form_urlencoded::parse(body).enumerate() {
        if at >= FIELDS_MAX {
            return Err(FormProblem::Broken);
        }
        let value = Zeroizing::new(value.into_owned());
        // Fields that are not ours are ignored.
        let Some(place) = FIELDS.iter().position(|field| *field == name) else { continue };
        if given[place].replace(value).is_some() {
            return Err(FormProblem::Broken);
        }
    }
    let [token, send_code, cancel, reset, pin, code, new_pin, new_pin_again] = given;
    let is_set = |field: Option<Zeroizing<String>>| match field {
        None => Ok(false),
        Some(value) if value.as_str() == "1" => Ok(true),
        Some(_) => Err(FormProblem::Broken),
    };
    let is_sure = cancel.as_ref().is_some_and(|value| value.as_str() == SURE);
    let cancel = if is_sure { true } else { is_set(cancel)? };
    let flags = (is_set(send_code)?, is_set(reset)?, cancel);
    let act = match (flags, pin, code, new_pin, new_pin_again) {
        ((true, false, false), None, None, None, None) => Act::SendCode,
        ((false, true, false), None, None, None, None) => Act::Reset,
        ((false, false, true), None, None, None, None) if is_sure => Act::Cancel,
        ((false, false, true), None, None, None, None) => Act::AskCancel,
        ((false, false, false), Some(pin), None, None, None) => Act::Pay { pin },
        ((false, false, false), None, Some(code), Some(new_pin), Some(new_pin_again)) => {
            Act::SetPin { code, new_pin, new_pin_again }
        }
        _ => return Err(FormProblem::Broken),
    };
    Ok(Form { token, act })
}

#[cfg(test)]
mod tests {
    use http::header::CONTENT_TYPE;

    use super::*;

    fn read_act(kind: &str, body: &str) -> Result<(String, Option<String>), FormProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        let form = parse(&headers, body.as_bytes())?;
        let act = match form.act {
            Act::SendCode => "send".to_owned(),
            Act::Reset => "reset".to_owned(),
            Act::AskCancel => "ask".to_owned(),
            Act::Cancel => "cancel".to_owned(),
            Act::Pay { pin } => format!("pay {}", pin.as_str()),
            Act::SetPin { code, new_pin, new_pin_again } => {
                format!("set {} {} {}", code.as_str(), new_pin.as_str(), new_pin_again.as_str())
            }
        };
        Ok((act, form.token.map(|token| token.to_string())))
    }

    const KIND: &str = "application/x-www-form-urlencoded";

    #[test]
    fn each_act_is_told_by_its_field() {
        for (body, act) in [
            ("send_code=1", "send"),
            ("reset=1&other=x", "reset"),
            ("cancel=1", "ask"),
            ("cancel=sure", "cancel"),
            ("pin=40%371", "pay 4071"),
            ("pin=", "pay "),
            ("code=123+456&new_pin=4071&new_pin_again=4072", "set 123 456 4071 4072"),
        ] {
            assert_eq!(read_act(KIND, body), Ok((act.to_owned(), None)), "{body}");
        }
        let with_token = read_act("application/X-WWW-Form-urlencoded; charset=utf-8", "form_token=a-b&pin=1");
        assert_eq!(with_token, Ok(("pay 1".into(), Some("a-b".into()))));
    }

    #[test]
    fn anything_else_is_no_form() {
        let many = "a=1&".repeat(FIELDS_MAX) + "pin=4071";
        for body in [
            "",
            "pay=1",
            "send_code=yes",
            "send_code=1&cancel=1",
            "send_code=sure",
            "cancel=yes",
            "cancel=1&cancel=sure",
            "reset=1&cancel=sure",
            "pin=4071&cancel=1",
            "pin=4071&pin=4071",
            "code=123456",
            "code=123456&new_pin=4071",
            "pin=4071&code=123456&new_pin=4071&new_pin_again=4071",
            "form_token=a",
            many.as_str(),
        ] {
            assert_eq!(read_act(KIND, body), Err(FormProblem::Broken), "{body}");
        }
        for kind in ["application/json", "text/plain", "multipart/form-data; boundary=x", ""] {
            assert_eq!(read_act(kind, "pin=4071"), Err(FormProblem::NotAForm), "{kind}");
        }
    }
}
