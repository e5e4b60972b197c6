//! Kubernetes objects, one by one. An object that was used is filled anew, which costs less than to make one: a decoder's
//! work is not what is measured.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{Arguments, Write};

use antrea_index::Index;
use k8s_openapi::api::core::v1::{Namespace, Pod, PodIP, PodSpec, PodStatus};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::workloads::Workload;

/// Pods are spread over so many Nodes.
const NODES: u32 = 1000;

/// So many Pods, and policies that admit, are made before any is used again: more than are on their way at once, and a
/// multiple of what workloads repeat, so that an object mostly has the labels already that it is to have.
const MADE: u32 = 1000;

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

/// Makes the objects of a workload, Namespace by Namespace. `take` gives back those that were used.
pub(crate) fn make(workload: Workload, take: &mut dyn FnMut(Object, &mut Used)) {
    let mut maker = Maker { pods: 0, policies: 0, admitting: 0, used: Used::default(), take };
    match workload {
        Workload::SmallNamespaces | Workload::PodEvent => small_namespaces(&mut maker, 25_000),
        Workload::Agents1000 => small_namespaces(&mut maker, 2_500),
        Workload::LargeNamespaces => large_namespaces(&mut maker),
        Workload::OneNamespace | Workload::EndpointQuery | Workload::EndpointAnswer => {
            one_namespace(&mut maker);
        }
        Workload::NetpolPerPod => netpol_per_pod(&mut maker),
        Workload::ClusterScoped => cluster_scoped(&mut maker),
        Workload::SyncAddressGroup => one_thousand(&mut maker),
        Workload::UnionRule | Workload::BatchInstall | Workload::FileStore | Workload::ApiServer => {}
    }
}

fn small_namespaces(maker: &mut Maker<'_>, count: u32) {
    for number in 0..count {
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

/// Objects that were used, by what they are used for again.
#[derive(Default)]
pub(crate) struct Used {
    namespaces: VecDeque<Box<Namespace>>,
    pods: VecDeque<Box<Pod>>,
    policies: VecDeque<Box<NetworkPolicy>>,
    denying: VecDeque<Box<NetworkPolicy>>,
}

impl Used {
    pub(crate) fn give_back(&mut self, object: Object) {
        match object {
            Object::Namespace(namespace) => self.namespaces.push_back(namespace),
            Object::Pod(pod) => self.pods.push_back(pod),
            Object::NetworkPolicy(policy) => {
                let admits = policy.spec.as_ref().is_some_and(|spec| spec.ingress.is_some());
                if admits { &mut self.policies } else { &mut self.denying }.push_back(policy);
            }
        }
    }
}

/// Hands objects on, and numbers them.
struct Maker<'a> {
    pods: u32,
    policies: u32,
    admitting: u32,
    used: Used,
    take: &'a mut dyn FnMut(Object, &mut Used),
}

impl Maker<'_> {
    fn namespace(&mut self, name: &str, labels: &[(String, String)]) {
        let mut namespace = self.used.namespaces.pop_front().unwrap_or_default();
        let own = ("kubernetes.io/metadata.name".to_owned(), name.to_owned());
        namespace.metadata.labels = Some(labels.iter().cloned().chain([own]).collect());
        fill(&mut namespace.metadata.name, format_args!("{name}"));
        (self.take)(Object::Namespace(namespace), &mut self.used);
    }

    fn pods(&mut self, namespace: &str, count: u32, label: &(String, String)) {
        for _ in 0..count {
            let mut pod = again(&mut self.used.pods, self.pods);
            fill_pod(&mut pod, namespace, self.pods, label);
            (self.take)(Object::Pod(pod), &mut self.used);
            self.pods += 1;
        }
    }

    fn default_deny(&mut self, namespace: &str) {
        let mut policy = self.used.denying.pop_front().unwrap_or_default();
        policy.spec.get_or_insert_with(|| NetworkPolicySpec {
            pod_selector: Some(LabelSelector::default()),
            policy_types: Some(both_ways()),
            ..Default::default()
        });
        self.take_policy(policy, namespace, "default-deny-all");
    }

    /// A policy for the Pods with a label that admits Pods with the same.
    fn same_labels(&mut self, namespace: &str, name: &str, label: &(String, String)) {
        self.policy(namespace, name, label, &peer(None, label));
    }

    fn policy(&mut self, namespace: &str, name: &str, label: &(String, String), peer: &NetworkPolicyPeer) {
        let mut policy = again(&mut self.used.policies, self.admitting);
        self.admitting += 1;
        if !policy.spec.as_ref().is_some_and(|spec| is_network_policy(spec, label, peer)) {
            policy.spec = Some(network_policy(label, peer));
        }
        self.take_policy(policy, namespace, name);
    }

    fn take_policy(&mut self, mut policy: Box<NetworkPolicy>, namespace: &str, name: &str) {
        self.policies += 1;
        let metadata = &mut policy.metadata;
        fill(&mut metadata.namespace, format_args!("{namespace}"));
        fill(&mut metadata.name, format_args!("{name}"));
        fill(&mut metadata.uid, format_args!("1039ae46-1d6b-4ca7-ad08-{:012x}", self.policies));
        metadata.generation = Some(1);
        (self.take)(Object::NetworkPolicy(policy), &mut self.used);
    }
}

