//! `GET /payments`: the business's payments, newest first, by page or by cursor (contract/payments.md#p44).
//!
//! A cursor is opaque to callers: the position of the last row, with a check that ties it to the
//! business. It makes a typing error a 422 instead of a strange page; it guards no secret.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::payment::{self, FullBody};
use super::{Admitted, Answer, Received, admit_without_body};
use crate::domain::merchant::Mode;
use crate::domain::payment::Status;
use crate::domain::time::{Span, Timestamp};
use crate::http::Http;
use crate::http::describe::fields::Field;
use crate::http::describe::operation::{Operation, Tag, Writer};
use crate::http::paths::PAYMENTS;
use crate::http::response::code::FieldCode;
use crate::http::response::error::ApiError;
use crate::http::response::problems::Problems;
use crate::ops::payments::read::{Cursor, ListFilter, Listed, list_payments};
use crate::wire;

const PER_PAGE_DEFAULT: i64 = 15;
const PER_PAGE_MAX: i64 = 100;
/// Two numbers of 8 bytes and 6 bytes of check.
const CURSOR_BYTES: usize = 22;

pub fn describe(writer: &mut Writer) -> Operation {
    let data = vec![payment::sample_full()];
    let meta = Meta {
        current_page: 1,
        per_page: PER_PAGE_DEFAULT,
        last_page: 1,
        total: 1,
        total_is_capped: None,
        next_cursor: None,
    };
    Operation::get(PAYMENTS, "listPayments", Tag::Payments, "List payments")
        .about(ABOUT)
        .query(Field::one_of("status", Status::ALL.map(Status::as_str), "Only these."))
        .query(Field::date("from_date", "Created on this UTC day or later."))
        .query(Field::date("to_date", "Created on this UTC day or earlier."))
        .query(Field::id("website_id", "Of this website."))
        .query(Field::one_of(
            "reversed",
            ["true", "false"],
            "Only those that were reversed, or only the others.",
        ))
        .query(Field::number("per_page", 1, PER_PAGE_MAX, PER_PAGE_DEFAULT, "Rows of a page."))
        .query(Field::number("page", 1, i64::MAX, 1, "Which page; for more than a few use `cursor`."))
        .query(Field::cursor())
        .answers(
            StatusCode::OK,
            "Some of them, newest first",
            writer.schema::<Page<'static>>(),
            wire::encode(&Page { success: true, data, meta }),
        )
}

const ABOUT: &str = "Newest first. To read many pages follow `meta.next_cursor`, which is null on the last one: then new \
                     payments do not shift the pages. Empty and unknown parameters are ignored.";

pub async fn handle(State(http): State<Arc<Http>>, request: Request) -> Response {
    let received = Received::without_body(request);
    let admitted = match admit_without_body(&http, &received, PAYMENTS).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let result = list(&http, &admitted, received.parts.uri.query().unwrap_or_default()).await;
    admitted.respond(&http, result)
}

async fn list(http: &Http, admitted: &Admitted, query: &str) -> Result<Answer, ApiError> {
    let business_id = admitted.caller.business.id;
    let filter = read(query, business_id, admitted.caller.mode).map_err(ApiError::invalid)?;
    let listed = list_payments(&http.app, business_id, &filter).await?;
    Ok(Answer::ok(render(&listed, &filter, business_id)))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PaymentList")]
struct Page<'a> {
    #[schemars(extend("const" = true))]
    success: bool,
    data: Vec<FullBody<'a>>,
    meta: Meta,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PaymentListMeta")]
struct Meta {
    /// Without meaning where a cursor was sent.
    current_page: i64,
    per_page: i64,
    last_page: i64,
    /// Exact up to 100,000.
    total: i64,
    /// True where there are more than `total`.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_is_capped: Option<bool>,
    /// Of the next page; null on the last one.
    next_cursor: Option<String>,
}

fn render(listed: &Listed, filter: &ListFilter, business_id: i64) -> Vec<u8> {
    wire::encode(&Page {
        success: true,
        data: listed.rows.iter().map(payment::read).collect(),
        meta: Meta {
            current_page: filter.page,
            per_page: filter.per_page,
            last_page: ((listed.total + filter.per_page - 1) / filter.per_page).max(1),
            total: listed.total,
            total_is_capped: listed.total_is_capped.then_some(true),
            next_cursor: listed.next.map(|next| write_cursor(next, business_id)),
        },
    })
}

/// Reads the query; of a parameter given twice the last one counts, empty ones do not.
fn read(query: &str, business_id: i64, mode: Mode) -> Result<ListFilter, Problems> {
    let mut problems = Problems::default();
    let mut filter = ListFilter {
        status: None,
        from: None,
        until: None,
        website_id: None,
        reversed: None,
        mode,
        per_page: PER_PAGE_DEFAULT,
        page: 1,
        cursor: None,
    };
    let mut given: [Option<String>; NAMES.len()] = Default::default();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if let Some(at) = NAMES.iter().position(|known| *known == name) {
            let value = value.trim();
            given[at] = (!value.is_empty()).then(|| value.to_owned());
        }
    }
    for (name, value) in NAMES.into_iter().zip(&given) {
        let Some(value) = value else { continue };
        if let Err((code, what)) = set(&mut filter, name, value, business_id) {
            problems.complain_of_parameter(name, code, what);
        }
    }
    // As they are written, year first: the last days of all are one and the same time.
    if filter.from.is_some() && filter.until.is_some() && given[FROM_DATE] > given[TO_DATE] {
        problems.complain_of_parameter(
            "from_date",
            FieldCode::DatesReversed,
            "must not be later than to_date",
        );
    }
    if problems.is_empty() { Ok(filter) } else { Err(problems) }
}

