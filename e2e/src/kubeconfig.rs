//! Kubeconfig files that hold all they need, so that they can be copied.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::pki::Identity;

/// A kubeconfig for one user of one cluster, as YAML.
pub fn render(cluster: &str, server: &str, authority: &str, user: &str, identity: &Identity) -> String {
    let encode = |text: &str| STANDARD.encode(text);
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: {cluster}
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: {cluster}
  context:
    cluster: {cluster}
    user: {user}
current-context: {cluster}
",
        user = serde_json::Value::from(user),
        authority = encode(authority),
        certificate = encode(&identity.certificate),
        key = encode(&identity.key),
    )
}
