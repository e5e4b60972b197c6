//! antctl as users get it, out of the agent's image: it finds nothing wrong with a cluster that is well, and says what is
//! wrong with one that is not.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use antrea_e2e::command::Run as _;
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::plan::address_in;
use antrea_e2e::scenario::{Extent, Part};
use antrea_e2e::state;
use antrea_e2e::{exec, wait};
use anyhow::{Context, Result, ensure};

use crate::cluster::{Cluster, NAMESPACE, on_the_cluster, on_the_cluster_of};

/// All that `check installation` tests.
const TESTS: [&str; 10] = [
    "agent-health",
    "controller-health",
    "pod-to-pod-intranode-connectivity",
    "pod-to-pod-internode-connectivity",
    "pod-to-service-intranode-connectivity",
    "pod-to-service-internode-connectivity",
    "pod-to-service-hairpin-connectivity",
    "pod-to-node-connectivity",
    "node-to-pod-connectivity",
    "pod-to-internet-connectivity",
];

/// An antctl on this machine, and the cluster it talks to.
pub(crate) struct Antctl<'a> {
    cluster: &'a Cluster<'a>,
    program: PathBuf,
}

/// What antctl said, and how it ended.
struct Said {
    text: String,
    status: ExitStatus,
}

#[test]
fn antctl_finds_nothing_wrong_with_an_installation_that_is_well() {
    on_the_cluster("antctl_finds_nothing_wrong_with_an_installation_that_is_well", |cluster| {
        let antctl = Antctl::from_the_image(cluster)?;
        let version = antctl.run(&["version"])?;
        version.ensure_contains(&["antctlVersion: ", "controllerVersion: "])?;
        let said = antctl.run(&["check", "installation", "--outside", &outside(cluster)?])?;
        let passed: Vec<String> = TESTS.iter().map(|test| format!("Test {test} passed")).collect();
        said.ensure_contains(&passed.iter().map(String::as_str).collect::<Vec<_>>())?;
        said.ensure_contains(&["10 tests succeeded, 0 tests failed, 0 tests were skipped"])?;
        ensure!(said.status.code() == Some(0), "it ended with {}", said.status);
        ensure_no_namespace(cluster)
    });
}

#[test]
fn antctl_names_the_nodes_between_which_the_tunnel_is_blocked() {
    on_the_cluster_of(
        Extent::Long(Part::One),
        "antctl_names_the_nodes_between_which_the_tunnel_is_blocked",
        |cluster| {
            let antctl = Antctl::from_the_image(cluster)?;
            let (first, last) = cluster.two_nodes()?;
            block_geneve_from(cluster, last)?;
            let said = antctl.run(&["check", "installation", "--run", "pod-to-pod"])?;
            unblock(cluster)?;
            said.ensure_contains(&[
                "Test pod-to-pod-intranode-connectivity passed",
                "Test pod-to-pod-internode-connectivity failed:",
                &format!("Pod client-1 on Node {first} → Pod echo-2 on Node {last}"),
                &format!("Pod client-2 on Node {last} → Pod echo-1 on Node {first}"),
                "Cause: the Nodes reach each other, the tunnel between them does not",
                "UDP 6081 for Geneve",
                "1 tests succeeded, 1 tests failed, 0 tests were skipped",
            ])?;
            ensure!(said.status.code() == Some(1), "it ended with {}", said.status);
            ensure_no_namespace(cluster)
        },
    );
}

#[test]
fn antctl_says_what_a_cluster_has_that_an_installation_would_meet() {
    on_the_cluster("antctl_says_what_a_cluster_has_that_an_installation_would_meet", |cluster| {
        let antctl = Antctl::from_the_image(cluster)?;
        let well = antctl.run(&["check", "cluster"])?;
        well.ensure_contains(&[
            "Test check-k8s-version passed",
            "Test check-pod-cidrs passed",
            "10-antrea.conflist",
            "Test check-cni-existence passed",
            "CRDs of Antrea belong to Helm's release antrea in Namespace kube-system",
            "Test check-ports passed",
            "Test check-kube-proxy passed",
            "0 tests failed",
        ])?;
        ensure!(well.status.code() == Some(0), "it ended with {}", well.status);
        let label = |change| cluster.kubectl.text(&["label", "crd", "tiers.crd.antrea.io", change]);
        label("app.kubernetes.io/managed-by-")?;
        let said = antctl.run(&["check", "cluster"])?;
        label("app.kubernetes.io/managed-by=Helm")?;
        said.ensure_contains(&[
            "Test check-crds failed:",
            "CustomResourceDefinition tiers.crd.antrea.io is there already",
            "--take-ownership",
        ])?;
        ensure!(said.status.code() == Some(1), "it ended with {}", said.status);
        ensure_no_namespace(cluster)
    });
}

