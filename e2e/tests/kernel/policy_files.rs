//! Policies of a Node, in the files from which an agent knows them that starts while there is no antrea-controller.

use std::net::IpAddr;

use antrea_shared_api::controlplane::v1beta2::{
    AddressGroup, AppliedToGroup, Direction, GroupMember, NetworkPolicy, NetworkPolicyReference,
    NetworkPolicyRule, NetworkPolicyType, PodReference, Port, RuleAction, Service,
};
use antrea_shared_api::meta::Metadata;
use antrea_shared_api::protobuf::encode;
use antrea_types::Protocol;
use anyhow::Result;

use crate::node::Node;
use crate::pod::Pod;

const NAME: &str = "00000000-0000-0000-0000-000000000001";

/// The files, below the folder that is the Node's `/run/antrea`.
const FILES: [&str; 3] = ["network-policies", "address-groups", "applied-to-groups"];

/// A policy that isolates one Pod, whatever it sends or gets, but for what its rules admit.
pub(crate) struct Policy {
    rules: Vec<NetworkPolicyRule>,
    peers: Vec<IpAddr>,
}

impl Policy {
    /// It admits nothing.
    pub(crate) fn isolation() -> Self {
        let rules = [Direction::In, Direction::Out].map(NetworkPolicyRule::isolation).into();
        Self { rules, peers: Vec::new() }
    }

    /// And these peers to ports of protocols, a first and a last one each.
    pub(crate) fn admitting(
        mut self,
        direction: Direction,
        peers: &[IpAddr],
        services: &[(Protocol, u16, u16)],
    ) -> Self {
        let mut rule = NetworkPolicyRule::isolation(direction);
        rule.action = Some(RuleAction::Allow);
        let of_rule = match direction {
            Direction::In => &mut rule.from,
            Direction::Out => &mut rule.to,
        };
        of_rule.address_groups = vec![NAME.to_owned()];
        rule.services = services.iter().map(service).collect();
        self.rules.push(rule);
        self.peers.extend(peers);
        self
    }

    /// Starts the Node's agent anew with this policy, of one of its Pods, and no others.
    pub(crate) fn enforce(&self, node: &mut Node, pod: &Pod) -> Result<()> {
        let member =
            |pod: Option<PodReference>, ips: Vec<IpAddr>| GroupMember { pod, ips, ..GroupMember::default() };
        let target = member(Some(PodReference::new("default", pod.name.as_str())), Vec::new());
        let contents = [
            encode(&NetworkPolicy {
                metadata: Metadata::new(NAME, NAME),
                rules: self.rules.clone(),
                applied_to_groups: vec![NAME.to_owned()],
                source_ref: Some(source()),
                ..NetworkPolicy::default()
            }),
            encode(&AddressGroup {
                metadata: Metadata::new(NAME, NAME),
                group_members: self.peers.iter().map(|ip| member(None, vec![*ip])).collect(),
            }),
            encode(&AppliedToGroup { metadata: Metadata::new(NAME, NAME), group_members: vec![target] }),
        ];
        for (folder, content) in FILES.iter().zip(contents) {
            node.write(&file(folder), &content)?;
        }
        restart(node)
    }
}

/// Starts the Node's agent anew without policies.
pub(crate) fn open(node: &mut Node) -> Result<()> {
    FILES.iter().try_for_each(|folder| node.remove(&file(folder)))?;
    restart(node)
}

fn restart(node: &mut Node) -> Result<()> {
    node.stop_agent()?;
    node.start_agent()
}

fn file(folder: &str) -> String {
    format!("run/networkpolicy/{folder}/{NAME}")
}

fn source() -> NetworkPolicyReference {
    NetworkPolicyReference {
        policy_type: NetworkPolicyType::K8sNetworkPolicy,
        namespace: "default".to_owned(),
        name: "policy".to_owned(),
        uid: NAME.to_owned(),
    }
}

fn service((protocol, first, last): &(Protocol, u16, u16)) -> Service {
    let protocol = protocol.to_string().parse().ok();
    Service { protocol, port: Some(Port::Number(*first)), end_port: Some(*last), ..Service::default() }
}
