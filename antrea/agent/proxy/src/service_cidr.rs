//! A ServiceCIDR: networks that the API server takes ClusterIPs from (KEP-1880).

use ipnet::IpNet;
use k8s_openapi::api::networking::v1 as networking;

/// The name of a ServiceCIDR, and its networks. One that is being deleted has them until it is gone, since Services may
/// still have addresses of it.
pub fn parse(object: &networking::ServiceCIDR) -> (Box<str>, Vec<IpNet>) {
    let name = object.metadata.name.clone().unwrap_or_default();
    let texts = object.spec.iter().flat_map(|spec| spec.cidrs.iter().flatten());
    let networks = texts.filter_map(|text| text.parse::<IpNet>().ok());
    (name.into(), networks.map(|net| net.trunc()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_cidr_has_a_network_of_each_family() {
        let object = serde_json::json!({
            "metadata": {"name": "kubernetes", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"cidrs": ["10.96.0.0/12", "fd00:96::/112", "none"]},
        });
        let (name, networks) = parse(&serde_json::from_value(object).unwrap());
        assert_eq!(&*name, "kubernetes");
        assert_eq!(networks, ["10.96.0.0/12", "fd00:96::/112"].map(|text| text.parse().unwrap()));
    }
}
