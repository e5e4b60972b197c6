//! The interfaces on the Node's bridge, as the agent keeps them in OVSDB: external_ids of Port rows.
//!
//! OVSDB is the agent's database. What stands there is enough to know every interface after a restart, and is read and
//! written as upstream does, so that either agent can take over a Node from the other; the UID of a Pod is more than that.

use std::collections::BTreeMap;
use std::net::IpAddr;

use antrea_types::{DualStack, InterfaceName, MacAddr, OfPort, PodRef, PodUid};

use crate::host_interface_name::MAIN_INTERFACE;
use crate::ipam::Owner;

/// The keys of external_ids.
mod key {
    pub(super) const TYPE: &str = "antrea-type";
    pub(super) const MAC: &str = "attached-mac";
    pub(super) const IPS: &str = "ip-address";
    pub(super) const CONTAINER_ID: &str = "container-id";
    pub(super) const POD_NAME: &str = "pod-name";
    pub(super) const POD_NAMESPACE: &str = "pod-namespace";
    /// Upstream has no such key.
    pub(super) const POD_UID: &str = "pod-uid";
    pub(super) const INTERFACE: &str = "if-dev";
    pub(super) const NETNS: &str = "net-ns";
}

const CONTAINER: &str = "container";

/// Any port of the bridge that is one of Antrea's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name of port, OVS interface and, for most kinds, network device.
    pub name: InterfaceName,
    /// Its number on the bridge; none while OVS could not open the device.
    pub of_port: Option<OfPort>,
    /// What it is for.
    pub kind: InterfaceKind,
}

/// What an interface is for: `antrea-type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceKind {
    /// Between Pods and their Node.
    Gateway,
    /// To other Nodes.
    Tunnel,
    /// The Node's own link, on a bridge that took it over.
    Uplink,
    /// What the host uses in place of that link.
    Host,
    /// A Pod's.
    Container(ContainerInterface),
    /// Of a kind that this agent leaves to others.
    Other(String),
}

/// The interface of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerInterface {
    /// The Pod.
    pub pod: PodRef,
    /// Its UID, where the runtime says it.
    pub pod_uid: Option<PodUid>,
    /// CNI_CONTAINERID: that of the Pod's sandbox.
    pub container_id: String,
    /// Its name in the Pod.
    pub interface: InterfaceName,
    /// Its MAC address in the Pod.
    pub mac: MacAddr,
    /// The Pod's addresses.
    pub ips: DualStack<IpAddr>,
    /// The Pod's network namespace as the agent sees it; empty where an older agent did not write it.
    pub netns: String,
}

impl ContainerInterface {
    /// What its addresses are allocated to.
    pub fn owner(&self) -> Owner {
        Owner::new(&self.container_id, self.interface.as_str())
    }
}

/// external_ids that say `antrea-type=container` but not what a container's interface needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("port {port}: external_ids key {key} is {}: delete the port, then its Pod", problem(value.as_deref()))]
pub struct InvalidExternalIds {
    port: InterfaceName,
    key: &'static str,
    value: Option<String>,
}

fn problem(value: Option<&str>) -> String {
    value.map_or_else(|| "missing".to_owned(), |value| format!("{value:?}, which cannot be read"))
}

impl InterfaceKind {
    /// Reads external_ids of the port called `port`; none when the port is not Antrea's.
    ///
    /// # Errors
    /// When a container's interface lacks something, or has it in a form that cannot be read.
    pub fn from_external_ids(
        port: &InterfaceName,
        ids: &BTreeMap<String, String>,
    ) -> Result<Option<Self>, InvalidExternalIds> {
        Ok(Some(match ids.get(key::TYPE).map(String::as_str) {
            None => return Ok(None),
            Some("gateway") => Self::Gateway,
            Some("tunnel") => Self::Tunnel,
            Some("uplink") => Self::Uplink,
            Some("host") => Self::Host,
            Some(CONTAINER) => Self::Container(ContainerInterface::from_external_ids(port, ids)?),
            Some(other) => Self::Other(other.to_owned()),
        }))
    }

    /// The external_ids that say the same.
    pub fn to_external_ids(&self) -> BTreeMap<String, String> {
        let kind = match self {
            Self::Gateway => "gateway",
            Self::Tunnel => "tunnel",
            Self::Uplink => "uplink",
            Self::Host => "host",
            Self::Container(container) => return container.to_external_ids(),
            Self::Other(other) => other,
        };
        BTreeMap::from([(key::TYPE.to_owned(), kind.to_owned())])
    }
}

