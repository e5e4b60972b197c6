//! `controller`: whether the cluster has antrea-controller.

use super::file::AgentFile;
use crate::error::Problems;
use crate::feature_gates::{NETWORK_POLICY_STATS, refuse_in_vain};
use crate::modes::NewPods;
use crate::section::{allow_default_only, section};

section! {
    /// As it stands in the file.
    ControllerSection {
        enable: bool = "enable", true;
    }
}

/// Whether the cluster has antrea-controller (`controller.enable`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// It has, also while it is away: what it says of NetworkPolicies is enforced.
    Installed,
    /// It has none, and NetworkPolicies are not enforced.
    Absent,
}

pub(super) fn controller(file: &AgentFile, problems: &mut Problems) -> Controller {
    match &file.controller.enable {
        Some(enable) if !enable.value => {
            refuse_without_controller(file, problems);
            Controller::Absent
        }
        _ => Controller::Installed,
    }
}

/// Whatever asks for something of a controller that there is none of.
fn refuse_without_controller(file: &AgentFile, problems: &mut Problems) {
    let reason = "controller.enable is false";
    refuse_in_vain(&file.feature_gates, NETWORK_POLICY_STATS, reason, problems);
    allow_default_only(
        &file.new_pods_without_controller,
        "newPodsWithoutController",
        &NewPods::Isolate.to_string(),
        reason,
        problems,
    );
}
