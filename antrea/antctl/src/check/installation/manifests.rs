//! What is put on each Node: `echo-N` answers, `client-N` asks from a network of its own, `host-N` from the Node's.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use super::nodes::TestedNode;
use super::questions::{Asked, SERVICE_PORT};
use crate::check::pod_spec::{Network, PodSpec, User};
use crate::check::probe::{PORT, Question};

/// The container that answers.
pub(super) const SERVE: &str = "serve";
/// The container that asks.
pub(super) const PROBE: &str = "probe";

pub(super) fn echo_name(index: usize) -> String {
    format!("echo-{}", index + 1)
}

pub(super) fn client_name(index: usize) -> String {
    format!("client-{}", index + 1)
}

pub(super) fn host_name(index: usize) -> String {
    format!("host-{}", index + 1)
}

/// A Service of one Pod, in every family of the cluster. The Pod that asks its own Service is never Ready in the end.
pub(super) fn service(pod: &str) -> Result<Service> {
    let service = json!({
        "metadata": { "name": pod },
        "spec": {
            "ipFamilyPolicy": "PreferDualStack",
            "publishNotReadyAddresses": true,
            "selector": { "name": pod },
            "ports": [{ "port": SERVICE_PORT, "targetPort": PORT }],
        },
    });
    serde_json::from_value(service).context("the manifest of a Service is none")
}

pub(super) fn echo<'a>(index: usize, node: &'a TestedNode, image: &'a str) -> PodSpec<'a> {
    PodSpec {
        name: echo_name(index),
        node: &node.name,
        image,
        network: Network::Own,
        user: User::Nobody,
        containers: vec![(SERVE, serve())],
        host_folders: &[],
    }
}

pub(super) fn client<'a>(
    index: usize,
    node: &'a TestedNode,
    image: &'a str,
    asked: &[Asked],
) -> Result<PodSpec<'a>> {
    let containers = vec![(SERVE, serve()), (PROBE, probe(asked)?)];
    Ok(PodSpec { name: client_name(index), containers, ..echo(index, node, image) })
}

pub(super) fn host<'a>(
    index: usize,
    node: &'a TestedNode,
    image: &'a str,
    asked: &[Asked],
) -> Result<PodSpec<'a>> {
    let containers = vec![(PROBE, probe(asked)?)];
    let network = Network::OfTheNode;
    Ok(PodSpec { name: host_name(index), network, containers, ..echo(index, node, image) })
}

fn serve() -> Vec<String> {
    ["check", "serve", "--port", &PORT.to_string()].map(str::to_owned).to_vec()
}

fn probe(asked: &[Asked]) -> Result<Vec<String>> {
    let questions: Vec<&Question> = asked.iter().map(|asked| &asked.question).collect();
    let text = serde_json::to_string(&questions).context("the questions are no JSON")?;
    Ok(vec!["check".to_owned(), "probe".to_owned(), text])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_an_address_in_every_family_and_its_pod_before_that_is_ready() {
        let service = serde_json::to_value(service("client-1").unwrap()).unwrap();
        assert_eq!(service["spec"]["ipFamilyPolicy"], "PreferDualStack");
        assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
        assert_eq!(service["spec"]["selector"]["name"], "client-1");
    }

    #[test]
    fn the_pod_of_the_node_asks_and_does_not_answer() {
        let node = TestedNode { name: "n1".into(), ips: Vec::new() };
        let spec = host(0, &node, "i:1", &[]).unwrap();
        assert_eq!((spec.name.as_str(), spec.network), ("host-1", Network::OfTheNode));
        assert_eq!(spec.containers, [(PROBE, vec!["check".to_owned(), "probe".to_owned(), "[]".to_owned()])]);
    }
}
