//! Networks without parts of them (`ipBlock` with `except`).

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The fewest networks that have exactly the addresses of `network` that none of `excepted` has.
pub fn without(network: IpNet, excepted: &[IpNet]) -> Vec<IpNet> {
    let mut rest = Vec::new();
    let within: Vec<IpNet> = excepted.iter().copied().filter(|other| overlap(&network, other)).collect();
    divide(network.trunc(), &within, &mut rest);
    rest
}

/// Halves `network` until no part of it is excepted in part only.
fn divide(network: IpNet, excepted: &[IpNet], rest: &mut Vec<IpNet>) {
    if excepted.iter().any(|other| other.contains(&network)) {
        return;
    }
    if excepted.is_empty() {
        rest.push(network);
        return;
    }
    for half in halves(network) {
        let within: Vec<IpNet> = excepted.iter().copied().filter(|other| overlap(&half, other)).collect();
        divide(half, &within, rest);
    }
}

/// Of two networks either one contains the other, or they have no address in common.
fn overlap(left: &IpNet, right: &IpNet) -> bool {
    left.contains(right) || right.contains(left)
}

/// Nothing for a single address.
fn halves(network: IpNet) -> Vec<IpNet> {
    let length = network.prefix_len() + 1;
    match network {
        IpNet::V4(network) => network.subnets(length).into_iter().flatten().map(Ipv4Net::into).collect(),
        IpNet::V6(network) => network.subnets(length).into_iter().flatten().map(Ipv6Net::into).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nets(text: &str) -> Vec<IpNet> {
        text.split_whitespace().map(|net| net.parse().unwrap()).collect()
    }

    #[track_caller]
    fn check(network: &str, excepted: &str, expected: &str) {
        assert_eq!(without(network.parse().unwrap(), &nets(excepted)), nets(expected));
    }

    #[test]
    fn what_is_excepted_is_left_out() {
        check("10.0.0.0/8", "", "10.0.0.0/8");
        check("10.0.0.0/8", "192.168.0.0/16", "10.0.0.0/8");
        check("10.0.0.0/30", "10.0.0.1/32", "10.0.0.0/32 10.0.0.2/31");
        check("10.0.0.0/30", "10.0.0.1/32 10.0.0.2/32", "10.0.0.0/32 10.0.0.3/32");
        check("10.0.0.0/30", "10.0.0.0/31 10.0.0.1/32", "10.0.0.2/31");
        check("fd00::/126", "fd00::2/127", "fd00::/127");
        check("10.0.0.0/8", "10.0.0.0/8", "");
        check("10.0.0.0/8", "0.0.0.0/0", "");
        check("10.1.2.3/30", "10.1.2.2/31", "10.1.2.0/31");
        check("10.0.0.0/31", "::/0", "10.0.0.0/31");
    }

    proptest! {
        #[test]
        fn the_rest_has_every_other_address_once(
            excepted in proptest::collection::vec((0u8..=255, 24u8..=32), 0..6),
        ) {
            let excepted: Vec<IpNet> = excepted
                .into_iter()
                .map(|(host, length)| Ipv4Net::new_assert([10, 0, 0, host].into(), length).trunc().into())
                .collect();
            let rest = without("10.0.0.0/24".parse().unwrap(), &excepted);
            for host in 0..=255 {
                let address = std::net::IpAddr::from([10, 0, 0, host]);
                let left = rest.iter().filter(|net| net.contains(&address)).count();
                let gone = excepted.iter().any(|net| net.contains(&address));
                prop_assert_eq!(left, usize::from(!gone), "{}", address);
            }
            prop_assert_eq!(IpNet::aggregate(&rest).len(), rest.len());
        }
    }
}
