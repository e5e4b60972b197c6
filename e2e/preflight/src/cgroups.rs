//! Control groups: which version this machine has, and the same mounts with a cgroup of its own for each Node.

mod unified;
mod v1;

use std::fs;
use std::path::{Path, PathBuf};

use unified::Top;
pub use v1::Hierarchies;

use crate::Missing;

/// Where control groups are mounted, on the machine and on its Nodes.
const PLACE: &str = "/sys/fs/cgroup";

/// The controllers without which a kubelet does not start; v1 needs `cpuacct` too.
const NEEDED: [&str; 3] = ["cpu", "cpuset", "memory"];

/// The control groups of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cgroups {
    /// A hierarchy for each controller, or for a few together: cgroups(7), "Cgroups version 1".
    V1(Hierarchies),
    /// One hierarchy for all controllers: Linux, Documentation/admin-guide/cgroup-v2.rst.
    V2,
}

impl Cgroups {
    /// Those of this machine. Controllers that are mounted as v1 are v1, whatever else is there.
    ///
    /// # Errors
    /// When a controller that Nodes need is in neither version; the message names it.
    pub fn of_this_machine() -> Result<Self, Missing> {
        let text = fs::read_to_string("/proc/self/cgroup")
            .map_err(|error| format!("cannot read /proc/self/cgroup: {error}"))?;
        let top = Top::read(Path::new(PLACE));
        Ok(Self::choose(&text, |folder| Path::new(PLACE).join(folder).is_dir(), top.as_ref())?)
    }

    fn choose(
        memberships: &str,
        is_mounted: impl Fn(&str) -> bool,
        top: Option<&Top>,
    ) -> Result<Self, String> {
        match top {
            Some(top) => unified::check(top).map(|()| Self::V2),
            None => Hierarchies::parse(memberships, is_mounted).map(Self::V1),
        }
    }

    /// Lines of a Node's first script that mount the hierarchies and create the Node's own cgroup in each.
    pub fn script(&self, cgroup: &str) -> String {
        match self {
            Self::V1(hierarchies) => hierarchies.script(cgroup),
            Self::V2 => unified::script(cgroup),
        }
    }

    /// The folders in which Nodes have their cgroups: one for each hierarchy.
    pub fn roots(&self) -> Vec<PathBuf> {
        match self {
            Self::V1(_) => {
                folders(Path::new(PLACE)).into_iter().map(|name| Path::new(PLACE).join(name)).collect()
            }
            Self::V2 => vec![PLACE.into()],
        }
    }

    /// What containerd's configuration says of its own cgroup. In v2 it stays where the Node's first process is: Debian's
    /// containerd 1.6 does not create the cgroup that it is told to enter.
    pub fn containerd_setting(&self, cgroup: &str) -> String {
        match self {
            Self::V1(_) => format!("[cgroup]\npath = \"/{cgroup}/containerd\"\n"),
            Self::V2 => String::new(),
        }
    }

    /// The file with the weight of a Node's cgroup among those beside it, and ten times the usual weight.
    pub fn preferred(&self, cgroup: &str) -> (PathBuf, &'static str) {
        match self {
            Self::V1(hierarchies) => (hierarchies.folder("cpu").join(cgroup).join("cpu.shares"), "10240"),
            Self::V2 => (Path::new(PLACE).join(cgroup).join("cpu.weight"), "1000"),
        }
    }

    /// The line of the kubelet's configuration that this version takes: it refuses v1 unless it is told not to.
    pub fn kubelet_setting(&self) -> &'static str {
        match self {
            Self::V1(_) => "failCgroupV1: false\n",
            Self::V2 => "",
        }
    }
}

/// The folders in a folder; in sysfs links to folders count. None when there is no such folder.
pub fn folders(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_cgroup_v2_alone_has_v2() {
        let top = Top::of("cpuset cpu io memory hugetlb pids\n");
        assert_eq!(Cgroups::choose("0::/user.slice\n", |_| false, Some(&top)), Ok(Cgroups::V2));
    }

    #[test]
    fn a_machine_without_any_cgroups_is_refused() {
        let error = Cgroups::choose("0::/\n", |_| false, None).unwrap_err();
        assert_eq!(
            error,
            "Nodes of the lab need control groups, and none are mounted below /sys/fs/cgroup: \
             `mount -t cgroup2 cgroup2 /sys/fs/cgroup`"
        );
    }

    #[test]
    fn only_v1_has_to_be_allowed_to_the_kubelet() {
        let v1 = Hierarchies::parse("3:cpu,cpuacct:/\n2:cpuset:/\n1:memory:/\n", |_| true).unwrap();
        assert_eq!(Cgroups::V1(v1).kubelet_setting(), "failCgroupV1: false\n");
        assert_eq!(Cgroups::V2.kubelet_setting(), "");
    }
}
