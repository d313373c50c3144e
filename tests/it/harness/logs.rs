//! What this process logs, kept to be searched for what must not stand in it.
//!
//! Every test is a process of its own, so lines of others are never among them. It catches every level,
//! whatever the configuration says, and nothing else.

use std::io::Write;
use std::sync::{Arc, Mutex};

/// Lines of every log event since [`Logs::keep`].
#[derive(Clone, Default)]
pub struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    /// From now on; once in a process.
    pub fn keep() -> Logs {
        let kept = Logs::default();
        let writer = kept.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
        kept
    }

    /// All that was logged until now.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
