//! Kubernetes objects, made one by one.

use std::collections::BTreeMap;

use antrea_index::Index;
use k8s_openapi::api::core::v1::{Namespace, Pod, PodIP, PodSpec, PodStatus};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use crate::workloads::Workload;

/// Pods are spread over so many Nodes.
const NODES: u32 = 1000;

/// An object as a watch decodes it.
pub(crate) enum Object {
    Namespace(Box<Namespace>),
    Pod(Box<Pod>),
    NetworkPolicy(Box<NetworkPolicy>),
}

impl Object {
    pub(crate) fn hand_to(&self, index: &mut Index) {
        match self {
            Self::Namespace(namespace) => index.apply_namespace(namespace),
            Self::Pod(pod) => drop(index.apply_pod(pod)),
            Self::NetworkPolicy(policy) => drop(index.apply_network_policy(policy)),
        }
    }
}

type Labels = BTreeMap<String, String>;

/// Makes the objects of a workload, Namespace by Namespace.
pub(crate) fn make(workload: Workload, take: &mut dyn FnMut(Object)) {
    let mut maker = Maker { pods: 0, policies: 0, take };
    match workload {
        Workload::SmallNamespaces | Workload::PodEvent => small_namespaces(&mut maker),
        Workload::LargeNamespaces => large_namespaces(&mut maker),
        Workload::OneNamespace | Workload::EndpointQuery => one_namespace(&mut maker),
        Workload::NetpolPerPod => netpol_per_pod(&mut maker),
        Workload::ClusterScoped => cluster_scoped(&mut maker),
        Workload::SyncAddressGroup => one_thousand(&mut maker),
    }
}

fn small_namespaces(maker: &mut Maker<'_>) {
    for number in 0..25_000 {
        let namespace = format!("namespace-{number}");
        maker.namespace(&namespace, &[]);
        maker.default_deny(&namespace);
        for app in 1..=2 {
            let label = (format!("app-{app}"), format!("scale-{app}"));
            maker.same_labels(&namespace, &format!("np-{app}"), &label);
            maker.pods(&namespace, 2, &label);
        }
    }
}

fn large_namespaces(maker: &mut Maker<'_>) {
    for number in 0..100 {
        let namespace = format!("namespace-{number}");
        maker.namespace(&namespace, &[]);
        maker.default_deny(&namespace);
        for app in 0..100 {
            let label = (format!("app-{app}"), format!("scale-{app}"));
            maker.same_labels(&namespace, &format!("np-{app}"), &label);
            maker.pods(&namespace, 10, &label);
        }
    }
}

fn one_namespace(maker: &mut Maker<'_>) {
    let label = ("app".to_owned(), "scale".to_owned());
    maker.namespace("namespace", &[]);
    for number in 0..10_000 {
        maker.same_labels("namespace", &format!("np-{number}"), &label);
    }
    maker.pods("namespace", 10_000, &label);
}

