//! What the CNI plugin and the agent share: the gRPC API between them, CNI versions, network configurations and errors.
//!
//! Facts are those of the CNI specification 1.1.0 (containernetworking/cni, `SPEC.md`).

pub mod config;
pub mod conflist;
pub mod error;
pub mod proto;
pub mod version;

/// The socket of the agent on the host.
pub const DEFAULT_SOCKET: &str = "/var/run/antrea/cni.sock";

/// The `type` of our plugin in network configurations, and the name of its binary.
pub const PLUGIN_TYPE: &str = "antrea";
