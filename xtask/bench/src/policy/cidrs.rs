//! A policy of many networks: from the request to the API server until the last flow is in the switch.

use std::time::{Duration, Instant};

use antrea_e2e::images::AGNHOST_IMAGE;
use antrea_e2e::lab::Lab;
use antrea_e2e::names::{LabName, NodeId};
use antrea_e2e::wait;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Figure, median};
use crate::api::{Api, Request};
use crate::choice::Choice;
use crate::process::Agent;
use crate::switch::{Switch, settled};
use xtask::own_lab::{OwnLab, Wanted};

/// How many networks the policies admit.
const SIZES: [u32; 3] = [5_000, 10_000, 15_000];
pub(super) const WORKLOADS: [&str; SIZES.len()] = ["Cidrs5000", "Cidrs10000", "Cidrs15000"];

/// Of each size, so many runs: the figure is the median of them.
const RUNS: usize = 5;

const NAMESPACE: &str = "bench-cidrs";

/// How often the switch is asked for the numbers of its tables, which cost it nothing: the error of the figure.
const LOOK: Duration = Duration::from_millis(2);

/// The last flow is there when none came for so long after it.
const QUIET: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(120);

/// One run.
struct Run {
    seconds: f64,
    cpu_seconds: f64,
}

pub(super) fn measure(name: Option<&LabName>, choice: Choice<'_>) -> Result<Vec<Figure>> {
    let own = OwnLab::open(name, &Wanted { nodes: 1, ..Wanted::antrea("bench") })?;
    let (cluster, node) = own.first_node()?;
    let api = Api::open(own.lab(), cluster)?;
    start_pod(&api, node)?;
    let wanted = SIZES.into_iter().zip(WORKLOADS).filter(|(_, workload)| choice.wants(workload));
    let figures =
        wanted.map(|(size, _)| measure_size(&api, own.lab(), node, size)).collect::<Result<Vec<_>>>();
    let removed = api.send(&Request::Delete { path: format!("/api/v1/namespaces/{NAMESPACE}") });
    let figures = figures?;
    removed?;
    Ok(figures.concat())
}

/// What the policies are applied to.
fn start_pod(api: &Api, node: NodeId) -> Result<()> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    api.send(&Request::Create { path: "/api/v1/namespaces".to_owned(), object: namespace })?;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "target", "namespace": NAMESPACE},
        "spec": {
            "nodeName": node.to_string(),
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": AGNHOST_IMAGE, "args": ["pause"], "imagePullPolicy": "IfNotPresent"}],
        },
    });
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    api.send(&Request::Create { path: pods.clone(), object: pod })?;
    wait::until(PATIENCE, "the Pod to run", || {
        Ok(api.read(&format!("{pods}/target"))?["status"]["phase"] == "Running")
    })
}

fn measure_size(api: &Api, lab: &Lab, node: NodeId, size: u32) -> Result<Vec<Figure>> {
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(measure_once(api, lab, node, size)?);
    }
    let of = |value: fn(&Run) -> f64| median(runs.iter().map(value).collect());
    Ok(vec![
        Figure::seconds(format!("policy/Cidrs{size}/seconds"), of(|run| run.seconds)?),
        Figure::seconds(format!("policy/Cidrs{size}/cpu_seconds"), of(|run| run.cpu_seconds)?),
    ])
}

fn measure_once(api: &Api, lab: &Lab, node: NodeId, size: u32) -> Result<Run> {
    let (mut switch, agent) = (Switch::of(lab, node)?, Agent::of(lab, node)?);
    let before = settled(&mut switch, PATIENCE)?;
    let used = agent.cpu_seconds()?;
    let policies = format!("/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies");
    let create = Request::Create { path: policies.clone(), object: policy(size) };
    let begun = Instant::now();
    api.send(&create)?;
    let (flows, seconds) = last_flow(&mut switch, before, size, begun)?;
    let cpu_seconds = agent.cpu_seconds()? - used;
    ensure!(flows >= before + u64::from(size), "{} flows came for {size} networks", flows - before);
    api.send(&Request::Delete { path: format!("{policies}/networks") })?;
    wait::until(PATIENCE, "the flows to go", || Ok(switch.flows()? == before))?;
    Ok(Run { seconds, cpu_seconds })
}

/// How many flows there are when no more come, and when the last one came.
fn last_flow(switch: &mut Switch, before: u64, size: u32, begun: Instant) -> Result<(u64, f64)> {
    let mut last = (before, Instant::now());
    wait::every(LOOK, PATIENCE, "the last flow", || {
        let flows = switch.flows()?;
        if flows != last.0 {
            last = (flows, Instant::now());
        }
        let all = flows >= before + u64::from(size);
        Ok((all && last.1.elapsed() >= QUIET).then(|| (flows, last.1.duration_since(begun).as_secs_f64())))
    })
}

/// A policy that admits so many networks of 256 addresses, no two of which are side by side.
fn policy(size: u32) -> Value {
    let network = |number: u32| {
        let [_, high, low, _] = (number << 9).to_be_bytes();
        let first = 11 + (number >> 15);
        json!({"ipBlock": {"cidr": format!("{first}.{high}.{low}.0/24")}})
    };
    let networks: Vec<Value> = (0..size).map(network).collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "networks"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": networks}]},
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_policy_has_as_many_networks_as_it_should_and_all_of_them_are_valid() {
        let policy = policy(15_000);
        let peers = policy["spec"]["ingress"][0]["from"].as_array().unwrap();
        let cidr =
            |peer: &Value| peer["ipBlock"]["cidr"].as_str().unwrap().parse::<ipnet::Ipv4Net>().unwrap();
        let networks: BTreeSet<_> = peers.iter().map(cidr).collect();
        assert_eq!(networks.len(), 15_000);
        assert!(networks.iter().all(|network| network.trunc() == *network));
    }
}
