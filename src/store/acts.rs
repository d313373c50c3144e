//! What people did at the command line or in the dashboard: who, what, why; append only.
//!
//! An act is a Step of the very Unit that does it, so that none goes unnoted. Only ops call this.

use super::Step;
use super::sql::statements;
use crate::domain::time::Timestamp;

statements! {
    RECORD: insert(operator_acts) { id: Int, operator: Text, act: Text, subject: Text, reason: Text, acted_at: Int }
}

/// Notes an act. `subject` names the row in words, such as `website 4`; `id` is of `IdKind::Act`.
pub fn record(id: i64, operator: &str, act: &str, subject: &str, reason: &str, now: Timestamp) -> Step {
    Step::one(
        &RECORD,
        vec![id.into(), operator.into(), act.into(), subject.into(), reason.into(), now.into()],
    )
}
