//! The suites there are: which specs of Kubernetes each consists of.

use anyhow::{Context, Result};

/// Specs that belong together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Suite {
    /// What it is called on the command line.
    pub(super) name: &'static str,
    /// Which specs, as ginkgo's `--label-filter` says it.
    pub(super) labels: &'static str,
    /// How many there are in the version that `e2e/conformance/go.mod` pins.
    pub(super) specs: usize,
}

pub(super) const SUITES: [Suite; 2] = [
    Suite { name: "services", labels: "sig-network && Conformance", specs: 47 },
    Suite { name: "networkpolicy", labels: "sig-network && Feature:NetworkPolicy", specs: 48 },
];

impl Suite {
    /// A suite by name; the error says which there are.
    pub(super) fn of_name(name: &str) -> Result<&'static Self> {
        let names = SUITES.map(|suite| suite.name).join(", ");
        let found = SUITES.iter().find(|suite| suite.name == name);
        found.with_context(|| format!("there is no conformance suite {name:?}; suites there are: {names}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_is_not_there_is_refused_by_name() {
        assert_eq!(Suite::of_name("services").unwrap().specs, 47);
        assert_eq!(
            Suite::of_name("policies").unwrap_err().to_string(),
            "there is no conformance suite \"policies\"; suites there are: services, networkpolicy"
        );
    }
}
