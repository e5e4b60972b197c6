//! The columns of each kind, as upstream has them.

use antrea_shared_api::multicluster::v1alpha1::{ResourceExport, ResourceImport};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use kube::ResourceExt;

use crate::output::table;

/// One row for each condition of each cluster; one for a ClusterSet that knows none.
pub(super) fn cluster_sets(sets: &[ClusterSet]) -> String {
    let rows = sets.iter().flat_map(|set| {
        let row = |cluster: &str, condition: [&str; 3]| {
            let [condition_type, status, reason] = condition.map(str::to_owned);
            let namespace = set.namespace().unwrap_or_default();
            [cluster.to_owned(), namespace, set.name_any(), condition_type, status, reason]
        };
        let clusters = set.status.iter().flat_map(|status| &status.cluster_statuses);
        let mut rows = Vec::new();
        for cluster in clusters {
            for condition in &cluster.conditions {
                let cells = [&condition.condition_type, condition.status.as_str(), &condition.reason];
                rows.push(row(&cluster.cluster_id, cells));
            }
        }
        if rows.is_empty() {
            rows.push(row("", [""; 3]));
        }
        rows
    });
    table(["CLUSTER-ID", "NAMESPACE", "CLUSTERSET-ID", "TYPE", "STATUS", "REASON"], rows.collect())
}

pub(super) fn resource_exports(exports: &[ResourceExport]) -> String {
    let row = |export: &ResourceExport| {
        let namespace = export.namespace().unwrap_or_default();
        [export.spec.cluster_id.clone(), namespace, export.name_any(), export.spec.kind.to_string()]
    };
    table(["CLUSTER-ID", "NAMESPACE", "NAME", "KIND"], exports.iter().map(row).collect())
}

pub(super) fn resource_imports(imports: &[ResourceImport]) -> String {
    let row = |import: &ResourceImport| {
        [import.namespace().unwrap_or_default(), import.name_any(), import.spec.kind.to_string()]
    };
    table(["NAMESPACE", "NAME", "KIND"], imports.iter().map(row).collect())
}
