//! `controlplane.antrea.io/v1beta2`, with upstream's JSON and protobuf: names and numbers of fields, what is left out and
//! what is written although it is empty.
//!
//! Fields that a newer peer adds are skipped. A word or number that this version cannot understand makes the object
//! unreadable, and the error names the field: what the object would let through or stop cannot be known then.

mod address_group;
mod applied_to_group;
mod egress_group;
mod group;
mod group_association;
mod group_member;
mod group_members;
mod ip_json;
mod l7_protocol;
mod network_policy;
mod network_policy_evaluation;
mod network_policy_status;
mod node_stats_summary;
mod peer;
mod port;
mod rule;
mod service;

pub use address_group::{AddressGroup, AddressGroupPatch};
pub use applied_to_group::{AppliedToGroup, AppliedToGroupPatch};
pub use egress_group::{EgressGroup, EgressGroupPatch};
pub use group_association::{GroupAssociation, GroupReference, IPGroupAssociation};
pub use group_member::{
    ExternalEntityReference, GroupMember, NamedPort, NodeReference, PodReference, ServiceReference,
};
pub use group_members::{ClusterGroupMembers, GroupMembers};
pub use l7_protocol::{HttpProtocol, L7Protocol, TlsProtocol};
pub use network_policy::{NetworkPolicy, NetworkPolicyReference, NetworkPolicyType};
pub use network_policy_evaluation::{
    Entity, NetworkPolicyEvaluation, NetworkPolicyEvaluationRequest, NetworkPolicyEvaluationResponse, RuleRef,
};
pub use network_policy_status::{NetworkPolicyNodeStatus, NetworkPolicyStatus};
pub use node_stats_summary::{CountedPolicy, MulticastGroupInfo, NetworkPolicyStats, NodeStatsSummary};
pub use peer::{IpBlock, NetworkPolicyPeer};
pub use port::Port;
pub use rule::{Direction, NetworkPolicyRule, RuleAction};
pub use service::{Protocol, Service};

/// Group and version.
pub const API_VERSION: &str = "controlplane.antrea.io/v1beta2";
