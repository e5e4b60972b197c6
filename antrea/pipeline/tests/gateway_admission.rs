//! What other clusters may open connections to through a Gateway, in a real Open vSwitch. Services are those of
//! [`crate::served`], clusters and what is exported those of [`crate::clusters`].

use std::sync::{Arc, Mutex, Weak};

use antrea_pipeline::multicluster::Admits;
use antrea_pipeline::{NodeTraffic, Pipeline};

use crate::bridge::{Bridge, shared};
use crate::cluster::DUAL;
use crate::clusters::{bridge_of, gateway_bridge, gateway_of, multicluster_services, regular_bridge};
use crate::far_ends::{OPENS_NOTHING, end, tunnelled};
use crate::gateway_passages::{BETWEEN_CLUSTERS, REMOTE_GATEWAY, REMOTE_SERVICE, enters};
use crate::gateway_probes::echo;
use crate::policed::serving;
use crate::served::{cluster_ip, everything, node};
use crate::service_passages::{V4, VIRTUAL, ip};

/// How packets of other clusters come: from the Gateway, from one that is being replaced, and from the Gateway through
/// another one of this cluster that it still sends to. The ends of the tunnel, and the sources.
const WAYS: [(&str, &str); 3] =
    [(REMOTE_GATEWAY, REMOTE_GATEWAY), ("172.18.3.2", "172.18.3.2"), ("172.18.0.3", REMOTE_GATEWAY)];

/// Services with an endpoint here and on the host, Pods of three Nodes, the gateway, the Node, a load balancer, addresses
/// that are translated, and what nobody has.
const NOT_EXPORTED: [&str; 10] = [
    "10.96.0.1",
    "10.96.0.3",
    "10.10.0.11",
    "10.10.1.11",
    "10.10.2.10",
    "10.10.0.1",
    "172.18.0.1",
    "192.0.2.80",
    "169.254.0.252",
    "10.96.9.9",
];

fn start(pipeline: &Pipeline) -> Bridge {
    bridge_of(pipeline, &gateway_of(Admits::Listed), &multicluster_services())
}

/// Gateways that admit what is exported, with the flows for the kernel's datapath and for the userspace one.
fn bridges() -> Vec<Arc<Bridge>> {
    static KERNEL: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    static USERSPACE: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    let kernel = shared(&KERNEL, || start(&node(DUAL, everything(DUAL))));
    let userspace = shared(&USERSPACE, || start(&serving(everything(DUAL), NodeTraffic::SourceMac)));
    kernel.into_iter().chain(userspace).collect()
}

#[test]
fn a_gateway_opens_to_other_clusters_what_is_exported_and_nothing_else() {
    for bridge in bridges() {
        for (far_end, source) in WAYS {
            let to = |address: &str| tunnelled(far_end, BETWEEN_CLUSTERS, source, address);
            let service = bridge.walk(&to("10.96.0.2"));
            assert!(service.contains("ServiceLB"), "{source} by {far_end}: {service}");
            let pod = bridge.walk(&to("10.10.1.10"));
            // A trace ends here: after connection tracking it takes the next Node for this one. Packets do not.
            assert!(pod.contains("> ConntrackCommit: "), "{source} by {far_end}: {pod}");
            for address in NOT_EXPORTED {
                let seen = end(&bridge, "trk,new", &to(address));
                assert_eq!(seen, OPENS_NOTHING, "{source} by {far_end} to {address}");
            }
        }
    }
}

#[test]
fn a_gateway_of_which_nobody_says_what_is_exported_opens_everything() {
    let Some(bridge) = gateway_bridge() else { return };
    for (far_end, source) in WAYS {
        for address in NOT_EXPORTED {
            let walk = bridge.walk(&tunnelled(far_end, BETWEEN_CLUSTERS, source, address));
            assert!(walk.contains("PreRoutingClassifier"), "{source} by {far_end} to {address}: {walk}");
        }
    }
}

