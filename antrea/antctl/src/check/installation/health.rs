//! What agents and controller say of themselves, and whether it is news.

use std::time::Duration;

use antrea_shared_api::crd::v1beta1::{
    AgentConditionType, AntreaAgentInfo, AntreaControllerInfo, ConditionStatus,
};
use antrea_shared_api::well_known::NO_CONTROLLER;
use jiff::Timestamp;
use kube::ResourceExt;

use super::test::Test;
use crate::check::verdict::{Finding, Tested, Verdict};

/// They report every minute.
const NEWS: Duration = Duration::from_secs(180);

/// One verdict over the agents of all Nodes that ought to have one.
pub(super) fn agents(nodes: &[String], infos: &[AntreaAgentInfo], now: Timestamp) -> Tested {
    let mut findings = Vec::new();
    for node in nodes {
        match infos.iter().find(|info| info.name_any() == *node) {
            Some(info) => findings.extend(agent(node, info, now)),
            None => findings.push(Finding::new(
                format!("Node {node} has no AntreaAgentInfo"),
                "its agent has never started, or antrea-controller does not run",
                "kubectl describe the Pod of the DaemonSet antrea-agent on that Node, and look at its log",
            )),
        }
    }
    let mut notes = vec![format!("{} agents, {} Nodes", infos.len(), nodes.len())];
    let alone = infos.iter().filter(|info| has_no_controller(info)).count();
    if alone > 0 {
        notes.push(format!("NetworkPolicies are not enforced (agents without antrea-controller: {alone})"));
    }
    Tested { name: Test::AgentHealth.name(), verdict: Verdict::of(findings, notes) }
}

/// Whether an agent is told that the cluster has none.
fn has_no_controller(info: &AntreaAgentInfo) -> bool {
    info.agent_conditions.iter().any(|condition| condition.reason == NO_CONTROLLER)
}

fn agent(node: &str, info: &AntreaAgentInfo, now: Timestamp) -> Vec<Finding> {
    let told = info.agent_conditions.iter().map(|condition| condition.last_heartbeat_time.0).max();
    if !is_news(told, now) {
        return vec![silent(&format!("the agent of Node {node}"), told)];
    }
    // An agent without a controller, by configuration, is not at fault: a note says what that means.
    let wrong = info
        .agent_conditions
        .iter()
        .filter(|condition| condition.status != ConditionStatus::True && condition.reason != NO_CONTROLLER);
    let finding = |condition: &antrea_shared_api::crd::v1beta1::AgentCondition| {
        let (cause, fix) = explain(condition.condition_type);
        let kind = condition.condition_type;
        let status = format!("{:?}", condition.status);
        let why = [condition.reason.as_str(), condition.message.as_str()].join(" ");
        Finding::new(format!("Node {node}: {kind:?} is {status} {why}").trim_end(), cause, fix)
    };
    wrong.map(finding).collect()
}

fn explain(condition: AgentConditionType) -> (&'static str, &'static str) {
    match condition {
        AgentConditionType::OvsdbConnectionUp | AgentConditionType::OpenflowConnectionUp => (
            "Open vSwitch does not run on the Node, or does not answer",
            "look at the log of the container antrea-ovs of its Pod antrea-agent",
        ),
        AgentConditionType::ControllerConnectionUp => (
            "antrea-controller does not run, or the agent does not reach it: the Node enforces the policies that it has, and \
             no newer ones",
            "look at the logs of the Deployment antrea-controller and of the agent's Pod antrea-agent",
        ),
        AgentConditionType::AgentHealthy => {
            ("the agent says so itself", "look at the log of its Pod antrea-agent")
        }
    }
}

/// What is said of the controller where the API server has no API of its.
pub(super) fn no_controller() -> Tested {
    let reason = "antrea-controller is not installed (controller.enable of the chart): NetworkPolicies are not \
                  enforced";
    Tested { name: Test::ControllerHealth.name(), verdict: Verdict::NotRun(reason.to_owned()) }
}

/// The controller, from what it last said.
pub(super) fn controller(info: Option<&AntreaControllerInfo>, now: Timestamp) -> Tested {
    let findings = match info {
        None => vec![Finding::new(
            "there is no AntreaControllerInfo",
            "antrea-controller has never run",
            "kubectl describe the Pod of the Deployment antrea-controller, and look at its log",
        )],
        Some(info) => {
            let told = info.controller_conditions.iter().map(|one| one.last_heartbeat_time.0).max();
            let healthy = info.controller_conditions.iter().all(|one| one.status == ConditionStatus::True);
            match (is_news(told, now), healthy) {
                (true, true) => Vec::new(),
                (true, false) => vec![Finding::new(
                    "antrea-controller says that it is not well",
                    "see its conditions: kubectl get antreacontrollerinfo antrea-controller -o yaml",
                    "look at its log",
                )],
                (false, _) => vec![silent("antrea-controller", told)],
            }
        }
    };
    Tested { name: Test::ControllerHealth.name(), verdict: Verdict::of(findings, Vec::new()) }
}

