//! Tells without a process whether a Node can hold iptables rules of ours at all.

use std::fs;

use antrea_hostplan::iptables::CHAIN_PREFIX;
use antrea_types::IpFamily;

use crate::blocking;
use crate::nfnetlink::{Attributes, NftFamily, NftMessage, Nftables, text_attribute};

const NFTA_CHAIN_NAME: u16 = 3;

/// What is known of a family before any rule is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// There is certainly no rule of ours.
    Absent,
    /// There may be some: they have to be read.
    Possible,
}

/// Looks at the chains of nf_tables, and at the tables of the older iptables, which lists no chains. Whatever cannot be
/// told counts as possible.
pub(crate) async fn presence(family: IpFamily) -> Presence {
    let (nft_family, legacy_tables) = match family {
        IpFamily::V4 => (NftFamily::Ipv4, "/proc/thread-self/net/ip_tables_names"),
        IpFamily::V6 => (NftFamily::Ipv6, "/proc/thread-self/net/ip6_tables_names"),
    };
    if blocking(|| fs::read_to_string(legacy_tables)).is_ok_and(|tables| !tables.trim().is_empty()) {
        return Presence::Possible;
    }
    let ours = |attributes: &[u8]| {
        text_attribute(attributes, NFTA_CHAIN_NAME).filter(|name| name.starts_with(CHAIN_PREFIX))
    };
    let Ok(nftables) = Nftables::current() else { return Presence::Possible };
    match nftables.dump(nft_family, NftMessage::GetChain, &Attributes::default(), ours).await {
        Ok(chains) if chains.is_empty() => Presence::Absent,
        Ok(_) | Err(_) => Presence::Possible,
    }
}
