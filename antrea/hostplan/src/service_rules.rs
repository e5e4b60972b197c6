//! The iptables rules by which packets to Services of the agent get to the bridge, and back.

use antrea_types::{IpFamily, virtual_ip};

use crate::iptables::{Match, Rule, SetDirection, SourcePorts, Target};
use crate::service_traffic::{external_ip_set, node_port_set};

/// What passes between the outside and the bridge is not tracked: its connections are the bridge's, and answers that
/// take another way would be taken for broken ones.
pub(crate) fn untracked_incoming(family: IpFamily) -> [Rule; 2] {
    [
        untracked_outgoing(family),
        untracked("do not track reply packets sourced from external IPs", family, SetDirection::Source),
    ]
}

/// The same for what the Node itself sends.
pub(crate) fn untracked_outgoing(family: IpFamily) -> Rule {
    untracked("do not track request packets destined to external IPs", family, SetDirection::Destination)
}

fn untracked(comment: &str, family: IpFamily, direction: SetDirection) -> Rule {
    Rule::new(comment, Target::NoTrack).matching(Match::InSet(external_ip_set(family).to_owned(), direction))
}

/// NodePorts get the one address that the bridge knows them by.
pub(crate) fn node_port_dnat(comment: &str, family: IpFamily) -> Rule {
    let set = node_port_set(family).to_owned();
    Rule::new(comment, Target::Dnat(virtual_ip::NODE_PORT.of(family)))
        .matching(Match::InSet(set, SetDirection::DestinationAndPort))
}

/// What the bridge sends out by the host in the name of Services.
pub(crate) fn virtual_source_masquerade(family: IpFamily) -> Rule {
    Rule::new("masquerade OVS virtual source IP", Target::Masquerade(SourcePorts::Kept))
        .source(virtual_ip::SERVICE.of(family).into())
}
