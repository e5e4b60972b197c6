//! Keeps `node.antrea.io/tunnel-sources` of the own Node: peers take packets of the tunnel from addresses that they know alone,
//! and the kernel may send from others, by its routes. Most Nodes have no such address, and no annotation.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use antrea_agent_routing::{MAX_TUNNEL_SOURCES, NodeRoutes, OwnSources};
use antrea_host::{AddressWatch, Netlink, NetlinkError};
use antrea_types::NodeName;
use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::watch;
use tokio::time::{Instant, interval_at, sleep};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::node::annotate_tunnel_sources;

/// How often the kernel is asked again though it has told of no change.
const PERIOD: Duration = Duration::from_secs(60);

/// How long changes are gathered before the kernel is asked again, and so much longer for each peer: each Pod brings a link.
const BURST: Duration = Duration::from_secs(1);
const BURST_PER_PEER: Duration = Duration::from_millis(2);

/// The pause after a write of the annotation, successful or not: every Node receives the update. It doubles with each write as long as
/// they come within [`KEPT`] of each other, since what peers say of themselves decides which routes are asked for.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(160);

/// How long an address stays in the annotation after the kernel last chose it, so that a flapping route causes no writes.
const KEPT: Duration = Duration::from_secs(3600);

/// Where tunnels of this Node come from.
pub(crate) struct TunnelSources {
    node: NodeName,
    client: Client,
    netlink: Netlink,
    changes: AddressWatch,
    routes: watch::Receiver<NodeRoutes>,
    /// By where they go, as the kernel has said.
    sources: BTreeMap<IpAddr, Option<IpAddr>>,
    told: Told,
    pace: Pace,
}

/// When the annotation was written last, and how long nobody writes it after that.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    written: Option<(Instant, Duration)>,
}

/// Addresses in the annotation, each with the time when the kernel last chose it.
#[derive(Debug, Default)]
struct Told {
    seen: BTreeMap<IpAddr, Instant>,
}

impl TunnelSources {
    pub(crate) fn new(
        node: NodeName,
        client: Client,
        netlink: Netlink,
        routes: watch::Receiver<NodeRoutes>,
    ) -> Result<Self> {
        let changes = AddressWatch::with_routes().context("cannot watch the routes of this Node")?;
        let said = routes.borrow().own_sources.clone().and_then(|own| own.annotation);
        let told = Told::by_predecessor(said.as_deref(), Instant::now());
        let (sources, pace) = (BTreeMap::new(), Pace::default());
        Ok(Self { node, client, netlink, changes, routes, sources, told, pace })
    }

    /// Keeps the annotation until `stop`.
    pub(crate) async fn keep(mut self, stop: CancellationToken) -> Result<()> {
        stop.run_until_cancelled(self.follow()).await.unwrap_or(Ok(()))
    }

    async fn follow(&mut self) -> Result<()> {
        // Not anew after each change, as changes could put it off for ever.
        let mut look = interval_at(Instant::now() + PERIOD, PERIOD);
        loop {
            if let Err(error) = self.annotate().await {
                warn!(
                    error = format!("{error:#}"),
                    "Peers were not told where tunnels of this Node come from"
                );
                sleep(PAUSE).await;
                continue;
            }
            tokio::select! {
                // Who computes routes ends before this component does.
                Ok(()) = self.routes.changed() => {}
                changed = self.changes.changed() => {
                    changed.context("the routes of this Node cannot be followed")?;
                    let peers = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
                    sleep(BURST.saturating_add(BURST_PER_PEER.saturating_mul(peers))).await;
                    self.sources.clear();
                }
                _ = look.tick() => self.sources.clear(),
            }
        }
    }

    /// Changes the annotation if it is not what it has to be.
    async fn annotate(&mut self) -> Result<()> {
        let routes = self.routes.borrow_and_update().clone();
        let Some(own) = &routes.own_sources else { return Ok(()) };
        let sources = self.sources_to(&routes).await.context("cannot ask for routes to peers")?;
        let now = Instant::now();
        let wanted = self.told.annotation(&sources, own, now);
        if wanted == own.annotation {
            return Ok(());
        }
        if self.told.seen.len() > MAX_TUNNEL_SOURCES {
            let seen: Vec<_> = self.told.seen.keys().collect();
            warn!(
                ?seen,
                most = MAX_TUNNEL_SOURCES,
                "Tunnels came from more addresses within an hour than peers accept"
            );
        }
        let written = annotate_tunnel_sources(&self.client, &self.node, wanted.as_deref()).await;
        sleep(self.pace.after_a_write(now)).await;
        written
    }

