//! Numbers of label sets: a LabelIdentity each.

use antrea_shared_api::multicluster::v1alpha1::ImportKind;
use serde_json::json;

use super::{Importer, Problem};
use crate::action::{Action, ensure};
use crate::area::Plan;
use crate::export::LabelIdentities;
use crate::kind::Kind;
use crate::objects::{Key, Objects};

/// What is to be done about the LabelIdentity of this name. Nobody else writes LabelIdentities. There are none where labels
/// are not exchanged: thousands of them would be for nothing.
pub(super) fn plan(importer: &Importer, objects: &Objects, name: &str) -> Result<Plan<Problem>, Problem> {
    let key = Key::new(Kind::LabelIdentity, "", name);
    let actual = objects.get(&key);
    let import = importer.import(objects, &[name], |import| import.spec.kind == ImportKind::LabelIdentity)?;
    let identity = import.and_then(|import| import.spec.label_identity);
    let action = match identity.filter(|_| importer.labels == LabelIdentities::Exported) {
        Some(identity) => {
            let wanted = json!({
                "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
                "kind": "LabelIdentity",
                "metadata": { "name": name },
                "spec": { "label": identity.label, "id": identity.id },
            });
            ensure(Kind::LabelIdentity, actual, &wanted)
        }
        None => actual.map(|actual| Action::delete(&key, actual)),
    };
    Ok(Plan { actions: action.into_iter().collect(), problems: Vec::new() })
}
