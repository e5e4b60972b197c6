//! ResourceImport: the leader writes it; a member says what became of a policy there, and nowhere else.

use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::{ImportKind, ResourceImport};
use serde_json::Value;

use crate::caller::Caller;
use crate::change::Change;
use crate::denied::{Denied, forbid};
use crate::review::{Operation, Request};
use crate::surroundings::Surroundings;

/// How large the entry of a cluster may be, in bytes of JSON.
const MOST_BYTES: usize = 4 << 10;
/// How many conditions it may have.
const MOST_CONDITIONS: usize = 8;
/// How large what is noted of who wrote which field may become, in bytes of JSON: members write that as well.
const MOST_MANAGED_BYTES: usize = 32 << 10;

pub(crate) fn review(request: &Request, surroundings: &Surroundings) -> Result<(), Denied> {
    let area = surroundings.common_area(&request.namespace)?;
    match Caller::in_area(&request.user_info, surroundings, &request.namespace, area)? {
        Caller::Nobody(why) => forbid(why),
        Caller::Controller | Caller::Machinery => Ok(()),
        Caller::Admin | Caller::Account(_) if request.operation == Operation::Delete => Ok(()),
        Caller::Admin => Change::<ResourceImport>::read(request)?.validate(),
        Caller::Account(_) | Caller::Agent(_) => forbid("only the leader writes ResourceImports"),
        Caller::Member(cluster) if request.sub_resource == "status" => own_status(request, &cluster),
        Caller::Member(cluster) => forbid(format!(
            "cluster {cluster} may write nothing of ResourceImports but what it says of itself in their status"
        )),
    }
}

/// Nothing of the status changes but the one entry of `cluster`.
fn own_status(request: &Request, cluster: &ClusterId) -> Result<(), Denied> {
    let (old, new) = (Status::of(&request.old_object, cluster), Status::of(&request.object, cluster));
    if old.others != new.others || old.rest != new.rest {
        return forbid(format!(
            "cluster {cluster} may change no entry but its own in status.clusterStatuses, and nothing else of the status"
        ));
    }
    if new.own.len() > 1 {
        return forbid(format!("status.clusterStatuses has {} entries of cluster {cluster}", new.own.len()));
    }
    let (before, after) = (managed_bytes(&request.old_object), managed_bytes(&request.object));
    if !is_policy(&request.old_object) && (new.bytes() > old.bytes() || after > before) {
        return forbid(format!(
            "cluster {cluster} may say what became of policies, and not of other ResourceImports"
        ));
    }
    if after > MOST_MANAGED_BYTES && after > before {
        return forbid(format!(
            "metadata.managedFields has {after} bytes; at most {MOST_MANAGED_BYTES} are allowed"
        ));
    }
    is_short(&old, &new, cluster)
}

fn managed_bytes(import: &Value) -> usize {
    import.pointer("/metadata/managedFields").map_or(0, |fields| fields.to_string().len())
}

fn is_policy(import: &Value) -> bool {
    let kind = import.pointer("/spec/kind").and_then(Value::as_str);
    kind == Some(ImportKind::AntreaClusterNetworkPolicy.as_str())
}

/// All members read what one of them says. What it said before may stay, and get shorter.
fn is_short(old: &Status<'_>, new: &Status<'_>, cluster: &ClusterId) -> Result<(), Denied> {
    let entry = format!("the entry of cluster {cluster} in status.clusterStatuses");
    let (bytes, conditions) = (new.bytes(), new.conditions());
    if bytes > MOST_BYTES && bytes > old.bytes() {
        return forbid(format!("{entry} has {bytes} bytes; at most {MOST_BYTES} are allowed"));
    }
    if conditions > MOST_CONDITIONS && conditions > old.conditions() {
        return forbid(format!("{entry} has {conditions} conditions; at most {MOST_CONDITIONS} are allowed"));
    }
    Ok(())
}

/// A status, as one cluster sees it.
struct Status<'a> {
    /// Its own entries, of which there may be one.
    own: Vec<&'a Value>,
    /// Those of others, in their order.
    others: Vec<&'a Value>,
    /// The other fields.
    rest: Vec<(&'a String, &'a Value)>,
}

impl<'a> Status<'a> {
    fn of(object: &'a Value, cluster: &ClusterId) -> Self {
        let fields = object.get("status").and_then(Value::as_object);
        let entries = fields.and_then(|fields| fields.get("clusterStatuses")?.as_array());
        let is_own =
            |entry: &&Value| entry.get("clusterID").and_then(Value::as_str) == Some(cluster.as_str());
        let (own, others): (Vec<_>, Vec<_>) = entries.into_iter().flatten().partition(is_own);
        let rest = fields.into_iter().flatten().filter(|(name, _)| *name != "clusterStatuses").collect();
        Self { own, others, rest }
    }

    fn bytes(&self) -> usize {
        self.own.iter().map(|entry| entry.to_string().len()).sum()
    }

    fn conditions(&self) -> usize {
        let conditions = self.own.iter().filter_map(|entry| entry.get("conditions")?.as_array());
        conditions.map(Vec::len).sum()
    }
}