/// The parameters, in the order in which mistakes are told.
const NAMES: [&str; 8] =
    ["status", "from_date", "to_date", "website_id", "reversed", "per_page", "page", "cursor"];
const FROM_DATE: usize = 1;
const TO_DATE: usize = 2;

/// What is wrong with a parameter; the words complete "from_date ...".
type Mistake = (FieldCode, &'static str);

fn set(filter: &mut ListFilter, name: &str, value: &str, business_id: i64) -> Result<(), Mistake> {
    const DATE: Mistake =
        (FieldCode::InvalidDate, "must be a date in the form YYYY-MM-DD, such as 2026-01-31");
    const STATUS: Mistake = (FieldCode::UnknownValue, "must be pending, approved or rejected");
    const REVERSED: Mistake = (FieldCode::UnknownValue, "must be true or false");
    const WHOLE: Mistake = (FieldCode::NotAWholeNumber, "must be a whole number");
    const PER_PAGE: Mistake = (FieldCode::OutOfRange, "must be a whole number from 1 to 100");
    const PAGE: Mistake = (FieldCode::OutOfRange, "must be a whole number of at least 1");
    const PAGE_TOO_LARGE: Mistake = (FieldCode::OutOfRange, "is out of range");
    const CURSOR: Mistake =
        (FieldCode::UnknownCursor, "is not valid: use meta.next_cursor of the previous page");
    match name {
        "status" => {
            filter.status = Some(Status::parse(value).ok_or(STATUS)?);
        }
        "from_date" => filter.from = Some(date(value).ok_or(DATE)?),
        // The whole day counts: up to the beginning of the next.
        "to_date" => filter.until = Some((date(value).ok_or(DATE)? + Span::days(1)).min(Timestamp::MAX)),
        "website_id" => {
            let digits = value.strip_prefix('-').unwrap_or(value);
            let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            // A number below 1 or beyond the range is the id of no website, as any unknown one.
            filter.website_id = Some(whole.then(|| value.parse().unwrap_or(i64::MAX)).ok_or(WHOLE)?);
        }
        "reversed" => {
            filter.reversed = Some(match value {
                "true" => true,
                "false" => false,
                _ => return Err(REVERSED),
            });
        }
        "per_page" => {
            let n = whole(value).filter(|n| *n <= PER_PAGE_MAX);
            filter.per_page = n.ok_or(PER_PAGE)?;
        }
        "page" => {
            let has_digits_only = value.bytes().all(|byte| byte.is_ascii_digit());
            let is_huge = has_digits_only && value.parse::<i64>().is_err();
            filter.page = whole(value).ok_or(if is_huge { PAGE_TOO_LARGE } else { PAGE })?;
        }
        _ => {
            let cursor = read_cursor(value, business_id);
            filter.cursor = Some(cursor.ok_or(CURSOR)?);
        }
    }
    Ok(())
}

fn whole(text: &str) -> Option<i64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|n: &i64| digits && *n >= 1)
}

