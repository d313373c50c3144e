//! An expression of a template: checked when an operator's template is read, compiled when a mail
//! first needs it, and kept from then on.
//!
//! Compiled, the expressions of all banks take some forty megabytes and half a second of a slow build, and a
//! gateway sees mails of two or three banks. Those that the program carries are checked by its tests, not at
//! every start. Built by `compile` alone; everybody else uses it as the [`Regex`] it stands for.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// Memory of one compiled expression; templates are written by operators.
const REGEX_BYTES: usize = 2 * 1024 * 1024;

#[derive(Debug)]
pub struct Pattern {
    text: Box<str>,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// # Errors
    ///
    /// The text is no expression, or one that would take more memory than a template may.
    pub(super) fn new(text: String) -> Result<Pattern, regex::Error> {
        compile(&text)?;
        Ok(Pattern::carried(text))
    }

    /// An expression that the program carries, known to compile.
    pub(super) fn carried(text: String) -> Pattern {
        Pattern { text: text.into_boxed_str(), compiled: OnceLock::new() }
    }
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| match compile(&self.text) {
            Ok(regex) => regex,
            Err(error) => unreachable!(
                "{error}: the same text was compiled when the template was read or the program tested"
            ),
        })
    }
}

fn compile(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).build()
}
