//! The gates of another program, as its file has them. What else stands in it, and what that program refuses, is its own
//! affair.

use antrea_config_file::ConfigError;
use serde::Deserialize;

use super::{Component, FeatureGates, Gates, read};
use crate::error::Problems;
use crate::parse;
use crate::section::Setting;

/// A file, of which nothing else counts.
#[derive(Default, Deserialize)]
struct GatesAlone {
    #[serde(rename = "featureGates", default)]
    feature_gates: Setting<Gates>,
}

impl FeatureGates {
    /// Those of a program that reads `text`, the content of `file`.
    ///
    /// # Errors
    /// When that is no YAML, or its gates are none.
    pub fn of_file(file: &str, text: &str, component: Component) -> Result<Self, ConfigError> {
        let alone: GatesAlone = parse(file, text)?;
        Ok(read(&alone.feature_gates, component, &mut Problems::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn a_file_with_what_is_not_available_here_is_read_as_well() {
        let text =
            "ofTomorrow: {a: 1}\nfeatureGates: {OfTomorrow: true, BGPPolicy: true, AntreaProxy: false}\n";
        let gates = FeatureGates::of_file("antrea-agent.conf", text, Component::Agent).unwrap();
        assert_eq!(gates.status("AntreaProxy"), Status::Disabled);
        assert_eq!(gates.status("BGPPolicy"), Status::Disabled, "not available");
        assert_eq!(gates.status("NetworkPolicyStats"), Status::Enabled);
        let nothing = FeatureGates::of_file("antrea-agent.conf", "", Component::Agent).unwrap();
        assert_eq!(nothing.status("AntreaProxy"), Status::Enabled);
    }

    #[test]
    fn a_file_that_is_none_is_refused_with_its_name() {
        let error = FeatureGates::of_file("antrea-agent.conf", "featureGates: [", Component::Agent);
        assert!(error.unwrap_err().to_string().starts_with("antrea-agent.conf:"));
    }
}
