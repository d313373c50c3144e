//! What an error of the server means, and how it is told.

use tokio_postgres::error::SqlState;

use crate::store::StoreError;

/// A parameter whose type is not the column's: a fault of the program, found by the tests.
#[derive(Debug, thiserror::Error)]
#[error("a parameter of kind {given} for a place of type {place}")]
pub(in crate::store) struct WrongType {
    pub given: &'static str,
    pub place: String,
}

/// What an error of the server means for a Unit or a read.
pub(super) enum Meaning {
    /// A constraint or a trigger forbids it.
    Refused,
    /// Deadlock, serialization failure, lock timeout: nobody's fault, run again.
    Again,
    /// The program sent what the server cannot accept.
    Fault,
    /// The connection or the server is in trouble; a fresh connection may help.
    Broken,
}

/// The server's own words, which tokio-postgres keeps in the source of its error.
pub(in crate::store) fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => match std::error::Error::source(error) {
            Some(source) => with_hint(format!("{error}: {source}")),
            None => error.to_string(),
        },
    }
}

/// A private authority has no setting of its own here.
fn with_hint(text: String) -> String {
    if text.contains("UnknownIssuer") {
        return format!(
            "{text}; a private authority must be in this machine's certificate store or in SSL_CERT_FILE"
        );
    }
    text
}

pub(in crate::store) fn away(why: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("PostgreSQL: {why}"))
}

pub(super) fn fault(statement: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Fault(format!("{statement}: {why}"))
}

/// By class of SQLSTATE: 23 is a constraint and P0 a trigger's `raise`; 22 (data), 42 (syntax,
/// access) and 54 (too large) are the program's own; all else is weather.
pub(super) fn meaning(error: &tokio_postgres::Error) -> Meaning {
    let Some(code) = error.code() else {
        let wrong = std::error::Error::source(error).is_some_and(|s| s.is::<WrongType>());
        return if wrong { Meaning::Fault } else { Meaning::Broken };
    };
    if *code == SqlState::T_R_DEADLOCK_DETECTED
        || *code == SqlState::T_R_SERIALIZATION_FAILURE
        || *code == SqlState::LOCK_NOT_AVAILABLE
    {
        return Meaning::Again;
    }
    // No part of a table for this id (`partitions`): the server names no constraint. It is made in time, or by the clock.
    if *code == SqlState::CHECK_VIOLATION && error.as_db_error().is_some_and(|db| db.constraint().is_none()) {
        return Meaning::Broken;
    }
    match code.code().get(..2) {
        Some("23" | "P0") => Meaning::Refused,
        Some("22" | "42" | "54") => Meaning::Fault,
        _ => Meaning::Broken,
    }
}
