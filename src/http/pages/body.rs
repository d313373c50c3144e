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
/// The same of a form that brings a whole mail.
pub const MAIL_FORM_BYTES: usize = 768 * 1024;
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

/// What separates the parts of a body that was sent in parts, by its Content-Type (RFC 7578).
fn boundary(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let (essence, parameters) = value.split_once(';')?;
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let mut parameters = parameters.split(';').filter_map(|one| one.trim().split_once('='));
    let (_, boundary) = parameters.find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    let boundary = boundary.trim_matches('"');
    (1..=BOUNDARY_MAX).contains(&boundary.len()).then(|| boundary.to_owned())
}

/// Where these bytes begin in those.
fn place_of(wanted: &[u8], bytes: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The value of a parameter of a part's `Content-Disposition`, as browsers write it.
fn parameter<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let line =
        head.split("\r\n").find(|line| line.to_ascii_lowercase().starts_with("content-disposition:"))?;
    let begin = line.find(&format!("; {name}=\""))? + name.len() + 4;
    let rest = line.get(begin..)?;
    rest.split('"').next()
}

/// Characters of a boundary (RFC 2046, 5.1.1).
const BOUNDARY_MAX: usize = 70;

/// The fields of a form, in their order.
#[derive(Default)]
pub struct Fields {
    texts: Vec<(String, Zeroizing<String>)>,
    files: Vec<(String, Zeroizing<Vec<u8>>)>,
}

impl Fields {
    /// Of a body that was read.
    pub fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Fields, FormProblem> {
        if let Some(boundary) = boundary(headers) {
            return Fields::in_parts(&boundary, body);
        }
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
        Ok(Fields { texts: fields, files: Vec::new() })
    }

    /// Of a body in parts, each with a name; those with a file's name are files.
    fn in_parts(boundary: &str, body: &[u8]) -> Result<Fields, FormProblem> {
        let (mut fields, between) = (Fields::default(), format!("\r\n--{boundary}"));
        let first = format!("--{boundary}");
        let mut rest = body.strip_prefix(first.as_bytes()).ok_or(FormProblem::Broken)?;
        loop {
            if rest.starts_with(b"--") {
                return Ok(fields);
            }
            rest = rest.strip_prefix(b"\r\n").ok_or(FormProblem::Broken)?;
            let end = place_of(between.as_bytes(), rest).ok_or(FormProblem::Broken)?;
            let (part, after) = rest.split_at(end);
            rest = &after[between.len()..];
            let head_end = place_of(b"\r\n\r\n", part).ok_or(FormProblem::Broken)?;
            let (head, value) = (String::from_utf8_lossy(&part[..head_end]), &part[head_end + 4..]);
            let name = parameter(&head, "name").ok_or(FormProblem::Broken)?.to_owned();
            if fields.texts.len() + fields.files.len() >= FIELDS_MAX {
                return Err(FormProblem::Broken);
            }
            match parameter(&head, "filename") {
                Some(_) => fields.files.push((name, Zeroizing::new(value.to_vec()))),
                None => {
                    let text = String::from_utf8_lossy(value).into_owned();
                    fields.texts.push((name, Zeroizing::new(text)));
                }
            }
        }
    }

    /// The bytes of a file; `None` if there is none, or two.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        let mut found = self.files.iter().filter(|(field, _)| field == name);
        match (found.next(), found.next()) {
            (Some((_, bytes)), None) => Some(bytes),
            _ => None,
        }
    }

    /// The value of a field; empty if it is not there, or there twice.
    pub fn get(&self, name: &str) -> &str {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (Some(value), None) => value,
            _ => "",
        }
    }

    /// All fields but files, in their order.
    pub fn all_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The values of a field that may be there more than once.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.texts.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
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

    #[test]
    fn a_body_in_parts_holds_texts_and_files_as_they_are() {
        let header = "multipart/form-data; boundary=\"x-1\"".parse().unwrap();
        let headers: HeaderMap = [(CONTENT_TYPE, header)].into_iter().collect();
        let body = b"--x-1\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\nabc\r\n--x-1\r\n\
            Content-Disposition: form-data; name=\"mail_file\"; filename=\"a.eml\"\r\nContent-Type: message/rfc822\r\n\r\n\
            From: \xff\r\n\r\n--x\r\n--x-1--\r\n";
        let fields = Fields::parse(&headers, body).unwrap_or_else(|_| panic!());
        assert_eq!(fields.get("csrf"), "abc");
        assert_eq!(fields.file("mail_file"), Some(&b"From: \xff\r\n\r\n--x"[..]));
        assert_eq!((fields.file("csrf"), fields.get("mail_file")), (None, ""));
        for cut in 0..body.len() - 4 {
            assert!(Fields::parse(&headers, &body[..cut]).is_err(), "{cut}");
        }
    }
}
