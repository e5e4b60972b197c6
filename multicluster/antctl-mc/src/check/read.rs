//! What checks look at, read from the cluster, and from the leader with the member's token.

use std::time::Duration;

use antrea_kit::kube_client::{bounded, root_certificates};
use antrea_shared_api::multicluster::v1alpha1::{
    ClusterInfo, ClusterInfoImport, ExportKind, Gateway, ResourceExport,
};
use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::{Context, Result};
use hyper::Request;
use hyper::header::DATE;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use kube::api::ListParams;
use kube::client::Body;
use kube::{Api, Client, Config, ResourceExt};

use super::networks::ClusterNetworks;
use super::reach::Answer;
use crate::cluster::Cluster;
use crate::objects::secret::Credential;

/// How long the leader may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What clusters say of themselves in the Common Area.
pub(crate) async fn exported_infos(cluster: &Cluster, namespace: &str) -> Result<Vec<ClusterInfo>> {
    let exports: Vec<ResourceExport> = cluster.list(Some(namespace)).await?;
    let infos = exports.into_iter().filter(|export| export.spec.kind == ExportKind::ClusterInfo);
    Ok(infos.filter_map(|export| export.spec.cluster_info).collect())
}

/// What a member knows of the other clusters.
pub(crate) async fn imported_infos(cluster: &Cluster, namespace: &str) -> Result<Vec<ClusterInfo>> {
    let imports: Vec<ClusterInfoImport> = cluster.list(Some(namespace)).await?;
    Ok(imports.into_iter().map(|import| import.spec).collect())
}

/// The networks of the other clusters, and of this one: its Pods' where those of others are imported.
pub(crate) async fn imported_networks(
    cluster: &Cluster,
    set: &ClusterSet,
    gateways: &[Gateway],
    infos: &[ClusterInfo],
) -> Result<Vec<ClusterNetworks>> {
    let mut own: Vec<String> = gateways.iter().map(|gateway| gateway.service_cidr.clone()).collect();
    if infos.iter().any(|info| !info.pod_cidrs.is_empty()) {
        let nodes: Api<Node> = Api::all(cluster.client.clone());
        let nodes = bounded(nodes.list(&ListParams::default())).await.context("cannot list Nodes")?;
        let specs = nodes.items.into_iter().filter_map(|node| node.spec);
        own.extend(specs.flat_map(|spec| spec.pod_cidrs.unwrap_or_default()));
    }
    let own = ClusterNetworks::new(&set.spec.cluster_id, &own);
    Ok(infos.iter().map(ClusterNetworks::of_info).chain([own]).collect())
}

/// The configuration of the core agent.
pub(crate) async fn agent_config(cluster: &Cluster, namespace: &str) -> Result<Option<String>> {
    let config: Option<ConfigMap> = cluster.find(namespace, "antrea-config").await?;
    Ok(config.and_then(|config| config.data).and_then(|mut data| data.remove("antrea-agent.conf")))
}

/// What time it is, as the API server says.
pub(crate) async fn time(client: &Client) -> Option<Timestamp> {
    get(client, "/version").await.ok()?.1
}

/// Asks the leader for imports as the member does.
pub(crate) async fn ask_leader(cluster: &Cluster, set: &ClusterSet) -> Result<Answer> {
    let leader = set.spec.leaders.first().cloned().unwrap_or_default();
    let namespace = set.namespace().unwrap_or_default();
    let secret: Option<Secret> = cluster.find(&namespace, &leader.secret).await?;
    let Some(credential) = secret.as_ref().and_then(Credential::of) else {
        let problem = if secret.is_none() { "is not there" } else { "lacks ca.crt or token" };
        return Ok(Answer::NoCredential(format!("Secret {namespace}/{} {problem}", leader.secret)));
    };
    let client = match leader_client(&leader.server, &credential) {
        Ok(client) => client,
        Err(error) => {
            return Ok(Answer::NoCredential(format!(
                "Secret {namespace}/{} cannot be used: {error:#}",
                leader.secret
            )));
        }
    };
    let area = &set.spec.namespace;
    let path = format!("/apis/multicluster.crd.antrea.io/v1alpha1/namespaces/{area}/resourceimports?limit=1");
    Ok(match get(&client, &path).await {
        Ok((status, time)) => Answer::Status(status, time),
        Err(error) => Answer::Unreachable(format!("{error:#}")),
    })
}

fn leader_client(server: &str, credential: &Credential) -> Result<Client> {
    let url = server.parse().with_context(|| format!("{server:?} is not a URL"))?;
    let mut config = Config::new(url);
    config.root_cert = Some(root_certificates(&credential.ca)?);
    let token = String::from_utf8(credential.token.clone()).context("the token is not text")?;
    config.auth_info.token = Some(token.into());
    config.connect_timeout = Some(TIMEOUT);
    config.read_timeout = Some(TIMEOUT);
    Client::try_from(config).context("cannot make a client of it")
}

/// The HTTP status of an answer, and when it was given.
async fn get(client: &Client, path: &str) -> Result<(u16, Option<Timestamp>)> {
    let request = Request::get(path).body(Body::empty())?;
    let answer = bounded(client.send(request)).await?;
    let date = answer.headers().get(DATE).and_then(|date| date.to_str().ok());
    Ok((answer.status().as_u16(), date.and_then(http_date)))
}

/// Reads `Sun, 22 Nov 2026 03:26:24 GMT` (RFC 9110, 5.6.7).
fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|time| time.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_http_are_read() {
        let time = http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(time.to_string(), "1994-11-06T08:49:37Z");
        assert_eq!(http_date("now"), None);
    }
}
