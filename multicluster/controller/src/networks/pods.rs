//! The networks of Pods that Nodes name, in as few networks as say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::time::Duration;

use antrea_kit::known::Known;
use antrea_kit::watch::{WatchEvent, watch as watch_objects};
use antrea_mc_member::export::PodNetworks;
use antrea_shared_api::multicluster::v1alpha1::MOST_NAMED_NETWORKS;
use anyhow::Result;
use ipnet::{IpNet, Ipv4Net};
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::Config;
use kube::{Api, Client, ResourceExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Found, tell};

/// How long a network is told of after the last Node with it: Nodes are replaced one by one, and come back.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most Nodes without a network that are named.
const NAMED: usize = 5;

/// Tells of the networks of Nodes until `stop`.
///
/// # Errors
/// Never: an API server that is away is asked again.
pub(crate) async fn of_nodes(
    client: Client,
    seen: Found,
    pods: PodNetworks,
    stop: CancellationToken,
) -> Result<()> {
    let (sender, mut events) = mpsc::channel(64);
    let watching = watch_objects(Api::all(client), Config::default(), |node| Some(read(node)), sender, stop);
    let learning = async {
        let mut nodes = Nodes::default();
        loop {
            tokio::select! {
                event = events.recv() => {
                    let Some(event) = event else { break };
                    if !nodes.learn(event) {
                        continue;
                    }
                }
                () = wait_until(nodes.due()) => {}
            }
            if pods == PodNetworks::OfNodes {
                nodes.report();
            }
            if let Some(networks) = nodes.settle(Instant::now()) {
                let networks: Vec<IpNet> = networks.iter().copied().map(IpNet::V4).collect();
                tell(&seen, &networks, "Networks of Pods that Nodes name");
            }
        }
    };
    let (watched, ()) = tokio::join!(watching, learning);
    watched
}

async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// Name and networks of a Node. Between clusters IPv4 alone is carried.
fn read(node: Node) -> (String, Vec<Ipv4Net>) {
    let name = node.name_any();
    let spec = node.spec.unwrap_or_default();
    let texts = spec.pod_cidrs.or_else(|| spec.pod_cidr.map(|one| vec![one])).unwrap_or_default();
    (
        name,
        texts.iter().filter_map(|text| text.parse().ok()).map(|network: Ipv4Net| network.trunc()).collect(),
    )
}

/// The Nodes, and the networks that they have or had.
#[derive(Debug, Default)]
struct Nodes {
    known: Known<Vec<Ipv4Net>>,
    named: BTreeSet<Ipv4Net>,
    /// Networks that no Node has any more, each with the time until which it is told.
    released: BTreeMap<Ipv4Net, Instant>,
    /// Those without a network that were reported.
    reported: BTreeSet<String>,
}

impl Nodes {
    /// Takes in what the watch tells. Whether a Node has other networks than before: heartbeats come often.
    fn learn(&mut self, event: WatchEvent<(String, Vec<Ipv4Net>)>) -> bool {
        let is_news = match &event {
            WatchEvent::Applied((name, networks)) => {
                self.known.all().and_then(|all| all.get(name)) != Some(networks)
            }
            WatchEvent::Resynced(_) | WatchEvent::Deleted(_) => true,
        };
        self.known.learn(event);
        is_news
    }

    /// What is told at `now`: all that Nodes have, and for a while what they had. Nothing before Nodes are known.
    fn settle(&mut self, now: Instant) -> Option<Vec<Ipv4Net>> {
        let named: BTreeSet<Ipv4Net> = self.known.all()?.values().flatten().copied().collect();
        for lost in self.named.difference(&named) {
            self.released.insert(*lost, now + PATIENCE);
        }
        self.released.retain(|network, until| *until > now && !named.contains(network));
        self.named = named;
        Some(few(self.named.iter().chain(self.released.keys()).copied()))
    }

    /// When the next network is told of for the last time.
    fn due(&self) -> Option<Instant> {
        self.released.values().min().copied()
    }

