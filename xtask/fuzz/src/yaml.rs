//! YAML of users: configuration files of agent and controller, and files of objects.

use std::path::Path;

use antrea_config::{AgentConfig, ControllerConfig};
use antrea_kit::object_files::objects_in;

/// Any bytes as each of these files. What is wrong with them is told.
pub(crate) fn read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = AgentConfig::parse("antrea-agent.conf", &text).map_err(|error| error.to_string());
    let _ = ControllerConfig::parse("antrea-controller.conf", &text).map_err(|error| error.to_string());
    let _ = objects_in(Path::new("objects.yaml"), &text).map_err(|error| error.to_string());
}
