//! A Node that is told lines, and tells what its switch has to change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::{Duration, Instant};

use antrea_agent_policy::{ConjunctionIds, Reconciler};
use antrea_pipeline::policy::{
    ConjunctionId, Peers, PolicyRule, Ports, RuleChanges, Sender, Service, Services, Target, Traffic,
};
use antrea_types::{OfPort, PodRef};
use ipnet::IpNet;

use crate::script::Script;

/// Watches that have sent nothing but that there is nothing.
const EMPTY: &str = "np BOOKMARK\nag BOOKMARK\natg BOOKMARK";

/// Three Pods of the Node, in groups, and a group of Pods elsewhere.
pub(crate) const PODS: &str = "\
pod n/a 1 10.0.0.1,fd00::1
pod n/b 2 10.0.0.2
pod n/c 3 10.0.0.3
atg ADDED a n/a
atg ADDED ab n/a n/b
ag ADDED g n/y=10.0.1.1 n/z=10.0.1.2,fd01::2";

/// Beside what the cache is told, lines are `pod n/a 1 10.0.0.1,fd00::1`, the ports and addresses that a Pod has now,
/// `unknown 1 10.0.0.1`, the interfaces of Pods that nothing is known of, and `wait 5`.
pub(crate) struct Node {
    pub(crate) script: Script,
    pub(crate) reconciler: Reconciler,
    /// What the switch has.
    pub(crate) switch: BTreeMap<ConjunctionId, PolicyRule>,
    /// How many rules were looked at for the last changes.
    pub(crate) planned: usize,
    now: Instant,
}

impl Default for Node {
    fn default() -> Self {
        let ids = ConjunctionIds::new([], ConjunctionIds::SHORTEST_REST);
        Self {
            script: Script::default(),
            reconciler: Reconciler::new(ids),
            switch: BTreeMap::new(),
            planned: 0,
            now: Instant::now(),
        }
    }
}

impl Node {
    /// A Node whose switch has what these lines lead to.
    #[track_caller]
    pub(crate) fn told(lines: &str) -> Self {
        let mut node = Self::default();
        node.tell(EMPTY);
        node.tell(lines);
        node.reconcile();
        node.reconciler.confirm();
        node
    }

    #[track_caller]
    pub(crate) fn tell(&mut self, lines: &str) {
        for line in lines.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            match words[..] {
                ["wait", seconds] => self.now += Duration::from_secs(seconds.parse().unwrap()),
                ["pod", pod, ref interfaces @ ..] => {
                    self.reconciler.set_pod(pod_ref(pod), &targets(interfaces));
                }
                ["unknown", ref interfaces @ ..] => self.reconciler.set_unknown(targets(interfaces)),
                _ => self.script.tell(line),
            }
        }
    }

    /// Changes the switch, and returns how.
    #[track_caller]
    pub(crate) fn reconcile(&mut self) -> RuleChanges {
        let batch = self.reconciler.reconcile(&mut self.script.cache, self.now);
        self.planned = batch.planned;
        for (id, rule) in batch.changes.clone() {
            let old = match rule.clone() {
                Some(rule) => self.switch.insert(id, rule),
                None => self.switch.remove(&id),
            };
            assert_ne!(old, rule, "number {id} does not change");
        }
        batch.changes
    }

    /// What changes when these lines are told.
    #[track_caller]
    pub(crate) fn check(&mut self, lines: &str, expected: &[&str]) {
        self.tell(lines);
        let changes: Vec<_> = self.reconcile().iter().map(shown).collect();
        assert_eq!(changes, expected, "after {lines}");
    }
}

/// What the switch has after these lines.
#[track_caller]
pub(crate) fn check(lines: &str, expected: &[&str]) {
    let mut node = Node::default();
    node.tell(EMPTY);
    node.check(&format!("{PODS}\n{lines}"), expected);
}

fn pod_ref(text: &str) -> PodRef {
    let (namespace, name) = text.split_once('/').unwrap();
    PodRef { namespace: namespace.to_owned(), name: name.to_owned() }
}

fn targets(words: &[&str]) -> BTreeSet<Target> {
    let target = |words: &[&str]| Target {
        of_port: OfPort(words[0].parse().unwrap()),
        ips: words[1].split(',').map(|ip| ip.parse::<std::net::IpAddr>().unwrap()).collect(),
    };
    words.chunks(2).map(target).collect()
}

/// `2 in 1 from 10.0.1.1 on TCP:80`, with the ports of the bridge that the targets are at.
fn shown((id, rule): (&ConjunctionId, &Option<PolicyRule>)) -> String {
    let Some(rule) = rule else { return format!("{id} gone") };
    let targets = list(rule.targets.iter().map(|target| target.of_port));
    let traffic = match &rule.traffic {
        Traffic::From(peers) => format!(
            "in {targets} from {}",
            these(peers, |sender| match sender {
                Sender::Net(net) => network(net),
                Sender::Port(port) => format!("port-{port}"),
            })
        ),
        Traffic::To(peers) => format!("out {targets} to {}", these(peers, network)),
    };
    let services = match &rule.services {
        Services::Any => String::new(),
        Services::Only(services) if services.is_empty() => " on nothing".to_owned(),
        Services::Only(services) => format!(" on {}", list(services.iter().map(service))),
    };
    format!("{id} {traffic}{services}")
}

fn these<T>(peers: &Peers<T>, show: impl Fn(&T) -> String) -> String {
    match peers {
        Peers::Any => "any".to_owned(),
        Peers::Only(peers) if peers.is_empty() => "nobody".to_owned(),
        Peers::Only(peers) => list(peers.iter().map(show)),
    }
}

fn network(network: &IpNet) -> String {
    if network.prefix_len() == network.max_prefix_len() {
        network.addr().to_string()
    } else {
        network.to_string()
    }
}

fn service(service: &Service) -> String {
    match service.ports {
        Ports::Any => service.protocol.to_string(),
        Ports::Range(range) => format!("{}:{range}", service.protocol),
    }
}

fn list(words: impl Iterator<Item = impl Display>) -> String {
    words.map(|word| word.to_string()).collect::<Vec<_>>().join(",")
}
