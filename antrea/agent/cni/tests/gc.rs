//! GC: what belongs to no valid attachment goes, and nothing else.

use antrea_agent_cni::ipam::Owner;

use crate::node::{BRIDGE, config, on_node};
use crate::pod::Pod;

#[test]
fn attachments_that_are_not_valid_go_as_often_as_it_is_asked_for() {
    on_node(&["10.10.0.0/24", "fd00:10:10::/64"], async move |node| {
        let agent = node.agent().await;
        let pods = ["c1", "c2", "c3"].map(|id| Pod::new("web", id));
        agent.add(&pods[1], &config("1.1.0", "")).await.unwrap();
        let wanted = node.state(&agent);
        agent.add(&pods[0], &config("1.1.0", "")).await.unwrap();
        agent.add(&pods[2], &config("0.4.0", "")).await.unwrap();
        let all = node.state(&agent);

        agent.gc(&["c1", "c2", "c3", "of-another-runtime"]).await.unwrap();
        assert_eq!(node.state(&agent), all);
        for _ in 0..2 {
            agent.gc(&["c2"]).await.unwrap();
            assert_eq!(node.state(&agent), wanted);
        }
        agent.del(&pods[0]).await.unwrap();
        assert_eq!(node.state(&agent), wanted, "a DEL after GC finds nothing to do");
        agent.gc(&[]).await.unwrap();
        assert_eq!(node.state(&agent), Vec::<String>::new());
    });
}

#[test]
fn what_an_interrupted_add_left_goes_and_what_is_not_ours_stays() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        node.ipam().allocate(&Owner::new("c1", "eth0")).unwrap();
        node.ovs.ip(["link", "add", "a-2f2276", "type", "veth", "peer", "name", "pod-end"]).unwrap();
        node.ovs.ip(["link", "add", "theirs", "type", "veth", "peer", "name", "other"]).unwrap();
        node.ovs.vsctl(["add-port", BRIDGE, "theirs"]).unwrap();

        agent.gc(&["c1"]).await.unwrap();
        assert_eq!(node.state(&agent).len(), 6, "valid, though it has no port");
        agent.gc(&[]).await.unwrap();
        assert_eq!(node.state(&agent), ["port theirs", "link other", "link theirs"]);
    });
}

#[test]
fn a_container_that_is_being_added_is_waited_for() {
    on_node(&["10.10.0.0/24"], async move |node| {
        let agent = node.agent().await;
        let pods: Vec<Pod> = (0..8).map(|index| Pod::new("web", &format!("c{index}"))).collect();
        let config = config("1.1.0", "");
        let adds = futures::future::join_all(pods.iter().map(|pod| agent.add(pod, &config)));
        let (results, collected) = futures::future::join(adds, agent.gc(&[])).await;
        collected.unwrap();
        for result in results {
            result.unwrap();
        }
        agent.gc(&[]).await.unwrap();
        assert_eq!(node.state(&agent), Vec::<String>::new());
    });
}
