//! The kinds of Multi-cluster, with the columns that upstream shows.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Error;

use super::builder::{Column, Status, definition, served, stored};
use crate::mcs;
use crate::multicluster::{v1alpha1, v1alpha2};

/// CRDs of the groups `multicluster.crd.antrea.io` and `multicluster.x-k8s.io`, in the order of their names.
///
/// # Errors
///
/// A type has a schema that CRDs cannot have: a mistake in this crate.
pub fn multicluster() -> Result<Vec<CustomResourceDefinition>, Error> {
    Ok(vec![
        cluster_claim()?,
        cluster_info_import()?,
        cluster_set()?,
        gateway()?,
        label_identity()?,
        member_cluster_announce()?,
        resource_export()?,
        resource_import()?,
        service_export()?,
        service_import()?,
    ])
}

fn cluster_claim() -> Result<CustomResourceDefinition, Error> {
    let columns = [Column("Value", "string", ".value")];
    let version = stored::<v1alpha2::ClusterClaim>(Status::None, &columns)?;
    Ok(definition::<v1alpha2::ClusterClaim>(&[], vec![version]))
}

fn cluster_info_import() -> Result<CustomResourceDefinition, Error> {
    let columns = [
        Column("Cluster ID", "string", ".spec.clusterID"),
        Column("Service CIDR", "string", ".spec.serviceCIDR"),
    ];
    let version = stored::<v1alpha1::ClusterInfoImport>(Status::Subresource, &columns)?;
    Ok(definition::<v1alpha1::ClusterInfoImport>(&[], vec![version]))
}

fn cluster_set() -> Result<CustomResourceDefinition, Error> {
    let columns = [
        Column("Leader Cluster Namespace", "string", ".spec.namespace"),
        Column("Total Clusters", "integer", ".status.totalClusters"),
        Column("Ready Clusters", "integer", ".status.readyClusters"),
    ];
    let mut old = served::<v1alpha1::ClusterSet>(Status::Subresource, &columns)?;
    old.deprecated = Some(true);
    old.deprecation_warning =
        Some("multicluster.crd.antrea.io/v1alpha1 ClusterSet is deprecated: use v1alpha2".to_owned());
    let new = stored::<v1alpha2::ClusterSet>(Status::Subresource, &columns)?;
    Ok(definition::<v1alpha2::ClusterSet>(&[], vec![old, new]))
}

fn gateway() -> Result<CustomResourceDefinition, Error> {
    let columns =
        [Column("Gateway IP", "string", ".gatewayIP"), Column("Internal IP", "string", ".internalIP")];
    let version = stored::<v1alpha1::Gateway>(Status::Subresource, &columns)?;
    Ok(definition::<v1alpha1::Gateway>(&[], vec![version]))
}

fn label_identity() -> Result<CustomResourceDefinition, Error> {
    let columns = [Column("Label", "string", ".spec.label"), Column("ID", "integer", ".spec.id")];
    let version = stored::<v1alpha1::LabelIdentity>(Status::None, &columns)?;
    Ok(definition::<v1alpha1::LabelIdentity>(&[], vec![version]))
}

fn member_cluster_announce() -> Result<CustomResourceDefinition, Error> {
    let columns =
        [Column("Cluster ID", "string", ".clusterID"), Column("ClusterSet ID", "string", ".clusterSetID")];
    // Upstream members may read the status of an announce, which upstream's has not.
    let version = stored::<v1alpha1::MemberClusterAnnounce>(Status::Subresource, &columns)?;
    Ok(definition::<v1alpha1::MemberClusterAnnounce>(&[], vec![version]))
}

fn resource_export() -> Result<CustomResourceDefinition, Error> {
    let columns = [
        Column("Cluster ID", "string", ".spec.clusterID"),
        Column("Kind", "string", ".spec.kind"),
        Column("Namespace", "string", ".spec.namespace"),
        Column("Name", "string", ".spec.name"),
    ];
    let version = stored::<v1alpha1::ResourceExport>(Status::Subresource, &columns)?;
    Ok(definition::<v1alpha1::ResourceExport>(&[], vec![version]))
}

fn resource_import() -> Result<CustomResourceDefinition, Error> {
    let columns = [
        Column("Kind", "string", ".spec.kind"),
        Column("Namespace", "string", ".spec.namespace"),
        Column("Name", "string", ".spec.name"),
    ];
    let version = stored::<v1alpha1::ResourceImport>(Status::Subresource, &columns)?;
    Ok(definition::<v1alpha1::ResourceImport>(&[], vec![version]))
}

fn service_export() -> Result<CustomResourceDefinition, Error> {
    let old = served::<mcs::v1alpha1::ServiceExport>(Status::Subresource, &[])?;
    let new = stored::<mcs::v1beta1::ServiceExport>(Status::Subresource, &[])?;
    Ok(definition::<mcs::v1beta1::ServiceExport>(&["svcex", "svcexport"], vec![old, new]))
}

fn service_import() -> Result<CustomResourceDefinition, Error> {
    let columns = [Column("Type", "string", ".spec.type"), Column("IP", "string", ".spec.ips")];
    let old = served::<mcs::v1alpha1::ServiceImport>(Status::Subresource, &columns)?;
    let new = stored::<mcs::v1beta1::ServiceImport>(Status::Subresource, &columns)?;
    Ok(definition::<mcs::v1beta1::ServiceImport>(&["svcim", "svcimport"], vec![old, new]))
}
