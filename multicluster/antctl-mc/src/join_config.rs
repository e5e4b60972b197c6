//! The file that `init` writes in the leader and `join` reads in a member: upstream's ClusterSetJoinConfig, with the
//! Secret as a second document or without it.

use std::path::PathBuf;

use antrea_shared_api::multicluster::v1alpha2::ClusterSet;
use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use serde::Deserialize;
use serde_json::Value;

use crate::objects::cluster_set::{Role, role};
use crate::objects::secret;
use crate::output;

const API_VERSION: &str = "multicluster.antrea.io/v1alpha1";
const KIND: &str = "ClusterSetJoinConfig";

/// What a cluster has to know to join. What is missing comes from flags.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct JoinConfig {
    api_version: String,
    kind: String,
    #[serde(rename = "clusterSetID")]
    pub(crate) cluster_set_id: Option<String>,
    #[serde(rename = "clusterID")]
    pub(crate) cluster_id: Option<String>,
    pub(crate) namespace: Option<String>,
    #[serde(rename = "leaderClusterID")]
    pub(crate) leader_cluster_id: Option<String>,
    pub(crate) leader_namespace: Option<String>,
    #[serde(rename = "leaderAPIServer")]
    pub(crate) leader_api_server: Option<String>,
    pub(crate) token_secret_name: Option<String>,
    pub(crate) token_secret_file: Option<PathBuf>,
    /// The second document.
    #[serde(skip)]
    pub(crate) secret: Option<Secret>,
}

/// Reads a file.
pub(crate) fn parse(text: &str) -> Result<JoinConfig> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).context("this is not YAML")?;
    let mut documents = documents.into_iter().filter(|document| !document.is_null());
    let first = documents.next().with_context(|| format!("there is no {KIND}"))?;
    let (version, kind) =
        (first["apiVersion"].as_str().unwrap_or_default(), first["kind"].as_str().unwrap_or_default());
    ensure!(
        version == API_VERSION && kind == KIND,
        "the first document is of kind {kind:?} of {version:?}, not {KIND} of {API_VERSION}"
    );
    let mut config: JoinConfig = serde_json::from_value(first).context("the first document")?;
    config.secret = documents.next().map(secret::from_value).transpose().context("the second document")?;
    ensure!(documents.next().is_none(), "there are more than two documents");
    Ok(config)
}

/// What a member of a leader's ClusterSet has to know.
pub(crate) fn text(set: &ClusterSet, server: &str, secret: Option<&Secret>) -> Result<String> {
    let name = set.name_any();
    if role(set) == Role::Member {
        bail!("this cluster is a member of ClusterSet {name:?}: ask its leader {}", leader_url(set));
    }
    let (leader, namespace) = (&set.spec.cluster_id, set.namespace().unwrap_or_default());
    let config = format!(
        "---\napiVersion: {API_VERSION}\nkind: {KIND}\nclusterSetID: {name}\nleaderClusterID: {leader}\n\
         leaderNamespace: {namespace}\nleaderAPIServer: {server}\n#clusterID: \"\"\n#namespace: \"\"\n\
         # Use the pre-created token Secret.\n#tokenSecretName: \"\"\n\
         # Create a token Secret with the manifest file.\n#tokenSecretFile: \"\"\n"
    );
    match secret {
        Some(secret) => Ok(format!("{config}---\n{}", output::yaml(secret)?)),
        None => Ok(config),
    }
}

fn leader_url(set: &ClusterSet) -> &str {
    set.spec.leaders.first().map(|leader| leader.server.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::cluster_set::of_leader;
    use crate::objects::secret::Credential;

    const SERVER: &str = "https://172.18.4.1:6443";

    fn set() -> ClusterSet {
        of_leader("antrea-multicluster", "cs1", "leader4")
    }

    #[test]
    fn the_file_is_that_of_upstream() {
        let upstream = include_str!("../tests/golden/upstream/joinconfig.yaml");
        assert_eq!(text(&set(), SERVER, None).unwrap(), upstream);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let credential = Credential { ca: b"ca".to_vec(), namespace: "mc".to_owned(), token: b"t".to_vec() };
        let secret = credential.manifest("tok5");
        let config = parse(&text(&set(), SERVER, Some(&secret)).unwrap()).unwrap();
        assert_eq!(config.cluster_set_id.as_deref(), Some("cs1"));
        assert_eq!(config.leader_api_server.as_deref(), Some(SERVER));
        assert_eq!(config.cluster_id, None);
        assert_eq!(config.secret, Some(secret));
    }

    #[test]
    fn a_member_has_no_parameters_to_give() {
        let mut set = set();
        set.spec.leaders[0].server = SERVER.to_owned();
        assert_eq!(
            text(&set, SERVER, None).unwrap_err().to_string(),
            "this cluster is a member of ClusterSet \"cs1\": ask its leader https://172.18.4.1:6443"
        );
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        assert_eq!(format!("{:#}", parse(text).unwrap_err()), expected);
    }

    #[test]
    fn other_files_are_refused() {
        let head = format!("apiVersion: {API_VERSION}\nkind: {KIND}\n");
        check_refused("", "there is no ClusterSetJoinConfig");
        check_refused(
            "apiVersion: v1\nkind: Secret\n",
            "the first document is of kind \"Secret\" of \"v1\", not ClusterSetJoinConfig of multicluster.antrea.io/v1alpha1",
        );
        check_refused(
            &format!("{head}---\nkind: Pod\n"),
            "the second document: this is the manifest of kind \"Pod\": a Secret is needed",
        );
        let error = format!("{:#}", parse(&format!("{head}clusterId: a\n")).unwrap_err());
        assert!(error.contains("unknown field `clusterId`"), "{error}");
    }
}
