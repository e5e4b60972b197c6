//! One imported Service: the Service `antrea-mc-NAME`, its EndpointSlices, and the ServiceImport.

use antrea_mc_core::ids::NamespacedName;
use antrea_mc_core::names::{Names, Resource, derived_service_name};
use antrea_shared_api::mcs::{self, ServiceImportType};
use antrea_shared_api::multicluster::v1alpha1::{
    ImportKind, ImportedEndpoints, ImportedServiceImport, ResourceImport,
};
use antrea_shared_api::multicluster::well_known::annotation::IMPORTED_SERVICE;
use antrea_types::IpFamily;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use super::{Importer, Problem, home, limits, service_import, slices};
use crate::action::{Action, ensure};
use crate::area::Plan;
use crate::kind::Kind;
use crate::objects::{Key, Objects, annotation, is_leaving, label, read, text};

/// An imported Service with everything that is known of it.
pub(super) struct Imported<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) import: &'a ImportedServiceImport,
    pub(super) endpoints: Option<&'a ImportedEndpoints>,
    /// What of the endpoints is left out.
    pub(super) left_out: Option<Problem>,
    /// The families that both the Service and this cluster have, in the Service's order; empty when unknown.
    pub(super) families: Vec<IpFamily>,
}

impl Imported<'_> {
    pub(super) fn is_headless(&self) -> bool {
        self.import.spec.import_type == ServiceImportType::Headless
    }
}

/// What is to be done about the imported Service `namespace/name`.
pub(super) fn plan(
    importer: &Importer,
    objects: &Objects,
    namespace: &str,
    name: &str,
    now: Timestamp,
) -> Result<Plan<Problem>, Problem> {
    let import = find(importer, objects, namespace, name, &ImportKind::ServiceImport)?;
    let endpoints = find(importer, objects, namespace, name, &ImportKind::Endpoints)?;
    let import =
        import.and_then(|found| Some((limits::key_of(importer, &found), found.spec.service_import?)));
    let Some((key, mut import)) = import else {
        return Ok(withdraw(objects, namespace, name));
    };
    let own = objects.get(&Key::new(Kind::Namespace, "", namespace));
    if own.is_none_or(is_leaving) {
        return Err(Problem::NoNamespace(namespace.to_owned()));
    }
    let left_out = admit(importer, objects, &key, (namespace, name), &mut import)?;
    let (endpoints, too_many) =
        endpoints.map(|endpoints| limits::without_too_many(importer, objects, endpoints)).unwrap_or_default();
    let mut endpoints = home::with_own(importer, objects, (namespace, name), &import, endpoints);
    let in_own = endpoints.as_mut().and_then(|endpoints| home::without_own_networks(importer, endpoints));
    let left_out = left_out.or(too_many).or(in_own);
    let families = common_families(&import, &importer.families);
    let (import, endpoints) = (&import, endpoints.as_ref());
    let imported = Imported { namespace, name, import, endpoints, left_out, families };
    Ok(realize(importer, objects, &imported, now))
}

/// Lets a Service in that is within the limits, and says what of it is left out. One that is imported already has its address,
/// and keeps it.
///
/// # Errors
/// Why it is not imported.
fn admit(
    importer: &Importer,
    objects: &Objects,
    key: &Key,
    (namespace, name): (&str, &str),
    import: &mut ImportedServiceImport,
) -> Result<Option<Problem>, Problem> {
    let derived = Key::new(Kind::Service, namespace, &derived_service_name(name));
    match objects.get(&derived).filter(|service| is_ours(service)) {
        Some(there) => Ok(limits::without_more_ports(importer, objects, (namespace, there), import)),
        None => {
            let of = (namespace, import.status.clusters.as_slice());
            limits::too_many_services(importer, objects, key, of).map_or(Ok(None), Err)
        }
    }
}

fn find(
    importer: &Importer,
    objects: &Objects,
    namespace: &str,
    name: &str,
    kind: &ImportKind,
) -> Result<Option<ResourceImport>, Problem> {
    let Ok(service) = NamespacedName::new(namespace, name) else { return Ok(None) };
    let resource = match kind {
        ImportKind::Endpoints => Resource::Endpoints(service),
        _ => Resource::Service(service),
    };
    importer.import(objects, &Names::of_import(&resource).both(), |import| {
        let spec = &import.spec;
        spec.kind == *kind && spec.namespace == namespace && spec.name == name
    })
}

pub(super) fn common_families(import: &ImportedServiceImport, own: &[IpFamily]) -> Vec<IpFamily> {
    let of_text = |text: &String| own.iter().copied().find(|family| family.to_string() == *text);
    import.spec.ip_families.iter().filter_map(of_text).collect()
}

/// Brings the objects about. A new Service comes before its slices and its ServiceImport, which need what the API server
/// gives it. Of one that is there the slices come first: no moment without them where somebody else's endpoints go.
fn realize(importer: &Importer, objects: &Objects, imported: &Imported<'_>, now: Timestamp) -> Plan<Problem> {
    let mut plan = Plan::default();
    let key = Key::new(Kind::Service, imported.namespace, &derived_service_name(imported.name));
    let actual = objects.get(&key);
    let unreachable = imported.families.is_empty() && !imported.import.spec.ip_families.is_empty();
    let service = actual.filter(|service| is_ours(service) && !unreachable && !is_leaving(service));
    let owner = service.filter(|service| !must_be_made_anew(imported, service));
    plan.actions.extend(slices::plan(importer, objects, imported, owner));
    if unreachable {
        plan.problems.push(Problem::NoFamily(imported.import.spec.ip_families.join(" and ")));
        plan.actions
            .extend(actual.filter(|service| is_ours(service)).map(|service| Action::delete(&key, service)));
    } else if actual.is_some_and(|service| !is_ours(service)) {
        plan.problems.push(Problem::Foreign(key.clone()));
    } else {
        plan.actions.extend(ensure_service(imported, &key, actual));
    }
    service_import::plan(objects, imported, service, now, &mut plan);
    plan.problems.extend(imported.left_out.clone());
    plan
}

