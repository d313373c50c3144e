//! Where a command's own messages go: stderr, because stdout belongs to answers.
//!
//! Commands tell warnings only, for the person who typed them. `TILLBELL_LOG` sets another level
//! or filter, for example `debug` or `tillbell::store=trace`. The service's log is another one
//! (`serve::logging`). Only `cli` uses this.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;
use crate::serve::logging::{filter, ours_or_grave};
use crate::terminal::harmless_log;

/// Starts logging for the rest of the process; the first call counts.
pub(super) fn start(format: LogFormat) -> io::Result<()> {
    let filter = filter("warn")?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Lines);
    let is_terminal = std::io::stderr().is_terminal();
    // A second start (tests in one process) keeps the first.
    let _ = match format {
        LogFormat::Json => builder.json().finish().with(ours_or_grave()).try_init(),
        LogFormat::Auto | LogFormat::Pretty => {
            builder.with_ansi(is_terminal).finish().with(ours_or_grave()).try_init()
        }
    };
    Ok(())
}

/// Stderr; a terminal gets nothing of a stranger's that it would act upon. A line comes in one piece.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut stderr = io::stderr().lock();
        if stderr.is_terminal() {
            stderr.write_all(harmless_log(line).as_bytes())?;
        } else {
            stderr.write_all(line)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
