//! A Node: a network namespace with Open vSwitch on the kernel's datapath, our agent, and a folder of object files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use antrea_e2e::command::{Run as _, command};
use antrea_e2e::wait;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cluster::Tunnel;
use crate::namespace::program_in;

/// Everything takes about ten times as long as on the machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Where Nodes have their files, in the guest's memory.
const ROOT: &str = "/run/kernel";

/// Who serves clients that are no Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceProxy {
    Antrea,
    Kube,
}

pub(crate) struct Node {
    /// Also that of its namespace.
    pub(crate) name: &'static str,
    folder: PathBuf,
    open_vswitch: Option<Child>,
    agent: Option<Child>,
}

impl Node {
    /// A Node with nothing but an address.
    pub(crate) fn create(name: &'static str) -> Result<Self> {
        let folder = Path::new(ROOT).join(name);
        for inner in ["ovs", "run", "cni", "objects"] {
            fs::create_dir_all(folder.join(inner)).context("cannot create the folders of a Node")?;
        }
        command("ip", &["netns", "add", name]).run()?;
        command("ip", &["-n", name, "link", "set", "lo", "up"]).run()?;
        let node = Self { name, folder, open_vswitch: None, agent: None };
        node.configure(Tunnel::Geneve, ServiceProxy::Antrea)?;
        Ok(node)
    }

    /// Writes the configuration, which the agent reads when it starts. There is no antrea-controller.
    pub(crate) fn configure(&self, tunnel: Tunnel, proxy: ServiceProxy) -> Result<()> {
        let folder = self.folder.display();
        // Without the first there can be no DSR, which is for clients outside.
        let everything = proxy == ServiceProxy::Antrea;
        let configuration = format!(
            "ovsRunDir: {folder}/ovs\ncniSocket: {folder}/cni.sock\nhostProcPathPrefix: /\n\
             newPodsWithoutController: admit\n\
             antreaProxy:\n  enable: true\n  proxyAll: {everything}\nfeatureGates:\n  LoadBalancerModeDSR: {everything}\n\
             tunnelType: {}\n",
            tunnel.name()
        );
        self.write("agent.conf", &configuration)
    }

