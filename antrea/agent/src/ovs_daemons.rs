//! `antrea-agent start-ovs`: runs ovsdb-server and ovs-vswitchd as children, for the OVS container of the DaemonSet.
//!
//! One that ends by itself is started again alone: flows and connections outlast ovsdb-server. A new ovs-vswitchd forwards
//! nothing until the agent has put the flows back: `flow-restore-wait` is set before it starts, and the agent removes it.

mod control_socket;
mod database;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use antrea_config::DatapathType;
use antrea_kit::components::termination_signal;
use antrea_ovs::ovsdb::OvsDb;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tracing::{info, warn};

/// What ovsdb-server gets to accept connections.
const START: Duration = Duration::from_secs(30);

/// What a daemon gets to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// How often daemons may end by themselves …
const CRASHES: usize = 3;
/// … within this time. After one more this process ends as well, and Kubernetes tells that something is wrong.
const MEMORY: Duration = Duration::from_secs(60);

/// Where OVS keeps its files, and which datapath it is for.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The folder of the database, the sockets and the process id files.
    #[arg(long, default_value = "/var/run/openvswitch")]
    run_dir: PathBuf,
    /// `system` for the kernel's datapath, `netdev` for machines without its module.
    #[arg(long, default_value = "system")]
    datapath: DatapathType,
    /// Whether flows are offloaded to hardware where it can.
    #[arg(long, default_value_t = false, action = clap::ArgAction::Set)]
    hw_offload: bool,
}

/// The daemons, each a child of this process.
struct Daemons<'a> {
    options: &'a Options,
    database: PathBuf,
    server: Child,
    switch: Child,
}

/// When daemons ended by themselves.
#[derive(Debug, Default)]
struct Crashes(Vec<Instant>);

/// Runs both daemons until SIGTERM; one that ends by itself again and again is an error with its name.
pub(crate) async fn run(options: &Options) -> Result<()> {
    let terminated = termination_signal().context("cannot listen for SIGTERM")?;
    let database = database::prepare(&options.run_dir).await?;
    let mut daemons = Daemons::start(options, database).await?;
    info!(run_dir = %options.run_dir.display(), datapath = %options.datapath, "Open vSwitch is running");
    let outcome = tokio::select! {
        outcome = daemons.keep_running() => outcome,
        () = terminated => Ok(()),
    };
    // The switch first: it writes its last statistics to the database.
    stop("ovs-vswitchd", &mut daemons.switch).await;
    stop("ovsdb-server", &mut daemons.server).await;
    outcome
}

impl<'a> Daemons<'a> {
    async fn start(options: &'a Options, database: PathBuf) -> Result<Self> {
        let server = start_server(options, &database)?;
        let switch = start_switch(options).await?;
        Ok(Self { options, database, server, switch })
    }

    /// Starts whichever ends again; returns when that happens too often.
    async fn keep_running(&mut self) -> Result<()> {
        let mut crashes = Crashes::default();
        loop {
            tokio::select! {
                biased;
                // Where both have ended, this one has to be back before the other can start.
                status = self.server.wait() => {
                    crashes.count("ovsdb-server", status)?;
                    self.server = start_server(self.options, &self.database)?;
                }
                status = self.switch.wait() => {
                    crashes.count("ovs-vswitchd", status)?;
                    self.switch = start_switch(self.options).await?;
                }
            }
        }
    }
}

impl Crashes {
    fn count(&mut self, name: &str, status: io::Result<ExitStatus>) -> Result<()> {
        let status = status.with_context(|| format!("cannot wait for {name}"))?;
        ensure!(self.may_go_on(Instant::now()), "{name} ended by itself: {status}; see its messages above");
        warn!(name, %status, "A daemon ended by itself and is started again");
        Ok(())
    }

    /// Notes one, and says whether there were few enough of late.
    fn may_go_on(&mut self, now: Instant) -> bool {
        self.0.retain(|crash| now.duration_since(*crash) < MEMORY);
        self.0.push(now);
        self.0.len() <= CRASHES
    }
}

fn start_server(options: &Options, database: &Path) -> Result<Child> {
    spawn("ovsdb-server", &server_arguments(options, database), &options.run_dir)
}

/// Starts the switch once the database answers and says that it has to wait for its flows.
async fn start_switch(options: &Options) -> Result<Child> {
    let remote = options.run_dir.join("db.sock");
    configure(&remote, options).await?;
    spawn("ovs-vswitchd", &switch_arguments(options, &remote), &options.run_dir)
}

/// The version of ovs-vswitchd: the last word of `ovs-vswitchd (Open vSwitch) 3.1.0`.
async fn version() -> Result<String> {
    let text = output_of("ovs-vswitchd", &["--version"]).await?;
    let version = text.lines().next().and_then(|line| line.split_whitespace().last());
    Ok(version.context("ovs-vswitchd does not tell its version")?.to_owned())
}

