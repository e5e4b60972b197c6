//! The run: what the API server knows, Pods that answer, Pods that ask, verdicts.

use std::net::IpAddr;
use std::process::ExitCode;

use antrea_kit::kube_client::{bounded, create, status_code};
use antrea_shared_api::crd::v1beta1::{AntreaAgentInfo, AntreaControllerInfo};
use antrea_shared_api::well_known::{CONTROLLER_API_SERVICE, CONTROLLER_INFO};
use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::judge::{Answered, Answers};
use super::manifests::{self, PROBE, SERVE};
use super::nodes::{self, TestedNode};
use super::questions::{self, Asked, Asker, Servers};
use super::test::{CONNECTIVITY, Test};
use super::{health, manifests::echo_name};
use crate::access::Access;
use crate::check::pod_spec::PodSpec;
use crate::check::probe;
use crate::check::test_namespace;
use crate::check::test_pods::{State, TestPods, addresses, ensure_started};
use crate::check::verdict::{self, Tested, say};
use crate::cli::InstallationOptions;

const AGENT: &str = "antrea-agent";
const FIELD_MANAGER: &str = "antctl";
/// What a test is that says nothing.
const NOT_RUN: &str = "skipped";

pub(crate) async fn check(access: &Access, options: &InstallationOptions) -> Result<ExitCode> {
    let image = image(access, options).await?;
    let filter = options.run.as_ref();
    let nodes = bounded(Api::<Node>::all(access.client.clone()).list(&ListParams::default()))
        .await
        .context("cannot list Nodes")?
        .items;
    let mut tests = health_tests(access, options, &nodes).await?;
    let wanted: Vec<Test> = CONNECTIVITY.into_iter().filter(|test| test.is_wanted(filter)).collect();
    // Before anything is tried: it may explain why Pods do not even start.
    tests.iter().for_each(|test| verdict::tell(&access.cluster, test, NOT_RUN));
    if tests.is_empty() && wanted.is_empty() {
        bail!("--run matches none of the tests; `antctl check installation` runs all and names them");
    }
    if !wanted.is_empty() {
        let (nodes, notes) = nodes::choose(&nodes);
        notes.iter().for_each(|note| say(&access.cluster, note));
        ensure!(!nodes.is_empty(), "no Node is Ready, so nothing can be asked: see `kubectl get nodes`");
        let answers = test_namespace::with(access, "installation-checker", async |namespace| {
            let run = Run { access, namespace, nodes: &nodes, image: &image };
            run.answers(&options.outside).await
        })
        .await?;
        let judged: Vec<Tested> = wanted.into_iter().map(|test| answers.judge(test)).collect();
        judged.iter().for_each(|test| verdict::tell(&access.cluster, test, NOT_RUN));
        tests.extend(judged);
    }
    Ok(verdict::close(&access.cluster, &tests, NOT_RUN))
}

/// The image of the Pods: what the agents run is on the Nodes already.
async fn image(access: &Access, options: &InstallationOptions) -> Result<String> {
    let api = Api::<DaemonSet>::namespaced(access.client.clone(), &options.namespace);
    let agents = match bounded(api.get(AGENT)).await {
        Err(error) if status_code(&error) == Some(404) => bail!(
            "there is no DaemonSet {AGENT} in Namespace {0}: Antrea is not installed there; --namespace names another",
            options.namespace
        ),
        other => other.context("cannot read the DaemonSet antrea-agent")?,
    };
    let pod = agents.spec.and_then(|spec| spec.template.spec);
    let containers = pod.map(|spec| spec.containers).unwrap_or_default();
    let own = containers.into_iter().find(|container| container.name == AGENT).and_then(|one| one.image);
    options
        .test_image
        .clone()
        .or(own)
        .context("the DaemonSet antrea-agent names no image: give one with --test-image")
}

async fn health_tests(access: &Access, options: &InstallationOptions, nodes: &[Node]) -> Result<Vec<Tested>> {
    let (filter, client) = (options.run.as_ref(), &access.client);
    let mut tests = Vec::new();
    if Test::AgentHealth.is_wanted(filter) {
        let api = Api::<AntreaAgentInfo>::all(client.clone());
        let infos =
            bounded(api.list(&ListParams::default())).await.context("cannot list AntreaAgentInfos")?;
        tests.push(health::agents(&nodes::linux(nodes), &infos.items, Timestamp::now()));
    }
    if Test::ControllerHealth.is_wanted(filter) {
        tests.push(controller_health(client).await?);
    }
    Ok(tests)
}

