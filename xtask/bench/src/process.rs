//! What /proc tells about a process, and which one is the agent of a Node.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use antrea_e2e::lab::Lab;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::{processes, wait};
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Ticks of /proc/PID/stat a second (USER_HZ), which is 100 on every architecture that Linux runs Kubernetes on.
const TICKS: f64 = 100.0;

/// The kubelet pauses for longer before each restart.
const RESTART: Duration = Duration::from_secs(180);

/// A running process, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process(pub(super) i32);

impl Process {
    /// User and system time, in seconds.
    pub(super) fn cpu_seconds(self) -> Result<f64> {
        Ok((self.stat_field(14)? + self.stat_field(15)?) / TICKS)
    }

    /// Resident memory, in bytes.
    pub(super) fn resident(self) -> Result<u64> {
        self.memory("VmRSS:")
    }

    /// Resident memory when it was largest, in bytes.
    pub(super) fn peak_resident(self) -> Result<u64> {
        self.memory("VmHWM:")
    }

    /// A line of /proc/PID/status.
    fn memory(self, field: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        Ok(kibibytes.with_context(|| format!("{field} of /proc/{}/status cannot be read", self.0))? * 1024)
    }

    /// When it was started, after the epoch.
    fn started(self) -> Result<Duration> {
        let ticks: f64 = self.stat_field(22)?;
        let uptime = fs::read_to_string("/proc/uptime")?;
        let uptime: f64 =
            uptime.split(' ').next().unwrap_or_default().parse().context("/proc/uptime cannot be read")?;
        let age = uptime - ticks / TICKS;
        Ok(now()?.saturating_sub(Duration::from_secs_f64(age.max(0.0))))
    }

    /// A field of /proc/PID/stat, counted as proc(5) does.
    fn stat_field(self, number: usize) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0))?;
        // The second field, the program's name, is in parentheses and may have blanks.
        let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let field = rest.split_whitespace().nth(number.saturating_sub(3));
        field
            .and_then(|field| field.parse().ok())
            .with_context(|| format!("field {number} of /proc/{}/stat cannot be read", self.0))
    }
}

/// A running agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agent {
    pub(super) pid: i32,
}

impl Agent {
    /// The agent of a Node; the supervisor of Open vSwitch is the same program, but was given a subcommand.
    pub(super) fn of(lab: &Lab, node: NodeId) -> Result<Self> {
        let namespace = lab.plan().name.namespace(Place::Node(node));
        let agents = processes::in_namespace(&namespace)?
            .into_iter()
            .filter(|process| process.program.starts_with("antrea-agent"));
        let own = agents
            .map(|process| process.pid)
            .find(|pid| command_line(*pid).is_some_and(|line| line.contains("--config")));
        Ok(Self { pid: own.with_context(|| format!("no antrea-agent runs on {node}"))? })
    }

    /// Kills the agent of a Node.
    pub(super) fn kill(self) -> Result<()> {
        self.signal(Signal::SIGKILL)
    }

    /// Stops it where it is; it can only be killed after that.
    pub(super) fn freeze(self) -> Result<()> {
        self.signal(Signal::SIGSTOP)
    }

    fn signal(self, signal: Signal) -> Result<()> {
        kill(Pid::from_raw(self.pid), signal).with_context(|| format!("cannot send {signal} to the agent"))
    }

    /// The agent that the kubelet starts in place of this one, which was killed.
    pub(super) fn next(self, lab: &Lab, node: NodeId) -> Result<Self> {
        wait::eventually(RESTART, "the kubelet to restart the agent", || {
            Ok(Self::of(lab, node).ok().filter(|agent| *agent != self))
        })
    }

    /// Waits until it has run for so long.
    pub(super) fn wait_for_age(self, age: Duration) -> Result<()> {
        let started = self.started()?;
        wait::until(age * 2, "the agent to be idle", || Ok(now()?.saturating_sub(started) >= age))
    }

    /// When it was started, after the epoch.
    pub(super) fn started(self) -> Result<Duration> {
        Process(self.pid).started()
    }

    /// User and system time, in seconds.
    pub(super) fn cpu_seconds(self) -> Result<f64> {
        Process(self.pid).cpu_seconds()
    }

    /// Resident memory, in bytes.
    pub(super) fn resident(self) -> Result<u64> {
        Process(self.pid).resident()
    }
}

/// The time after the epoch.
pub(super) fn now() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}

fn command_line(pid: i32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
}
