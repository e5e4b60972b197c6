//! Small values that every part of Antrea speaks: addresses, names, ports. No Kubernetes client, no runtime, no IO.

mod family;
mod mac;
mod names;
mod ofport;
mod protocol;
mod tls;
mod tunnel;
pub mod virtual_ip;

pub use family::{DualStack, IpFamily};
pub use mac::{GLOBAL_VIRTUAL_MAC, InvalidMacAddr, MacAddr};
pub use names::{InterfaceName, InvalidName, NodeName, PodRef, PodUid};
pub use ofport::OfPort;
pub use protocol::{Protocol, UnknownProtocol};
pub use tls::MinimumTls;
pub use tunnel::TunnelTraffic;
