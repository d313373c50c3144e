//! `/dashboard/till/events`: says to a till that is open that something has happened, and every few seconds that it still
//! would. It tells nothing of it: the till asks for its living part.
//!
//! A till that is open counts as used, so that a counter is not signed out between two customers; after twelve hours it is,
//! as everybody. An end of the sign-in and of the role ends the stream.

use std::sync::Arc;

use axum::response::Response;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};

use crate::domain::user::MemberRight;
use crate::http::Http;
use crate::http::live::{PLACES_RETRY, beat};
use crate::http::pages::answer::protect;
use crate::http::pages::ask::Ask;
use crate::http::pages::plain::unknown;
use crate::log_limit::warn_of;
use crate::ops::OpError;
use crate::ops::live::Topic;
use crate::ops::people::sessions::{businesses_of, session_of};

pub async fn answer(ask: &Ask) -> Result<Response, OpError> {
    let (Some(here), Some(session)) = (&ask.here, &ask.session) else { return Ok(unknown(ask)) };
    if ask.is_form() {
        return Ok(unknown(ask));
    }
    let business_id = here.id();
    let base = ask.app().public_url();
    let Ok(watch) = ask.http.live.watch(("till", session.id), &[Topic::Till(business_id)]) else {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        protect(&base, &mut response);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(PLACES_RETRY));
        return Ok(response);
    };
    let (http, token) = (ask.http.clone(), ask.token.clone());
    let mut response = beat::answer(watch, move || {
        let (http, token) = (http.clone(), token.clone());
        async move {
            match may_use(&http, &token, business_id).await {
                Ok(may) => Some(may),
                Err(error) => {
                    warn_of!(
                        &http.app,
                        &error,
                        "a till's stream ends, because its sign-in could not be read"
                    );
                    None
                }
            }
        }
    });
    protect(&base, &mut response);
    Ok(response)
}

/// Whether this sign-in may still use the till of the business.
async fn may_use(http: &Arc<Http>, token: &str, business_id: i64) -> Result<bool, OpError> {
    let Some(session) = session_of(&http.app, token).await? else { return Ok(false) };
    let all = businesses_of(&http.app, &session).await?;
    Ok(all.iter().any(|one| one.business_id == business_id && one.may(MemberRight::UseTill)))
}
