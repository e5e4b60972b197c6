//! Policies and the Pods of this Node, together: whatever changes of either changes the switch, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use antrea_agent_cni::interface::ContainerInterface;
use antrea_agent_policy::{ConjunctionIds, Reconciler, RuleCache, Statistics, StoredObject, Traffic};
use antrea_ovs::openflow::OpenFlowError;
use antrea_ovs::{Asked, FlowEdit, Switch};
use antrea_pipeline::PodInterface;
use antrea_pipeline::policy::{FlowChange, PolicyFlows, Target};
use antrea_types::{InterfaceName, NodeName, PodRef, PodUid};
use tokio::sync::watch;
use tracing::{info, warn};

use super::statuses::Reports;

/// The set of flows of all policies.
pub(super) const KEY: &str = "policies";

/// Whether it is known what policies want of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Since it is here, the controller has said what there is, and knew it.
    Known,
    /// It came while the controller was away and did not know it yet; or what was known of it is lost.
    Unknown,
}

/// Whether the controller says what there is, to this Node and to those of its Pods' peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Presence {
    /// It never has: nobody admits Pods by their addresses.
    #[default]
    Never,
    /// It has, and does not just now.
    Away,
    /// It does.
    There,
}

/// A Pod's interface.
#[derive(Debug)]
struct Attached {
    pod: PodRef,
    uid: Option<PodUid>,
    /// None while it has no number on the bridge.
    target: Option<Target>,
    standing: Standing,
}

/// What the controller says, what Pods there are, and what the switch was told of both.
pub(super) struct Enforcement {
    pub(super) cache: RuleCache,
    reconciler: Reconciler,
    flows: PolicyFlows,
    switch: Switch,
    presence: watch::Sender<Presence>,
    pods: BTreeMap<InterfaceName, Attached>,
    /// Those of which nothing was known, and is now.
    resolved: BTreeSet<InterfaceName>,
    /// The number of the last step.
    asked: u64,
    /// The number of the last step after which the switch had all that it was asked for.
    done: u64,
}

/// Something that the switch was asked for.
pub(super) struct Step {
    number: u64,
    asked: Asked,
}

/// What has become of it.
pub(super) struct Outcome {
    number: u64,
    pub(super) result: Result<(), OpenFlowError>,
}

impl Step {
    pub(super) async fn done(self) -> Outcome {
        Outcome { number: self.number, result: self.asked.done().await }
    }
}

impl Enforcement {
    pub(super) fn new(ids: ConjunctionIds, flows: PolicyFlows, switch: Switch) -> Self {
        Self {
            cache: RuleCache::default(),
            reconciler: Reconciler::new(ids),
            flows,
            switch,
            presence: watch::Sender::default(),
            pods: BTreeMap::new(),
            resolved: BTreeSet::new(),
            asked: 0,
            done: 0,
        }
    }

    /// Whether the controller is there, as that changes.
    pub(super) fn presence(&self) -> watch::Receiver<Presence> {
        self.presence.subscribe()
    }

    /// The watches have said something, or ended.
    pub(super) fn note_presence(&self) {
        let current = self.cache.is_current();
        self.presence.send_if_modified(|presence| {
            let now = match *presence {
                _ if current => Presence::There,
                Presence::There => Presence::Away,
                before => before,
            };
            std::mem::replace(presence, now) != now
        });
    }

    /// A controller was there before this agent.
    pub(super) fn expect_controller(&self) {
        self.presence.send_replace(Presence::Away);
    }

    /// Whether an interface is known, and whether what policies want of it is.
    pub(super) fn standing(&self, name: &InterfaceName) -> Option<Standing> {
        self.pods.get(name).map(|attached| attached.standing)
    }

    pub(super) fn attach(
        &mut self,
        name: &InterfaceName,
        container: &ContainerInterface,
        interface: Option<&PodInterface>,
        standing: Standing,
    ) {
        let (pod, uid) = (&container.pod, container.pod_uid.clone());
        let target = interface.map(|interface| Target { of_port: interface.of_port, ips: interface.ips });
        let attached = Attached { pod: pod.clone(), uid, target, standing };
        let before = self.pods.insert(name.clone(), attached);
        if let Some(other) = before.map(|before| before.pod).filter(|before| before != pod) {
            self.tell_interfaces(other);
        }
        self.tell_interfaces(pod.clone());
    }

    pub(super) fn detach(&mut self, name: &InterfaceName) {
        if let Some(attached) = self.pods.remove(name) {
            self.tell_interfaces(attached.pod);
        }
    }

