//! AddressGroup: who a rule lets in or out.

use super::GroupMember;
use super::group::group;

group!(
    /// The peers of rules: Pods with their addresses, Nodes, ExternalEntities. Agents get all members of the groups that
    /// policies on their Node refer to.
    AddressGroup "addressgroups",
    /// Members that came to an AddressGroup and left it, removed ones first: a Pod whose addresses changed is in both.
    AddressGroupPatch
);
