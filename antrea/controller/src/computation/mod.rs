//! NetworkPolicies, computed for agents: what the watches tell goes into the index, and what changes by that into the
//! store that agents watch.

mod change;
mod evaluation;
mod realization;
mod run;
mod stats;
mod watched_pod;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antrea_apiserver::store::Kind as StoreKind;
use antrea_apiserver::{CannotEvaluate, SharedStore, UnknownPolicy};
use antrea_index::{Index, Kind};
use antrea_kit::metrics::{Histogram, Page};
use antrea_kit::query::Query;
use antrea_kit::server::Answer;
use antrea_kit::status::status;
use antrea_policy::{PolicyUpdate, Uid, Update};
use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyEvaluationRequest, NetworkPolicyEvaluationResponse, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::stats::v1alpha1::NetworkPolicyStats;
use hyper::StatusCode;
use jiff::Timestamp;
use tracing::info;

use crate::endpoint_query;
use change::Change;
use realization::Realization;
pub(crate) use run::run;
use stats::Tallies;

/// Up to where the buckets of durations go, in milliseconds: as upstream's.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const STILL_FILLING: &str =
    "antrea-controller does not know all Namespaces, Pods and NetworkPolicies yet; try again";

/// What is computed, and from what.
pub(crate) struct Computation {
    store: SharedStore,
    state: Mutex<State>,
}

struct State {
    index: Index,
    /// Kinds of which nobody knows yet which objects there are.
    missing: Vec<Kind>,
    records: Records,
    took: Histogram,
}

/// What is kept of each policy beside itself, and how often what was computed.
#[derive(Default)]
struct Records {
    tallies: Tallies,
    realization: Realization,
    policies: u64,
    address_groups: u64,
    applied_to_groups: u64,
}

impl Records {
    fn learn(&mut self, update: &Update, now: Timestamp) {
        match update {
            Update::Policy(update) => {
                self.policies += 1;
                match update {
                    PolicyUpdate::Added { policy, .. } => self.tallies.begin(policy.name(), now),
                    PolicyUpdate::Modified { .. } => {}
                    PolicyUpdate::Removed { policy, .. } => {
                        self.tallies.end(policy.name());
                        self.realization.end(policy.name());
                    }
                }
            }
            Update::AddressGroup(_) => self.address_groups += 1,
            Update::AppliedToGroup(_) => self.applied_to_groups += 1,
            Update::Pods(_) => {}
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
    pub(crate) fn new(store: SharedStore) -> Arc<Self> {
        let state = State {
            index: Index::default(),
            missing: vec![Kind::Namespace, Kind::Pod, Kind::NetworkPolicy],
            records: Records::default(),
            took: Histogram::new(&BUCKETS),
        };
        Arc::new(Self { store, state: Mutex::new(state) })
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
        let Records { policies, address_groups, applied_to_groups, .. } = records;
        info!(policies, address_groups, applied_to_groups, "NetworkPolicies computed, agents can watch them");
    }

    fn observe(&self, took: Duration) {
        self.state().took.observe(took.as_secs_f64() * 1000.0);
    }

    /// Takes in how far an agent has realized a policy.
    pub(crate) fn report_status(&self, status: &NetworkPolicyStatus) -> Result<(), UnknownPolicy> {
        let uid = Uid::from(status.metadata.name.as_str());
        let records = &mut self.state().records;
        if !records.tallies.is_known(&uid) {
            return Err(UnknownPolicy);
        }
        status.nodes.iter().for_each(|node| records.realization.learn(&uid, node));
        Ok(())
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

    /// Writes how often what was computed, and how long that took, under upstream's names. There are no queues by kind
    /// here, and one computation is for all three kinds: its time is told of policies.
    pub(crate) fn print(&self, page: &mut Page) {
        let State { records, took, .. } = &*self.state();
        let counters = [
            ("address_group", records.address_groups),
            ("applied_to_group", records.applied_to_groups),
            ("network_policy", records.policies),
        ];
        for (what, count) in counters {
            let name = format!("antrea_controller_{what}_processed");
            page.counter(&name, &format!("How often an object of this kind was computed: {what}."));
            page.sample(&name, &[], count);
        }
        let name = "antrea_controller_network_policy_sync_duration_milliseconds";
        page.histogram(name, "From taking changes in until all watchers were told.", took);
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
