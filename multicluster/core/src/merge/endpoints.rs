//! Merges the endpoints of a Service: kept apart by source cluster, and flat for upstream members.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use antrea_types::IpFamily;

use super::MergedService;
use crate::addresses::{AddressRefused, Claims};
use crate::endpoints::{EndpointState, Endpoints};
use crate::export::{Export, by_age};
use crate::ids::ClusterId;
use crate::service::{Port, named};

/// The endpoints of a Service in all clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedEndpoints {
    /// By source cluster; a cluster without endpoints is left out.
    pub clusters: BTreeMap<ClusterId, Endpoints>,
    /// Addresses that are left out, because the cluster may not export them.
    pub refused: BTreeMap<ClusterId, Vec<AddressRefused>>,
}

/// The endpoints to import for `service`: those of clusters whose export of the Service counts and that are not
/// `withdrawn` because their lease is over, at addresses that `claims` allow them, with the ports that are theirs in
/// the merged Service.
pub fn endpoints(
    service: &MergedService,
    exports: &[&Export<Endpoints>],
    withdrawn: &BTreeSet<ClusterId>,
    claims: &Claims,
) -> MergedEndpoints {
    let mut merged = MergedEndpoints::default();
    for export in by_age(exports) {
        let Some(names) = service.clusters.get(&export.cluster) else { continue };
        if withdrawn.contains(&export.cluster) {
            continue;
        }
        let (endpoints, refused) = allowed(export, names, claims);
        if !endpoints.is_empty() {
            merged.clusters.insert(export.cluster.clone(), endpoints);
        }
        if !refused.is_empty() {
            merged.refused.insert(export.cluster.clone(), refused);
        }
    }
    merged
}

fn allowed(
    export: &Export<Endpoints>,
    names: &BTreeSet<Box<str>>,
    claims: &Claims,
) -> (Endpoints, Vec<AddressRefused>) {
    let (mut endpoints, mut refused) = (Endpoints::default(), Vec::new());
    for (_, ports, exported) in export.payload.sets() {
        let Some(kept) = named(ports, names) else { continue };
        let mut taken = Vec::new();
        for (address, endpoint) in exported {
            match claims.check(&export.cluster, *address) {
                Ok(()) => taken.push((*address, endpoint.clone())),
                Err(refusal) => refused.push(refusal),
            }
        }
        endpoints.add(kept, taken);
    }
    (endpoints, refused)
}

impl MergedEndpoints {
    /// What upstream members import: ready IPv4 endpoints of all clusters by their ports, each once.
    pub fn flat(&self) -> BTreeMap<Vec<Port>, BTreeSet<IpAddr>> {
        let mut flat: BTreeMap<Vec<Port>, BTreeSet<IpAddr>> = BTreeMap::new();
        let sets = self.clusters.values().flat_map(Endpoints::sets);
        for (_, ports, endpoints) in sets.filter(|(family, ..)| *family == IpFamily::V4) {
            let ready = endpoints.iter().filter(|(_, endpoint)| endpoint.state == EndpointState::Ready);
            flat.entry(ports.to_vec()).or_default().extend(ready.map(|(address, _)| *address));
        }
        flat.retain(|_, addresses| !addresses.is_empty());
        flat
    }
}
