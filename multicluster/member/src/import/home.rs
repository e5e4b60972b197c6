//! What of the endpoints of an imported Service this cluster knows better than the leader: its own Pods, and that addresses in
//! its own networks are nobody else's.

use std::net::IpAddr;

use antrea_mc_core::addresses::EndpointAddresses;
use antrea_mc_core::service_export::pods_at_home;
use antrea_shared_api::multicluster::v1alpha1::{
    ClusterEndpoints, EndpointSliceTemplate, ImportedEndpoints, ImportedServiceImport, SliceEndpoint,
};
use antrea_shared_api::multicluster::well_known::DERIVED_PREFIX;
use antrea_types::IpFamily;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::Value;

use super::slices::MANAGED_BY_LABEL;
use super::{Importer, MANAGED_BY, Problem};
use crate::kept::{exported, trim};
use crate::kind::Kind;
use crate::objects::{Key, Objects, is_leaving, label, read, text};

/// What Kubernetes puts on the EndpointSlices of headless Services, and who it says that manages them.
const HEADLESS_LABEL: &str = "service.kubernetes.io/headless";
const KUBERNETES: &str = "endpointslice-controller.k8s.io";

/// What is kept of a Service or an EndpointSlice. Those that are made for imports are compared as a whole with what is wanted;
/// those of Services that this cluster exports by its Pods are read alone.
///
/// # Errors
/// The object, if it is another one: nothing of it is kept.
pub(crate) fn kept_for_imports(
    kind: Kind,
    object: Value,
    addresses: EndpointAddresses,
) -> Result<Value, Value> {
    let is_made_for_imports = text(&object, "/metadata/name").starts_with(DERIVED_PREFIX)
        || label(&object, MANAGED_BY_LABEL) == Some(MANAGED_BY);
    if is_made_for_imports {
        return Ok(trim(kind, object));
    }
    if has_pods_for_imports(kind, &object, addresses) {
        return Ok(exported(kind, object));
    }
    Err(object)
}

/// Whether the Pods of a Service, or those in an EndpointSlice, may be endpoints that others import. Slices that somebody else
/// than Kubernetes manages are few.
fn has_pods_for_imports(kind: Kind, object: &Value, addresses: EndpointAddresses) -> bool {
    match kind {
        _ if addresses == EndpointAddresses::PodIps => true,
        Kind::Service => text(object, "/spec/clusterIP") == "None",
        Kind::EndpointSlice => {
            label(object, HEADLESS_LABEL).is_some() || label(object, MANAGED_BY_LABEL) != Some(KUBERNETES)
        }
        _ => true,
    }
}

/// The endpoints of the imported Service `namespace/name`, with those of this cluster as it knows them itself. Its Pods are in the
/// place of what the leader says of them: they are reached here whatever the leader takes, and while it is away. Of all else
/// that the leader says of this cluster, what is in its own networks stays.
pub(super) fn with_own(
    importer: &Importer,
    objects: &Objects,
    (namespace, name): (&str, &str),
    import: &ImportedServiceImport,
    endpoints: Option<ImportedEndpoints>,
) -> Option<ImportedEndpoints> {
    let own = importer.cluster.as_str();
    if let Some(endpoint_slices) = own_pods(importer, objects, (namespace, name), import) {
        let mut endpoints = endpoints.unwrap_or_default();
        endpoints.clusters.retain(|of| of.cluster_id != own);
        endpoints.clusters.push(ClusterEndpoints { cluster_id: own.to_owned(), endpoint_slices });
        return Some(endpoints);
    }
    let mut endpoints = endpoints?;
    for of in endpoints.clusters.iter_mut().filter(|of| of.cluster_id == own) {
        for slice in &mut of.endpoint_slices {
            slice.endpoints.retain(|endpoint| own_network(importer, endpoint).is_some());
        }
    }
    Some(endpoints)
}

/// The address of an endpoint.
fn address(endpoint: &SliceEndpoint) -> Option<IpAddr> {
    endpoint.addresses.first()?.parse().ok()
}

