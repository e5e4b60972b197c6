//! EndpointSlices of an imported Service: apart for each source cluster, as KEP-1645 has them.

use std::net::IpAddr;

use antrea_mc_core::ids::ClusterId;
use antrea_mc_core::names::{derived_service_name, endpoint_slice_name};
use antrea_shared_api::mcs;
use antrea_shared_api::multicluster::v1alpha1::{EndpointSliceTemplate, ImportedEndpoints, SliceEndpoint};
use antrea_shared_api::multicluster::well_known::annotation::IMPORTED_SERVICE;
use antrea_types::IpFamily;
use k8s_openapi::api::core::v1::EndpointSubset;
use serde_json::{Value, json};

use super::service::Imported;
use super::{Importer, MANAGED_BY};
use crate::action::{Action, ensure};
use crate::kind::Kind;
use crate::objects::{Key, Objects, SERVICE_LABEL, is_leaving, label, text};

/// The most endpoints of a slice, as Kubernetes' own controller has it.
const MOST: usize = 100;
/// Who manages a slice.
const MANAGED_BY_LABEL: &str = "endpointslice.kubernetes.io/managed-by";

/// The slices that were made for the imported Service `namespace/name`.
pub(super) fn existing<'a>(objects: &'a Objects, namespace: &str, name: &str) -> Vec<(&'a Key, &'a Value)> {
    let is_ours = |(_, slice): &(&Key, &Value)| {
        label(slice, MANAGED_BY_LABEL) == Some(MANAGED_BY)
            && label(slice, mcs::label::SERVICE_NAME) == Some(name)
            && !is_leaving(slice)
    };
    objects.slices(namespace, &derived_service_name(name)).filter(is_ours).collect()
}

/// What is to be done about the slices. `owner` is the derived Service; without one what is there stays as it is.
pub(super) fn plan(
    importer: &Importer,
    objects: &Objects,
    imported: &Imported<'_>,
    owner: Option<&Value>,
) -> Vec<Action> {
    let Some(owner) = owner else { return Vec::new() };
    let wanted = wanted(importer, imported, owner);
    let key = |slice: &Value| Key::of(Kind::EndpointSlice, slice);
    let mut actions: Vec<Action> = wanted
        .iter()
        .filter_map(|slice| match objects.get(&key(slice)) {
            // The family of a slice never changes: it is made anew once this one is gone.
            Some(actual) if text(actual, "/addressType") != text(slice, "/addressType") => {
                Some(Action::delete(&key(slice), actual))
            }
            actual => ensure(Kind::EndpointSlice, actual, slice),
        })
        .collect();
    let superfluous = existing(objects, imported.namespace, imported.name)
        .into_iter()
        .filter(|(there, _)| !wanted.iter().any(|slice| key(slice) == **there));
    actions.extend(superfluous.map(|(key, slice)| Action::delete(key, slice)));
    actions
}

fn wanted(importer: &Importer, imported: &Imported<'_>, owner: &Value) -> Vec<Value> {
    let Some(endpoints) = imported.endpoints else { return Vec::new() };
    if endpoints.clusters.is_empty() {
        let templates = from_subsets(endpoints);
        return slices(imported, owner, Source::Unknown(&importer.cluster), &templates);
    }
    endpoints
        .clusters
        .iter()
        .filter_map(|cluster| Some((cluster.cluster_id.parse().ok()?, &cluster.endpoint_slices)))
        .flat_map(|(cluster, templates): (ClusterId, _)| {
            slices(imported, owner, Source::Cluster(&cluster), templates)
        })
        .collect()
}

