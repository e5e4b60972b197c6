//! The whole agent on a Node of its own: from nothing, and in the place of upstream's agent.

use std::process::Stdio;

use crate::node::{Node, node};

const ADDED: &str = "priority=";

#[test]
fn an_agent_with_object_files_connects_its_node() {
    let Some(mut node) = node("an_agent_with_object_files_connects_its_node") else { return };
    node.start_agent();
    let routes = node.sh("ip route show dev antrea-gw0");
    assert!(routes.contains("10.11.1.0/24 via 10.11.1.1 onlink"), "{routes}");
    let flows = node.dump_flows();
    assert!(flows.contains("nw_dst=10.11.1.0/24") && flows.contains("172.18.2.12->tun_dst"), "{flows}");
    node.stop_agent("TERM");
}

/// Pods `team-x/a` and `team-y/b`, as upstream's agent connected them.
pub(crate) fn upstream_was_here(node: &mut Node) {
    let pods = [
        (
            "a",
            "a-dc4592",
            "f6:f3:e5:36:f9:32",
            "10.11.0.3",
            "team-x",
            "24898ffbbb0d14e8441de73b1dcb40a61f03270eea8ef87c21411186e652c19e",
        ),
        (
            "b",
            "b-adfee7",
            "56:58:8c:47:30:42",
            "10.11.0.4",
            "team-y",
            "590bff6c18ea6bee77e09d3b97060c8ae01df9301f6d6372138c9469c1f85ce7",
        ),
    ];
    let vsctl = |words: &str| node.ovs.vsctl(words.split_whitespace()).map(drop).unwrap();
    vsctl(
        "add-br br-int -- set bridge br-int datapath_type=netdev protocols=OpenFlow10,OpenFlow15 external_ids:roundNum=1 \
         -- add-port br-int antrea-tun0 -- set interface antrea-tun0 type=geneve ofport_request=32768 options:key=flow \
         options:remote_ip=flow -- set port antrea-tun0 external_ids:antrea-type=tunnel \
         -- add-port br-int antrea-gw0 -- set interface antrea-gw0 type=internal ofport_request=32769 \
         mac=\"02:83:db:9d:af:a1\" mtu_request=1450 -- set port antrea-gw0 external_ids:antrea-type=gateway",
    );
    let mut objects = String::new();
    for (index, (pod, interface, mac, address, namespace, container)) in pods.into_iter().enumerate() {
        node.add_pod(pod, interface, mac, address);
        let vsctl = |words: &str| node.ovs.vsctl(words.split_whitespace()).map(drop).unwrap();
        vsctl(&format!(
            "add-port br-int {interface} -- set interface {interface} ofport_request={} -- set port {interface} \
             external_ids:antrea-type=container external_ids:attached-mac=\"{mac}\" external_ids:container-id={container} \
             external_ids:ip-address=\"{address}\" external_ids:pod-name={pod} external_ids:pod-namespace={namespace} \
             external_ids:net-ns=//var/run/netns/cni-{pod}",
            index + 2
        ));
        node.sh(&format!(
            "nft add table netdev lab && nft add chain netdev lab {pod} '{{ type filter hook ingress device {interface} priority 0; policy drop; }}'"
        ));
        node.write(&format!("cni/networks/antrea/{address}"), &format!("{container}\r\neth0"));
        objects += &format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {pod}, namespace: {namespace}}}\n\
             spec: {{nodeName: node-a, containers: []}}\nstatus: {{podIPs: [{{ip: {address}}}]}}\n"
        );
    }
    node.write("cni/networks/antrea/last_reserved_ip.0", "10.11.0.4");
    node.write("objects/pods.yaml", &objects);
    node.write("groups", include_str!("golden/upstream/groups.txt"));
    node.write("flows", include_str!("golden/upstream/flows-no-names.txt"));
    node.write("rules", include_str!("golden/upstream/iptables-save.txt"));
    node.write("sets", include_str!("golden/upstream/ipset-save.txt"));
    node.sh("ip address add 10.11.0.1/24 dev antrea-gw0 noprefixroute; ip link set antrea-gw0 up
         ip route add 10.11.0.0/24 dev antrea-gw0 scope link src 10.11.0.1
         ip route add 10.11.1.0/24 via 10.11.1.1 dev antrea-gw0 onlink");
    node.restore_upstream();
}

impl Node {
    fn restore_upstream(&self) {
        let folder = self.folder();
        self.sh(&format!(
            "cd {folder}
             for number in 256 257 258; do ovs-ofctl -O OpenFlow15 add-meter br-int meter=$number,pktps,burst,band=type=drop,rate=5000,burst_size=10000; done
             sed -n 's/^ group_id/group_id/p' groups | ovs-ofctl -O OpenFlow15 add-groups br-int -
             sed -n 's/^ cookie/cookie/p' flows | ovs-ofctl -O OpenFlow15 --bundle add-flows br-int -
             ipset restore < sets
             iptables-restore < rules"
        ));
    }
}

#[test]
fn an_agent_takes_over_from_upstream_and_no_packet_is_lost() {
    let Some(mut node) = node("an_agent_takes_over_from_upstream_and_no_packet_is_lost") else { return };
    upstream_was_here(&mut node);
    node.wait_for("upstream's flows to connect the Pods", |node| node.ping("a", "10.11.0.4"));
    let rows = |node: &Node| {
        let columns = ["--format=csv", "--columns=name,external_ids", "list", "Port"];
        node.ovs.vsctl(columns).unwrap()
    };
    let before = rows(&node);
    let ping = ["ping", "-i", "0.002", "-c", "2500", "-W", "1", "-q", "10.11.0.4"];
    let pinging = node.in_pod("a", &ping).stdout(Stdio::piped()).spawn().unwrap();
    node.start_agent();
    let output = pinging.wait_with_output().unwrap();
    let summary = String::from_utf8(output.stdout).unwrap();
    assert!(summary.contains("2500 received, 0% packet loss"), "{summary}");
    assert_eq!(rows(&node), before);
    nothing_of_upstream_is_left(&node);
    assert!(node.ping("b", "10.11.0.3") && node.ping("a", "10.11.0.1"));
    assert_eq!(
        node.sh("ipset list -name | sort"),
        "ANTREA-POD-IP\nANTREA-POD-IP6\nANTREA-TUNNEL-IP\nANTREA-TUNNEL-IP6\n"
    );
    node.stop_agent("TERM");
}

/// Flows, groups and meters are those of our first round after upstream's; rules are those of a fresh Node.
fn nothing_of_upstream_is_left(node: &Node) {
    node.wait_for("flows of upstream to go", |node| !node.dump_flows().contains("cookie=0x1"));
    let flows = node.dump_flows();
    assert!(
        flows.lines().filter(|line| line.contains(ADDED)).all(|line| line.contains("cookie=0x2")),
        "{flows}"
    );
    let socket = node.ovs.management_socket("br-int").display().to_string();
    let groups = node.ovs.ofctl(["dump-groups", &socket]).unwrap();
    assert!(!groups.contains("group_id"), "{groups}");
    let rules = node.sh("iptables-save");
    assert!(!rules.contains("10351"), "{rules}");
}
