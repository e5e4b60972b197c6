//! Pods on a machine with cgroup v2 alone. `cargo xtask test --all` starts one, makes a lab in it and names that lab to
//! this test.

use std::fs;
use std::path::Path;

use antrea_e2e::lab::Lab;
use antrea_e2e::pods::{PORT, Pod};
use antrea_e2e::preflight::cgroups::Cgroups;
use anyhow::{Context, Result, ensure};

/// The lab that is there.
const LAB: &str = "ANTREA_E2E_LAB";

#[test]
fn pods_talk_on_a_lab_with_cgroup_v2_alone() {
    let test = "pods_talk_on_a_lab_with_cgroup_v2_alone";
    let Ok(lab) = std::env::var(LAB) else {
        println!("SKIPPED {test}: {LAB} names no lab; `cargo xtask test --all` makes one in a guest");
        return;
    };
    let result = lab.parse().and_then(|name| Lab::open(&name)).and_then(|lab| pods_talk(&lab));
    assert!(result.is_ok(), "{test}: {:?}", result.err());
}

fn pods_talk(lab: &Lab) -> Result<()> {
    ensure!(Cgroups::of_this_machine()? == Cgroups::V2, "this machine has cgroup v1");
    let cluster = lab.plan().clusters.first().context("the lab has no cluster")?;
    let node = cluster.nodes.first().context("the cluster has no Node")?.id;
    let pods = Pod::create(&lab.kubectl(cluster.id)?, &[("a", node), ("b", node)])?;
    let [a, b] = pods.as_slice() else { anyhow::bail!("a Pod is missing") };
    let address = b.ips.iter().next().copied().context("a Pod without address")?;
    a.ping(address, 1400)?;
    ensure!(a.get((address, PORT).into(), "/hostname")? == "b", "somebody else answered");
    containers_have_limits(&lab.plan().name.cgroup(node))
}

/// The kubelet's cgroups of Pods are below the Node's, with the controllers that it limits containers by.
fn containers_have_limits(cgroup: &str) -> Result<()> {
    let pods = Path::new("/sys/fs/cgroup").join(cgroup).join("kubepods");
    let file = pods.join("cgroup.controllers");
    let controllers = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    for controller in ["cpu", "cpuset", "memory"] {
        ensure!(
            controllers.split_whitespace().any(|one| one == controller),
            "{controller} is not handed to Pods"
        );
    }
    Ok(())
}
