//! The body of a form: read with limits, and its fields.
//!
//! Bodies hold passwords, PINs and codes, so what is read is wiped when it is dropped, and nothing here has `Debug`.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use url::form_urlencoded;
use zeroize::{Zeroize, Zeroizing};

/// Bytes of a form of somebody who signs in: the longest names a hundred alerts and a reason.
pub const FIELDS_BYTES: usize = 64 * 1024;
/// More fields than any form of ours has.
const FIELDS_MAX: usize = 256;
/// Of a larger body so much is read and dropped, so that the client sees the answer.
const DROPPED_MAX: usize = 1024 * 1024;
const FORM_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a body is not one of our forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormProblem {
    TooLarge,
    Slow,
    /// The Content-Type is another one.
    NotAForm,
    /// Cut short, a field twice, no act, or more than one.
    Broken,
}

/// Reads the whole body, whatever it is.
pub async fn read(body: Body, most: usize) -> Result<Zeroizing<Vec<u8>>, FormProblem> {
    tokio::time::timeout(FORM_TIMEOUT, collect(body, most)).await.unwrap_or(Err(FormProblem::Slow))
}

async fn collect(mut body: Body, most: usize) -> Result<Zeroizing<Vec<u8>>, FormProblem> {
    // Never grows: a vector that moves would leave a copy behind.
    let mut kept = Zeroizing::new(Vec::with_capacity(most));
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| FormProblem::Broken)?.into_data() else { continue };
        length += data.len();
        if length <= most {
            kept.extend_from_slice(&data);
        }
        wipe(data);
        if length > DROPPED_MAX {
            break;
        }
    }
    if length > most { Err(FormProblem::TooLarge) } else { Ok(kept) }
}

/// As far as the connection has let go of it.
fn wipe(data: Bytes) {
    if let Ok(mut data) = data.try_into_mut() {
        data.as_mut().zeroize();
    }
}

/// Whether the Content-Type is the one of forms, parameters aside.
pub fn is_form(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded"))
}

/// The fields of a form, in their order.
pub struct Fields(Vec<(String, Zeroizing<String>)>);

impl Fields {
    /// Of a body that was read.
    pub fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Fields, FormProblem> {
        if !is_form(headers) {
            return Err(FormProblem::NotAForm);
        }
        let mut fields = Vec::new();
        for (name, value) in form_urlencoded::parse(body) {
            if fields.len() >= FIELDS_MAX {
                return Err(FormProblem::Broken);
            }
            fields.push((name.into_owned(), Zeroizing::new(value.into_owned())));
        }
        Ok(Fields(fields))
    }

    /// The value of a field; empty if it is not there, or there twice.
    pub fn get(&self, name: &str) -> &str {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (Some(value), None) => value,
            _ => "",
        }
    }

    /// The values of a field that may be there more than once.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM_MAX: usize = 4 * 1024;

    #[tokio::test]
    async fn bodies_are_bounded() {
        let whole = read(Body::from("x".repeat(FORM_MAX)), FORM_MAX).await;
        assert!(whole.is_ok_and(|body| body.len() == FORM_MAX));
        assert_eq!(
            read(Body::from("x".repeat(FORM_MAX + 1)), FORM_MAX).await.map(|_| ()),
            Err(FormProblem::TooLarge)
        );
    }

    #[test]
    fn a_field_that_is_there_twice_has_no_one_value() {
        let form = "application/x-www-form-urlencoded".parse().unwrap();
        let headers: HeaderMap = [(CONTENT_TYPE, form)].into_iter().collect();
        let fields = Fields::parse(&headers, b"a=1&b=%32+3&a=4&c=").unwrap_or_else(|_| panic!());
        assert_eq!((fields.get("a"), fields.get("b"), fields.get("c"), fields.get("d")), ("", "2 3", "", ""));
        assert_eq!(fields.all("a").collect::<Vec<_>>(), ["1", "4"]);
        assert!(Fields::parse(&HeaderMap::new(), b"a=1").is_err());
        assert!(Fields::parse(&headers, "a=1&".repeat(FIELDS_MAX + 1).as_bytes()).is_err());
    }
}
