//! What the containers of the product may do, seen from inside of them.

use anyhow::{Result, ensure};

use crate::cluster::{Cluster, NAMESPACE, on_the_cluster};

/// The user, the seccomp mode of the kernel (2: filtered), whether there is a token, and whether root can be written.
const LOOK: &str = "
    token=token; [ -e /var/run/secrets/kubernetes.io/serviceaccount/token ] || token=none
    root=written; (: > /written) 2>/dev/null || root=kept
    busybox echo $(busybox id -u) $(busybox awk '/^Seccomp:/ {print $2}' /proc/self/status) $token $root";

fn check(cluster: &Cluster<'_>, pod: &str, container: &str, expected: &str) -> Result<()> {
    let exec = ["exec", "-n", NAMESPACE, pod, "-c", container, "--", "sh", "-c", LOOK];
    let seen = cluster.kubectl.text(&exec)?;
    ensure!(seen.trim() == expected, "{container}: {:?} and not {expected:?}", seen.trim());
    Ok(())
}

/// The lab's datapath is `netdev`, with which Open vSwitch's container is privileged.
#[test]
fn the_agent_alone_has_a_token_on_its_node_and_no_container_can_write_its_root() {
    on_the_cluster(
        "the_agent_alone_has_a_token_on_its_node_and_no_container_can_write_its_root",
        |cluster| {
            let pod = cluster.agent(cluster.two_nodes()?.0)?.pod;
            check(cluster, &pod, "antrea-agent", "0 0 token kept")?;
            check(cluster, &pod, "antrea-ovs", "0 0 none kept")?;
            check(cluster, "deployment/antrea-controller", "antrea-controller", "65532 2 token kept")
        },
    );
}

/// As upstream's agent asks `ovs-vswitchd`: from another container, whose processes have other numbers.
const AS_UPSTREAMS_AGENT: &str = "folder=/var/run/openvswitch; ovs-appctl -t $folder/ovs-vswitchd.$(cat $folder/ovs-vswitchd.pid).ctl version";

#[test]
fn daemons_of_open_vswitch_are_found_where_its_programs_and_upstreams_agent_look() {
    let name = "daemons_of_open_vswitch_are_found_where_its_programs_and_upstreams_agent_look";
    on_the_cluster(name, |cluster| {
        let pod = cluster.agent(cluster.two_nodes()?.0)?.pod;
        let ask = |container: &str, words: &[&str], daemon: &str| {
            let exec = ["exec", "-n", NAMESPACE, &pod, "-c", container, "--"];
            let version = cluster.kubectl.text(&[&exec[..], words].concat())?;
            ensure!(version.starts_with(daemon), "{words:?} in {container}: {version}");
            Ok(())
        };
        ask("antrea-ovs", &["ovs-appctl", "version"], "ovs-vswitchd")?;
        ask("antrea-ovs", &["ovs-appctl", "-t", "ovsdb-server", "version"], "ovsdb-server")?;
        ask("antrea-agent", &["sh", "-c", AS_UPSTREAMS_AGENT], "ovs-vswitchd")
    });
}
