//! A Node with a real Open vSwitch and two Pods.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use antrea_agent_cni::interface::ContainerInterface;
use antrea_agent_cni::interface_store::StoredContainer;
use antrea_ovs::ovsdb::OvsDb;
use antrea_ovs::testing::{OvsProcess, why_unavailable};
use antrea_pipeline::multicluster::Multicluster;
use antrea_pipeline::service::Services;
use antrea_pipeline::{
    Gateway, NodeTraffic, Pipeline, PipelineConfig, PodInterface, PolicyEnforcement, Tunnel,
};
use antrea_types::{DualStack, InterfaceName, OfPort, PodRef, TunnelTraffic};
use ipnet::IpNet;
use tempfile::TempDir;

pub(super) const BRIDGE: &str = "br-int";

/// A Node without an agent.
pub(super) struct Node {
    pub(super) ovs: OvsProcess,
    pub(super) database: OvsDb,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) folder: TempDir,
}

/// Whether something may be done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    Yes,
    No,
}

/// A Pod of Namespace `x`, with a port on the bridge.
#[derive(Clone, Copy)]
pub(super) struct Pod {
    pub(super) name: &'static str,
    pub(super) uid: &'static str,
    pub(super) port: u32,
    pub(super) mac: &'static str,
    pub(super) ip: &'static str,
}

pub(super) const A: Pod = Pod { name: "a", uid: "a", port: 2, mac: "0a:00:00:00:00:0a", ip: "10.10.0.10" };
pub(super) const B: Pod = Pod { name: "b", uid: "b", port: 3, mac: "0a:00:00:00:00:0b", ip: "10.10.0.11" };

/// A Node, or nothing where none can be made: then the test is skipped.
pub(super) async fn node(test: &str) -> Option<Node> {
    if let Some(reason) = why_unavailable() {
        println!("SKIPPED {test}: {reason}");
        return None;
    }
    let ovs = OvsProcess::start().unwrap();
    let bridge =
        "add-br br-int -- set bridge br-int datapath_type=netdev fail-mode=secure protocols=OpenFlow15";
    ovs.vsctl(bridge.split_whitespace()).unwrap();
    for Pod { name, port, .. } in [A, B] {
        let port = format!(
            "add-port {BRIDGE} pod-{name} -- set interface pod-{name} type=internal ofport_request={port}"
        );
        ovs.vsctl(port.split_whitespace()).unwrap();
    }
    let database = OvsDb::connect(ovs.database_socket()).await;
    Some(Node { ovs, database, pipeline: Arc::new(pipeline()), folder: tempfile::tempdir().unwrap() })
}

fn pipeline() -> Pipeline {
    Pipeline::new(PipelineConfig {
        gateway: Gateway {
            of_port: OfPort::GATEWAY,
            mac: "0a:00:00:00:00:01".parse().unwrap(),
            ips: ["10.10.0.1".parse::<IpAddr>().unwrap()].into_iter().collect(),
        },
        tunnel: Some(Tunnel { of_port: OfPort::TUNNEL, traffic: TunnelTraffic::Udp(6081) }),
        local_pod_cidrs: ["10.10.0.0/24".parse::<IpNet>().unwrap()].into_iter().collect(),
        services: Services::ByHost { cidrs: DualStack::default() },
        multicluster: Multicluster::Off,
        policies: PolicyEnforcement::On { node_traffic: NodeTraffic::SourceMac },
    })
}

impl Pod {
    pub(super) fn interface_name(self) -> InterfaceName {
        format!("pod-{}", self.name).parse().unwrap()
    }

    fn pod(self) -> PodRef {
        PodRef { namespace: "x".to_owned(), name: self.name.to_owned() }
    }

    fn ips(self) -> DualStack<IpAddr> {
        [self.ip.parse::<IpAddr>().unwrap()].into_iter().collect()
    }

    /// Its UID is its name.
    pub(super) fn container(self) -> ContainerInterface {
        ContainerInterface {
            pod: self.pod(),
            pod_uid: self.uid.parse().ok(),
            container_id: format!("container-{}", self.name),
            interface: "eth0".parse().unwrap(),
            mac: self.mac.parse().unwrap(),
            ips: self.ips(),
            netns: String::new(),
        }
    }

    pub(super) fn interface(self) -> PodInterface {
        PodInterface { of_port: OfPort(self.port), mac: self.mac.parse().unwrap(), ips: self.ips() }
    }

    /// As an earlier agent has left it.
    pub(super) fn stored(self) -> StoredContainer {
        StoredContainer {
            name: self.interface_name(),
            of_port: Some(OfPort(self.port)),
            container: self.container(),
        }
    }
}

impl Node {
    /// The number of the table with the rules of ingress.
    pub(super) fn ingress_table(&self) -> u8 {
        let tables = self.pipeline.table_names();
        tables.into_iter().find(|(_, name)| *name == "IngressRule").unwrap().0.0
    }

    /// Whether a new connection gets from one Pod to another, as the switch sees it.
    pub(super) fn passes(&self, from: Pod, to: Pod) -> bool {
        let packet = format!(
            "in_port={},tcp,dl_src={},dl_dst={},nw_src={},nw_dst={},nw_ttl=64,tp_dst=80",
            from.port, from.mac, to.mac, from.ip, to.ip
        );
        let trace =
            self.ovs.appctl(["ofproto/trace", "--names", BRIDGE, &packet, "--ct-next", "trk,new"]).unwrap();
        let mut outcomes = trace.lines().filter_map(|line| line.strip_prefix("Datapath actions: "));
        match outcomes.next_back() {
            Some("drop") => false,
            Some(outcome) if outcome == format!("pod-{}", to.name) => true,
            other => panic!("neither dropped nor delivered: {other:?} in {trace}"),
        }
    }

    /// Where agents store policies.
    pub(super) fn files(&self) -> PathBuf {
        self.folder.path().join("networkpolicy")
    }

    /// Whether files can be written from now on.
    pub(super) fn let_store(&self, allowed: Allowed) {
        // A file where the folder should be.
        let folder = self.files();
        let _ = std::fs::remove_dir_all(&folder);
        let _ = std::fs::remove_file(&folder);
        if allowed == Allowed::No {
            std::fs::write(folder, "").unwrap();
        }
    }

    /// What is noted of the files.
    pub(super) fn note_of_files(&self) -> Option<String> {
        self.noted("bridge", BRIDGE)
    }

    /// What is noted of a Pod.
    pub(super) fn note(&self, pod: Pod) -> Option<String> {
        self.noted("port", &format!("pod-{}", pod.name))
    }

    /// Takes what is noted of a Pod away, as a new port would, and waits until that is known.
    pub(super) async fn forget_note(&self, pod: Pod) {
        let port = format!("pod-{}", pod.name);
        let mut changed = self.database.changed();
        self.ovs.vsctl(["remove", "port", &port, "external_ids", "antrea-policies"]).unwrap();
        let is_noted = || {
            let port = self.database.snapshot().port(&port).unwrap().port;
            port.external_ids.contains_key("antrea-policies")
        };
        while is_noted() {
            changed.changed().await.unwrap();
        }
    }

    fn noted(&self, table: &str, name: &str) -> Option<String> {
        let column = "external_ids:antrea-policies";
        let note = self.ovs.vsctl(["--if-exists", "get", table, name, column]).unwrap();
        Some(note.trim().to_owned()).filter(|note| !note.is_empty())
    }
}
