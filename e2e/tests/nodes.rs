//! A Node leaves, comes back elsewhere and without Pod CIDR, and gets that of another Node: the others go on.

use std::net::SocketAddr;
use std::time::Duration;

use antrea_e2e::kubectl::Kubectl;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::paused::Paused;
use antrea_e2e::plan::{Install, NodePlan, Request, address_in};
use antrea_e2e::pod_cidrs::PodCidrs;
use antrea_e2e::pods::{PORT, Pod};
use antrea_e2e::scenario::{Extent, Part, request, with_lab};
use antrea_e2e::wait;
use antrea_e2e::workload::Workload;
use anyhow::{Context, Result, ensure};
use ipnet::IpNet;
use serde_json::{Value, json};

use crate::cluster::{Cluster, NAMESPACE};
use crate::keep_alive::KeepAlive;
use crate::pings::Ping;
use crate::traces::{BRIDGE, DATABASE, mentions};

/// Where the Node comes back: the addresses with this number in its subnets.
const ELSEWHERE: u8 = 33;
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the Node joins under traffic, which has a packet in each interval. It is away for longer than the silence, and
/// watched for some answers afterwards.
const JOINS: u8 = 3;
const INTERVAL: Duration = Duration::from_millis(10);
const SILENCE: Duration = Duration::from_millis(500);
const ANSWERS: usize = 200;

#[test]
fn a_node_leaves_comes_back_elsewhere_and_is_at_odds_with_another_while_pods_talk() {
    let name = "a_node_leaves_comes_back_elsewhere_and_is_at_odds_with_another_while_pods_talk";
    let request = Request { nodes: 3, ..request(Install::Antrea) };
    with_lab(name, Extent::Long(Part::Three), &request, |lab| {
        let cluster = Cluster::new(lab)?;
        let mut settled = cluster.plan()?.clone();
        let guest = settled.nodes.pop().context("the cluster has no Nodes")?;
        let mut workload = Workload::create(&cluster.kubectl, &settled, 1)?;
        let (first, last) = (settled.nodes[0].id, settled.nodes[1].id);
        let server = workload.pod_on(last)?.ips.v4.context("a Pod without address")?;
        let connection = KeepAlive::start(workload.pod_on(first)?, server)?;

        let removed = leave(&cluster, &guest, &[first, last])?;
        let controllers = paused_controllers(&cluster)?;
        let lab = lab.renumber(guest.id, ELSEWHERE)?;
        let cluster = Cluster::new(&lab)?;
        ensure_it_waits(&cluster, guest.id, first)?;
        ensure_they_talk(&workload)?;
        drop(controllers);
        ensure_it_is_back(&cluster, &mut workload, guest.id, "back-elsewhere")?;
        ensure_no_trace(&cluster, &[first, last], &traces_of(&guest))?;

        with_the_network_of_another(&cluster, &removed, last, first)?;
        ensure_they_talk(&workload)?;
        add_again(&cluster, &removed)?;
        ensure_it_is_back(&cluster, &mut workload, guest.id, "back-again")?;
        ensure_all_is_told(&cluster, first, "")?;
        for round in 1..=JOINS {
            ensure_it_joins_under_traffic(&cluster, &mut workload, guest.id)
                .with_context(|| format!("round {round} of joining under traffic"))?;
        }
        connection.ensure_it_lasted()
    });
}

/// The Node leaves the cluster as its administrator would have it leave. Returns its object.
fn leave(cluster: &Cluster<'_>, guest: &NodePlan, peers: &[NodeId]) -> Result<Value> {
    let name = guest.id.to_string();
    cluster.kubectl.text(&["drain", &name, "--ignore-daemonsets", "--delete-emptydir-data"])?;
    let node = cluster.kubectl.json(&["get", "node", &name])?;
    let network = network_of(cluster, guest.id)?;
    let gateway = address_in(&network, 1).context("a Pod CIDR without gateway")?;
    let mut traces = traces_of(guest);
    traces.extend([network.to_string(), gateway.to_string()]);
    for peer in peers {
        let found = found(cluster, *peer, &traces)?;
        ensure!(found.len() >= 3, "{peer} knows {traces:?} only by {found:?}");
    }
    cluster.kubectl.text(&["delete", "node", &name])?;
    ensure_no_trace(cluster, peers, &traces)?;
    Ok(node)
}