impl ContainerInterface {
    fn from_external_ids(
        port: &InterfaceName,
        ids: &BTreeMap<String, String>,
    ) -> Result<Self, InvalidExternalIds> {
        let invalid = |key| InvalidExternalIds { port: port.clone(), key, value: ids.get(key).cloned() };
        let text = |key| ids.get(key).filter(|value| !value.is_empty()).ok_or_else(|| invalid(key));
        let interface = ids.get(key::INTERFACE).map_or(MAIN_INTERFACE, String::as_str);
        Ok(Self {
            pod: PodRef { namespace: text(key::POD_NAMESPACE)?.clone(), name: text(key::POD_NAME)?.clone() },
            pod_uid: ids.get(key::POD_UID).and_then(|uid| uid.parse().ok()),
            container_id: text(key::CONTAINER_ID)?.clone(),
            interface: interface.parse().map_err(|_| invalid(key::INTERFACE))?,
            mac: text(key::MAC)?.parse().map_err(|_| invalid(key::MAC))?,
            ips: parse_ips(text(key::IPS)?).ok_or_else(|| invalid(key::IPS))?,
            netns: ids.get(key::NETNS).cloned().unwrap_or_default(),
        })
    }

    fn to_external_ids(&self) -> BTreeMap<String, String> {
        let ips = self.ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let mut ids = vec![
            (key::TYPE, CONTAINER.to_owned()),
            (key::MAC, self.mac.to_string()),
            (key::IPS, ips),
            (key::CONTAINER_ID, self.container_id.clone()),
            (key::POD_NAME, self.pod.name.clone()),
            (key::POD_NAMESPACE, self.pod.namespace.clone()),
        ];
        if self.interface.as_str() != MAIN_INTERFACE {
            ids.push((key::INTERFACE, self.interface.to_string()));
        }
        if let Some(uid) = &self.pod_uid {
            ids.push((key::POD_UID, uid.to_string()));
        }
        if !self.netns.is_empty() {
            ids.push((key::NETNS, self.netns.clone()));
        }
        ids.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

fn parse_ips(list: &str) -> Option<DualStack<IpAddr>> {
    list.split(',').map(|ip| ip.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// external_ids written as `ovs-vsctl` prints them.
    fn ids(text: &str) -> BTreeMap<String, String> {
        let pairs = text.split(", ").filter_map(|pair| pair.split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value.trim_matches('"').to_owned())).collect()
    }

    fn parse(text: &str) -> Result<Option<InterfaceKind>, String> {
        let port = "a-dc4592".parse().unwrap();
        InterfaceKind::from_external_ids(&port, &ids(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn what_upstream_wrote_is_read_and_written_alike() {
        // Recorded from upstream Antrea main at fc70f2bb7 (v2.8.0-dev).
        for text in [
            "antrea-type=gateway",
            "antrea-type=tunnel",
            "antrea-type=traffic-control",
            "antrea-type=container, attached-mac=\"f6:f3:e5:36:f9:32\", \
             container-id=\"24898ffbbb0d14e8441de73b1dcb40a61f03270eea8ef87c21411186e652c19e\", ip-address=\"10.11.0.3\", \
             net-ns=\"//var/run/netns/cni-339a6c0e-a257-8290-2ceb-6eab0901d412\", pod-name=a, pod-namespace=team-x",
            "antrea-type=container, attached-mac=\"f6:f3:e5:36:f9:32\", container-id=c, if-dev=net1, \
             ip-address=\"10.11.0.3,fd00::3\", net-ns=\"/host/x\", pod-name=a, pod-namespace=b",
        ] {
            let kind = parse(text).unwrap().unwrap();
            assert_eq!(kind.to_external_ids(), ids(text));
        }
    }

    #[test]
    fn other_ports_are_none_of_ours() {
        assert_eq!(parse("iface-id=x"), Ok(None));
    }

    #[test]
    fn a_damaged_container_port_says_which_key_is_wrong() {
        for (text, key) in [
            ("antrea-type=container, pod-name=a", "pod-namespace is missing"),
            (
                "antrea-type=container, pod-name=a, pod-namespace=b, container-id=c, attached-mac=xx, ip-address=10.0.0.1",
                "attached-mac is \"xx\", which cannot be read",
            ),
            (
                "antrea-type=container, pod-name=a, pod-namespace=b, container-id=c, attached-mac=\"f6:f3:e5:36:f9:32\", \
                 ip-address=10.0.0.300",
                "ip-address is \"10.0.0.300\", which cannot be read",
            ),
        ] {
            let expected = format!("port a-dc4592: external_ids key {key}: delete the port, then its Pod");
            assert_eq!(parse(text), Err(expected));
        }
    }
}
