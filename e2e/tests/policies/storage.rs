//! The agent cannot keep what it knows: it enforces it all the same, and keeps it as soon as it can.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::Duration;

use antrea_e2e::names::NodeId;
use antrea_e2e::wait;
use anyhow::{Context, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};

use super::stage::{Stage, on_the_stage};
use super::streams::{Streams, busy};

/// Where the agent keeps policies, as its container has it and as the Node has it.
const FOLDER: &str = "/var/run/antrea/networkpolicy";
const ON_NODE: &str = "/run/antrea/networkpolicy/network-policies";

/// What stands over that folder for a time: a disk without room for a file, and one that cannot be written.
const DISKS: [(&str, MsFlags, &str); 2] =
    [("full", MsFlags::empty(), "size=4k,nr_inodes=1"), ("read-only", MsFlags::MS_RDONLY, "size=4k")];

#[test]
fn an_agent_whose_disk_is_full_or_read_only_enforces_policies_and_keeps_them_later() {
    on_the_stage(
        "an_agent_whose_disk_is_full_or_read_only_enforces_policies_and_keeps_them_later",
        |stage| {
            let streams = Streams::of_an_isolated_namespace(stage)?;
            let node = stage.services.there.node;
            keep(stage, node, "first", |work| work())?;
            for (name, flags, options) in DISKS {
                let fault = || keep(stage, node, name, |work| with_disk(stage, node, flags, options, work));
                streams.ensure_hold_during(fault, |time| busy(stage, time))?;
            }
            Ok(())
        },
    );
}

/// Makes a policy of that name as `circumstances` allow, and waits until it is kept; then it goes.
fn keep(
    stage: &Stage<'_>,
    node: NodeId,
    name: &str,
    circumstances: impl FnOnce(&dyn Fn() -> Result<String>) -> Result<String>,
) -> Result<()> {
    let uid = circumstances(&|| enforce(stage, name))?;
    wait::until(Duration::from_secs(60), &format!("policy {uid} to be kept"), || {
        Ok(stage.services.cluster.on_node(node, &["ls", ON_NODE])?.contains(&uid))
    })?;
    stage.delete_policy("z", name)?;
    stage.ensure("z-a -> z-b tcp/8080: allowed")
}

/// Does `work` while such a disk stands over the folder of policies.
fn with_disk<T>(
    stage: &Stage<'_>,
    node: NodeId,
    flags: MsFlags,
    options: &str,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    in_the_agents_files(stage, node, || {
        mount(Some("tmpfs"), FOLDER, Some("tmpfs"), flags, Some(options)).context("cannot mount a disk")
    })?;
    let result = work();
    in_the_agents_files(stage, node, || umount2(FOLDER, MntFlags::MNT_DETACH).context("cannot unmount it"))?;
    result
}

/// Makes a policy of that name, and returns its UID when it is enforced.
fn enforce(stage: &Stage<'_>, name: &str) -> Result<String> {
    stage.apply(&format!(
        "apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: {name}, namespace: z}}
spec: {{podSelector: {{matchLabels: {{app: z-b}}}}, policyTypes: [Ingress]}}"
    ))?;
    stage.ensure("z-a here -> z-b tcp/8080 udp/8080: denied")?;
    let path = format!("/apis/networking.k8s.io/v1/namespaces/z/networkpolicies/{name}");
    let policy = stage.api().get(&path)?;
    policy["metadata"]["uid"].as_str().map(str::to_owned).context("a policy without UID")
}

/// Does `work` where the agent of a Node sees its files.
fn in_the_agents_files(
    stage: &Stage<'_>,
    node: NodeId,
    work: impl FnOnce() -> Result<()> + Send,
) -> Result<()> {
    let path = format!("/proc/{}/ns/mnt", stage.services.cluster.agent_here(node)?.pid);
    let file = File::open(Path::new(&path)).with_context(|| format!("cannot open {path}"))?;
    let visit = || {
        // Folders are a matter of the whole process otherwise.
        unshare(CloneFlags::CLONE_FS).context("cannot leave the folders of this process")?;
        setns(file, CloneFlags::CLONE_NEWNS).context("cannot enter the mount namespace of the agent")?;
        work()
    };
    thread::scope(|scope| scope.spawn(visit).join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
}
