//! How long it takes until 100,000 flows are back after ovs-vswitchd was killed: a test of `antrea-ovs` does it, and prints
//! the time.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::project;

const TEST: &str = "a_hundred_thousand_flows_come_back";

/// Seconds from the moment that the new ovs-vswitchd listens.
pub(super) fn seconds() -> Result<f64> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--release", "--locked", "-p", "antrea-ovs", "--test", "main", "--", "--nocapture"]);
    let output = cargo.arg(TEST).current_dir(project::root()).output().context("cannot run cargo test")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "the test {TEST} failed: {text}");
    printed(&text).with_context(|| format!("the test {TEST} was skipped: {text}"))
}

/// The number in the line `100000 flows back 0.612 s after the switch is`.
fn printed(output: &str) -> Option<f64> {
    let line = output.lines().find_map(|line| line.split_once(" flows back "))?.1;
    line.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_read_from_what_the_test_prints() {
        let output = "100000 flows installed in 1.2 s\n100000 flows back 0.612 s after the switch is\nok";
        assert_eq!(printed(output), Some(0.612));
        assert_eq!(printed("SKIPPED a_hundred_thousand_flows_come_back: no OVS"), None);
    }
}
