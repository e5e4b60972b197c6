//! Services in ResourceExports and ResourceImports.

use std::collections::BTreeMap;

use antrea_shared_api::mcs::{
    ServiceImportCluster, ServiceImportPort, ServiceImportSpec, ServiceImportStatus, ServiceImportType,
};
use antrea_shared_api::multicluster::v1alpha1 as api;
use antrea_shared_api::validation::values;
use antrea_types::IpFamily;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ClientIPConfig, SessionAffinityConfig};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::Problem;
use super::port::{odd_protocol, read_port, service_port, too_many};
use super::problem::Problems;
use crate::limits::{MOST_ANNOTATIONS, MOST_LABELS, MOST_PORTS_READ};
use crate::merge::MergedService;
use crate::ports::PortIndex;
use crate::service::{
    ExportedService, InternalTrafficPolicy, Port, Properties, ServiceType, SessionAffinity,
};

const SPEC: &str = "spec.service.serviceSpec";

/// Reads `spec.service`; fields that make no sense are left out, and named.
pub(super) fn read(service: &api::ExportedService) -> (ExportedService, Vec<Problem>) {
    let listed = &service.service_spec.ports;
    let (mut ports, mut known, mut problems) = (Vec::new(), PortIndex::default(), Problems::default());
    problems.extend(too_many(SPEC, listed.len()));
    for (index, port) in listed.iter().take(MOST_PORTS_READ).enumerate() {
        let path = format!("{SPEC}.ports[{index}]");
        let (name, protocol) = (port.name.as_deref(), port.protocol.as_deref());
        problems.extend(odd_protocol(&path, port.app_protocol.as_deref()));
        match read_port(&path, name, protocol, port.port, port.app_protocol.as_deref()) {
            Ok(port) if known.excluding(&port).is_some() => {
                problems
                    .push(Problem::new(path, format_args!("port {port} is there twice, or lacks a name")));
            }
            Ok(port) => {
                known.push(&port);
                ports.push(port);
            }
            Err(problem) => problems.push(problem),
        }
    }
    let properties = service.origin.as_ref().map(|origin| {
        problems.extend(odd_properties(&service.service_spec, origin));
        read_properties(&service.service_spec, origin)
    });
    (ExportedService { ports, properties }, problems.into_vec())
}

/// Properties that no Service can have: importers' API servers would refuse it.
fn odd_properties(
    spec: &api::ExportedServiceSpec,
    origin: &api::ExportOrigin,
) -> impl Iterator<Item = Problem> {
    let distribution = spec.traffic_distribution.as_deref().filter(|word| !word.is_empty());
    let seconds = seconds(spec.session_affinity_config.as_ref());
    let odd = [
        ("serviceSpec.trafficDistribution", distribution.and_then(values::traffic_distribution)),
        (
            "serviceSpec.sessionAffinityConfig.clientIP.timeoutSeconds",
            seconds.and_then(values::affinity_seconds),
        ),
        ("origin.labels", too_many_labels(origin)),
        ("origin.annotations", too_many_annotations(origin)),
    ];
    let problem = |(field, problem): (&str, Option<String>)| {
        Some(Problem::new(format!("spec.service.{field}"), problem?))
    };
    odd.into_iter().filter_map(problem)
}

/// Why no label counts, where that is so.
fn too_many_labels(origin: &api::ExportOrigin) -> Option<String> {
    more_than(MOST_LABELS, &origin.labels)
}

/// The same of annotations.
fn too_many_annotations(origin: &api::ExportOrigin) -> Option<String> {
    values::annotations(&origin.annotations).or_else(|| more_than(MOST_ANNOTATIONS, &origin.annotations))
}

fn more_than(most: usize, all: &BTreeMap<String, String>) -> Option<String> {
    (all.len() > most)
        .then(|| format!("there are {}; at most {most} are allowed, and none counts", all.len()))
}

fn seconds(config: Option<&SessionAffinityConfig>) -> Option<i32> {
    config?.client_ip.as_ref()?.timeout_seconds
}

fn read_properties(spec: &api::ExportedServiceSpec, origin: &api::ExportOrigin) -> Properties {
    let headless = origin.service_type == ServiceImportType::Headless;
    let kept = |all: &BTreeMap<String, String>, too_many: Option<String>| {
        if too_many.is_some() { BTreeMap::new() } else { all.clone() }
    };
    Properties {
        service_type: if headless { ServiceType::Headless } else { ServiceType::ClusterSetIp },
        labels: kept(&origin.labels, too_many_labels(origin)),
        annotations: kept(&origin.annotations, too_many_annotations(origin)),
        ..properties_of(
            spec.session_affinity.as_deref(),
            spec.session_affinity_config.as_ref(),
            spec.internal_traffic_policy.as_deref(),
            spec.traffic_distribution.as_deref(),
            &spec.ip_families,
        )
    }
}

