//! Where the program's own messages go: stderr, because stdout belongs to answers.
//!
//! Commands tell warnings only; the service tells what it does. `TILLBELL_LOG` sets another
//! level or filter, for example `debug` or `tillbell::work=trace`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// Variable with the filter.
const FILTER: &str = "TILLBELL_LOG";

/// Starts logging for the rest of the process; the first call counts.
pub(super) fn start(format: LogFormat, is_long_running: bool) {
    let default = if is_long_running { "info" } else { "warn" };
    let filter = EnvFilter::try_from_env(FILTER).unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let is_terminal = std::io::stderr().is_terminal();
    let is_json = match format {
        LogFormat::Json => true,
        LogFormat::Pretty => false,
        // A command's warnings are for the person who typed it.
        LogFormat::Auto => is_long_running && !is_terminal,
    };
    // A second start (tests in one process) keeps the first.
    let _ = if is_json { builder.json().try_init() } else { builder.with_ansi(is_terminal).try_init() };
}
