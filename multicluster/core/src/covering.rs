//! Few networks in the place of many addresses.

use std::collections::BTreeSet;

use ipnet::Ipv4Net;

/// Networks that cover others: these themselves where they are no more than `most`. Otherwise they are widened bit by bit
/// until they are, each at most to the network of `within` that it is in. There may be more of them then, where `within` has
/// more.
pub fn covering(networks: &BTreeSet<Ipv4Net>, most: usize, within: &[Ipv4Net]) -> Vec<Ipv4Net> {
    let mut covering: Vec<Ipv4Net> = networks.iter().copied().collect();
    for length in (0..=32).rev() {
        if covering.len() <= most {
            break;
        }
        let wider: Vec<Ipv4Net> = networks.iter().map(|network| widened(*network, length, within)).collect();
        covering = Ipv4Net::aggregate(&wider);
    }
    covering
}

/// The network with a prefix of no more than `length` bits, as far as it stays within its surroundings.
fn widened(network: Ipv4Net, length: u8, within: &[Ipv4Net]) -> Ipv4Net {
    let around = within.iter().filter(|around| around.contains(&network)).map(Ipv4Net::prefix_len).min();
    let length = network.prefix_len().min(length.max(around.unwrap_or_default()));
    Ipv4Net::new(network.network(), length).map_or(network, |wider| wider.trunc())
}