#[test]
fn antctl_leaves_nothing_when_it_is_interrupted() {
    on_the_cluster("antctl_leaves_nothing_when_it_is_interrupted", |cluster| {
        let antctl = Antctl::from_the_image(cluster)?;
        let mut command = antctl.command(&["check", "installation"]);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("cannot run antctl")?;
        wait::until(Duration::from_secs(30), "antctl to make its Namespace", || {
            Ok(!namespaces(cluster)?.is_empty())
        })?;
        Command::new("kill").args(["-INT", &child.id().to_string()]).run()?;
        let status = child.wait().context("cannot wait for antctl")?;
        ensure!(status.code() == Some(1), "it ended with {status}");
        ensure_no_namespace(cluster)
    });
}

impl<'a> Antctl<'a> {
    /// Copies it out of a Pod of the agent.
    pub(crate) fn from_the_image(cluster: &'a Cluster<'a>) -> Result<Self> {
        let (node, _) = cluster.two_nodes()?;
        let program = state::folder(&cluster.lab.plan().name).join("antctl");
        let file = File::create(&program).with_context(|| format!("cannot write {}", program.display()))?;
        let pod = cluster.agent(node)?.pod;
        let cat = ["exec", "-n", NAMESPACE, &pod, "-c", "antrea-agent", "--", "cat", "/usr/local/bin/antctl"];
        let status = cluster.kubectl.command(&cat).stdout(file).status().context("cannot run kubectl")?;
        ensure!(status.success(), "there is no antctl in the agent's image");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
            .context("cannot make it executable")?;
        Ok(Self { cluster, program })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).arg("--kubeconfig").arg(self.cluster.kubectl.kubeconfig()).env("NO_PROXY", "*");
        command
    }

    fn run(&self, words: &[&str]) -> Result<Said> {
        let output = self.command(words).output().context("cannot run antctl")?;
        let text = [output.stdout, output.stderr].concat();
        Ok(Said { text: String::from_utf8_lossy(&text).into_owned(), status: output.status })
    }
}

impl Said {
    fn ensure_contains(&self, parts: &[&str]) -> Result<()> {
        for part in parts {
            ensure!(self.text.contains(part), "antctl does not say {part:?}:\n{}", self.text);
        }
        Ok(())
    }
}

/// The server outside of all clusters.
fn outside(cluster: &Cluster<'_>) -> Result<String> {
    let net = cluster.lab.plan().block.outside().v4.context("nothing is outside")?;
    Ok(format!("{}:80", address_in(&net, 2).context("the network outside is too small")?))
}

/// Drops what a Node sends through its tunnel, in the switch between the Nodes: Open vSwitch of the userspace datapath
/// takes packets before any firewall of the Node does, and no agent mends what is not on its Node.
fn block_geneve_from(cluster: &Cluster<'_>, node: NodeId) -> Result<()> {
    let rules = format!(
        "table bridge antctl {{ chain forward {{ type filter hook forward priority filter; \
         iifname \"{node}-1\" udp dport 6081 drop; }}; }}"
    );
    nft(cluster, &["-f", "-"])?.feed(&rules).map(drop)
}

fn unblock(cluster: &Cluster<'_>) -> Result<()> {
    nft(cluster, &["delete", "table", "bridge", "antctl"])?.run()
}

fn nft(cluster: &Cluster<'_>, words: &[&str]) -> Result<Command> {
    let words: Vec<OsString> = ["nft"].iter().chain(words).map(OsString::from).collect();
    exec::command(cluster.lab, Place::Router, &words)
}

/// The Namespaces of checks.
fn namespaces(cluster: &Cluster<'_>) -> Result<String> {
    let selector = "app=antrea,component in (installation-checker, cluster-checker)";
    cluster.kubectl.text(&["get", "namespaces", "-l", selector, "-o", "name"])
}

fn ensure_no_namespace(cluster: &Cluster<'_>) -> Result<()> {
    let left = namespaces(cluster)?;
    ensure!(left.is_empty(), "antctl left {left}");
    Ok(())
}
