//! cgroup v1: which controllers share a hierarchy on this machine, and the same mounts for a Node.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{NEEDED, PLACE};

/// The controllers of v1 alone without which a kubelet does not start.
const NEEDED_IN_V1: [&str; 1] = ["cpuacct"];

/// The hierarchies that are mounted, each by its controllers: `memory`, `cpu,cpuacct`. A controller is in one
/// hierarchy only, and is mounted with all that share it or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchies(Vec<String>);

impl Hierarchies {
    /// Lines are `NUMBER:CONTROLLERS:PATH` (cgroups(7)). Number 0 is cgroup v2; a hierarchy without controllers has a
    /// name instead, `name=systemd`. One that is mounted elsewhere is left alone: nobody would clean up in it.
    pub(super) fn parse(text: &str, is_mounted: impl Fn(&str) -> bool) -> Result<Self, String> {
        let listed = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let v1 = listed
            .map(|(controllers, _)| controllers)
            .filter(|controllers| !controllers.is_empty() && !controllers.contains('='));
        let mut found: Vec<String> = v1.map(str::to_owned).collect();
        if found.is_empty() {
            return Err(format!(
                "Nodes of the lab need control groups, and none are mounted below {PLACE}: \
                 `mount -t cgroup2 cgroup2 {PLACE}`"
            ));
        }
        found.retain(|controllers| is_mounted(controllers) || controllers.split(',').all(&is_mounted));
        found.sort();
        let hierarchies = Self(found);
        let missing: Vec<&str> =
            NEEDED.into_iter().chain(NEEDED_IN_V1).filter(|name| hierarchies.of(name).is_none()).collect();
        if missing.is_empty() {
            return Ok(hierarchies);
        }
        Err(format!(
            "the cgroup v1 controllers {}, which Nodes of labs need, are not mounted below {PLACE}: mount them, or boot \
             with cgroup v2",
            missing.join(", ")
        ))
    }

    /// The hierarchy that a controller is in.
    fn of(&self, controller: &str) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|all| all.split(',').any(|one| one == controller))
    }

    /// Where the hierarchy of a controller is mounted.
    pub(super) fn folder(&self, controller: &str) -> PathBuf {
        Path::new(PLACE).join(self.of(controller).unwrap_or(controller))
    }

    /// Mounts every hierarchy afresh, as the container runtime wants to write there, and creates the Node's own cgroup
    /// in each.
    pub(super) fn script(&self, cgroup: &str) -> String {
        let mut text = format!("mount -t tmpfs -o mode=755 tmpfs {PLACE}\n");
        for controllers in &self.0 {
            mount(&mut text, controllers, controllers, cgroup);
            // By its own name, too: that is where programs look for a controller.
            for alone in controllers.split(',').filter(|alone| alone != controllers) {
                let _ = writeln!(text, "ln -s {controllers} {PLACE}/{alone}");
            }
        }
        mount(&mut text, "systemd", "none,name=systemd", cgroup);
        // A new cpuset is empty, and nothing can run in it.
        for file in ["cpuset.cpus", "cpuset.mems"] {
            let _ = writeln!(text, "cat {PLACE}/cpuset/{file} > {PLACE}/cpuset/{cgroup}/{file}");
        }
        text
    }
}

fn mount(text: &mut String, folder: &str, options: &str, cgroup: &str) {
    let place = format!("{PLACE}/{folder}");
    let _ = writeln!(
        text,
        "mkdir {place} && mount -t cgroup -o {options} cgroup {place} && mkdir -p {place}/{cgroup}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As systemd mounts cgroup v1; the hierarchy of perf_event is mounted nowhere.
    const SYSTEMD: &str = "12:memory:/user.slice\n11:cpu,cpuacct:/user.slice\n10:net_cls,net_prio:/\n\
                           9:perf_event:/\n8:cpuset:/\n1:name=systemd:/user.slice\n0::/user.slice\n";

    fn parse(text: &str) -> Result<Hierarchies, String> {
        Hierarchies::parse(text, |folder| folder != "perf_event" && folder != "hugetlb")
    }

    #[test]
    fn controllers_that_share_a_hierarchy_are_mounted_together() {
        insta::assert_snapshot!(parse(SYSTEMD).unwrap().script("lab.c1-n1"), @r"
        mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
        mkdir /sys/fs/cgroup/cpu,cpuacct && mount -t cgroup -o cpu,cpuacct cgroup /sys/fs/cgroup/cpu,cpuacct && mkdir -p /sys/fs/cgroup/cpu,cpuacct/lab.c1-n1
        ln -s cpu,cpuacct /sys/fs/cgroup/cpu
        ln -s cpu,cpuacct /sys/fs/cgroup/cpuacct
        mkdir /sys/fs/cgroup/cpuset && mount -t cgroup -o cpuset cgroup /sys/fs/cgroup/cpuset && mkdir -p /sys/fs/cgroup/cpuset/lab.c1-n1
        mkdir /sys/fs/cgroup/memory && mount -t cgroup -o memory cgroup /sys/fs/cgroup/memory && mkdir -p /sys/fs/cgroup/memory/lab.c1-n1
        mkdir /sys/fs/cgroup/net_cls,net_prio && mount -t cgroup -o net_cls,net_prio cgroup /sys/fs/cgroup/net_cls,net_prio && mkdir -p /sys/fs/cgroup/net_cls,net_prio/lab.c1-n1
        ln -s net_cls,net_prio /sys/fs/cgroup/net_cls
        ln -s net_cls,net_prio /sys/fs/cgroup/net_prio
        mkdir /sys/fs/cgroup/systemd && mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd && mkdir -p /sys/fs/cgroup/systemd/lab.c1-n1
        cat /sys/fs/cgroup/cpuset/cpuset.cpus > /sys/fs/cgroup/cpuset/lab.c1-n1/cpuset.cpus
        cat /sys/fs/cgroup/cpuset/cpuset.mems > /sys/fs/cgroup/cpuset/lab.c1-n1/cpuset.mems
        ");
    }

    #[test]
    fn controllers_that_v2_has_taken_are_named() {
        let text = "3:cpuset:/\n2:hugetlb:/\n1:cpu,cpuacct:/\n0::/\n";
        assert_eq!(
            parse(text).unwrap_err(),
            "the cgroup v1 controllers memory, which Nodes of labs need, are not mounted below /sys/fs/cgroup: mount them, \
             or boot with cgroup v2"
        );
    }
}
