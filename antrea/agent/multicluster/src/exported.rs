//! What other clusters may open connections to through a Gateway, as its object says it.

use std::collections::BTreeSet;

use antrea_shared_api::multicluster::v1alpha1::Gateway;
use ipnet::Ipv4Net;

use crate::own_cluster::PodToPod;
use crate::problem::Problem;
use crate::read::{ipv4_network, network};

/// The networks that a Gateway lists. What is not IPv4 is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exported {
    addresses: BTreeSet<Ipv4Net>,
    pods: BTreeSet<Ipv4Net>,
    /// What could not be read.
    pub(crate) problems: Vec<Problem>,
}

impl Exported {
    /// None where the object says nothing: the Multi-cluster controller is of an earlier version. A mode that this version
    /// does not know is a list, too: nobody is let in to more than is said.
    pub(crate) fn read(object: &Gateway) -> Option<Self> {
        let said = object.exported.as_ref()?;
        let mut exported = Self::default();
        exported.addresses = exported.networks_in("exported.addresses", &said.addresses);
        exported.pods = exported.networks_in("exported.podCIDRs", &said.pod_cidrs);
        Some(exported)
    }

    fn networks_in(&mut self, field: &'static str, texts: &[String]) -> BTreeSet<Ipv4Net> {
        let mut networks = BTreeSet::new();
        for text in texts {
            match network(field, text) {
                Ok(network) => networks.extend(ipv4_network(network)),
                Err(problem) => self.problems.push(problem),
            }
        }
        networks
    }

    /// What other clusters may open connections to. Pods that nobody exports are among it only where Pods reach Pods.
    pub(crate) fn networks(&self, pods: PodToPod) -> BTreeSet<Ipv4Net> {
        match pods {
            PodToPod::On => self.addresses.union(&self.pods).copied().collect(),
            PodToPod::Off => self.addresses.clone(),
        }
    }
}
