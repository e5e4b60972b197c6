//! Which Node of a cluster is its Gateway, and whether the other clusters know.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::cluster_set::Member;
use crate::install::NAMESPACE;
use crate::names::NodeId;
use crate::plan::Plan;
use crate::wait;

/// For every cluster to know what has become of another one.
const PATIENCE: Duration = Duration::from_secs(60);

/// The Node that is no Gateway at first.
pub fn second_node(member: &Member) -> NodeId {
    NodeId { number: 2, ..member.first_node() }
}

/// The names of the Nodes that are Gateways.
///
/// # Errors
/// When the API server does not answer.
pub fn gateways(member: &Member) -> Result<Vec<String>> {
    let names = member.gateways()?;
    Ok(names.iter().filter_map(|gateway| gateway["metadata"]["name"].as_str().map(str::to_owned)).collect())
}

/// Waits until a cluster has this Gateway alone, and the others know it.
///
/// # Errors
/// When it is not so in time.
pub fn wait_for_gateway(plan: &Plan, members: &[Member], member: &Member, node: NodeId) -> Result<()> {
    let transport = plan.node(node)?.transport_ips.v4.context("there is no IPv4")?;
    let known = ["get", "clusterinfoimport", "-n", NAMESPACE, &format!("{}-clusterinfo", member.id())];
    wait::until(PATIENCE, &format!("{node} to be the Gateway"), || {
        let names = gateways(member)?;
        ensure!(names == [node.to_string()], "the Gateways are {names:?}");
        for other in members.iter().filter(|other| other.cluster != member.cluster) {
            let import = other.kubectl.json(&known)?;
            let infos = import["spec"]["gatewayInfos"].as_array().into_iter().flatten();
            let ips: Vec<IpAddr> =
                infos.filter_map(|info| info["gatewayIP"].as_str()?.parse().ok()).collect();
            ensure!(ips == [transport], "{} knows {ips:?}, and it is {transport}", other.id());
        }
        Ok(true)
    })
}
