//! What `/c/{token}` hears and reads: `events`, the stream that tells of each change, and `state`, the same once as JSON.
//!
//! Merchants' programs ask for them too, so `api::checkout` says what they answer. Every link that leads nowhere has the same answer.

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CONTENT_TYPE;

use crate::http::Http;
use crate::http::api::checkout::{self, told};
use crate::http::live::stream;
use crate::http::pages::answer::guard;
use crate::http::response::error::ApiError;
use crate::log_limit::warn_of;
use crate::ops::live::Topic;
use crate::ops::payments::checkout::{state_by_token, state_of, watched_payment};

pub(super) async fn state(http: &Http, token: &str) -> Response {
    let state = match state_by_token(&http.app, token).await {
        Ok(Some(state)) => state,
        Ok(None) => return refused(checkout::not_found()),
        Err(error) => return refused(error.into()),
    };
    let mut response = Response::new(checkout::state_body(&state).into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    private(response)
}

pub(super) async fn events(http: &Http, token: &str) -> Response {
    let payment_id = match watched_payment(&http.app, token).await {
        Ok(Some(id)) => id,
        Ok(None) => return refused(checkout::not_found()),
        Err(error) => return refused(error.into()),
    };
    let watch = match http.live.watch(("checkout", payment_id), &[Topic::Payment(payment_id)]) {
        Ok(watch) => watch,
        Err(full) => return refused(checkout::no_place(full)),
    };
    let app = http.app.clone();
    let read = move || {
        let app = app.clone();
        async move {
            match state_of(&app, payment_id).await {
                Ok(state) => state.map(told),
                Err(error) => {
                    warn_of!(app, &error, "a stream ends, because its payment could not be read");
                    None
                }
            }
        }
    };
    stream::answer(http.app.clone(), watch, read)
}

pub(super) fn crowded(seconds: i64) -> Response {
    refused(checkout::crowded(seconds))
}

fn refused(error: ApiError) -> Response {
    private(error.into_response())
}

/// The address is a secret: nobody keeps the answer, and nobody is told where a reader came from.
fn private(mut response: Response) -> Response {
    guard(&mut response, HeaderValue::from_static("default-src 'none'"), "no-referrer");
    response
}
