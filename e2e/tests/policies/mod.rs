//! NetworkPolicies: what they admit and what they deny, as a user sees it, and that nothing passes that they deny when
//! something goes wrong.

mod access;
mod agents;
mod antctl;
mod churn;
mod controllers;
mod established;
mod expected;
mod forged_tunnels;
mod former_pods;
mod hostile;
mod isolation;
pub(crate) mod kube_proxy;
mod kubectl;
mod named_ports;
mod new_pods;
mod no_controller;
mod paths;
mod peers;
mod pings;
mod ports;
mod renewal;
mod reuse;
mod stage;
mod statistics;
mod storage;
mod stream;
mod streams;
mod watches;
