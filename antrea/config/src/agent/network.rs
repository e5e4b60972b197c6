//! The keys that shape the Pod network of a Node.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use antrea_types::{DualStack, InterfaceName, IpFamily};
use ipnet::IpNet;

use super::file::AgentFile;
use super::path;
use crate::error::Problems;
use crate::modes::{DatapathType, EncryptionMode, NodeType, TrafficEncapMode};
use crate::section::{Setting, refuse};
use crate::shared::parsed;

/// Open vSwitch, and the bridge that Pods are connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ovs {
    /// The bridge.
    pub bridge: InterfaceName,
    /// What forwards its packets.
    pub datapath_type: DatapathType,
    /// The directory of `db.sock` and of the bridges' management sockets.
    pub run_dir: PathBuf,
}

/// Where traffic to other Nodes leaves. A name goes before networks, as upstream has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportInterface {
    /// By the interface that has the Node IP.
    NodeIp,
    /// By the interface of that name.
    Named(InterfaceName),
    /// By the first interface with an address in one of these networks.
    Cidrs(Vec<IpNet>),
}

pub(super) fn ovs(file: &AgentFile, problems: &mut Problems) -> Ovs {
    Ovs {
        bridge: parsed(&file.ovs_bridge, "ovsBridge", problems).unwrap_or_else(|| name("br-int")),
        datapath_type: parsed(&file.ovs_datapath_type, "ovsDatapathType", problems)
            .unwrap_or(DatapathType::System),
        run_dir: path(&file.ovs_run_dir, "ovsRunDir", "/var/run/openvswitch", problems),
    }
}

pub(super) fn host_gateway(file: &AgentFile, ovs: &Ovs, problems: &mut Problems) -> InterfaceName {
    let gateway = parsed(&file.host_gateway, "hostGateway", problems).unwrap_or_else(|| name("antrea-gw0"));
    if let (true, Some(value)) = (gateway == ovs.bridge, &file.host_gateway) {
        refuse(
            problems,
            "hostGateway",
            value,
            "the bridge has that name already (ovsBridge); choose another",
        );
    }
    gateway
}

/// The modes of which one is available each. Nothing else depends on them yet.
pub(super) fn refuse_other_modes(file: &AgentFile, problems: &mut Problems) {
    only(&file.node_type, "nodeType", NodeType::K8sNode, problems);
    only(&file.traffic_encap_mode, "trafficEncapMode", TrafficEncapMode::Encap, problems);
    only(&file.traffic_encryption_mode, "trafficEncryptionMode", EncryptionMode::None, problems);
}

pub(super) fn only<T>(setting: &Setting<String>, key: &str, available: T, problems: &mut Problems)
where
    T: FromStr<Err: Display> + Display + PartialEq + Copy,
{
    let asked = parsed(setting, key, problems).filter(|mode: &T| *mode != available);
    if let (Some(mode), Some(value)) = (asked, setting) {
        refuse(problems, key, value, format!("{mode} is not available yet; allowed is {available}"));
    }
}

/// An MTU; absent where it is 0. IPv4 asks for 576 bytes at least (RFC 791 §3.2).
pub(super) fn mtu(setting: &Setting<i64>, problems: &mut Problems) -> Option<u16> {
    let value = setting.as_ref().filter(|value| value.value != 0)?;
    let mtu = u16::try_from(value.value).ok().filter(|mtu| *mtu >= 576);
    if mtu.is_none() {
        refuse(
            problems,
            "defaultMTU",
            value,
            "allowed are 576 to 65535, and 0 to derive it from the transport interface",
        );
    }
    mtu
}

pub(super) fn service_cidrs(
    v4: &Setting<String>,
    v6: &Setting<String>,
    problems: &mut Problems,
) -> DualStack<IpNet> {
    let v4 = service_cidr(v4, "serviceCIDR", IpFamily::V4, problems);
    let default = || "10.96.0.0/12".parse().ok();
    DualStack { v4: v4.or_else(default), v6: service_cidr(v6, "serviceCIDRv6", IpFamily::V6, problems) }
}

fn service_cidr(
    setting: &Setting<String>,
    key: &str,
    family: IpFamily,
    problems: &mut Problems,
) -> Option<IpNet> {
    let value = setting.as_ref().filter(|value| !value.value.is_empty())?;
    let net = cidr(&value.value).filter(|net| IpFamily::of_net(net) == family);
    if net.is_none() {
        refuse(problems, key, value, format!("an {family} network is wanted, as in {}", example(family)));
    }
    net
}

const fn example(family: IpFamily) -> &'static str {
    match family {
        IpFamily::V4 => "10.96.0.0/12",
        IpFamily::V6 => "fd00:10:96::/112",
    }
}

pub(super) fn transport_interface(
    interface: &Setting<String>,
    cidrs: &Setting<Vec<String>>,
    problems: &mut Problems,
) -> TransportInterface {
    let mut nets = Vec::new();
    for text in cidrs.iter().flat_map(|cidrs| &cidrs.value) {
        match (cidr(text), cidrs) {
            (Some(net), _) => nets.push(net),
            (None, Some(value)) => refuse(
                problems,
                "transportInterfaceCIDRs",
                value,
                format!("{text:?} is no network; wanted are networks as 192.168.1.0/24 or fd00:1::/64"),
            ),
            (None, None) => {}
        }
    }
    match parsed(interface, "transportInterface", problems) {
        Some(name) => TransportInterface::Named(name),
        None if nets.is_empty() => TransportInterface::NodeIp,
        None => TransportInterface::Cidrs(nets),
    }
}

/// A network. As in Go, host bits are cut off.
pub(super) fn cidr(text: &str) -> Option<IpNet> {
    IpNet::from_str(text).ok().map(|net| net.trunc())
}

/// A default: a literal of this file, which the test of the empty file goes through.
fn name(text: &str) -> InterfaceName {
    text.parse().unwrap_or_else(|error| unreachable!("{error}"))
}
