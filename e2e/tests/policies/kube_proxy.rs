//! Beside kube-proxy, which gives clients of NodePorts an address of the Node: they are not taken for the Node.

use antrea_e2e::names::Place;
use antrea_e2e::pods::Pod;
use anyhow::{Context, Result};
use serde_json::Value;

use super::expected::{self, Expected, Verdict};
use crate::cluster::Cluster;
use crate::services::network::Network;
use crate::services::objects::{Service, targets_at};

const SERVICE: &str = "apiVersion: v1
kind: Service
metadata: {name: isolated}
spec:
  type: NodePort
  ipFamilyPolicy: PreferDualStack
  selector: {app: APP}
  ports:
  - {name: tcp, protocol: TCP, port: 80, targetPort: 8080}
  - {name: udp, protocol: UDP, port: 80, targetPort: 8080}";

const POLICY: &str = "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: isolated}
spec: {podSelector: {matchLabels: {app: APP}}, policyTypes: [Ingress]}";

/// Isolates a Pod for a time: its own Node reaches it, and nobody who comes to a NodePort of any Node.
pub(crate) fn ensure_clients_of_node_ports_are_denied(cluster: &Cluster<'_>, server: &Pod) -> Result<()> {
    let of_server = |manifest: &str| manifest.replace("APP", &server.name);
    cluster.kubectl.apply(&of_server(SERVICE))?;
    let object: Value = cluster.kubectl.json(&["get", "service", "isolated"])?;
    let result = judge(cluster, server, &Service { object }, &of_server(POLICY));
    cluster.kubectl.text(&["delete", "service/isolated", "networkpolicy/isolated"])?;
    result
}

fn judge(cluster: &Cluster<'_>, server: &Pod, service: &Service, policy: &str) -> Result<()> {
    let outside = Network::of_place(cluster.lab, Place::Outside)?;
    let own_node = Network::of_place(cluster.lab, Place::Node(server.node))?;
    let mut node_ports = Vec::new();
    for node in &cluster.plan()?.nodes {
        node_ports.extend(service.node_targets(&node.node_ips)?);
    }
    let direct = targets_at(&server.ips, antrea_e2e::pods::PORT);
    let expect = |from_outside| -> Vec<Expected<'_>> {
        let outside = node_ports.iter().map(|target| (&outside, *target, from_outside));
        let own = direct.iter().map(|target| (&own_node, *target, Verdict::Allowed));
        outside.chain(own).map(|(from, target, verdict)| Expected { from, target, verdict }).collect()
    };
    expected::ensure(&expect(Verdict::Allowed)).context("without a policy")?;
    cluster.kubectl.apply(policy)?;
    expected::ensure(&expect(Verdict::Denied)).context("with a policy")
}
