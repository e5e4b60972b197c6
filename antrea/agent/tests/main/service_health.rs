//! What the agent tells load balancers of its Node: with Services in a real Open vSwitch, and without.

use crate::node::{Node, node};

pub(crate) const PROXY_ALL: &str = "antreaProxy: {proxyAll: true}\n";

/// A Service with an endpoint on the Node, and a port for questions about it.
pub(crate) const SERVICE: &str = "apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: u-1, creationTimestamp: 2026-01-01T00:00:00Z}
spec:
  type: LoadBalancer
  clusterIP: 10.97.0.5
  clusterIPs: [10.97.0.5]
  externalTrafficPolicy: Local
  healthCheckNodePort: 31999
  ports: [{port: 80, protocol: TCP, nodePort: 31080}]
status: {loadBalancer: {ingress: [{ip: 192.0.2.80}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.11.0.9], nodeName: node-a, conditions: {ready: true, serving: true, terminating: false}}]
";

/// The Node that the agent runs on, with these taints.
fn tainted(node: &Node, taints: &str) {
    let spec = "spec: {podCIDR: 10.11.0.0/24, podCIDRs: [10.11.0.0/24]";
    let nodes = node.read("objects/nodes.yaml");
    let (start, rest) = nodes.split_once(spec).unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    node.write("objects/nodes.yaml", &format!("{start}{spec}{taints}}}\n{rest}"));
}

/// The status and the body of an answer.
fn ask(node: &Node, port: u16, path: &str) -> String {
    let url = format!("http://127.0.0.1:{port}{path}");
    let mut curl = node.ovs.command("curl");
    curl.args(["--silent", "--max-time", "2", "--write-out", " %{http_code}", &url]);
    String::from_utf8(curl.output().unwrap().stdout).unwrap()
}

/// Waits until `/healthz`, `/livez` and the port of the Service answer with these statuses, and in these words.
fn wait_for(node: &Node, what: &str, [healthz, livez, service]: [(u16, &str); 3]) {
    for (port, path, (status, word)) in
        [(10256, "/healthz", healthz), (10256, "/livez", livez), (31999, "/", service)]
    {
        node.wait_for(&format!("{what}: {status} with {word} at {port}{path}"), |node| {
            let answer = ask(node, port, path);
            answer.ends_with(&format!(" {status}")) && answer.contains(word)
        });
    }
}

const HERE: &str = "\"localEndpoints\": 1,\n\t\"serviceProxyHealthy\": true";

#[test]
fn load_balancers_are_told_when_a_node_is_about_to_go_and_when_its_switch_is_away() {
    let test = "load_balancers_are_told_when_a_node_is_about_to_go_and_when_its_switch_is_away";
    let Some(mut node) = node(test) else { return };
    node.configure(PROXY_ALL);
    node.write("objects/services.yaml", SERVICE);
    node.start_agent();
    let well = [(200, "\"nodeEligible\":true"), (200, "lastUpdated"), (200, HERE)];
    wait_for(&node, "the Services are served", well);

    tainted(&node, ", taints: [{key: ToBeDeletedByClusterAutoscaler, effect: NoSchedule}]");
    let leaving = [(503, "\"nodeEligible\":false"), (200, "lastUpdated"), (200, HERE)];
    wait_for(&node, "the Node is about to go", leaving);
    tainted(&node, "");
    wait_for(&node, "the Node stays after all", well);

    node.ovs.kill_switch().unwrap();
    let away = "\"localEndpoints\": 1,\n\t\"serviceProxyHealthy\": false";
    wait_for(
        &node,
        "the switch is away",
        [(503, "\"nodeEligible\":true"), (503, "\"lastUpdated\":null"), (503, away)],
    );
    // A change that has to wait: until it came, the Services were up to date.
    node.write("objects/services.yaml", &SERVICE.replace("nodePort: 31080", "nodePort: 31081"));
    wait_for(&node, "a change waits", [(503, "lastUpdated"), (503, "\"lastUpdated\":\"20"), (503, away)]);
    node.ovs.start_switch().unwrap();
    wait_for(&node, "the switch is back", well);
}
