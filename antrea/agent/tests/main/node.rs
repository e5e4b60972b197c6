//! A Node for the whole agent: a network namespace with Open vSwitch, `br-phy` with the Node's address, and a folder of
//! object files in the place of an API server.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use antrea_ovs::testing::{OvsProcess, why_unavailable};
use tempfile::TempDir;

/// The Node itself and a peer.
const OBJECTS: &str = "apiVersion: v1
kind: Node
metadata: {name: node-a}
spec: {podCIDR: 10.11.0.0/24, podCIDRs: [10.11.0.0/24]}
status: {addresses: [{type: InternalIP, address: 172.18.2.11}]}
---
apiVersion: v1
kind: Node
metadata: {name: node-b}
spec: {podCIDR: 10.11.1.0/24, podCIDRs: [10.11.1.0/24]}
status: {addresses: [{type: InternalIP, address: 172.18.2.12}]}
";

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Node {
    pub(crate) ovs: OvsProcess,
    folder: TempDir,
    agent: Option<Child>,
    pods: Vec<String>,
}

/// A Node, or nothing where none can be made: then the test is skipped.
pub(crate) fn node(test: &str) -> Option<Node> {
    if let Some(reason) = why_unavailable() {
        println!("SKIPPED {test}: {reason}");
        return None;
    }
    let ovs = OvsProcess::start().unwrap();
    let node = Node { ovs, folder: tempfile::tempdir().unwrap(), agent: None, pods: Vec::new() };
    node.ovs.vsctl(["add-br", "br-phy", "--", "set", "bridge", "br-phy", "datapath_type=netdev"]).unwrap();
    node.sh("ip address add 172.18.2.11/16 dev br-phy && ip link set br-phy up");
    fs::create_dir(node.path("objects")).unwrap();
    fs::create_dir_all(node.path("cni/networks/antrea")).unwrap();
    fs::create_dir(node.path("run")).unwrap();
    node.write("objects/nodes.yaml", OBJECTS);
    // There is no antrea-controller, which would say what Pods may do.
    let configuration = format!(
        "newPodsWithoutController: admit\novsDatapathType: netdev\novsRunDir: {}\ncniSocket: {}\nhostProcPathPrefix: /\nserviceCIDR: 10.97.0.0/16\n",
        node.ovs.directory().display(),
        node.path("run/cni.sock").display()
    );
    node.write("agent.conf", &configuration);
    Some(node)
}

impl Node {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Adds keys to the agent's configuration.
    pub(crate) fn configure(&self, text: &str) {
        self.write("agent.conf", &(self.read("agent.conf") + text));
    }

    pub(crate) fn folder(&self) -> String {
        self.folder.path().display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a shell in the Node's network namespace, and returns what it prints.
    pub(crate) fn sh(&self, script: &str) -> String {
        let output = self.ovs.command("sh").args(["-ec", script]).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A Pod's namespace, with an interface whose other end is on the Node.
    pub(crate) fn add_pod(&mut self, pod: &str, host_name: &str, mac: &str, address: &str) {
        let namespace = self.pod_namespace(pod);
        self.pods.push(namespace.clone());
        let node = self.ovs.namespace();
        let script = format!(
            "ip netns add {namespace}
             ip -n {node} link add {host_name} mtu 1450 type veth peer name eth0 mtu 1450 address {mac} netns {namespace}
             ip -n {node} link set {host_name} up
             ip -n {namespace} address add {address}/24 dev eth0
             ip -n {namespace} link set eth0 up
             ip -n {namespace} route add default via 10.11.0.1
             ip netns exec {namespace} ethtool -K eth0 tx off >/dev/null"
        );
        let output = Command::new("sh").args(["-ec", &script]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn pod_namespace(&self, pod: &str) -> String {
        format!("{}-{pod}", self.ovs.namespace())
    }

    /// A command in a Pod.
    pub(crate) fn in_pod(&self, pod: &str, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.pod_namespace(pod)]).args(words);
        command
    }

    /// Starts the agent, with folders of its own in the place of those that are the same on every Node.
    pub(crate) fn start_agent(&mut self) {
        let script = format!(
            "mkdir -p /var/lib/cni /var/run/antrea
             mount --bind {} /var/lib/cni
             mount --bind {} /var/run/antrea
             exec {} --config {} --objects {}",
            self.path("cni").display(),
            self.path("run").display(),
            env!("CARGO_BIN_EXE_antrea-agent"),
            self.path("agent.conf").display(),
            self.path("objects").display()
        );
        let log = fs::File::create(self.path("agent.log")).unwrap();
        let mut command = self.ovs.command("unshare");
        command
            .args(["--mount", "--propagation", "private", "sh", "-ec", &script])
            .env("NODE_NAME", "node-a");
        let agent =
            command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        self.agent = Some(agent);
        self.wait_for("the agent to be ready", |node| node.is_ready());
    }

    /// SIGKILL, or SIGTERM for an orderly end.
    pub(crate) fn stop_agent(&mut self, signal: &str) {
        let Some(mut agent) = self.agent.take() else { return };
        let stopped = Command::new("kill").args(["-s", signal, &agent.id().to_string()]).status().unwrap();
        assert!(stopped.success());
        agent.wait().unwrap();
    }

    pub(crate) fn dump_flows(&self) -> String {
        let socket = self.ovs.management_socket("br-int");
        self.ovs.ofctl(["--no-stats", "dump-flows", &socket.display().to_string()]).unwrap()
    }

    /// As far as that is possible without antrea-controller, for which `/readyz` waits.
    fn is_ready(&self) -> bool {
        let mut curl = self.ovs.command("curl");
        curl.args(["--silent", "--insecure", "--fail", "--max-time", "2", "https://127.0.0.1:10350/healthz"]);
        curl.output().unwrap().status.success()
    }

    pub(crate) fn wait_for(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        self.wait_at_most(PATIENCE, what, condition);
    }

    pub(crate) fn wait_at_most(&self, patience: Duration, what: &str, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + patience;
        while !condition(self) {
            assert!(
                Instant::now() < deadline,
                "waited in vain for {what}; the agent:\n{}",
                self.read("agent.log")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn ping(&self, pod: &str, address: &str) -> bool {
        self.in_pod(pod, &["ping", "-c", "1", "-W", "1", address]).output().unwrap().status.success()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            let _ = agent.kill();
            let _ = agent.wait();
        }
        for namespace in &self.pods {
            let _ = Command::new("ip").args(["netns", "delete", namespace]).status();
        }
    }
}
