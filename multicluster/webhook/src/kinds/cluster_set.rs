//! ClusterSet: one in a Namespace, and of constant IDs; a leader's stays as long as it has members. Who writes it RBAC
//! says, which lets no member.

use antrea_shared_api::multicluster::v1alpha2::ClusterSet;

use crate::change::Change;
use crate::denied::Denied;
use crate::review::{Operation, Request};
use crate::surroundings::Surroundings;

pub(crate) fn review(request: &Request, surroundings: &Surroundings) -> Result<(), Denied> {
    if !request.sub_resource.is_empty() {
        return Ok(());
    }
    match request.operation {
        Operation::Delete => without_members(&request.namespace, surroundings),
        Operation::Create => {
            Change::<ClusterSet>::read(request)?.validate()?;
            the_only_one(request, surroundings)
        }
        Operation::Update | Operation::Connect => Change::<ClusterSet>::read(request)?.validate(),
    }
}

fn the_only_one(request: &Request, surroundings: &Surroundings) -> Result<(), Denied> {
    let namespace = request.namespace.as_str();
    let Some(sets) = surroundings.cluster_sets(namespace)? else { return Ok(()) };
    match sets.keys().find(|name| **name != request.name) {
        Some(other) => Err(Denied::TooEarly(format!(
            "there is ClusterSet {other} in Namespace {namespace} already: a Namespace has one; delete that one first"
        ))),
        None => Ok(()),
    }
}

fn without_members(namespace: &str, surroundings: &Surroundings) -> Result<(), Denied> {
    if !surroundings.is_common_area(namespace) {
        return Ok(());
    }
    let announces = surroundings.common_area(namespace)?.announces()?;
    if announces.is_empty() {
        return Ok(());
    }
    let members: Vec<&str> = announces.values().map(|announce| announce.cluster_id.as_str()).collect();
    Err(Denied::TooEarly(format!(
        "clusters are still members: {}; run \"antctl mc leave\" in each, or delete the MemberClusterAnnounce of one \
         that is gone for good",
        members.join(", ")
    )))
}
