//! Multi-cluster between real API servers: a leader and two members, without Nodes. Controllers are processes with the
//! chart's rights; API servers call their webhooks. Of packets only GatewayFailover says something, on a lab of its own.

mod change;
mod clusters;
mod controller;
mod etcd;
mod export;
mod failover;
mod floor;
mod import;
mod imports;
mod join;
mod leader;
mod load;
mod members;
mod objects;
mod watch;

use std::time::Duration;

use antrea_e2e::names::LabName;
use antrea_e2e::plan::Install;
use antrea_e2e::wait;
use anyhow::Result;

use super::Figure;
use super::choice::Choice;
use clusters::Clusters;
use controller::{Controller, Endpoints};
use xtask::own_lab::{OwnLab, Wanted};

/// A controller whose memory is read has been idle for so long.
const SETTLE: Duration = Duration::from_secs(30);

/// What is measured of two members that have joined, in this order.
const OF_TWO: [&str; 7] = [
    "Join",
    "IdleLeader",
    "IdleMember",
    "Export",
    etcd::ONE_ENDPOINT.1,
    "EndpointChange",
    etcd::HUNDRED_ENDPOINTS.1,
];
/// What is measured of the leader, and of a member that imports what is there after that.
const OF_MANY: [&str; 3] = [leader::SMALL.workload, IMPORT, leader::LARGE.workload];
const IMPORT: &str = "Import500";

/// All of them.
pub(super) fn workloads() -> Vec<&'static str> {
    [&OF_TWO[..], &OF_MANY, &members::SIZES.map(|(_, workload)| workload), &[failover::WORKLOAD]].concat()
}

pub(super) fn measure(name: Option<&LabName>, choice: Choice<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    if workloads().into_iter().any(|workload| workload != failover::WORKLOAD && choice.wants(workload)) {
        figures.extend(between_control_planes(&OwnLab::open(name, &wanted())?, choice)?);
    }
    if choice.wants(failover::WORKLOAD) {
        figures.extend(failover::measure()?);
    }
    Ok(figures)
}

/// Control planes are all that it takes.
fn wanted() -> Wanted {
    Wanted { clusters: 3, nodes: 0, install: Install::None, ..Wanted::antrea("bench") }
}

fn between_control_planes(own: &OwnLab, choice: Choice<'_>) -> Result<Vec<Figure>> {
    let clusters = Clusters::install(own.lab())?;
    let leader = Controller::start(&clusters.leader, Endpoints::ClusterIps)?;
    clusters.initialize()?;
    let mut figures = Vec::new();
    if choice.wants_one_of(&OF_TWO) {
        figures.extend(with_two_members(&clusters, &leader, choice)?);
    }
    let (of_many, leader) = with_exports_of_many(&clusters, leader, choice)?;
    figures.extend(of_many);
    leader.stop()?;
    for size in members::SIZES.into_iter().filter(|(_, workload)| choice.wants(workload)) {
        figures.extend(members::measure(&clusters, size)?);
    }
    Ok(figures)
}

/// Both have left at the end, so that all can be measured once more on the same lab.
fn with_two_members(clusters: &Clusters, leader: &Controller, choice: Choice<'_>) -> Result<Vec<Figure>> {
    clusters.admit(&clusters.exporter)?;
    clusters.admit(&clusters.importer)?;
    let exporter = Controller::start(&clusters.exporter, Endpoints::ClusterIps)?;
    let importer = Controller::start(&clusters.importer, Endpoints::ClusterIps)?;
    join::join(clusters, &clusters.exporter)?;
    let mut figures = join::measure(clusters, &clusters.importer)?;
    if choice.wants_one_of(&["IdleLeader", "IdleMember"]) {
        figures.extend(idle(leader, &importer)?);
    }
    if choice.wants("Export") {
        figures.extend(export::measure(clusters)?);
        figures.extend(floor::of_export(clusters)?);
    }
    if choice.wants(etcd::ONE_ENDPOINT.1) {
        figures.extend(etcd::measure(clusters, etcd::ONE_ENDPOINT)?);
    }
    exporter.stop()?;
    let exporter = Controller::start(&clusters.exporter, Endpoints::Pods)?;
    if choice.wants("EndpointChange") {
        figures.extend(change::measure(clusters)?);
    }
    if choice.wants(etcd::HUNDRED_ENDPOINTS.1) {
        figures.extend(etcd::measure(clusters, etcd::HUNDRED_ENDPOINTS)?);
    }
    for (member, controller) in [(&clusters.exporter, exporter), (&clusters.importer, importer)] {
        join::leave(clusters, member)?;
        controller.stop()?;
    }
    Ok(figures)
}

/// The leader that runs at the end is another one: what it needs of memory is to be of the larger load alone.
fn with_exports_of_many(
    clusters: &Clusters,
    mut leader: Controller,
    choice: Choice<'_>,
) -> Result<(Vec<Figure>, Controller)> {
    let mut figures = Vec::new();
    if choice.wants_one_of(&[leader::SMALL.workload, IMPORT]) {
        figures.extend(with_small_load(clusters, &leader)?);
    }
    if choice.wants(leader::LARGE.workload) {
        leader.stop()?;
        leader = Controller::start(&clusters.leader, Endpoints::ClusterIps)?;
        figures.extend(leader::measure(clusters, &leader, leader::LARGE)?);
        let (restarted, new) = leader::measure_restart(clusters, leader, leader::LARGE)?;
        figures.extend(restarted);
        leader = new;
        leader::remove(&clusters.leader.api, leader::LARGE)?;
    }
    Ok((figures, leader))
}

/// The importer has joined, and is away until everything is exported.
fn with_small_load(clusters: &Clusters, leader: &Controller) -> Result<Vec<Figure>> {
    clusters.admit(&clusters.importer)?;
    let importer = Controller::start(&clusters.importer, Endpoints::ClusterIps)?;
    join::join(clusters, &clusters.importer)?;
    importer.stop()?;
    let mut figures = vec![floor::of_import(clusters)?];
    figures.extend(leader::measure(clusters, leader, leader::SMALL)?);
    leader::wait_for_answers(&clusters.leader.api)?;
    let (imported, importer) = import::measure(clusters)?;
    figures.extend(imported);
    leader::remove(&clusters.leader.api, leader::SMALL)?;
    join::leave(clusters, &clusters.importer)?;
    importer.stop()?;
    Ok(figures)
}

fn idle(leader: &Controller, member: &Controller) -> Result<Vec<Figure>> {
    wait::until(SETTLE * 2, "the controllers to be idle", || Ok(member.started.elapsed() >= SETTLE))?;
    Ok(vec![
        Figure::bytes("multicluster/IdleLeader/rss_bytes", leader.resident()?),
        Figure::bytes("multicluster/IdleMember/rss_bytes", member.resident()?),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lab_has_three_control_planes_whose_networks_are_apart() {
        let plan = wanted().request().unwrap().plan(&[]).unwrap();
        let services: Vec<String> =
            plan.clusters.iter().map(|cluster| cluster.service_cidrs.v4.unwrap().to_string()).collect();
        assert_eq!(services, ["10.111.0.0/16", "10.112.0.0/16", "10.113.0.0/16"]);
        assert!(plan.clusters.iter().all(|cluster| cluster.nodes.is_empty()));
    }
}