/// The Node has come back without Pod CIDR: its agent says what it waits for, and that of a peer says so, too.
fn ensure_it_waits(cluster: &Cluster<'_>, guest: NodeId, peer: NodeId) -> Result<()> {
    ensure_all_is_told(cluster, peer, &format!("Node {guest}: the Node has no Pod CIDR"))?;
    let expected = format!("waiting for Node {guest}: it has no Pod CIDR");
    // Why an agent is not ready it tells programs of its own Pod alone.
    let ask = [
        "sh",
        "-c",
        "curl -gsSk --max-time 5 -H \"Authorization: Bearer $(cat /var/run/antrea/apiserver/loopback-client-token)\" \
         https://127.0.0.1:10350/readyz",
    ];
    wait::until(PATIENCE, &format!("an agent on {guest} that says {expected:?}"), || {
        Ok(cluster.on_node(guest, &ask)?.contains(&expected))
    })?;
    let pod = cluster.agent(guest)?.pod;
    let log = cluster.kubectl.text(&["logs", "-n", NAMESPACE, &pod, "-c", "antrea-agent"])?;
    ensure!(log.contains("it has no Pod CIDR"), "the agent of {guest} does not log what it waits for: {log}");
    Ok(())
}

/// Its Pods reach everybody, and are reached.
fn ensure_it_is_back(cluster: &Cluster<'_>, workload: &mut Workload, guest: NodeId, pod: &str) -> Result<()> {
    wait::until(PATIENCE, &format!("the agent of {guest} to be ready"), || {
        Ok(network_of(cluster, guest).is_ok() && cluster.agent(guest)?.ready)
    })?;
    cluster.kubectl.wait("condition=Ready", 60, &["node", &guest.to_string()])?;
    workload.add_pod(pod, guest)?;
    cluster.ensure_connected(workload)?;
    workload.delete_pod(pod)
}

/// The Node leaves, and comes back with the Pod CIDR of `rightful`. All say so, and `peer` keeps to the rightful one.
fn with_the_network_of_another(
    cluster: &Cluster<'_>,
    node: &Value,
    rightful: NodeId,
    peer: NodeId,
) -> Result<()> {
    let guest: NodeId = node["metadata"]["name"].as_str().context("a Node without name")?.parse()?;
    let network = network_of(cluster, rightful)?;
    remove(cluster, guest)?;
    add(&cluster.kubectl, node, &json!({ "podCIDR": network, "podCIDRs": [network] }))?;
    let refused = format!(
        "Node {guest}: the Pod CIDR {network} overlaps with {network} of Node {rightful}, which keeps it"
    );
    ensure_all_is_told(cluster, peer, &refused)?;
    let own = format!("Node {guest}: the Pod CIDR {network} of this Node overlaps with {network} of Node");
    ensure_all_is_told(cluster, guest, &own)?;
    ensure_no_trace(cluster, &[peer], &traces_of(cluster.lab.plan().node(guest)?))
}

/// The Node leaves and comes back as it should, its Pods with it: Kubernetes removes them itself after a minute.
fn add_again(cluster: &Cluster<'_>, node: &Value) -> Result<()> {
    let guest: NodeId = node["metadata"]["name"].as_str().context("a Node without name")?.parse()?;
    remove(cluster, guest)?;
    let field = format!("--field-selector=spec.nodeName={guest}");
    cluster.kubectl.text(&["delete", "pods", "--all-namespaces", &field, "--timeout=60s"])?;
    add(&cluster.kubectl, node, &json!({}))
}

/// The Node leaves and rejoins under traffic. After the first reply no ping is lost: flows and firewall appear together.
fn ensure_it_joins_under_traffic(
    cluster: &Cluster<'_>,
    workload: &mut Workload,
    guest: NodeId,
) -> Result<()> {
    let node = cluster.kubectl.json(&["get", "node", &guest.to_string()])?;
    let network = network_of(cluster, guest)?;
    let settled: Vec<Pod> = workload.pods().to_vec();
    let peers: Vec<NodeId> = settled.iter().map(|pod| pod.node).collect();
    let own = workload.add_pod("joins", guest)?;
    let mut pings = Vec::new();
    for (from, to) in settled.iter().flat_map(|pod| [(pod, &own), (&own, pod)]) {
        let address = to.ips.v4.context("a Pod without address")?;
        pings.push(Ping::start(cluster.lab, from, (to, address), INTERVAL)?);
    }
    // Kubernetes deletes the Pods of a Node that is missing whenever it looks.
    let controllers = paused_controllers(cluster)?;
    remove(cluster, guest)?;
    ensure_no_trace(cluster, &peers, &traces_of(cluster.lab.plan().node(guest)?))?;
    let cidrs = json!({ "podCIDR": network, "podCIDRs": node["spec"]["podCIDRs"] });
    add(&cluster.kubectl, &node, &cidrs)?;
    drop(controllers);
    wait::until(PATIENCE, "all pings to be answered again", || {
        Ok(pings.iter().all(|ping| ping.answers_after(SILENCE) >= ANSWERS))
    })?;
    for record in pings.into_iter().map(Ping::end) {
        let record = record?;
        println!("{record}");
        ensure!(record.losses().len() == 1, "{record}: {:?}", record.losses());
    }
    workload.delete_pod("joins")
}

