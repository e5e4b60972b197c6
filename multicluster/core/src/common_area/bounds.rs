//! Imports fit into one object each: where all exports of a resource would not, the largest of them are left out.

use std::collections::BTreeSet;

use antrea_shared_api::multicluster::v1alpha1::ImportedEndpoints;
use serde::Serialize;

use crate::export::Export;
use crate::ids::ClusterId;
use crate::limits::{MOST_IMPORTED_BYTES, stored_bytes};
use crate::merge::{self, MergedEndpoints, MergedService};
use crate::service::ExportedService;
use crate::wire::{import_endpoints, import_service};

/// What comes of the exports of a Service, without those that are left out.
pub(super) struct BoundedService {
    /// Nothing where there is no export.
    pub(super) merged: Option<MergedService>,
    /// Whose exports are left out.
    pub(super) left_out: BTreeSet<ClusterId>,
}

/// Why the export of a cluster is left out.
pub(super) fn too_large(cluster: &ClusterId) -> String {
    format!(
        "the export of cluster {cluster} is left out: the ResourceImport would have more than {MOST_IMPORTED_BYTES} bytes, \
         and it needs the most of them"
    )
}

fn fits(imported: &impl Serialize) -> bool {
    stored_bytes(imported) <= MOST_IMPORTED_BYTES
}

/// What comes of the exports of a Service.
pub(super) fn service(mut exports: Vec<&Export<ExportedService>>) -> BoundedService {
    let mut left_out = BTreeSet::new();
    loop {
        let merged = merge::service(&exports);
        let largest = match &merged {
            Some(merged) if !fits(&import_service(merged)) => {
                exports.iter().max_by_key(|export| size(export)).map(|export| export.cluster.clone())
            }
            _ => None,
        };
        let Some(largest) = largest else { return BoundedService { merged, left_out } };
        exports.retain(|export| export.cluster != largest);
        left_out.insert(largest);
    }
}

/// How large the import of one export alone would be.
fn size(export: &Export<ExportedService>) -> usize {
    merge::service(&[export]).map_or(0, |alone| stored_bytes(&import_service(&alone)))
}

/// The import of endpoints, and whose are left out.
pub(super) fn endpoints(mut merged: MergedEndpoints) -> (ImportedEndpoints, BTreeSet<ClusterId>) {
    let (mut import, mut left_out) = (import_endpoints(&merged), BTreeSet::new());
    if fits(&import) {
        return (import, left_out);
    }
    let sizes = import.clusters.iter().map(stored_bytes).zip(merged.clusters.keys().cloned());
    let mut by_size: Vec<(usize, ClusterId)> = sizes.collect();
    by_size.sort();
    let mut bytes: usize = by_size.iter().map(|(size, _)| *size).sum();
    while let Some((size, cluster)) = by_size.pop() {
        bytes -= size;
        merged.clusters.remove(&cluster);
        left_out.insert(cluster);
        // Without the flat list it would be too large still.
        if bytes > MOST_IMPORTED_BYTES {
            continue;
        }
        import = import_endpoints(&merged);
        if fits(&import) {
            break;
        }
    }
    (import, left_out)
}
