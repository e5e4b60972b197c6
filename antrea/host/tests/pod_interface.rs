//! A Pod's interface from creation to deletion.

use std::time::{Duration, Instant};

use antrea_host::pod_interface::{HostIngress, PodInterface, check, create, delete};
use antrea_host::{Netlink, Outcome, TxChecksumOffload, ingress_drops};

use crate::sandbox::{OtherNetns, isolated, sh};

fn interface(pod: &OtherNetns, host_name: &str) -> PodInterface {
    PodInterface {
        netns: pod.path(),
        host_name: host_name.parse().unwrap(),
        name: "eth0".parse().unwrap(),
        mac: Some("02:00:00:00:00:0a".parse().unwrap()),
        mtu: 1450,
        addresses: vec!["10.11.0.3/24".parse().unwrap(), "fd00:11::3/64".parse().unwrap()],
        gateways: ["10.11.0.1", "fd00:11::1"]
            .map(|text| text.parse::<std::net::IpAddr>().unwrap())
            .into_iter()
            .collect(),
        checksum_offload: TxChecksumOffload::Off,
        host_ingress: HostIngress::Drop,
    }
}

async fn problems(node: &Netlink, interface: &PodInterface) -> Vec<String> {
    check(node, interface).await.unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn it_comes_up_with_addresses_routes_and_without_offload() {
    isolated("pod interface", async || {
        let (node, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        let wanted = interface(&pod, "web-a1b2c3");
        let created = create(&node, &wanted).await.unwrap();
        assert_eq!(created.container.mac, wanted.mac);
        assert_eq!(created.host.peer_index, Some(created.container.index));
        assert_eq!(
            pod.sh("ip route show").await.lines().map(str::trim_end).collect::<Vec<_>>(),
            ["default via 10.11.0.1 dev eth0", "10.11.0.0/24 dev eth0 proto kernel scope link src 10.11.0.3"]
        );
        assert!(pod.sh("ip -6 route show default").await.starts_with("default via fd00:11::1 dev eth0"));
        assert_eq!(problems(&node, &wanted).await, Vec::<String>::new());
    });
}

/// ovs-vswitchd reads all routes and links anew whenever a route comes or goes.
#[test]
fn its_end_on_the_node_brings_no_addresses_and_no_unicast_routes() {
    isolated("pod interface", async || {
        let (node, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        let host = create(&node, &interface(&pod, "web-a1b2c3")).await.unwrap().host;
        assert_eq!(node.addresses(&host.name).await.unwrap(), []);
        let routes = node.routes().await.unwrap().into_iter();
        assert_eq!(routes.filter(|route| route.device == host.name).collect::<Vec<_>>(), []);
    });
}

#[test]
fn without_offload_its_features_are_those_that_ethtool_leaves() {
    isolated("pod interface", async || {
        let (node, pod, other) = (Netlink::current().unwrap(), OtherNetns::new(), OtherNetns::new());
        create(&node, &interface(&pod, "web-a1b2c3")).await.unwrap();
        let with_offload =
            PodInterface { checksum_offload: TxChecksumOffload::On, ..interface(&other, "web-d4e5f6") };
        create(&node, &with_offload).await.unwrap();
        let features = pod.sh("ethtool -k eth0").await;
        assert!(features.contains("tx-checksumming: off"), "{features}");
        assert!(other.sh("ethtool -k eth0").await.contains("tx-checksumming: on"));
        other.sh("ethtool -K eth0 tx off").await;
        assert_eq!(features, other.sh("ethtool -k eth0").await);
    });
}

#[test]
fn it_is_deleted_with_all_that_belongs_to_it_and_again_without_complaint() {
    isolated("pod interface", async || {
        let (node, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        let wanted = interface(&pod, "web-a1b2c3");
        create(&node, &wanted).await.unwrap();
        assert_eq!(delete(&node, &wanted.host_name).await.unwrap(), Outcome::Changed);
        assert_eq!(delete(&node, &wanted.host_name).await.unwrap(), Outcome::Unchanged);
        assert_eq!(ingress_drops().await.unwrap(), []);
        assert_eq!(
            problems(&node, &wanted).await,
            [
                "the interface web-a1b2c3 is gone",
                "the interface eth0 is gone",
                "what arrives at web-a1b2c3 is not kept from the Node's stack"
            ]
        );
    });
}

#[test]
fn a_leftover_of_the_same_name_is_replaced() {
    isolated("pod interface", async || {
        let (node, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        let wanted = interface(&pod, "web-a1b2c3");
        create(&node, &wanted).await.unwrap();
        create(&node, &wanted).await.unwrap();
        assert_eq!(problems(&node, &wanted).await, Vec::<String>::new());
    });
}

#[test]
fn a_failure_leaves_nothing_behind() {
    isolated("pod interface", async || {
        let (node, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        let off_link = PodInterface {
            gateways: ["10.99.0.1".parse::<std::net::IpAddr>().unwrap()].into_iter().collect(),
            ..interface(&pod, "web-a1b2c3")
        };
        let error = create(&node, &off_link).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot configure the interface of the Pod");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "cannot set the route default via 10.99.0.1 dev eth0");
        assert_eq!(node.link(&off_link.host_name).await.unwrap(), None);
        assert_eq!(ingress_drops().await.unwrap(), []);
    });
}

#[test]
fn an_interface_of_the_pod_that_is_in_the_way_is_told_and_stays() {
    isolated("pod interface", async || {
        let (node, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        pod.sh("ip link add eth0 type bridge").await;
        let error = create(&node, &interface(&pod, "web-a1b2c3")).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "cannot create the veth pair web-a1b2c3 and eth0");
        assert!(pod.succeeds("ip link show eth0 type bridge").await);
    });
}

#[test]
fn every_deviation_is_a_problem_of_its_own() {
    isolated("pod interface", async || {
        let (node, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        let wanted = interface(&pod, "web-a1b2c3");
        create(&node, &wanted).await.unwrap();
        pod.sh("ethtool -K eth0 tx on").await;
        pod.sh("ip link set eth0 mtu 1400 address 02:00:00:00:00:0b").await;
        pod.sh("ip address delete 10.11.0.3/24 dev eth0").await;
        sh("ip link set web-a1b2c3 down");
        assert_eq!(
            problems(&node, &wanted).await,
            [
                "the interface web-a1b2c3 is down",
                "the MTU of eth0 is 1400, and 1450 is expected",
                "the MAC address of eth0 is 02:00:00:00:00:0b, and 02:00:00:00:00:0a is expected",
                "the interface eth0 lacks the address 10.11.0.3/24",
                "the Pod lacks the route default via 10.11.0.1 dev eth0",
                "TX checksum offload of eth0 is on, and off is expected",
            ]
        );
    });
}

#[test]
fn a_namespace_that_is_gone_is_told() {
    isolated("pod interface", async || {
        let (node, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        let lost =
            PodInterface { netns: "/var/run/netns/no-such-pod".into(), ..interface(&pod, "web-a1b2c3") };
        let error = create(&node, &lost).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "cannot open the network namespace /var/run/netns/no-such-pod");
        assert_eq!(problems(&node, &lost).await, ["the network namespace of the Pod is gone"]);
        let file = PodInterface { netns: "/proc/self/status".into(), ..lost };
        assert_eq!(problems(&node, &file).await, ["the network namespace of the Pod is gone"]);
    });
}

#[test]
fn a_namespace_without_ipv6_gets_it() {
    isolated("pod interface", async || {
        let (node, pod) = (Netlink::current().unwrap(), OtherNetns::new());
        pod.sh("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6").await;
        let wanted = interface(&pod, "web-a1b2c3");
        create(&node, &wanted).await.unwrap();
        assert_eq!(problems(&node, &wanted).await, Vec::<String>::new());
    });
}

/// Closing a connection to nf_tables waits for what was removed before, and keeps others waiting: none is closed.
#[test]
fn one_connection_to_nf_tables_serves_all_pods_also_after_a_refusal() {
    isolated("pod interface", async || {
        let node = Netlink::current().unwrap();
        for (number, ingress) in
            [HostIngress::Drop, HostIngress::Accept, HostIngress::Drop].into_iter().enumerate()
        {
            let pod = OtherNetns::new();
            let wanted = PodInterface { host_ingress: ingress, ..interface(&pod, &format!("web-{number}")) };
            create(&node, &wanted).await.unwrap();
            assert_eq!(problems(&node, &wanted).await, Vec::<String>::new());
            // Of the one without a drop, nothing can be removed: the kernel refuses.
            assert_eq!(delete(&node, &wanted.host_name).await.unwrap(), Outcome::Changed);
        }
        // proc_net(5): the second column is the protocol, 12 is NETLINK_NETFILTER.
        let sockets = std::fs::read_to_string("/proc/thread-self/net/netlink").unwrap();
        let netfilter = sockets.lines().filter(|line| line.split_whitespace().nth(1) == Some("12"));
        let ours = netfilter.filter(|line| line.split_whitespace().nth(2) != Some("0"));
        assert_eq!(ours.count(), 1, "{sockets}");
    });
}

/// Not a benchmark: only that no step waits for anything. Fifty Pods one after another take well under a second each.
#[test]
fn fifty_pods_come_and_go_one_after_another() {
    isolated("pod interface", async || {
        let node = Netlink::current().unwrap();
        let pods: Vec<OtherNetns> = (0..50).map(|_| OtherNetns::new()).collect();
        let start = Instant::now();
        for (number, pod) in pods.iter().enumerate() {
            create(&node, &interface(pod, &format!("web-{number}"))).await.unwrap();
        }
        let created = start.elapsed();
        for (number, pod) in pods.iter().enumerate() {
            assert_eq!(
                problems(&node, &interface(pod, &format!("web-{number}"))).await,
                Vec::<String>::new()
            );
        }
        let checked = start.elapsed();
        for number in 0..pods.len() {
            delete(&node, &format!("web-{number}").parse().unwrap()).await.unwrap();
        }
        let deleted = start.elapsed();
        println!("created {created:?}, checked {:?}, deleted {:?}", checked - created, deleted - checked);
        assert!(created < Duration::from_secs(25));
        assert_eq!(ingress_drops().await.unwrap(), []);
    });
}
