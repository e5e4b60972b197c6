//! DEL: everything goes, however often and whatever is left.

use std::net::IpAddr;
use std::time::Duration;

use crate::node::{Agent, config, on_node};
use crate::pod::Pod;

#[test]
fn nothing_of_a_pod_remains_and_others_are_not_touched() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let (first, second) = (Pod::new("a", "c1"), Pod::new("a", "c2"));
        agent.add(&first, &config("1.0.0", "")).await.unwrap();
        let before = node.state(&agent);
        agent.add(&second, &config("1.0.0", "")).await.unwrap();
        agent.del(&second).await.unwrap();
        assert_eq!(node.state(&agent), before);
        agent.del(&second).await.unwrap();
        assert_eq!(node.state(&agent), before);
    });
}

#[test]
fn a_container_that_was_never_added_is_deleted_with_success() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        agent.del(&Pod::new("a", "c1")).await.unwrap();
    });
}

#[test]
fn a_pod_whose_namespace_is_gone_is_deleted() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pod = Pod::new("a", "c1");
        agent.add(&pod, &config("1.0.0", "")).await.unwrap();
        pod.ip(&["link", "del", "eth0"]);
        agent.del(&pod).await.unwrap();
        assert_eq!(node.state(&agent), Vec::<String>::new());
    });
}

#[test]
fn connections_of_a_pod_are_forgotten_when_its_flows_are_gone() {
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        let agent = node.agent().await;
        let (first, second) = (Pod::new("a", "c1"), Pod::new("b", "c2"));
        for pod in [&first, &second] {
            agent.add(pod, &config("1.0.0", "")).await.unwrap();
        }
        agent.del(&first).await.unwrap();
        let others: Vec<_> = agent.flows.present().into_keys().collect();
        let [v4, v6] = ["10.10.0.2", "fd00:10:10::2"].map(|text| vec![text.parse::<IpAddr>().unwrap()]);
        let mut forgotten = agent.flows.forgotten();
        forgotten.sort();
        assert_eq!(forgotten, [(v4, others.clone()), (v6, others)]);
    });
}

#[test]
fn nobody_gets_the_address_of_a_pod_whose_connections_are_not_forgotten() {
    on_node(&["10.10.0.0/30"], async move |node| {
        let agent = node.agent().await;
        let config = config("1.0.0", "");
        agent.add(&Pod::new("a", "c1"), &config).await.unwrap();
        let remembered = agent.flows.remember().await;
        agent.del_once(&Pod::new("a", "c1")).await.unwrap();
        let second = Pod::new("b", "c2");
        let mut add = Box::pin(agent.add(&second, &config));
        assert!(tokio::time::timeout(Duration::from_millis(300), &mut add).await.is_err(), "it waits");
        assert_eq!(node.state(&agent).iter().filter(|line| line.starts_with("address")).count(), 1);
        drop(remembered);
        let result = add.await.unwrap();
        assert_eq!(result["ips"][0]["address"], "10.10.0.2/30");
        assert_eq!(agent.flows.forgotten().len(), 1);
    });
}

/// The address of a Pod that comes now.
async fn given(agent: &Agent, pod: &Pod) -> String {
    let result = agent.add(pod, &config("1.0.0", "")).await.unwrap();
    result["ips"][0]["address"].as_str().unwrap().to_owned()
}

#[test]
fn addresses_of_pods_that_went_while_peers_are_told_nothing_are_given_out_last() {
    on_node(&["10.10.0.0/29"], async move |node| {
        let agent = node.agent().await;
        let pods = ["a", "b", "c", "d", "e", "f", "g"].map(|name| Pod::new(name, name));
        assert_eq!(given(&agent, &pods[0]).await, "10.10.0.2/29");
        assert_eq!(given(&agent, &pods[1]).await, "10.10.0.3/29");
        agent.del(&pods[1]).await.unwrap();
        agent.flows.set_untold(true);
        agent.del(&pods[0]).await.unwrap();
        for (pod, address) in pods[2..].iter().zip(["10.10.0.4", "10.10.0.5", "10.10.0.6", "10.10.0.3"]) {
            assert_eq!(given(&agent, pod).await, format!("{address}/29"));
        }
        assert_eq!(given(&agent, &pods[6]).await, "10.10.0.2/29", "there is no other");
    });
}

#[test]
fn addresses_that_were_held_back_are_free_when_peers_are_told_again_also_for_a_later_agent() {
    on_node(&["10.10.0.0/29"], async move |node| {
        let (agent, pod) = (node.agent().await, Pod::new("a", "a"));
        assert_eq!(given(&agent, &pod).await, "10.10.0.2/29");
        agent.flows.set_untold(true);
        agent.del(&pod).await.unwrap();
        assert_eq!(node.state(&agent), ["address 10.10.0.2 of a eth0"]);
        agent.stop().await;
        let agent = node.agent().await;
        agent.flows.set_untold(true);
        agent.del(&pod).await.unwrap();
        assert_eq!(node.state(&agent), ["address 10.10.0.2 of a eth0"]);
        agent.flows.set_untold(false);
        while !node.state(&agent).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

#[test]
fn a_container_that_is_attached_again_keeps_its_address() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let (pod, config) = (Pod::new("a", "c1"), config("1.0.0", ""));
        agent.add(&pod, &config).await.unwrap();
        let before = node.state(&agent);
        let remembered = agent.flows.remember().await;
        agent.del_once(&pod).await.unwrap();
        agent.add(&pod, &config).await.unwrap();
        drop(remembered);
        agent.server.settled().await;
        assert_eq!(node.state(&agent), before);
        assert_eq!(agent.flows.closed(), Vec::<IpAddr>::new());
    });
}

#[test]
fn the_address_of_a_container_that_went_twice_waits_for_the_second_time() {
    on_node(&["10.10.0.0/30"], async move |node| {
        let agent = node.agent().await;
        let (pod, config) = (Pod::new("a", "c1"), config("1.0.0", ""));
        agent.add(&pod, &config).await.unwrap();
        let remembered = agent.flows.remember().await;
        agent.del_once(&pod).await.unwrap();
        agent.add(&pod, &config).await.unwrap();
        let mut once = Box::pin(agent.flows.remember());
        assert!(tokio::time::timeout(Duration::from_millis(10), &mut once).await.is_err(), "it comes second");
        agent.del_once(&pod).await.unwrap();
        drop(remembered);
        let remembered = once.await;
        let second = Pod::new("b", "c2");
        let mut add = Box::pin(agent.add(&second, &config));
        assert!(tokio::time::timeout(Duration::from_millis(300), &mut add).await.is_err(), "it waits");
        assert_eq!(agent.flows.closed(), ["10.10.0.2".parse::<IpAddr>().unwrap()]);
        drop(remembered);
        assert_eq!(add.await.unwrap()["ips"][0]["address"], "10.10.0.2/30");
        assert_eq!((agent.flows.forgotten().len(), agent.flows.closed()), (2, vec![]));
    });
}
