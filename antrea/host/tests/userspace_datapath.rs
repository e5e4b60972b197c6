//! A Node with the userspace (`netdev`) datapath of Open vSwitch: its transport interface under `br-phy`, a Pod's
//! interface as a port, and the Node's own stack kept away from both.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use antrea_host::pod_interface::{HostIngress, PodInterface, create};
use antrea_host::{LinkWatch, Netlink, TxChecksumOffload, bridge_uplink, drop_ingress, firewall};
use antrea_hostplan::Address;
use antrea_types::InterfaceName;
use tempfile::TempDir;

use crate::marked_source::{ENDPOINTS, marking, send_udp, wanted};
use crate::sandbox::{OtherNetns, isolated, sh, succeeds};

/// ovsdb-server and ovs-vswitchd in the namespace of the test, which end with this value.
struct OpenVswitch {
    processes: Vec<Child>,
    directory: TempDir,
}

impl OpenVswitch {
    fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let mut ovs = Self { processes: Vec::new(), directory };
        let path = ovs.directory.path().display().to_string();
        sh(&format!("ovsdb-tool create {path}/conf.db /usr/share/openvswitch/vswitch.ovsschema"));
        let database = format!("unix:{path}/db.sock");
        let remote = format!("--remote=p{database}");
        ovs.spawn(
            "ovsdb-server",
            &[&format!("{path}/conf.db"), &remote, &format!("--unixctl={path}/db.ctl")],
        );
        // Waits for the server, and needs no switch.
        sh(&format!("ovs-vsctl --retry --timeout=20 --no-wait --db={database} init"));
        ovs.spawn("ovs-vswitchd", &[&database, "--disable-system", &format!("--unixctl={path}/switch.ctl")]);
        ovs
    }

    fn spawn(&mut self, program: &str, arguments: &[&str]) {
        let path = self.directory.path();
        let directories =
            ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"].map(|name| (name, path));
        let mut command = Command::new(program);
        command.args(arguments).envs(directories).stdout(Stdio::null()).stderr(Stdio::null());
        self.processes.push(command.spawn().unwrap());
    }

    /// Changes the database, and waits until the switch has followed.
    fn vsctl(&self, arguments: &str) {
        let path = self.directory.path().display();
        sh(&format!("ovs-vsctl --timeout=20 --db=unix:{path}/db.sock {arguments}"));
    }

    fn ofctl(&self, arguments: &str) -> String {
        sh(&format!("OVS_RUNDIR={} ovs-ofctl {arguments}", self.directory.path().display()))
    }

    /// Waits until every flow of a bridge has had a packet: the switch counts once in a while.
    async fn wait_for_packets(&self, bridge: &str) {
        let counted = async {
            while self.ofctl(&format!("dump-flows {bridge}")).contains("n_packets=0") {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), counted).await.unwrap();
    }
}

