//! What one clause of the audit found.

use crate::store::audit::FOUND_MAX;

/// A row that breaks a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub table: String,
    /// `None` where the whole table is meant.
    pub id: Option<i64>,
    /// Of a payment: its business and transaction id, by which people know it.
    pub payment: Option<(i64, String)>,
}

impl Found {
    pub(in crate::ops) fn row(table: &str, id: i64) -> Found {
        Found { table: table.to_owned(), id: Some(id), payment: None }
    }
}

/// One clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    /// Rows looked at.
    pub rows: i64,
    /// Rows that break the rule.
    pub violations: i64,
    /// The first of them, at most [`FOUND_MAX`].
    pub found: Vec<Found>,
}

impl Check {
    pub(in crate::ops) fn new(name: &'static str) -> Check {
        Check { name, rows: 0, violations: 0, found: Vec::new() }
    }

    /// One more row was looked at, and whether it keeps the rule.
    pub(in crate::ops) fn look(&mut self, table: &str, id: i64, keeps: bool) {
        self.rows += 1;
        if !keeps {
            self.violations += 1;
            if self.found.len() < FOUND_MAX {
                self.found.push(Found::row(table, id));
            }
        }
    }
}
