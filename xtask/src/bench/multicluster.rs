//! Multi-cluster between real API servers: a leader and two members, without Nodes. Controllers are processes with the
//! chart's rights; API servers call their webhooks. Nothing here says anything of packets.

mod change;
mod clusters;
mod controller;
mod export;
mod import;
mod imports;
mod join;
mod leader;
mod objects;
mod watch;

use std::time::Duration;

use antrea_e2e::names::LabName;
use antrea_e2e::plan::Install;
use antrea_e2e::wait;
use anyhow::Result;

use super::Figure;
use crate::own_lab::{OwnLab, Wanted};
use clusters::Clusters;
use controller::{Controller, Endpoints};

/// A controller whose memory is read has been idle for so long.
const SETTLE: Duration = Duration::from_secs(30);

pub(super) fn measure(name: Option<&LabName>) -> Result<Vec<Figure>> {
    let own = OwnLab::open(name, &wanted())?;
    let clusters = Clusters::install(own.lab())?;
    let leader = Controller::start(&clusters.leader, Endpoints::ClusterIps)?;
    clusters.initialize()?;
    clusters.admit(&clusters.exporter)?;
    clusters.admit(&clusters.importer)?;
    let exporter = Controller::start(&clusters.exporter, Endpoints::ClusterIps)?;
    let importer = Controller::start(&clusters.importer, Endpoints::ClusterIps)?;
    join::join(&clusters, &clusters.exporter)?;
    let mut figures = join::measure(&clusters, &clusters.importer)?;
    figures.extend(idle(&leader, &importer)?);
    figures.extend(export::measure(&clusters)?);
    exporter.stop()?;
    let exporter = Controller::start(&clusters.exporter, Endpoints::Pods)?;
    figures.extend(change::measure(&clusters)?);
    join::leave(&clusters, &clusters.exporter)?;
    exporter.stop()?;
    importer.stop()?;
    figures.extend(leader::measure(&clusters, &leader)?);
    let (imported, importer) = import::measure(&clusters)?;
    figures.extend(imported);
    leader::remove(&clusters.leader.api)?;
    // So that it can be measured once more on the same lab.
    join::leave(&clusters, &clusters.importer)?;
    importer.stop()?;
    leader.stop()?;
    Ok(figures)
}

/// Control planes are all that it takes.
fn wanted() -> Wanted {
    Wanted { clusters: 3, nodes: 0, install: Install::None, ..Wanted::antrea("bench") }
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
