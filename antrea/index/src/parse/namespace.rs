//! Namespaces: their labels, and whether policies in them are logged.

use std::collections::BTreeMap;

use antrea_policy::Logging;
use k8s_openapi::api::core::v1::Namespace;

/// The annotation that turns on logging for the Kubernetes NetworkPolicies of a Namespace.
const LOGGING: &str = "networkpolicy.antrea.io/enable-logging";

/// A Namespace.
#[derive(Debug)]
pub(crate) struct NamespaceSpec<'a> {
    pub(crate) name: &'a str,
    pub(crate) labels: Option<&'a BTreeMap<String, String>>,
    pub(crate) logging: Logging,
}

impl<'a> NamespaceSpec<'a> {
    pub(crate) fn from_resource(namespace: &'a Namespace) -> Self {
        let annotations = namespace.metadata.annotations.as_ref();
        let logging = match annotations.and_then(|all| all.get(LOGGING)).map(String::as_str) {
            Some(value) if value.eq_ignore_ascii_case("true") => Logging::On,
            _ => Logging::Off,
        };
        Self {
            name: namespace.metadata.name.as_deref().unwrap_or_default(),
            labels: namespace.metadata.labels.as_ref(),
            logging,
        }
    }
}
