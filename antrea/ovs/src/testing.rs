//! A real Open vSwitch for tests: ovsdb-server and ovs-vswitchd with the userspace datapath, in a network namespace
//! and a directory of their own. Everything goes away when [`OvsProcess`] is dropped.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where Debian puts the schema of the database.
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
/// What names of namespaces and directories begin with; the process id of the test follows.
const PREFIX: &str = "antrea-ovs-";

/// How long a daemon may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Why a test with a real Open vSwitch cannot run here, or nothing if it can. A test that cannot run prints
/// `SKIPPED TEST: REASON` with `println!`, by which `cargo xtask test` knows that it did not pass.
pub fn why_unavailable() -> Option<String> {
    let owner = fs::metadata("/proc/self").map(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata));
    if owner.ok() != Some(0) {
        return Some("network namespaces need root".to_owned());
    }
    if !Path::new(SCHEMA).exists() {
        return Some(format!("there is no {SCHEMA}: install openvswitch-switch"));
    }
    let missing = ["ip", "ovsdb-server", "ovsdb-tool", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl"]
        .into_iter()
        .find(|program| Command::new(program).arg("--version").output().is_err());
    missing.map(|program| format!("there is no program {program}: install iproute2 and openvswitch-switch"))
}

/// A running Open vSwitch.
#[derive(Debug)]
pub struct OvsProcess {
    namespace: String,
    directory: PathBuf,
    database: Option<Child>,
    switch: Option<Child>,
}

