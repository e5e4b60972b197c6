//! Telling the user what is going on: a line when a step ends, and lines in between when it takes long.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

/// A step that takes longer says so after this time …
const FIRST: Duration = Duration::from_secs(2);
/// … and again each time this has passed.
const AGAIN: Duration = Duration::from_secs(10);

/// Does `work` and prints how long it took; while it takes long, prints that it is still at it.
///
/// # Errors
/// What `work` returns.
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let started = Instant::now();
    let result = quiet_step(what, work);
    let mark = if result.is_ok() { "✓" } else { "✗" };
    eprintln!("  {mark} {what} ({:.1} s)", started.elapsed().as_secs_f32());
    result
}

/// Like [`step`], but silent where it takes no time worth telling.
///
/// # Errors
/// What `work` returns.
pub fn quiet_step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let started = Instant::now();
    let (done, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut pause = FIRST;
            while wait.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                eprintln!("    … {what} ({} s)", started.elapsed().as_secs());
                pause = AGAIN;
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// Does `work` for each item at the same time, and returns the results in the order of the items.
///
/// # Errors
/// The first error in that order.
pub fn all_at_once<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> Result<T> + Sync) -> Result<Vec<T>> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(move || work(item))).collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(cause) => std::panic::resume_unwind(cause),
        });
        joined.collect()
    })
}
