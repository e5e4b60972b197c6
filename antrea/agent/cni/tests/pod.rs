//! The sandbox of a Pod: a network namespace that goes away with its value.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A sandbox without any interface.
pub(crate) struct Pod {
    /// `CNI_CONTAINERID`.
    pub(crate) container_id: String,
    /// The Pod's name, in Namespace `default`.
    pub(crate) name: String,
    namespace: String,
}

impl Pod {
    pub(crate) fn new(name: &str, container_id: &str) -> Self {
        let namespace =
            format!("antrea-cni-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        ip(&["netns", "add", &namespace]);
        Self { container_id: container_id.to_owned(), name: name.to_owned(), namespace }
    }

    /// `CNI_NETNS`.
    pub(crate) fn netns(&self) -> String {
        format!("/var/run/netns/{}", self.namespace)
    }

    /// `CNI_ARGS`.
    pub(crate) fn args(&self) -> String {
        format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={}", self.name)
    }

    /// Runs `ip` in the namespace.
    pub(crate) fn ip(&self, arguments: &[&str]) -> String {
        ip(&[&["-n", &self.namespace], arguments].concat())
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = Command::new("ip").args(["netns", "del", &self.namespace]).output();
    }
}

fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
