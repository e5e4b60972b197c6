//! What the agent's log says about CNI commands.

use std::time::Duration;

use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::names::NodeId;
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};

/// The log of the agent on one Node.
pub(super) struct AgentLog {
    kubectl: Kubectl,
    node: NodeId,
}

/// Seconds that successful commands took inside the agent, oldest first.
#[derive(Debug, Default)]
pub(super) struct Durations {
    pub(super) add: Vec<f64>,
    pub(super) del: Vec<f64>,
}

impl AgentLog {
    pub(super) const fn of(kubectl: Kubectl, node: NodeId) -> Self {
        Self { kubectl, node }
    }

    /// The commands since `before`, once as many of each have been logged as were called.
    pub(super) fn wait_for(&self, before: &Durations, adds: usize, dels: usize) -> Result<Durations> {
        wait::eventually(Duration::from_secs(10), "the agent to log every command", || {
            self.durations()?.since(before, adds, dels).map(Some)
        })
    }

    pub(super) fn durations(&self) -> Result<Durations> {
        let selector = format!("--field-selector=spec.nodeName={}", self.node);
        let pods = self.kubectl.json(&[
            "get",
            "pods",
            "-n",
            "kube-system",
            "-l",
            "component=antrea-agent",
            &selector,
        ])?;
        let pod =
            pods["items"][0]["metadata"]["name"].as_str().context("no antrea-agent runs on the Node")?;
        Ok(durations(&self.kubectl.text(&["logs", "-n", "kube-system", pod, "-c", "antrea-agent"])?))
    }
}

impl Durations {
    /// What is new since `before`; an error when that is less than `adds` and `dels`. An agent that was started anew
    /// has a new log.
    fn since(mut self, before: &Self, adds: usize, dels: usize) -> Result<Self> {
        let there = (self.add.len(), self.del.len());
        let wanted = (before.add.len() + adds, before.del.len() + dels);
        ensure!(
            there.0 >= wanted.0 && there.1 >= wanted.1,
            "the agent's log has {} ADD and {} DEL commands where {} and {} are wanted",
            there.0,
            there.1,
            wanted.0,
            wanted.1
        );
        Ok(Self { add: self.add.split_off(before.add.len()), del: self.del.split_off(before.del.len()) })
    }
}

/// Reads lines that end in `CNI command done command="ADD" microseconds=1234`.
fn durations(log: &str) -> Durations {
    let mut durations = Durations::default();
    for line in log.lines().filter(|line| line.contains("CNI command done")) {
        let value = |key: &str| line.split([' ', '{', '}']).find_map(|word| word.strip_prefix(key));
        let Some(microseconds) = value("microseconds=").and_then(|text| text.parse::<f64>().ok()) else {
            continue;
        };
        match value("command=").map(|text| text.trim_matches('"')) {
            Some("ADD") => durations.add.push(microseconds / 1e6),
            Some("DEL") => durations.del.push(microseconds / 1e6),
            _ => {}
        }
    }
    durations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(add: &[f64], del: &[f64]) -> Durations {
        Durations { add: add.to_vec(), del: del.to_vec() }
    }

    #[test]
    fn only_what_is_new_is_measured() {
        let new = logged(&[1.0, 2.0, 3.0], &[4.0, 5.0]).since(&logged(&[1.0], &[4.0]), 2, 1).unwrap();
        assert_eq!((new.add, new.del), (vec![2.0, 3.0], vec![5.0]));
    }

    #[test]
    fn a_log_that_lacks_commands_gives_no_figures() {
        let error = logged(&[1.0], &[]).since(&logged(&[1.0, 2.0], &[]), 50, 50).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the agent's log has 1 ADD and 0 DEL commands where 52 and 50 are wanted"
        );
    }

    #[test]
    fn durations_are_read_from_the_agents_log() {
        let log = "INFO component{name=\"cni\"}:cni{command=\"ADD\"}: CNI command done microseconds=1500\n\
                   INFO cni{command=\"DEL\"}: CNI command done microseconds=700\n\
                   INFO something else\n";
        let durations = durations(log);
        assert_eq!((durations.add, durations.del), (vec![0.0015], vec![0.0007]));
    }
}
