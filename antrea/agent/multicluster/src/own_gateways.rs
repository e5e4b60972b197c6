//! The Gateways of this cluster on other Nodes, and those that were some until lately. A cluster that has not heard of the next
//! Gateway yet sends to the former one, whose Node sends on what comes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

/// How long a Node may send on for other clusters after its Gateway has gone. They hear of the next one within seconds, unless
/// the leader is away.
const KEPT: Duration = Duration::from_secs(3600);

/// Who sends for other clusters, by the names of Gateways.
#[derive(Debug, Default)]
pub struct OwnGateways {
    known: BTreeMap<String, Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// Its end of the tunnel.
    far_end: Ipv4Addr,
    /// When it was there last.
    seen: Instant,
}

impl OwnGateways {
    /// Those that there are, and those that were there until lately, as long as their Nodes are among `nodes`: the address of
    /// another one is nobody's any more.
    pub fn update(
        &mut self,
        present: BTreeMap<String, Ipv4Addr>,
        nodes: &BTreeSet<IpAddr>,
        now: Instant,
    ) -> BTreeMap<String, Ipv4Addr> {
        let is_node = |far_end| nodes.contains(&IpAddr::V4(far_end));
        self.known
            .retain(|_, known| now.saturating_duration_since(known.seen) < KEPT && is_node(known.far_end));
        self.known.extend(present.into_iter().map(|(name, far_end)| (name, Known { far_end, seen: now })));
        self.known.iter().map(|(name, known)| (name.clone(), known.far_end)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(172, 18, 0, 2);

    fn present(gateways: &[(&str, Ipv4Addr)]) -> BTreeMap<String, Ipv4Addr> {
        gateways.iter().map(|(name, far_end)| ((*name).to_owned(), *far_end)).collect()
    }

    #[test]
    fn a_gateway_that_has_gone_may_send_on_for_a_while() {
        let (mut gateways, begin) = (OwnGateways::default(), Instant::now());
        let nodes = [A, B].map(IpAddr::V4).into();
        let mut update = |gone: &[(&str, Ipv4Addr)], now| {
            gateways.update(present(gone), &nodes, begin + Duration::from_secs(now))
        };
        assert_eq!(update(&[("a", A), ("b", B)], 0), present(&[("a", A), ("b", B)]));
        assert_eq!(update(&[("b", B)], 1), present(&[("a", A), ("b", B)]));
        assert_eq!(update(&[("b", B)], 3599), present(&[("a", A), ("b", B)]));
        assert_eq!(update(&[("b", B)], 3600), present(&[("b", B)]));
    }

    #[test]
    fn a_gateway_whose_node_is_none_any_more_may_not() {
        let (mut gateways, now) = (OwnGateways::default(), Instant::now());
        gateways.update(present(&[("a", A)]), &[A, B].map(IpAddr::V4).into(), now);
        assert_eq!(gateways.update(present(&[]), &[B].map(IpAddr::V4).into(), now), present(&[]));
    }

    #[test]
    fn a_gateway_with_another_address_has_that_alone() {
        let (mut gateways, now) = (OwnGateways::default(), Instant::now());
        let nodes = [A, B].map(IpAddr::V4).into();
        gateways.update(present(&[("a", A)]), &nodes, now);
        assert_eq!(gateways.update(present(&[("a", B)]), &nodes, now), present(&[("a", B)]));
    }
}
