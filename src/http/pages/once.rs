//! Forms that make something count once (`Form::once`): the page's form has a mark of its own,
//! and a form that comes again under it, with the same typed into it, is answered as the first one was.
//!
//! The work goes on when the browser hangs up, as it does when a button is pressed twice: else the second press would find
//! the first one cut short.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::header::{LOCATION, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};

use super::answer;
use super::ask::Ask;
use super::cookie::Cookie;
use super::field::MARK;
use super::plain;
use crate::ops::OpError;
use crate::ops::people::sent_forms::{Sent, claim_form};

/// Where the first one led, with what its page shows once, sealed for its reader.
#[derive(Serialize, Deserialize)]
struct Led {
    to: String,
    shown_once: Option<String>,
}

/// By what this form is known when it comes again; `None`: it counts each time.
pub fn key(ask: &Ask) -> Option<[u8; 32]> {
    let form = ask.form.as_ref()?;
    let mark = form.get(MARK);
    if mark.is_empty() || ask.session.is_none() {
        return None;
    }
    let path = ask.parts.uri.path_and_query().map_or("", |asked| asked.as_str());
    let typed: Vec<(&str, &str)> = form.all_texts().collect();
    let typed = serde_json::to_string(&(path, typed)).ok()?;
    Some(ask.app().vault.form_key(&format!("{} {mark}", ask.token()), &typed))
}

/// Does the work of a form once. `work` answers as the page does.
pub async fn counted<W, F>(ask: Arc<Ask>, key: [u8; 32], work: W) -> Result<Response, OpError>
where
    W: FnOnce(Arc<Ask>) -> F + Send + 'static,
    F: Future<Output = Result<Response, OpError>> + Send + 'static,
{
    let claim = match claim_form(ask.app(), &key).await? {
        Sent::First(claim) => claim,
        Sent::Again(answer) => return Ok(again(&ask, &answer)),
        Sent::Before => return Ok(plain::sent_before(&ask)),
        Sent::Unknown => return Ok(plain::not_known_yet(&ask)),
    };
    let done = tokio::spawn(async move {
        let response = work(ask.clone()).await;
        // After an error nobody knows whether it was done, so the claim stays as it is.
        let kept = response.as_ref().ok().map(|response| led(&ask, response));
        if let Some(kept) = kept
            && let Err(error) = claim.end(ask.app(), kept.as_deref()).await
        {
            tracing::warn!(%error, "what a form came to could not be kept: sent again, it is said to be not known yet");
        }
        response
    });
    done.await.unwrap_or_else(|error| Err(OpError::Fault(format!("a form was cut short: {error}"))))
}

/// What is kept of an answer; `None`: the form came to nothing, or its answer holds more than a place to go.
fn led(ask: &Ask, response: &Response) -> Option<Vec<u8>> {
    if response.status() != StatusCode::SEE_OTHER {
        return None;
    }
    let to = response.headers().get(LOCATION)?.to_str().ok()?.to_owned();
    let cookies: Vec<&HeaderValue> = response.headers().get_all(SET_COOKIE).iter().collect();
    let shown_once = match cookies.as_slice() {
        [] => None,
        [one] => Some(Cookie::Flash.value_of(one, &ask.app().public_url())?),
        _ => return None,
    };
    serde_json::to_vec(&Led { to, shown_once }).ok()
}

fn again(ask: &Ask, kept: &[u8]) -> Response {
    let base = ask.app().public_url();
    let Ok(led) = serde_json::from_slice::<Led>(kept) else { return plain::sent_before(ask) };
    let mut response: Response<Body> = answer::see(&base, &led.to);
    if let Some(value) = &led.shown_once {
        Cookie::Flash.set(&mut response, &base, value, Some(super::flash::SECONDS));
    }
    response
}
