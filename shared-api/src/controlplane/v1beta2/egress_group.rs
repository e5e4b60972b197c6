//! EgressGroup: whose traffic leaves by an Egress IP.

use super::GroupMember;
use super::group::group;

group!(
    /// The Pods of an Egress. Agents get the members on their own Node.
    EgressGroup "egressgroups",
    /// Members on the Node that came to an EgressGroup and left it. Upstream's JSON of it has no field names of its own, as
    /// nobody reads it; this has those of the other patches.
    EgressGroupPatch
);
