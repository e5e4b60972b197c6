//! Owner references of what members write.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::denied::{Denied, forbid};

/// With `blockOwnerDeletion` an owner, such as the announce of another member, is not deleted in the foreground before the
/// object is. What was there before may stay.
pub(super) fn adds_none(old: Option<&ObjectMeta>, new: &ObjectMeta) -> Result<(), Denied> {
    let had: Vec<&OwnerReference> = old.into_iter().flat_map(owners).collect();
    match owners(new).find(|added| !had.contains(added)) {
        Some(added) => forbid(format!(
            "metadata.ownerReferences: members write no owner references, and {} {:?} could not be deleted before this object",
            added.kind, added.name
        )),
        None => Ok(()),
    }
}

fn owners(metadata: &ObjectMeta) -> impl Iterator<Item = &OwnerReference> {
    metadata.owner_references.iter().flatten()
}
