//! Real kernels on both sides of a real Open vSwitch: that of a Pod, and that of the host.

use std::process::Command;

use crate::bridge::Bridge;

/// A Pod's network namespace, as long as it is needed.
pub(crate) struct PodNamespace(pub(crate) String);

impl PodNamespace {
    /// Pod a, connected as the agent connects Pods to a userspace datapath.
    pub(crate) fn connect(bridge: &Bridge) -> Self {
        let namespace = Self(format!("{}-a", bridge.ovs.namespace()));
        run(Command::new("ip").args(["netns", "add", &namespace.0]));
        bridge.ovs.vsctl(["del-port", "br-int", "pod-a"]).unwrap();
        bridge
            .ovs
            .ip(["link", "add", "veth-a", "type", "veth", "peer", "name", "eth0", "netns", &namespace.0])
            .unwrap();
        bridge.ovs.ip(["link", "set", "veth-a", "up"]).unwrap();
        namespace.run("ethtool -K eth0 tx off");
        for command in [
            "ip link set lo up",
            "ip link set eth0 address 0a:00:00:00:00:0a",
            "ip address add 10.10.0.10/24 dev eth0",
            "ip address add fd00:10::a/64 dev eth0 nodad",
            "ip link set eth0 up",
            "ip neighbour replace 10.10.0.1 lladdr 0a:00:00:00:00:01 dev eth0",
            "ip neighbour replace fd00:10::1 lladdr 0a:00:00:00:00:01 dev eth0",
            "ip route add default via 10.10.0.1",
            "ip -6 route add default via fd00:10::1",
        ] {
            namespace.run(command);
        }
        let port = "add-port br-int veth-a -- set interface veth-a ofport_request=2";
        bridge.ovs.vsctl(port.split_whitespace()).unwrap();
        namespace
    }

    pub(crate) fn run(&self, command: &str) {
        run(Command::new("ip").args(["netns", "exec", &self.0]).args(command.split_whitespace()));
    }
}

impl Drop for PodNamespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

/// The host's side: its gateway, and the routes to Services.
pub(crate) fn set_up_host(bridge: &Bridge) {
    for command in [
        "link set antrea-gw0 address 0a:00:00:00:00:01",
        "address add 10.10.0.1/24 dev antrea-gw0",
        "address add fd00:10::1/64 dev antrea-gw0 nodad",
        "link set antrea-gw0 up",
        "neighbour replace 169.254.0.253 lladdr aa:bb:cc:dd:ee:ff dev antrea-gw0",
        "neighbour replace fc01::aabb:ccdd:eeff lladdr aa:bb:cc:dd:ee:ff dev antrea-gw0",
        "route add 169.254.0.253 dev antrea-gw0",
        "-6 route add fc01::aabb:ccdd:eeff dev antrea-gw0",
        "route add 10.96.0.0/12 via 169.254.0.253 dev antrea-gw0",
        "-6 route add fd00:96::/112 via fc01::aabb:ccdd:eeff dev antrea-gw0",
    ] {
        bridge.ovs.ip(command.split_whitespace()).unwrap();
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

pub(crate) fn is_missing(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_err()
}