/// The address of its gateway is in the network of Pods, which other clusters reach where Pods reach Pods.
#[test]
fn other_clusters_open_nothing_to_a_node() {
    let (Some(gateway), Some(regular)) = (gateway_bridge(), regular_bridge()) else { return };
    let to_node = |bridge: &Bridge, far_end, mac, source| {
        end(bridge, "trk,new", &tunnelled(far_end, mac, source, "10.10.0.1"))
    };
    for (far_end, source) in WAYS {
        let seen = to_node(&gateway, far_end, BETWEEN_CLUSTERS, source);
        assert!(seen.ends_with("L3Forwarding: drop"), "{source} by {far_end}: {seen}");
    }
    let seen = to_node(&regular, "172.18.0.2", VIRTUAL, REMOTE_GATEWAY);
    assert!(seen.ends_with("L3Forwarding: drop"), "{seen}");
    for (far_end, source) in [("172.18.0.2", "10.10.1.10"), ("172.18.0.3", "10.10.2.1")] {
        let seen = to_node(&regular, far_end, VIRTUAL, source);
        assert!(seen.ends_with("antrea-gw0"), "{source} by {far_end}: {seen}");
    }
}

/// A client sends its first packet again when it is not answered.
#[test]
fn connections_to_what_is_exported_are_made_and_no_others() {
    for bridge in bridges() {
        for (to, port) in [((cluster_ip(V4, 2), 80), 2101), ((ip("10.10.1.10"), 8080), 2102)] {
            let first = enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, to, port);
            for _ in 0..2 {
                let passage = bridge.send(&first);
                assert!(passage.reaches_output(), "{to:?}: {passage}");
            }
        }
        let first = enters(BETWEEN_CLUSTERS, REMOTE_GATEWAY, (cluster_ip(V4, 1), 80), 2103);
        let passage = bridge.send(&first);
        assert!(!passage.reaches_output() && passage.connections.is_empty(), "{passage}");
    }
}

#[test]
fn connections_that_are_open_go_on_whatever_is_exported() {
    for bridge in bridges() {
        for (far_end, source) in WAYS {
            for state in ["trk,est", "trk,est,rpl", "trk,rel"] {
                let packet = tunnelled(far_end, BETWEEN_CLUSTERS, source, "10.10.0.11");
                let seen = end(&bridge, state, &format!("{packet},ct_mark=1"));
                assert!(seen.ends_with("pod-b"), "{source} by {far_end}, {state}: {seen}");
            }
        }
    }
}

/// Also what a former Gateway sends on for them.
#[test]
fn what_is_exported_limits_nobody_in_this_cluster() {
    for bridge in bridges() {
        let passage = bridge.send(&enters(BETWEEN_CLUSTERS, "10.10.1.10", (ip(REMOTE_SERVICE), 80), 2104));
        assert!(passage.reaches_output(), "{passage}");
        let sent_on = bridge.walk(&tunnelled("172.18.0.3", BETWEEN_CLUSTERS, "10.10.1.10", REMOTE_SERVICE));
        assert!(sent_on.contains("SNATMark"), "{sent_on}");
        let seen = end(&bridge, "trk,new", &tunnelled("172.18.0.2", VIRTUAL, "10.10.1.10", "10.10.0.11"));
        assert!(seen.ends_with("pod-b"), "{seen}");
    }
}

#[test]
fn gateways_ask_each_other_whether_they_are_there_whatever_is_exported() {
    for bridge in bridges() {
        let asked = bridge.walk(&echo(8, REMOTE_GATEWAY, REMOTE_GATEWAY, BETWEEN_CLUSTERS));
        assert!(asked.ends_with("tunnel to 172.18.2.1"), "{asked}");
        let answered = bridge.walk(&echo(0, REMOTE_GATEWAY, REMOTE_GATEWAY, BETWEEN_CLUSTERS));
        assert!(answered.contains("controller("), "{answered}");
    }
}
