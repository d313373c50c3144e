//! What the answers of the Cloud API mean: accepted, try later, never, or unknown.
//!
//! By the code of an error, as Meta recommends, not by its title or the HTTP status; codes and their
//! meaning after `.../whatsapp/support/error-codes`. The same codes come with failed reports. The words a
//! failure is told with are ours: the API's own may repeat what was sent, so that only `details`, with
//! everything that could be a secret taken out, goes to the log. Pure; used by `super` and `http`.

use std::time::Duration;

use serde::Deserialize;

use crate::domain::message::masked;
use crate::outbound::message::SendOutcome;
use crate::outbound::{PostError, PostOutcome};

/// To one customer a message may go every 6 seconds.
const PAIR_PAUSE: Duration = Duration::from_secs(6);
/// Messages a second of a number, or the API's own weakness.
const SHORT_PAUSE: Duration = Duration::from_secs(5);
/// Pause after too many calls of an app or an account, which are counted over an hour.
const HOURLY_PAUSE: Duration = Duration::from_secs(5 * 60);
/// After complaints of customers; it takes the number's quality to rise.
const SPAM_PAUSE: Duration = Duration::from_secs(60 * 60);
/// The longest wait.
const ASKED_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Characters of an error's details that are logged.
const DETAILS_MAX: usize = 300;
/// A longer word than any of a language's may be a token.
const WORD_MAX: usize = 24;

/// The result of one POST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendVerdict {
    Sent {
        provider_id: String,
    },
    Later {
        why: String,
        after: Option<Duration>,
    },
    Unsure {
        why: String,
    },
    /// A complete answer of success without a message id.
    NoId {
        why: String,
    },
    /// Only a template goes to this customer now.
    WindowClosed,
    NotOnWhatsApp,
    /// Never, and no other message either until the operator acts.
    Operator {
        why: String,
    },
    Never {
        why: String,
    },
}

impl From<SendVerdict> for SendOutcome {
    fn from(verdict: SendVerdict) -> SendOutcome {
        match verdict {
            SendVerdict::Sent { provider_id } => SendOutcome::Sent { provider_id },
            SendVerdict::Later { why, after } => SendOutcome::Retry { why, after },
            SendVerdict::Unsure { why } => SendOutcome::Unsure { why },
            SendVerdict::NoId { why } => SendOutcome::Retry { why, after: None },
            SendVerdict::WindowClosed => SendOutcome::Refused {
                why: told("the customer has not written in the last 24 hours", 131_047),
            },
            SendVerdict::NotOnWhatsApp => SendOutcome::NotOnWhatsApp,
            SendVerdict::Operator { why } | SendVerdict::Never { why } => SendOutcome::Refused { why },
        }
    }
}

/// Why a message failed, by its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It may work later.
    Later {
        why: String,
        after: Option<Duration>,
    },
    WindowClosed {
        why: String,
    },
    NotOnWhatsApp {
        why: String,
    },
    Operator {
        why: String,
    },
    Never {
        why: String,
    },
}

/// What a code says. Codes that are not listed are final: sending again what was refused for a reason
/// nobody knows does no good.
pub fn failure_of(code: i64) -> Failure {
    let words = |text: &str| told(text, code);
    let later = |text: &str, after| Failure::Later { why: words(text), after };
    let operator = |text: &str| Failure::Operator { why: words(text) };
    let never = |text: &str| Failure::Never { why: words(text) };
    match code {
        // Access.
        0 | 190 => operator("the access token is not valid or has expired"),
        3 | 10 | 200..=299 | 131_005 => operator("the access token lacks a permission"),
        33 | 133_010 => operator("the sending number is not registered"),
        131_045 | 133_000 | 133_005 | 133_006 | 133_008 | 133_009 => {
            operator("the sending number must be registered again")
        }
        // The account.
        368 | 131_031 => operator("the account is blocked"),
        131_042 => operator("the account's payment method does not work"),
        130_497 => operator("the account may not send messages to this country"),
        131_037 => operator("the sending number's display name is not approved"),
        // Timeouts.
        1 | 2 | 131_000 | 131_016 | 133_004 => later("WhatsApp has a temporary problem", None),
        131_057 => later("the account is in maintenance", Some(HOURLY_PAUSE)),
        4 | 80_007 => later("too many API calls", Some(HOURLY_PAUSE)),
        130_429 | 133_016 => later("too many messages", Some(SHORT_PAUSE)),
        131_056 => later("too many messages to this customer", Some(PAIR_PAUSE)),
        131_048 => later("customers blocked too many messages from the sending number", Some(SPAM_PAUSE)),
        // The customer.
        131_026 => Failure::NotOnWhatsApp { why: words("the number is not on WhatsApp") },
        131_047 => Failure::WindowClosed { why: words("the customer has not written in the last 24 hours") },
        131_021 => never("the number is the sending number itself"),
        131_030 => {
            never("a WhatsApp test number sends only to numbers on its list, and this number is not on it")
        }
        131_049 | 131_050 | 130_472 => never("WhatsApp does not deliver this to the customer"),
        // Templates.
        132_001 => never("the template does not exist in this language, or is not approved"),
        132_000 | 132_012 | 132_018 => {
            never("the template's parameters differ from those that are documented")
        }
        132_005 => never("the template is too long once it is filled out"),
        132_007 => never("the template breaks a policy"),
        132_015 => never("the template is paused for low quality"),
        132_016 => never("the template was disabled for low quality"),
        132_000..=132_999 => never("the template was refused"),
        100 | 131_008 | 131_009 | 131_051 => never("WhatsApp does not understand the request"),
        _ => never("WhatsApp refused the message"),
    }
}