/// `2026-01-31`, and no other notation; the beginning of that UTC day.
fn date(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || !text.is_ascii() || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let number = |part: &str| -> Option<i16> {
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let month = i8::try_from(number(&text[5..7])?).ok()?;
    let day = i8::try_from(number(&text[8..10])?).ok()?;
    let year = number(&text[..4])?;
    jiff::civil::Date::new(year, month, day).ok()?;
    // The last days that can be written are later than any time that can be stored.
    Some(Timestamp::from_utc_date(year, month, day).unwrap_or(Timestamp::MAX))
}

fn cursor_check(position: &[u8], business_id: i64) -> [u8; 6] {
    let mut hash = Sha256::new();
    hash.update(b"payments cursor 1");
    hash.update(business_id.to_be_bytes());
    hash.update(position);
    let digest = hash.finalize();
    std::array::from_fn(|at| digest[at])
}

fn write_cursor(cursor: Cursor, business_id: i64) -> String {
    let mut bytes = Vec::with_capacity(CURSOR_BYTES);
    bytes.extend_from_slice(&cursor.created_at.0.to_be_bytes());
    bytes.extend_from_slice(&cursor.id.to_be_bytes());
    let check = cursor_check(&bytes, business_id);
    bytes.extend_from_slice(&check);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn read_cursor(text: &str, business_id: i64) -> Option<Cursor> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| bytes.len() == CURSOR_BYTES)?;
    let (position, check) = bytes.split_at(16);
    let (at, id) = position.split_at(8);
    (check == cursor_check(position, business_id)).then_some(())?;
    Some(Cursor {
        created_at: Timestamp(i64::from_be_bytes(at.try_into().ok()?)),
        id: i64::from_be_bytes(id.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(query: &str) -> String {
        read(query, 1, Mode::Live).unwrap_err().summary()
    }

    #[test]
    fn a_good_query_is_read_whole() {
        let filter = read(
            "status=approved&from_date=2026-03-01&to_date=2026-03-01&website_id=7&per_page=100&page=3&other=x",
            1,
            Mode::Test,
        )
        .unwrap();
        assert_eq!(filter.status, Some(Status::Approved));
        assert_eq!(filter.from, Timestamp::from_utc_date(2026, 3, 1));
        assert_eq!(filter.until, Timestamp::from_utc_date(2026, 3, 2));
        assert_eq!((filter.website_id, filter.per_page, filter.page), (Some(7), 100, 3));
        assert_eq!(filter.mode, Mode::Test);
        let filter = read("status=&page=+&per_page=5&per_page=6", 1, Mode::Live).unwrap();
        assert_eq!((filter.status, filter.page, filter.per_page), (None, 1, 6));
        assert!(read("website_id=99999999999999999999", 1, Mode::Live).is_ok());
        assert_eq!(read("website_id=-1", 1, Mode::Live).unwrap().website_id, Some(-1), "nobody's");
        assert_eq!(read("to_date=9999-12-31", 1, Mode::Live).unwrap().until, Some(Timestamp::MAX));
        for day in ["9999-12-31", "9999-01-01", "0001-01-01", "2026-05-04"] {
            assert!(read(&format!("from_date={day}&to_date={day}"), 1, Mode::Live).is_ok(), "{day}");
        }
        assert!(read("from_date=9999-12-30&to_date=9999-12-31", 1, Mode::Live).is_ok());
    }

    #[test]
    fn a_total_that_was_not_counted_to_its_end_is_marked() {
        let filter = read("page=2&per_page=100", 1, Mode::Live).unwrap();
        let next = Some(Cursor { created_at: Timestamp(1_790_000_000_123_456), id: 42 });
        let listed = Listed { rows: Vec::new(), total: 100_000, total_is_capped: true, next };
        assert_eq!(
            String::from_utf8(render(&listed, &filter, 7)).unwrap(),
            concat!(
                r#"{"success":true,"data":[],"meta":{"current_page":2,"per_page":100,"last_page":1000,"#,
                r#""total":100000,"total_is_capped":true,"next_cursor":"AAZb_tonwkAAAAAAAAAAKiHOl_yI9g"}}"#
            )
        );
    }

    #[test]
    fn every_mistake_is_told() {
        for query in [
            "status=paid",
            "status=Pending",
            "reversed=1",
            "reversed=True",
            "from_date=2026-02-30",
            "from_date=01-02-2026",
            "from_date=2026-1-1",
            "to_date=2026-01-01T00:00:00Z",
            "to_date=+026-01-01",
            "from_date=2026-01-02&to_date=2026-01-01",
            "from_date=9999-12-31&to_date=9999-12-30",
            "website_id=abc",
            "website_id=-",
            "per_page=0",
            "per_page=101",
            "per_page=x",
            "page=0",
            "page=-1",
            "page=1.5",
            "page=99999999999999999999",
            "cursor=abc",
        ] {
            assert!(!wrong(query).is_empty(), "{query}");
        }
        assert_eq!(wrong("page=999999999999999999999"), "page is out of range.");
        assert_eq!(wrong("page=0"), "page must be a whole number of at least 1.");
        assert!(wrong("status=x&page=0&cursor=%00").ends_with("(and 2 more errors)"));
    }

    #[test]
    fn a_cursor_comes_back_whole_and_only_to_its_business() {
        let cursor = Cursor { created_at: Timestamp(1_790_000_000_123_456), id: 42 };
        let text = write_cursor(cursor, 7);
        assert_eq!(read_cursor(&text, 7), Some(cursor));
        assert_eq!(read_cursor(&text, 8), None);
        for at in 0..text.len() {
            let mut broken = text.clone().into_bytes();
            broken[at] = if broken[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(read_cursor(std::str::from_utf8(&broken).unwrap(), 7), None, "{at}");
        }
    }
}
