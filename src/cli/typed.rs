//! Questions to the person at the terminal.

use std::io::{BufRead, IsTerminal, Read};

use crate::terminal;

/// An answer is read up to this many bytes.
const TYPED_MAX: u64 = 100;

/// Whether the person at the terminal types `yes`; `None` where nobody is there to ask, as in a script.
pub(super) fn says_yes(question: &str) -> anyhow::Result<Option<bool>> {
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    eprint!("{}", terminal::harmless(question));
    let mut typed = String::new();
    std::io::stdin().lock().take(TYPED_MAX).read_line(&mut typed)?;
    Ok(Some(typed.trim() == "yes"))
}
