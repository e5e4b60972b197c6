//! Configuration files as users and the chart write them, and what users are told.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent;
mod antrea_proxy;
mod chart;
mod chart_admission;
mod chart_containers;
mod chart_controller;
mod chart_crds;
mod chart_keys;
mod chart_multicluster;
mod chart_proxy;
mod chart_rbac;
mod controller;
mod damage;
mod feature_gates;
mod helm;
mod multicluster;
mod syntax;

use antrea_config::{AgentConfig, ControllerConfig};

/// The agent's file is accepted.
#[track_caller]
fn agent(text: &str) -> AgentConfig {
    AgentConfig::parse("agent.conf", text).expect("the file is refused")
}

/// The agent's file is refused in exactly these words.
#[track_caller]
fn agent_refuses(text: &str, expected: &str) {
    let error = AgentConfig::parse("agent.conf", text).expect_err("the file was accepted");
    assert_eq!(error.to_string(), expected);
}

/// The controller's file is accepted.
#[track_caller]
fn controller(text: &str) -> ControllerConfig {
    ControllerConfig::parse("controller.conf", text).expect("the file is refused")
}

/// The controller's file is refused in exactly these words.
#[track_caller]
fn controller_refuses(text: &str, expected: &str) {
    let error = ControllerConfig::parse("controller.conf", text).expect_err("the file was accepted");
    assert_eq!(error.to_string(), expected);
}