fn is_news(told: Option<Timestamp>, now: Timestamp) -> bool {
    told.is_some_and(|told| now.duration_since(told).unsigned_abs() <= NEWS || told > now)
}

fn silent(who: &str, told: Option<Timestamp>) -> Finding {
    let since =
        told.map_or("has never said anything".to_owned(), |told| format!("was last heard of at {told}"));
    Finding::new(
        format!("{who} {since}"),
        "it does not run, or does not reach the API server",
        "see that its Pod is Running and Ready, and look at its log",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::check::verdict::lines;

    fn now() -> Timestamp {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    fn agent_info(name: &str, condition: &str, status: &str, time: &str) -> AntreaAgentInfo {
        let condition = json!({ "type": condition, "status": status, "lastHeartbeatTime": time });
        serde_json::from_value(json!({ "metadata": { "name": name }, "agentConditions": [condition] }))
            .unwrap()
    }

    fn check(nodes: &[&str], infos: &[AntreaAgentInfo]) -> String {
        let nodes: Vec<String> = nodes.iter().map(|name| (*name).to_owned()).collect();
        lines(&agents(&nodes, infos, now()), "skipped").join("\n")
    }

    const NEW: &str = "2026-01-01T11:59:30Z";

    #[test]
    fn agents_are_well_when_each_said_so_of_late() {
        let text = check(&["a"], &[agent_info("a", "AgentHealthy", "True", NEW)]);
        assert_eq!(text, "  1 agents, 1 Nodes\nTest agent-health passed");
    }

    #[test]
    fn agents_without_antrea_controller_are_well_and_say_that_nothing_is_enforced() {
        let mut info = agent_info("a", "ControllerConnectionUp", "False", NEW);
        info.agent_conditions[0].reason = "NoController".to_owned();
        let text = check(&["a"], &[info]);
        let expected = "  1 agents, 1 Nodes\n  NetworkPolicies are not enforced (agents without antrea-controller: 1)\n\
                        Test agent-health passed";
        assert_eq!(text, expected);
        assert!(matches!(no_controller().verdict, Verdict::NotRun(_)));
    }

    #[test]
    fn agents_that_are_missing_silent_or_unwell_are_named() {
        let infos = [
            agent_info("b", "AgentHealthy", "True", "2026-01-01T11:00:00Z"),
            agent_info("c", "OVSDBConnectionUp", "False", NEW),
            agent_info("d", "ControllerConnectionUp", "False", NEW),
        ];
        insta::assert_snapshot!(check(&["a", "b", "c", "d"], &infos), @r"
        Test agent-health failed:
          ✗ Node a has no AntreaAgentInfo
            Cause: its agent has never started, or antrea-controller does not run
            Fix: kubectl describe the Pod of the DaemonSet antrea-agent on that Node, and look at its log
          ✗ the agent of Node b was last heard of at 2026-01-01T11:00:00Z
            Cause: it does not run, or does not reach the API server
            Fix: see that its Pod is Running and Ready, and look at its log
          ✗ Node c: OvsdbConnectionUp is False
            Cause: Open vSwitch does not run on the Node, or does not answer
            Fix: look at the log of the container antrea-ovs of its Pod antrea-agent
          ✗ Node d: ControllerConnectionUp is False
            Cause: antrea-controller does not run, or the agent does not reach it: the Node enforces the policies that it has, and no newer ones
            Fix: look at the logs of the Deployment antrea-controller and of the agent's Pod antrea-agent
        ");
    }

    #[test]
    fn the_controller_is_judged_the_same_way() {
        let info = |status, time| -> AntreaControllerInfo {
            let condition =
                json!({ "type": "ControllerHealthy", "status": status, "lastHeartbeatTime": time });
            serde_json::from_value(json!({ "controllerConditions": [condition] })).unwrap()
        };
        let verdict = |info: Option<&AntreaControllerInfo>| controller(info, now()).verdict;
        assert_eq!(verdict(Some(&info("True", NEW))), Verdict::Passed(Vec::new()));
        for bad in [Some(info("False", NEW)), Some(info("True", "2026-01-01T11:00:00Z")), None] {
            assert!(matches!(verdict(bad.as_ref()), Verdict::Failed(_)), "{bad:?}");
        }
    }
}
