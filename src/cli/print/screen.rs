//! What stdout can show, and the one way of text to it.
//!
//! Lines are made of spans, text and its tone. What a terminal would act upon is written out span by span, and
//! only then are our own colours added. Only `cli::print` uses this.

use std::io::{IsTerminal, Write};

use crate::terminal;

/// Nothing is fitted into less.
const WIDTH_MIN: usize = 40;

/// How a piece of a line looks where there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Waits,
    Bad,
}

impl Tone {
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Strong => Some("1"),
            Tone::Faint => Some("2"),
            Tone::Good => Some("32"),
            Tone::Waits => Some("33"),
            Tone::Bad => Some("31"),
        }
    }
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub text: String,
    pub tone: Tone,
}

pub(super) type Line = Vec<Span>;

pub(super) fn span(text: impl Into<String>, tone: Tone) -> Span {
    Span { text: text.into(), tone }
}

/// What stdout is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// Columns of a terminal; `None` for a pipe or a file, and for a terminal of which nobody tells them.
    pub width: Option<usize>,
    pub colours: bool,
}

impl Screen {
    /// As it is now. Colours are for terminals that have some, unless `NO_COLOR` says otherwise.
    pub fn of_stdout() -> Screen {
        if !std::io::stdout().is_terminal() {
            return Screen { width: None, colours: false };
        }
        // A terminal that tells no rows or no columns tells neither, as over a serial line.
        let told = console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
        let width = told.or_else(columns_told).map(|width| width.max(WIDTH_MIN));
        let is_set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let colours = is_set("NO_COLOR").is_none() && is_set("TERM").is_some_and(|term| term != "dumb");
        Screen { width, colours }
    }

    /// Lines on stdout. A reader that hung up is an error, not a panic.
    pub fn show(self, lines: &[Line]) -> anyhow::Result<()> {
        let mut text = String::new();
        for line in lines {
            self.write_line(line, &mut text);
            text.push('\n');
        }
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    fn write_line(self, line: &Line, to: &mut String) {
        for Span { text, tone } in line {
            let text = terminal::harmless_line(text);
            match tone.code().filter(|_| self.colours && !text.trim().is_empty()) {
                Some(code) => to.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m")),
                None => to.push_str(&text),
            }
        }
        to.truncate(to.trim_end_matches(' ').len());
    }
}

/// What the shell says of the terminal.
fn columns_told() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

/// Text on stdout, without anything that a terminal would act upon: what goes into a pipe may be shown on one
/// later, and JSON stays the same JSON.
pub(super) fn put(text: &str, end: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = terminal::harmless(text);
    write!(out, "{text}{end}")?;
    Ok(out.flush()?)
}

/// Columns of a terminal that a text takes.
pub(super) fn columns_of(text: &str) -> usize {
    console::measure_text_width(text)
}

/// The beginning of a text, marked where it is cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    console::truncate_str(text, width, "\u{2026}").into_owned()
}

/// The text in lines of at most `width`, broken at blanks; a word that is longer stays whole.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && columns_of(&line) + 1 + columns_of(word) > width {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_colours_reach_a_terminal() {
        let line =
            vec![span("id", Tone::Strong), span(" \u{1b}[2Jbad\u{202e}", Tone::Bad), span("  ", Tone::Faint)];
        let shown = |colours| {
            let mut text = String::new();
            Screen { width: Some(80), colours }.write_line(&line, &mut text);
            text
        };
        assert_eq!(shown(false), "id \\u001b[2Jbad\\u202e");
        assert_eq!(shown(true), "\u{1b}[1mid\u{1b}[0m\u{1b}[31m \\u001b[2Jbad\\u202e\u{1b}[0m");
    }

    #[test]
    fn lines_are_broken_at_blanks_and_cut_with_an_ellipsis() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a-very-long-word b", 5), ["a-very-long-word", "b"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(cut("Adébáyọ̀ Ọlá", 7), "Adébáy\u{2026}");
        assert_eq!(cut("short", 5), "short");
    }
}