/// Properties that stand in the spec of a Service, of a ResourceExport and of a ServiceImport in the same words. Those that
/// no Service can have are left out.
pub(crate) fn properties_of(
    affinity: Option<&str>,
    affinity_config: Option<&SessionAffinityConfig>,
    internal_traffic_policy: Option<&str>,
    traffic_distribution: Option<&str>,
    ip_families: &[String],
) -> Properties {
    let local = internal_traffic_policy == Some("Local");
    let session_affinity =
        if affinity == Some("ClientIP") { SessionAffinity::ClientIp } else { SessionAffinity::None };
    let seconds = seconds(affinity_config).filter(|seconds| values::affinity_seconds(*seconds).is_none());
    let seconds = seconds.filter(|_| session_affinity == SessionAffinity::ClientIp);
    let distribution = traffic_distribution.filter(|word| values::traffic_distribution(word).is_none());
    Properties {
        session_affinity,
        affinity_seconds: seconds.and_then(|seconds| u32::try_from(seconds).ok()),
        internal_traffic_policy: if local {
            InternalTrafficPolicy::Local
        } else {
            InternalTrafficPolicy::Cluster
        },
        traffic_distribution: distribution.map(Into::into),
        ip_families: ip_families.iter().filter_map(|text| family(text)).collect(),
        ..Properties::default()
    }
}

fn family(text: &str) -> Option<IpFamily> {
    IpFamily::ALL.into_iter().find(|family| family.to_string() == text)
}

/// `spec.service` of the ResourceExport of a Service whose ServiceExport was created at `created`.
pub fn export_service(service: &ExportedService, created: Timestamp) -> api::ExportedService {
    let ports = service.ports.iter().map(service_port).collect();
    let Some(properties) = &service.properties else {
        let service_spec = api::ExportedServiceSpec { ports, ..Default::default() };
        return api::ExportedService { service_spec, ..Default::default() };
    };
    api::ExportedService {
        service_spec: api::ExportedServiceSpec {
            ports,
            session_affinity: Some(properties.session_affinity.to_string()),
            session_affinity_config: affinity_config(properties),
            ip_families: families(properties),
            internal_traffic_policy: Some(properties.internal_traffic_policy.to_string()),
            traffic_distribution: properties.traffic_distribution.as_deref().map(str::to_owned),
            ..Default::default()
        },
        origin: Some(api::ExportOrigin {
            creation_timestamp: Some(Time(created)),
            service_type: properties.service_type.to_string().into(),
            labels: properties.labels.clone(),
            annotations: properties.annotations.clone(),
        }),
        #[cfg(feature = "next")]
        next: Some("from a member".to_owned()),
    }
}

/// The ServiceImport of a ResourceImport; addresses are each member's own.
pub fn import_service(service: &MergedService) -> api::ImportedServiceImport {
    let properties = &service.properties;
    let clusters =
        service.clusters.keys().map(|cluster| ServiceImportCluster { cluster: cluster.to_string() });
    api::ImportedServiceImport {
        metadata: api::TemplateMetadata {
            labels: properties.labels.clone(),
            annotations: properties.annotations.clone(),
            ..Default::default()
        },
        spec: ServiceImportSpec {
            ports: service.ports.iter().map(import_port).collect(),
            import_type: properties.service_type.to_string().into(),
            session_affinity: Some(properties.session_affinity.to_string()),
            session_affinity_config: affinity_config(properties),
            ip_families: families(properties),
            internal_traffic_policy: Some(properties.internal_traffic_policy.to_string()),
            traffic_distribution: properties.traffic_distribution.as_deref().map(str::to_owned),
            ..Default::default()
        },
        status: ServiceImportStatus { clusters: clusters.collect(), ..Default::default() },
        #[cfg(feature = "next")]
        next: Some("from the leader".to_owned()),
    }
}

fn import_port(port: &Port) -> ServiceImportPort {
    ServiceImportPort {
        name: port.name.to_string(),
        protocol: port.protocol.to_string(),
        app_protocol: port.app_protocol.as_deref().map(str::to_owned),
        port: port.port.into(),
    }
}

fn families(properties: &Properties) -> Vec<String> {
    properties.ip_families.iter().map(ToString::to_string).collect()
}

fn affinity_config(properties: &Properties) -> Option<SessionAffinityConfig> {
    let seconds = i32::try_from(properties.affinity_seconds?).ok();
    Some(SessionAffinityConfig { client_ip: Some(ClientIPConfig { timeout_seconds: seconds }) })
}
