//! Pods as far as policies need them: the rest of a Pod, which is most of it, is skipped while it is read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use antrea_index::CONFIG_HASH;
use k8s_openapi::api::core::v1::{Container, ContainerPort, Pod, PodIP, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::Deserialize;

/// A Pod that has only what policies need.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Read")]
pub(super) struct WatchedPod(pub(super) Box<Pod>);

#[derive(Deserialize)]
struct Read {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<Annotations>,
}

/// The one that says what UID a Pod has on its Node.
#[derive(Deserialize)]
struct Annotations {
    #[serde(rename = "kubernetes.io/config.hash")]
    config_hash: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    host_network: Option<bool>,
    node_name: Option<String>,
    containers: Option<Vec<Ports>>,
}

#[derive(Deserialize)]
struct Ports {
    ports: Option<Vec<ContainerPort>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    phase: Option<String>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
    #[serde(rename = "podIPs")]
    pod_ips: Option<Vec<PodIP>>,
}

impl From<Read> for WatchedPod {
    fn from(Read { metadata, spec, status }: Read) -> Self {
        let Metadata { name, namespace, uid, resource_version, labels, annotations } = metadata;
        let on_node = annotations.and_then(|annotations| annotations.config_hash);
        let annotations = on_node.map(|hash| BTreeMap::from([(CONFIG_HASH.to_owned(), hash)]));
        let with_ports = spec.containers.into_iter().flatten().filter(|container| container.ports.is_some());
        let containers =
            with_ports.map(|Ports { ports }| Container { ports, ..Container::default() }).collect();
        let spec = PodSpec {
            host_network: spec.host_network,
            node_name: spec.node_name,
            containers,
            ..PodSpec::default()
        };
        let Status { phase, pod_ip, pod_ips } = status;
        let status = PodStatus { phase, pod_ip, pod_ips, ..PodStatus::default() };
        let metadata = ObjectMeta {
            name,
            namespace,
            uid,
            resource_version,
            labels,
            annotations,
            ..ObjectMeta::default()
        };
        Self(Box::new(Pod { metadata, spec: Some(spec), status: Some(status) }))
    }
}

impl Resource for WatchedPod {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        Pod::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        Pod::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        Pod::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        Pod::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Pod as the API server writes it, and what is kept of it.
    #[track_caller]
    fn check(text: &str, kept: &str) {
        let pod: WatchedPod = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&pod.0).unwrap(), kept);
    }

    #[test]
    fn only_what_policies_need_is_kept_of_a_pod() {
        check(
            r#"{"kind":"Pod","metadata":{"name":"a","namespace":"x","uid":"1","resourceVersion":"7","labels":{"app":"c"},
                "managedFields":[{"manager":"kubelet"}]},
               "spec":{"hostNetwork":true,"nodeName":"n1","volumes":[{"name":"v","emptyDir":{}}],
                "containers":[{"name":"c","image":"i","ports":[{"name":"http","containerPort":80}]},{"name":"d"}]},
               "status":{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"conditions":[]}}"#,
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"c"},"name":"a","namespace":"x","resourceVersion":"7","uid":"1"},"spec":{"containers":[{"name":"","ports":[{"containerPort":80,"name":"http"}]}],"hostNetwork":true,"nodeName":"n1"},"status":{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]}}"#,
        );
    }

    #[test]
    fn what_is_missing_is_missing() {
        check(
            r#"{"metadata":{"name":"a"}}"#,
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[]},"status":{}}"#,
        );
    }
}