/// An object to be filled, where so many were before it.
fn again<T: Default>(used: &mut VecDeque<T>, before: u32) -> T {
    let used = if before < MADE { None } else { used.pop_front() };
    used.unwrap_or_default()
}

/// Writes a text in the place of another.
fn fill(place: &mut Option<String>, text: Arguments<'_>) {
    let place = place.get_or_insert_default();
    place.clear();
    // Nothing keeps a String from being written to.
    let _ = place.write_fmt(text);
}

/// A Pod; its number says its name, Node and address.
pub(crate) fn pod(namespace: &str, number: u32, label: &(String, String)) -> Pod {
    let mut pod = Pod::default();
    fill_pod(&mut pod, namespace, number, label);
    pod
}

fn fill_pod(pod: &mut Pod, namespace: &str, number: u32, (key, value): &(String, String)) {
    fill(&mut pod.metadata.namespace, format_args!("{namespace}"));
    fill(&mut pod.metadata.name, format_args!("pod-{number}"));
    fill(&mut pod.metadata.uid, format_args!("7d3e5c1a-5b0f-4a8e-9c52-{number:012x}"));
    if !is_labelled(pod.metadata.labels.as_ref(), key, value) {
        pod.metadata.labels = Some(Labels::from([(key.clone(), value.clone())]));
    }
    let spec = pod.spec.get_or_insert_with(PodSpec::default);
    fill(&mut spec.node_name, format_args!("node-{}", number % NODES));
    let [_, a, b, c] = number.to_be_bytes();
    let status = pod.status.get_or_insert_with(PodStatus::default);
    fill(&mut status.pod_ip, format_args!("10.{a}.{b}.{c}"));
    let ips = status.pod_ips.get_or_insert_default();
    ips.resize_with(1, PodIP::default);
    for (ip, only) in ips.iter_mut().zip(&status.pod_ip) {
        ip.ip.clone_from(only);
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

fn is_network_policy(
    spec: &NetworkPolicySpec,
    (key, value): &(String, String),
    peer: &NetworkPolicyPeer,
) -> bool {
    let is_for = spec.pod_selector.as_ref().and_then(|selector| selector.match_labels.as_ref());
    let from = spec.ingress.as_ref().and_then(|rules| rules.first()?.from.as_deref());
    is_labelled(is_for, key, value) && from == Some(std::slice::from_ref(peer))
}

fn is_labelled(labels: Option<&Labels>, key: &str, value: &str) -> bool {
    labels.is_some_and(|labels| labels.len() == 1 && labels.get(key).is_some_and(|other| other == value))
}

fn both_ways() -> Vec<String> {
    vec!["Ingress".to_owned(), "Egress".to_owned()]
}