/// The Pods of this cluster; nothing where it does not export the Service, or by its ClusterIP.
fn own_pods(
    importer: &Importer,
    objects: &Objects,
    (namespace, name): (&str, &str),
    import: &ImportedServiceImport,
) -> Option<Vec<EndpointSliceTemplate>> {
    if !import.status.clusters.iter().any(|of| of.cluster == importer.cluster.as_str()) {
        return None;
    }
    let service = objects.get(&Key::new(Kind::Service, namespace, name)).filter(|of| !is_leaving(of))?;
    let service: Service = read(service)?;
    let slices: Vec<EndpointSlice> =
        objects.slices(namespace, name).map(|(_, slice)| read(slice)).collect::<Option<_>>()?;
    let slices: Vec<&EndpointSlice> = slices.iter().collect();
    let families: Vec<IpFamily> = match import.spec.ip_families.as_slice() {
        [] => importer.families.first().copied().into_iter().collect(),
        _ => super::service::common_families(import, &importer.families),
    };
    pods_at_home(&service, &slices, &import.spec, importer.addresses, &families)
}

/// Takes out of endpoints those of other clusters that are in networks of this one: they would lead to something of our own.
pub(super) fn without_own_networks(
    importer: &Importer,
    endpoints: &mut ImportedEndpoints,
) -> Option<Problem> {
    let mut left_out: Vec<String> = Vec::new();
    let others = endpoints.clusters.iter_mut().filter(|of| of.cluster_id != importer.cluster.as_str());
    for cluster in others {
        for slice in &mut cluster.endpoint_slices {
            slice.endpoints.retain(|endpoint| match own_network(importer, endpoint) {
                Some((address, network)) => {
                    left_out.push(format!("{address} of cluster {} is in {network}", cluster.cluster_id));
                    false
                }
                None => true,
            });
        }
    }
    let first = left_out.first()?;
    let others = match left_out.len() - 1 {
        0 => String::new(),
        1 => ", as is another".to_owned(),
        more => format!(", as are {more} others"),
    };
    Some(Problem::InOwnNetwork(format!("{first} of this cluster, and is left out{others}")))
}

/// The address of an endpoint, and which network of this cluster it is in.
fn own_network<'a>(importer: &'a Importer, endpoint: &SliceEndpoint) -> Option<(IpAddr, &'a IpNet)> {
    let address = address(endpoint)?;
    Some((address, importer.own_networks.iter().find(|network| network.contains(&address))?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(kind: Kind, object: &Value) -> [bool; 2] {
        [EndpointAddresses::ClusterIps, EndpointAddresses::PodIps]
            .map(|of| kept_for_imports(kind, object.clone(), of).is_ok())
    }

    #[test]
    fn services_and_slices_that_imports_do_not_depend_on_are_not_kept() {
        let service =
            |name: &str, ip: &str| json!({ "metadata": { "name": name }, "spec": { "clusterIP": ip } });
        assert_eq!(
            kept(Kind::Service, &service("web", "10.96.0.7")),
            [false, true],
            "its Pods may be exported"
        );
        assert_eq!(kept(Kind::Service, &service("antrea-mc-web", "10.96.0.8")), [true, true]);
        assert_eq!(kept(Kind::Service, &service("db", "None")), [true, true]);
        let slice = |managed_by: &str, more: &str| json!({ "metadata": { "labels": { MANAGED_BY_LABEL: managed_by, more: "" } } });
        assert_eq!(kept(Kind::EndpointSlice, &slice(KUBERNETES, "team")), [false, true]);
        assert_eq!(kept(Kind::EndpointSlice, &slice(KUBERNETES, HEADLESS_LABEL)), [true, true]);
        assert_eq!(kept(Kind::EndpointSlice, &slice(MANAGED_BY, "team")), [true, true]);
        assert_eq!(kept(Kind::EndpointSlice, &json!({ "metadata": {} })), [true, true], "a user has made it");
    }

    #[test]
    fn what_is_made_for_imports_is_kept_as_a_whole_and_of_others_what_is_read() {
        let check = |name: &str, labels: Value, is_whole: bool| {
            let slice =
                json!({ "metadata": { "name": name, "labels": labels, "uid": "9b1c" }, "endpoints": [] });
            let kept =
                kept_for_imports(Kind::EndpointSlice, slice.clone(), EndpointAddresses::PodIps).unwrap();
            assert_eq!(kept == slice, is_whole, "{kept}");
            assert_eq!(kept["endpoints"], slice["endpoints"]);
        };
        check("antrea-mc-web-1", json!({ "team": "a" }), true);
        check("web-1", json!({ MANAGED_BY_LABEL: MANAGED_BY }), true);
        check("web-1", json!({ MANAGED_BY_LABEL: KUBERNETES }), false);
    }
}
