//! DEL: everything goes, however often and whatever is left.

use crate::node::{config, on_node};
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