    /// Tells users of Nodes that name no network.
    fn report(&mut self) {
        let without = self.without();
        if without != self.reported && !without.is_empty() {
            let some: Vec<&String> = without.iter().take(NAMED).collect();
            warn!(number = without.len(), nodes = ?some, "Nodes name no network of Pods of IPv4 (spec.podCIDRs): their Pods are not exported, unless podCIDRs of the configuration says where they are");
        }
        self.reported = without;
    }

    /// The Nodes that name none.
    fn without(&self) -> BTreeSet<String> {
        let all = self.known.all().into_iter().flatten();
        all.filter(|(_, networks)| networks.is_empty()).map(|(name, _)| name.clone()).collect()
    }
}

/// The same addresses in as few networks as can be; in more addresses where these would be too many for an announce.
fn few(networks: impl Iterator<Item = Ipv4Net>) -> Vec<Ipv4Net> {
    let mut networks = Ipv4Net::aggregate(&networks.collect());
    networks.sort();
    while networks.len() > MOST_NAMED_NETWORKS {
        let Some(wider) = least_wasteful(&networks) else { break };
        networks.retain(|network| !wider.contains(network));
        let place = networks.partition_point(|network| *network < wider);
        networks.insert(place, wider);
    }
    networks
}

/// The network around two neighbours with the fewest addresses of neither.
fn least_wasteful(sorted: &[Ipv4Net]) -> Option<Ipv4Net> {
    let size = |network: &Ipv4Net| 1_u64 << (32 - u32::from(network.prefix_len()));
    let candidates = sorted.windows(2).filter_map(|pair| {
        let [one, other] = pair else { return None };
        let wider = around(*one, other);
        Some((size(&wider).saturating_sub(size(one) + size(other)), wider))
    });
    candidates.min().map(|(_, wider)| wider)
}

