//! AppliedToGroup: whom a policy is about.

use super::GroupMember;
use super::group::group;

group!(
    /// What policies are applied to. Agents get the members on their own Node.
    AppliedToGroup "appliedtogroups",
    /// Members on the Node that came to an AppliedToGroup and left it.
    AppliedToGroupPatch
);
