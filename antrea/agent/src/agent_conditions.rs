//! The conditions of AntreaAgentInfo: what works, what keeps Pods from being reached, and what is open to other clusters.

use antrea_pipeline::multicluster::Admits;
use antrea_shared_api::crd::v1beta1::{AgentCondition, AgentConditionType, ConditionStatus};
use antrea_shared_api::well_known::NO_CONTROLLER;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::agent_info::{ConnectionState, Observation};

/// What is told of antrea-controller where the cluster has none.
const NOT_ENFORCED: &str =
    "the cluster has no antrea-controller (controller.enable is false): NetworkPolicies are not enforced";

/// What is told of a Gateway that nobody has told what is exported.
const OPEN_GATEWAY: &str = "this Gateway lets other clusters in to every Service, Pod and Node, since the Gateway object \
                            has no field exported: upgrade Antrea Multi-cluster";

/// How many problems are told; the log has them all.
const MOST_PROBLEMS: usize = 5;

pub(crate) fn conditions(observation: &Observation, now: Timestamp) -> Vec<AgentCondition> {
    let status = |state| match state {
        ConnectionState::Up => ConditionStatus::True,
        ConnectionState::Down => ConditionStatus::False,
    };
    let states = [
        (AgentConditionType::AgentHealthy, ConditionStatus::True),
        (AgentConditionType::ControllerConnectionUp, status(observation.controller.unwrap_or_default())),
        (AgentConditionType::OvsdbConnectionUp, status(observation.ovsdb)),
        (AgentConditionType::OpenflowConnectionUp, status(observation.openflow)),
    ];
    let second = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let condition = |(condition_type, status)| AgentCondition {
        condition_type,
        status,
        last_heartbeat_time: Time(second),
        reason: String::new(),
        message: String::new(),
    };
    let [mut health, mut controller, others @ ..] = states.map(condition);
    (health.reason, health.message) = told(observation);
    if observation.controller.is_none() {
        (controller.reason, controller.message) = (NO_CONTROLLER.to_owned(), NOT_ENFORCED.to_owned());
    }
    [health, controller].into_iter().chain(others).collect()
}

/// Reason and message of the condition that the agent runs: its status is True whatever is told with it. Of several reasons
/// the first counts.
fn told(observation: &Observation) -> (String, String) {
    let is_open = observation.admits == Some(Admits::Everything);
    let unreachable =
        (!observation.problems.is_empty()).then(|| ("PodsUnreachable", problems(&observation.problems)));
    let open = is_open.then(|| ("GatewayAdmitsEverything", OPEN_GATEWAY.to_owned()));
    let (reasons, messages): (Vec<&str>, Vec<String>) = unreachable.into_iter().chain(open).unzip();
    (reasons.first().copied().unwrap_or_default().to_owned(), messages.join("; "))
}

/// As many as a person reads.
fn problems(all: &[String]) -> String {
    let shown = all.iter().take(MOST_PROBLEMS).cloned().collect::<Vec<_>>().join("; ");
    match all.len().checked_sub(MOST_PROBLEMS) {
        None | Some(0) => shown,
        Some(more) => format!("{shown}; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_without_antrea_controller_is_told_with_the_condition_of_its_connection() {
        let told = |controller| {
            let observation = Observation { controller, ..Observation::default() };
            let condition = conditions(&observation, Timestamp::UNIX_EPOCH).remove(1);
            assert_eq!(condition.condition_type, AgentConditionType::ControllerConnectionUp);
            format!("{:?} {} {}", condition.status, condition.reason, condition.message)
        };
        let absent = "False NoController the cluster has no antrea-controller (controller.enable is false): \
                      NetworkPolicies are not enforced";
        assert_eq!(told(None), absent);
        assert_eq!(told(Some(ConnectionState::Down)), "False  ");
        assert_eq!(told(Some(ConnectionState::Up)), "True  ");
    }

    #[test]
    fn problems_are_told_with_the_condition_that_the_agent_runs() {
        let told = |count: usize| {
            let problems = (1..=count).map(|number| format!("Node n{number}: no Pod CIDR")).collect();
            let observation = Observation { problems, ..Observation::default() };
            let health = conditions(&observation, Timestamp::UNIX_EPOCH).remove(0);
            assert_eq!(health.status, ConditionStatus::True);
            (health.reason, health.message)
        };
        assert_eq!(told(0), (String::new(), String::new()));
        let two = "Node n1: no Pod CIDR; Node n2: no Pod CIDR";
        assert_eq!(told(2), ("PodsUnreachable".into(), two.into()));
        assert!(told(7).1.ends_with("Node n5: no Pod CIDR; and 2 more"), "{}", told(7).1);
    }

    #[test]
    fn a_gateway_that_admits_everything_is_told_with_the_same_condition() {
        let told = |admits, problem: &[&str]| {
            let problems = problem.iter().map(|text| (*text).to_owned()).collect();
            let observation = Observation { admits, problems, ..Observation::default() };
            let health = conditions(&observation, Timestamp::UNIX_EPOCH).remove(0);
            assert_eq!(health.status, ConditionStatus::True);
            format!("{}: {}", health.reason, health.message)
        };
        assert_eq!(told(None, &[]), ": ");
        assert_eq!(told(Some(Admits::Listed), &[]), ": ");
        let open = Some(Admits::Everything);
        assert_eq!(told(open, &[]), format!("GatewayAdmitsEverything: {OPEN_GATEWAY}"));
        let both = format!("PodsUnreachable: Node n1: no Pod CIDR; {OPEN_GATEWAY}");
        assert_eq!(told(open, &["Node n1: no Pod CIDR"]), both);
    }
}
