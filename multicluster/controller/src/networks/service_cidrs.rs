//! ServiceCIDRs (`networking.k8s.io/v1`, Kubernetes 1.33 and later) as networks.

use std::collections::BTreeMap;

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::ServiceCIDR;
use kube::ResourceExt;

/// The object that the API server makes of its flags; its first network is of the family that comes first.
const DEFAULT: &str = "kubernetes";

/// The ServiceCIDRs, by name.
pub(super) type Known = antrea_kit::known::Known<Vec<IpNet>>;

/// Name and networks of a ServiceCIDR.
pub(super) fn read(object: ServiceCIDR) -> Option<(String, Vec<IpNet>)> {
    let name = object.name_any();
    let cidrs = object.spec.and_then(|spec| spec.cidrs).unwrap_or_default();
    // The API server has validated them.
    Some((name, cidrs.iter().filter_map(|text| text.parse().ok()).collect()))
}

/// The networks of all, those of the default object first, without those that are part of others; nothing while the
/// default object is not there.
pub(super) fn networks(known: &Known) -> Option<Vec<IpNet>> {
    let all: &BTreeMap<String, Vec<IpNet>> = known.all()?;
    let first = all.get(DEFAULT).filter(|networks| !networks.is_empty())?;
    let others = all.iter().filter(|(name, _)| *name != DEFAULT).flat_map(|(_, networks)| networks);
    let every: Vec<IpNet> = first.iter().chain(others).copied().collect();
    let mut kept: Vec<IpNet> = Vec::new();
    for network in &every {
        let is_part = |of: &IpNet| of != network && of.contains(network);
        if !every.iter().any(is_part) && !kept.contains(network) {
            kept.push(*network);
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use antrea_kit::watch::WatchEvent;

    use super::*;

    /// Lines of `NAME NETWORK…`.
    fn check(objects: &str) -> Option<String> {
        let mut known = Known::default();
        let read = |line: &str| {
            let mut words = line.split(' ');
            let name = words.next().unwrap().to_owned();
            (name, words.map(|word| word.parse().unwrap()).collect())
        };
        known.learn(WatchEvent::Resynced(objects.lines().map(read).collect()));
        networks(&known)
            .map(|networks| networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_default_object_says_which_family_comes_first() {
        assert_eq!(check("kubernetes 10.96.0.0/12").as_deref(), Some("10.96.0.0/12"));
        assert_eq!(
            check("a 10.0.0.0/24\nkubernetes fd00::/108 10.96.0.0/12").as_deref(),
            Some("fd00::/108 10.96.0.0/12 10.0.0.0/24")
        );
    }

    #[test]
    fn a_network_is_told_once() {
        assert_eq!(
            check("kubernetes 10.96.0.0/16\nmore 10.96.0.0/16\npart 10.96.7.0/24").as_deref(),
            Some("10.96.0.0/16")
        );
        assert_eq!(check("kubernetes 10.96.0.0/16\nwhole 10.96.0.0/12").as_deref(), Some("10.96.0.0/12"));
    }

    #[test]
    fn nothing_is_known_without_the_default_object() {
        assert_eq!(check("more 10.97.0.0/16"), None);
        assert_eq!(networks(&Known::default()), None);
    }
}
