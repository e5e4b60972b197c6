//! What an agent may ask and report: what is about its own Node, which the API server says of its token. A token that
//! was stolen from one Node is worth nothing about the others.

use antrea_kit::auth::{Action, Identity, NODE_NAME, NodesInTokens};
use antrea_policy::Text;
use antrea_shared_api::controlplane::v1beta2::NetworkPolicyStatus;
use tokio::sync::watch;

use super::failure::Failure;
use crate::store::Selector;

/// Who the agents are.
#[derive(Clone, Debug)]
pub struct Agents {
    /// The user that all of them are: `system:serviceaccount:NAMESPACE:antrea-agent`.
    pub user: String,
    /// Whether their tokens name their Nodes, as it is now.
    pub tokens: watch::Receiver<NodesInTokens>,
}

/// About which Nodes somebody may ask and report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach<'a> {
    AllNodes,
    /// An agent, about its own.
    OneNode {
        user: &'a str,
        node: &'a str,
    },
}

impl Agents {
    /// About which Nodes somebody may ask: for others than agents RBAC alone decides.
    pub(super) fn reach<'a>(&self, identity: &'a Identity) -> Result<Reach<'a>, Failure> {
        let Identity::User(user) = identity else { return Ok(Reach::AllNodes) };
        if user.name != self.user {
            return Ok(Reach::AllNodes);
        }
        match user.extra.get(NODE_NAME).map(Vec::as_slice) {
            Some([node]) if !node.is_empty() => Ok(Reach::OneNode { user: &user.name, node }),
            Some(_) => Err(Failure::forbidden(format!(
                "forbidden: the token of User {:?} does not name exactly one Node in {NODE_NAME}",
                user.name
            ))),
            None => match *self.tokens.borrow() {
                NodesInTokens::Absent => Ok(Reach::AllNodes),
                NodesInTokens::Unknown => Err(Failure::unknown_api_server()),
                NodesInTokens::Present => Err(Failure::forbidden(format!(
                    "forbidden: the token of User {:?} names no Node ({NODE_NAME}), as those of Pods do from \
                     Kubernetes 1.30 on: use the token that the kubelet gives the Pod of antrea-agent; one from before \
                     an upgrade of the API server is replaced within an hour",
                    user.name
                ))),
            },
        }
    }
}

impl Reach<'_> {
    /// Whether objects may be asked for that are selected so. One object by its name is as all Nodes have it.
    pub(super) fn check_selected(self, action: &Action, selector: &Selector) -> Result<(), Failure> {
        let Self::OneNode { node, .. } = self else { return Ok(()) };
        match selector.node.as_ref().map(Text::as_str) {
            Some(selected) if selected == node => Ok(()),
            Some(selected) => Err(self.refuse(&format!("{action} for Node {selected:?}"), "")),
            None => Err(self.refuse(
                &format!("{action} for all Nodes"),
                &format!("; list or watch with fieldSelector nodeName={node}"),
            )),
        }
    }

    /// Whether a report may be about a Node.
    pub(super) fn check_report(self, action: &Action, about: &str) -> Result<(), Failure> {
        match self {
            Self::OneNode { node, .. } if node != about => {
                Err(self.refuse(&format!("{action} about Node {about:?}"), ""))
            }
            _ => Ok(()),
        }
    }

    /// Whether all that a report says may be said.
    pub(super) fn check_status(self, action: &Action, status: &NetworkPolicyStatus) -> Result<(), Failure> {
        status.nodes.iter().try_for_each(|node| self.check_report(action, &node.node_name))
    }

    fn refuse(self, cannot: &str, advice: &str) -> Failure {
        let (user, node) = match self {
            Self::OneNode { user, node } => (user, node),
            Self::AllNodes => ("", ""),
        };
        Failure::forbidden(format!(
            "forbidden: User {user:?} cannot {cannot}: its token is that of a Pod on Node {node:?}{advice}"
        ))
    }
}
