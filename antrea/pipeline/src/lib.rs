//! The OVS pipeline: from a Node, its Pods and its peers to OpenFlow flows. Pure: no switch, no clock, no IO.
//!
//! Read [`order`] for the tables there are, [`layout`] for those a Node has, [`fields`] for the marks they hand one
//! another, [`features`] for what fills them, [`tables`] for each table's flows, and [`policy`] for those of the rules of
//! policies. All flows of a Node with two Pods and two peers are in `tests/snapshots`; how they differ from those of upstream
//! Antrea is listed in `tests/upstream*.rs`.

pub mod cookie;
pub mod far_end;
pub mod features;
pub mod fields;
pub mod flow;
pub mod layout;
mod model;
pub mod multicluster;
pub mod order;
mod pipeline;
pub mod policy;
pub mod probe;
pub mod refusal;
pub mod service;
pub mod tables;

pub use model::{
    Datapath, Gateway, HOST_LOCAL_MAC, NodeTraffic, Peer, PeerNetwork, PeerRoute, PipelineConfig,
    PodInterface, PolicyEnforcement, Tunnel,
};
pub use pipeline::Pipeline;
