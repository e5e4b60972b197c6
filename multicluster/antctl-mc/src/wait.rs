//! Waits for something in a cluster, asking again and again.

use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};

/// How often is asked.
const PERIOD: Duration = Duration::from_millis(200);

/// Asks until the answer is `Some`; nothing when that takes longer than `timeout`.
///
/// # Errors
/// The first error of the question.
pub(crate) async fn until<T>(
    timeout: Duration,
    mut ask: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let end = Instant::now() + timeout;
    loop {
        if let Some(answer) = ask().await? {
            return Ok(Some(answer));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        sleep(PERIOD).await;
    }
}
