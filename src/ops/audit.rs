//! Recomputes everything that money rests on and names every difference.
//!
//! The clauses are those of the promises: entries balance, balances equal their postings, each
//! approved payment has exactly one credit and one event that tells of it to the kobo, an alert funds
//! one payment and no key of a transfer two, the chain of seals is whole, and the append-only tables
//! are guarded. All counts come from one snapshot, so that the service may go on meanwhile. Reads only.

use super::OpError;
use super::audit_told::bodies_agree;
use super::seal::seal_hash;
use crate::app::App;
use crate::store::audit::{CHECKS, counted_once};

/// Seals verified per read.
const SEALS_PER_READ: usize = 200;

/// One clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    /// Rows looked at.
    pub rows: i64,
    /// Rows that break the rule.
    pub violations: i64,
}

pub async fn audit(app: &App) -> Result<Vec<Check>, OpError> {
    let clauses = || CHECKS.iter().chain(&counted_once::CHECKS);
    let statements = clauses().map(|(_, sql)| *sql).collect();
    let answers = app.store.count_in_snapshot(statements).await?;
    let mut checks = Vec::with_capacity(answers.len() + 3);
    for ((name, _), (rows, violations)) in clauses().zip(answers) {
        checks.push(Check { name, rows, violations });
    }
    checks.push(bodies_agree(app).await?);
    checks.push(chain(app).await?);
    let (tables, unguarded) = app.store.append_only_guards().await?;
    checks.push(Check { name: "append_only_is_guarded", rows: tables, violations: unguarded });
    Ok(checks)
}

/// Walks the chain of seals from the first; sealed entries never change, so no snapshot is needed.
async fn chain(app: &App) -> Result<Check, OpError> {
    let mut check = Check { name: "chain_is_unbroken", rows: 0, violations: 0 };
    let mut previous = Vec::new();
    let mut last = 0;
    loop {
        let seals = app.store.seals_after(last, SEALS_PER_READ).await?;
        let full = seals.len() == SEALS_PER_READ;
        for seal in seals {
            let entries = app.store.sealed_entries(seal.id).await?;
            check.rows += 1;
            if seal_hash(&previous, &entries).as_slice() != seal.hash {
                check.violations += 1;
            }
            previous = seal.hash;
            last = seal.id;
        }
        if !full {
            return Ok(check);
        }
    }
}
