//! Ports of Pods that somebody deletes come back; those of Pods that go do not.

use crate::node::{BRIDGE, Node, config, on_node};
use crate::pod::Pod;

impl Node {
    /// What the database says of ports, a line each.
    fn rows(&self) -> String {
        let interfaces = ["--format=csv", "--columns=name,ofport,ofport_request", "list", "Interface"];
        let ports = ["--format=csv", "--columns=name,external_ids", "list", "Port"];
        self.ovs.vsctl(interfaces).unwrap() + &self.ovs.vsctl(ports).unwrap()
    }

    fn delete_bridge(&self) {
        self.ovs.vsctl(["del-br", BRIDGE]).unwrap();
    }

    fn make_bridge(&self) {
        self.ovs.vsctl(["add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev"]).unwrap();
    }
}

/// The lines of a text in an order that does not depend on the database.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_bridge_that_was_deleted_gets_the_ports_of_its_pods_back() {
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        let agent = node.agent().await;
        let pods = [Pod::new("gone", "c0"), Pod::new("a", "c1"), Pod::new("b", "c2")];
        for pod in &pods {
            agent.add(pod, &config("1.0.0", "")).await.unwrap();
        }
        agent.del(&pods[0]).await.unwrap();
        let (state, rows) = (node.state(&agent), node.rows());

        node.delete_bridge();
        agent.until_the_database(|database| database.ports(BRIDGE).is_err()).await;
        assert_eq!(agent.server.plug_in_again().await, [], "there is nothing to plug in to");
        node.make_bridge();
        agent.until_the_database(|database| database.ports(BRIDGE).is_ok()).await;
        assert_eq!(agent.server.plug_in_again().await, []);
        assert_eq!((node.state(&agent), sorted(&node.rows())), (state, sorted(&rows)));
    });
}

#[test]
fn a_port_that_was_deleted_comes_back_unless_its_link_is_gone() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let (stays, goes) = (Pod::new("stays", "c1"), Pod::new("goes", "c2"));
        agent.add(&stays, &config("1.0.0", "")).await.unwrap();
        let wanted = node.state(&agent).into_iter().filter(|line| line.starts_with("port"));
        let wanted: Vec<_> = wanted.collect();
        agent.add(&goes, &config("1.0.0", "")).await.unwrap();
        let ports = node.ovs.vsctl(["list-ports", BRIDGE]).unwrap();
        goes.ip(&["link", "del", "eth0"]);
        for port in ports.lines() {
            node.ovs.vsctl(["del-port", BRIDGE, port]).unwrap();
        }
        agent.until_the_database(|database| database.ports(BRIDGE).is_ok_and(|ports| ports.len() == 1)).await;
        assert_eq!(agent.server.plug_in_again().await, []);
        let ports: Vec<_> = node.state(&agent).into_iter().filter(|line| line.starts_with("port")).collect();
        assert_eq!(ports, wanted);
    });
}

/// A later agent, which may begin at that moment, reads it there.
#[test]
fn a_port_that_comes_back_says_from_its_first_moment_on_what_is_to_be_noted_of_its_pod() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("a", "c1");
        agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        let port = node.ovs.vsctl(["list-ports", BRIDGE]).unwrap();
        node.ovs.vsctl(["del-port", BRIDGE, port.trim()]).unwrap();
        agent.until_the_database(|database| database.ports(BRIDGE).is_ok_and(|ports| ports.len() == 1)).await;
        agent.flows.note("antrea-policies", "unknown");
        agent.flows.refuse("the agent ends before flows are installed");
        assert_eq!(agent.server.plug_in_again().await.len(), 1);
        assert!(node.rows().contains("antrea-policies=unknown"), "{}", node.rows());
    });
}

#[test]
fn a_new_pod_does_not_get_the_number_of_one_whose_port_is_yet_to_come_back() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let (a, b) = (Pod::new("a", "c1"), Pod::new("b", "c2"));
        agent.add(&a, &config("1.0.0", "")).await.unwrap();
        agent.stop().await;
        let agent = node.agent().await;
        agent.server.inventory().await.unwrap();
        let port = node.ovs.vsctl(["list-ports", BRIDGE]).unwrap();
        node.ovs.vsctl(["del-port", BRIDGE, port.trim()]).unwrap();
        agent.until_the_database(|database| database.ports(BRIDGE).is_ok_and(|ports| ports.len() == 1)).await;
        agent.add(&b, &config("1.0.0", "")).await.unwrap();
        assert_eq!(agent.server.plug_in_again().await, []);
        let numbers: Vec<u32> = agent.flows.present().values().map(|flows| flows.of_port.0).collect();
        assert_eq!(numbers, [1, 2]);
    });
}