fn around(one: Ipv4Net, other: &Ipv4Net) -> Ipv4Net {
    let mut wider = one;
    while !wider.contains(other) {
        let Some(next) = wider.supernet() else { break };
        wider = next;
    }
    wider
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of `NAME NETWORK…`.
    fn nodes(lines: &str) -> WatchEvent<(String, Vec<Ipv4Net>)> {
        let node = |line: &str| {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap();
            let networks: Vec<&str> = words.collect();
            let text =
                format!("{{metadata: {{name: {name}}}, spec: {{podCIDRs: ['{}']}}}}", networks.join("', '"));
            read(serde_saphyr::from_str(&text).unwrap())
        };
        WatchEvent::Resynced(lines.lines().filter(|line| !line.trim().is_empty()).map(node).collect())
    }

    fn text(networks: &[Ipv4Net]) -> String {
        networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    /// What is told of Nodes, and which have no network.
    fn check(lines: &str) -> String {
        let mut known = Nodes::default();
        assert!(known.learn(nodes(lines)));
        let told = text(&known.settle(Instant::now()).unwrap());
        let without: Vec<String> = known.without().into_iter().collect();
        if without.is_empty() { told } else { format!("{told} without {}", without.join(" ")) }
    }

    #[test]
    fn nodes_say_which_networks_pods_have() {
        assert_eq!(check("a 10.10.0.0/24\nb 10.10.1.0/24\nc 10.10.2.0/24\nd 10.10.3.0/24"), "10.10.0.0/22");
        assert_eq!(check("a 10.10.1.0/24\nb 10.10.2.0/24"), "10.10.1.0/24 10.10.2.0/24");
        assert_eq!(check("a fd00:10::/64 10.10.7.1/24"), "10.10.7.0/24");
        assert_eq!(check("a 10.10.1.0/24\nb fd00:10::/64\nc"), "10.10.1.0/24 without b c");
        assert_eq!(check(""), "");
    }

    #[test]
    fn many_scattered_networks_are_told_in_few_that_have_all_of_them() {
        let all: Vec<String> =
            (0..200).map(|number| format!("10.{number}.{}.0/24", number * 7 % 256)).collect();
        let lines: Vec<String> =
            all.iter().enumerate().map(|(node, network)| format!("n{node} {network}")).collect();
        let told = check(&lines.join("\n"));
        let told: Vec<Ipv4Net> = told.split(' ').map(|network| network.parse().unwrap()).collect();
        assert!(told.len() <= MOST_NAMED_NETWORKS, "{} networks", told.len());
        for network in all {
            let network: Ipv4Net = network.parse().unwrap();
            assert!(
                told.iter().any(|told| told.contains(&network)),
                "{network} is in none of {}",
                text(&told)
            );
        }
        let near = ["10.0.0.0/24", "10.0.2.0/24"];
        let far = (0..63).map(|number| format!("{}.0.0.0/24", 20 + 2 * number));
        let lines = near.map(str::to_owned).into_iter().chain(far).enumerate();
        let lines: Vec<String> = lines.map(|(node, network)| format!("n{node} {network}")).collect();
        let told = check(&lines.join("\n"));
        assert!(told.starts_with("10.0.0.0/22 20.0.0.0/24 "), "those that are near go together: {told}");
    }

    #[test]
    fn what_comes_is_told_at_once_and_what_goes_after_a_while() {
        let (mut known, now) = (Nodes::default(), Instant::now());
        let mut told = |lines: &str, second: u64| {
            known.learn(nodes(lines));
            text(&known.settle(now + Duration::from_secs(second)).unwrap())
        };
        assert_eq!(told("a 10.10.0.0/24\nb 10.10.4.0/24", 0), "10.10.0.0/24 10.10.4.0/24");
        assert_eq!(told("a 10.10.0.0/24", 1), "10.10.0.0/24 10.10.4.0/24");
        assert_eq!(told("a 10.10.0.0/24\nc 10.10.8.0/24", 30), "10.10.0.0/24 10.10.4.0/24 10.10.8.0/24");
        assert_eq!(told("a 10.10.0.0/24\nc 10.10.8.0/24", 61), "10.10.0.0/24 10.10.8.0/24");
        assert_eq!(told("a 10.10.0.0/24", 62), "10.10.0.0/24 10.10.8.0/24");
        assert_eq!(told("a 10.10.0.0/24\nc 10.10.8.0/24", 63), "10.10.0.0/24 10.10.8.0/24", "it is back");
        assert_eq!(known.due(), None);
    }

    #[test]
    fn each_network_is_told_for_as_long_whatever_goes_before_it() {
        let (mut known, now) = (Nodes::default(), Instant::now());
        let at = |second| now + Duration::from_secs(second);
        let mut told = |lines: &str, second: u64| {
            known.learn(nodes(lines));
            text(&known.settle(at(second)).unwrap())
        };
        told("a 10.10.0.0/24\nb 10.10.4.0/24\nc 10.10.8.0/24", 0);
        told("a 10.10.0.0/24\nb 10.10.4.0/24", 0);
        assert_eq!(told("a 10.10.0.0/24", 59), "10.10.0.0/24 10.10.4.0/24 10.10.8.0/24");
        assert_eq!(told("a 10.10.0.0/24", 60), "10.10.0.0/24 10.10.4.0/24");
        assert_eq!(told("a 10.10.0.0/24", 118), "10.10.0.0/24 10.10.4.0/24");
        assert_eq!(told("a 10.10.0.0/24", 119), "10.10.0.0/24");
        assert_eq!(known.due(), None);
    }

    #[test]
    fn heartbeats_of_nodes_are_no_news() {
        let mut known = Nodes::default();
        let node = |network: &str| WatchEvent::Applied(("a".to_owned(), vec![network.parse().unwrap()]));
        known.learn(nodes("a 10.10.0.0/24"));
        assert!(!known.learn(node("10.10.0.0/24")));
        assert!(known.learn(node("10.10.1.0/24")));
    }
}
