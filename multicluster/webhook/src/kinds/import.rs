//! ResourceImport: the leader writes it; a member says what became of it there, and nowhere else.

use antrea_mc_core::ids::ClusterId;
use antrea_shared_api::multicluster::v1alpha1::ResourceImport;
use serde_json::Value;

use crate::caller::Caller;
use crate::change::Change;
use crate::denied::{Denied, forbid};
use crate::review::{Operation, Request};
use crate::surroundings::Surroundings;

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
    if new.own > 1 {
        return forbid(format!("status.clusterStatuses has {} entries of cluster {cluster}", new.own));
    }
    Ok(())
}

/// A status, as one cluster sees it.
struct Status<'a> {
    /// How many entries are its own.
    own: usize,
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
        Self { own: own.len(), others, rest }
    }
}
