//! Where a command's own warnings go: stderr, because stdout belongs to answers. The service has a
//! log of its own (`serve::logging`).
//!
//! `TILLBELL_LOG` sets another level or filter, for example `debug` or `tillbell::store=trace`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// Variable with the filter.
const FILTER: &str = "TILLBELL_LOG";

/// Starts logging for the rest of the process; the first call counts.
pub(super) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_env(FILTER).unwrap_or_else(|_| EnvFilter::new("warn"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Without a wish the warnings are for the person who typed the command.
    let _ = match format {
        LogFormat::Json => builder.json().try_init(),
        // A second start (tests in one process) keeps the first.
        LogFormat::Pretty | LogFormat::Auto => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
}
