//! A real Open vSwitch with the flows of a Node, in a network namespace of its own.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use antrea_pipeline::Pipeline;
use antrea_types::OfPort;

use crate::cluster::{BridgeNames, DUAL, POD_A, POD_B, all_flows, node, peers, pods, services};

/// The bridge of a dual-stack Node with two Pods and two peers. The underlay is a bridge beside it, as the userspace
/// datapath wants it.
pub(crate) struct Bridge {
    namespace: String,
    directory: PathBuf,
    names: BridgeNames,
}

/// The bridge that the tests running now share; none where there cannot be one, which is then said.
pub(crate) fn bridge() -> Option<Arc<Bridge>> {
    static SHARED: Mutex<Weak<Bridge>> = Mutex::new(Weak::new());
    if let Some(reason) = obstacle() {
        // Past the capture of output: a skipped test must not look like one that passed.
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let _ = std::io::stderr().write_all(format!("SKIPPED {test}: {reason}\n").as_bytes());
        return None;
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let bridge = shared.upgrade().unwrap_or_else(|| Arc::new(Bridge::start(&node(DUAL, services()))));
    *shared = Arc::downgrade(&bridge);
    Some(bridge)
}

fn obstacle() -> Option<&'static str> {
    if !Path::new("/dev/net/tun").exists() {
        return Some("the userspace datapath needs /dev/net/tun");
    }
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !root {
        return Some("network namespaces need root");
    }
    let found = Command::new("ovs-vswitchd").arg("--version").output().is_ok();
    (!found).then_some("ovs-vswitchd is not installed (Debian package openvswitch-switch)")
}

impl Bridge {
    fn start(pipeline: &Pipeline) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let namespace = format!("pl-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(&namespace);
        fs::create_dir_all(&directory).unwrap();
        run(Command::new("ip").args(["netns", "add", &namespace]), "");
        let bridge = Self { namespace, directory, names: BridgeNames::of(pipeline) };
        bridge.start_daemons();
        bridge.add_ports();
        let flows = all_flows(pipeline, &pods(DUAL), &peers(DUAL));
        let text = flows.iter().fold(String::new(), |mut text, flow| {
            writeln!(text, "{flow}").unwrap();
            text
        });
        bridge.tool("ovs-ofctl", &["-O", "OpenFlow15", "replace-flows", &bridge.management(), "-"], &text);
        bridge
    }

    fn start_daemons(&self) {
        let file = |name: &str| self.directory.join(name).display().to_string();
        self.tool(
            "ovsdb-tool",
            &["create", &file("conf.db"), "/usr/share/openvswitch/vswitch.ovsschema"],
            "",
        );
        let log = |name: &str| format!("--log-file={}", file(name));
        let database = ["--detach", "--no-chdir", "--pidfile"];
        let remote = format!("--remote=punix:{}", file("db.sock"));
        self.inside(
            "ovsdb-server",
            &[&database[..], &[&log("ovsdb.log"), &remote, &file("conf.db")]].concat(),
        );
        self.tool("ovs-vsctl", &["--no-wait", "init"], "");
        self.inside("ovs-vswitchd", &[&database[..], &["--disable-system", &log("vswitchd.log")]].concat());
    }

    fn add_ports(&self) {
        let bridges = "add-br br-phy -- set bridge br-phy datapath_type=netdev \
            -- add-br br-int -- set bridge br-int datapath_type=netdev fail-mode=secure protocols=OpenFlow15";
        self.tool("ovs-vsctl", &bridges.split_whitespace().collect::<Vec<_>>(), "");
        let tunnel = "type=geneve options:key=flow options:remote_ip=flow";
        for (name, number, settings) in [
            ("antrea-gw0", OfPort::GATEWAY, "type=internal"),
            ("antrea-tun0", OfPort::TUNNEL, tunnel),
            ("pod-a", POD_A, "type=internal"),
            ("pod-b", POD_B, "type=internal"),
            ("stranger", OfPort(9), "type=internal"),
        ] {
            let text =
                format!("add-port br-int {name} -- set interface {name} ofport_request={number} {settings}");
            self.tool("ovs-vsctl", &text.split_whitespace().collect::<Vec<_>>(), "");
        }
        self.inside("ip", &["address", "add", "172.18.0.1/16", "dev", "br-phy"]);
        self.inside("ip", &["address", "add", "fd00:18::1/64", "dev", "br-phy", "nodad"]);
        self.inside("ip", &["link", "set", "br-phy", "up"]);
    }