fn ensure_service(imported: &Imported<'_>, key: &Key, actual: Option<&Value>) -> Vec<Action> {
    let Some(actual) = actual else {
        return ensure(Kind::Service, None, &wanted(imported, key)).into_iter().collect();
    };
    if must_be_made_anew(imported, actual) {
        return vec![Action::delete(key, actual)];
    }
    let mut actions: Vec<Action> = Vec::new();
    if label(actual, mcs::label::SERVICE_NAME).is_none() {
        // Upstream made it, with Endpoints that would go on beside our slices. The label that comes after says that
        // they are gone.
        let endpoints = Key { kind: Kind::Endpoints, ..key.clone() };
        actions.push(Action::Delete(endpoints, String::new()));
    }
    actions.extend(ensure(Kind::Service, Some(actual), &wanted(imported, key)));
    actions
}

/// A Service never changes between headless and not, nor the first of its families.
fn must_be_made_anew(imported: &Imported<'_>, actual: &Value) -> bool {
    let is_headless = text(actual, "/spec/clusterIP") == "None";
    let first = text(actual, "/spec/ipFamilies/0");
    let wanted = imported.families.first().map(ToString::to_string);
    is_headless != imported.is_headless() || wanted.is_some_and(|wanted| !first.is_empty() && wanted != first)
}

/// Whether Multi-cluster made a Service or a ServiceImport: upstream's mark, which ours carry as well.
pub(super) fn is_ours(object: &Value) -> bool {
    annotation(object, IMPORTED_SERVICE).is_some()
}

fn wanted(imported: &Imported<'_>, key: &Key) -> Value {
    let spec = &imported.import.spec;
    let ports = spec.ports.iter().map(|port| {
        json!({
            "name": (!port.name.is_empty()).then_some(&port.name),
            "protocol": if port.protocol.is_empty() { "TCP" } else { &port.protocol },
            "appProtocol": port.app_protocol,
            "port": port.port,
            "targetPort": port.port,
        })
    });
    let mut wanted = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "annotations": { IMPORTED_SERVICE: "true" },
            "labels": { mcs::label::SERVICE_NAME: imported.name },
        },
        "spec": {
            "type": "ClusterIP",
            "ports": ports.collect::<Vec<_>>(),
            "selector": null,
            // Endpoints of other clusters are on no Node of this one: with Local nobody would reach them.
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": spec.session_affinity.as_deref().unwrap_or("None"),
            // All API servers that have the field know this word, and no other one means more here: endpoints in other
            // clusters are on no Node of this one.
            "trafficDistribution": spec.traffic_distribution.as_ref().map(|_| "PreferClose"),
        },
    });
    if spec.session_affinity.as_deref() == Some("ClientIP") {
        wanted["spec"]["sessionAffinityConfig"] = json!(spec.session_affinity_config);
    }
    if imported.is_headless() {
        wanted["spec"]["clusterIP"] = json!("None");
    }
    if !imported.families.is_empty() {
        let policy = if imported.families.len() == 1 { "SingleStack" } else { "RequireDualStack" };
        wanted["spec"]["ipFamilies"] = json!(imported.families);
        wanted["spec"]["ipFamilyPolicy"] = json!(policy);
    }
    wanted
}

/// The Namespace is excluded: what was imported before goes, and a Service that others export is named.
pub(super) fn exclude(importer: &Importer, objects: &Objects, namespace: &str, name: &str) -> Plan<Problem> {
    let import = find(importer, objects, namespace, name, &ImportKind::ServiceImport);
    let is_imported = matches!(import, Ok(Some(_)));
    let problems = is_imported.then(|| Problem::Excluded(namespace.to_owned())).into_iter().collect();
    Plan { problems, ..withdraw(objects, namespace, name) }
}

/// Nobody exports the Service any more: what was made for it goes.
fn withdraw(objects: &Objects, namespace: &str, name: &str) -> Plan<Problem> {
    let service = Key::new(Kind::Service, namespace, &derived_service_name(name));
    let import = Key::new(Kind::ServiceImport, namespace, name);
    let ours = |key: Key| {
        let object = objects.get(&key).filter(|object| !is_leaving(object))?;
        let is_ours = is_ours(object)
            || key.kind == Kind::ServiceImport && service_import::is_of_upstream(objects, object, &service);
        is_ours.then(|| Action::delete(&key, object))
    };
    let slices = slices::existing(objects, namespace, name);
    let slices = slices.into_iter().map(|(key, slice)| Action::delete(key, slice));
    // The ServiceImport first: as long as there is the Service, it can be told whose it is.
    let actions = ours(import).into_iter().chain(slices).chain(ours(service.clone())).collect();
    Plan { actions, problems: Vec::new() }
}

/// The addresses of a derived Service; none before it has some, and none of a headless one.
pub(super) fn cluster_ips(service: &Value) -> Vec<String> {
    let spec = read::<Service>(service).and_then(|service| service.spec).unwrap_or_default();
    let ips = spec.cluster_ips.or_else(|| spec.cluster_ip.map(|ip| vec![ip])).unwrap_or_default();
    ips.into_iter().filter(|ip| !ip.is_empty() && ip != "None").collect()
}
