//! NetworkPolicies, computed for agents: what the watches tell goes into the index, and what changes by that into the
//! store that agents watch.

mod change;
mod evaluation;
mod first_round;
mod metrics;
mod realization;
mod run;
mod stats;
mod watched_pod;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antrea_apiserver::store::Kind as StoreKind;
use antrea_apiserver::{CannotEvaluate, CannotReport, SharedStore};
use antrea_index::{Index, Kind};
use antrea_kit::metrics::Page;
use antrea_kit::query::Query;
use antrea_kit::server::{Answer, print_evicted};
use antrea_kit::status::status;
use antrea_kit::watch::WatchEvent;
use antrea_policy::{PolicyUpdate, Uid, Update};
use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyEvaluationRequest, NetworkPolicyEvaluationResponse, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::stats::v1alpha1::NetworkPolicyStats;
use hyper::StatusCode;
use jiff::Timestamp;
use tokio::sync::mpsc::{Receiver, Sender, WeakSender, channel};
use tracing::info;

use antrea_controller::endpoint_query;
use change::Change;
use metrics::Computed;
use realization::{NodesUnknown, Realization};
pub(crate) use run::run;
use stats::Tallies;

/// How many changes wait, and how many are taken in at once.
const BATCH: usize = 512;

const STILL_FILLING: &str =
    "antrea-controller does not know all Namespaces, Pods and NetworkPolicies yet; try again";

/// What is computed, and from what.
pub(crate) struct Computation {
    store: SharedStore,
    state: Mutex<State>,
    /// Where changes wait.
    queue: WeakSender<Change>,
}

/// Where the watches put changes, and where the computation takes them from.
pub(crate) struct Queue {
    sender: Sender<Change>,
    receiver: Receiver<Change>,
}

struct State {
    index: Index,
    /// Kinds of which nobody knows yet which objects there are.
    missing: Vec<Kind>,
    records: Records,
}

/// What is kept of each policy beside itself, and what was computed.
#[derive(Default)]
struct Records {
    tallies: Tallies,
    realization: Realization,
    computed: Computed,
}

impl Records {
    fn learn(&mut self, update: &Update, now: Timestamp) {
        self.computed.learn(update);
        match update {
            Update::Policy(PolicyUpdate::Added { policy, .. }) => self.tallies.begin(policy.name(), now),
            Update::Policy(PolicyUpdate::Removed { policy, .. }) => {
                self.tallies.end(policy.name());
                self.realization.end(policy.name());
            }
            _ => {}
        }
    }
}

/// What there is for agents.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) policies: usize,
    pub(crate) address_groups: usize,
    pub(crate) applied_to_groups: usize,
    /// Nodes whose agents watch.
    pub(crate) agents: usize,
}

impl Computation {
    /// Nothing yet. The store is filled once all Namespaces, Pods and NetworkPolicies have been listed.
    pub(crate) fn new(store: SharedStore) -> (Arc<Self>, Queue) {
        let state = State {
            index: Index::default(),
            missing: vec![Kind::Namespace, Kind::Pod, Kind::NetworkPolicy],
            records: Records::default(),
        };
        let (sender, receiver) = channel(BATCH);
        let computation = Self { store, state: Mutex::new(state), queue: sender.downgrade() };
        (Arc::new(computation), Queue { sender, receiver })
    }

    /// Takes in changes; gives what is to be published because of them.
    fn take(&self, changes: impl Iterator<Item = Change>, now: Timestamp) -> Vec<Update> {
        let mut state = self.state();
        let State { index, missing, records, .. } = &mut *state;
        for change in changes {
            if let Some(listed) = change.apply(index) {
                missing.retain(|kind| *kind != listed);
            }
        }
        if !missing.is_empty() {
            return Vec::new();
        }
        if self.is_filling() {
            self.fill(index, records, now);
        }
        let mut updates = Vec::new();
        index.settle(|update| {
            records.learn(&update, now);
            updates.push(update);
        });
        updates
    }

