//! Which processes belong to a lab. They are found in /proc, so it does not matter who started them or remembers.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getsid};
use serde::{Deserialize, Serialize};

use crate::command::{Run as _, command};
use crate::names::LabName;
use crate::wait;

/// Every process that a lab starts has this variable, and what it starts inherits it.
pub const MARK: &str = "ANTREA_LAB";

/// The nice value that stands for about ten times the usual weight.
const PREFERENCE: &str = "-10";

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pid: i32,
    /// In clock ticks since boot: field 22 of `/proc/PID/stat`.
    start_time: u64,
}

/// What tells files apart: device and inode.
type Inode = (u64, u64);

/// A process in /proc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// The last part of its first argument, `etcd`.
    pub program: String,
    /// What follows that argument.
    pub arguments: Vec<String>,
    network_namespace: Inode,
    lab: Option<String>,
}

impl ProcessId {
    /// This process.
    ///
    /// # Errors
    /// When /proc is not mounted.
    pub fn own() -> Result<Self> {
        let pid = Pid::this().as_raw();
        let start_time = start_time(pid).context("/proc does not know this process")?;
        Ok(Self { pid, start_time })
    }

    /// The process that has a number now.
    pub fn of(pid: i32) -> Option<Self> {
        Some(Self { pid, start_time: start_time(pid)? })
    }

    /// Whether it still runs.
    pub fn is_alive(self) -> bool {
        start_time(self.pid) == Some(self.start_time)
    }
}

impl Process {
    /// By what it is told from later ones; none when it has ended.
    pub fn id(&self) -> Option<ProcessId> {
        ProcessId::of(self.pid)
    }
}

/// Every process there is now, kernel threads left out.
///
/// # Errors
/// When /proc cannot be read.
pub fn all() -> Result<Vec<Process>> {
    let entries = fs::read_dir("/proc").context("cannot read /proc")?;
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(pids.filter_map(read).collect())
}

/// The processes of a lab: in one of its network namespaces, or with its [`MARK`].
///
/// # Errors
/// As [`all`].
pub fn of_lab(name: &LabName) -> Result<Vec<Process>> {
    let namespaces: Vec<Inode> = namespaces(name)?.iter().filter_map(|namespace| inode(namespace)).collect();
    let ours = |process: &Process| {
        process.lab.as_deref() == Some(name.as_str()) || namespaces.contains(&process.network_namespace)
    };
    Ok(all()?.into_iter().filter(ours).collect())
}

/// The processes in a network namespace that has a name.
///
/// # Errors
/// As [`all`].
pub fn in_namespace(namespace: &str) -> Result<Vec<Process>> {
    let Some(wanted) = inode(namespace) else { return Ok(Vec::new()) };
    Ok(all()?.into_iter().filter(|process| process.network_namespace == wanted).collect())
}

/// The names of a lab's network namespaces.
///
/// # Errors
/// When they cannot be read.
pub fn namespaces(name: &LabName) -> Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(NAMESPACES) else { return Ok(Vec::new()) };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<String> = names.filter(|namespace| name.place_of(namespace).is_some()).collect();
    found.sort();
    Ok(found)
}

/// Whether a process is the first of a session.
pub fn leads_session(process: i32) -> bool {
    let process = Pid::from_raw(process);
    getsid(Some(process)) == Ok(process)
}

/// Gives a session ten times the processor time of others, where there is not enough for all.
///
/// Linux groups processes by session, and shares processors among the groups by a nice value of each: sched(7), "The
/// autogroup feature". Without that feature the nice values of the processes count.
///
/// # Errors
/// When the process leads no session, or has ended.
pub fn prefer_session(leader: i32) -> Result<()> {
    let autogroup = format!("/proc/{leader}/autogroup");
    if Path::new(&autogroup).exists() {
        fs::write(&autogroup, PREFERENCE).with_context(|| format!("cannot write {autogroup}"))?;
    }
    command("renice", &["-n", PREFERENCE, "--pgrp", &leader.to_string()]).run()
}

/// Kills processes and waits until they are gone.
///
/// # Errors
/// When one does not go within 30 s.
pub fn kill_all(name: &LabName) -> Result<usize> {
    kill_until_none(&format!("lab {name}"), || of_lab(name))
}

/// Kills the processes in a network namespace that has a name, as [`kill_all`] does.
///
/// # Errors
/// As [`kill_all`].
pub fn kill_in_namespace(namespace: &str) -> Result<usize> {
    kill_until_none(namespace, || in_namespace(namespace))
}

