//! Network namespaces for tests: each test has one of its own, which is gone when its thread ends, also by a panic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "a thread of its own waits for these programs")]

use std::process::Command;

use nix::sched::{CloneFlags, unshare};

/// Runs a test as the only task of a thread with a network namespace of its own, in which there is a gateway.
pub(crate) fn isolated(name: &str, test: impl AsyncFnOnce() + Send + 'static) {
    let run = move || match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => {
            sh("ip link set lo up; ip link add antrea-gw0 type bridge");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(test());
            None
        }
        Err(error) => Some(error),
    };
    match std::thread::spawn(run).join() {
        Ok(None) => {}
        Ok(Some(error)) => println!("SKIPPED {name}: network namespaces need root ({error})"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

pub(crate) fn sh(line: &str) -> String {
    let output = Command::new("sh").args(["-c", line]).output().unwrap();
    assert!(output.status.success(), "`{line}` failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}
