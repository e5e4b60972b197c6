//! Shrinking: of a cluster on which somebody disagrees only what it takes for that.

use std::collections::BTreeMap;

use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use crate::cluster::Cluster;

/// Takes parts away one after the other as long as `disagrees`, until no part can go any more. Of a cluster on which
/// it never does nothing is taken.
pub fn shrink(cluster: &Cluster, disagrees: impl Fn(&Cluster) -> bool) -> Cluster {
    let mut smallest = cluster.clone();
    loop {
        let mut part = 0;
        let before = smallest.clone();
        while let Some(smaller) = without(&smallest, part) {
            if disagrees(&smaller) {
                smallest = smaller;
            } else {
                part += 1;
            }
        }
        // What could not go may be able to, now that others have gone.
        if smallest == before {
            return smallest;
        }
    }
}

/// Takes elements away one after the other as long as `disagrees`, for sequences of events.
pub fn shrink_list<T: Clone>(list: &[T], disagrees: impl Fn(&[T]) -> bool) -> Vec<T> {
    let mut smallest = list.to_vec();
    let mut at = 0;
    while at < smallest.len() {
        let mut smaller = smallest.clone();
        smaller.remove(at);
        if disagrees(&smaller) {
            smallest = smaller;
        } else {
            at += 1;
        }
    }
    smallest
}

/// The cluster without its part of a number; `None` when it has not so many. Large parts have small numbers.
fn without(cluster: &Cluster, part: usize) -> Option<Cluster> {
    let mut cluster = cluster.clone();
    let mut knife = Knife { left: Some(part) };
    knife.list(&mut cluster.policies);
    knife.list(&mut cluster.pods);
    knife.list(&mut cluster.namespaces);
    knife.list(&mut cluster.nodes);
    for policy in &mut cluster.policies {
        policy.spec.iter_mut().for_each(|spec| knife.spec(spec));
    }
    for pod in &mut cluster.pods {
        knife.labels(pod);
        knife.ports_of(pod);
    }
    cluster.namespaces.iter_mut().for_each(|namespace| knife.labels(namespace));
    knife.left.is_none().then_some(cluster)
}

/// Walks over all parts and cuts one off.
struct Knife {
    /// How many parts are left before that one; none when it has been cut.
    left: Option<usize>,
}

impl Knife {
    /// The index of the part among some that are next, if it is one of them.
    fn among(&mut self, parts: usize) -> Option<usize> {
        let left = self.left?;
        if left < parts {
            self.left = None;
            return Some(left);
        }
        self.left = Some(left - parts);
        None
    }

    fn list<T>(&mut self, list: &mut Vec<T>) {
        if let Some(index) = self.among(list.len()) {
            list.remove(index);
        }
    }

    fn field<T>(&mut self, field: &mut Option<T>) {
        if self.among(usize::from(field.is_some())).is_some() {
            *field = None;
        }
    }

    fn spec(&mut self, spec: &mut NetworkPolicySpec) {
        self.field(&mut spec.ingress);
        self.field(&mut spec.egress);
        spec.ingress.iter_mut().for_each(|rules| self.list(rules));
        spec.egress.iter_mut().for_each(|rules| self.list(rules));
        for rule in spec.ingress.iter_mut().flatten() {
            self.rule(&mut rule.from, &mut rule.ports);
        }
        for rule in spec.egress.iter_mut().flatten() {
            self.rule(&mut rule.to, &mut rule.ports);
        }
        spec.pod_selector.iter_mut().for_each(|selector| self.selector(selector));
        spec.policy_types.iter_mut().for_each(|types| self.list(types));
    }

    fn rule(
        &mut self,
        peers: &mut Option<Vec<NetworkPolicyPeer>>,
        ports: &mut Option<Vec<NetworkPolicyPort>>,
    ) {
        self.field(peers);
        self.field(ports);
        peers.iter_mut().for_each(|peers| self.list(peers));
        ports.iter_mut().for_each(|ports| self.list(ports));
        for peer in peers.iter_mut().flatten() {
            self.field(&mut peer.namespace_selector);
            self.field(&mut peer.pod_selector);
            peer.namespace_selector.iter_mut().for_each(|selector| self.selector(selector));
            peer.pod_selector.iter_mut().for_each(|selector| self.selector(selector));
            if let Some(block) = &mut peer.ip_block {
                self.field(&mut block.except);
                block.except.iter_mut().for_each(|excepts| self.list(excepts));
            }
        }
        for port in ports.iter_mut().flatten() {
            self.field(&mut port.end_port);
            self.field(&mut port.port);
            self.field(&mut port.protocol);
        }
    }

    fn selector(&mut self, selector: &mut LabelSelector) {
        self.pairs(&mut selector.match_labels);
        self.field(&mut selector.match_expressions);
        if let Some(requirements) = &mut selector.match_expressions {
            self.list(requirements);
            for requirement in requirements {
                requirement.values.iter_mut().for_each(|values| self.list(values));
            }
        }
    }

    fn labels<T: Metadata<Ty = ObjectMeta>>(&mut self, object: &mut T) {
        self.pairs(&mut object.metadata_mut().labels);
    }

    fn pairs(&mut self, pairs: &mut Option<BTreeMap<String, String>>) {
        self.field(pairs);
        if let Some(pairs) = pairs {
            let key = self.among(pairs.len()).and_then(|index| pairs.keys().nth(index).cloned());
            key.and_then(|key| pairs.remove(&key));
        }
    }

    fn ports_of(&mut self, pod: &mut Pod) {
        for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
            self.field(&mut container.ports);
            container.ports.iter_mut().for_each(|ports| self.list(ports));
        }
    }
}