    /// Policies name Pods: they are not about one of which nothing is known, but about one that had its name before.
    fn tell_interfaces(&mut self, pod: PodRef) {
        let known = self.pods.values().filter(|attached| attached.standing == Standing::Known);
        let of_pod = known.filter(|attached| attached.pod == pod);
        let targets = of_pod.filter_map(|attached| attached.target).collect();
        self.reconciler.set_pod(pod, &targets);
    }

    /// Asks the switch for what has changed, if anything has. Nothing is asked before policies are known.
    pub(super) fn advance(&mut self) -> Option<Step> {
        self.resolve();
        self.reconciler.set_unknown(self.unknown());
        let batch = self.reconciler.reconcile(&mut self.cache, Instant::now());
        let changes = self.flows.apply(batch.changes);
        if changes.is_empty() {
            self.confirm();
            return None;
        }
        self.asked += 1;
        let edits = changes.into_iter().map(edit).collect();
        Some(Step { number: self.asked, asked: self.switch.edit(KEY, edits) })
    }

    /// Asks once more for what was refused, if anything was: the switch may take it now.
    pub(super) fn ask_again(&mut self) -> Option<Step> {
        let refused = self.done < self.asked;
        refused.then(|| Step { number: self.asked, asked: self.switch.edit(KEY, Vec::new()) })
    }

    fn resolve(&mut self) {
        let mut pods = Vec::new();
        for (name, attached) in &mut self.pods {
            if attached.standing == Standing::Unknown && self.cache.knows(attached.uid.as_ref()) {
                attached.standing = Standing::Known;
                self.resolved.insert(name.clone());
                pods.push(attached.pod.clone());
            }
        }
        pods.into_iter().for_each(|pod| self.tell_interfaces(pod));
    }

    /// The Pods of which something is known since this was asked last.
    pub(super) fn take_resolved(&mut self) -> BTreeSet<InterfaceName> {
        std::mem::take(&mut self.resolved)
    }

    /// That something is known of these Pods is still to be told.
    pub(super) fn put_back_resolved(&mut self, names: BTreeSet<InterfaceName>) {
        self.resolved.extend(names);
    }

    /// Those about which not all is known.
    fn unknown(&self) -> BTreeSet<Target> {
        let unknown = self.pods.values().filter(|attached| attached.standing == Standing::Unknown);
        unknown.filter_map(|attached| attached.target).collect()
    }

    /// Notes what has become of a step. Steps are done in their order; one that succeeds also says that nothing before it is
    /// refused any more.
    pub(super) fn settle(&mut self, outcome: &Outcome) {
        match &outcome.result {
            Ok(()) => {
                self.done = self.done.max(outcome.number);
                self.confirm();
            }
            Err(error) => {
                warn!(
                    error = error as &dyn std::error::Error,
                    "Open vSwitch refuses a part of policies; trying again"
                );
                self.reconciler.refuse(error.to_string());
            }
        }
    }

    fn confirm(&mut self) {
        if self.done == self.asked {
            self.reconciler.confirm();
        }
    }

    /// What the controller is told of policies.
    pub(super) fn reports(&self, node: &NodeName) -> Reports {
        self.reconciler.reports(&self.cache, node)
    }

    /// Counts what came for the policies that have let it through.
    pub(super) fn attribute(&self, statistics: &mut Statistics, traffic: Traffic) {
        statistics.attribute(traffic, &self.reconciler, &self.cache);
    }

    /// Whether the switch shall have flows of policies.
    pub(super) fn has_rules(&self) -> bool {
        !self.flows.rules().is_empty()
    }

    /// What an earlier agent left in the switch is gone.
    pub(super) fn forget_earlier(&mut self) {
        self.reconciler.forget_foreign(Instant::now());
    }

    /// Nothing is known of any Pod, until the controller is back.
    pub(super) fn doubt(&mut self) {
        self.pods.values_mut().for_each(|attached| attached.standing = Standing::Unknown);
        let pods: BTreeSet<PodRef> = self.pods.values().map(|attached| attached.pod.clone()).collect();
        pods.into_iter().for_each(|pod| self.tell_interfaces(pod));
        self.cache.restore(Vec::new());
    }

    /// Takes up what an earlier agent has stored.
    pub(super) fn restore(&mut self, objects: Vec<StoredObject>) {
        info!(objects = objects.len(), "The controller is away: stored policies are enforced");
        self.cache.restore(objects);
    }
}

fn edit(change: FlowChange) -> FlowEdit {
    match change {
        FlowChange::Add(flow) | FlowChange::Modify(flow) => FlowEdit::Put(flow),
        FlowChange::Delete(flow) => FlowEdit::Remove(flow),
    }
}