fn netpol_per_pod(maker: &mut Maker<'_>) {
    maker.namespace("namespace", &[]);
    // The same random labels every time (the multiplier is Knuth's, for hashing).
    let random = |number: u64| format!("{:016x}", (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for number in 0..5_000 {
        let one = (format!("app-{}", random(2 * number)), "scale".to_owned());
        let other = (format!("app-{}", random(2 * number + 1)), "scale".to_owned());
        maker.policy("namespace", &format!("a-{number}"), &one, &peer(None, &other));
        maker.policy("namespace", &format!("b-{number}"), &other, &peer(None, &one));
        maker.pods("namespace", 1, &one);
        maker.pods("namespace", 1, &other);
    }
}

fn cluster_scoped(maker: &mut Maker<'_>) {
    for number in 0..1_000 {
        let namespace = format!("namespace-{number}");
        let company = ("company".to_owned(), format!("company-{}", number % 100));
        maker.namespace(&namespace, std::slice::from_ref(&company));
        for app in 0..10 {
            let label = ("app".to_owned(), format!("app-{app}"));
            let admitted = peer(Some(&company), &label);
            maker.policy(&namespace, &format!("np-{app}"), &label, &admitted);
            maker.pods(&namespace, 10, &label);
        }
    }
}

fn one_thousand(maker: &mut Maker<'_>) {
    maker.namespace("namespace", &[]);
    maker.pods("namespace", 1_000, &("app".to_owned(), "scale".to_owned()));
}

/// Hands objects on, and numbers them.
struct Maker<'a> {
    pods: u32,
    policies: u32,
    take: &'a mut dyn FnMut(Object),
}

impl Maker<'_> {
    fn namespace(&mut self, name: &str, labels: &[(String, String)]) {
        let own = ("kubernetes.io/metadata.name".to_owned(), name.to_owned());
        let labels: Labels = labels.iter().cloned().chain([own]).collect();
        let metadata = ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..Default::default() };
        (self.take)(Object::Namespace(Box::new(Namespace { metadata, ..Default::default() })));
    }

    fn pods(&mut self, namespace: &str, count: u32, label: &(String, String)) {
        for _ in 0..count {
            (self.take)(Object::Pod(Box::new(pod(namespace, self.pods, label))));
            self.pods += 1;
        }
    }

    fn default_deny(&mut self, namespace: &str) {
        let spec = NetworkPolicySpec {
            pod_selector: Some(LabelSelector::default()),
            policy_types: Some(both_ways()),
            ..Default::default()
        };
        self.take_policy(namespace, "default-deny-all", spec);
    }

    /// A policy for the Pods with a label that admits Pods with the same.
    fn same_labels(&mut self, namespace: &str, name: &str, label: &(String, String)) {
        self.policy(namespace, name, label, &peer(None, label));
    }

    fn policy(&mut self, namespace: &str, name: &str, label: &(String, String), peer: &NetworkPolicyPeer) {
        let spec = network_policy(label, peer);
        self.take_policy(namespace, name, spec);
    }

    fn take_policy(&mut self, namespace: &str, name: &str, spec: NetworkPolicySpec) {
        self.policies += 1;
        let metadata = ObjectMeta {
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            uid: Some(format!("1039ae46-1d6b-4ca7-ad08-{:012x}", self.policies)),
            generation: Some(1),
            ..Default::default()
        };
        let policy = NetworkPolicy { metadata, spec: Some(spec) };
        (self.take)(Object::NetworkPolicy(Box::new(policy)));
    }
}

/// A Pod; its number says its name, Node and address.
pub(crate) fn pod(namespace: &str, number: u32, (key, value): &(String, String)) -> Pod {
    let [_, a, b, c] = number.to_be_bytes();
    let ip = format!("10.{a}.{b}.{c}");
    Pod {
        metadata: ObjectMeta {
            namespace: Some(namespace.to_owned()),
            name: Some(format!("pod-{number}")),
            labels: Some(Labels::from([(key.clone(), value.clone())])),
            ..Default::default()
        },
        spec: Some(PodSpec { node_name: Some(node_name(number % NODES)), ..Default::default() }),
        status: Some(PodStatus {
            pod_ip: Some(ip.clone()),
            pod_ips: Some(vec![PodIP { ip }]),
            ..Default::default()
        }),
    }
}

pub(crate) fn node_name(number: u32) -> String {
    format!("node-{number}")
}

/// A policy in both directions for the Pods with a label.
pub(crate) fn network_policy((key, value): &(String, String), peer: &NetworkPolicyPeer) -> NetworkPolicySpec {
    NetworkPolicySpec {
        pod_selector: Some(labelled(key, value)),
        policy_types: Some(both_ways()),
        ingress: Some(vec![NetworkPolicyIngressRule { from: Some(vec![peer.clone()]), ports: None }]),
        egress: Some(vec![NetworkPolicyEgressRule { to: Some(vec![peer.clone()]), ports: None }]),
    }
}

/// Pods with a label, of the own Namespace or of all Namespaces with another label.
pub(crate) fn peer(
    namespaces: Option<&(String, String)>,
    (key, value): &(String, String),
) -> NetworkPolicyPeer {
    NetworkPolicyPeer {
        namespace_selector: namespaces.map(|(key, value)| labelled(key, value)),
        pod_selector: Some(labelled(key, value)),
        ip_block: None,
    }
}

fn labelled(key: &str, value: &str) -> LabelSelector {
    let labels = Labels::from([(key.to_owned(), value.to_owned())]);
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

fn both_ways() -> Vec<String> {
    vec!["Ingress".to_owned(), "Egress".to_owned()]
}
