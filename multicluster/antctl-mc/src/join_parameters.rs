//! What `join` was told, by flags and by a file: of both, the file. What is missing is named all at once.

use std::path::{Path, PathBuf};

use antrea_shared_api::multicluster::v1alpha2::{ClusterSet, ClusterSetSpec, LeaderCluster};
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Secret;

use crate::cli::Join;
use crate::join_config::JoinConfig;

const DEFAULT_NAMESPACE: &str = "kube-system";

/// All that it takes to join.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JoinParameters {
    pub(crate) cluster_set: String,
    pub(crate) cluster_id: String,
    /// Of the controller in this cluster.
    pub(crate) namespace: String,
    pub(crate) leader_cluster_id: String,
    pub(crate) leader_namespace: String,
    /// The URL of the leader's API server.
    pub(crate) leader_server: String,
    pub(crate) token: Token,
}

/// Where the token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// In a Secret that this cluster has.
    Secret(String),
    /// In the manifest of a Secret.
    File(PathBuf),
    /// In the configuration file itself.
    Manifest(Box<Secret>),
}

/// Puts flags and file together.
pub(crate) fn merge(flags: &Join, file: JoinConfig) -> Result<JoinParameters> {
    let mut missing = Vec::new();
    let mut value = |file: Option<String>, flag: &Option<String>, names: &'static str| {
        let value = given(file).or_else(|| given(flag.clone()));
        value.unwrap_or_else(|| {
            missing.push(names);
            String::new()
        })
    };
    let cluster_set = value(file.cluster_set_id, &flags.clusterset, "--clusterset (clusterSetID)");
    let cluster_id = value(file.cluster_id, &flags.clusterid, "--clusterid (clusterID)");
    let leader_cluster_id =
        value(file.leader_cluster_id, &flags.leader_clusterid, "--leader-clusterid (leaderClusterID)");
    let leader_namespace =
        value(file.leader_namespace, &flags.leader_namespace, "--leader-namespace (leaderNamespace)");
    let leader_server =
        value(file.leader_api_server, &flags.leader_apiserver, "--leader-apiserver (leaderAPIServer)");
    let name = given(file.token_secret_name).or_else(|| given(flags.token_secret_name.clone()));
    let path = file.token_secret_file.or_else(|| flags.token_secret_file.clone());
    let path = path.filter(|path| path != Path::new(""));
    let token = name
        .map(Token::Secret)
        .or_else(|| path.map(Token::File))
        .or_else(|| file.secret.map(|secret| Token::Manifest(Box::new(secret))));
    if token.is_none() {
        missing.push("--token-secret-file (tokenSecretFile) or --token-secret-name (tokenSecretName)");
    }
    let token = token.filter(|_| missing.is_empty()).with_context(|| {
        format!("say with a flag, or with the key in the file of --config-file: {}", missing.join(", "))
    })?;
    let namespace = given(file.namespace).or_else(|| given(flags.namespace.clone()));
    Ok(JoinParameters {
        cluster_set,
        cluster_id,
        namespace: namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()),
        leader_cluster_id,
        leader_namespace,
        leader_server,
        token,
    })
}

fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

impl JoinParameters {
    /// The ClusterSet of the member, with its token in this Secret.
    pub(crate) fn cluster_set(&self, secret: &str) -> ClusterSet {
        let mut set = ClusterSet::new(&self.namespace, &self.cluster_set);
        set.spec = ClusterSetSpec {
            cluster_id: self.cluster_id.clone(),
            leaders: vec![LeaderCluster {
                cluster_id: self.leader_cluster_id.clone(),
                secret: secret.to_owned(),
                server: self.leader_server.clone(),
            }],
            namespace: self.leader_namespace.clone(),
        };
        set
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Arguments, Command};
    use crate::join_config::parse;

    const HEAD: &str = "apiVersion: multicluster.antrea.io/v1alpha1\nkind: ClusterSetJoinConfig\n";
    const ALL: &str = "--clusterset cs1 --clusterid c5 --leader-clusterid leader4 --leader-namespace \
        antrea-multicluster --leader-apiserver https://172.18.4.1:6443 --token-secret-file tok5.yaml";

    fn merged(flags: &str, file: &str) -> Result<JoinParameters> {
        let words = ["mc", "join"].into_iter().chain(flags.split_whitespace());
        let Command::Join(flags) = Arguments::try_parse_from(words).unwrap().command else {
            panic!("{flags}")
        };
        merge(&flags, parse(&format!("{HEAD}{file}"))?)
    }

    #[test]
    fn the_cluster_set_of_a_member_is_that_of_upstream() {
        let set = merged(ALL, "").unwrap().cluster_set("tok5");
        insta::assert_snapshot!(crate::output::yaml(&set).unwrap());
    }

    #[test]
    fn the_file_says_more_than_the_flags() {
        let parameters = merged(ALL, "clusterID: c6\nnamespace: mc\ntokenSecretName: tok6\n").unwrap();
        assert_eq!(parameters.cluster_id, "c6");
        assert_eq!(parameters.namespace, "mc");
        assert_eq!(parameters.cluster_set, "cs1");
        assert_eq!(parameters.token, Token::Secret("tok6".to_owned()));
    }

    #[test]
    fn a_secret_in_the_file_is_used_where_no_other_is_named() {
        let secret = "---\nkind: Secret\nmetadata: {name: tok5}\nstringData: {ca.crt: a, token: b}\n";
        let flags = ALL.replace(" --token-secret-file tok5.yaml", "");
        assert!(matches!(merged(&flags, secret).unwrap().token, Token::Manifest(_)));
        assert_eq!(merged(ALL, secret).unwrap().token, Token::File("tok5.yaml".into()));
    }

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        assert_eq!(
            merged("--clusterid c5", "clusterSetID: cs1\nleaderClusterID: ''\n").unwrap_err().to_string(),
            "say with a flag, or with the key in the file of --config-file: --leader-clusterid (leaderClusterID), \
             --leader-namespace (leaderNamespace), --leader-apiserver (leaderAPIServer), \
             --token-secret-file (tokenSecretFile) or --token-secret-name (tokenSecretName)"
        );
    }
}