    /// The first time: nobody watches yet, and a large cluster's updates need not be held all at once.
    fn fill(&self, index: &mut Index, records: &mut Records, now: Timestamp) {
        self.store.look(|store| {
            index.settle(|update| {
                records.learn(&update, now);
                store.apply(update);
            });
            store.end_round();
        });
        self.store.filled();
        let Computed { policies, address_groups, applied_to_groups } = &records.computed;
        let (policies, applied_to_groups) = (policies.objects, applied_to_groups.objects);
        let address_groups = address_groups.objects;
        info!(policies, address_groups, applied_to_groups, "NetworkPolicies computed, agents can watch them");
    }

    /// All were told of what was taken in last.
    fn told(&self, took: Duration) {
        self.state().records.computed.time(took);
    }

    /// Takes in how far an agent has realized a policy.
    pub(crate) fn report_status(&self, status: &NetworkPolicyStatus) -> Result<(), CannotReport> {
        let uid = Uid::from(status.metadata.name.as_str());
        let records = &mut self.state().records;
        if !records.tallies.is_known(&uid) {
            return Err(CannotReport::UnknownPolicy);
        }
        let realization = &mut records.realization;
        let learned = status.nodes.iter().try_for_each(|node| realization.learn(&uid, node));
        learned.map_err(|NodesUnknown| CannotReport::NodesUnknown)
    }

    /// Takes in which Nodes there are.
    pub(crate) fn learn_nodes(&self, event: WatchEvent<(String, ())>) {
        self.state().records.realization.learn_nodes(event);
    }

    /// Takes in what an agent has counted since its last report.
    pub(crate) fn report_stats(&self, summary: &NodeStatsSummary) {
        self.state().records.tallies.add(&summary.network_policies);
    }

    /// What policies of Kubernetes let through, by Namespace and name.
    pub(crate) fn stats(&self) -> Vec<NetworkPolicyStats> {
        let state = self.state();
        state.records.tallies.of(state.index.policies().map(|(policy, _)| &policy.source))
    }

    /// Whether not all is known yet.
    pub(crate) fn is_filling(&self) -> bool {
        self.store.is_filling()
    }

    /// How many objects there are, and who watches them.
    pub(crate) fn numbers(&self) -> Numbers {
        self.store.look(|store| Numbers {
            policies: store.len(StoreKind::Policies),
            address_groups: store.len(StoreKind::AddressGroups),
            applied_to_groups: store.len(StoreKind::AppliedToGroups),
            agents: store.watching_nodes(),
        })
    }

    /// Answers `antctl query endpoint`.
    pub(crate) fn endpoint(&self, query: &Query) -> Answer {
        if self.is_filling() {
            return status(StatusCode::SERVICE_UNAVAILABLE, STILL_FILLING);
        }
        endpoint_query::answer(&self.state().index, query)
    }

    /// Which rule decides about traffic.
    pub(crate) fn evaluate(
        &self,
        request: &NetworkPolicyEvaluationRequest,
    ) -> Result<Option<NetworkPolicyEvaluationResponse>, CannotEvaluate> {
        evaluation::evaluate(&self.state().index, request)
    }

    /// Writes what was computed, and who is told of it.
    pub(crate) fn print(&self, page: &mut Page) {
        print_evicted(page, "antrea_controller");
        let waiting = self.queue.upgrade().map_or(0, |queue| queue.max_capacity() - queue.capacity());
        self.state().records.computed.print(page, waiting);
        self.print_watchers(page);
    }

    fn print_watchers(&self, page: &mut Page) {
        let kinds = [
            ("networkpolicies", StoreKind::Policies),
            ("addressgroups", StoreKind::AddressGroups),
            ("appliedtogroups", StoreKind::AppliedToGroups),
        ];
        let counts = self.store.look(|store| kinds.map(|(name, kind)| (name, store.counts(kind))));
        page.gauge("antrea_controller_watchers", "Who watches the objects of a resource.");
        for (resource, counts) in &counts {
            page.sample("antrea_controller_watchers", &[("resource", resource)], counts.watchers);
        }
        page.counter("antrea_controller_watchers_cut", "Watchers that were too slow and had to begin anew.");
        for (resource, counts) in &counts {
            page.sample("antrea_controller_watchers_cut", &[("resource", resource)], counts.cut);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The index is whole between objects; one that panicked it would panic it again.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
