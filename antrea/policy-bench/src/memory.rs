//! What the kernel says about the memory of a process.

use anyhow::{Context, Result};

/// A line of /proc/PID/status, such as `VmHWM:`, in bytes. Of this process, if none is named.
pub(crate) fn of(pid: Option<u32>, field: &str) -> Result<u64> {
    let pid = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let line = line.with_context(|| format!("there is no {field}"))?;
    let kibibytes: u64 =
        line.trim().trim_end_matches("kB").trim().parse().with_context(|| format!("{field} {line}"))?;
    Ok(kibibytes * 1024)
}