    /// Writes a file of the Node.
    pub(crate) fn write(&self, name: &str, contents: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
        let path = self.folder.join(name);
        let folder = path.parent().context("a file without a folder")?;
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, contents));
        written.with_context(|| format!("cannot write {name}"))
    }

    /// Removes a file of the Node.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        fs::remove_file(self.folder.join(name)).with_context(|| format!("cannot remove {name}"))
    }

    pub(crate) fn cni_socket(&self) -> PathBuf {
        self.folder.join("cni.sock")
    }

    /// The addresses that the CNI server has reserved, by the files that say so.
    pub(crate) fn reserved(&self) -> Result<Vec<String>> {
        let folder = self.folder.join("cni/networks/antrea");
        let entries = fs::read_dir(&folder).context("cannot read the reserved addresses")?;
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
    }

    /// What the init container does before: without any capability it has the kernel load Open vSwitch's module.
    fn load_module(&self) -> Result<()> {
        let list = r#"{"cniVersion": "1.0.0", "name": "antrea", "plugins": [{"type": "antrea", "ipam": {"type": "host-local"}}]}"#;
        self.write("list", list)?;
        let path = |name: &str| self.folder.join(name).display().to_string();
        fs::create_dir_all(path("bin")).context("cannot create the folder of CNI plugins")?;
        let mut install = command("setpriv", &["--no-new-privs", "--bounding-set=-all"]);
        install.arg(program("antrea-cni")?).args(["install", "--datapath", "system"]);
        install.args(["--bin-dir", &path("bin"), "--conf-file", &path("list"), "--conf-dir", &path("")]);
        install.args(["--plugin-dir", "/usr/lib/cni"]).run()?;
        ensure!(
            Path::new("/sys/module/openvswitch").exists(),
            "the kernel has not loaded the module openvswitch"
        );
        Ok(())
    }

    /// Both daemons, as the container `antrea-ovs` runs them, with the capabilities that it has there.
    pub(crate) fn start_open_vswitch(&mut self) -> Result<()> {
        self.load_module()?;
        let run_dir = self.folder.join("ovs").display().to_string();
        let mut daemons = program_in(self.name, "setpriv");
        daemons.args(["--no-new-privs", &format!("--bounding-set=-all{}", capabilities()?)]);
        daemons.arg(program("antrea-agent")?).args(["start-ovs", "--run-dir", &run_dir]);
        self.open_vswitch = Some(self.spawn(&mut daemons, "ovs.log")?);
        Ok(())
    }

    /// Kills ovs-vswitchd as a crash would, and waits until there is another one.
    pub(crate) fn crash_switch(&mut self) -> Result<()> {
        let crashed = self.daemon("ovs-vswitchd")?;
        kill(crashed, Signal::SIGKILL).context("cannot kill ovs-vswitchd")?;
        wait::until(PATIENCE, "another ovs-vswitchd", || Ok(self.daemon("ovs-vswitchd")? != crashed))
    }

    /// Kills all processes of the container.
    pub(crate) fn crash_open_vswitch(&mut self) -> Result<()> {
        let mut container = self.open_vswitch.take().context("Open vSwitch was not started")?;
        container.kill().context("cannot kill start-ovs")?;
        container.wait().context("cannot wait for the end of start-ovs")?;
        for name in ["ovs-vswitchd", "ovsdb-server"] {
            kill(self.daemon(name)?, Signal::SIGKILL).with_context(|| format!("cannot kill {name}"))?;
        }
        Ok(())
    }

    fn daemon(&self, name: &str) -> Result<Pid> {
        let file = self.folder.join(format!("ovs/{name}.pid"));
        let pid = fs::read_to_string(file).with_context(|| format!("{name} does not run"))?;
        Ok(Pid::from_raw(pid.trim().parse().context("no process id")?))
    }

    /// Starts the agent and waits until it is ready. The folders that are the same on every Node are its own.
    pub(crate) fn start_agent(&mut self) -> Result<()> {
        let folder = self.folder.display();
        let script = format!(
            "mkdir -p /var/lib/cni /run/antrea
             mount --bind {folder}/cni /var/lib/cni
             mount --bind {folder}/run /run/antrea
             exec {} --config {folder}/agent.conf --objects {folder}/objects",
            program("antrea-agent")?
        );
        let mut agent = program_in(self.name, "sh");
        agent.args(["-ec", &script]).env("NODE_NAME", self.name);
        self.agent = Some(self.spawn(&mut agent, "agent.log")?);
        wait::until(PATIENCE, &format!("the agent of {} to be ready", self.name), || Ok(self.is_ready()))
    }

    /// Ends Open vSwitch as Kubernetes does when it replaces the container.
    pub(crate) fn stop_open_vswitch(&mut self) -> Result<()> {
        terminate(self.open_vswitch.take().context("Open vSwitch was not started")?)
    }

    /// Ends the agent in the same way.
    pub(crate) fn stop_agent(&mut self) -> Result<()> {
        terminate(self.agent.take().context("the agent was not started")?)
    }

    /// Kills the agent as a crash would.
    pub(crate) fn crash_agent(&mut self) -> Result<()> {
        let mut agent = self.agent.take().context("the agent was not started")?;
        agent.kill().context("cannot kill the agent")?;
        agent.wait().context("cannot wait for the end of the agent")?;
        Ok(())
    }

    /// As far as that is possible without antrea-controller, for which `/readyz` waits.
    fn is_ready(&self) -> bool {
        let mut curl = program_in(self.name, "curl");
        curl.args(["--silent", "--insecure", "--fail", "--max-time", "5", "https://127.0.0.1:10350/healthz"]);
        curl.run().is_ok()
    }

    /// What ovs-vswitchd answers.
    pub(crate) fn switch(&self, question: &[&str]) -> Result<String> {
        let mut appctl = command("ovs-appctl", &["--timeout=30", "-t"]);
        appctl.arg(self.folder.join("ovs/ovs-vswitchd.ctl")).args(question).text()
    }

    /// What `ovs-ofctl` says about the bridge.
    pub(crate) fn flows(&self, arguments: &[&str]) -> Result<String> {
        let (what, rest) = arguments.split_first().context("ovs-ofctl does nothing by itself")?;
        let bridge = format!("unix:{}", self.folder.join("ovs/br-int.mgmt").display());
        command("ovs-ofctl", &["-O", "OpenFlow15", what, &bridge]).args(rest).text()
    }

    /// What `ovs-vsctl` says.
    pub(crate) fn database(&self, arguments: &[&str]) -> Result<String> {
        let socket = format!("--db=unix:{}", self.folder.join("ovs/db.sock").display());
        command("ovs-vsctl", &[&socket, "--timeout=30"]).args(arguments).text()
    }

    /// Waits until ovs-vswitchd answers the kernel again: whoever starts it has it wait for the flows first.
    pub(crate) fn wait_for_switch(&self) -> Result<()> {
        let column = ["--if-exists", "get", "Open_vSwitch", ".", "other_config:flow-restore-wait"];
        wait::until(PATIENCE, "Open vSwitch to have its flows again", || {
            // It starts after it was told to wait.
            self.switch(&["version"])?;
            Ok(self.database(&column)?.trim().is_empty())
        })
    }

    /// How often the kernel had nobody to ask about a packet that it knew no flow for.
    pub(crate) fn lost(&self) -> Result<u64> {
        let shown = self.switch(&["dpctl/show"])?;
        let lost = shown.split_whitespace().find_map(|word| word.strip_prefix("lost:")?.parse().ok());
        lost.with_context(|| format!("no datapath is shown: {shown}"))
    }

    /// What both programs logged last.
    pub(crate) fn logs(&self) -> String {
        let tail = |name: &str| {
            let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("--- {name} of {}\n{}\n", self.name, lines[lines.len().saturating_sub(60)..].join("\n"))
        };
        tail("ovs.log") + &tail("agent.log")
    }

    fn spawn(&self, command: &mut Command, log: &str) -> Result<Child> {
        let log = File::options().append(true).create(true).open(self.folder.join(log));
        let log = log.context("cannot write a log")?;
        let copy = log.try_clone().context("cannot write a log")?;
        let child = command.stdin(Stdio::null()).stdout(copy).stderr(log).spawn();
        child.with_context(|| format!("cannot run {command:?}"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // What cannot be removed goes with the guest.
        let _ = self.crash_open_vswitch();
        let _ = self.crash_agent();
        let _ = command("ip", &["netns", "delete", self.name]).run();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn terminate(mut container: Child) -> Result<()> {
    let pid = i32::try_from(container.id()).context("no process id")?;
    kill(Pid::from_raw(pid), Signal::SIGTERM).context("cannot end a container")?;
    let status = container.wait().context("cannot wait for the end of a container")?;
    ensure!(status.success(), "a container ended with {status}");
    Ok(())
}

/// Those that the chart gives the container `antrea-ovs`, as setpriv(1) wants to hear them: `,+net_admin` …
fn capabilities() -> Result<String> {
    let text = include_str!("../../../charts/antrea/values.yaml");
    let values: serde_json::Value = serde_saphyr::from_str(text).context("values.yaml is not valid YAML")?;
    let named = values["agent"]["antreaOVS"]["securityContext"]["capabilities"].as_array();
    let names = named.context("the chart names no capabilities for antrea-ovs")?.iter();
    let names = names.filter_map(|name| name.as_str());
    Ok(names.map(|name| format!(",+{}", name.to_lowercase())).collect())
}

/// The path of a program of ours.
pub(crate) fn program(name: &str) -> Result<String> {
    let folder = std::env::var("ANTREA_E2E_PROGRAMS").context("ANTREA_E2E_PROGRAMS is not set")?;
    Ok(format!("{folder}/{name}"))
}
