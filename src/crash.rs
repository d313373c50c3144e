//! Named points at which a test may kill the process, as a power cut would.
//!
//! `TILLBELL_CRASH_AT=store.before_commit:3` aborts at the third passing of that point. Only
//! debug builds look at the variable; a release build holds no trace of this.

#[cfg(debug_assertions)]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Armed {
        name: String,
        passes_left: AtomicU64,
    }

    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();

    fn from_environment() -> Option<Armed> {
        let text = std::env::var("TILLBELL_CRASH_AT").ok()?;
        let (name, pass) = text.split_once(':').unwrap_or((&text, "1"));
        Some(Armed { name: name.to_owned(), passes_left: AtomicU64::new(pass.parse().unwrap_or(1)) })
    }

    pub fn point(name: &str) {
        let Some(armed) = ARMED.get_or_init(from_environment) else { return };
        if armed.name == name && armed.passes_left.fetch_sub(1, Ordering::SeqCst) == 1 {
            std::process::abort();
        }
    }
}

/// Dies here if the environment says so.
#[inline]
pub fn point(name: &str) {
    #[cfg(debug_assertions)]
    armed::point(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}
