//! What a Pod of a check is: antctl in one or more containers, on a certain Node, without rights.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

/// A Pod of one or more containers of one image, on a certain Node, that starts on whatever the Node is tainted with.
pub(super) struct PodSpec<'a> {
    pub(super) name: String,
    pub(super) node: &'a str,
    pub(super) image: &'a str,
    pub(super) network: Network,
    pub(super) user: User,
    /// Name and arguments of antctl.
    pub(super) containers: Vec<(&'static str, Vec<String>)>,
    /// Folders of the Node that it reads: a name, where the Node has it, where the Pod has it.
    pub(super) host_folders: &'a [(&'static str, &'static str, &'static str)],
}

/// Whose network a Pod uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    Own,
    OfTheNode,
}

/// Whom its programs run as; without capabilities either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    Nobody,
    /// Who may read files of the Node that are root's alone.
    Root,
}

impl PodSpec<'_> {
    pub(super) fn manifest(&self) -> Result<Pod> {
        let mounts: Vec<Value> = self
            .host_folders
            .iter()
            .map(|(name, _, path)| json!({ "name": name, "mountPath": path, "readOnly": true }))
            .collect();
        let volumes: Vec<Value> = self
            .host_folders
            .iter()
            .map(|(name, path, _)| json!({ "name": name, "hostPath": { "path": path } }))
            .collect();
        let containers: Vec<Value> =
            self.containers.iter().map(|(name, words)| self.container(name, words, &mounts)).collect();
        let pod = json!({
            "metadata": { "name": self.name, "labels": { "app": "antrea", "name": self.name } },
            "spec": {
                "nodeName": self.node,
                "hostNetwork": self.network == Network::OfTheNode,
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 1,
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "tolerations": [{ "operator": "Exists" }],
                "containers": containers,
                "volumes": volumes,
            },
        });
        serde_json::from_value(pod).context("the manifest of a Pod is none")
    }

    fn container(&self, name: &str, words: &[String], mounts: &[Value]) -> Value {
        let user = match self.user {
            User::Nobody => 65534,
            User::Root => 0,
        };
        json!({
            "name": name,
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["antctl"],
            "args": words,
            "volumeMounts": mounts,
            "securityContext": {
                "runAsUser": user,
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": { "drop": ["ALL"] },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_ask_for_no_rights_and_run_wherever_they_are_put() {
        let spec = PodSpec {
            name: "echo-1".into(),
            node: "n1",
            image: "i:1",
            network: Network::Own,
            user: User::Nobody,
            containers: vec![("serve", vec!["check".into(), "serve".into()])],
            host_folders: &[],
        };
        let pod = serde_json::to_value(spec.manifest().unwrap()).unwrap();
        assert_eq!(pod["spec"]["nodeName"], "n1");
        assert_eq!(pod["spec"]["tolerations"], json!([{ "operator": "Exists" }]));
        assert_eq!(pod["spec"]["containers"][0]["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
        assert_eq!(pod["spec"]["automountServiceAccountToken"], json!(false));
    }
}
