//! What is added to ResourceExports of ClusterNetworkPolicies, which admins write by hand: labels, and the finalizer.

use antrea_shared_api::multicluster::v1alpha1::ResourceExport;
use antrea_shared_api::multicluster::well_known::{finalizer::RESOURCE_EXPORT, label};
use antrea_shared_api::validation::values::label_value;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::review::{Operation, Request, Verdict};

/// The kind as the label has it.
const KIND: &str = "AntreaClusterNetworkPolicy";

/// Adds what is missing. Whether the rest is right, other webhooks say.
pub(crate) fn patch(request: &Request) -> Verdict {
    let written = matches!(request.operation, Operation::Create | Operation::Update);
    let export = ResourceExport::deserialize(&request.object).ok();
    let export = export.filter(|export| export.spec.cluster_network_policy.is_some());
    let Some(export) = export.filter(|_| written && request.sub_resource.is_empty()) else {
        return Verdict::Allowed;
    };
    let mut patch = labels(&export);
    // Nothing can be added to what is being deleted; there the leader takes it off.
    if export.metadata.deletion_timestamp.is_none() {
        patch.extend(finalizer(&export));
    }
    if patch.is_empty() { Verdict::Allowed } else { Verdict::Patched(patch) }
}

fn labels(export: &ResourceExport) -> Vec<Value> {
    let there = export.metadata.labels.as_ref();
    let wanted = [
        (label::SOURCE_NAME, export.spec.name.as_str()),
        (label::SOURCE_NAMESPACE, ""),
        (label::SOURCE_KIND, KIND),
    ];
    // A policy may have a longer name than a label can hold; the leader goes by spec.
    let missing: Vec<(&str, &str)> = wanted
        .into_iter()
        .filter(|(key, value)| {
            label_value(value).is_none()
                && there.and_then(|labels| labels.get(*key)).map(String::as_str) != Some(*value)
        })
        .collect();
    let all = there.is_none().then(|| json!({ "op": "add", "path": "/metadata/labels", "value": {} }));
    let each = missing.iter().map(
        |(key, value)| json!({ "op": "add", "path": format!("/metadata/labels/{key}"), "value": value }),
    );
    all.filter(|_| !missing.is_empty()).into_iter().chain(each).collect()
}

fn finalizer(export: &ResourceExport) -> Option<Value> {
    match &export.metadata.finalizers {
        Some(there) if there.iter().any(|there| there == RESOURCE_EXPORT) => None,
        Some(_) => Some(json!({ "op": "add", "path": "/metadata/finalizers/-", "value": RESOURCE_EXPORT })),
        None => Some(json!({ "op": "add", "path": "/metadata/finalizers", "value": [RESOURCE_EXPORT] })),
    }
}