fn paused_controllers(cluster: &Cluster<'_>) -> Result<Paused> {
    let place = Place::Cluster(cluster.plan()?.id);
    Paused::in_place(cluster.lab.plan(), place, "kube-controller-manager")
}

/// Removes the object alone: the kubelet goes on, and cares for the next one of that name.
fn remove(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    cluster.kubectl.text(&["delete", "node", &node.to_string()]).map(drop)
}

/// Makes the object of a Node as somebody who knows better than Kubernetes would.
fn add(kubectl: &Kubectl, before: &Value, spec: &Value) -> Result<()> {
    let metadata = json!({ "name": before["metadata"]["name"], "labels": before["metadata"]["labels"] });
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec });
    kubectl.apply(&node.to_string())
}

fn network_of(cluster: &Cluster<'_>, node: NodeId) -> Result<IpNet> {
    let cidrs = PodCidrs::parse(&cluster.kubectl.json(&["get", "nodes"])?);
    cidrs.of(node)?.v4.with_context(|| format!("{node} has no Pod CIDR"))
}

/// By what other Nodes know one, beside its Pod CIDR.
fn traces_of(node: &NodePlan) -> Vec<String> {
    node.node_ips.iter().chain(node.transport_ips.iter()).map(ToString::to_string).collect()
}

/// The agent of a Node tells this of Pods that cannot be reached, or nothing at all when `expected` is empty.
fn ensure_all_is_told(cluster: &Cluster<'_>, node: NodeId, expected: &str) -> Result<()> {
    wait::until(PATIENCE, &format!("AntreaAgentInfo of {node} to say {expected:?}"), || {
        let info = cluster.kubectl.json(&["get", "antreaagentinfo", &node.to_string()])?;
        let conditions = info["agentConditions"].as_array().into_iter().flatten();
        let healthy = conditions.into_iter().find(|condition| condition["type"] == "AgentHealthy");
        let said = healthy.and_then(|condition| condition["message"].as_str()).unwrap_or_default();
        ensure!(
            if expected.is_empty() { said.is_empty() } else { said.contains(expected) },
            "it says {said:?}"
        );
        Ok(true)
    })
}

fn ensure_no_trace(cluster: &Cluster<'_>, nodes: &[NodeId], traces: &[String]) -> Result<()> {
    for node in nodes {
        wait::until(PATIENCE, &format!("{node} to forget {traces:?}"), || {
            let found = found(cluster, *node, traces)?;
            ensure!(found.is_empty(), "it has {found:?}");
            Ok(true)
        })?;
    }
    Ok(())
}

/// Where a Node has addresses and networks of another one: flows, ports, routes, neighbours, IP sets and rules.
fn found(cluster: &Cluster<'_>, node: NodeId, traces: &[String]) -> Result<Vec<String>> {
    let places = [
        ["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", BRIDGE].as_slice(),
        &["ovs-vsctl", DATABASE, "list", "interface"],
        &["ip", "route"],
        &["ip", "neighbour", "show", "dev", "antrea-gw0"],
        &["ipset", "list"],
        &["iptables-save"],
    ];
    let mut found = Vec::new();
    for words in places {
        let text = cluster.on_node(node, words)?;
        let is_there =
            |trace: &&String| mentions(&text, trace) || trace.contains('/') && text.contains(*trace);
        found.extend(traces.iter().filter(is_there).map(|trace| format!("{trace} in {}", words.join(" "))));
    }
    Ok(found)
}

/// Each Pod reaches each other one.
fn ensure_they_talk(workload: &Workload) -> Result<()> {
    for from in workload.pods() {
        for to in workload.pods().iter().filter(|to| to.name != from.name) {
            let address = to.ips.v4.context("a Pod without address")?;
            let name = from.get(SocketAddr::new(address, PORT), "/hostname")?;
            ensure!(name == to.name, "{} answers as {name}", to.name);
        }
    }
    Ok(())
}
