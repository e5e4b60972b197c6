//! Attacks on a port with all that one processor can do, and what others notice meanwhile.

pub(crate) mod attack;
pub(crate) mod attacker;
pub(crate) mod questions;
pub(crate) mod times;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use antrea_e2e::patience::ensure_in_time;
use antrea_e2e::wait;
use anyhow::{Context, Result};

/// Between two questions of the same kind.
const PAUSE: Duration = Duration::from_millis(200);

pub(crate) fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
}

/// Asks again and again.
pub(crate) fn repeat<T>(over: &AtomicBool, ask: impl Fn() -> Result<T>) -> Result<Vec<T>> {
    let mut answers = Vec::new();
    while !over.load(Ordering::Relaxed) {
        answers.push(ask()?);
        wait::pause(PAUSE);
    }
    Ok(answers)
}

/// What is late, if it is.
pub(crate) fn late(what: &str, took: Duration, limit: Duration) -> Option<String> {
    ensure_in_time(what, took, limit).err().map(|error| error.to_string())
}

/// The resident memory of a process, in KiB.
pub(crate) fn memory(process: i32) -> Result<u64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("{path} does not tell the resident memory"))
}
