//! The API server, as antrea-controller has it: the same store, HTTP, TLS and limits, on one thread. It says on standard
//! output where it is, who vouches for it, and when it is filled.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use antrea_apiserver::{Agents, Api, CannotEvaluate, CannotReport, Cluster, LIMITS, SharedStore};
use antrea_index::Index;
use antrea_kit::auth::{Authenticator, Authorizer, Guard, Lifetimes, NodesInTokens};
use antrea_kit::health::not_found;
use antrea_kit::server::Server;
use antrea_kit::serving_certificate::ServingCertificate;
use antrea_policy::Update;
use antrea_shared_api::controlplane::v1beta2::{
    NetworkPolicyEvaluationRequest, NetworkPolicyEvaluationResponse, NetworkPolicyStatus, NodeStatsSummary,
};
use antrea_shared_api::stats::v1alpha1::NetworkPolicyStats;
use antrea_shared_api::system::v1beta1::AntreaControllerInfo;
use antrea_types::MinimumTls;
use anyhow::Result;
use kube::{Client, Config};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::kubernetes::USER;
use crate::decoder;
use crate::workloads::Workload;

/// Serves as long as the process runs.
pub(crate) fn serve(kubernetes: SocketAddr) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = SharedStore::filling();
        let certificate = ServingCertificate::generate("antrea-controller", &["localhost".to_owned()])?;
        let client = Client::try_from(Config::new(format!("http://{kubernetes}").parse()?))?;
        let server = bind(store.clone(), &certificate, client).await?;
        println!("{}\n{}", server.local_addr(), certificate.ca_pem().trim_end());
        let stop = CancellationToken::new();
        let serving = tokio::spawn(server.run(stop));
        let (index, updates) = tokio::task::spawn_blocking(compute).await?;
        store.publish(updates).await;
        store.filled();
        println!("filled");
        let served = serving.await?;
        drop(index);
        served
    })
}

async fn bind(
    store: SharedStore,
    certificate: &Arc<ServingCertificate>,
    client: Client,
) -> Result<Server<antrea_apiserver::Body>> {
    let lifetimes = Lifetimes::default();
    let authenticator = Authenticator::new(client.clone(), None, lifetimes);
    let agents = Agents { user: USER.to_owned(), tokens: watch::channel(NodesInTokens::Present).1 };
    let authorizer = Authorizer::new(client, lifetimes).expecting(&agents.user);
    let api = Api {
        store,
        cluster: Arc::new(Nothing),
        guard: Guard::new(authenticator, authorizer),
        agents,
        other: Arc::new(|_| Box::pin(std::future::ready(not_found()))),
        stop: CancellationToken::new(),
    };
    let tls = certificate.aggregated_server_config(MinimumTls::V1_2)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Ok(Server::bind(address, Some(tls), LIMITS, api.handler()).await?)
}

/// The index of the cluster, which stays, and all that it tells.
fn compute() -> (Index, Vec<Update>) {
    let mut index = Index::default();
    decoder::each_object(Workload::Agents1000, |object| object.hand_to(&mut index));
    let mut updates = Vec::new();
    index.settle(|update| updates.push(update));
    (index, updates)
}

/// Agents that watch ask nothing of it.
struct Nothing;

impl Cluster for Nothing {
    fn controller_info(&self) -> AntreaControllerInfo {
        AntreaControllerInfo::default()
    }

    fn report_status(&self, _: NetworkPolicyStatus) -> Result<(), CannotReport> {
        Err(CannotReport::UnknownPolicy)
    }

    fn report_stats(&self, _: NodeStatsSummary) {}

    fn evaluate(
        &self,
        _: &NetworkPolicyEvaluationRequest,
    ) -> Result<Option<NetworkPolicyEvaluationResponse>, CannotEvaluate> {
        Ok(None)
    }

    fn network_policy_stats(&self) -> Option<Vec<NetworkPolicyStats>> {
        None
    }
}
