//! What an API server says about a ClusterIP that no cluster has: which ones it would take.

use antrea_types::IpFamily;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use kube::api::ObjectMeta;

/// Before the network in the API server's message (`pkg/registry/core/service/ipallocator`).
const BEFORE: &str = "The range of valid IPs is ";

/// Both families, that of the cluster's first Service first.
pub(super) fn families(first: &Service) -> [IpFamily; 2] {
    let address = first.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref()).unwrap_or_default();
    if address.contains(':') { [IpFamily::V6, IpFamily::V4] } else { [IpFamily::V4, IpFamily::V6] }
}

/// A Service that cannot be.
pub(super) fn impossible(family: IpFamily) -> Service {
    let (address, name) = match family {
        IpFamily::V4 => ("0.0.0.0", "IPv4"),
        IpFamily::V6 => ("::", "IPv6"),
    };
    Service {
        metadata: ObjectMeta { name: Some("antrea-mc-service-cidr".to_owned()), ..ObjectMeta::default() },
        spec: Some(ServiceSpec {
            cluster_ip: Some(address.to_owned()),
            ip_families: Some(vec![name.to_owned()]),
            ports: Some(vec![ServicePort { port: 443, ..ServicePort::default() }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// The network that the API server names in its refusal; nothing where the cluster lacks the family.
pub(super) fn network(message: &str, family: IpFamily) -> Option<IpNet> {
    let (_, rest) = message.split_once(BEFORE)?;
    let end = rest.find(|letter: char| !letter.is_ascii_hexdigit() && !".:/".contains(letter));
    let text = rest.get(..end.unwrap_or(rest.len()))?.trim_end_matches(['.', ':']);
    text.parse().ok().filter(|network| IpFamily::of_net(network) == family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(family: IpFamily, message: &str, expected: Option<&str>) {
        assert_eq!(network(message, family).map(|network| network.to_string()).as_deref(), expected);
    }

    #[test]
    fn the_network_is_taken_from_the_refusal() {
        check(
            IpFamily::V4,
            "Service \"antrea-mc-service-cidr\" is invalid: spec.clusterIPs: Invalid value: [\"0.0.0.0\"]: failed to allocate \
             IP 0.0.0.0: the provided IP (0.0.0.0) is not in the valid range. The range of valid IPs is 10.96.0.0/12: Invalid",
            Some("10.96.0.0/12"),
        );
        check(
            IpFamily::V6,
            "failed to allocate IP ::: the provided IP (::) is not in the valid range. The range of valid IPs is fd00:10:96::/108",
            Some("fd00:10:96::/108"),
        );
    }

    #[test]
    fn other_refusals_say_nothing() {
        check(
            IpFamily::V6,
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
            None,
        );
        check(IpFamily::V4, "The range of valid IPs is fd00::/108", None);
        check(IpFamily::V4, "The range of valid IPs is unknown", None);
    }
}
