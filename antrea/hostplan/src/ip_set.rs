//! IP sets, and the `ipset restore` text that makes them so whatever is there.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use antrea_types::IpFamily;
use ipnet::IpNet;

/// What the entries of a set are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IpSetKind {
    /// Networks of any prefix length.
    HashNet,
}

/// An IP set, printed as `ipset restore` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpSet {
    /// The name, 31 bytes at most.
    pub name: String,
    /// What the entries are.
    pub kind: IpSetKind,
    /// The family of all entries.
    pub family: IpFamily,
    /// The networks in the set.
    pub entries: BTreeSet<IpNet>,
}

impl IpSet {
    /// A set of networks: those of `nets` that are of the set's family.
    pub fn of_nets<'a>(name: &str, family: IpFamily, nets: impl IntoIterator<Item = &'a IpNet>) -> Self {
        let of_family = |net: &&IpNet| IpFamily::of_net(net) == family;
        Self {
            name: name.to_owned(),
            kind: IpSetKind::HashNet,
            family,
            entries: nets.into_iter().filter(of_family).map(IpNet::trunc).collect(),
        }
    }

    /// The `create` line under a name of its own.
    pub(crate) fn create_line(&self, name: &str) -> String {
        let kind = match self.kind {
            IpSetKind::HashNet => "hash:net",
        };
        let family = match self.family {
            IpFamily::V4 => "inet",
            IpFamily::V6 => "inet6",
        };
        format!("create {name} {kind} family {family}")
    }
}

impl fmt::Display for IpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.create_line(&self.name))?;
        for entry in &self.entries {
            writeln!(f, "add {} {entry}", self.name)?;
        }
        Ok(())
    }
}

/// Text for `ipset restore -exist` that gives each set exactly its entries, whether it exists or not, and without a
/// moment in which a running set lacks entries: a second set is filled and swapped in.
pub fn replace_ip_sets(sets: &[IpSet]) -> String {
    let mut text = String::new();
    for set in sets {
        let fresh = format!("{}.new", set.name);
        let lines = [set.create_line(&set.name), set.create_line(&fresh), format!("flush {fresh}")];
        let fill = set.entries.iter().map(|entry| format!("add {fresh} {entry}"));
        let swap = [format!("swap {fresh} {}", set.name), format!("destroy {fresh}")];
        for line in lines.into_iter().chain(fill).chain(swap) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_takes_the_networks_of_its_family() {
        let nets = ["10.11.1.0/24", "fd00:11::/64", "10.11.0.7/24"].map(|text| text.parse().unwrap());
        insta::assert_snapshot!(IpSet::of_nets("ANTREA-POD-IP", IpFamily::V4, &nets), @r"
        create ANTREA-POD-IP hash:net family inet
        add ANTREA-POD-IP 10.11.0.0/24
        add ANTREA-POD-IP 10.11.1.0/24
        ");
    }

    #[test]
    fn replacing_fills_a_second_set_and_swaps() {
        let set = IpSet::of_nets("ANTREA-POD-IP6", IpFamily::V6, &["fd00:11::/64".parse().unwrap()]);
        insta::assert_snapshot!(replace_ip_sets(&[set]), @r"
        create ANTREA-POD-IP6 hash:net family inet6
        create ANTREA-POD-IP6.new hash:net family inet6
        flush ANTREA-POD-IP6.new
        add ANTREA-POD-IP6.new fd00:11::/64
        swap ANTREA-POD-IP6.new ANTREA-POD-IP6
        destroy ANTREA-POD-IP6.new
        ");
    }
}
