//! Progress of a long reading, for people: a log line from time to time, and on a terminal one line that
//! changes. Short readings show nothing. Used by `catch_up`.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// With fewer mails no progress is shown.
const WORTH_SHOWING: usize = 500;
const LOG_EVERY: Duration = Duration::from_secs(5);
const TERMINAL_EVERY: Duration = Duration::from_millis(500);

/// A reading under way.
pub struct ReadingProgress {
    name: String,
    total: usize,
    done: usize,
    began: Instant,
    said: Instant,
    is_terminal: bool,
}

impl ReadingProgress {
    pub fn new(name: &str) -> ReadingProgress {
        let now = Instant::now();
        let is_terminal = std::io::stderr().is_terminal();
        ReadingProgress { name: name.to_owned(), total: 0, done: 0, began: now, said: now, is_terminal }
    }

    /// So many more mails are to be read.
    pub fn found(&mut self, mails: usize) {
        self.total += mails;
        if mails >= WORTH_SHOWING {
            tracing::info!(mailbox = self.name, mails = self.total, "reading a backlog");
        }
    }

    pub fn took(&mut self, mails: usize) {
        self.done += mails;
        if self.total < WORTH_SHOWING {
            return;
        }
        let every = if self.is_terminal { TERMINAL_EVERY } else { LOG_EVERY };
        if self.said.elapsed() < every {
            return;
        }
        self.said = Instant::now();
        if self.is_terminal {
            let line = format!("\r\x1b[K{}: {}", self.name, self.text());
            // A terminal that is gone is no reason to stop.
            drop(std::io::stderr().write_all(line.as_bytes()));
        } else {
            tracing::info!(mailbox = self.name, progress = self.text(), "reading a backlog");
        }
    }

    fn text(&self) -> String {
        let rate = self.done as f64 / self.began.elapsed().as_secs_f64().max(0.001);
        format!("{} of {} mails, {rate:.0} a second", self.done, self.total)
    }

    pub fn end(&self) {
        if self.total < WORTH_SHOWING {
            return;
        }
        if self.is_terminal {
            drop(std::io::stderr().write_all(b"\r\x1b[K"));
        }
        tracing::info!(mailbox = self.name, progress = self.text(), "the backlog is read");
    }
}
