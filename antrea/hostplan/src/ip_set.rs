//! IP sets, and the `ipset restore` text that makes them so whatever is there.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::net::IpAddr;

use antrea_types::{IpFamily, Protocol};
use ipnet::IpNet;

/// What the entries of a set are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IpSetKind {
    /// Networks of any prefix length.
    HashNet,
    /// Addresses.
    HashIp,
    /// An address, a protocol and a port each.
    HashIpPort,
}

/// An entry of a set, printed as `ipset save` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IpSetEntry {
    /// In a set of networks.
    Net(IpNet),
    /// In a set of addresses.
    Ip(IpAddr),
    /// In a set of addresses with protocols and ports.
    IpPort(IpAddr, Protocol, u16),
}

/// What shall be in a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IpSetContent {
    /// These entries and no others.
    Exactly(BTreeSet<IpSetEntry>),
    /// Whatever is in it: nobody knows yet what it shall be.
    AsItIs,
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
    /// What is in it.
    pub content: IpSetContent,
}

impl IpSetKind {
    /// The name that ipset(8) has for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HashNet => "hash:net",
            Self::HashIp => "hash:ip",
            Self::HashIpPort => "hash:ip,port",
        }
    }

    /// The kind called `name`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::HashNet, Self::HashIp, Self::HashIpPort].into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for IpSetEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(net) => net.fmt(f),
            Self::Ip(ip) => ip.fmt(f),
            Self::IpPort(ip, protocol, port) => write!(f, "{ip},{}:{port}", protocol_name(*protocol)),
        }
    }
}

const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
        Protocol::Sctp => "sctp",
    }
}

impl IpSet {
    /// A set of networks: those of `nets` that are of the set's family.
    pub fn of_nets<'a>(name: &str, family: IpFamily, nets: impl IntoIterator<Item = &'a IpNet>) -> Self {
        let of_family = nets.into_iter().filter(|net| IpFamily::of_net(net) == family);
        let entries = of_family.map(|net| IpSetEntry::Net(net.trunc())).collect();
        Self {
            name: name.to_owned(),
            kind: IpSetKind::HashNet,
            family,
            content: IpSetContent::Exactly(entries),
        }
    }

    /// A set of addresses: those of `ips` that are of the set's family.
    pub fn of_ips<'a>(name: &str, family: IpFamily, ips: impl IntoIterator<Item = &'a IpAddr>) -> Self {
        let of_family = ips.into_iter().copied().filter(|ip| IpFamily::of(ip) == family);
        Self {
            name: name.to_owned(),
            kind: IpSetKind::HashIp,
            family,
            content: IpSetContent::Exactly(of_family.map(IpSetEntry::Ip).collect()),
        }
    }

    /// The line that creates the set under a name of its own.
    pub(crate) fn create_line(&self, name: &str) -> String {
        let family = match self.family {
            IpFamily::V4 => "inet",
            IpFamily::V6 => "inet6",
        };
        format!("create {name} {} family {family}", self.kind.name())
    }

    /// Appends the lines that give the set exactly these entries, without a moment in which it lacks any: a second set
    /// is filled and swapped in.
    pub(crate) fn replace(&self, entries: &BTreeSet<IpSetEntry>, text: &mut String) {
        let fresh = format!("{}.new", self.name);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}\n{}", self.create_line(&self.name), self.create_line(&fresh));
        let _ = writeln!(text, "flush {fresh}");
        for entry in entries {
            let _ = writeln!(text, "add {fresh} {entry}");
        }
        let _ = writeln!(text, "swap {fresh} {}\ndestroy {fresh}", self.name);
    }
}

impl fmt::Display for IpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.create_line(&self.name))?;
        match &self.content {
            IpSetContent::Exactly(entries) => {
                entries.iter().try_for_each(|entry| writeln!(f, "add {} {entry}", self.name))
            }
            IpSetContent::AsItIs => Ok(()),
        }
    }
}

/// Text for `ipset restore -exist` that gives each set exactly its entries, whether it exists or not. A set that stays as
/// it is is only made.
pub fn replace_ip_sets(sets: &[IpSet]) -> String {
    let mut text = String::new();
    for set in sets {
        match &set.content {
            IpSetContent::Exactly(entries) => set.replace(entries, &mut text),
            IpSetContent::AsItIs => {
                let _ = writeln!(text, "{}", set.create_line(&set.name));
            }
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
        let known =
            IpSet { name: "ANTREA-EXTERNAL-IP".to_owned(), content: IpSetContent::AsItIs, ..set.clone() };
        insta::assert_snapshot!(replace_ip_sets(&[set, known]), @r"
        create ANTREA-POD-IP6 hash:net family inet6
        create ANTREA-POD-IP6.new hash:net family inet6
        flush ANTREA-POD-IP6.new
        add ANTREA-POD-IP6.new fd00:11::/64
        swap ANTREA-POD-IP6.new ANTREA-POD-IP6
        destroy ANTREA-POD-IP6.new
        create ANTREA-EXTERNAL-IP hash:net family inet6
        ");
    }
}
