//! Kernel parameters under /proc/sys.

use std::fmt;

use antrea_types::InterfaceName;

/// A kernel parameter and the value it must have, printed as sysctl(8) takes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sysctl {
    path: String,
    value: String,
}

impl Sysctl {
    /// The parameter at `path`, relative to /proc/sys and separated by slashes, such as `net/ipv4/ip_forward`.
    pub fn new(path: &str, value: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), value: value.to_string() }
    }

    /// The IPv4 parameter `name` of an interface.
    pub fn ipv4_of_interface(interface: &InterfaceName, name: &str, value: impl fmt::Display) -> Self {
        Self::new(&format!("net/ipv4/conf/{interface}/{name}"), value)
    }

    /// The IPv6 parameter `name` of an interface.
    pub fn ipv6_of_interface(interface: &InterfaceName, name: &str, value: impl fmt::Display) -> Self {
        Self::new(&format!("net/ipv6/conf/{interface}/{name}"), value)
    }

    /// The path below /proc/sys.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value that the parameter must have.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names of interfaces may hold dots; sysctl(8) writes those as slashes.
        for character in self.path.chars() {
            let shown = match character {
                '/' => '.',
                '.' => '/',
                other => other,
            };
            write!(f, "{shown}")?;
        }
        write!(f, " = {}", self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sysctl_prints_as_sysctl_takes_it() {
        let interface = "eth0.12".parse().unwrap();
        assert_eq!(Sysctl::new("net/ipv4/ip_forward", 1).to_string(), "net.ipv4.ip_forward = 1");
        assert_eq!(
            Sysctl::ipv4_of_interface(&interface, "arp_announce", 1).to_string(),
            "net.ipv4.conf.eth0/12.arp_announce = 1"
        );
    }
}
