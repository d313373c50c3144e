//! Whether a form was sent by our own page, as far as the browser's headers tell.
//!
//! `Sec-Fetch-Site` and `Origin` are written by the browser, and no page can change them. Under our own
//! `no-referrer` browsers send `Origin: null`, which says nothing: then `Sec-Fetch-Site` or the form's
//! token must speak. Pure; called by `pay` alone.

use http::HeaderMap;
use http::header::{HOST, HeaderName, ORIGIN};
use http::request::Parts;
use url::Url;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The headers say so.
    OurPage,
    /// Another site's page, also one under the same registered domain.
    Elsewhere,
    /// The headers do not say.
    Untold,
}

/// `public_url` is the base of our links.
pub fn sender(parts: &Parts, public_url: &str) -> Sender {
    let site = match one(&parts.headers, &FETCH_SITE) {
        One::Value("same-origin") => Sender::OurPage,
        One::Value("cross-site" | "same-site") | One::Unclear => Sender::Elsewhere,
        // `none`: typed in, a bookmark. A form never comes so, but neither is it somebody else's.
        One::Value(_) | One::None => Sender::Untold,
    };
    let origin = match one(&parts.headers, &ORIGIN) {
        One::None | One::Value("null") => Sender::Untold,
        One::Value(origin) if is_ours(origin, parts, public_url) => Sender::OurPage,
        One::Value(_) | One::Unclear => Sender::Elsewhere,
    };
    match (site, origin) {
        (Sender::Elsewhere, _) | (_, Sender::Elsewhere) => Sender::Elsewhere,
        (Sender::OurPage, _) | (_, Sender::OurPage) => Sender::OurPage,
        (Sender::Untold, Sender::Untold) => Sender::Untold,
    }
}

enum One<'a> {
    None,
    Value(&'a str),
    /// Twice, or not text.
    Unclear,
}

fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> One<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next().map(|value| value.to_str()), values.next()) {
        (None, _) => One::None,
        (Some(Ok(value)), None) => One::Value(value.trim()),
        _ => One::Unclear,
    }
}

/// The address of our links, or the one this request was sent to: a proxy may call us by another name.
fn is_ours(origin: &str, parts: &Parts, public_url: &str) -> bool {
    let Ok(origin) = Url::parse(origin) else { return false };
    if !matches!(origin.scheme(), "http" | "https") {
        return false;
    }
    let public = Url::parse(public_url).ok();
    if public.as_ref().is_some_and(|public| public.origin() == origin.origin()) {
        return true;
    }
    let in_uri = parts.uri.authority().map(|authority| authority.as_str());
    let asked = in_uri.or_else(|| parts.headers.get(HOST)?.to_str().ok());
    let Some(Ok(asked)) = asked.map(|host| Url::parse(&format!("{}://{host}", origin.scheme()))) else {
        return false;
    };
    // Our own name over another scheme is not us: that would be plain HTTP beside HTTPS.
    let is_public_name = public.as_ref().is_some_and(|public| public.host() == asked.host());
    asked.origin() == origin.origin() && !is_public_name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(headers: &[(&str, &str)]) -> Sender {
        let mut request = http::Request::builder().uri("/pay/x");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        sender(&request.body(()).unwrap().into_parts().0, "https://pay.tills.example/shop")
    }

    #[test]
    fn our_own_page_is_known_by_either_header() {
        for ours in [
            &[("origin", "https://pay.tills.example")][..],
            &[("origin", "HTTPS://PAY.tills.example:443")],
            &[("origin", "null"), ("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "same-origin")],
            &[("origin", "http://127.0.0.1:8080"), ("host", "127.0.0.1:8080")],
            &[("origin", "http://till.local"), ("host", "till.local:80")],
        ] {
            assert_eq!(ask(ours), Sender::OurPage, "{ours:?}");
        }
    }

    #[test]
    fn other_sites_are_refused_whatever_else_they_say() {
        for theirs in [
            &[("origin", "https://shop.example")][..],
            &[("origin", "http://pay.tills.example"), ("host", "pay.tills.example")],
            &[("origin", "https://pay.tills.example:8443"), ("host", "pay.tills.example")],
            &[("origin", "https://pay.tills.example.shop.example")],
            &[("origin", "https://pay.tills.example"), ("sec-fetch-site", "cross-site")],
            &[("origin", "null"), ("sec-fetch-site", "same-site")],
            &[("origin", "https://shop.example"), ("sec-fetch-site", "same-origin")],
            &[("origin", "https://pay.tills.example"), ("origin", "https://shop.example")],
            &[("origin", "https://shop.example"), ("host", "pay.tills.example")],
            &[("origin", "file://"), ("host", "")],
            &[("origin", "")],
        ] {
            assert_eq!(ask(theirs), Sender::Elsewhere, "{theirs:?}");
        }
    }

    #[test]
    fn silence_is_no_proof() {
        for untold in
            [&[][..], &[("origin", "null")], &[("sec-fetch-site", "none")], &[("host", "pay.tills.example")]]
        {
            assert_eq!(ask(untold), Sender::Untold, "{untold:?}");
        }
    }
}