impl OvsProcess {
    /// Starts both daemons with an initialised database and no bridge.
    ///
    /// # Errors
    /// What the programs say that did not do what they should.
    pub fn start() -> io::Result<Self> {
        remove_leftovers()?;
        let name = format!("{PREFIX}{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(&name);
        let mut ovs = Self { namespace: name, directory, database: None, switch: None };
        fs::create_dir_all(&ovs.directory)?;
        run(Command::new("ip").args(["netns", "add", &ovs.namespace]))?;
        run(ovs.command("ip").args(["link", "set", "lo", "up"]))?;
        run(Command::new("ovsdb-tool").arg("create").arg(ovs.directory.join("conf.db")).arg(SCHEMA))?;
        ovs.start_database()?;
        ovs.vsctl(["--no-wait", "init"])?;
        ovs.start_switch()?;
        Ok(ovs)
    }

    /// The socket of the database.
    pub fn database_socket(&self) -> PathBuf {
        self.directory.join("db.sock")
    }

    /// The OpenFlow socket of a bridge.
    pub fn management_socket(&self, bridge: &str) -> PathBuf {
        self.directory.join(format!("{bridge}.mgmt"))
    }

    /// The network namespace, as `ip netns` knows it.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Where sockets, logs and the database are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A command in the namespace, with the environment in which the programs of Open vSwitch find these daemons.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, program]);
        for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
            command.env(variable, &self.directory);
        }
        command
    }

    /// Runs `ip` in the namespace, and returns what it prints.
    ///
    /// # Errors
    /// What the program says when it fails.
    pub fn ip<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> io::Result<String> {
        run(self.command("ip").args(arguments))
    }

    /// Runs `ovs-vsctl`, and returns what it prints.
    ///
    /// # Errors
    /// What the program says when it fails.
    pub fn vsctl<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> io::Result<String> {
        let database = format!("--db=unix:{}", self.database_socket().display());
        run(self.command("ovs-vsctl").args([database.as_str(), "--retry", "--timeout=30"]).args(arguments))
    }

    /// Runs `ovs-ofctl` with OpenFlow 1.5, and returns what it prints.
    ///
    /// # Errors
    /// What the program says when it fails.
    pub fn ofctl<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> io::Result<String> {
        run(self.command("ovs-ofctl").args(["-O", "OpenFlow15"]).args(arguments))
    }

    /// Runs `ovs-appctl` on ovs-vswitchd, and returns what it prints.
    ///
    /// # Errors
    /// What the program says when it fails.
    pub fn appctl<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> io::Result<String> {
        run(self.command("ovs-appctl").arg("-t").arg(self.directory.join("vswitchd.ctl")).args(arguments))
    }

    /// Starts ovsdb-server, which must not run, and waits until it answers: programs that find nobody wait a second
    /// before they try again.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_database(&mut self) -> io::Result<()> {
        let remote = format!("--remote=punix:{}", self.database_socket().display());
        let mut command = self.daemon("ovsdb-server", "ovsdb");
        self.database = Some(command.arg(remote).arg(self.directory.join("conf.db")).spawn()?);
        self.wait_for_database()
    }

    #[expect(clippy::disallowed_methods, reason = "as all here, this blocks; there is nothing to be told by")]
    fn wait_for_database(&self) -> io::Result<()> {
        let late = Instant::now() + PATIENCE;
        while let Err(error) = UnixStream::connect(self.database_socket()) {
            if Instant::now() > late {
                return Err(error);
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Starts ovs-vswitchd, which must not run, and waits until it has taken up the configuration.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_switch(&mut self) -> io::Result<()> {
        let database = format!("unix:{}", self.database_socket().display());
        self.switch = Some(
            self.daemon("ovs-vswitchd", "vswitchd")
                .args(["--disable-system", "--enable-dummy", &database])
                .spawn()?,
        );
        // Without --no-wait, ovs-vsctl returns when ovs-vswitchd has taken up what it wrote.
        self.vsctl([
            "set",
            "Open_vSwitch",
            ".",
            &format!("external_ids:started={}", COUNT.fetch_add(1, Ordering::Relaxed)),
        ])?;
        Ok(())
    }

    /// Kills ovsdb-server at once, as a crash would.
    ///
    /// # Errors
    /// When it cannot be killed.
    pub fn kill_database(&mut self) -> io::Result<()> {
        kill(&mut self.database)
    }

    /// Kills ovs-vswitchd at once, as a crash would: OpenFlow tables and connection tracking are lost.
    ///
    /// # Errors
    /// When it cannot be killed.
    pub fn kill_switch(&mut self) -> io::Result<()> {
        kill(&mut self.switch)
    }

    /// A daemon as a child of ours, so that it can be waited for.
    fn daemon(&self, program: &str, name: &str) -> Command {
        let path = |suffix: &str| self.directory.join(format!("{name}.{suffix}"));
        let mut command = self.command(program);
        command
            .arg(format!("--unixctl={}", path("ctl").display()))
            .arg(format!("--pidfile={}", path("pid").display()))
            .arg(format!("--log-file={}", path("log").display()))
            .args(["-vconsole:off", "--no-chdir"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

impl Drop for OvsProcess {
    fn drop(&mut self) {
        // Nobody is left to tell; what remains is removed by the next start.
        let _ = self.kill_switch();
        let _ = self.kill_database();
        let _ = remove(&self.namespace);
    }
}

fn kill(daemon: &mut Option<Child>) -> io::Result<()> {
    let Some(mut child) = daemon.take() else { return Ok(()) };
    child.kill()?;
    child.wait().map(|_| ())
}

/// Runs a command, and returns what it prints.
fn run(command: &mut Command) -> io::Result<String> {
    let output =
        command.output().map_err(|error| io::Error::new(error.kind(), format!("{command:?}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{command:?}: {}: {}", output.status, complaint.trim())))
}

/// Removes what tests left that were killed: those whose process is gone.
fn remove_leftovers() -> io::Result<()> {
    let namespaces = run(Command::new("ip").args(["netns", "list"]))?;
    let mut names: BTreeSet<String> =
        namespaces.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    let directories = fs::read_dir(std::env::temp_dir())?.filter_map(Result::ok);
    names.extend(directories.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    for name in names {
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            // Another test may be removing the same.
            let _ = remove(&name);
        }
    }
    Ok(())
}

/// Ends the processes of a namespace, and deletes it with its directory, whichever of them there are.
fn remove(namespace: &str) -> io::Result<()> {
    if let Ok(processes) = run(Command::new("ip").args(["netns", "pids", namespace])) {
        for process in processes.lines() {
            // It may have ended by itself.
            let _ = run(Command::new("kill").args(["-KILL", process]));
        }
        run(Command::new("ip").args(["netns", "del", namespace]))?;
    }
    fs::remove_dir_all(std::env::temp_dir().join(namespace))
}
