//! `antrea-agent start-ovs`: runs ovsdb-server and ovs-vswitchd as children, for the OVS container of the DaemonSet.
//!
//! The datapath forwards nothing new until the agent has put the flows back: `flow-restore-wait` is set before
//! ovs-vswitchd starts, and the agent removes it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use antrea_config::DatapathType;
use antrea_kit::components::termination_signal;
use antrea_ovs::ovsdb::OvsDb;
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tracing::info;

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// What ovsdb-server gets to accept connections.
const START: Duration = Duration::from_secs(30);

/// What a daemon gets to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(5);

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

/// Runs both daemons until SIGTERM; one that ends by itself is an error with its name.
pub(crate) async fn run(options: &Options) -> Result<()> {
    let terminated = termination_signal().context("cannot listen for SIGTERM")?;
    let database = prepare_database(&options.run_dir).await?;
    let mut server = spawn("ovsdb-server", &server_arguments(options, &database), &options.run_dir)?;
    let remote = options.run_dir.join("db.sock");
    configure(&remote, options).await?;
    let mut switch = spawn("ovs-vswitchd", &switch_arguments(options, &remote), &options.run_dir)?;
    info!(run_dir = %options.run_dir.display(), datapath = %options.datapath, "Open vSwitch is running");
    let ended = tokio::select! {
        status = switch.wait() => Err(("ovs-vswitchd", status)),
        status = server.wait() => Err(("ovsdb-server", status)),
        () = terminated => Ok(()),
    };
    // The switch first: it writes its last statistics to the database.
    stop("ovs-vswitchd", &mut switch).await;
    stop("ovsdb-server", &mut server).await;
    match ended {
        Ok(()) => Ok(()),
        Err((name, status)) => {
            bail!("{name} ended by itself: {}; see its messages above", status.context("cannot wait for it")?)
        }
    }
}

/// Creates the database, or converts one that an older Open vSwitch wrote.
async fn prepare_database(run_dir: &Path) -> Result<PathBuf> {
    tokio::fs::create_dir_all(run_dir)
        .await
        .with_context(|| format!("cannot create {}", run_dir.display()))?;
    let database = run_dir.join("conf.db");
    let text = database.to_string_lossy().into_owned();
    if !tokio::fs::try_exists(&database).await? {
        output_of("ovsdb-tool", &["create", &text, SCHEMA]).await?;
    } else if output_of("ovsdb-tool", &["needs-conversion", &text, SCHEMA]).await?.trim() == "yes" {
        output_of("ovsdb-tool", &["convert", &text, SCHEMA]).await?;
        info!(database = %database.display(), "The database was converted to the schema of this Open vSwitch");
    }
    Ok(database)
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
        format!("--unixctl={run_dir}/{name}.ctl"),
        "-vconsole:info".to_owned(),
        "-vsyslog:off".to_owned(),
        "-vfile:off".to_owned(),
    ]
}

/// The sockets of bridges are where the environment says, whatever the arguments are.
fn spawn(name: &'static str, arguments: &[String], run_dir: &Path) -> Result<Child> {
    Command::new(name)
        .args(arguments)
        .env("OVS_RUNDIR", run_dir)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {name}"))
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
