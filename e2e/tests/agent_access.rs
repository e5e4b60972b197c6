//! An agent answers nobody who may not ask, whatever it is that is asked for.

use antrea_e2e::names::NodeId;
use anyhow::{Context, Result};
use serde_json::Value;

use crate::cluster::{Cluster, NAMESPACE, on_the_cluster};
use crate::http_codes;

/// Where every Pod has the token of its ServiceAccount.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// What an agent answers, and something that it does not; antctl's ClusterRole may name more.
const PATHS: [&str; 11] = [
    "/addressgroups",
    "/agentinfo",
    "/appliedtogroups",
    "/featuregates",
    "/loglevel",
    "/metrics",
    "/networkpolicies",
    "/nothing",
    "/ovsflows",
    "/ovstracing",
    "/podinterfaces",
];

/// What Kubernetes lets everybody ask who has a token.
const VERSION: &str = "/version";

const WRITTEN: &str = "/loglevel?level=4";

#[test]
fn an_agent_answers_nobody_who_may_not_ask() {
    on_the_cluster("an_agent_answers_nobody_who_may_not_ask", |cluster| {
        let workload = cluster.workload(1)?;
        let (here, there) = cluster.two_nodes()?;
        let api = format!("https://{}:10350", node_ip(cluster, here)?);
        let paths = paths(cluster)?;
        let from_node = |curl: &[&str]| cluster.on_node(there, curl);
        let on_node = Client { api: &api, run: &from_node };
        let elsewhere = token(cluster, &["antctl", "-n", NAMESPACE, "--audience=elsewhere"])?;
        for token in [None, Some("nonsense"), Some(elsewhere.as_str())] {
            on_node.is_refused(token, &paths, "401")?;
            on_node.ensure(&[], token, &[VERSION], "401")?;
        }
        for other in [["antrea-controller", "-n", NAMESPACE], ["default", "-n", "default"]] {
            on_node.is_refused(Some(&token(cluster, &other)?), &paths, "403")?;
        }
        for pod in [workload.pod_on(here)?, workload.pod_on(there)?] {
            let from_pod = |curl: &[&str]| pod.exec(curl);
            let in_pod = Client { api: &api, run: &from_pod };
            in_pod.is_refused(None, &paths, "401")?;
            in_pod.is_refused(Some(pod.exec(&["cat", POD_TOKEN])?.trim()), &paths, "403")?;
        }
        let antctl = token(cluster, &["antctl", "-n", NAMESPACE])?;
        on_node.ensure(&[], Some(&antctl), &["/agentinfo", "/networkpolicies", VERSION], "200")?;
        on_node.ensure(&[], Some(&antctl), &["/nothing"], "403")?;
        on_node.ensure(&[], None, &["/readyz"], "200")?;
        workload.delete()
    });
}

/// Those that we know of, and those that antctl is let.
fn paths(cluster: &Cluster<'_>) -> Result<Vec<String>> {
    let role = cluster.kubectl.json(&["get", "clusterrole", "antctl"])?;
    let rules = role["rules"].as_array().context("a ClusterRole without rules")?.iter();
    let granted = rules.filter_map(|rule| rule["nonResourceURLs"].as_array()).flatten();
    let granted = granted.filter_map(|path| path.as_str());
    Ok(PATHS.into_iter().chain(granted.filter(|path| !PATHS.contains(path))).map(str::to_owned).collect())
}

/// Of a ServiceAccount, with what else it shall say.
pub(crate) fn token(cluster: &Cluster<'_>, words: &[&str]) -> Result<String> {
    let words = [&["create", "token"], words].concat();
    cluster.kubectl.text(&words).map(|token| token.trim().to_owned())
}

/// Somebody who asks an agent.
struct Client<'a> {
    api: &'a str,
    run: &'a dyn Fn(&[&str]) -> Result<String>,
}

impl Client<'_> {
    /// Whatever is asked for, and a change of it as well.
    fn is_refused(&self, token: Option<&str>, paths: &[String], code: &str) -> Result<()> {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        self.ensure(&[], token, &paths, code)?;
        self.ensure(&["-X", "PUT"], token, &[WRITTEN], code)
    }

    fn ensure(&self, words: &[&str], token: Option<&str>, paths: &[&str], code: &str) -> Result<()> {
        let urls: Vec<String> = paths.iter().map(|path| format!("{}{path}", self.api)).collect();
        let curl = http_codes::curl(words, token, &urls);
        let curl: Vec<&str> = curl.iter().map(String::as_str).collect();
        http_codes::ensure_each_is(code, &(self.run)(&curl)?, &urls)
    }
}

