//! When Open vSwitch of each Node was away: from the end of one ovs-vswitchd until the next one forwards.

use std::fmt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::processes::{self, ProcessId};
use antrea_e2e::{node, wait};
use anyhow::{Context, Result};

use crate::cluster::Cluster;
use crate::pings::Loss;
use crate::traces::{BRIDGE, DATABASE};

/// The time for a Node's Open vSwitch to come back: its Pod may have to be replaced.
const RETURN: Duration = Duration::from_secs(120);

/// When something of a Node did not work. Moments are counted from 1970, as those of pings are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) node: NodeId,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

/// One absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Absence {
    /// From the end of the process until the next one forwards: until it does not wait for flows any longer.
    pub(crate) window: Window,
    /// The next process accepts OpenFlow connections to the bridge.
    pub(crate) accepts: Duration,
    /// The bridge has as many flows as before.
    flows_back: Duration,
}

/// Does `work` and tells how often Open vSwitch of the Nodes was away meanwhile. All are back when this returns.
pub(crate) fn during<T>(
    cluster: &Cluster<'_>,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Vec<Absence>)> {
    let nodes = cluster.plan()?.nodes.iter();
    let watches: Vec<Watch<'_>> = nodes.map(|node| Watch::of(cluster, node.id)).collect::<Result<_>>()?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let over = &over;
        let threads: Vec<_> =
            watches.into_iter().map(|watch| scope.spawn(move || watch.until(over))).collect();
        let result = work();
        over.store(true, Ordering::Relaxed);
        let mut absences = Vec::new();
        for thread in threads {
            absences.extend(thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))?);
        }
        absences.sort_by_key(|absence| absence.window.from);
        absences.iter().for_each(|absence| println!("{absence}"));
        Ok((result?, absences))
    })
}

/// Whether all of a loss lies within windows, each made longer by `margin` at both ends. They are in the order of their
/// beginnings.
pub(crate) fn explain(windows: &[Window], loss: &Loss, margin: Duration) -> bool {
    let mut explained = loss.from;
    for window in windows {
        if window.from.saturating_sub(margin) <= explained {
            explained = explained.max(window.to + margin);
        }
    }
    explained > loss.from && explained >= loss.to
}

impl Absence {
    /// How long the bridge was there without all of its flows.
    pub(crate) fn without_flows(&self) -> Duration {
        self.flows_back.saturating_sub(self.accepts)
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = |moment: Duration| moment.saturating_sub(self.window.from).as_millis();
        write!(
            f,
            "Open vSwitch of {} was away: accepts after {} ms, has its flows after {} ms, forwards after {} ms",
            self.window.node,
            after(self.accepts),
            after(self.flows_back),
            after(self.window.to)
        )
    }
}

/// The Open vSwitch of a Node while it is there.
struct Watch<'a> {
    cluster: &'a Cluster<'a>,
    node: NodeId,
    process: ProcessId,
    /// The OpenFlow socket of the bridge, as this process sees it.
    socket: PathBuf,
    /// How many lasting flows it had.
    flows: u64,
}

impl<'a> Watch<'a> {
    fn of(cluster: &'a Cluster<'a>, node: NodeId) -> Result<Self> {
        let init = node::init_process(&cluster.lab.plan().name, node)?;
        let files = PathBuf::from(format!("/proc/{}/root", init.pid));
        let process = process(cluster, node)?.with_context(|| format!("{node} has no ovs-vswitchd"))?;
        Ok(Self {
            cluster,
            node,
            process,
            socket: files.join("run/antrea/openvswitch/br-int.mgmt"),
            flows: lasting_flows(cluster, node)?,
        })
    }

    /// Watches it until `over`, and returns when it was away.
    fn until(mut self, over: &AtomicBool) -> Result<Vec<Absence>> {
        let mut absences = Vec::new();
        let day = Duration::from_secs(24 * 60 * 60);
        loop {
            let ended = wait::closely(day, "the end of Open vSwitch or of the test", || {
                let ended = (!self.process.is_alive()).then(now);
                Ok((ended.is_some() || over.load(Ordering::Relaxed)).then_some(ended))
            })?;
            match ended {
                Some(ended) => absences.push(self.wait_for_return(ended)?),
                None => return Ok(absences),
            }
        }
    }

