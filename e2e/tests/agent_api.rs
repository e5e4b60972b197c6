//! The agent's own API, as antctl asks it: in its container, and from outside of the cluster.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use antrea_e2e::command::{KilledOnDrop, Run as _};
use antrea_e2e::names::{NodeId, Place};
use antrea_e2e::{exec, wait};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::antctl::Antctl;
use crate::cluster::{Cluster, NAMESPACE, on_the_cluster};

fn ensure_code(code: &str, wanted: &str, what: &str) -> Result<()> {
    ensure!(code == wanted, "{what} was answered with {code}, not {wanted}");
    Ok(())
}

#[test]
fn antctl_in_the_agents_container_asks_the_agent() {
    on_the_cluster("antctl_in_the_agents_container_asks_the_agent", |cluster| {
        let workload = cluster.workload(2)?;
        let (here, there) = cluster.two_nodes()?;
        let (pod, other) = (workload.pod_on(here)?, workload.pod_on(there)?);
        let antctl = |words: &[&str]| in_agent(cluster, here, words);
        let interfaces = antctl(&["get", "podinterface", &pod.name, "-n", "default"])?;
        let ip = pod.ips.iter().next().context("a Pod without address")?.to_string();
        ensure!(interfaces.starts_with("NAMESPACE NAME") && interfaces.contains(&ip), "{interfaces}");
        let of_pod = antctl(&["get", "ovsflows", "-p", &pod.name, "-n", "default"])?;
        ensure!(of_pod.contains(&ip) && of_pod.contains("table=SpoofGuard"), "{of_pod}");
        let info: Value = serde_json::from_str(&antctl(&["get", "agentinfo", "-o", "json"])?)?;
        ensure!(info["nodeRef"]["name"] == here.to_string(), "{info}");
        ensure!(antctl(&["get", "featuregates"])?.contains("AntreaProxy"), "there are no feature gates");
        ensure!(antctl(&["version"])?.contains("agentVersion: v"), "the agent does not say its version");
        let names = [&pod.name, &other.name].map(|name| format!("default/{name}"));
        let trace = antctl(&["trace-packet", "-S", &names[0], "-D", &names[1], "-f", "tcp,tcp_dst=80"])?;
        ensure!(trace.starts_with("result: |") && trace.contains("->tun_dst"), "{trace}");
        // The trace stops there, the packets do not: docs/antctl.md says why.
        ensure!(trace.contains("output port is 32768"), "{trace}");
        antctl(&["log-level", "4"])?;
        ensure!(antctl(&["log-level"])?.trim() == "4", "the level was not set");
        antctl(&["log-level", "0"])?;
        workload.delete()
    });
}

#[test]
fn antctl_proxy_makes_an_agent_available_outside() {
    on_the_cluster("antctl_proxy_makes_an_agent_available_outside", |cluster| {
        let workload = cluster.workload(1)?;
        let (node, _) = cluster.two_nodes()?;
        let pod = workload.pod_on(node)?;
        let antctl = Antctl::from_the_image(cluster)?;
        let proxy = Proxy::start(cluster, antctl.program(), node)?;
        let ask = |words: &[&str]| {
            let words = [words, ["--server", proxy.address.as_str()].as_slice()].concat();
            outside(cluster, antctl.program(), &words)?.text()
        };
        let interfaces = ask(&["get", "podinterface", "-n", "default"])?;
        ensure!(interfaces.contains(&pod.name), "{interfaces}");
        ensure!(
            ask(&["get", "ovsflows", "--table-names-only"])?.contains("SpoofGuard"),
            "there are no tables"
        );
        let url = format!("http://{}/agentinfo", proxy.address);
        let answer = outside(cluster, Path::new("curl"), &["-gsS", &url])?.text()?;
        ensure!(answer.contains("\"nodeSubnets\""), "{answer}");
        let host = ["-gs", "-H", "Host: example.com", "-w", "%{http_code}", "-o", "/dev/null", &url];
        ensure_code(outside(cluster, Path::new("curl"), &host)?.text()?.trim(), "403", "another host")?;
        drop(proxy);
        workload.delete()
    });
}

/// A running `antctl proxy`, until it is dropped.
struct Proxy {
    _antctl: KilledOnDrop,
    address: String,
}

impl Proxy {
    fn start(cluster: &Cluster<'_>, antctl: &Path, node: NodeId) -> Result<Self> {
        let node = node.to_string();
        let mut command = outside(cluster, antctl, &["proxy", "--agent-node", &node, "--port", "0"])?;
        let mut antctl = KilledOnDrop::spawn(command.stdout(Stdio::piped()))?;
        let output = antctl.stdout.take().context("there is no output")?;
        let mut proxy = Self { _antctl: antctl, address: String::new() };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("antctl cannot be read")?;
        let address = line.trim().strip_prefix("Starting to serve on ");
        proxy.address = address.with_context(|| format!("antctl proxy says {line:?}"))?.to_owned();
        wait::until(Duration::from_secs(10), "the proxy to answer", || {
            let url = format!("http://{}/readyz", proxy.address);
            outside(cluster, Path::new("curl"), &["-gsSf", &url])?.text().map(|text| text == "ok")
        })?;
        Ok(proxy)
    }
}

/// A command on the machine of the cluster's administrator, which reaches API server and Nodes.
pub(crate) fn outside(cluster: &Cluster<'_>, program: &Path, words: &[&str]) -> Result<Command> {
    let words: Vec<OsString> =
        [program.as_os_str().to_owned()].into_iter().chain(words.iter().map(OsString::from)).collect();
    exec::command(cluster.lab, Place::Cluster(cluster.plan()?.id), &words)
}

/// What antctl prints in the container of a Node's agent.
pub(crate) fn in_agent(cluster: &Cluster<'_>, node: NodeId, words: &[&str]) -> Result<String> {
    let pod = cluster.agent(node)?.pod;
    let exec = ["exec", "-n", NAMESPACE, &pod, "-c", "antrea-agent", "--", "antctl"];
    cluster.kubectl.text(&[exec.as_slice(), words].concat())
}