fn node_ip(cluster: &Cluster<'_>, node: NodeId) -> Result<String> {
    let object = cluster.kubectl.json(&["get", "node", &node.to_string()])?;
    let addresses = object["status"]["addresses"].as_array().into_iter().flatten();
    let ip = addresses.into_iter().find(|address| address["type"] == "InternalIP");
    let ip = ip.and_then(|address| address["address"].as_str()).context("the Node has no address")?;
    Ok(if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() })
}

/// Who has taken over one Node has its agent's token, and writes nothing about the others by it.
#[test]
fn an_agents_token_writes_about_its_own_node_alone() {
    on_the_cluster("an_agents_token_writes_about_its_own_node_alone", |cluster| {
        let (own, other) = cluster.two_nodes()?;
        let agent = cluster.agent(own)?.pod;
        let account = ["antrea-agent", "-n", NAMESPACE];
        let to_pod = ["--bound-object-kind=Pod", "--bound-object-name", agent.as_str()];
        let bound = token(cluster, &[account.as_slice(), to_pod.as_slice()].concat())?;
        let unbound = token(cluster, &account)?;
        let writer = Writer { cluster, node: own, url: cluster.plan()?.api_url()? };
        let set = annotation("node.antrea.io/lab", r#""x""#);
        writer.patch(&bound, own, &set, "200")?;
        writer.patch(&bound, own, &annotation("node.antrea.io/lab", "null"), "200")?;
        writer.patch(&bound, other, &set, "422")?;
        writer.patch(&unbound, own, &set, "422")?;
        writer.patch(&bound, own, &annotation("example.com/a", r#""x""#), "422")?;
        cluster.kubectl.text(&["annotate", "node", &own.to_string(), "example.com/kept=y"])?;
        let refused = writer.writes_no_other_part(&bound, own);
        cluster.kubectl.text(&["annotate", "node", &own.to_string(), "example.com/kept-"])?;
        refused?;
        writer.replace_info(&bound, other, |_| {}, "422")?;
        // antctl asks for the token that it shows this agent in the Namespace that podRef names.
        writer.replace_info(&bound, own, |info| info["podRef"]["namespace"] = "default".into(), "422")?;
        writer.replace_info(&bound, own, |info| info["nodeRef"]["name"] = other.to_string().into(), "422")?;
        writer.replace_info(&bound, own, |_| {}, "200")
    });
}

fn annotation(key: &str, value: &str) -> String {
    format!(r#"{{"metadata":{{"annotations":{{"{key}":{value}}}}}}}"#)
}

/// Somebody on a Node who writes to the API server with a token.
struct Writer<'a> {
    cluster: &'a Cluster<'a>,
    node: NodeId,
    url: String,
}

impl Writer<'_> {
    /// Of the status of a Node.
    fn patch(&self, token: &str, node: NodeId, body: &str, code: &str) -> Result<()> {
        let path = format!("/api/v1/nodes/{node}/status");
        self.send(token, ["PATCH", "application/merge-patch+json", &path, body], code)
    }

    /// Only annotations of Antrea's may be written.
    fn writes_no_other_part(&self, token: &str, node: NodeId) -> Result<()> {
        for forbidden in [
            annotation("example.com/kept", "null"),
            annotation("example.com/kept", r#""x""#),
            r#"{"metadata":{"labels":{"a":"x"}}}"#.to_owned(),
            r#"{"metadata":{"finalizers":["example.com/a"]}}"#.to_owned(),
            r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"a","uid":"a"}]}}"#
                .to_owned(),
            r#"{"status":{"phase":"Terminated"}}"#.to_owned(),
        ] {
            self.patch(token, node, &forbidden, "422")?;
        }
        Ok(())
    }

    /// As an agent does, by update. The agent may write at the same moment, so that the update comes too late: it is tried twice.
    fn replace_info(&self, token: &str, node: NodeId, change: impl Fn(&mut Value), code: &str) -> Result<()> {
        let replace = || {
            let mut info = self.cluster.kubectl.json(&["get", "antreaagentinfo", &node.to_string()])?;
            change(&mut info);
            let path = format!("/apis/crd.antrea.io/v1beta1/antreaagentinfos/{node}");
            self.send(token, ["PUT", "application/json", &path, &info.to_string()], code)
        };
        replace().or_else(|_| replace())
    }

    fn send(&self, token: &str, request: [&str; 4], code: &str) -> Result<()> {
        let [method, content, path, body] = request;
        let urls = [format!("{}{path}", self.url)];
        let content = format!("Content-Type: {content}");
        let curl = http_codes::curl(&["-X", method, "-H", &content, "-d", body], Some(token), &urls);
        let curl: Vec<&str> = curl.iter().map(String::as_str).collect();
        let printed = self.cluster.on_node(self.node, &curl)?;
        http_codes::ensure_each_is(code, &printed, &urls).with_context(|| format!("{method} {body}"))
    }
}
