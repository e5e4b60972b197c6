//! The part of a Gateway that says what is exported. The others are the election's, and the agent's of its Node.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use antrea_mc_core::addresses::{Claim, PodConnectivity};
use antrea_mc_core::ids::NamespacedName;
use antrea_mc_core::service_export::reachable;
use antrea_shared_api::multicluster::v1alpha1::ExportedMode;
use antrea_shared_api::multicluster::well_known::{MOST_EXPORTED_ADDRESSES, MOST_EXPORTED_POD_CIDRS};
use ipnet::{IpNet, Ipv4Net};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::exported::{Fitting, Reached, ServiceName};
use super::network_set::NetworkSet;
use super::{Exporter, Membership, Problem, Subject, parse};
use crate::action::ensure;
use crate::area::{Plan, Tick};
use crate::kind::Kind;
use crate::objects::{Key, Objects, at, is_leaving, text};

/// What is exported is made of these.
pub(super) const KINDS: [Kind; 4] = [Kind::Service, Kind::EndpointSlice, Kind::ServiceExport, Kind::Gateway];

/// What is to be done about the Gateway of this name.
pub(super) fn plan(exporter: &Exporter, objects: &Objects, name: &str) -> Plan<Problem> {
    let key = Key::new(Kind::Gateway, &exporter.namespace, name);
    let actual = objects.get(&key).filter(|gateway| !is_leaving(gateway));
    let (Some(actual), Membership::Joined { .. }) = (actual, &exporter.membership) else {
        return Plan::default();
    };
    let fitting = exporter.exported.fitting().cloned();
    let fitting = fitting.unwrap_or_else(|| {
        let listed = NetworkSet::of(&told(exporter, objects));
        Fitting::of(&services(exporter, objects), &BTreeMap::new(), &listed)
    });
    let too_many = !fitting.left_out.is_empty();
    let wanted = wanted(exporter, name, &fitting.listed);
    Plan {
        actions: ensure(Kind::Gateway, Some(actual), &wanted).into_iter().collect(),
        problems: too_many.then_some(Problem::ManyAddresses(MOST_EXPORTED_ADDRESSES)).into_iter().collect(),
    }
}

/// The mode and both lists are there in any case: without a mode everything is open, and an empty list would leave the one
/// that is there.
fn wanted(exporter: &Exporter, name: &str, listed: &NetworkSet) -> Value {
    let pod_cidrs = pod_cidrs(exporter);
    // Other clusters reach no more.
    let pods: Vec<Ipv4Net> = pod_cidrs.iter().take(MOST_EXPORTED_POD_CIDRS).filter_map(ipv4).collect();
    json!({
        "metadata": { "name": name, "namespace": exporter.namespace },
        "exported": {
            "mode": ExportedMode::Listed,
            "addresses": listed.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "podCIDRs": pods.iter().map(ToString::to_string).collect::<Vec<_>>(),
        },
    })
}

/// Between clusters there is IPv4 alone.
fn ipv4(network: &IpNet) -> Option<Ipv4Net> {
    match network {
        IpNet::V4(network) => Some(network.trunc()),
        IpNet::V6(_) => None,
    }
}

/// Takes in a change of a Service. Of one that cannot be read everything stays as it is.
pub(super) fn learned(exporter: &mut Exporter, objects: &Objects, name: &ServiceName, now: Duration) {
    if !exporter.exported.is_known() {
        return;
    }
    if let Ok(reached) = reached(exporter, objects, name) {
        exporter.exported.set(name, reached, now);
    }
}

/// The networks of Pods of this cluster, whichever the leader has heard of: exports wait for it, and Gateways do not.
fn pod_cidrs(exporter: &Exporter) -> Vec<IpNet> {
    [exporter.networks.pod_cidrs.as_slice(), &exporter.nodes].concat()
}