/// Stops a process, and waits until none of its threads runs any more: they go on until one of them has seen the signal,
/// which takes its time where others keep the processors busy.
///
/// # Errors
/// When there is no such process, or it does not stop within 10 s.
pub fn stop(pid: i32) -> Result<()> {
    kill(Pid::from_raw(pid), Signal::SIGSTOP).with_context(|| format!("cannot stop process {pid}"))?;
    wait::closely(Duration::from_secs(10), &format!("process {pid} to stop"), || {
        let states = states_of_threads(pid).with_context(|| format!("process {pid} is gone"))?;
        Ok(states.iter().all(|state| *state == 'T').then_some(()))
    })
}

fn states_of_threads(pid: i32) -> std::io::Result<Vec<char>> {
    let mut states = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = fs::read_to_string(thread?.path().join("stat"))?;
        states.extend(parent_and_state(&stat).map(|(_, state)| state));
    }
    Ok(states)
}

fn kill_until_none(place: &str, find: impl Fn() -> Result<Vec<Process>>) -> Result<usize> {
    let mut killed = 0;
    wait::until(Duration::from_secs(30), &format!("the end of all processes of {place}"), || {
        let processes = find()?;
        for process in &processes {
            match kill(Pid::from_raw(process.pid), Signal::SIGKILL) {
                Ok(()) => killed += 1,
                Err(Errno::ESRCH) => {}
                Err(error) => return Err(error).with_context(|| format!("cannot kill {}", process.pid)),
            }
        }
        Ok(processes.is_empty())
    })?;
    Ok(killed)
}

const NAMESPACES: &str = "/run/netns";

/// The file that stands for a network namespace.
pub fn namespace_path(namespace: &str) -> PathBuf {
    Path::new(NAMESPACES).join(namespace)
}

/// None for a name that stands for the namespace of this process, the host's: what is in it belongs to no lab.
fn inode(namespace: &str) -> Option<Inode> {
    let found = inode_of(&namespace_path(namespace))?;
    (Some(found) != inode_of(Path::new("/proc/self/ns/net"))).then_some(found)
}

fn inode_of(path: &Path) -> Option<Inode> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

fn read(pid: i32) -> Option<Process> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let (parent, state) = parent_and_state(&fs::read_to_string(folder.join("stat")).ok()?)?;
    // A zombie waits only for its parent: it is gone as far as anybody here cares.
    if state == 'Z' || state == 'X' {
        return None;
    }
    let line = fs::read(folder.join("cmdline")).ok().filter(|line| !line.is_empty())?;
    let line = String::from_utf8_lossy(line.strip_suffix(b"\0").unwrap_or(&line)).into_owned();
    let mut arguments = line.split('\0').map(str::to_owned);
    let program = arguments.next()?.rsplit('/').next().unwrap_or_default().to_owned();
    let network_namespace = inode_of(&folder.join("ns/net"))?;
    let lab = fs::read(folder.join("environ")).ok().and_then(|environment| mark(&environment));
    Some(Process { pid, parent, program, arguments: arguments.collect(), network_namespace, lab })
}

fn mark(environment: &[u8]) -> Option<String> {
    let mut variables = environment.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    variables.find_map(|variable| variable.strip_prefix(MARK)?.strip_prefix('=').map(str::to_owned))
}

fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&stat)?.nth(19)?.parse().ok()
}

fn parent_and_state(stat: &str) -> Option<(i32, char)> {
    let mut fields = fields(stat)?;
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

/// The fields after the program's name, which stands in parentheses and may contain anything.
fn fields(stat: &str) -> Option<impl Iterator<Item = &str>> {
    Some(stat.rsplit_once(')')?.1.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_number_and_start() {
        let own = ProcessId::own().unwrap();
        assert!(own.is_alive());
        assert!(!ProcessId { start_time: own.start_time + 1, ..own }.is_alive());
    }

    #[test]
    fn no_thread_of_a_stopped_process_runs() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        stop(pid).unwrap();
        assert_eq!(states_of_threads(pid).unwrap(), ['T']);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(stop(pid).unwrap_err().to_string().contains("cannot stop process"));
    }

    #[test]
    fn a_session_that_is_preferred_outweighs_others() {
        let mut child = std::process::Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        wait::closely(Duration::from_secs(10), "a session", || Ok(leads_session(pid).then_some(()))).unwrap();
        prefer_session(pid).unwrap();
        let autogroup = fs::read_to_string(format!("/proc/{pid}/autogroup")).unwrap();
        assert!(autogroup.trim_end().ends_with(&format!("nice {PREFERENCE}")), "{autogroup}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn names_with_parentheses_do_not_confuse() {
        assert_eq!(parent_and_state("12 (a) R (b)) S 7 12 12 0"), Some((7, 'S')));
    }

    #[test]
    fn a_mark_is_found_among_variables() {
        assert_eq!(mark(b"PATH=/bin\0ANTREA_LAB=dev\0X=1").as_deref(), Some("dev"));
        assert_eq!(mark(b"PATH=/bin\0ANTREA_LABS=dev"), None);
    }
}
