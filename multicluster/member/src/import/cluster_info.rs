//! Other clusters: a ClusterInfoImport each, which the core agent makes routes of.

use antrea_shared_api::multicluster::v1alpha1::ImportKind;
use serde_json::json;

use super::{Importer, Problem, limits};
use crate::action::{Action, ensure, exactly};
use crate::area::Plan;
use crate::kind::Kind;
use crate::objects::{Key, Objects};

/// What is to be done about the cluster whose ResourceImport has this name. Nobody else writes ClusterInfoImports in
/// the Namespace of the controller, so that all of them are ours.
pub(super) fn plan(importer: &Importer, objects: &Objects, name: &str) -> Result<Plan<Problem>, Problem> {
    let key = Key::new(Kind::ClusterInfoImport, &importer.namespace, name);
    let actual = objects.get(&key);
    let import = importer.import(objects, &[name], |import| import.spec.kind == ImportKind::ClusterInfo)?;
    let info = import
        .and_then(|import| import.spec.cluster_info)
        .filter(|info| info.cluster_id != importer.cluster.as_str());
    let is_too_many = info.is_some() && limits::is_one_too_many(importer, objects, name);
    let action = match info.filter(|_| !is_too_many) {
        Some(info) => {
            let wanted = json!({
                "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
                "kind": "ClusterInfoImport",
                "metadata": { "name": key.name, "namespace": key.namespace },
                "spec": exactly(actual.and_then(|actual| actual.get("spec")), &json!(info)),
            });
            ensure(Kind::ClusterInfoImport, actual, &wanted)
        }
        None => actual.map(|actual| Action::delete(&key, actual)),
    };
    let problems =
        is_too_many.then_some(Problem::ManyClusters(importer.limits.clusters)).into_iter().collect();
    Ok(Plan { actions: action.into_iter().collect(), problems })
}
