//! What webhooks look up: ServiceAccounts, ClusterSets, announces and claims of the Namespaces that matter.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use antrea_kit::auth::NodesInTokens;
use antrea_mc_core::limits::Limits;
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;

use crate::area::{Area, Event};
use crate::denied::{Denied, forbid};

/// Which Namespaces are what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installation {
    /// Of the ServiceAccount of the Multi-cluster controller.
    pub controller: String,
    /// Of the ServiceAccount of the core agent.
    pub agent: String,
    /// Of a leader: its Common Areas.
    pub common_areas: Vec<String>,
    /// Of a leader: how much each member may export.
    pub limits: Limits,
    /// Of a member: where its ClusterSet and its Gateways are.
    pub member: Option<String>,
    /// Of a leader: how long the tokens last that members ask for.
    pub token_lifetime: Duration,
}

/// All that webhooks look up.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    installation: Installation,
    tokens: NodesInTokens,
    areas: BTreeMap<String, Area>,
}

/// The same, while watches change it.
#[derive(Clone, Debug, Default)]
pub struct Known(Arc<RwLock<Surroundings>>);

impl Known {
    /// Nothing is known yet.
    pub fn new(installation: Installation) -> Self {
        Self(Arc::new(RwLock::new(Surroundings::new(installation))))
    }

    /// Takes in what a watch of `namespace` tells.
    pub fn learn(&self, namespace: &str, event: Event) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).learn(namespace, event);
    }

    /// Takes in whether tokens of agents name their Nodes.
    pub fn learn_tokens(&self, tokens: NodesInTokens) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).tokens = tokens;
    }

    /// Whether everything was listed once: before that some requests are refused.
    pub fn is_complete(&self) -> bool {
        self.read().is_complete()
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Surroundings> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Surroundings {
    /// Nothing is known yet.
    pub fn new(installation: Installation) -> Self {
        Self { installation, tokens: NodesInTokens::Unknown, areas: BTreeMap::new() }
    }

    /// Takes in what a watch of `namespace` tells.
    pub fn learn(&mut self, namespace: &str, event: Event) {
        self.areas.entry(namespace.to_owned()).or_default().learn(event);
    }

    /// Whether everything was listed once.
    pub fn is_complete(&self) -> bool {
        let has_sets =
            |namespace: &str| self.areas.get(namespace).is_some_and(|area| area.cluster_sets().is_ok());
        let complete = |namespace: &String| self.areas.get(namespace).is_some_and(Area::is_complete);
        let Installation { common_areas, member, .. } = &self.installation;
        member.iter().all(|namespace| has_sets(namespace)) && common_areas.iter().all(complete)
    }

    pub(crate) const fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Whether tokens of agents name their Nodes.
    pub(crate) const fn tokens(&self) -> NodesInTokens {
        self.tokens
    }

    pub(crate) fn is_common_area(&self, namespace: &str) -> bool {
        self.installation.common_areas.iter().any(|area| area == namespace)
    }

    /// # Errors
    /// When the Namespace is no Common Area of this controller, or nothing is known of it.
    pub(crate) fn common_area(&self, namespace: &str) -> Result<&Area, Denied> {
        if !self.is_common_area(namespace) {
            return forbid(format!(
                "Namespace {namespace} is no Common Area of this leader: those are {}",
                self.installation.common_areas.join(", ")
            ));
        }
        self.areas.get(namespace).ok_or(Denied::Unknown("objects"))
    }

    /// The ClusterSets of a Namespace, of those that the controller looks at.
    pub(crate) fn cluster_sets(
        &self,
        namespace: &str,
    ) -> Result<Option<&BTreeMap<String, ClusterSet>>, Denied> {
        if self.installation.member.as_deref() != Some(namespace) && !self.is_common_area(namespace) {
            return Ok(None);
        }
        let area = self.areas.get(namespace).ok_or(Denied::Unknown("ClusterSets"))?;
        area.cluster_sets().map(Some)
    }

    /// The ID that a ClusterClaim gives the cluster in a ClusterSet of this Namespace.
    pub(crate) fn claimed_id(&self, namespace: &str, set: &str) -> Option<&str> {
        self.areas.get(namespace)?.claimed_id(set)
    }
}