/// Takes in the time, and all objects as soon as they are known.
pub(super) fn tick(exporter: &mut Exporter, objects: &Objects, now: Duration) -> Tick<Subject> {
    if !exporter.exported.is_known() && KINDS.iter().all(|kind| objects.has_listed(*kind)) {
        let (services, told) = (services(exporter, objects), told(exporter, objects));
        exporter.exported.begin(services, &told, now);
    }
    if exporter.exported.is_known() && exporter.exported.moves(&exporter.nodes) {
        for (name, reached) in services(exporter, objects) {
            exporter.exported.set(&name, reached, now);
        }
    }
    let changed = exporter.exported.tick(now);
    let gateways = gateways(exporter, objects).filter(|_| changed);
    let mut changed: Vec<Subject> = gateways.map(|(key, _)| Subject::Gateway(key.name.clone())).collect();
    let moved = exporter.exported.take_moved();
    changed.extend(moved.into_iter().map(|(namespace, name)| Subject::Service(namespace, name)));
    Tick { again: exporter.exported.again(), changed }
}

fn gateways<'a>(exporter: &'a Exporter, objects: &'a Objects) -> impl Iterator<Item = (&'a Key, &'a Value)> {
    objects.all(Kind::Gateway).filter(move |(key, _)| key.namespace == exporter.namespace)
}

/// What the Gateways say already, as far as it is in networks of this cluster.
fn told(exporter: &Exporter, objects: &Objects) -> BTreeSet<Ipv4Net> {
    let lists = gateways(exporter, objects).filter_map(|(_, gateway)| at(gateway, "/exported/addresses"));
    let texts = lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    let networks = texts.filter_map(|text| text.parse::<Ipv4Net>().ok()).map(|network| network.trunc());
    let own = [exporter.networks.service_cidrs.clone(), pod_cidrs(exporter)].concat();
    networks.filter(|network| own.iter().any(|own| own.contains(&IpNet::V4(*network)))).collect()
}

/// Where all Services are reached that are exported. One that cannot be read is reached nowhere: nothing is known of it yet.
fn services(exporter: &Exporter, objects: &Objects) -> BTreeMap<ServiceName, Reached> {
    let exported = objects.all(Kind::ServiceExport).filter_map(|(key, _)| {
        let name = (key.namespace.clone(), key.name.clone());
        let reached = reached(exporter, objects, &name).ok()?;
        Some((name, reached))
    });
    exported.collect()
}

/// Where a Service is reached, and since when it is exported.
fn reached(exporter: &Exporter, objects: &Objects, name: &ServiceName) -> Result<Reached, Problem> {
    let export = objects.get(&Key::new(Kind::ServiceExport, &name.0, &name.1));
    let since = export.map(|export| text(export, "/metadata/creationTimestamp").to_owned());
    Ok(Reached { addresses: addresses(exporter, objects, name)?, since: since.unwrap_or_default() })
}

/// Why a Service is not reached at all its addresses; nothing where it is.
pub(super) fn no_room(exporter: &Exporter, name: &NamespacedName) -> Option<Problem> {
    let name: ServiceName = (name.namespace().to_owned(), name.name().to_owned());
    let fitting = exporter.exported.fitting()?;
    fitting.left_out.contains_key(&name).then_some(Problem::ManyAddresses(MOST_EXPORTED_ADDRESSES))
}

/// Where a Service is reached; nowhere where it is not exported.
fn addresses(
    exporter: &Exporter,
    objects: &Objects,
    (namespace, name): &ServiceName,
) -> Result<BTreeSet<Ipv4Addr>, Problem> {
    let key = |kind| Key::new(kind, namespace, name);
    let get = |key: &Key| objects.get(key).filter(|object| !is_leaving(object));
    if exporter.excluded.contains(namespace) || get(&key(Kind::ServiceExport)).is_none() {
        return Ok(BTreeSet::new());
    }
    let of_service = key(Kind::Service);
    let service = get(&of_service).map(|service| parse::<Service>(&of_service, service)).transpose()?;
    let slices = || {
        let slices = objects.slices(namespace, name);
        slices.map(|(key, slice)| parse::<EndpointSlice>(key, slice)).collect::<Result<Vec<_>, _>>()
    };
    let networks = Claim::new(
        &exporter.networks.service_cidrs,
        &pod_cidrs(exporter),
        exporter.addresses,
        PodConnectivity::Off,
    );
    reachable(service.as_ref(), slices, exporter.addresses, &networks)
}
