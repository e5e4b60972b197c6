//! Tells whether a thread still gets to its tasks: one of them beats each second, and other threads look at when it last did.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::health::Check;

/// How often the thread beats, and how often others look.
const PERIOD: Duration = Duration::from_secs(1);

/// Watches one thread. Clones watch the same one.
#[derive(Clone, Debug)]
pub struct Watchdog {
    patience: Duration,
    began: Instant,
    /// When the thread last beat, in milliseconds since `began`.
    last: Arc<AtomicU64>,
}

impl Watchdog {
    /// The thread counts as stuck when it has not beaten for `patience`; that time begins now.
    pub fn new(patience: Duration) -> Self {
        Self { patience, began: Instant::now(), last: Arc::default() }
    }

    /// The thread gets to its tasks.
    pub fn beat(&self) {
        self.beat_at(Instant::now());
    }

    fn beat_at(&self, now: Instant) {
        let since = now.saturating_duration_since(self.began).as_millis();
        self.last.store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// For how long the thread has not beaten.
    fn silence(&self, now: Instant) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        now.saturating_duration_since(self.began).saturating_sub(last)
    }

    /// Whether the thread gets to its tasks.
    pub fn is_alive(&self) -> bool {
        self.silence(Instant::now()) < self.patience
    }

    /// Beats until `stop`. This runs on the thread that is watched.
    ///
    /// # Errors
    /// Never. The type is that of a component.
    pub async fn keep_beating(self, stop: CancellationToken) -> anyhow::Result<()> {
        self.beat();
        while stop.run_until_cancelled(sleep(PERIOD)).await.is_some() {
            self.beat();
        }
        Ok(())
    }

    /// Lets `check` say whether the thread gets to its tasks, until `stop`. This runs on another thread.
    ///
    /// # Errors
    /// Never. The type is that of a component.
    pub async fn report(self, check: Check, stop: CancellationToken) -> anyhow::Result<()> {
        let mut was_alive = true;
        loop {
            let silence = self.silence(Instant::now());
            let is_alive = silence < self.patience;
            match (was_alive, is_alive) {
                (true, false) => error!(?silence, "The thread that does the work is stuck"),
                (false, true) => info!("The thread that does the work goes on"),
                _ => {}
            }
            if is_alive {
                check.pass();
            } else {
                check.fail(format!(
                    "the thread that does the work has been stuck for {} s",
                    silence.as_secs()
                ));
            }
            was_alive = is_alive;
            if stop.run_until_cancelled(sleep(PERIOD)).await.is_none() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::{Request, StatusCode};

    use super::*;
    use crate::health::{Checks, Kind};

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_thread_is_stuck_when_it_has_not_beaten_for_so_long() {
        let watchdog = Watchdog::new(PATIENCE);
        let after = |seconds| watchdog.began + Duration::from_secs(seconds);
        let is_alive = |seconds| watchdog.silence(after(seconds)) < PATIENCE;
        assert!(is_alive(59) && !is_alive(60), "it has not beaten yet");
        watchdog.clone().beat_at(after(100));
        assert!(is_alive(159) && !is_alive(160));
    }

    #[tokio::test]
    async fn a_process_with_a_stuck_thread_is_to_be_restarted() {
        let checks = Checks::new();
        let check = checks.add("work", Kind::Liveness);
        let (watchdog, stop) = (Watchdog::new(Duration::ZERO), CancellationToken::new());
        stop.cancel();
        watchdog.clone().report(check.clone(), stop.clone()).await.unwrap();
        let status = || {
            let request = Request::get("/livez").body(()).unwrap();
            checks.answer(&request).map(|answer| answer.status())
        };
        assert_eq!(status(), Some(StatusCode::INTERNAL_SERVER_ERROR));
        Watchdog::new(PATIENCE).report(check, stop).await.unwrap();
        assert_eq!(status(), Some(StatusCode::OK));
    }
}
