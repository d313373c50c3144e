//! What the service manager is told (systemd's notification protocol, sd_notify(3)): that the service is ready, that it ends, and
//! while its watchdog asks for it, that it is alive. Without such a manager nothing happens.

use sd_notify::NotifyState;
use tokio::task::JoinHandle;

/// Told so many times within the time after which the manager takes the service for dead.
const TIMES_WITHIN: u32 = 3;

/// It serves: units that wait for it may start.
pub fn ready(url: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("listening on {url}"))]);
}

pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("finishing what is under way")]);
}

/// Tells that it is alive as long as tasks are run: a process whose threads all hang is started anew.
pub fn watched() -> Option<JoinHandle<()>> {
    let within = sd_notify::watchdog_enabled()?;
    Some(tokio::spawn(async move {
        let mut often = tokio::time::interval(within / TIMES_WITHIN);
        loop {
            often.tick().await;
            tell(&[NotifyState::Watchdog]);
        }
    }))
}

fn tell(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager could not be told");
    }
}
