//! Bad input gets one clear error, and changes nothing.

use antrea_e2e::command::Run as _;
use antrea_e2e::scenario::{Extent, is_wanted, product};
use anyhow::{Context, Result, bail, ensure};

use crate::cluster::{Cluster, NAMESPACE, on_the_cluster};

/// Runs a program in an agent's Pod with `input` as its file, and looks for words in its error.
fn check(cluster: &Cluster<'_>, program: &[&str], input: &str, code: u8, expected: &[&str]) -> Result<()> {
    let (node, _) = cluster.two_nodes()?;
    let pod = cluster.agent(node)?.pod;
    let mut command =
        cluster.kubectl.command(&["exec", "-i", "-n", NAMESPACE, &pod, "-c", "antrea-agent", "--"]);
    let Err(error) = command.args(program).feed(input) else { bail!("accepted: {input}") };
    let said =
        error.chain().map(ToString::to_string).find(|text| text.contains("failed (")).unwrap_or_default();
    ensure!(said.contains(&format!("(exit status: {code})")), "not exit code {code}: {said}");
    for words in expected {
        ensure!(said.contains(words), "{words:?} is not in: {said}");
    }
    Ok(())
}

const AGENT: [&str; 3] = ["antrea-agent", "--config", "/dev/stdin"];

#[test]
fn an_unknown_configuration_key_gives_one_clear_error() {
    on_the_cluster("an_unknown_configuration_key_gives_one_clear_error", |cluster| {
        check(cluster, &AGENT, "tunelType: geneve\n", 64, &["/dev/stdin:1:1: ", "tunelType"])
    });
}

#[test]
fn an_invalid_cidr_gives_one_clear_error() {
    on_the_cluster("an_invalid_cidr_gives_one_clear_error", |cluster| {
        let text = "trafficEncapMode: encap\nserviceCIDR: 10.96.0.0/33\n";
        check(cluster, &AGENT, text, 64, &["/dev/stdin:2:", "serviceCIDR", "10.96.0.0/33"])
    });
}

#[test]
fn a_malformed_conflist_gives_one_clear_error() {
    on_the_cluster("a_malformed_conflist_gives_one_clear_error", |cluster| {
        let install =
            ["antrea-cni", "install", "--bin-dir", "/", "--conf-file", "/dev/stdin", "--conf-dir", "/"];
        check(
            cluster,
            &install,
            "{\"name\": \"antrea\", ",
            1,
            &["network configuration list", "line 1 column"],
        )?;
        check(
            cluster,
            &install,
            "{\"cniVersion\": \"0.3.0\", \"name\": \"antrea\"}",
            1,
            &["plugins is missing"],
        )
    });
}

#[test]
fn a_misspelled_chart_value_gives_one_clear_error() {
    let name = "a_misspelled_chart_value_gives_one_clear_error";
    if is_wanted(name, Extent::Standard) {
        let result = template_with_a_misspelled_value();
        assert!(result.is_ok(), "{name}: {:?}", result.err());
    }
}

fn template_with_a_misspelled_value() -> Result<()> {
    let chart = product()?.chart;
    let template = |setting: &str| -> Result<String> {
        let mut helm = antrea_e2e::programs::ensure_built()?.command("helm")?;
        helm.args(["template", "antrea"]).arg(&chart).args(["--namespace", NAMESPACE, "--set", setting]);
        helm.text()
    };
    template("tunnelType=geneve").context("the value is refused though it is spelled right")?;
    let error = template("tunelType=geneve").err().context("a misspelled value was accepted")?.to_string();
    ensure!(error.contains("tunelType"), "it does not say which value it means: {error}");
    Ok(())
}
