//! Configuration files as users write them, and what they are told.

mod agent;
mod controller;
mod feature_gates;
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
