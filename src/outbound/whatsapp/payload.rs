//! What is posted for a message: plain text, or the template of its kind with what fills it.
//!
//! The templates and the order of their parameters are those of docs/whatsapp.md; the tests send every
//! kind to a double that reads them there. A parameter holds no line breaks, tabs or runs of spaces: the
//! API refuses them. After `.../whatsapp/messages/text-messages`, `.../templates/utility-templates` and
//! `.../templates/authentication-templates`. Pure; used by `super` alone.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::config::Templates;
use crate::domain::message::MessageKind;
use crate::outbound::message::Outgoing;

/// Characters of one parameter. A template filled out has at most 1024, and ours have up to 450 of their
/// own; a merchant's name has up to 255 and a reference 120, so that only a merchant's text is longer.
const PARAMETER_MAX: usize = 255;
/// Characters of a merchant's text inside a template.
const MERCHANT_TEXT_MAX: usize = 600;

/// Plain text. The address in it is not looked at by the API for a preview.
pub fn text(outgoing: &Outgoing) -> Bytes {
    message(outgoing, "text", json!({ "preview_url": false, "body": outgoing.text.as_str() }))
}

/// The template of the message's kind, or why there is none.
pub fn template(outgoing: &Outgoing, templates: &Templates, language: &str) -> Result<Bytes, String> {
    let name = match outgoing.kind {
        MessageKind::Link => Some(&templates.link),
        MessageKind::Code => templates.code.as_ref(),
        MessageKind::Receipt => templates.receipt.as_ref(),
        MessageKind::PinChanged => templates.pin_changed.as_ref(),
        MessageKind::Topup => templates.topup.as_ref(),
        MessageKind::Refund => templates.refund.as_ref(),
        MessageKind::Stopped | MessageKind::Locked => templates.wrong_pins.as_ref(),
        MessageKind::TopupSuspended | MessageKind::TopupOverLimit | MessageKind::TopupReversed => {
            templates.topup_problem.as_ref()
        }
        MessageKind::Merchant => templates.merchant.as_ref(),
    };
    let Some(name) = name else {
        return Err(
            "the customer has not written in the last 24 hours, so WhatsApp does not deliver free text to them".into(),
        );
    };
    let components = components(outgoing)?;
    let template = json!({ "name": name, "language": { "code": language }, "components": components });
    Ok(message(outgoing, "template", template))
}

fn components(outgoing: &Outgoing) -> Result<Value, String> {
    if let Some(link) = &outgoing.link {
        let body = body([link.merchant.as_str(), &link.amount, &link.reference].map(parameter));
        return Ok(json!([body, button(&link.token)]));
    }
    if let Some(code) = &outgoing.code {
        // An authentication template wants the code twice: in the text, and behind the button that copies it.
        return Ok(json!([body([parameter(code)]), button(code)]));
    }
    if outgoing.kind == MessageKind::Merchant {
        let [merchant, text] = outgoing.parts.as_slice() else { return Err("its text is missing".into()) };
        let text = one_line(text);
        if text.chars().count() > MERCHANT_TEXT_MAX {
            return Err(format!(
                "the customer has not written in the last 24 hours, so a message may have at most \
                 {MERCHANT_TEXT_MAX} characters"
            ));
        }
        return Ok(json!([body([parameter(merchant), text])]));
    }
    Ok(json!([body(outgoing.parts.iter().map(|part| parameter(part)))]))
}

fn body(parameters: impl IntoIterator<Item = String>) -> Value {
    let parameters: Vec<Value> =
        parameters.into_iter().map(|text| json!({ "type": "text", "text": text })).collect();
    json!({ "type": "body", "parameters": parameters })
}

/// What ends the address of the template's first button.
fn button(end: &str) -> Value {
    json!({ "type": "button", "sub_type": "url", "index": "0", "parameters": [{ "type": "text", "text": end }] })
}

fn parameter(text: &str) -> String {
    let mut text = one_line(text);
    if let Some((end, _)) = text.char_indices().nth(PARAMETER_MAX) {
        text.truncate(end);
    }
    // An empty parameter is refused.
    if text.is_empty() { "-".to_owned() } else { text }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn message(outgoing: &Outgoing, kind: &str, content: Value) -> Bytes {
    let mut message = json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": outgoing.to.digits(),
        "type": kind,
        // Comes back with every report, also with those of a message whose answer never came.
        "biz_opaque_callback_data": outgoing.reference,
    });
    message[kind] = content;
    message.to_string().into()
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::domain::phone::Phone;

    fn outgoing(kind: MessageKind, parts: &[&str]) -> Outgoing {
        Outgoing {
            message_id: 7,
            reference: "7.tag".into(),
            to: Phone::parse("08035550142").unwrap(),
            kind,
            text: Zeroizing::new("text".into()),
            link: None,
            code: None,
            parts: parts.iter().map(|part| Zeroizing::new((*part).to_owned())).collect(),
            is_window_open: false,
        }
    }

    fn templates() -> Templates {
        let named = |name: &str| Some(name.to_owned());
        Templates {
            link: "link".into(),
            code: named("code"),
            receipt: named("receipt"),
            pin_changed: None,
            topup: named("topup"),
            refund: named("refund"),
            wrong_pins: named("wrong_pins"),
            topup_problem: named("topup_problem"),
            merchant: named("merchant"),
        }
    }

    #[test]
    fn parameters_are_single_lines_of_bounded_length() {
        let long = "ọ".repeat(300);
        let sent =
            template(&outgoing(MessageKind::Receipt, &["a\n b\t\tc     d", "", &long]), &templates(), "en");
        let sent: Value = serde_json::from_slice(&sent.unwrap()).unwrap();
        let parameters = &sent["template"]["components"][0]["parameters"];
        assert_eq!((&parameters[0]["text"], &parameters[1]["text"]), (&"a b c d".into(), &"-".into()));
        assert_eq!(parameters[2]["text"].as_str().unwrap().chars().count(), PARAMETER_MAX);
    }

    #[test]
    fn what_has_no_template_or_is_too_long_is_refused_in_words() {
        let none = template(&outgoing(MessageKind::PinChanged, &["set"]), &templates(), "en").unwrap_err();
        assert!(none.contains("in the last 24 hours"), "{none}");
        let text = "x".repeat(MERCHANT_TEXT_MAX + 1);
        let long =
            template(&outgoing(MessageKind::Merchant, &["Shop", &text]), &templates(), "en").unwrap_err();
        assert!(long.contains("at most 600"), "{long}");
        assert!(
            template(&outgoing(MessageKind::Merchant, &["Shop", &text[1..]]), &templates(), "en").is_ok()
        );
    }
}
