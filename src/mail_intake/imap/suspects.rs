//! Mails of a mailbox that could not be taken, and when they are tried again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Trouble;

/// Suspects that are remembered. With more of them it is not the mails that fail: the reading ends
/// with an error and begins again, and the mark stays where it is.
const SUSPECTS_MAX: usize = 100_000;

/// Mails that failed, by generation and UID.
#[derive(Debug, Default)]
pub(super) struct Suspects(pub(super) BTreeMap<(i64, u32), Suspect>);

#[derive(Debug)]
pub(super) struct Suspect {
    pub(super) tries: u32,
    pub(super) due: Instant,
    pub(super) why: String,
    /// Its trying alone broke a connection.
    pub(super) is_breaking: bool,
    /// Not even its beginning could be had.
    pub(super) is_hopeless: bool,
}

impl Suspects {
    /// When the next one is to be tried.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.0.values().map(|suspect| suspect.due).min()
    }

    pub(super) fn add(&mut self, place: (i64, u32), why: &str) -> Result<(), Trouble> {
        if self.0.len() >= SUSPECTS_MAX && !self.0.contains_key(&place) {
            return Err(Trouble::Protocol(format!(
                "more than {SUSPECTS_MAX} mails failed; the last error: {why}"
            )));
        }
        let due = Instant::now();
        let suspect = Suspect { tries: 0, due, why: why.to_owned(), is_breaking: false, is_hopeless: false };
        self.0.entry(place).or_insert(suspect);
        Ok(())
    }

    pub(super) fn failed(&mut self, place: (i64, u32), why: &Trouble, pause: Duration) {
        let is_breaking = !matches!(why, Trouble::Refused(_));
        if let Some(suspect) = self.0.get_mut(&place) {
            suspect.why = why.to_string();
            suspect.is_breaking |= is_breaking;
            suspect.due = Instant::now() + pause.saturating_mul(2_u32.saturating_pow(suspect.tries.min(10)));
            suspect.tries += 1;
        }
    }
}