fn told(words: &str, code: i64) -> String {
    format!("{words} (WhatsApp error {code})")
}

/// The part of an error that is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    pub code: i64,
    pub is_transient: bool,
    /// For the log.
    pub details: String,
}

#[derive(Deserialize)]
struct Answer {
    messages: Option<Vec<Accepted>>,
    error: Option<RawError>,
}

#[derive(Deserialize)]
struct Accepted {
    id: String,
}

#[derive(Deserialize)]
struct RawError {
    code: i64,
    #[serde(default)]
    is_transient: bool,
    #[serde(default)]
    message: String,
    error_data: Option<ErrorData>,
}

#[derive(Deserialize)]
struct ErrorData {
    #[serde(default)]
    details: String,
}

pub fn error_of(posted: &PostOutcome) -> Option<ApiError> {
    let error = serde_json::from_str::<Answer>(&posted.body_excerpt).ok()?.error?;
    let details = error.error_data.map_or(error.message, |data| data.details);
    Some(ApiError { code: error.code, is_transient: error.is_transient, details: harmless(&details) })
}

/// Removes long words, numbers and links: the API may repeat tokens, codes and phone numbers.
fn harmless(text: &str) -> String {
    let masked = masked(text);
    let shown = |word: &str| if word.chars().count() > WORD_MAX { "***".to_owned() } else { word.to_owned() };
    let words: Vec<String> = masked.split_whitespace().map(shown).collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(DETAILS_MAX).collect()
}

/// A code for the meters, the status where there is none.
pub fn label(code: Option<i64>, status: Option<u16>) -> String {
    match (code, status) {
        (Some(code @ 0..=299_999), _) => code.to_string(),
        (Some(_), _) => "other".to_owned(),
        (None, Some(status)) => format!("http_{status}"),
        (None, None) => "no_answer".to_owned(),
    }
}

pub fn judge(posted: &PostOutcome) -> SendVerdict {
    if let Some(error) = error_of(posted) {
        return by_code(&error, posted);
    }
    let Some(status) = posted.answered() else { return unanswered(posted) };
    match status {
        200..=299 => match provider_id(&posted.body_excerpt) {
            Some(provider_id) => SendVerdict::Sent { provider_id },
            // This is no answer of the API, so nothing was taken by it.
            None => SendVerdict::NoId { why: "whatsapp.base_url responds without a message id".into() },
        },
        429 | 503 => {
            let why = format!("WhatsApp asks for a pause (status {status})");
            SendVerdict::Later { why, after: asked(posted) }
        }
        // What stands before the API may have passed the request on.
        408 | 500..=599 => {
            SendVerdict::Unsure { why: format!("WhatsApp has a temporary problem (status {status})") }
        }
        300..=399 => SendVerdict::Operator { why: "whatsapp.base_url redirects to another address".into() },
        401 | 403 | 404 | 407 => {
            SendVerdict::Operator { why: format!("whatsapp.base_url refuses the request (status {status})") }
        }
        _ => SendVerdict::Never { why: format!("WhatsApp refused the message (status {status})") },
    }
}

fn by_code(error: &ApiError, posted: &PostOutcome) -> SendVerdict {
    if error.is_transient {
        return SendVerdict::Later {
            why: told("WhatsApp has a temporary problem", error.code),
            after: asked(posted),
        };
    }
    match failure_of(error.code) {
        Failure::Later { why, after } => SendVerdict::Later { why, after: after.max(asked(posted)) },
        Failure::WindowClosed { .. } => SendVerdict::WindowClosed,
        Failure::NotOnWhatsApp { .. } => SendVerdict::NotOnWhatsApp,
        Failure::Operator { why } => SendVerdict::Operator { why },
        // A code nobody knows yet, but a status that speaks of trouble on the other side.
        Failure::Never { .. } if posted.status.is_some_and(|status| status >= 500 || status == 429) => {
            SendVerdict::Later {
                why: told("WhatsApp has a temporary problem", error.code),
                after: asked(posted),
            }
        }
        Failure::Never { why } => SendVerdict::Never { why },
    }
}

/// No answer, or an incomplete one. A request that was never sent can safely be sent again.
fn unanswered(posted: &PostOutcome) -> SendVerdict {
    if posted.maybe_seen {
        return SendVerdict::Unsure { why: "WhatsApp did not respond; the message may have arrived".into() };
    }
    let why = match &posted.error {
        Some(PostError::Tls(_)) => "no secure connection to WhatsApp",
        Some(PostError::Dns(_)) => "WhatsApp's address was not found",
        _ => "WhatsApp cannot be reached",
    };
    SendVerdict::Later { why: why.into(), after: None }
}

