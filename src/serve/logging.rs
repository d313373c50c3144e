//! Where the service's log lines go: stderr, pretty on a terminal, else one JSON object per line.
//!
//! Lines are formatted by whoever logs and written by a thread of its own, so that a slow terminal or pipe
//! never holds up a request; when it falls too far behind, lines are dropped and counted. Secrets are never
//! logged: keys, PINs and codes are not fields of any line, and of other crates only warnings and errors are
//! written. A terminal gets no control characters that strangers wrote.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;
use crate::terminal::harmless_log;

/// Lines that may wait to be written.
const LINES_MAX: usize = 8_192;
/// Time between two checks for lines. If the thread waited for each line, waking it would cost the request more
/// than the line itself.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long the end of the program waits for the last lines.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);
/// What other crates say is told from this level on, whatever `TILLBELL_LOG` asks for: below it the database's driver
/// tells every statement with its values, which are payers, URLs with tokens in them, and whole mails.
const OTHERS_FROM: Level = Level::WARN;
/// What is logged where `TILLBELL_LOG` says nothing.
const DEFAULT_FILTER: &str = "info";

enum Line {
    Text(Vec<u8>),
    Flush(SyncSender<()>),
}

#[derive(Clone)]
struct Lines {
    queue: SyncSender<Line>,
    lost: Arc<AtomicU64>,
}

/// Held until the program ends; dropping it writes what is left.
#[must_use]
pub struct Logging {
    lines: Lines,
}

impl Drop for Logging {
    fn drop(&mut self) {
        let (done, wait) = sync_channel(1);
        if self.lines.queue.try_send(Line::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(FLUSH_WITHIN);
        }
    }
}

/// The levels, as a person writes them.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// What `TILLBELL_LOG` asks for, or `usual`. A word that is no level would be taken for the name of a part of
/// the program, and silence all others.
pub fn filter(usual: &str) -> io::Result<EnvFilter> {
    let Some(text) = std::env::var_os("TILLBELL_LOG") else { return Ok(EnvFilter::new(usual)) };
    let wrong = |why: String| {
        let levels = LEVELS.join(", ");
        io::Error::other(format!(
            "TILLBELL_LOG: {why}; write a level ({levels}), or several parts such as info,tillbell::store=debug"
        ))
    };
    let text = text.to_str().ok_or_else(|| wrong("it is not UTF-8".into()))?;
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(directive);
    let parts = parts.collect::<Result<Vec<String>, String>>().map_err(wrong)?;
    if parts.is_empty() {
        return Ok(EnvFilter::new(usual));
    }
    EnvFilter::try_new(parts.join(",")).map_err(|error| wrong(error.to_string()))
}

/// Keeps back what other crates say below [`OTHERS_FROM`]. A layer of its own, because a filter can ask for a part of
/// the program in more ways than one, such as by its spans.
pub fn ours_or_grave() -> FilterFn {
    let is_told: fn(&Metadata<'_>) -> bool = |one| may_be_told(one.target(), *one.level());
    FilterFn::new(is_told)
}

fn may_be_told(target: &str, level: Level) -> bool {
    level <= OTHERS_FROM || target.split("::").next() == Some(env!("CARGO_PKG_NAME"))
}

/// One part of the filter, with its level as the library writes it.
fn directive(part: &str) -> Result<String, String> {
    let (target, word) = match part.rsplit_once('=') {
        Some((target, word)) => (Some(target.trim()), word.trim()),
        // A part of the program alone: all that it says.
        None if part.contains("::") || part == env!("CARGO_PKG_NAME") => return Ok(part.to_owned()),
        None => (None, part),
    };
    let level = word.to_ascii_lowercase();
    let level = if level == "warning" { "warn" } else { level.as_str() };
    if !LEVELS.contains(&level) {
        return Err(format!("{word:?} is not a level"));
    }
    Ok(target.map_or_else(|| level.to_owned(), |target| format!("{target}={level}")))
}

/// Starts logging for the process. A second call changes nothing.
pub fn start(format: LogFormat) -> io::Result<Logging> {
    let filter = filter(DEFAULT_FILTER)?;
    let (queue, received) = sync_channel(LINES_MAX);
    let lines = Lines { queue, lost: Arc::default() };
    let lost = lines.lost.clone();
    std::thread::Builder::new().name("tillbell-log".into()).spawn(move || write_lines(&received, &lost))?;
    let on_terminal = io::stderr().is_terminal();
    let json = match format {
        LogFormat::Json => true,
        LogFormat::Pretty => false,
        LogFormat::Auto => !on_terminal,
    };
    let base = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines.clone());
    // A second subscriber is refused; the first one goes on.
    let _ = if json {
        let json = base.json().flatten_event(true).with_current_span(true).with_span_list(false);
        json.finish().with(ours_or_grave()).try_init()
    } else {
        base.with_ansi(on_terminal).finish().with(ours_or_grave()).try_init()
    };
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let what = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(place, what, "a part of the program failed");
    }));
    Ok(Logging { lines })
}

fn write_lines(received: &Receiver<Line>, lost: &AtomicU64) {
    let is_terminal = io::stderr().is_terminal();
    let mut out = io::BufWriter::new(io::stderr());
    while let Ok(line) = received.recv() {
        let mut next = Some(line);
        // Everything that waits goes out in one write.
        while let Some(line) = next {
            match line {
                // Where stderr is gone there is nobody to tell.
                Line::Text(text) if is_terminal => drop(out.write_all(harmless_log(&text).as_bytes())),
                Line::Text(text) => drop(out.write_all(&text)),
                Line::Flush(done) => {
                    drop(out.flush());
                    let _ = done.send(());
                }
            }
            next = received.try_recv().ok();
        }
        let missing = lost.swap(0, Ordering::Relaxed);
        if missing > 0 {
            drop(writeln!(
                out,
                "{missing} log lines were dropped: they were produced faster than they could be written"
            ));
        }
        drop(out.flush());
        std::thread::sleep(LOOK_EVERY);
    }
}

/// One line that is being written; handed over when it is dropped.
pub struct LineWriter {
    lines: Lines,
    text: Vec<u8>,
}

impl Write for LineWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LineWriter {
    fn drop(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.lines.queue.try_send(Line::Text(text))
        {
            self.lines.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = LineWriter;

    fn make_writer(&'a self) -> LineWriter {
        LineWriter { lines: self.clone(), text: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_other_crates_only_what_is_grave_is_told() {
        for (target, level, is_told) in [
            ("tillbell", Level::TRACE, true),
            ("tillbell::store::engine", Level::DEBUG, true),
            ("tokio_postgres::query", Level::DEBUG, false),
            ("tokio_postgres::connection", Level::INFO, false),
            ("tokio_postgres::query", Level::WARN, true),
            ("rustls::client", Level::ERROR, true),
            ("tillbell_not", Level::INFO, false),
        ] {
            assert_eq!(may_be_told(target, level), is_told, "{target} {level}");
        }
    }
}
