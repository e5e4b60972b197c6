//! antrea-mc-controller as a process of this machine, with the rights that the chart gives it.

use std::fs;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use antrea_e2e::wait;
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::clusters::Cluster;
use crate::process::Process;
use xtask::project;

pub(super) const PROGRAM: &str = "antrea-mc-controller";

/// One that needs longer has no figure but a fault.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long one that was asked to end may take.
const STOPPED_WITHIN: Duration = Duration::from_secs(20);

/// What a member exports as endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoints {
    ClusterIps,
    Pods,
}

/// A controller that runs until this is dropped.
pub(super) struct Controller {
    child: Child,
    pub(super) started: Instant,
}

impl Controller {
    /// Starts the controller of a cluster, and waits until it is ready.
    pub(super) fn start(cluster: &Cluster, endpoints: Endpoints) -> Result<Self> {
        let controller = Self::spawn(cluster, endpoints)?;
        let (id, port) = (cluster.id, cluster.health_port());
        wait::until(READY_WITHIN, &format!("the controller of {id} to be ready"), || Ok(is_ready(port)))
            .with_context(|| format!("its log is {}", cluster.file("log").display()))?;
        Ok(controller)
    }

    /// Starts it, and no more.
    pub(super) fn spawn(cluster: &Cluster, endpoints: Endpoints) -> Result<Self> {
        let config = cluster.file("config.yaml");
        write(&config, &configuration(cluster, endpoints).to_string())?;
        let log = File::create(cluster.file("log"))?;
        let mut command = Command::new(project::programs().join(PROGRAM));
        command.args([cluster.mode, "--namespace", cluster.namespace, "--config"]).arg(&config);
        command.arg("--kubeconfig").arg(cluster.file("kubeconfig"));
        command.env_remove("HTTPS_PROXY").env("NO_PROXY", "*").stdin(Stdio::null());
        // As the chart has it.
        command.env("MALLOC_ARENA_MAX", "1");
        command.stdout(log.try_clone()?).stderr(log);
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot run {PROGRAM}"))?;
        Ok(Self { child, started })
    }

    /// Asks it to end, and waits until it has.
    pub(super) fn stop(mut self) -> Result<()> {
        kill(self.pid()?, Signal::SIGTERM).context("cannot stop the controller")?;
        wait::until(STOPPED_WITHIN, "the controller to end", || Ok(self.child.try_wait()?.is_some()))
    }

    /// Resident memory, in bytes.
    pub(super) fn resident(&self) -> Result<u64> {
        self.process()?.resident()
    }

    /// Resident memory when it was largest, in bytes.
    pub(super) fn peak_resident(&self) -> Result<u64> {
        self.process()?.peak_resident()
    }

    /// User and system time since its start, in seconds.
    pub(super) fn cpu_seconds(&self) -> Result<f64> {
        self.process()?.cpu_seconds()
    }

    fn process(&self) -> Result<Process> {
        Ok(Process(self.pid()?.as_raw()))
    }

    fn pid(&self) -> Result<Pid> {
        Ok(Pid::from_raw(i32::try_from(self.child.id())?))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // One that has ended by itself leaves nobody to kill.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The file that the chart would write; JSON is YAML. Processes on one machine share its ports.
fn configuration(cluster: &Cluster, endpoints: Endpoints) -> Value {
    json!({
        "apiVersion": "multicluster.crd.antrea.io/v1alpha1",
        "kind": "MultiClusterConfig",
        "health": {"healthProbeBindAddress": format!("127.0.0.1:{}", cluster.health_port())},
        "webhook": {"port": cluster.webhook_port()},
        // What clusters export that never announce themselves stays for longer than a workload takes.
        "leader": {"memberLease": "24h"},
        "member": {"tokenSecret": cluster.id.to_string()},
        "serviceCIDR": cluster.service_cidr,
        "podCIDRs": [cluster.pod_cidr],
        "endpointIPType": match endpoints {
            Endpoints::ClusterIps => "ClusterIP",
            Endpoints::Pods => "PodIP",
        },
    })
}

/// Only this user may read it.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let open = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    open.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn is_ready(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
}