    /// Asks the kernel only about remotes that are not cached. Addresses of Pod networks are ignored: a route through the gateway
    /// does not lead to a Node.
    async fn sources_to(&mut self, routes: &NodeRoutes) -> Result<BTreeSet<IpAddr>, NetlinkError> {
        let remotes = routes.remotes();
        self.sources.retain(|remote, _| remotes.contains(remote));
        for remote in remotes {
            if !self.sources.contains_key(&remote) {
                self.sources.insert(remote, self.netlink.source_to(remote).await?);
            }
        }
        let mut sources: BTreeSet<IpAddr> = self.sources.values().flatten().copied().collect();
        sources.retain(|address| !routes.known.pod_cidrs.iter().any(|cidr| cidr.contains(address)));
        Ok(sources)
    }
}

impl Pace {
    fn after_a_write(&mut self, now: Instant) -> Duration {
        let recent = self.written.filter(|(at, _)| now.saturating_duration_since(*at) < KEPT);
        let pause = recent.map_or(PAUSE, |(_, pause)| LONGEST_PAUSE.min(pause.saturating_mul(2)));
        self.written = Some((now, pause));
        pause
    }
}

impl Told {
    /// What an agent before this one has said.
    fn by_predecessor(annotation: Option<&str>, now: Instant) -> Self {
        let said = annotation.into_iter().flat_map(|list| list.split(','));
        let said = said.filter_map(|text| text.trim().parse().ok());
        Self { seen: said.map(|address| (address, now)).collect() }
    }

