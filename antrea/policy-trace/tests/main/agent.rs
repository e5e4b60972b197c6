//! An agent's side: what its watches send becomes rules, and the changes of its switch.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Instant;

use antrea_agent_policy::{ConjunctionIds, PolicyEvent, Reconciler, RuleCache, Watch as Watched};
use antrea_apiserver::store::{Encoding, Kind, Rounds, Selector, Store, Watch};
use antrea_pipeline::Pipeline;
use antrea_pipeline::policy::{FlowChange, PolicyFlows, Target};
use antrea_policy_reference::Cluster;
use antrea_shared_api::controlplane::Round;
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::watch::Event;
use antrea_types::PodRef;
use k8s_openapi::api::core::v1::Pod;

use crate::fault::Fault;
use crate::node::pod_port;

/// The agent of a Node. Its watches are as an HTTP connection would carry them: bytes.
pub(crate) struct Agent {
    node: String,
    encoding: Encoding,
    fault: Fault,
    watches: Vec<(Kind, Watch)>,
    cache: RuleCache,
    reconciler: Reconciler,
    flows: PolicyFlows,
    pods: BTreeMap<PodRef, Target>,
}

impl Agent {
    /// One that knows nothing yet.
    pub(crate) fn new(node: &str, encoding: Encoding, pipeline: &Pipeline, fault: Fault) -> Self {
        Self {
            node: node.to_owned(),
            encoding,
            fault,
            watches: Vec::new(),
            cache: RuleCache::default(),
            reconciler: Reconciler::new(ConjunctionIds::new([], ConjunctionIds::SHORTEST_REST)),
            flows: pipeline.policy_flows().unwrap(),
            pods: BTreeMap::new(),
        }
    }

    /// Begins all watches anew.
    pub(crate) fn connect(&mut self, store: &mut Store) {
        self.watches.clear();
        for kind in Kind::ALL {
            let watch = store.watch(kind, Selector::node(&self.node), Rounds::Told);
            self.cache.connected(watched(kind));
            for event in &watch.snapshot {
                self.receive(kind, &event.encoded(self.encoding).unwrap());
            }
            self.apply(first_bookmark(kind, watch.round.as_ref().unwrap()));
            self.watches.push((kind, watch));
        }
    }

    /// Makes of what a watch has sent since the last time, and of the Pods as they are, the changes of the switch. Other
    /// watches are late.
    pub(crate) fn follow(&mut self, kind: Kind, cluster: &Cluster) -> Vec<FlowChange> {
        let mut watches = std::mem::take(&mut self.watches);
        for (_, watch) in watches.iter_mut().filter(|(other, _)| *other == kind) {
            while let Some(event) = watch.events.next_waiting() {
                self.receive(kind, &event.encoded(self.encoding).unwrap());
            }
        }
        self.watches = watches;
        self.reconcile(cluster)
    }

    /// The changes of the switch that follow from what is known.
    pub(crate) fn reconcile(&mut self, cluster: &Cluster) -> Vec<FlowChange> {
        self.set_pods(cluster);
        let batch = self.reconciler.reconcile(&mut self.cache, Instant::now());
        let changes = self.flows.apply((self.fault.rules)(batch.changes));
        changes.into_iter().filter_map(self.fault.flow).collect()
    }

    fn receive(&mut self, kind: Kind, bytes: &[u8]) {
        let event = match kind {
            Kind::Policies => PolicyEvent::NetworkPolicy(self.decoded(bytes)),
            Kind::AddressGroups => PolicyEvent::AddressGroup(self.decoded(bytes)),
            Kind::AppliedToGroups => PolicyEvent::AppliedToGroup(self.decoded(bytes)),
        };
        self.apply(event);
    }

    fn decoded<T: antrea_shared_api::watch::Watched>(&self, bytes: &[u8]) -> Event<T> {
        let decoded = match self.encoding {
            Encoding::Json => Event::from_line(bytes),
            // Before a frame there is its length.
            Encoding::Protobuf => Event::from_frame(&bytes[4..]),
        };
        decoded.unwrap_or_else(|error| panic!("{}: {error}", self.node))
    }

    fn apply(&mut self, event: PolicyEvent) {
        self.cache.apply(event).unwrap_or_else(|refused| panic!("{}: {refused}", self.node));
    }

    /// Pods have an interface from when they have an address until they end.
    fn set_pods(&mut self, cluster: &Cluster) {
        let now: BTreeMap<PodRef, Target> =
            cluster.pods.iter().filter_map(|pod| interface(pod, &self.node)).collect();
        for pod in self.pods.keys().filter(|pod| !now.contains_key(pod)) {
            self.reconciler.set_pod(pod.clone(), &BTreeSet::new());
        }
        for (pod, target) in &now {
            self.reconciler.set_pod(pod.clone(), &BTreeSet::from([*target]));
        }
        self.pods = now;
    }
}

const fn watched(kind: Kind) -> Watched {
    match kind {
        Kind::Policies => Watched::NetworkPolicies,
        Kind::AddressGroups => Watched::AddressGroups,
        Kind::AppliedToGroups => Watched::AppliedToGroups,
    }
}

fn first_bookmark(kind: Kind, round: &Round) -> PolicyEvent {
    let mut metadata = Metadata::default();
    round.annotate(&mut metadata);
    match kind {
        Kind::Policies => PolicyEvent::NetworkPolicy(Event::Bookmark(NetworkPolicy {
            metadata,
            ..NetworkPolicy::default()
        })),
        Kind::AddressGroups => {
            PolicyEvent::AddressGroup(Event::Bookmark(AddressGroup { metadata, ..AddressGroup::default() }))
        }
        Kind::AppliedToGroups => PolicyEvent::AppliedToGroup(Event::Bookmark(AppliedToGroup {
            metadata,
            ..AppliedToGroup::default()
        })),
    }
}

fn interface(pod: &Pod, node: &str) -> Option<(PodRef, Target)> {
    let (spec, status) = (pod.spec.as_ref()?, pod.status.as_ref()?);
    let is_here = spec.node_name.as_deref() == Some(node) && spec.host_network.is_none();
    if !is_here || status.phase.as_deref() != Some("Running") {
        return None;
    }
    let ips = status.pod_ips.iter().flatten().map(|address| address.ip.parse::<IpAddr>().unwrap());
    let ips: Vec<IpAddr> = ips.collect();
    let pod = PodRef { namespace: pod.metadata.namespace.clone()?, name: pod.metadata.name.clone()? };
    Some((pod, Target { of_port: pod_port(host(ips.first()?)), ips: ips.into_iter().collect() }))
}

/// The last part of a Pod's address.
pub(crate) fn host(address: &IpAddr) -> u8 {
    match address {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(address) => address.octets()[15],
    }
}
