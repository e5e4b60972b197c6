//! antrea-controller answers nobody who may not ask, whatever it is that is asked for.

use antrea_e2e::names::NodeId;
use anyhow::{Context, Result};

use super::controllers;
use super::stage::{Stage, on_the_stage};
use crate::cluster::NAMESPACE;
use crate::http_codes;

const GROUP: &str = "/apis/controlplane.antrea.io/v1beta2";

/// What is read. Discovery is left out: whoever is anybody may see it.
const READ: [&str; 21] = [
    "/apis/controlplane.antrea.io/v1beta2/networkpolicies",
    "/apis/controlplane.antrea.io/v1beta2/networkpolicies?watch=true&fieldSelector=nodeName%3Dc1-n1",
    "/apis/controlplane.antrea.io/v1beta2/networkpolicies/some",
    "/apis/controlplane.antrea.io/v1beta2/addressgroups",
    "/apis/controlplane.antrea.io/v1beta2/addressgroups?watch=true",
    "/apis/controlplane.antrea.io/v1beta2/addressgroups/some",
    "/apis/controlplane.antrea.io/v1beta2/appliedtogroups",
    "/apis/controlplane.antrea.io/v1beta2/appliedtogroups?watch=true",
    "/apis/controlplane.antrea.io/v1beta2/appliedtogroups/some",
    "/apis/controlplane.antrea.io/v1beta2/egressgroups",
    "/apis/controlplane.antrea.io/v1beta2/clustergroupmembers/some",
    "/apis/controlplane.antrea.io/v1beta2/namespaces/x/groupassociations/x-a",
    "/apis/controlplane.antrea.io/v1beta2/ipgroupassociations/10.0.0.1",
    "/apis/stats.antrea.io/v1alpha1/networkpolicystats",
    "/apis/stats.antrea.io/v1alpha1/namespaces/x/networkpolicystats/some",
    "/apis/system.antrea.io/v1beta1/controllerinfos",
    "/apis/no.such.group/v1/things",
    "/endpoint?namespace=x&pod=x-a",
    "/featuregates",
    "/loglevel",
    "/metrics",
];

/// What is written.
const WRITTEN: [&str; 3] = ["networkpolicies/some/status", "nodestatssummaries", "networkpolicyevaluation"];

#[test]
fn the_controller_answers_nobody_who_may_not_ask() {
    on_the_stage("the_controller_answers_nobody_who_may_not_ask", |stage| {
        let controller = Controller::of(stage)?;
        let token = |words: &[&str]| {
            let words = [&["create", "token"], words].concat();
            stage.services.cluster.kubectl.text(&words).map(|token| token.trim().to_owned())
        };
        controller.ensure_refused("nobody", None, "401")?;
        controller.ensure_refused("a token that is none", Some("nonsense"), "401")?;
        let elsewhere = token(&["antrea-agent", "-n", NAMESPACE, "--audience=elsewhere"])?;
        controller.ensure_refused("an agent's token for somebody else", Some(&elsewhere), "401")?;
        let other = token(&["default", "-n", "default"])?;
        controller.ensure_refused("another ServiceAccount", Some(&other), "403")?;
        let services = stage.services;
        let (own, other) = (services.there.node, services.here.node);
        let pod = services.cluster.agent(own)?.pod;
        let account = ["antrea-agent", "-n", NAMESPACE];
        let unbound = token(&account)?;
        let agent = token(
            &[&account[..], &["--bound-object-kind=Pod", "--bound-object-name", pod.as_str()]].concat(),
        )?;
        let watched = |node: NodeId| {
            ["networkpolicies", "addressgroups", "appliedtogroups"].map(|kind| {
                format!("{GROUP}/{kind}?watch=true&timeoutSeconds=1&fieldSelector=nodeName%3D{node}")
            })
        };
        controller.ensure_answered(&watched(own), Some(&agent), "200").context("an agent")?;
        controller.ensure_answered(&watched(other), Some(&agent), "403").context("about another Node")?;
        controller.ensure_answered(&watched(own), Some(&unbound), "403").context("a token without a Node")?;
        let bound = ["--audience=antrea-controller", "--bound-object-kind=Pod", "--bound-object-name", &pod];
        let for_it_alone = token(&[&account[..], &bound].concat())?;
        controller.ensure_answered(&watched(own), Some(&for_it_alone), "200").context("for it alone")?;
        controller.ensure_answered(&watched(other), Some(&for_it_alone), "403").context("about another")?;
        let public = ["/healthz", "/livez", "/readyz"].map(str::to_owned);
        controller.ensure_answered(&public, None, "200").context("a probe")
    });
}

/// An agent reads what it enforces, and nothing that is not its business.
#[test]
fn an_agent_may_not_change_log_levels_of_the_controller() {
    on_the_stage("an_agent_may_not_change_log_levels_of_the_controller", |stage| {
        let words = ["create", "token", "antrea-agent", "-n", NAMESPACE];
        let agent = stage.services.cluster.kubectl.text(&words)?.trim().to_owned();
        let others = ["/loglevel", "/loglevel?level=4", "/endpoint?namespace=x&pod=x-a"].map(str::to_owned);
        Controller::of(stage)?.ensure_answered(&others, Some(&agent), "403")
    });
}

/// The controller, asked directly and not through the cluster's API server.
struct Controller<'a> {
    stage: &'a Stage<'a>,
    address: String,
}

impl<'a> Controller<'a> {
    fn of(stage: &'a Stage<'a>) -> Result<Self> {
        let pod = controllers::pod(stage)?;
        let ip = pod["status"]["podIP"].as_str().context("a controller without address")?;
        let ip = if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() };
        Ok(Self { stage, address: format!("https://{ip}:10349") })
    }

    fn ensure_refused(&self, who: &str, token: Option<&str>, code: &str) -> Result<()> {
        self.ensure_answered(&READ.map(str::to_owned), token, code).context(who.to_owned())?;
        let written = WRITTEN.map(|path| format!("{GROUP}/{path}"));
        self.ensure_codes(
            &["-X", "POST", "-H", "Content-Type: application/json", "-d", "{}"],
            &written,
            token,
            code,
        )
        .context(who.to_owned())
    }

    fn ensure_answered(&self, paths: &[String], token: Option<&str>, code: &str) -> Result<()> {
        self.ensure_codes(&[], paths, token, code)
    }

    fn ensure_codes(&self, words: &[&str], paths: &[String], token: Option<&str>, code: &str) -> Result<()> {
        let urls: Vec<String> = paths.iter().map(|path| format!("{}{path}", self.address)).collect();
        let curl = http_codes::curl(words, token, &urls);
        let curl: Vec<&str> = curl.iter().map(String::as_str).collect();
        let services = self.stage.services;
        let printed = services.cluster.on_node(services.there.node, &curl)?;
        http_codes::ensure_each_is(code, &printed, &urls)
    }
}
