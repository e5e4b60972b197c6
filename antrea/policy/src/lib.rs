//! Computed policy as values: what antrea-controller tells agents about each NetworkPolicy, AddressGroup and
//! AppliedToGroup, to which Nodes, and what changed. No Kubernetes types, no wire format, no IO.
//!
//! Values are cheap to copy: what many objects have in common is one allocation behind an `Arc`.

mod chunks;
mod group;
mod group_name;
mod member;
mod policy;
mod rule;
mod span;
mod text;
mod uid;
mod update;

pub use chunks::Chunks;
pub use group::{AddressGroup, AppliedToGroup};
pub use group_name::{GroupName, InvalidGroupName};
pub use member::{GroupMember, NamedPort, Pod, PodIps};
pub use policy::{ComputedPolicy, Source, SourceKind};
pub use rule::{Action, Direction, IpBlock, Logging, Peer, Port, PortMatch, Rule};
pub use span::{Span, SpanChange};
pub use text::Text;
pub use uid::Uid;
pub use update::{Content, GroupUpdate, PodsUpdate, PolicyUpdate, Update};
