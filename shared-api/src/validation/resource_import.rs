//! ResourceImport: members look before they import, whatever the leader is.

use super::{FieldError, Problems, Validate, cluster_info, endpoints, label_identity, mcs, values};
use crate::multicluster::v1alpha1::{ImportKind, ResourceImport, ResourceImportSpec};

impl Validate for ResourceImport {
    fn validate(&self) -> Vec<FieldError> {
        Problems::of(|problems| problems.within("spec", |problems| check(problems, &self.spec)))
    }
}

fn check(problems: &mut Problems, spec: &ResourceImportSpec) {
    problems.check_each("clusterID", &spec.cluster_ids, values::id);
    check_identity(problems, spec);
    check_payload(problems, spec);
    if let Some(service) = &spec.service_import {
        problems.within("serviceImport", |problems| {
            let metadata = &service.metadata;
            let fields = ["metadata.labels", "metadata.annotations"];
            mcs::check_metadata(problems, fields, &metadata.labels, &metadata.annotations);
            problems.within("spec", |problems| mcs::check_import(problems, &service.spec));
        });
    }
    if let Some(endpoints) = &spec.endpoints {
        problems.within("endpoints", |problems| endpoints::check_imported(problems, endpoints));
    }
    if let Some(info) = &spec.cluster_info {
        problems.within("clusterinfo", |problems| cluster_info::check(problems, info));
    }
    if let Some(identity) = &spec.label_identity {
        problems.within("labelIdentity", |problems| label_identity::check(problems, identity));
    }
}

/// Namespace and name, as far as imports of the kind have them.
fn check_identity(problems: &mut Problems, spec: &ResourceImportSpec) {
    match spec.kind {
        ImportKind::ServiceImport | ImportKind::Endpoints => {
            problems.check("name", values::dns_label(&spec.name));
            problems.check("namespace", values::dns_label(&spec.namespace));
        }
        ImportKind::AntreaClusterNetworkPolicy => problems.check("name", values::dns_subdomain(&spec.name)),
        ImportKind::ExternalEntity => {
            problems.check("name", values::dns_subdomain(&spec.name));
            problems.check("namespace", values::dns_label(&spec.namespace));
        }
        ImportKind::ClusterInfo | ImportKind::LabelIdentity | ImportKind::Other(_) => {}
    }
}

/// Exactly the field of the kind is there.
fn check_payload(problems: &mut Problems, spec: &ResourceImportSpec) {
    let wanted = match &spec.kind {
        ImportKind::ServiceImport => "serviceImport",
        ImportKind::Endpoints => "endpoints",
        ImportKind::ClusterInfo => "clusterinfo",
        ImportKind::AntreaClusterNetworkPolicy => "clusternetworkpolicy",
        ImportKind::LabelIdentity => "labelIdentity",
        ImportKind::ExternalEntity => "externalentity",
        ImportKind::Other(_) if spec.raw.is_some() => "raw",
        ImportKind::Other(kind) => return problems.check("kind", values::one_of(kind, ImportKind::KNOWN)),
    };
    let there = [
        ("serviceImport", spec.service_import.is_some()),
        ("endpoints", spec.endpoints.is_some()),
        ("clusterinfo", spec.cluster_info.is_some()),
        ("externalentity", spec.external_entity.is_some()),
        ("clusternetworkpolicy", spec.cluster_network_policy.is_some()),
        ("labelIdentity", spec.label_identity.is_some()),
        ("raw", spec.raw.is_some()),
    ];
    problems.payload(spec.kind.as_str(), wanted, &there);
}
