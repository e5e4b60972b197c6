//! A running antrea-controller.

use std::net::{Ipv6Addr, TcpListener};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

use crate::api_server::ApiServer;

const PATIENCE: Duration = Duration::from_secs(30);

/// The program, killed when this is dropped.
pub(crate) struct Controller {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
    pub(crate) port: u16,
    _directory: TempDir,
}

impl Controller {
    /// Starts it as a Pod of Node n1 would be.
    pub(crate) fn start(server: &ApiServer) -> Self {
        Self::configured(server, "")
    }

    /// Starts it with more in its configuration.
    pub(crate) fn configured(server: &ApiServer, more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (config, port) = write_files(directory.path(), server, more);
        // With fewer files than there are agents, as a container runtime may start it.
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -Sn 256 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_antrea-controller")])
            .arg("--config")
            .arg(config)
            .env("POD_NAME", "antrea-controller-0")
            .env("POD_NAMESPACE", "kube-system")
            .env("NODE_NAME", "n1")
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, log, port, _directory: directory }
    }

    /// How often its thread of this name has waited for something to do so far; none where there is no such thread.
    pub(crate) fn waits_of_thread(&self, name: &str) -> Option<u64> {
        let tasks = format!("/proc/{}/task", self.child.id().unwrap());
        let mut tasks = std::fs::read_dir(tasks).unwrap().flatten().map(|task| task.path());
        let is_it = |task: &Path| {
            std::fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
        };
        let status = std::fs::read_to_string(tasks.find(|task| is_it(task))?.join("status")).unwrap();
        let waits = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        Some(waits.trim().parse().unwrap())
    }

    /// Reads the log up to a line with `text`.
    pub(crate) async fn until_log(&mut self, text: &str) -> String {
        let find = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                if line.contains(text) {
                    return line;
                }
            }
            format!("the log ended without {text:?}")
        };
        let line = timeout(PATIENCE, find).await.unwrap_or_default();
        assert!(line.contains(text), "{line:?} instead of {text:?}");
        line
    }

    /// Tells it to end, and waits for it.
    pub(crate) async fn terminate(mut self) -> ExitStatus {
        let pid = Pid::from_raw(self.child.id().unwrap().try_into().unwrap());
        kill(pid, Signal::SIGTERM).unwrap();
        timeout(PATIENCE, self.child.wait()).await.expect("it did not end").unwrap()
    }
}

/// A port of its own for each process: port 0 in the file would be the default port. Ports that the kernel gives by itself would not
/// do: tests beside open thousands of connections, any of which may get one before the process does.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(12_000);
    loop {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).is_ok() {
            return port;
        }
    }
}

fn write_files(directory: &Path, server: &ApiServer, more: &str) -> (std::path::PathBuf, u16) {
    let kubeconfig = directory.join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n\
         users: [{{name: u, user: {{token: t}}}}]\n",
        server.address
    );
    std::fs::write(&kubeconfig, text).unwrap();
    let free = free_port();
    let config = directory.join("antrea-controller.conf");
    let text = format!("apiPort: {free}\nclientConnection:\n  kubeconfig: {}\n{more}", kubeconfig.display());
    std::fs::write(&config, text).unwrap();
    (config, free)
}
