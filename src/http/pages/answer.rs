//! An answer in HTML to somebody who signs in, with the headers that every such page carries.
//!
//! Such a page is kept nowhere, stands in no frame, and loads and sends nothing but from and to us. It has no script and
//! no style inside it, so the policy allows none.

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, StatusCode};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// A year. Names below ours are not ours to speak for.
const HTTPS_ONLY: &str = "max-age=31536000";

/// A page. `public_url` is the base of our links: where it is HTTPS, browsers shall never ask without.
pub fn html(public_url: &str, status: StatusCode, page: &impl Template) -> Response {
    let mut response = written(status, page);
    protect(public_url, &mut response);
    response
}

/// A page without its headers.
pub fn written(status: StatusCode, page: &impl Template) -> Response {
    let (status, text) = match page.render() {
        Ok(text) => (status, text),
        Err(error) => {
            tracing::error!(%error, "a page could not be written");
            (StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong on our side".to_owned())
        }
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// The answer to a form that was right: to a page that shows what was done. `to` is a path of ours.
pub fn see(public_url: &str, to: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    protect(public_url, &mut response);
    // What is no path of ours leads to the beginning.
    let is_ours = to.starts_with('/') && !to.starts_with("//") && !to.starts_with("/\\");
    let place = HeaderValue::from_str(to).ok().filter(|_| is_ours);
    response.headers_mut().insert(LOCATION, place.unwrap_or(HeaderValue::from_static("/")));
    response
}

/// The headers, for answers of another type too, such as CSV.
pub fn protect(public_url: &str, response: &mut Response) {
    guard(response, HeaderValue::from_static(POLICY), "same-origin");
    if public_url.starts_with("https://") {
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HTTPS_ONLY));
    }
}

/// What the headers of all our pages say, with the policy of this one and to whom it says where a reader came from.
pub fn guard(response: &mut Response, policy: HeaderValue, referrer: &'static str) {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        // Pages tell of money, and a copy of one would be out of date.
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, referrer),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // The policy says it too; this is for browsers that do not read it.
        (X_FRAME_OPTIONS, "DENY"),
        (ROBOTS, "noindex, nofollow"),
        (OPENER, "same-origin"),
        (RESOURCE, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Template)]
    #[template(source = "<p>{{ name }}", ext = "html")]
    struct Hello {
        name: &'static str,
    }

    fn header(response: &Response, name: HeaderName) -> Option<&str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn a_page_is_kept_nowhere_and_loads_from_us_alone() {
        let page = html("https://pay.example.com", StatusCode::UNPROCESSABLE_ENTITY, &Hello { name: "<b>" });
        assert_eq!(page.status(), 422);
        assert_eq!(header(&page, CACHE_CONTROL), Some("no-store"));
        let policy = header(&page, CONTENT_SECURITY_POLICY).unwrap();
        assert!(policy.starts_with("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!(header(&page, REFERRER_POLICY), Some("same-origin"));
        assert_eq!(header(&page, X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
        assert_eq!(header(&page, STRICT_TRANSPORT_SECURITY), Some(HTTPS_ONLY));
        let plain = html("http://127.0.0.1:8080", StatusCode::OK, &Hello { name: "" });
        assert_eq!(header(&plain, STRICT_TRANSPORT_SECURITY), None);
    }

    #[test]
    fn an_answer_leads_to_paths_of_ours_alone() {
        let leads = |to: &str| header(&see("http://127.0.0.1", to), LOCATION).unwrap().to_owned();
        assert_eq!(leads("/dashboard?status=approved"), "/dashboard?status=approved");
        for other in ["https://evil.example", "//evil.example", "/\\evil.example", "", "me", "/a\r\nb: c"] {
            assert_eq!(leads(other), "/", "{other}");
        }
    }
}
