//! A Pod: a network namespace that our CNI plugin connects.

use std::net::IpAddr;

use antrea_e2e::command::{Run as _, command};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::namespace::program_in;
use crate::node::{Node, program};

#[derive(Debug)]
pub(crate) struct Pod {
    /// Also that of its namespace.
    pub(crate) name: String,
    /// One of each family.
    pub(crate) addresses: Vec<IpAddr>,
    /// The other end of its interface, on the Node.
    pub(crate) host_interface: String,
}

impl Pod {
    /// As the kubelet makes one: a namespace, an ADD, and the object.
    pub(crate) fn create(node: &Node, name: &str) -> Result<Self> {
        command("ip", &["netns", "add", name]).run()?;
        command("ip", &["-n", name, "link", "set", "lo", "up"]).run()?;
        let result = cni(node, "ADD", name)?;
        let result: Value = serde_json::from_str(&result).context("ADD printed no JSON")?;
        remember_neighbours(name)?;
        let addresses = addresses(&result).with_context(|| format!("ADD gave no addresses: {result}"))?;
        let interface = result["interfaces"].as_array().and_then(|all| all.first()?["name"].as_str());
        let host_interface = interface.context("ADD names no interface")?.to_owned();
        let ips: Vec<Value> = addresses.iter().map(|address| json!({"ip": address})).collect();
        let object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeName": node.name, "containers": []}, "status": {"podIPs": ips},
        });
        node.write(&object_file(name), &object.to_string())?;
        Ok(Self { name: name.to_owned(), addresses, host_interface })
    }

    /// As the kubelet removes one.
    pub(crate) fn delete(self, node: &Node) -> Result<()> {
        cni(node, "DEL", &self.name)?;
        node.remove(&object_file(&self.name))
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        // One that cannot be removed goes with the guest.
        let _ = command("ip", &["netns", "delete", &self.name]).run();
    }
}

/// Has a Pod ask once only where a neighbour is. What is a new question waits for Open vSwitch, even when it is about a
/// neighbour that the Pod talks to: while Open vSwitch is away, that would be traffic lost.
///
/// A neighbour that has asked first is not yet known to answer: without the delay it would be asked 5 s later, and given up
/// after 3 more.
fn remember_neighbours(pod: &str) -> Result<()> {
    let neighbours = ["ipv4", "ipv6"].map(|family| format!("net.{family}.neigh.eth0"));
    let for_an_hour = neighbours.iter().flat_map(|neighbours| {
        [
            format!("{neighbours}.base_reachable_time_ms=3600000"),
            format!("{neighbours}.delay_first_probe_time=3600"),
        ]
    });
    program_in(pod, "sysctl").args(["-q", "-w"]).args(for_an_hour).run()
}

fn object_file(pod: &str) -> String {
    format!("objects/pod-{pod}.json")
}

/// The addresses of a result, without the lengths of their networks.
fn addresses(result: &Value) -> Option<Vec<IpAddr>> {
    let address = |ip: &Value| ip["address"].as_str()?.split('/').next()?.parse().ok();
    result["ips"].as_array()?.iter().map(address).collect()
}

fn cni(node: &Node, operation: &str, pod: &str) -> Result<String> {
    let configuration =
        r#"{"cniVersion":"1.1.0","name":"antrea","type":"antrea","ipam":{"type":"host-local"}}"#;
    command(program("antrea-cni")?, &[])
        .env("CNI_COMMAND", operation)
        .env("CNI_CONTAINERID", format!("container-of-{pod}"))
        .env("CNI_NETNS", format!("/run/netns/{pod}"))
        .env("CNI_IFNAME", "eth0")
        .env("CNI_PATH", "/opt/cni/bin")
        .env("CNI_ARGS", format!("K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod}"))
        .env("ANTREA_CNI_SOCKET", node.cni_socket())
        .feed(configuration)
}
