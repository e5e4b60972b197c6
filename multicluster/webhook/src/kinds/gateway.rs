//! Gateway: the controller's but for the WireGuard key and the status, which are the agent's of the Node.

use antrea_kit::auth::{NODE_NAME, NodesInTokens};
use antrea_shared_api::multicluster::v1alpha1::Gateway;

use crate::caller::Caller;
use crate::change::Change;
use crate::denied::{Denied, forbid};
use crate::review::{Operation, Request};
use crate::surroundings::Surroundings;

pub(crate) fn review(request: &Request, surroundings: &Surroundings) -> Result<(), Denied> {
    let caller = Caller::of(&request.user_info, surroundings);
    if request.operation == Operation::Delete {
        // The controller makes it again if it has to be there.
        return Ok(());
    }
    match &surroundings.installation().member {
        Some(home) if *home == request.namespace => {}
        Some(home) => return forbid(format!("Gateways are in Namespace {home}, where the ClusterSet is")),
        None => return forbid("this cluster is no member of a ClusterSet: it has no Gateways"),
    }
    match (&caller, request.sub_resource.as_str()) {
        (Caller::Agent(node), "status") => is_of_node(request, node.as_deref(), surroundings.tokens()),
        (_, "status") => forbid("only the antrea-agent of a Gateway's Node may write its status"),
        (Caller::Controller, _) => Change::<Gateway>::read(request)?.validate(),
        (Caller::Agent(node), _) => {
            is_of_node(request, node.as_deref(), surroundings.tokens())?;
            let change = Change::<Gateway>::read(request)?;
            changes_the_key_alone(&change)?;
            change.validate()
        }
        _ => forbid(
            "only the Multi-cluster controller may write Gateways: annotate the Node with multicluster.antrea.io/gateway=true",
        ),
    }
}

/// Of an older API server, whose tokens name no Node, an agent may be that of any Node.
fn is_of_node(request: &Request, node: Option<&str>, tokens: NodesInTokens) -> Result<(), Denied> {
    match (node, tokens) {
        (Some(node), _) if node == request.name => Ok(()),
        (Some(node), _) => forbid(format!(
            "the antrea-agent of Node {node} may not write the Gateway of Node {}",
            request.name
        )),
        (None, NodesInTokens::Absent) => Ok(()),
        (None, NodesInTokens::Unknown) => Err(Denied::UnknownApiServer),
        (None, NodesInTokens::Present) => forbid(format!(
            "the token of antrea-agent names no Node ({NODE_NAME}), as those of Pods do from Kubernetes 1.30 on: use the \
             token that the kubelet gives the Pod of antrea-agent; one from before an upgrade of the API server is \
             replaced within an hour"
        )),
    }
}

fn changes_the_key_alone(change: &Change<Gateway>) -> Result<(), Denied> {
    let without_key = |gateway: &Gateway| {
        let Gateway { gateway_ip, internal_ip, service_cidr, exported, .. } = gateway;
        (gateway_ip.clone(), internal_ip.clone(), service_cidr.clone(), exported.clone())
    };
    match change {
        Change::Update { old, new } if without_key(old) == without_key(new) => Ok(()),
        _ => forbid("antrea-agent may write nothing of a Gateway but wireGuard and the status"),
    }
}
