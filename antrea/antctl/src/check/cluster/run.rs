//! The run: what the API server knows, a Pod on each Node that looks around, verdicts.

use std::process::ExitCode;

use antrea_kit::kube_client::bounded;
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::facts::{FOLDERS, Facts};
use super::judge::{self, Seen};
use super::{cidrs, ownership};
use crate::access::Access;
use crate::check::pod_spec::{Network, PodSpec, User};
use crate::check::test_namespace;
use crate::check::test_pods::{State, TestPods};
use crate::check::verdict::{self, Tested, Verdict, say};
use crate::cli::ClusterOptions;

const LOOK: &str = "look";
/// What a test is that says nothing.
const NOT_RUN: &str = "uncertain";

pub(crate) async fn check(access: &Access, options: &ClusterOptions) -> Result<ExitCode> {
    let cluster = ClusterFacts::read(access).await?;
    let seen = test_namespace::with(access, "cluster-checker", async |namespace| {
        say(
            &access.cluster,
            &format!("Looking at {} Nodes with image {}", cluster.linux().count(), options.test_image),
        );
        see(&TestPods::new(&access.client, namespace), cluster.linux(), &options.test_image).await
    })
    .await?;
    let tests = tests(&cluster, &seen);
    tests.iter().for_each(|test| verdict::tell(&access.cluster, test, NOT_RUN));
    Ok(verdict::close(&access.cluster, &tests, NOT_RUN))
}

/// All tests; where upstream has the same, the name is upstream's.
fn tests(cluster: &ClusterFacts, seen: &Seen) -> Vec<Tested> {
    let labels = cluster.nodes.iter().flat_map(|node| node.labels().keys());
    let (major, minor) = &cluster.version;
    let verdicts: [(&'static str, Verdict); 8] = [
        ("check-k8s-version", judge::kubernetes_version(major, minor)),
        ("check-control-plane-nodes-availability", judge::control_plane(labels)),
        ("check-pod-cidrs", cidrs::judge(&cluster.nodes)),
        ("check-crds", ownership::judge(&cluster.crds)),
        ("check-cni-existence", judge::cni(seen)),
        ("check-if-openvswitch-is-loadable", judge::openvswitch(seen)),
        ("check-ports", judge::taken_ports(seen, &cluster.antrea)),
        ("check-kube-proxy", judge::kube_proxy(seen)),
    ];
    verdicts.into_iter().map(|(name, verdict)| Tested { name, verdict }).collect()
}

/// What the API server knows.
struct ClusterFacts {
    /// Major and minor.
    version: (String, String),
    nodes: Vec<Node>,
    crds: Vec<ObjectMeta>,
    /// Nodes and components of Antrea's Pods.
    antrea: Vec<(String, String)>,
}

impl ClusterFacts {
    async fn read(access: &Access) -> Result<Self> {
        let client = &access.client;
        let all = ListParams::default();
        let version = bounded(client.apiserver_version()).await.context("cannot reach the API server")?;
        let nodes =
            bounded(Api::<Node>::all(client.clone()).list(&all)).await.context("cannot list Nodes")?;
        let crds = Api::<CustomResourceDefinition>::all(client.clone());
        let crds =
            bounded(crds.list_metadata(&all)).await.context("cannot list CustomResourceDefinitions")?;
        let pods = Api::<Pod>::all(client.clone());
        let of_antrea = all.labels("app=antrea,component in (antrea-agent, antrea-controller)");
        let pods = bounded(pods.list(&of_antrea)).await.context("cannot list Pods")?;
        let place =
            |pod: Pod| Some((pod.spec.as_ref()?.node_name.clone()?, pod.labels().get("component")?.clone()));
        Ok(Self {
            version: (version.major, version.minor),
            nodes: nodes.items,
            crds: crds.items.into_iter().map(|crd| crd.metadata).collect(),
            antrea: pods.items.into_iter().filter_map(place).collect(),
        })
    }

    fn linux(&self) -> impl Iterator<Item = &Node> {
        let os = |node: &Node| node.labels().get("kubernetes.io/os").is_none_or(|os| os == "linux");
        self.nodes.iter().filter(move |node| os(node))
    }
}

/// Looks at every Node, ready or not: Pods in the network of their Node need no CNI.
async fn see<'a>(pods: &TestPods, nodes: impl Iterator<Item = &'a Node>, image: &str) -> Result<Seen> {
    let names: Vec<(String, String)> =
        nodes.enumerate().map(|(index, node)| (format!("look-{}", index + 1), node.name_any())).collect();
    let specs: Vec<PodSpec<'_>> = names.iter().map(|(pod, node)| manifest(pod, node, image)).collect();
    pods.create(&specs).await?;
    let pod_names: Vec<String> = names.iter().map(|(pod, _)| pod.clone()).collect();
    let (_, unfinished) = pods.wait(&pod_names, LOOK, &State::Ended).await?;
    let mut seen = Seen::new();
    for (pod, node) in names {
        let facts = match unfinished.iter().find(|(name, _)| *name == pod) {
            Some((_, reason)) => Err(reason.clone()),
            None => read(&pods.log(&pod, LOOK).await?),
        };
        seen.insert(node, facts);
    }
    Ok(seen)
}

fn manifest<'a>(pod: &str, node: &'a str, image: &'a str) -> PodSpec<'a> {
    let ports: Vec<String> = judge::ports().iter().map(ToString::to_string).collect();
    let words = vec!["check".to_owned(), "node".to_owned(), "--ports".to_owned(), ports.join(",")];
    PodSpec {
        name: pod.to_owned(),
        node,
        image,
        network: Network::OfTheNode,
        user: User::Root,
        containers: vec![(LOOK, words)],
        host_folders: &FOLDERS,
    }
}

fn read(log: &str) -> Result<Facts, String> {
    serde_json::from_str(log.trim()).map_err(|_| format!("its Pod said {:?}", log.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_looks_at_its_node_is_in_its_network_and_reads_only() {
        let pod = serde_json::to_value(manifest("look-1", "n1", "i:1").manifest().unwrap()).unwrap();
        assert_eq!(pod["spec"]["hostNetwork"], true);
        assert_eq!(pod["spec"]["containers"][0]["args"][3], "10349,10350,6081,10256");
        assert_eq!(pod["spec"]["containers"][0]["volumeMounts"][0]["readOnly"], true);
        assert_eq!(pod["spec"]["volumes"][1]["hostPath"]["path"], "/lib");
    }

    #[test]
    fn a_log_that_is_no_fact_is_shown() {
        assert_eq!(
            read("exec: antctl: not found\n").unwrap_err(),
            "its Pod said \"exec: antctl: not found\""
        );
    }
}
