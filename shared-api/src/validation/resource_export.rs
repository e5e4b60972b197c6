//! ResourceExport. Who may write which one is a matter of the leader's webhook.

use super::{FieldError, Problems, Validate, cluster_info, endpoints, mcs, ports, values};
use crate::labels;
use crate::mcs::ServiceImportType;
use crate::multicluster::v1alpha1::{
    ExportKind, ExportedService, ExportedServiceSpec, ResourceExport, ResourceExportSpec,
};

impl Validate for ResourceExport {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| problems.within("spec", |problems| check(problems, &self.spec)))
    }

    fn changed_constants(&self, old: &Self) -> Vec<FieldError> {
        let (old, new) = (&old.spec, &self.spec);
        Problems::of(|problems| {
            problems.constant("spec.clusterID", &old.cluster_id, &new.cluster_id);
            problems.constant("spec.kind", &old.kind, &new.kind);
            if matches!(old.kind, ExportKind::Service | ExportKind::Endpoints) {
                problems.constant("spec.name", &old.name, &new.name);
                problems.constant("spec.namespace", &old.namespace, &new.namespace);
            }
        })
    }
}

fn check(problems: &mut Problems, spec: &ResourceExportSpec) {
    check_identity(problems, spec);
    check_payload(problems, spec);
    if let Some(service) = &spec.service {
        problems.within("service", |problems| check_service(problems, service));
    }
    if let Some(endpoints) = &spec.endpoints {
        problems.within("endpoints", |problems| endpoints::check_exported(problems, endpoints));
    }
    if let Some(info) = &spec.cluster_info {
        problems.within("clusterInfo", |problems| {
            cluster_info::check(problems, info);
            if info.cluster_id != spec.cluster_id {
                problems.add("clusterID", format!("must be {:?}, as spec.clusterID", spec.cluster_id));
            }
        });
    }
    if let Some(identity) = &spec.label_identity {
        let problem = labels::parse(&identity.normalized_label).err().map(|error| error.to_string());
        problems.check("labelIdentity.normalizedLabel", problem);
    }
}

/// Cluster, Namespace and name, as far as exports of the kind have them.
fn check_identity(problems: &mut Problems, spec: &ResourceExportSpec) {
    match spec.kind {
        ExportKind::Service | ExportKind::Endpoints => {
            problems.check("clusterID", values::id(&spec.cluster_id));
            problems.check("name", values::dns_label(&spec.name));
            problems.check("namespace", values::dns_label(&spec.namespace));
        }
        ExportKind::ClusterInfo | ExportKind::LabelIdentity => {
            problems.check("clusterID", values::id(&spec.cluster_id));
        }
        ExportKind::AntreaClusterNetworkPolicy => problems.check("name", values::dns_subdomain(&spec.name)),
        ExportKind::ExternalEntity => {
            problems.check("clusterID", values::id(&spec.cluster_id));
            problems.check("name", values::dns_subdomain(&spec.name));
            problems.check("namespace", values::dns_label(&spec.namespace));
        }
        ExportKind::Other(_) => {}
    }
}

/// Exactly the field of the kind is there.
fn check_payload(problems: &mut Problems, spec: &ResourceExportSpec) {
    let wanted = match &spec.kind {
        ExportKind::Service => "service",
        ExportKind::Endpoints => "endpoints",
        ExportKind::ClusterInfo => "clusterInfo",
        ExportKind::AntreaClusterNetworkPolicy => "clusterNetworkPolicy",
        ExportKind::LabelIdentity => "labelIdentity",
        ExportKind::ExternalEntity => "externalEntity",
        ExportKind::Other(_) if spec.raw.is_some() => "raw",
        ExportKind::Other(kind) => return problems.check("kind", values::one_of(kind, ExportKind::KNOWN)),
    };
    let there = [
        ("service", spec.service.is_some()),
        ("endpoints", spec.endpoints.is_some()),
        ("clusterInfo", spec.cluster_info.is_some()),
        ("externalEntity", spec.external_entity.is_some()),
        ("clusterNetworkPolicy", spec.cluster_network_policy.is_some()),
        ("labelIdentity", spec.label_identity.is_some()),
        ("raw", spec.raw.is_some()),
    ];
    problems.payload(spec.kind.as_str(), wanted, &there);
}

fn check_service(problems: &mut Problems, service: &ExportedService) {
    problems.within("serviceSpec", |problems| {
        let spec = &service.service_spec;
        ports::check(problems, &spec.ports);
        mcs::check_properties(
            problems,
            spec.session_affinity.as_deref(),
            spec.internal_traffic_policy.as_deref(),
            &spec.ip_families,
        );
        check_what_importers_take(problems, spec);
    });
    if let Some(origin) = &service.origin {
        problems.within("origin", |problems| {
            problems.check("type", values::one_of(origin.service_type.as_str(), ServiceImportType::KNOWN));
            mcs::check_metadata(problems, ["labels", "annotations"], &origin.labels, &origin.annotations);
        });
    }
}

/// What importers take over as it is: with another value their API servers would refuse the Service.
fn check_what_importers_take(problems: &mut Problems, spec: &ExportedServiceSpec) {
    let distribution = spec.traffic_distribution.as_deref().filter(|word| !word.is_empty());
    problems.check("trafficDistribution", distribution.and_then(values::traffic_distribution));
    let client_ip = spec.session_affinity_config.as_ref().and_then(|config| config.client_ip.as_ref());
    let seconds = client_ip.and_then(|client_ip| client_ip.timeout_seconds);
    problems
        .check("sessionAffinityConfig.clientIP.timeoutSeconds", seconds.and_then(values::affinity_seconds));
}
