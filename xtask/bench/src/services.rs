//! Services at sizes that clusters have: from nothing, after a restart of the agent, and one endpoint among 100,000.

mod fleet;
mod flip;
mod restart;

use std::time::Duration;

use antrea_e2e::lab::Lab;
use antrea_e2e::names::{LabName, NodeId};
use antrea_e2e::plan::{ClusterPlan, ServiceProxy};
use anyhow::{Result, ensure};

use super::Figure;
use super::api::Api;
use super::choice::Choice;
use super::switch::{self, Switch};
use fleet::Fleet;
use xtask::own_lab::{OwnLab, Wanted};

pub(super) const WORKLOADS: [&str; 3] = ["Restart2000x5", "Cold10000x10", "EndpointFlip"];

/// What upstream's figures were measured with.
const RESTARTED: Fleet = Fleet { services: 2_000, endpoints: 5 };
const LARGE: Fleet = Fleet { services: 10_000, endpoints: 10 };

/// An agent that has not realized them by then has no figure but a fault.
const REALIZED_WITHIN: Duration = Duration::from_secs(300);

pub(super) fn measure(name: Option<&LabName>, choice: Choice<'_>) -> Result<Vec<Figure>> {
    let own = OwnLab::open(name, &wanted())?;
    let (cluster, node) = own.first_node()?;
    ensure_served_by_antrea(own.lab().plan().cluster(cluster)?)?;
    let api = Api::open(own.lab(), cluster)?;
    let mut figures = Vec::new();
    if choice.wants("Restart2000x5") {
        let restart = || restart::with_flows(own.lab(), node);
        figures.extend(with_fleet(RESTARTED, own.lab(), &api, node, restart)?);
    }
    if choice.wants_one_of(&["Cold10000x10", "EndpointFlip"]) {
        figures.extend(with_fleet(LARGE, own.lab(), &api, node, || {
            let mut figures = Vec::new();
            if choice.wants("Cold10000x10") {
                figures.extend(restart::from_nothing(own.lab(), node)?);
            }
            if choice.wants("EndpointFlip") {
                figures.extend(flip::measure(LARGE, own.lab(), &api, node)?);
            }
            Ok(figures)
        })?);
    }
    Ok(figures)
}

/// One Node, and room for the Pods of another.
fn wanted() -> Wanted {
    let settings = vec![fleet::POD_CIDR, fleet::NODE_MASK];
    Wanted { nodes: 1, settings, ..Wanted::antrea("bench") }
}

fn ensure_served_by_antrea(cluster: &ClusterPlan) -> Result<()> {
    ensure!(
        cluster.service_proxy == ServiceProxy::Antrea,
        "Services of {} are served by {}, and AntreaProxy is what is measured here",
        cluster.id,
        cluster.service_proxy
    );
    Ok(())
}

/// Measures while the Services of a fleet are there and realized, and removes them whatever happens.
fn with_fleet(
    fleet: Fleet,
    lab: &Lab,
    api: &Api,
    node: NodeId,
    measure: impl FnOnce() -> Result<Vec<Figure>>,
) -> Result<Vec<Figure>> {
    let figures =
        fleet.create(api).and_then(|()| wait_until_realized(fleet, lab, node)).and_then(|()| measure());
    let removed = fleet.remove(api);
    let figures = figures?;
    removed?;
    switch::settled(&mut Switch::of(lab, node)?, REALIZED_WITHIN)?;
    Ok(figures)
}

fn wait_until_realized(fleet: Fleet, lab: &Lab, node: NodeId) -> Result<()> {
    let mut switch = Switch::of(lab, node)?;
    switch::settled(&mut switch, REALIZED_WITHIN)?;
    let groups = switch.groups()?;
    ensure!(
        usize::try_from(fleet.services).is_ok_and(|services| groups >= services),
        "br-int of {node} has {groups} groups for {} Services",
        fleet.services
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_node_of_the_lab_would_have_every_endpoint() {
        let plan = wanted().request().unwrap().plan(&[]).unwrap();
        let cluster = &plan.clusters[0];
        assert_eq!(cluster.pod_cidrs.v4.unwrap().to_string(), "10.128.0.0/12");
        assert_eq!(cluster.node_masks.v4, Some(15));
        let second: ipnet::IpNet = "10.130.0.0/15".parse().unwrap();
        for address in [LARGE.address(0, 0), LARGE.address(LARGE.services - 1, LARGE.endpoints - 1)] {
            assert!(second.contains(&std::net::IpAddr::V4(address)), "{address}");
        }
    }
}
