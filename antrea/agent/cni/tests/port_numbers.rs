//! The number of a Pod's port: asked for before the port is there, and what the flows are made for in the end.

use std::time::Duration;

use futures::future::join;
use tokio::time::sleep;

use crate::node::{BRIDGE, Node, config, on_node};
use crate::pod::Pod;

const PORT: &str = "web-2f2276";

impl Node {
    fn number_of(&self, column: &str) -> u32 {
        self.ovs.vsctl(["get", "interface", PORT, column]).unwrap().trim().parse().unwrap()
    }

    fn has_port(&self) -> bool {
        self.ovs.vsctl(["list-ports", BRIDGE]).unwrap().contains(PORT)
    }
}

#[test]
fn a_port_has_the_number_that_it_asked_for_also_after_a_restart_of_open_vswitch() {
    on_node(&["10.10.0.0/24"], async move |mut node| {
        let agent = node.agent().await;
        // So that the number is not the first one that Open vSwitch itself would choose.
        node.ovs
            .vsctl(["add-port", BRIDGE, "other", "--", "set", "interface", "other", "type=internal"])
            .unwrap();
        node.ovs.vsctl(["set", "interface", "other", "ofport_request=40"]).unwrap();
        agent.add(&Pod::new("gone", "c0"), &config("1.0.0", "")).await.unwrap();
        let pod = Pod::new("web", "c1");
        agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        let number = agent.flows.present()[&PORT.parse().unwrap()].of_port.0;
        assert_eq!((node.number_of("ofport_request"), node.number_of("ofport")), (number, number));
        node.ovs.vsctl(["del-port", BRIDGE, "other"]).unwrap();
        node.ovs.kill_switch().unwrap();
        node.ovs.start_switch().unwrap();
        node.ovs.vsctl(["wait-until", "interface", PORT, "ofport!=[]"]).unwrap();
        assert_eq!(node.number_of("ofport"), number);
    });
}

#[test]
fn the_flows_follow_where_open_vswitch_gives_the_number_to_somebody_else() {
    on_node(&["10.10.0.0/24"], async move |mut node| {
        let agent = node.agent().await;
        let pod = Pod::new("web", "c1");
        node.ovs.kill_switch().unwrap();
        let others = async {
            while !node.has_port() {
                sleep(Duration::from_millis(10)).await;
            }
            // One of so many gets it, whatever order Open vSwitch takes them in.
            let request = format!("ofport_request={}", node.number_of("ofport_request"));
            for other in (0..20).map(|number| format!("other{number}")) {
                let add = ["--no-wait", "add-port", BRIDGE, &other, "--", "set", "interface", &other];
                node.ovs.vsctl([&add[..], &["type=internal", &request]].concat()).unwrap();
            }
            node.ovs.start_switch().unwrap();
        };
        let (added, ()) = join(agent.add(&pod, &config("1.0.0", "")), others).await;
        added.unwrap();
        assert_ne!(
            node.number_of("ofport"),
            node.number_of("ofport_request"),
            "the Pod's port got its number"
        );
        assert_eq!(agent.flows.present()[&PORT.parse().unwrap()].of_port.0, node.number_of("ofport"));
    });
}
