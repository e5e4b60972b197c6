//! Why a rule is not enforced as it says. What cannot be enforced admits nothing.

use antrea_shared_api::controlplane::v1beta2::{Protocol, RuleAction};

/// What of a rule this agent cannot enforce, and what it does instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Problem {
    /// A rule that drops or refuses.
    #[error(
        "this agent cannot enforce action {0}: the Pods are isolated instead, but for what policies of Kubernetes admit; \
         use policies of Kubernetes only"
    )]
    Closed(RuleAction),
    /// A rule that admits what rules of lower tiers would not. Without it they decide.
    #[error("this agent cannot enforce action {0} of policies with tiers: use policies of Kubernetes only")]
    LeftOut(RuleAction),
    /// A condition on what is said in a connection.
    #[error("this agent cannot inspect application protocols: nothing is admitted; remove l7Protocols")]
    Layer7,
    /// Peers of a kind.
    #[error("this agent does not know peers by {0}: they are not admitted; use selectors or ipBlock")]
    Peers(&'static str),
    /// Services of a protocol.
    #[error("this agent cannot admit {0}: use TCP, UDP, SCTP or a rule without ports")]
    Protocol(Protocol),
    /// A condition on the port that a packet comes from.
    #[error("this agent cannot match source ports: the port is not admitted; remove sourcePort")]
    SourcePort,
    /// A range without a beginning.
    #[error("endPort {0} has no port by number to begin with: it is not admitted; set port to a number")]
    EndPort(u16),
    /// A range that ends before it begins.
    #[error("endPort {last} is before port {first}: they are not admitted; set endPort to {first} or more")]
    PortRange {
        /// Where it begins.
        first: u16,
        /// Where it ends.
        last: u16,
    },
    /// More rules than the switch can tell apart.
    #[error("no number is left for the rule: it is not enforced; remove policies")]
    NoNumber,
}
