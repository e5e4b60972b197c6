//! An independent reference of Kubernetes' NetworkPolicy, for tests only: says of a connection whether the policies
//! of a cluster admit it, straight from the documentation of `networking.k8s.io/v1`, slowly and plainly. It shares no
//! code with what computes policies in the product, so that a mistake made there is not made here too.
//!
//! [`verdict`] answers; [`generate`] draws random clusters, [`questions`] all that can be asked of one, [`events`] a
//! way in which one comes about; [`Coverage`] counts what was drawn; [`shrink`] makes a cluster small on which
//! somebody disagrees.
//!
//! # What the API leaves to the implementation, and what is chosen here
//!
//! | case | choice |
//! |---|---|
//! | what a verdict is about | the first packet of a connection; replies and what follows go with it |
//! | a Pod to itself | always admitted, over either family |
//! | a Node to its own Pods | always admitted; so are Pods in that Node's network |
//! | a Pod to its own Node | egress rules judge it as any destination ([`OwnNodeEgress::Judged`]): the reference of `egress` has no exemption, although the concept page speaks of traffic "to and from" the Node |
//! | `hostNetwork` Pods | no selector selects them, neither as subject nor as peer; they are their Node, by its addresses |
//! | Pods whose phase is `Succeeded` or `Failed` | nobody: not selected, no end of a connection; their address may be another Pod's |
//! | Pods without an address of a family | no end of a connection of that family |
//! | a Pod whose Namespace is not there | no `namespaceSelector` selects it, not even an empty one |
//! | a port's name | looked up in `containers` of the Pod at the connection's *destination*, with its protocol; a destination that is no Pod has no names. Several ports of one name all count |
//! | a port's name beside an `ipBlock` | the same, when the block has the destination's address ([`NamedPortInBlock::OfDestination`]); upstream's agent, and so this product's, knows none there |
//! | `ipBlock` | against the packet's address at the far end, Pods' and Nodes' included, of its own family; host bits of a CIDR are ignored |
//! | Services | not looked at: the packet is judged as it travels between the two ends, after translation |
//! | SCTP | a protocol as the others |
//!
//! # Objects that the API forbids
//!
//! They may come by nevertheless, from an older API server for example; they fail closed. What cannot be understood
//! admits nobody, and the policy isolates all the same:
//!
//! - an invalid CIDR, also among `except`, or an `except` outside of the CIDR: the peer is nobody;
//! - a peer with no field at all (or only fields that are not known), or with an `ipBlock` and a selector: nobody;
//! - a selector with an unknown operator, `In` or `NotIn` without values, `Exists` or `DoesNotExist` with some, or an
//!   empty key: as a peer nobody; as the policy's `podSelector` it isolates each Pod of the Namespace, and the policy
//!   admits nothing;
//! - `endPort` without `port`, with a named one, or less than `port`; a port outside of 1–65535; an empty name; a
//!   protocol other than TCP, UDP and SCTP: the entry is no port. The other entries of the list still are;
//! - a policy type other than Ingress and Egress: the policy isolates in both directions, and admits in those it names.

mod choices;
mod cluster;
mod coverage;
mod events;
mod generate;
mod object;
mod peer;
mod place;
mod policy;
mod port;
mod question;
mod selector;
mod shrink;
mod verdict;

pub use choices::{Choices, NamedPortInBlock, OwnNodeEgress};
pub use cluster::Cluster;
pub use coverage::{Coverage, Feature};
pub use events::{Event, events};
pub use generate::{BadObjects, Families, OUTSIDE, Options, PORTS, generate, mixed};
pub use object::{Object, ReadError};
pub use place::{Unasked, address};
pub use policy::Direction;
pub use question::{BadQuestion, Endpoint, Family, Protocol, Question, questions};
pub use shrink::{shrink, shrink_list};
pub use verdict::{Side, Verdict, verdict, verdict_by, verdicts};
