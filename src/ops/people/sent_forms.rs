//! Forms that make something count once: a second press of a button, or a form sent again, makes no second key.
//!
//! A form is claimed before its work begins, by a row under a unique key, so that of two nodes at the same moment one works
//! and the other waits for its answer. What came to nothing gives the claim back. A process that dies in between leaves a
//! claim without an answer: nobody knows what it came to, and nothing is done twice.

use std::time::Duration;

use crate::app::App;
use crate::crash;
use crate::domain::time::Span;
use crate::ops::{OpError, RACES_MAX};
use crate::store::Applied;
use crate::store::tables::sent_forms;

/// The same form is answered as the first was for so long, which is how long a browser may show what is shown once.
const SAME_ANSWER: Span = Span::seconds(60);
/// How long a second one waits for the answer of the first, and how it looks for it.
const WAIT: Duration = Duration::from_secs(10);
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(160);

/// What is to be done with a form.
pub enum Sent {
    /// Its work; the claim goes to [`FormClaim::end`] with what it came to.
    First(FormClaim),
    /// It was done a moment ago, and this was its answer.
    Again(Vec<u8>),
    /// It was done before.
    Before,
    /// Another one of it began, and nobody knows yet what it came to.
    Unknown,
}

pub struct FormClaim([u8; 32]);

impl FormClaim {
    /// Keeps the answer; without one the form came to nothing, and may be sent again.
    pub async fn end(self, app: &App, answer: Option<&[u8]>) -> Result<(), OpError> {
        crash::point("form.done");
        let step = match answer {
            Some(answer) => sent_forms::answer(&self.0, answer),
            None => sent_forms::take_back(&self.0),
        };
        let unit = app.store.unit(0).await?.step(step);
        let _ = app.store.apply(unit).await?;
        Ok(())
    }
}

/// Claims a form, or says what became of it. `key`: of the page it stood on, of who sent it and of what was typed.
pub async fn claim_form(app: &App, key: &[u8; 32]) -> Result<Sent, OpError> {
    let deadline = tokio::time::Instant::now() + WAIT;
    let (mut pause, mut races) = (PAUSE_FIRST, 0);
    loop {
        match app.store.sent_form(key).await? {
            None => {
                let unit = app.store.unit(0).await?.step(sent_forms::begin(key, app.now()));
                match app.store.apply(unit).await? {
                    Applied::Done(_) => return Ok(Sent::First(FormClaim(*key))),
                    _ if races >= RACES_MAX => return Ok(Sent::Unknown),
                    _ => races += 1,
                }
            }
            Some(form) => match form.answer {
                Some(answer) if app.now() < form.sent_at + SAME_ANSWER => return Ok(Sent::Again(answer)),
                Some(_) => return Ok(Sent::Before),
                None if tokio::time::Instant::now() + pause > deadline => return Ok(Sent::Unknown),
                None => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            },
        }
    }
}
