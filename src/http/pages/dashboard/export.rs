//! A list of a business as CSV, for whoever may take it away.

use axum::response::Response;

use super::form::refuse;
use crate::domain::user::MemberRight;
use crate::http::pages::ask::Ask;
use crate::http::pages::export::csv_file;
use crate::http::pages::here::Here;
use crate::ops::csv::CsvSource;
use crate::ops::payments::browse::BrowseRefused;

/// The list as a file, with the number of the business in its name.
pub(super) fn csv(
    ask: &Ask,
    here: &Here,
    name: &str,
    right: MemberRight,
    source: CsvSource,
) -> Result<Response, BrowseRefused> {
    match refuse(ask, here, right) {
        Some(refusal) => Ok(refusal),
        None => csv_file(ask, &format!("{name}-{}", here.id()), source),
    }
}