impl Drop for OpenVswitch {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A Node whose eth1 leads to a router with the addresses 172.18.0.1 and fd00:18::1, and runs the test on it.
fn on_node(test: impl AsyncFnOnce(OpenVswitch, Netlink, OtherNetns) + Send + 'static) {
    if !Path::new("/dev/net/tun").exists() || !succeeds("ovs-vswitchd --version") {
        crate::sandbox::skipped("userspace datapath", "it needs openvswitch-switch and /dev/net/tun");
        return;
    }
    isolated("userspace datapath", async move || {
        let router = OtherNetns::new();
        let netlink = Netlink::current().unwrap();
        let wanted = PodInterface {
            mac: None,
            addresses: vec!["172.18.0.1/16".parse().unwrap(), "fd00:18::1/64".parse().unwrap()],
            gateways: antrea_types::DualStack::default(),
            host_ingress: HostIngress::Accept,
            ..interface(&router, "eth1")
        };
        create(&netlink, &wanted).await.unwrap();
        for address in ["172.18.2.11/16", "fd00:18::11/64"] {
            let address = address.parse::<Address>().unwrap();
            netlink.ensure_address(&wanted.host_name, &address).await.unwrap();
        }
        sh("ip route add default via 172.18.0.1; ip -6 route add default via fd00:18::1");
        let ovs = OpenVswitch::start();
        test(ovs, netlink, router).await;
    });
}

fn interface(netns: &OtherNetns, host_name: &str) -> PodInterface {
    PodInterface {
        netns: netns.path(),
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

/// Three answers without a duplicate; the first request may wait for address resolution.
const PING: &str = "ping -q -i 0.2 -c 3 -W 2 -w 10";

#[test]
fn under_the_bridge_the_node_is_reached_once_and_back_on_its_interface_as_before() {
    on_node(async |ovs, netlink, router| {
        let (eth1, br_phy): (InterfaceName, InterfaceName) =
            ("eth1".parse().unwrap(), "br-phy".parse().unwrap());
        let mac = netlink.existing_link(&eth1).await.unwrap().mac.unwrap();
        ovs.vsctl(&format!(
            "add-br br-phy -- set bridge br-phy datapath_type=netdev fail_mode=standalone 'other_config:hwaddr=\"{mac}\"' \
             -- add-port br-phy eth1"
        ));
        let wanted = bridge_uplink::desired(&netlink, &eth1, &br_phy, None).await.unwrap();
        bridge_uplink::bring_to(&netlink, &wanted, &eth1, &br_phy).await.unwrap();
        drop_ingress(&eth1).await.unwrap();
        for command in [format!("{PING} 172.18.0.1"), format!("{PING} fd00:18::1")] {
            let printed = sh(&command);
            assert!(printed.contains(" 0% packet loss") && !printed.contains("duplicates"), "{printed}");
        }
        let printed = router.sh(&format!("{PING} 172.18.2.11")).await;
        assert!(printed.contains(" 0% packet loss") && !printed.contains("duplicates"), "{printed}");

        antrea_host::stop_dropping_ingress(&eth1).await.unwrap();
        bridge_uplink::bring_to(&netlink, &wanted, &br_phy, &eth1).await.unwrap();
        ovs.vsctl("del-br br-phy");
        sh(&format!("{PING} 172.18.0.1"));
        sh(&format!("{PING} fd00:18::1"));
        assert_eq!(sh("ip route show default").trim_end(), "default via 172.18.0.1 dev eth1");
    });
}

#[test]
fn a_pod_is_answered_by_the_bridge_only_and_its_tcp_arrives() {
    on_node(async |ovs, netlink, _router| {
        let pod = OtherNetns::new();
        ovs.vsctl(
            "add-br br-int -- set bridge br-int datapath_type=netdev \
             -- add-port br-int antrea-gw0 -- set interface antrea-gw0 type=internal",
        );
        let gateway: InterfaceName = "antrea-gw0".parse().unwrap();
        netlink.ensure_link(&gateway, &antrea_host::LinkSettings::up()).await.unwrap();
        for address in ["10.11.0.1/24", "fd00:11::1/64"] {
            netlink.ensure_address(&gateway, &address.parse().unwrap()).await.unwrap();
        }
        create(&netlink, &interface(&pod, "web-a1b2c3")).await.unwrap();
        ovs.vsctl("add-port br-int web-a1b2c3");
        for address in ["10.11.0.1", "fd00:11::1"] {
            let printed = pod.sh(&format!("{PING} {address}")).await;
            assert!(printed.contains(" 0% packet loss") && !printed.contains("duplicates"), "{printed}");
        }
        // The gateway's own address answers, not that of the veth, which the Node's stack would have given.
        let mac = netlink.existing_link(&gateway).await.unwrap().mac.unwrap();
        let neighbour = pod.sh("ip neigh show 10.11.0.1").await;
        assert!(neighbour.contains(&mac.to_string()), "{neighbour} and not {mac}");

        // Checksums are right: the Node's stack takes a connection of the Pod.
        let server = std::net::TcpListener::bind("10.11.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let client =
            pod.netns().run(move || std::net::TcpStream::connect(("10.11.0.1", port)).map(drop)).await;
        client.unwrap().unwrap();
    });
}

#[test]
fn the_bridge_can_tell_what_the_node_itself_sends_also_by_a_gateway_made_again() {
    on_node(async |ovs, netlink, _router| {
        let gateway = &wanted().device;
        let add_gateway = "add-port br-int antrea-gw0 -- set interface antrea-gw0 type=internal";
        ovs.vsctl("add-br br-int -- set bridge br-int datapath_type=netdev fail_mode=secure");
        ovs.vsctl(add_gateway);
        firewall::apply_at_start(&marking()).await.unwrap();
        let mut watch = LinkWatch::current(gateway).unwrap();
        for _ in 0..2 {
            netlink.ensure_link(gateway, &antrea_host::LinkSettings::up()).await.unwrap();
            for address in ["10.11.0.1/24", "fd00:11::1/64"] {
                netlink.ensure_address(gateway, &address.parse().unwrap()).await.unwrap();
            }
            sh("for pod in 10.11.0.2 fd00:11::2; do \
                ip neigh replace $pod lladdr 0a:00:00:00:00:02 dev antrea-gw0 nud permanent; done");
            netlink.ensure_marked_source(&wanted()).await.unwrap();
            for protocol in ["udp", "udp6"] {
                // A flow that is added again has no packets yet.
                let matching = format!("{protocol},in_port=antrea-gw0,dl_src={}", wanted().mac);
                ovs.ofctl(&format!("add-flow br-int {matching},actions=drop"));
            }
            for endpoint in ENDPOINTS {
                send_udp(endpoint.parse().unwrap());
            }
            ovs.wait_for_packets("br-int").await;
            ovs.ofctl("del-flows br-int");
            ovs.vsctl("del-port br-int antrea-gw0");
            ovs.vsctl(add_gateway);
            watch.made_anew().await.unwrap();
        }
    });
}
