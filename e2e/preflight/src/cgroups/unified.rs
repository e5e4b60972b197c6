//! cgroup v2: one hierarchy, in which only leaves have processes.

use super::{NEEDED, PLACE};

/// The file that names the controllers of a cgroup.
pub(super) const CONTROLLERS: &str = "cgroup.controllers";

/// The leaf for what runs on a Node outside of Pods. A cgroup that hands controllers to those below it has no processes
/// of its own (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint").
const SYSTEM: &str = "system";

/// Checks that the root has the controllers that Nodes need.
pub(super) fn check(controllers: &str) -> Result<(), String> {
    let has = |wanted: &&str| controllers.split_whitespace().any(|controller| controller == *wanted);
    let missing: Vec<&str> = NEEDED.into_iter().filter(|controller| !has(controller)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "Nodes of the lab need the controllers {} in {PLACE}, which is cgroup v2, and they are not there",
        missing.join(", ")
    ))
}

/// Mounts the hierarchy afresh, moves the Node's first process into a leaf, and hands all controllers down to where the
/// kubelet creates the cgroups of Pods. On machines with systemd the root hands down only some of them.
pub(super) fn script(cgroup: &str) -> String {
    format!(
        "mount -t cgroup2 cgroup2 {PLACE}\n\
         mkdir -p {PLACE}/{cgroup}/{SYSTEM}\n\
         echo $$ > {PLACE}/{cgroup}/{SYSTEM}/cgroup.procs\n\
         for controller in $(cat {PLACE}/{CONTROLLERS}); do\n\
         for parent in {PLACE} {PLACE}/{cgroup}; do\n\
         echo +$controller > $parent/cgroup.subtree_control || echo \"$parent hands no $controller down\" >&2\n\
         done\n\
         done\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_leaves_before_controllers_are_handed_down() {
        insta::assert_snapshot!(script("lab.c1-n1"), @r#"
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        mkdir -p /sys/fs/cgroup/lab.c1-n1/system
        echo $$ > /sys/fs/cgroup/lab.c1-n1/system/cgroup.procs
        for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
        for parent in /sys/fs/cgroup /sys/fs/cgroup/lab.c1-n1; do
        echo +$controller > $parent/cgroup.subtree_control || echo "$parent hands no $controller down" >&2
        done
        done
        "#);
    }
}
