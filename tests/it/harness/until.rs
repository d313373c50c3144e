//! Waits for what a test has caused, however long the machine takes for it.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

/// Longer than anything takes, on a busy machine too.
const ENOUGH: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Asks until the answer is there.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let deadline = Instant::now() + ENOUGH;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "it never came: {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// As [`until`], for what is true or not yet.
pub async fn until_true(what: &str, ask: impl Fn() -> bool) {
    until(what, || std::future::ready(ask().then_some(()))).await;
}
