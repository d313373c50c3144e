//! A list as CSV: written piece by piece while it is read, so that no list is too long.

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream;
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use super::answer::protect;
use super::ask::Ask;
use crate::http::Http;
use crate::ops::csv::{CsvReader, CsvSource};
use crate::ops::payments::browse::BrowseRefused;

/// Whether the address asks for CSV.
pub(super) fn is_csv(ask: &Ask) -> bool {
    ask.query("format").as_deref() == Some("csv")
}

/// The list as a file that is called `name`, ending aside. Who may have it is asked before.
pub(super) fn csv_file(ask: &Ask, name: &str, source: CsvSource) -> Result<Response, BrowseRefused> {
    let http = ask.http.clone();
    let reader = CsvReader::open(http.app.clone(), source)?;
    let pieces = stream::unfold(Some(reader), move |reader| {
        let http = http.clone();
        async move {
            let mut reader = reader?;
            match piece(&http, &mut reader).await {
                Ok(Some(piece)) => Some((Ok(Bytes::from(piece)), Some(reader))),
                Ok(None) => None,
                // The file breaks off, so that nobody takes a part for the whole.
                Err(error) => {
                    tracing::warn!(error, "a CSV file broke off");
                    Some((Err(std::io::Error::other("broken off")), None))
                }
            }
        }
    });
    let mut response = Response::new(Body::from_stream(pieces));
    protect(&ask.app().public_url(), &mut response);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{name}.csv\"")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// The next piece, or why there is none. Each takes a turn, so that a long file keeps nobody from the pages.
async fn piece(http: &Http, reader: &mut CsvReader) -> Result<Option<String>, String> {
    let _turn = http.turns.take().await.map_err(|error| error.to_string())?;
    reader.next().await.map_err(|error| error.to_string())
}
