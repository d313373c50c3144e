//! `/operator/webhooks/{id}`: one webhook with every attempt and what was sent.

use axum::response::Response;

use super::page::{Block, DeskView};
use super::webhooks::{resend_form, resend_one, words};
use super::{DeskPage, forbidden, frame, id_behind, may};
use crate::domain::user::StaffRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::flash::Flash;
use crate::http::pages::layout::link;
use crate::http::pages::parts::{Step, Timeline, Tone};
use crate::http::pages::plain::unknown;
use crate::http::pages::rows::{Cell, Facts};
use crate::http::pages::segment::segment;
use crate::http::paths::{OPERATOR_BUSINESSES, OPERATOR_PAYMENTS, OPERATOR_WEBHOOKS};
use crate::ops::OpError;
use crate::ops::webhooks::browse::{Delivery, SentRequest, request_at};
use crate::ops::webhooks::deliveries::find_delivery;

/// Attempts that are shown, the last ones; what was sent again often has many.
const ATTEMPTS_SHOWN: usize = 50;
/// Characters of a body that are shown.
const BODY_MAX: usize = 8_000;

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let id = id_behind(ask, OPERATOR_WEBHOOKS);
    let Some(delivery) = find_delivery(ask.app(), id).await? else { return Ok(unknown(ask)) };
    let path = format!("{OPERATOR_WEBHOOKS}/{id}");
    let refused = match ask.is_form() {
        true => {
            if let Some(forbidden) = forbidden(ask, StaffRight::Decide) {
                return Ok(forbidden);
            }
            match resend_one(ask, id).await? {
                Ok(done) => return Ok(ask.see(&path, Some(Flash::done(done)))),
                Err(why) => Some(why),
            }
        }
        false => None,
    };
    let at = delivery.attempts.last().map_or(delivery.created_at, |attempt| attempt.at);
    let request = request_at(ask.app(), &delivery, at).await?;
    let (tone, word) = words(delivery.status());
    let mut view = DeskView::new(frame(ask, "Webhook", DeskPage::Webhook).await?, &delivery.event)
        .back(OPERATOR_WEBHOOKS, "All webhooks")
        .act(Cell::badge(tone, word))
        .refused(refused)
        .add(facts(ask, &delivery));
    if may(ask, StaffRight::Decide) && delivery.superseded().is_none() {
        view = view.add(resend_form(ask, "resend".to_owned(), &path, id));
    }
    view = view.section("attempts", "Attempts");
    view = match delivery.attempts.is_empty() {
        true => view.add(Block::text("It was not sent yet.")),
        false => view.add(attempts(ask, &delivery)),
    };
    if delivery.attempts.len() > ATTEMPTS_SHOWN {
        view = view.add(Block::text("Older attempts are not shown."));
    }
    if let Some(request) = request {
        view = view.section("request", "What was sent").add(Block::Code(told(&request).into()));
    }
    Ok(view.answer(ask))
}

fn facts(ask: &Ask, delivery: &Delivery) -> Facts {
    let zone = ask.zone();
    let business = delivery.business_id.to_string();
    let mut facts = Facts::new()
        .fact("Business", Cell::link(format!("{OPERATOR_BUSINESSES}/{business}"), &business))
        .fact("Webhook id", Cell::code(&delivery.webhook_id))
        .fact("Made", zone.exact(delivery.created_at));
    if let Some(id) = &delivery.transaction_id {
        let to = link(&format!("{OPERATOR_PAYMENTS}/{}", segment(id)), &[("business", &business)]);
        facts = facts.fact("Payment", Cell::link(to, id));
    }
    if delivery.done_at.is_none() && !delivery.is_held {
        facts = facts.fact("Next attempt", zone.exact(delivery.run_at));
    }
    if let Some(note) = &delivery.note {
        facts = facts.fact("Note", Cell::text(note));
    }
    facts
}

fn attempts(ask: &Ask, delivery: &Delivery) -> Timeline {
    let step = |attempt: &crate::ops::webhooks::deliveries::Attempt| {
        let is_good = attempt.status.is_some_and(|status| (200..300).contains(&status));
        let title = match attempt.status {
            Some(status) => format!("Attempt {}: {status} after {} ms", attempt.number, attempt.duration_ms),
            None => format!("Attempt {}: no answer after {} ms", attempt.number, attempt.duration_ms),
        };
        let mut step =
            Step::new(if is_good { Tone::Good } else { Tone::Bad }, ask.zone().exact(attempt.at), title);
        for line in [&attempt.url, &attempt.error, &attempt.answer].into_iter().flatten() {
            step = step.line(line);
        }
        step
    };
    Timeline { steps: delivery.attempts.iter().rev().take(ATTEMPTS_SHOWN).map(step).collect() }
}

fn told(request: &SentRequest) -> String {
    let headers: Vec<String> =
        request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let body: String = String::from_utf8_lossy(&request.body).chars().take(BODY_MAX).collect();
    format!("{}\n\n{body}", headers.join("\n"))
}