    fn wait_for_return(&mut self, ended: Duration) -> Result<Absence> {
        let (cluster, node) = (self.cluster, self.node);
        let moment = |what: &str, condition: &dyn Fn() -> Result<bool>| {
            let what = format!("Open vSwitch of {node} {what}");
            wait::closely(RETURN, &what, || Ok(condition()?.then(now)))
        };
        let accepts = moment("to accept connections", &|| Ok(UnixStream::connect(&self.socket).is_ok()))?;
        let flows_back = moment("to have its flows", &|| Ok(lasting_flows(cluster, node)? >= self.flows))?;
        let forwards = moment("to forward", &|| Ok(!is_waiting(cluster, node)?))?;
        self.process = process(cluster, node)?.with_context(|| format!("{node} has no ovs-vswitchd"))?;
        Ok(Absence { window: Window { node, from: ended, to: forwards }, accepts, flows_back })
    }
}

fn process(cluster: &Cluster<'_>, node: NodeId) -> Result<Option<ProcessId>> {
    let here = processes::in_namespace(&cluster.lab.plan().namespace(Place::Node(node))?)?;
    Ok(here.into_iter().find(|process| process.program == "ovs-vswitchd").and_then(|process| process.id()))
}

/// Without those of former Pods, which expire.
fn lasting_flows(cluster: &Cluster<'_>, node: NodeId) -> Result<u64> {
    Ok(flows(cluster, node)?.saturating_sub(flows_of_former_pods(cluster, node)?))
}

fn flows(cluster: &Cluster<'_>, node: NodeId) -> Result<u64> {
    let said = cluster.on_node(node, &["ovs-ofctl", "-O", "OpenFlow15", "dump-aggregate", BRIDGE])?;
    let count = said.split_whitespace().find_map(|word| word.strip_prefix("flow_count="));
    count.and_then(|count| count.parse().ok()).with_context(|| format!("no number of flows: {said}"))
}

/// The IPv6 address of a Pod that is gone has a flow of its own for a minute.
fn flows_of_former_pods(cluster: &Cluster<'_>, node: NodeId) -> Result<u64> {
    let table = ["ovs-ofctl", "-O", "OpenFlow15", "--names", "dump-flows", BRIDGE, "table=ConntrackZone"];
    let said = cluster.on_node(node, &table)?;
    let is_one = |flow: &&str| flow.contains("ipv6_dst=") && flow.contains("actions=drop");
    u64::try_from(said.lines().filter(is_one).count()).context("too many flows")
}

fn is_waiting(cluster: &Cluster<'_>, node: NodeId) -> Result<bool> {
    let get = ["ovs-vsctl", DATABASE, "get", "Open_vSwitch", ".", "other_config"];
    Ok(cluster.on_node(node, &get)?.contains("flow-restore-wait"))
}

/// As pings tell the time.
pub(crate) fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(windows: &[(u64, u64)], (from, to): (u64, u64), explained: bool) {
        let time = Duration::from_millis;
        let node = "c1-n1".parse().unwrap();
        let window = |(from, to): &(u64, u64)| Window { node, from: time(*from), to: time(*to) };
        let windows: Vec<Window> = windows.iter().map(window).collect();
        let loss = Loss { packets: 1, from: time(from), to: time(to) };
        assert_eq!(explain(&windows, &loss, time(10)), explained, "{from} to {to} in {windows:?}");
    }

    #[test]
    fn a_loss_is_explained_by_a_window_around_it_and_by_nothing_else() {
        check(&[], (1000, 1001), false);
        check(&[(1000, 2000)], (990, 2010), true);
        check(&[(1000, 2000)], (989, 2000), false);
        check(&[(1000, 2000)], (1000, 2011), false);
        check(&[(1000, 2000)], (2500, 2501), false);
        check(&[(1000, 2000)], (500, 501), false);
    }

    #[test]
    fn two_windows_explain_a_loss_together_where_nothing_is_between_them() {
        check(&[(1000, 2000), (2020, 3000)], (1000, 3000), true);
        check(&[(1000, 2000), (2021, 3000)], (1000, 3000), false);
    }
}
