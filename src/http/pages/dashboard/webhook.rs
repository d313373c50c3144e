//! One webhook in words: its state, what an attempt came to, and the request as a command line.

use crate::http::pages::parts::Tone;
use crate::http::pages::rows::Cell;
use crate::ops::webhooks::browse::SentRequest;
use crate::ops::webhooks::deliveries::{Attempt, Delivery, DeliveryStatus};

/// Of an answer so many characters are told in a line.
const ANSWER_TOLD: usize = 120;

/// The state of a delivery as a badge.
pub(super) fn state(delivery: &Delivery) -> Cell {
    let (tone, text) = match DeliveryStatus::parse(delivery.status()) {
        Some(DeliveryStatus::Delivered) => (Tone::Good, "Delivered"),
        Some(DeliveryStatus::Failed) => (Tone::Bad, "Failed"),
        Some(DeliveryStatus::Paused) => (Tone::Bad, "Paused"),
        Some(DeliveryStatus::NotSent) => (Tone::Muted, "Not sent"),
        Some(DeliveryStatus::Waiting) | None if delivery.attempts.is_empty() => (Tone::Info, "Waiting"),
        Some(DeliveryStatus::Waiting) | None => (Tone::Warn, "Tried again"),
    };
    Cell::badge(tone, text)
}

/// `200 in 120 ms`, or what went wrong; with the beginning of the answer where it was refused.
pub(super) fn answered(attempt: &Attempt) -> String {
    let mut told = match attempt.status {
        Some(status) => format!("{status} in {} ms", attempt.duration_ms),
        None => format!("no answer in {} ms", attempt.duration_ms),
    };
    if let Some(error) = &attempt.error {
        told = format!("{told}; {error}");
    }
    let is_good = attempt.status.is_some_and(|status| (200..300).contains(&status));
    if let Some(answer) = attempt.answer.as_deref().filter(|_| !is_good) {
        let answer: String = answer.chars().take(ANSWER_TOLD).collect();
        told = format!("{told}: {}", answer.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    told
}

/// The request for a terminal. Every part stands in single quotes, in which a shell changes nothing.
pub(super) fn curl(url: &str, request: &SentRequest) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let mut line = format!("curl -i -X POST {}", quoted(url));
    for (name, value) in &request.headers {
        line.push_str(&format!(" \\\n  -H {}", quoted(&format!("{name}: {value}"))));
    }
    let body = String::from_utf8_lossy(&request.body);
    line.push_str(&format!(" \\\n  --data-raw {}", quoted(&body)));
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    #[test]
    fn a_command_line_holds_what_was_sent_and_nothing_else_runs() {
        let request = SentRequest {
            headers: vec![("webhook-id".into(), "msg_1".into())],
            body: br#"{"payer_name":"Ada's $(rm -rf ~) `x`"}"#.to_vec(),
        };
        let line = curl("https://ada.example/hook?a='1'", &request);
        assert_eq!(
            line,
            "curl -i -X POST 'https://ada.example/hook?a='\\''1'\\''' \\\n  -H 'webhook-id: msg_1' \\\n  \
             --data-raw '{\"payer_name\":\"Ada'\\''s $(rm -rf ~) `x`\"}'"
        );
    }

    #[test]
    fn an_attempt_says_what_came() {
        let attempt = Attempt {
            id: 1,
            job_id: 1,
            number: 1,
            url: None,
            status: Some(500),
            error: None,
            answer: Some("Internal\n  error".into()),
            duration_ms: 12,
            at: Timestamp(0),
        };
        assert_eq!(answered(&attempt), "500 in 12 ms: Internal error");
        assert_eq!(answered(&Attempt { status: Some(200), ..attempt.clone() }), "200 in 12 ms");
        let silent = Attempt { status: None, error: Some("timed out".into()), answer: None, ..attempt };
        assert_eq!(answered(&silent), "no answer in 12 ms; timed out");
    }
}