    /// The annotation's value: the most recent sources that peers do not know anyway.
    fn annotation(&mut self, sources: &BTreeSet<IpAddr>, own: &OwnSources, now: Instant) -> Option<String> {
        self.seen.extend(sources.iter().map(|address| (*address, now)));
        self.seen.retain(|address, seen| {
            !own.known.contains(address) && now.saturating_duration_since(*seen) < KEPT
        });
        let mut last: Vec<_> = self.seen.iter().map(|(address, seen)| (*seen, *address)).collect();
        last.sort_by_key(|(seen, address)| (std::cmp::Reverse(*seen), *address));
        let told: BTreeSet<IpAddr> =
            last.into_iter().take(MAX_TUNNEL_SOURCES).map(|(_, address)| address).collect();
        let told: Vec<String> = told.iter().map(ToString::to_string).collect();
        (!told.is_empty()).then(|| told.join(","))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use antrea_agent_routing::{NodeRecord, OwnNode, TrafficMode, TunnelProtocol, plan};
    use antrea_hostplan::Transport;
    use antrea_kit::object_files;
    use antrea_shared_api::well_known::node_annotation::TUNNEL_SOURCES;
    use ipnet::IpNet;
    use k8s_openapi::api::core::v1::Node;
    use kube::Api;

    use super::*;
    use crate::isolated::{isolated, sh};
    use crate::node_routes::record;

    fn own() -> OwnNode {
        OwnNode {
            name: "node-a".parse().unwrap(),
            pod_cidrs: ["10.11.0.0/24".parse::<IpNet>().unwrap()].into_iter().collect(),
            gateway: "antrea-gw0".parse().unwrap(),
            transport: Transport {
                interface: "one".parse().unwrap(),
                addresses: ["172.18.0.11/24".parse::<IpNet>().unwrap()].into_iter().collect(),
            },
            mode: TrafficMode::Encap,
            tunnel: TunnelProtocol::Geneve,
        }
    }

    /// What an agent before has told.
    const BEFORE: &str = "192.0.2.7";

    fn node(name: &str, address: &str, pod_cidr: &str) -> Node {
        serde_json::from_value(serde_json::json!({
            "metadata": { "name": name, "annotations": { TUNNEL_SOURCES: BEFORE } },
            "spec": { "podCIDRs": [pod_cidr] },
            "status": { "addresses": [{ "type": "InternalIP", "address": address }] },
        }))
        .unwrap()
    }

    /// What is planned while the own Node has that annotation.
    fn routes(annotation: Option<&str>) -> NodeRoutes {
        let nodes = [("node-a", "172.18.0.11", "10.11.0.0/24"), ("node-b", "172.18.0.12", "10.11.1.0/24")];
        let mut nodes: Vec<NodeRecord> =
            nodes.into_iter().filter_map(|(name, address, cidr)| record(node(name, address, cidr))).collect();
        nodes[0].tunnel_sources = annotation.map(str::to_owned);
        plan(&own(), &nodes)
    }

    async fn annotation(client: &Client) -> Option<String> {
        let node = Api::<Node>::all(client.clone()).get("node-a").await.unwrap();
        node.metadata.annotations.unwrap_or_default().remove(TUNNEL_SOURCES)
    }

    async fn becomes(client: &Client, expected: &str) {
        for _ in 0..10_000 {
            if annotation(client).await.as_deref() == Some(expected) {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
        panic!("it is {:?}, not {expected}", annotation(client).await);
    }

    #[test]
    fn peers_are_told_of_addresses_that_they_do_not_know_and_of_no_others() {
        isolated("tunnel sources", async || {
            sh("ip link add one type bridge; ip link set one up; ip address add 172.18.0.11/24 dev one");
            let folder = tempfile::tempdir().unwrap();
            let node = serde_json::to_string(&node("node-a", "172.18.0.11", "10.11.0.0/24")).unwrap();
            std::fs::write(folder.path().join("node.yaml"), node).unwrap();
            let client = object_files::client(folder.path()).unwrap();
            let (told, receiver) = watch::channel(routes(Some(BEFORE)));
            let netlink = Netlink::current().unwrap();
            let mut sources =
                TunnelSources::new("node-a".parse().unwrap(), client.clone(), netlink, receiver).unwrap();
            sources.annotate().await.unwrap();
            assert_eq!(annotation(&client).await.as_deref(), Some(BEFORE));
            sh("ip address add 10.11.0.1/32 dev one; ip route add 172.18.0.12/32 dev one src 10.11.0.1");
            sources.sources.clear();
            sources.annotate().await.unwrap();
            assert_eq!(annotation(&client).await.as_deref(), Some(BEFORE), "it is no Pod's");
            tokio::time::pause();
            let stop = CancellationToken::new();
            let keeping = tokio::spawn(sources.keep(stop.clone()));
            sleep(Duration::from_secs(10)).await;
            sh("ip address add 192.0.2.11/32 dev one");
            sh("ip route replace 172.18.0.12/32 dev one src 192.0.2.11");
            let both = "192.0.2.7,192.0.2.11";
            let begin = Instant::now();
            becomes(&client, both).await;
            told.send_replace(routes(Some(both)));
            sleep(PERIOD * 3).await;
            sh("ip address delete 192.0.2.11/32 dev one");
            becomes(&client, "192.0.2.11").await;
            assert!(begin.elapsed() > Duration::from_secs(3500), "{:?}", begin.elapsed());
            let added = Some("192.0.2.11,198.51.100.1");
            annotate_tunnel_sources(&client, &"node-a".parse().unwrap(), added).await.unwrap();
            told.send_replace(routes(added));
            becomes(&client, "192.0.2.11").await;
            stop.cancel();
            keeping.await.unwrap().unwrap();
        });
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// What is told while the kernel sends from `sources`, so many seconds after the begin.
    fn check(told: &mut Told, begin: Instant, seconds: u64, sources: &[&str], expected: Option<&str>) {
        let own = OwnSources { known: ["172.18.0.11", "fd00:18::b"].map(ip).into(), annotation: None };
        let sources = sources.iter().map(|text| ip(text)).collect();
        let told = told.annotation(&sources, &own, begin + Duration::from_secs(seconds));
        assert_eq!(told.as_deref(), expected, "after {seconds} s");
    }

    #[test]
    fn what_tunnels_came_from_within_the_last_hour_is_told() {
        let begin = Instant::now();
        let mut told = Told::default();
        check(&mut told, begin, 0, &["172.18.0.11", "fd00:18::b"], None);
        check(&mut told, begin, 10, &["172.18.0.11", "192.0.2.1"], Some("192.0.2.1"));
        check(&mut told, begin, 20, &["192.0.2.2", "fd00:18::9"], Some("192.0.2.1,192.0.2.2,fd00:18::9"));
        check(&mut told, begin, 3609, &["192.0.2.2"], Some("192.0.2.1,192.0.2.2,fd00:18::9"));
        check(&mut told, begin, 3610, &["192.0.2.2"], Some("192.0.2.2,fd00:18::9"));
        check(&mut told, begin, 3620, &["192.0.2.2"], Some("192.0.2.2"));
    }

    #[test]
    fn what_an_agent_before_has_told_stays_for_an_hour_if_it_was_an_address() {
        let begin = Instant::now();
        let mut told = Told::by_predecessor(Some("192.0.2.7, eth0,172.18.0.11,fd00:18::7"), begin);
        check(&mut told, begin, 3599, &["172.18.0.11"], Some("192.0.2.7,fd00:18::7"));
        check(&mut told, begin, 3600, &["172.18.0.11"], None);
    }

    #[test]
    fn of_too_many_sources_those_of_now_are_told_before_others() {
        let begin = Instant::now();
        let mut told = Told::default();
        check(&mut told, begin, 0, &["192.0.2.1", "192.0.2.2"], Some("192.0.2.1,192.0.2.2"));
        let now = ["192.0.2.5", "192.0.2.6", "192.0.2.7"];
        check(&mut told, begin, 1, &now, Some("192.0.2.1,192.0.2.5,192.0.2.6,192.0.2.7"));
    }

    #[test]
    fn the_pause_after_a_write_doubles_while_writes_go_on() {
        let (mut pace, begin) = (Pace::default(), Instant::now());
        let mut check = |seconds, expected| {
            let pause = pace.after_a_write(begin + Duration::from_secs(seconds));
            assert_eq!(pause, Duration::from_secs(expected), "after {seconds} s");
        };
        let writes = [(0, 5), (3, 10), (20, 20), (60, 40), (200, 80), (400, 160), (800, 160), (4399, 160)];
        for (seconds, expected) in writes {
            check(seconds, expected);
        }
        check(8000, 5);
    }
}