fn provider_id(body: &str) -> Option<String> {
    let answer: Answer = serde_json::from_str(body).ok()?;
    let id = answer.messages?.into_iter().next()?.id;
    (!id.is_empty()).then_some(id)
}

/// Retry-After in seconds; a date is not worth reading, the pauses of our own are of that order.
fn asked(posted: &PostOutcome) -> Option<Duration> {
    let seconds = posted.retry_after.as_deref()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(ASKED_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &str) -> PostOutcome {
        PostOutcome {
            status: Some(status),
            body_excerpt: body.into(),
            maybe_seen: true,
            ..PostOutcome::default()
        }
    }

    fn refused(status: u16, code: i64) -> SendVerdict {
        let body = format!(
            r#"{{"error":{{"message":"(#{code}) title","type":"OAuthException","code":{code},
               "error_data":{{"messaging_product":"whatsapp","details":"why"}},"fbtrace_id":"A1"}}}}"#
        );
        judge(&answered(status, &body))
    }

    #[test]
    fn documented_codes_are_told_apart() {
        for code in [0, 3, 10, 190, 200, 299, 368, 131_005, 131_031, 131_042, 133_010] {
            assert!(matches!(refused(401, code), SendVerdict::Operator { .. }), "{code}");
        }
        let after = |code| match refused(400, code) {
            SendVerdict::Later { after, .. } => after.map(|after| after.as_secs()),
            other => panic!("{code}: {other:?}"),
        };
        assert_eq!((after(130_429), after(131_056), after(80_007)), (Some(5), Some(6), Some(300)));
        assert_eq!((after(4), after(131_048), after(131_000)), (Some(300), Some(3_600), None));
        assert_eq!((after(131_016), after(2), after(1)), (None, None, None));
        assert_eq!(refused(400, 131_026), SendVerdict::NotOnWhatsApp);
        assert_eq!(refused(400, 131_047), SendVerdict::WindowClosed);
        for code in
            [100, 130_472, 131_008, 131_009, 131_030, 131_049, 131_051, 132_000, 132_001, 132_012, 132_015]
        {
            let SendVerdict::Never { why } = refused(404, code) else { panic!("{code}") };
            assert!(why.ends_with(&format!("(WhatsApp error {code})")), "{why}");
        }
        assert!(
            matches!(refused(500, 999_999), SendVerdict::Later { .. }),
            "unknown, but a server's trouble"
        );
        assert!(matches!(refused(400, 999_999), SendVerdict::Never { .. }));
        let transient = r#"{"error":{"message":"x","code":100,"is_transient":true}}"#;
        assert!(matches!(judge(&answered(400, transient)), SendVerdict::Later { .. }));
    }

    #[test]
    fn what_may_have_been_taken_is_not_called_unsent() {
        let unsure = |posted: &PostOutcome| matches!(judge(posted), SendVerdict::Unsure { .. });
        let timed_out =
            PostOutcome { error: Some(PostError::Timeout), maybe_seen: true, ..PostOutcome::default() };
        assert!(unsure(&timed_out));
        assert!(!unsure(&PostOutcome { maybe_seen: false, ..timed_out.clone() }), "nothing was sent");
        assert!(unsure(&PostOutcome { status: Some(200), ..timed_out }), "cut off in the middle");
        for (status, body) in [(200, "<html>"), (200, r#"{"messages":[]}"#), (200, "")] {
            assert!(matches!(judge(&answered(status, body)), SendVerdict::NoId { .. }), "{body}");
        }
        for (status, body) in [(502, "<html>"), (504, ""), (500, "")] {
            assert!(unsure(&answered(status, body)), "{status} {body}");
        }
        assert!(matches!(judge(&answered(503, "busy")), SendVerdict::Later { .. }));
        for status in [301, 401, 403, 404] {
            assert!(matches!(judge(&answered(status, "")), SendVerdict::Operator { .. }), "{status}");
        }
        let good = r#"{"messaging_product":"whatsapp","contacts":[{"input":"1","wa_id":"1"}],
            "messages":[{"id":"wamid.A","message_status":"accepted"}]}"#;
        assert_eq!(judge(&answered(200, good)), SendVerdict::Sent { provider_id: "wamid.A".into() });
    }

    #[test]
    fn an_asked_wait_lengthens_and_is_bounded() {
        let with = |after: &str, status| {
            let mut posted = answered(status, "");
            posted.retry_after = Some(after.into());
            match judge(&posted) {
                SendVerdict::Later { after, .. } => after.map(|after| after.as_secs()),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            (with("120", 429), with("99999999", 503), with("soon", 429)),
            (Some(120), Some(86_400), None)
        );
    }

    #[test]
    fn details_hold_no_token_no_number_and_no_link() {
        let told = harmless(
            "Malformed access token EAAGm0PX4ZCpsBAKZBexample1234567890abc for +2348035550142, see https://a.b/pay/xyz \
             (code 493017), param 3 of 4",
        );
        assert_eq!(told, "Malformed access token *** for +****, see https://*** (code ****), param 3 of 4");
    }
}
