//! The agent comes back: what is there is known again, what is no longer wanted goes.

use antrea_agent_cni::ipam::Owner;
use antrea_agent_cni::reconcile::NodePod;
use antrea_types::PodRef;

use crate::node::{config, on_node};
use crate::pod::Pod;

fn node_pod(name: &str) -> NodePod {
    NodePod { pod: PodRef { namespace: "default".into(), name: name.into() }, ips: Vec::new() }
}

#[test]
fn interfaces_are_known_again_and_their_flows_installed() {
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("a", "c1");
        let result = agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        let (state, stored) = (node.state(&agent), agent.store.containers());
        agent.stop().await;

        let agent = node.agent().await;
        let inventory = agent.server.inventory().await.unwrap();
        assert_eq!(agent.server.restore(&inventory).await, []);
        assert_eq!(agent.server.collect(&inventory, &[node_pod("a")]).await, []);
        agent.server.settled().await;
        assert_eq!((node.state(&agent), agent.store.containers()), (state, stored));
        assert_eq!(
            agent.add(&pod, &config("1.0.0", "")).await.unwrap(),
            result,
            "a repeated ADD changes nothing"
        );
    });
}

#[test]
fn pods_deleted_while_the_agent_was_down_leave_nothing() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let (stays, goes) = (Pod::new("stays", "c1"), Pod::new("goes", "c2"));
        agent.add(&stays, &config("1.0.0", "")).await.unwrap();
        let wanted = node.state(&agent);
        agent.add(&goes, &config("1.0.0", "")).await.unwrap();
        agent.stop().await;

        let agent = node.agent().await;
        let inventory = agent.server.inventory().await.unwrap();
        assert_eq!(agent.server.restore(&inventory).await, []);
        assert_eq!(agent.store.containers().len(), 2, "nothing goes while the API server is away");
        assert_eq!(agent.server.collect(&inventory, &[node_pod("stays")]).await, []);
        agent.server.settled().await;
        assert_eq!(node.state(&agent), wanted);
    });
}

#[test]
fn after_the_node_was_rebooted_ports_without_links_go_at_once() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("a", "c1");
        agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        agent.stop().await;
        pod.ip(&["link", "del", "eth0"]);

        let agent = node.agent().await;
        let inventory = agent.server.inventory().await.unwrap();
        assert_eq!(agent.server.restore(&inventory).await, []);
        agent.server.settled().await;
        assert_eq!(node.state(&agent), Vec::<String>::new());
    });
}

#[test]
fn a_port_whose_link_is_missing_in_the_list_of_links_alone_stays() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("a", "c1");
        agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        let state = node.state(&agent);
        agent.stop().await;

        let agent = node.agent().await;
        let mut inventory = agent.server.inventory().await.unwrap();
        inventory.links.clear();
        assert_eq!(agent.server.restore(&inventory).await, []);
        agent.server.settled().await;
        assert_eq!(node.state(&agent), state);
    });
}

#[test]
fn what_an_agent_left_that_died_in_the_middle_of_add_goes() {
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        node.ipam().allocate(&Owner::new("c1", "eth0")).unwrap();
        node.ovs.ip(["link", "add", "a-2f2276", "type", "veth", "peer", "name", "pod-end"]).unwrap();

        let agent = node.agent().await;
        let inventory = agent.server.inventory().await.unwrap();
        assert_eq!(agent.server.restore(&inventory).await, []);
        assert_eq!(node.state(&agent).len(), 4, "nothing goes while the API server is away");
        assert_eq!(agent.server.collect(&inventory, &[node_pod("a")]).await, []);
        agent.server.settled().await;
        assert_eq!(node.state(&agent), Vec::<String>::new());
    });
}

#[test]
fn a_pod_added_since_the_inventory_stays() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let inventory = agent.server.inventory().await.unwrap();
        let pod = Pod::new("new", "c1");
        agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        let state = node.state(&agent);
        assert_eq!(agent.server.collect(&inventory, &[]).await, []);
        agent.server.settled().await;
        assert_eq!(node.state(&agent), state);
    });
}

#[test]
fn a_port_that_gets_another_number_gets_other_flows() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        agent.add(&Pod::new("b", "c0"), &config("1.0.0", "")).await.unwrap();
        let pod = Pod::new("a", "c1");
        agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        node.ovs.vsctl(["set", "interface", "a-2f2276", "ofport_request=77"]).unwrap();
        let name = "a-2f2276".parse().unwrap();
        let mut tries = 0;
        while agent.flows.present()[&name].of_port.0 != 77 {
            assert_eq!(agent.server.sync_port_numbers().await.unwrap(), []);
            tokio::task::yield_now().await;
            tries += 1;
            assert!(tries < 1_000_000, "the new number never arrived");
        }
        assert_eq!(agent.store.get(&name).unwrap().of_port.unwrap().0, 77);
    });
}
