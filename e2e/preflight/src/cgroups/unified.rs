//! cgroup v2: one hierarchy, in which only leaves have processes.

use std::fs;
use std::path::Path;

use super::{NEEDED, PLACE};

/// The file that names the controllers of a cgroup.
const CONTROLLERS: &str = "cgroup.controllers";

/// The leaf for what runs on a Node outside of Pods. A cgroup that hands controllers to those below it has no processes
/// of its own (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint").
const SYSTEM: &str = "system";

/// The controllers that a kubelet uses where the kernel has them.
const USED: [&str; 2] = ["hugetlb", "pids"];

/// The uppermost cgroup that this machine sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Top {
    controllers: String,
    handed_down: String,
    /// Whether something runs in it, which only the root of the whole hierarchy may hand controllers down beside.
    has_processes: bool,
    is_root: bool,
}

impl Top {
    /// None where v2 is not mounted: the file that names controllers is nowhere in v1.
    pub(super) fn read(place: &Path) -> Option<Self> {
        let read = |name: &str| fs::read_to_string(place.join(name)).ok();
        Some(Self {
            controllers: read(CONTROLLERS)?,
            handed_down: read("cgroup.subtree_control").unwrap_or_default(),
            has_processes: read("cgroup.procs").is_some_and(|processes| !processes.is_empty()),
            is_root: !place.join("cgroup.type").exists(),
        })
    }
}

#[cfg(test)]
impl Top {
    /// The root of a hierarchy with these controllers, in which something runs.
    pub(super) fn of(controllers: &str) -> Self {
        let (controllers, handed_down) = (controllers.to_owned(), String::new());
        Self { controllers, handed_down, has_processes: true, is_root: true }
    }
}

/// Checks that the uppermost cgroup has the controllers that Nodes need, and can hand them down.
pub(super) fn check(top: &Top) -> Result<(), String> {
    let lacks = |names: &str| {
        let has = |wanted: &&str| names.split_whitespace().any(|controller| controller == *wanted);
        NEEDED.into_iter().filter(|controller| !has(controller)).collect::<Vec<_>>()
    };
    if !top.is_root && top.has_processes && !lacks(&top.handed_down).is_empty() {
        return Err(format!(
            "{PLACE} is the cgroup of a container, and hands no controllers down while processes are in it: \
             `mkdir {PLACE}/init && xargs -rn1 < {PLACE}/cgroup.procs > {PLACE}/init/cgroup.procs`"
        ));
    }
    let missing = lacks(&top.controllers);
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{PLACE}, which is cgroup v2, lacks the controllers {}, which Nodes of labs need: the kernel has to have them",
        missing.join(", ")
    ))
}

/// Mounts the hierarchy afresh, moves the Node's first process into a leaf, and hands controllers down to where the
/// kubelet creates the cgroups of Pods. On machines with systemd the root hands down only some of them.
pub(super) fn script(cgroup: &str) -> String {
    let (needed, used) = (NEEDED.join(" "), USED.join(" "));
    format!(
        "mount -t cgroup2 cgroup2 {PLACE}\n\
         mkdir -p {PLACE}/{cgroup}/{SYSTEM}\n\
         echo $$ > {PLACE}/{cgroup}/{SYSTEM}/cgroup.procs\n\
         for parent in {PLACE} {PLACE}/{cgroup}; do\n\
         for controller in {needed}; do echo +$controller > $parent/cgroup.subtree_control; done\n\
         for controller in {used}; do echo +$controller > $parent/cgroup.subtree_control || true; done\n\
         done\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_hands_controllers_down_beside_processes() {
        assert_eq!(check(&Top::of("cpuset cpu io memory hugetlb pids\n")), Ok(()));
    }

    #[test]
    fn controllers_that_are_missing_are_named() {
        assert_eq!(
            check(&Top::of("cpu pids\n")).unwrap_err(),
            "/sys/fs/cgroup, which is cgroup v2, lacks the controllers cpuset, memory, which Nodes of labs need: \
             the kernel has to have them"
        );
    }

    #[test]
    fn a_container_hands_controllers_down_once_its_processes_are_elsewhere() {
        let container = Top { is_root: false, ..Top::of("cpuset cpu memory pids\n") };
        let error = check(&container).unwrap_err();
        assert!(error.starts_with("/sys/fs/cgroup is the cgroup of a container"), "{error}");
        assert_eq!(check(&Top { has_processes: false, ..container.clone() }), Ok(()));
        assert_eq!(check(&Top { handed_down: "cpuset cpu memory\n".to_owned(), ..container }), Ok(()));
    }

    #[test]
    fn the_first_process_leaves_before_controllers_are_handed_down() {
        insta::assert_snapshot!(script("lab.c1-n1"), @r#"
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        mkdir -p /sys/fs/cgroup/lab.c1-n1/system
        echo $$ > /sys/fs/cgroup/lab.c1-n1/system/cgroup.procs
        for parent in /sys/fs/cgroup /sys/fs/cgroup/lab.c1-n1; do
        for controller in cpu cpuset memory; do echo +$controller > $parent/cgroup.subtree_control; done
        for controller in hugetlb pids; do echo +$controller > $parent/cgroup.subtree_control || true; done
        done
        "#);
    }
}
