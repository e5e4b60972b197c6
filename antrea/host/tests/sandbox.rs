//! Network namespaces for tests: each test has one of its own, which is gone when its thread ends, also by a panic.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;

use antrea_host::Netns;
use nix::sched::{CloneFlags, unshare};

/// Runs a test on a thread with a network namespace of its own, as the only thread of a runtime. Where namespaces
/// cannot be made the test is skipped.
pub(crate) fn isolated(name: &str, test: impl AsyncFnOnce() + Send + 'static) {
    let run = move || match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            sh("ip link set lo up");
            runtime.block_on(test());
            None
        }
        Err(error) => Some(error),
    };
    match std::thread::spawn(run).join() {
        Ok(None) => {}
        Ok(Some(error)) => skipped(name, &format!("network namespaces need root ({error})")),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Says that a test did not run, as `cargo xtask test` understands it.
pub(crate) fn skipped(name: &str, reason: &str) {
    println!("SKIPPED {name}: {reason}");
}

/// Another namespace, as a Pod has one.
pub(crate) struct OtherNetns {
    file: File,
}

impl OtherNetns {
    pub(crate) fn new() -> Self {
        let make = || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            sh("ip link set lo up");
            File::open("/proc/thread-self/ns/net").unwrap()
        };
        Self { file: std::thread::spawn(make).join().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    pub(crate) fn netns(&self) -> Netns {
        Netns::open(self.path()).unwrap()
    }

    /// Runs a command line in the namespace, and returns what it prints.
    pub(crate) async fn sh(&self, line: &str) -> String {
        let line = line.to_owned();
        self.netns().run(move || sh(&line)).await.unwrap()
    }

    /// Whether a command line succeeds in the namespace.
    pub(crate) async fn succeeds(&self, line: &str) -> bool {
        let line = line.to_owned();
        self.netns().run(move || succeeds(&line)).await.unwrap()
    }
}

/// Runs a command line in the namespace of the test, and returns what it prints.
#[track_caller]
pub(crate) fn sh(line: &str) -> String {
    let output = Command::new("sh").args(["-c", line]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{line}` failed: {error}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Whether a command line succeeds in the namespace of the test.
pub(crate) fn succeeds(line: &str) -> bool {
    Command::new("sh").args(["-c", line]).output().unwrap().status.success()
}
