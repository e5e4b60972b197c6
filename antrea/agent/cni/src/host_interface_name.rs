//! The name of a Pod's interface on its Node.
//!
//! It is a function of the Pod's name and the container, so that agents of different origin agree on it: the first
//! eight bytes of the Pod's name, `-`, and six hexadecimal digits of a SHA-1.

use antrea_types::{InterfaceName, InvalidName};
use sha1::{Digest, Sha1};

/// The name of the Pod's main interface in the Pod.
pub const MAIN_INTERFACE: &str = "eth0";

const PREFIX_BYTES: usize = 8;
const DIGEST_BYTES: usize = 3;

/// The name on the Node of interface `interface` in the container.
///
/// # Errors
/// When the Pod's name holds what no interface name may.
pub fn host_interface_name(
    pod_name: &str,
    container_id: &str,
    interface: &InterfaceName,
) -> Result<InterfaceName, InvalidName> {
    format!("{}-{}", prefix(pod_name), digits(container_id, interface)).parse()
}

/// What the name ends in, whatever the Pod's name is.
pub(crate) fn digits(container_id: &str, interface: &InterfaceName) -> String {
    let mut hash = Sha1::new();
    hash.update(container_id);
    if interface.as_str() != MAIN_INTERFACE {
        hash.update(interface.as_str());
    }
    hash.finalize().iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// A leading `-` would make an option of the name on a command line; only cutting could leave one.
fn prefix(pod_name: &str) -> &str {
    if pod_name.len() <= PREFIX_BYTES {
        return pod_name;
    }
    let end = (0..=PREFIX_BYTES).rev().find(|end| pod_name.is_char_boundary(*end)).unwrap_or_default();
    pod_name.get(..end).unwrap_or_default().trim_start_matches('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(pod_name: &str, container_id: &str, interface: &str) -> String {
        let interface = interface.parse().unwrap();
        host_interface_name(pod_name, container_id, &interface).unwrap().to_string()
    }

    #[test]
    fn names_are_those_that_upstream_gave() {
        // Recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev).
        let a = "24898ffbbb0d14e8441de73b1dcb40a61f03270eea8ef87c21411186e652c19e";
        let b = "590bff6c18ea6bee77e09d3b97060c8ae01df9301f6d6372138c9469c1f85ce7";
        assert_eq!(name("a", a, "eth0"), "a-dc4592");
        assert_eq!(name("b", b, "eth0"), "b-adfee7");
    }

    #[test]
    fn long_names_are_cut_and_interfaces_told_apart() {
        assert_eq!(name("nginx-deployment-1", "c", "eth0"), "nginx-de-84a516");
        assert_eq!(name("-------nginx", "c", "eth0"), "n-84a516");
        assert_ne!(name("a", "c", "eth0"), name("a", "c", "net1"));
        assert_eq!(name("aaaaaaaé", "c", "eth0"), "aaaaaaa-84a516");
    }
}
