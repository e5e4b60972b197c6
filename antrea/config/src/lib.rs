//! The configuration files of antrea-agent and antrea-controller: text in, validated values or clear errors out.
//!
//! Every key of upstream's files is known. A raw struct for each section ([`antrea_config_file::section`]) takes the text apart, and is
//! then turned into [`AgentConfig`] or [`ControllerConfig`], which hold only what the programs act on. A key of a
//! feature that is not available yet may say nothing but its default: whoever asks for the feature is told so by
//! name instead of getting something else. This crate reads no file and looks at no clock.

mod agent;
mod controller;
mod feature_gates;
mod modes;
mod shared;

use antrea_config_file::{error, parse, section, values};

pub use agent::{
    AgentConfig, AntreaProxy, Controller, ExternalServices, InvalidSkippedService, LoadBalancerIps,
    Multicluster, MulticlusterConfig, Ovs, ProxyConfig, SkippedService, TransportInterface, Tunnel,
};
pub use antrea_config_file::{ConfigError, InvalidChoice, Key, Problem};
pub use controller::ControllerConfig;
pub use feature_gates::{
    Availability, Component, FEATURE_GATES, FeatureGate, FeatureGates, NETWORK_POLICY_STATS, Stage, Status,
};
pub use modes::{DatapathType, LoadBalancerMode, Metrics, NewPods, TunnelType};
pub use shared::{ApiServerAddress, InvalidApiServerAddress};
