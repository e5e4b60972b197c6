//! Traffic between Pods that goes on while something happens, and whether it lost only what Open vSwitch could not
//! forward.

use std::time::Duration;

use antrea_e2e::names::NodeId;
use antrea_e2e::patience;
use antrea_e2e::pods::Pod;
use antrea_e2e::workload::Workload;
use anyhow::{Context, Result, ensure};

use crate::cluster::Cluster;
use crate::keep_alive::KeepAlive;
use crate::ovs_absences::{Window, explain};
use crate::pings::{Ping, Record};

const INTERVAL: Duration = Duration::from_millis(10);

/// TCP sends again after 0.2, 0.6, 1.4, 3, 6.2, 12.6, 25.4 and 51 s, so this covers 50 s without Open vSwitch. A connection
/// that is refused or reset ends at once.
const PATIENCE_SECONDS: u8 = 60;

/// By how much a loss may begin before Open vSwitch ends or end after it forwards: the answers around it are those of
/// packets that are 10 ms apart, and programs are late to see them; on a slow machine by more than this.
const MARGIN: Duration = Duration::from_millis(300);

/// TCP connections and pings, over both families between two Nodes, and on each of the Nodes.
pub(crate) struct Traffic {
    connections: Vec<KeepAlive>,
    pings: Vec<Ping>,
}

impl Traffic {
    /// Starts it among two Pods on each of two Nodes.
    pub(crate) fn start(cluster: &Cluster<'_>, workload: &Workload) -> Result<Self> {
        let (here, there) = cluster.two_nodes()?;
        let ([a, b], [c, d]) = (pods_on(workload, here)?, pods_on(workload, there)?);
        let connect = |from: &Pod, to: &Pod, family: usize| {
            let address = to.ips.iter().nth(family).context("a Pod without an address of each family")?;
            KeepAlive::with_patience(from, *address, PATIENCE_SECONDS)
        };
        let connections = vec![connect(a, c, 0)?, connect(b, a, 1)?, connect(d, b, 1)?];
        let between = c.ips.iter().map(|address| (a, c, *address));
        let within = [(b, a), (c, d)].into_iter();
        let within = within.filter_map(|(from, to)| Some((from, to, *to.ips.iter().next()?)));
        let pings = between.chain(within);
        let pings = pings.map(|(from, to, ip)| Ping::start(cluster.lab, from, (to, ip), INTERVAL));
        Ok(Self { connections, pings: pings.collect::<Result<_>>()? })
    }

    /// Ends it; an error when a connection broke.
    pub(crate) fn end(self) -> Result<Vec<Record>> {
        self.connections.into_iter().try_for_each(KeepAlive::ensure_it_lasted)?;
        self.pings.into_iter().map(Ping::end).collect()
    }
}

/// Prints what was lost. An error when something was while both Nodes of a ping were well.
pub(crate) fn ensure_lost_only_during(windows: &[Window], records: &[Record]) -> Result<()> {
    for record in records {
        println!("{record}");
        let nodes = record.path.nodes;
        let windows: Vec<Window> =
            windows.iter().filter(|window| nodes.contains(&window.node)).copied().collect();
        for loss in record.losses() {
            println!("  {} packets lost within {} ms", loss.packets, (loss.to - loss.from).as_millis());
            let explained = explain(&windows, &loss, MARGIN)
                || explain(&windows, &loss, MARGIN.mul_f64(patience::slowness()));
            ensure!(explained, "{record}: lost while all was well: {loss:?}, outside of {windows:?}");
        }
    }
    Ok(())
}

fn pods_on(workload: &Workload, node: NodeId) -> Result<[&Pod; 2]> {
    let mut pods = workload.pods().iter().filter(|pod| pod.node == node);
    let two = pods.next().zip(pods.next()).with_context(|| format!("{node} has fewer than two Pods"))?;
    Ok(two.into())
}