/// The cluster that endpoints are in.
#[derive(Clone, Copy)]
enum Source<'a> {
    Cluster(&'a ClusterId),
    /// The leader is upstream's and does not say. The slices are named after the importer.
    Unknown(&'a ClusterId),
}

fn slices(
    imported: &Imported<'_>,
    owner: &Value,
    source: Source<'_>,
    templates: &[EndpointSliceTemplate],
) -> Vec<Value> {
    let cluster = match source {
        Source::Cluster(cluster) | Source::Unknown(cluster) => cluster,
    };
    let parts = templates.iter().flat_map(|template| {
        let family = template.address_type.as_str();
        let endpoints: Vec<&SliceEndpoint> =
            template.endpoints.iter().filter(|endpoint| is_of(endpoint, family)).collect();
        endpoints.chunks(MOST).map(|endpoints| (template, endpoints.to_vec())).collect::<Vec<_>>()
    });
    parts
        .enumerate()
        .map(|(index, (template, endpoints))| {
            let name = endpoint_slice_name(imported.name, cluster, index);
            slice(imported, owner, source, &name, template, &endpoints)
        })
        .collect()
}

/// Whether the address of an endpoint is one of the family; the API server refuses a slice with any other.
fn is_of(endpoint: &SliceEndpoint, family: &str) -> bool {
    let address = endpoint.addresses.first().and_then(|address| address.parse::<IpAddr>().ok());
    address.is_some_and(|address| IpFamily::of(&address).to_string() == family)
}

fn slice(
    imported: &Imported<'_>,
    owner: &Value,
    source: Source<'_>,
    name: &str,
    template: &EndpointSliceTemplate,
    endpoints: &[&SliceEndpoint],
) -> Value {
    let cluster = match source {
        Source::Cluster(cluster) => Some(cluster.as_str()),
        Source::Unknown(_) => None,
    };
    let ports = template.ports.iter().map(|port| {
        json!({
            "name": port.name.as_deref().unwrap_or_default(),
            "protocol": port.protocol.as_deref().unwrap_or("TCP"),
            "port": port.port,
            "appProtocol": port.app_protocol,
        })
    });
    let endpoints = endpoints.iter().map(|endpoint| {
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
    });
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": imported.namespace,
            "annotations": { IMPORTED_SERVICE: "true" },
            "labels": {
                MANAGED_BY_LABEL: MANAGED_BY,
                SERVICE_LABEL: derived_service_name(imported.name),
                mcs::label::SERVICE_NAME: imported.name,
                mcs::label::SOURCE_CLUSTER: cluster,
            },
            "ownerReferences": [{
                "apiVersion": "v1",
                "kind": "Service",
                "name": text(owner, "/metadata/name"),
                "uid": text(owner, "/metadata/uid"),
                "controller": true,
            }],
        },
        "addressType": template.address_type,
        "ports": ports.collect::<Vec<_>>(),
        "endpoints": endpoints.collect::<Vec<_>>(),
    })
}

/// What an upstream leader has: subsets of all clusters one after the other, each endpoint any number of times.
fn from_subsets(endpoints: &ImportedEndpoints) -> Vec<EndpointSliceTemplate> {
    let mut templates: Vec<EndpointSliceTemplate> = Vec::new();
    for subset in &endpoints.subsets {
        for family in IpFamily::ALL {
            add(&mut templates, template(subset, family));
        }
    }
    templates.retain(|template| !template.endpoints.is_empty());
    templates
        .iter_mut()
        .for_each(|template| template.endpoints.sort_by(|one, other| one.addresses.cmp(&other.addresses)));
    templates
}

/// Adds the endpoints of a template to those with the same family and ports, each once.
fn add(templates: &mut Vec<EndpointSliceTemplate>, template: EndpointSliceTemplate) {
    let same = |there: &&mut EndpointSliceTemplate| {
        there.address_type == template.address_type && there.ports == template.ports
    };
    match templates.iter_mut().find(same) {
        Some(there) => {
            let new = template.endpoints.into_iter().filter(|endpoint| !there.endpoints.contains(endpoint));
            let new: Vec<_> = new.collect();
            there.endpoints.extend(new);
        }
        None => templates.push(template),
    }
}

fn template(subset: &EndpointSubset, family: IpFamily) -> EndpointSliceTemplate {
    let addresses = subset.addresses.iter().flatten().map(|address| SliceEndpoint {
        addresses: vec![address.ip.clone()],
        hostname: address.hostname.clone(),
        ..SliceEndpoint::default()
    });
    let port =
        |port: &k8s_openapi::api::core::v1::EndpointPort| k8s_openapi::api::discovery::v1::EndpointPort {
            name: port.name.clone(),
            protocol: port.protocol.clone(),
            port: Some(port.port),
            app_protocol: port.app_protocol.clone(),
        };
    EndpointSliceTemplate {
        address_type: family.to_string().into(),
        ports: subset.ports.iter().flatten().map(port).collect(),
        endpoints: addresses.filter(|endpoint| is_of(endpoint, &family.to_string())).collect(),
    }
}
