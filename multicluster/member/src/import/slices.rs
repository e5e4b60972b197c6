//! EndpointSlices of an imported Service: apart for each source cluster, as KEP-1645 has them.

use std::collections::{BTreeMap, BTreeSet};

use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::names::{derived_service_name, endpoint_slice_name};
use antrea_shared_api::mcs;
use antrea_shared_api::multicluster::v1alpha1::{EndpointSliceTemplate, SliceEndpoint};
use antrea_shared_api::multicluster::well_known::annotation::IMPORTED_SERVICE;
use serde_json::{Value, json};

use super::placement::{Placed, assign, sets};
use super::service::Imported;
use super::{Importer, MANAGED_BY, subsets};
use crate::action::{Action, ensure};
use crate::kind::Kind;
use crate::objects::{Key, Objects, SERVICE_LABEL, is_leaving, label, text};

/// Who manages a slice.
pub(super) const MANAGED_BY_LABEL: &str = "endpointslice.kubernetes.io/managed-by";

/// The slices that were made for the imported Service `namespace/name`.
pub(super) fn existing<'a>(objects: &'a Objects, namespace: &str, name: &str) -> Vec<(&'a Key, &'a Value)> {
    let service = derived_service_name(name);
    let slices = objects.slices(namespace, &service);
    slices.filter(|(_, slice)| is_made_for(slice, name) && !is_leaving(slice)).collect()
}

fn is_made_for(slice: &Value, name: &str) -> bool {
    label(slice, MANAGED_BY_LABEL) == Some(MANAGED_BY)
        && label(slice, mcs::label::SERVICE_NAME) == Some(name)
        && label(slice, SERVICE_LABEL) == Some(derived_service_name(name).as_str())
}

/// What is to be done about the slices. `owner` is the derived Service; without one what is there stays as it is. What is
/// not needed goes last: no endpoint is without a slice meanwhile.
pub(super) fn plan(
    importer: &Importer,
    objects: &Objects,
    imported: &Imported<'_>,
    owner: Option<&Value>,
) -> Vec<Action> {
    let Some(owner) = owner else { return Vec::new() };
    let flat = imported.endpoints.filter(|endpoints| endpoints.clusters.is_empty());
    let flat = flat.map(subsets::templates).unwrap_or_default();
    let (mut actions, mut superfluous) = (Vec::new(), Vec::new());
    for (source, Cluster { templates, slices }) in clusters(importer, objects, imported, &flat) {
        let names = names(imported, source.as_ref().unwrap_or(&importer.cluster));
        let free = names.filter(|key| objects.get(key).is_none());
        let sets = sets(&templates);
        let placed = assign(&sets, slices.clone(), free);
        let kept: BTreeSet<&Key> = placed.iter().map(|placed| &placed.key).collect();
        superfluous.extend(slices.into_iter().filter(|(key, _)| !kept.contains(key)));
        actions.extend(placed.iter().filter_map(|placed| {
            let wanted = slice(imported, owner, source.as_ref(), placed);
            ensure(Kind::EndpointSlice, objects.get(&placed.key), &wanted)
        }));
    }
    actions.extend(superfluous.iter().map(|(key, slice)| Action::delete(key, slice)));
    actions
}

/// The cluster that endpoints are in; nothing where the leader is upstream's and does not say. Slices are named after the
/// importer then.
type Source = Option<ClusterId>;

/// What is wanted of the endpoints of a cluster, and the slices that it has.
#[derive(Default)]
struct Cluster<'a> {
    templates: Vec<&'a EndpointSliceTemplate>,
    slices: BTreeMap<Key, &'a Value>,
}

fn clusters<'a>(
    importer: &Importer,
    objects: &'a Objects,
    imported: &Imported<'a>,
    flat: &'a [EndpointSliceTemplate],
) -> BTreeMap<Source, Cluster<'a>> {
    let mut clusters: BTreeMap<Source, Cluster<'a>> = BTreeMap::new();
    for cluster in imported.endpoints.into_iter().flat_map(|endpoints| &endpoints.clusters) {
        if let Ok(id) = cluster.cluster_id.parse() {
            clusters.entry(Some(id)).or_default().templates.extend(&cluster.endpoint_slices);
        }
    }
    if !flat.is_empty() {
        clusters.entry(None).or_default().templates.extend(flat);
    }
    for (source, cluster) in &mut clusters {
        let names = names(imported, source.as_ref().unwrap_or(&importer.cluster));
        let there = names.map_while(|key| objects.get(&key).map(|slice| (key, slice)));
        // Whatever became of its labels, a slice of such a name is ours.
        let is_other = |slice: &Value| !is_made_for(slice, imported.name) && !is_leaving(slice);
        cluster.slices.extend(there.filter(|(_, slice)| is_other(slice)));
    }
    for (key, slice) in existing(objects, imported.namespace, imported.name) {
        let source = label(slice, mcs::label::SOURCE_CLUSTER).and_then(|id| id.parse().ok());
        clusters.entry(source).or_default().slices.insert(key.clone(), slice);
    }
    clusters
}

/// The names of slices with endpoints of a cluster.
fn names<'a>(imported: &'a Imported<'_>, cluster: &'a ClusterId) -> impl Iterator<Item = Key> {
    (0..).map(move |index| {
        let name = endpoint_slice_name(imported.name, cluster, index);
        Key::new(Kind::EndpointSlice, imported.namespace, &name)
    })
}

fn slice(imported: &Imported<'_>, owner: &Value, source: Option<&ClusterId>, placed: &Placed<'_>) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": placed.key.name,
            "namespace": placed.key.namespace,
            "annotations": { IMPORTED_SERVICE: "true" },
            "labels": {
                MANAGED_BY_LABEL: MANAGED_BY,
                SERVICE_LABEL: derived_service_name(imported.name),
                mcs::label::SERVICE_NAME: imported.name,
                mcs::label::SOURCE_CLUSTER: source.map(ClusterId::as_str),
            },
            "ownerReferences": [{
                "apiVersion": "v1",
                "kind": "Service",
                "name": text(owner, "/metadata/name"),
                "uid": text(owner, "/metadata/uid"),
                "controller": true,
            }],
        },
        "addressType": placed.shape["addressType"],
        "ports": placed.shape["ports"],
        "endpoints": placed.endpoints.iter().map(|one| endpoint(one)).collect::<Vec<_>>(),
    })
}

fn endpoint(endpoint: &SliceEndpoint) -> Value {
    let conditions = endpoint.conditions.as_ref();
    json!({
        "addresses": endpoint.addresses.first().into_iter().collect::<Vec<_>>(),
        "hostname": endpoint.hostname,
        "zone": endpoint.zone,
        "conditions": {
            "ready": conditions.and_then(|conditions| conditions.ready).unwrap_or(true),
            "serving": conditions.and_then(|conditions| conditions.serving),
            "terminating": conditions.and_then(|conditions| conditions.terminating),
        },
    })
}