    fn management(&self) -> String {
        format!("unix:{}", self.directory.join("br-int.mgmt").display())
    }

    /// The flows as the switch prints them, without names.
    pub(crate) fn dump(&self) -> String {
        let arguments = ["-O", "OpenFlow15", "--no-stats", "--no-names", "dump-flows", &self.management()];
        self.tool("ovs-ofctl", &arguments, "")
    }

    /// The way of a packet that opens a connection, as `ovs-appctl ofproto/trace` knows it: for each pass through the
    /// switch (connection tracking begins a new one) the tables and what then happens to the packet.
    pub(crate) fn walk(&self, packet: &str) -> String {
        self.walk_in("trk,new", packet)
    }

    /// The way of a packet of a connection in this state; `ct_mark` in `packet` is the connection's.
    pub(crate) fn walk_in(&self, state: &str, packet: &str) -> String {
        let trace = self.tool(
            "ovs-appctl",
            &["-t", "ovs-vswitchd", "ofproto/trace", "--names", "br-int", packet, "--ct-next", state],
            "",
        );
        summary(&trace, &self.names)
    }

    fn inside(&self, program: &str, arguments: &[&str]) {
        run(
            self.environment(&mut Command::new("ip"))
                .args(["netns", "exec", &self.namespace, program])
                .args(arguments),
            "",
        );
    }

    fn tool(&self, program: &str, arguments: &[&str], input: &str) -> String {
        run(self.environment(&mut Command::new(program)).args(arguments), input)
    }

    fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
            command.env(variable, &self.directory);
        }
        command
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        for daemon in ["ovs-vswitchd", "ovsdb-server"] {
            let pid = fs::read_to_string(self.directory.join(format!("{daemon}.pid"))).unwrap_or_default();
            let _ = Command::new("kill").args(["-9", pid.trim()]).status();
        }
        let _ = Command::new("ip").args(["netns", "delete", &self.namespace]).status();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Runs a command to its end and returns what it prints.
fn run(command: &mut Command, input: &str) -> String {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// One line for each pass: the tables of br-int, then what they do to the packet.
fn summary(trace: &str, names: &BridgeNames) -> String {
    let (mut tables, mut lines, mut outcome) = (Vec::new(), Vec::new(), Vec::new());
    let mut inside = true;
    for line in trace.lines() {
        if let Some(bridge) = line.strip_prefix("bridge(") {
            inside = bridge.starts_with("\"br-int\"");
        } else if let Some(actions) = line.strip_prefix("Datapath actions: ") {
            // The underlay has no other end: what enters the tunnel is dropped after that.
            let shown = Some(readable(actions)).filter(|actions| outcome.is_empty() || actions != "drop");
            outcome.splice(..0, shown);
            lines.push(format!("{}: {}", tables.join(" > "), outcome.join(",")));
            (tables, outcome) = (Vec::new(), Vec::new());
        } else if let Some(far_end) = line.trim_start().strip_prefix("-> tunneling to ") {
            outcome.push(format!("tunnel to {}", far_end.split_whitespace().next().unwrap()));
        } else if let Some(table) = names.of_trace_line(line).filter(|_| inside) {
            tables.push(table);
        }
    }
    lines.join("\n")
}

/// Without the marks of recirculation, and what goes to several ports in the order of their names.
fn readable(actions: &str) -> String {
    let actions = actions.split(",recirc(").next().unwrap_or(actions);
    let mut ports: Vec<&str> = actions.split(',').collect();
    if !actions.contains('(') {
        ports.sort_unstable();
    }
    ports.join(",")
}