async fn output_of(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output().await;
    let output = output.with_context(|| format!("cannot run {program}"))?;
    ensure!(
        output.status.success(),
        "{program} {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

async fn configure(remote: &Path, options: &Options) -> Result<()> {
    let database = tokio::time::timeout(START, OvsDb::connect(remote))
        .await
        .context("ovsdb-server did not accept a connection; see its messages above")?;
    database.init().await.context("cannot initialise the database of Open vSwitch")?;
    database.set_ovs_version(&version().await?).await.context("cannot set ovs_version")?;
    let settings = [
        ("flow-restore-wait", "true"),
        // Learned flows of session affinity show their use within 200 ms.
        ("max-revalidator", "200"),
        ("hw-offload", if options.hw_offload { "true" } else { "false" }),
    ];
    for (key, value) in settings {
        database
            .set_open_vswitch_other_config(key, value)
            .await
            .with_context(|| format!("cannot set other_config:{key}"))?;
    }
    Ok(())
}

fn server_arguments(options: &Options, database: &Path) -> Vec<String> {
    let run_dir = options.run_dir.display();
    let mut arguments = vec![database.display().to_string(), format!("--remote=punix:{run_dir}/db.sock")];
    arguments.extend(daemon_arguments(options, "ovsdb-server"));
    arguments
}

fn switch_arguments(options: &Options, remote: &Path) -> Vec<String> {
    let mut arguments = vec![format!("unix:{}", remote.display())];
    if options.datapath == DatapathType::Netdev {
        arguments.push("--disable-system".to_owned());
    }
    arguments.extend(daemon_arguments(options, "ovs-vswitchd"));
    arguments
}

/// Messages go to the container's log, which the kubelet rotates.
fn daemon_arguments(options: &Options, name: &str) -> Vec<String> {
    let run_dir = options.run_dir.display();
    vec![
        format!("--pidfile={run_dir}/{name}.pid"),
        format!("--unixctl={}", control_socket::path(&options.run_dir, name).display()),
        "-vconsole:info".to_owned(),
        "-vsyslog:off".to_owned(),
        "-vfile:off".to_owned(),
    ]
}

/// The sockets of bridges are where the environment says, whatever the arguments are.
fn spawn(name: &'static str, arguments: &[String], run_dir: &Path) -> Result<Child> {
    control_socket::forget_former(run_dir, name)?;
    let child = Command::new(name)
        .args(arguments)
        .env("OVS_RUNDIR", run_dir)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    if let Some(pid) = child.id() {
        control_socket::name_by_process(run_dir, name, pid)?;
    }
    Ok(child)
}

async fn stop(name: &'static str, child: &mut Child) {
    let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) else { return };
    if kill(Pid::from_raw(pid), Signal::SIGTERM).is_ok()
        && tokio::time::timeout(GRACE, child.wait()).await.is_ok()
    {
        return;
    }
    info!(name, "Killing a daemon that did not end in time");
    if let Err(error) = child.kill().await {
        info!(name, %error, "Cannot kill a daemon");
    }
}

#[cfg(test)]
mod tests {
    use antrea_ovs::testing::why_unavailable;

    use super::*;

    /// Asks for the version as people do who look for daemons in this folder; by default ovs-vswitchd is asked.
    async fn appctl(run_dir: &Path, target: Option<&str>) -> String {
        let mut command = Command::new("ovs-appctl");
        command.env("OVS_RUNDIR", run_dir).arg("--timeout=30");
        if let Some(target) = target {
            command.args(["-t", target]);
        }
        let output = command.arg("version").output().await.unwrap();
        assert!(output.status.success(), "{target:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
    }

    async fn until_it_listens(run_dir: &Path, name: &str, daemon: &Child) {
        let pid = daemon.id().unwrap().to_string();
        let begun = Instant::now();
        let (file, socket) = (run_dir.join(format!("{name}.pid")), control_socket::path(run_dir, name));
        let is_own = || std::fs::read_to_string(&file).is_ok_and(|text| text.trim() == pid);
        while !is_own() || std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(begun.elapsed() < START, "{name} does not listen");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// As upstream's agent looks for ovs-vswitchd: by the number in the file, of whichever PID namespace that is.
    fn by_process_id_file(run_dir: &Path, name: &str) -> String {
        let pid = std::fs::read_to_string(run_dir.join(format!("{name}.pid"))).unwrap();
        run_dir.join(format!("{name}.{}.ctl", pid.trim())).display().to_string()
    }

    #[tokio::test]
    async fn daemons_are_found_by_their_names_and_by_their_processes_also_after_a_crash() {
        let test = "daemons_are_found_by_their_names_and_by_their_processes_also_after_a_crash";
        if let Some(reason) = why_unavailable() {
            println!("SKIPPED {test}: {reason}");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let run_dir = folder.path();
        let options =
            Options { run_dir: run_dir.to_owned(), datapath: DatapathType::Netdev, hw_offload: false };
        let database = database::prepare(run_dir).await.unwrap();
        let mut daemons = Daemons::start(&options, database).await.unwrap();
        for crashes in 0..2 {
            if crashes > 0 {
                daemons.switch.kill().await.unwrap();
                daemons.switch = start_switch(&options).await.unwrap();
            }
            until_it_listens(run_dir, "ovs-vswitchd", &daemons.switch).await;
            assert_eq!(appctl(run_dir, None).await, "ovs-vswitchd");
            for name in ["ovs-vswitchd", "ovsdb-server"] {
                let socket = control_socket::path(run_dir, name).display().to_string();
                for target in [name, &socket, &by_process_id_file(run_dir, name)] {
                    assert_eq!(appctl(run_dir, Some(target)).await, name, "{target}");
                }
                let names = std::fs::read_dir(run_dir).unwrap().map(|entry| entry.unwrap().file_name());
                let sockets = names.filter(|file| {
                    let file = file.to_string_lossy();
                    file.starts_with(name) && file.ends_with(".ctl")
                });
                assert_eq!(sockets.count(), 2, "{name} after {crashes} crashes");
            }
        }
    }

    #[test]
    fn daemons_that_end_again_and_again_are_given_up_and_rare_crashes_are_forgotten() {
        let begun = Instant::now();
        let mut crashes = Crashes::default();
        let mut after = |seconds| crashes.may_go_on(begun + Duration::from_secs(seconds));
        assert_eq!([0, 1, 2, 3].map(&mut after), [true, true, true, false]);
        assert_eq!([63, 64, 65, 66].map(&mut after), [true, true, true, false]);
    }
}
