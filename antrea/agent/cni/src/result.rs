//! The result of ADD in the version of the request: CNI specification, section 5 "Result Types".
//!
//! Versions before 1.0.0 name the IP version of every address, those since 1.1.0 the MTU of every interface; otherwise all
//! are alike.

use antrea_cni::version::CniVersion;
use antrea_types::{InterfaceName, IpFamily, MacAddr};
use serde_json::{Map, Value, json};

use crate::ipam::Allocation;

/// The position of the Pod's end in `interfaces`; the Node's end comes first.
const POD_END: usize = 1;

/// What ADD made.
#[derive(Clone, Debug, PartialEq)]
pub struct AddResult {
    /// The Node's end of the link.
    pub host: End,
    /// The Pod's end.
    pub pod: End,
    /// The MTU of both.
    pub mtu: u32,
    /// The Pod's network namespace as the runtime named it.
    pub sandbox: String,
    /// The Pod's addresses, IPv4 first.
    pub allocations: Vec<Allocation>,
    /// What the network configuration says about DNS.
    pub dns: Map<String, Value>,
}

/// One end of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Its name.
    pub name: InterfaceName,
    /// Its MAC address.
    pub mac: MacAddr,
}

impl AddResult {
    /// The result as JSON in `version`.
    pub fn to_json(&self, version: CniVersion) -> Value {
        let mut host = json!({ "name": self.host.name, "mac": self.host.mac });
        let mut pod = json!({ "name": self.pod.name, "mac": self.pod.mac, "sandbox": self.sandbox });
        if version >= CniVersion::V1_1_0 {
            for end in [&mut host, &mut pod] {
                end.as_object_mut().map(|end| end.insert("mtu".to_owned(), self.mtu.into()));
            }
        }
        json!({
            "cniVersion": version.as_str(),
            "interfaces": [host, pod],
            "ips": self.allocations.iter().map(|allocation| address(allocation, version)).collect::<Vec<_>>(),
            "routes": self.allocations.iter().map(default_route).collect::<Vec<_>>(),
            "dns": self.dns,
        })
    }
}

fn address(allocation: &Allocation, version: CniVersion) -> Value {
    let mut entry = Map::new();
    if version < CniVersion::V1_0_0 {
        let ip_version = match family(allocation) {
            IpFamily::V4 => "4",
            IpFamily::V6 => "6",
        };
        entry.insert("version".to_owned(), ip_version.into());
    }
    entry.insert("interface".to_owned(), POD_END.into());
    entry.insert("address".to_owned(), allocation.address.to_string().into());
    entry.insert("gateway".to_owned(), allocation.gateway.to_string().into());
    Value::Object(entry)
}

fn default_route(allocation: &Allocation) -> Value {
    let destination = match family(allocation) {
        IpFamily::V4 => "0.0.0.0/0",
        IpFamily::V6 => "::/0",
    };
    json!({ "dst": destination, "gw": allocation.gateway })
}

fn family(allocation: &Allocation) -> IpFamily {
    IpFamily::of_net(&allocation.address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation(address: &str, gateway: &str) -> Allocation {
        Allocation { address: address.parse().unwrap(), gateway: gateway.parse().unwrap() }
    }

    fn result(allocations: Vec<Allocation>) -> AddResult {
        let end = |name: &str, mac: &str| End { name: name.parse().unwrap(), mac: mac.parse().unwrap() };
        AddResult {
            host: end("a-dc4592", "d6:68:4a:f9:e4:0d"),
            pod: end("eth0", "f6:f3:e5:36:f9:32"),
            mtu: 1450,
            sandbox: "/var/run/netns/cni-339a6c0e".to_owned(),
            allocations,
            dns: Map::new(),
        }
    }

    #[test]
    fn results_of_0_3_and_0_4_name_the_ip_version() {
        let result = result(vec![allocation("10.11.0.3/24", "10.11.0.1")]);
        for version in [CniVersion::V0_3_0, CniVersion::V0_3_1, CniVersion::V0_4_0] {
            // As in the runtime's cache, recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev).
            let expected = json!({
                "cniVersion": version.as_str(), "dns": {},
                "interfaces": [{ "mac": "d6:68:4a:f9:e4:0d", "name": "a-dc4592" },
                    { "mac": "f6:f3:e5:36:f9:32", "name": "eth0", "sandbox": "/var/run/netns/cni-339a6c0e" }],
                "ips": [{ "address": "10.11.0.3/24", "gateway": "10.11.0.1", "interface": 1, "version": "4" }],
                "routes": [{ "dst": "0.0.0.0/0", "gw": "10.11.0.1" }],
            });
            assert_eq!(result.to_json(version), expected);
        }
    }

    #[test]
    fn results_since_1_1_name_the_mtu() {
        let result = result(vec![allocation("10.11.0.3/24", "10.11.0.1")]);
        for version in CniVersion::ALL {
            let expected = (version == CniVersion::V1_1_0).then(|| json!(1450));
            let json = result.to_json(version);
            for end in ["/interfaces/0/mtu", "/interfaces/1/mtu"] {
                assert_eq!(json.pointer(end), expected.as_ref(), "{version}");
            }
        }
    }

    #[test]
    fn results_since_1_0_do_not_name_the_ip_version() {
        let allocations =
            vec![allocation("10.11.0.3/24", "10.11.0.1"), allocation("fd00:11::3/64", "fd00:11::1")];
        let json = result(allocations).to_json(CniVersion::V1_1_0);
        let expected = json!([
            { "interface": 1, "address": "10.11.0.3/24", "gateway": "10.11.0.1" },
            { "interface": 1, "address": "fd00:11::3/64", "gateway": "fd00:11::1" },
        ]);
        assert_eq!(json.get("ips"), Some(&expected));
        let routes =
            json!([{ "dst": "0.0.0.0/0", "gw": "10.11.0.1" }, { "dst": "::/0", "gw": "fd00:11::1" }]);
        assert_eq!(json.get("routes"), Some(&routes));
    }
}
