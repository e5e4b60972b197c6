//! What Pods need of policies when they come and go: nothing passes between a Pod and others before its policies are in the
//! switch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antrea_agent_cni::flows::FlowError;
use antrea_agent_cni::interface::ContainerInterface;
use antrea_agent_cni::interface_store::StoredContainer;
use antrea_agent_policy_files::Loaded;
use antrea_config::NewPods;
use antrea_kit::logging::chain;
use antrea_pipeline::PodInterface;
use antrea_shared_api::controlplane::v1beta2::{AddressGroup, AppliedToGroup, NetworkPolicy};
use antrea_shared_api::crd::v1beta1::NetworkPolicyControllerInfo;
use antrea_types::{InterfaceName, PodUid};
use futures::FutureExt;
use futures::future::BoxFuture;
use tracing::warn;

use super::enforcement::{Enforcement, KEY, Presence, Standing};
use super::notes::Notes;
use crate::api::PolicyView;

/// Policies, for whoever installs and removes flows of Pods. Copies are the same.
#[derive(Clone)]
pub(crate) struct PodPolicies {
    enforcement: Arc<Mutex<Enforcement>>,
    notes: Notes,
    new_pods: NewPods,
}

impl PodPolicies {
    pub(super) fn new(enforcement: Enforcement, notes: Notes, new_pods: NewPods) -> Self {
        Self { enforcement: Arc::new(Mutex::new(enforcement)), notes, new_pods }
    }

    /// What is enforced. Nobody waits for anything while he has it.
    pub(super) fn enforcement(&self) -> MutexGuard<'_, Enforcement> {
        // Each change of it leaves it whole.
        self.enforcement.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Takes in the interfaces that an earlier agent has left.
    pub(crate) fn take_over(&self, containers: &[StoredContainer]) {
        let unknown = self.notes.unknown_pods();
        let mut enforcement = self.enforcement();
        for stored in containers {
            let standing = match unknown.contains(&stored.name) {
                true => Standing::Unknown,
                false => Standing::Known,
            };
            enforcement.attach(&stored.name, &stored.container, stored.pod_interface().as_ref(), standing);
        }
    }

    /// Takes up what an earlier agent has stored, since the controller is away. If that may not be all that it enforced,
    /// nothing is known of any Pod.
    pub(super) fn take_up_stored(&self, loaded: Loaded) {
        if loaded.tells_of_a_controller() {
            self.enforcement().expect_controller();
        }
        let Loaded { objects, doubts } = loaded;
        for doubt in &doubts {
            warn!(doubt = chain(doubt), "Stored policies may not be all that were enforced");
        }
        if !doubts.is_empty() && self.new_pods == NewPods::Isolate {
            warn!("The controller is away, and not all policies are known to be stored: Pods are isolated");
            return self.enforcement().doubt();
        }
        self.enforcement().restore(objects);
    }

    /// Until when a controller is away that was there before; nothing when it is there, or never was.
    pub(crate) fn controller_away(&self) -> Option<BoxFuture<'static, ()>> {
        let mut presence = self.enforcement().presence();
        let is_away = *presence.borrow() == Presence::Away;
        is_away.then(|| async move { drop(presence.wait_for(|now| *now == Presence::There).await) }.boxed())
    }

    /// A Pod comes, or its interface has changed. The switch has its policies when this returns.
    ///
    /// # Errors
    /// Policies are not known yet, the switch does not take them, or it cannot be noted that nothing is known of the Pod.
    pub(crate) async fn attach(
        &self,
        name: &InterfaceName,
        container: &ContainerInterface,
        interface: &PodInterface,
    ) -> Result<(), FlowError> {
        let standing = self.judge(name, container.pod_uid.as_ref()).await?;
        let step = {
            let mut enforcement = self.enforcement();
            if !enforcement.cache.is_ready() {
                return Err("it is not known yet which policies there are".into());
            }
            enforcement.attach(name, container, Some(interface), standing);
            enforcement.advance()
        };
        let Some(step) = step else { return Ok(()) };
        let outcome = step.done().await;
        self.enforcement().settle(&outcome);
        Ok(outcome.result?)
    }

    /// Whether it is known what policies want of an interface. Of a new one it is when the controller has said that it knows
    /// the Pod; otherwise that is noted before anything else happens, so that a later agent knows, too; and once more whenever
    /// the interface changes, for its port may be another one.
    async fn judge(&self, name: &InterfaceName, pod: Option<&PodUid>) -> Result<Standing, FlowError> {
        let standing = {
            let enforcement = self.enforcement();
            let admitted = || self.new_pods == NewPods::Admit || enforcement.cache.knows(pod);
            match enforcement.standing(name) {
                Some(standing) => standing,
                None if admitted() => Standing::Known,
                None => Standing::Unknown,
            }
        };
        if standing == Standing::Unknown {
            self.notes.note_unknown(name).await?;
        }
        Ok(standing)
    }

    /// What its port says of an interface that is known, so that a port made anew is never without it.
    pub(crate) fn notes_on(&self, name: &InterfaceName) -> BTreeMap<String, String> {
        match self.enforcement().standing(name) {
            Some(Standing::Unknown) => Notes::of_an_unknown_pod(),
            Some(Standing::Known) | None => BTreeMap::new(),
        }
    }

    /// A Pod's interface is gone, and its flows are.
    pub(crate) async fn detach(&self, name: &InterfaceName) {
        let step = {
            let mut enforcement = self.enforcement();
            enforcement.detach(name);
            enforcement.advance()
        };
        if let Some(step) = step {
            let outcome = step.done().await;
            self.enforcement().settle(&outcome);
        }
    }

    /// How many policies and groups are known.
    pub(crate) fn counts(&self) -> NetworkPolicyControllerInfo {
        let counts = self.enforcement().cache.counts();
        let [policies, address_groups, applied_to_groups] =
            counts.map(|count| i32::try_from(count).unwrap_or(i32::MAX));
        NetworkPolicyControllerInfo {
            network_policy_num: policies,
            address_group_num: address_groups,
            applied_to_group_num: applied_to_groups,
        }
    }

    /// How many policies are known, and how many of their rules are about ingress and egress.
    pub(crate) fn numbers(&self) -> (usize, [usize; 2]) {
        let enforcement = self.enforcement();
        let [policies, ..] = enforcement.cache.counts();
        (policies, enforcement.cache.rule_counts())
    }

    /// The set of flows that the switch shall have for policies; none if it shall have no flows.
    pub(crate) fn set(&self) -> Option<&'static str> {
        self.enforcement().has_rules().then_some(KEY)
    }
}

/// For those who ask the agent.
impl PolicyView for PodPolicies {
    fn policies(&self) -> Vec<NetworkPolicy> {
        self.enforcement().cache.policies().map(|(policy, _)| policy.clone()).collect()
    }

    fn address_groups(&self) -> Vec<AddressGroup> {
        self.enforcement().cache.address_groups().collect()
    }

    fn applied_to_groups(&self) -> Vec<AppliedToGroup> {
        self.enforcement().cache.applied_to_groups().collect()
    }
}