/// A controller that is installed has an APIService, however it is.
async fn controller_health(client: &Client) -> Result<Tested> {
    let services = Api::<APIService>::all(client.clone());
    let service = bounded(services.get_opt(CONTROLLER_API_SERVICE)).await;
    if service.context("cannot read the APIService of antrea-controller")?.is_none() {
        return Ok(health::no_controller());
    }
    let api = Api::<AntreaControllerInfo>::all(client.clone());
    let info = bounded(api.get_opt(CONTROLLER_INFO)).await.context("cannot read AntreaControllerInfo")?;
    Ok(health::controller(info.as_ref(), Timestamp::now()))
}

/// Everything that happens in the Namespace.
struct Run<'a> {
    access: &'a Access,
    namespace: &'a str,
    nodes: &'a [TestedNode],
    image: &'a str,
}

impl Run<'_> {
    async fn answers(&self, outside: &str) -> Result<Answers> {
        let pods = TestPods::new(&self.access.client, self.namespace);
        self.say("Starting a Pod that answers on each Node");
        let servers = self.servers(&pods).await?;
        self.say("Starting Pods that ask on each Node");
        let askers = self.askers(&servers, outside);
        let mut specs: Vec<PodSpec<'_>> = Vec::new();
        for (asker, index, asked) in &askers {
            specs.extend(
                self.nodes
                    .get(*index)
                    .map(|node| match asker {
                        Asker::Client => manifests::client(*index, node, self.image, asked),
                        Asker::Host => manifests::host(*index, node, self.image, asked),
                    })
                    .transpose()?,
            );
        }
        pods.create(&specs).await?;
        let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
        let (_, unfinished) = pods.wait(&names, PROBE, &State::Ended).await?;
        ensure_started(&unfinished)?;
        let mut answers = Vec::new();
        for ((_, _, asked), name) in askers.into_iter().zip(&names) {
            let failures = probe::read(&pods.log(name, PROBE).await?, asked.len());
            let joined = asked.into_iter().zip(failures);
            answers.extend(joined.map(|(asked, failure)| Answered { asked, failure }));
        }
        Ok(Answers(answers))
    }

    fn askers(&self, servers: &[Servers], outside: &str) -> Vec<(Asker, usize, Vec<Asked>)> {
        let of = |asker, index| (asker, index, questions::of(asker, index, self.nodes, servers, outside));
        let each = |index| [of(Asker::Client, index), of(Asker::Host, index)];
        (0..self.nodes.len()).flat_map(each).collect()
    }

    /// Services come first: their addresses do not depend on Pods.
    async fn servers(&self, pods: &TestPods) -> Result<Vec<Servers>> {
        let mut servers = Vec::new();
        for index in 0..self.nodes.len() {
            let echo_service = self.service(&echo_name(index)).await?;
            let own_service = self.service(&manifests::client_name(index)).await?;
            servers.push(Servers { echo: Vec::new(), echo_service, own_service });
        }
        let specs: Vec<PodSpec<'_>> = self
            .nodes
            .iter()
            .enumerate()
            .map(|(index, node)| manifests::echo(index, node, self.image))
            .collect();
        pods.create(&specs).await?;
        let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
        let (ready, others) = pods.wait(&names, SERVE, &State::Running).await?;
        ensure_started(&others)?;
        for (index, server) in servers.iter_mut().enumerate() {
            let pod = ready.iter().find(|pod: &&Pod| pod.name_any() == echo_name(index));
            server.echo = pod.map(addresses).unwrap_or_default();
        }
        Ok(servers)
    }

    async fn service(&self, pod: &str) -> Result<Vec<IpAddr>> {
        let api = Api::<Service>::namespaced(self.access.client.clone(), self.namespace);
        create(&api, &manifests::service(pod)?, FIELD_MANAGER).await?;
        let service = bounded(api.get(pod)).await.with_context(|| format!("cannot read Service {pod}"))?;
        let ips = service.spec.and_then(|spec| spec.cluster_ips).unwrap_or_default();
        Ok(ips.iter().filter_map(|ip| ip.parse().ok()).collect())
    }

    fn say(&self, line: &str) {
        say(&self.access.cluster, line);
    }
}
