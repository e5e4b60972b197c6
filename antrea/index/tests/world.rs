//! A cluster in a few words: one event a line, updates as lines of text.
//!
//! ```text
//! namespace x team=a logging
//! pod x/a app=a ip=10.0.0.1 node=n1 port=http:80
//! policy x/p {podSelector: {}, policyTypes: [Ingress]}
//! - pod x/a
//! ```

use std::collections::{BTreeMap, BTreeSet};

use antrea_index::{Index, Problem};
use antrea_policy::{PodsUpdate, Update};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde_json::{Map, Value, json};

use crate::mirror::Mirror;

/// An index, and somebody who believes only its updates.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) index: Index,
    pub(crate) mirror: Mirror,
    pub(crate) problems: Vec<Problem>,
    /// The Pods of each Node that are told to be known.
    pub(crate) pods: BTreeMap<String, BTreeSet<String>>,
}

impl World {
    /// A cluster that is told of already.
    pub(crate) fn of(events: &str) -> Self {
        let mut world = Self::default();
        world.updates(events);
        world
    }

    /// The updates that events make, sorted. Which Pods are known is kept apart.
    pub(crate) fn updates(&mut self, events: &str) -> String {
        events.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| self.event(line));
        self.settle()
    }

    pub(crate) fn settle(&mut self) -> String {
        let mut updates = Vec::new();
        self.index.settle(|update| updates.push(update));
        for update in &updates {
            self.mirror.learn(&self.index, update);
        }
        let mut lines = Vec::new();
        for update in updates {
            match update {
                Update::Pods(update) => self.take_pods(&update),
                update => lines.push(self.mirror.take(update)),
            }
        }
        lines.sort();
        lines.join("\n")
    }

    fn take_pods(&mut self, update: &PodsUpdate) {
        let pods = self.pods.entry(update.node.to_string()).or_default();
        for uid in &update.left {
            assert!(pods.remove(&uid.to_string()), "{uid} was not known on {}", update.node);
        }
        for uid in &update.came {
            assert!(pods.insert(uid.to_string()), "{uid} was known on {}", update.node);
        }
        if pods.is_empty() {
            self.pods.remove(update.node.as_str());
        }
    }

    /// Every object as it was said to be.
    pub(crate) fn told(&self) -> String {
        self.mirror.dump()
    }

    /// Every object as the index has it.
    pub(crate) fn asked(&self) -> String {
        self.mirror.dump_of(&self.index)
    }

    pub(crate) fn event(&mut self, line: &str) {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words[..] {
            ["-", "namespace", name] => self.index.delete_namespace(name),
            ["-", "pod", pod] => {
                let (namespace, name) = pod.split_once('/').unwrap();
                self.index.delete_pod(namespace, name);
            }
            ["-", "policy", policy] => {
                let (namespace, name) = policy.split_once('/').unwrap();
                self.index.delete_network_policy(namespace, name);
            }
            ["namespace", name, ref rest @ ..] => {
                self.index.apply_namespace(&namespace(name, rest.first().unwrap_or(&"")));
            }
            ["pod", name, ref rest @ ..] => {
                let problems = self.index.apply_pod(&pod(name, rest.first().unwrap_or(&"")));
                self.problems.extend(problems);
            }
            ["policy", name, spec] => {
                let problems = self.index.apply_network_policy(&policy(name, spec));
                self.problems.extend(problems);
            }
            _ => panic!("no event: {line}"),
        }
    }
}

fn namespace(name: &str, words: &str) -> Namespace {
    let logging = words.split(' ').any(|word| word == "logging");
    let annotation = json!({"networkpolicy.antrea.io/enable-logging": logging.to_string()});
    let metadata = json!({"name": name, "labels": labels(words), "annotations": annotation});
    serde_json::from_value(json!({ "metadata": metadata })).unwrap()
}

/// Words: labels, `ip=`, `node=`, `port=NAME:NUMBER`, `phase=`, `uid=` (without which it is Namespace and name), `hash=`, `hostNetwork`.
fn pod(name: &str, words: &str) -> Pod {
    let (namespace, name) = name.split_once('/').unwrap();
    let all = |prefix: &str| {
        words.split(' ').filter_map(|word| word.strip_prefix(prefix)).map(str::to_owned).collect::<Vec<_>>()
    };
    let ips: Vec<Value> = all("ip=").iter().map(|ip| json!({ "ip": ip })).collect();
    let ports: Vec<Value> = all("port=").iter().map(|port| named_port(port)).collect();
    serde_json::from_value(json!({
        "metadata": {
            "namespace": namespace,
            "name": name,
            "uid": all("uid=").first().unwrap_or(&format!("{namespace}/{name}")),
            "labels": labels(words),
            "annotations": all("hash=").first().map(|hash| json!({"kubernetes.io/config.hash": hash})),
        },
        "spec": {
            "containers": [{"name": "c", "ports": ports}],
            "nodeName": all("node=").first(),
            "hostNetwork": words.split(' ').any(|word| word == "hostNetwork"),
        },
        "status": {"podIPs": ips, "podIP": all("podIP=").first(), "phase": all("phase=").first()},
    }))
    .unwrap()
}

fn named_port(text: &str) -> Value {
    let parts: Vec<&str> = text.split(':').collect();
    let number: i32 = parts[1].parse().unwrap();
    json!({"name": parts[0], "containerPort": number, "protocol": parts.get(2)})
}

fn labels(words: &str) -> Map<String, Value> {
    let own = ["ip=", "node=", "port=", "phase=", "podIP=", "uid=", "hash="];
    let labels = words.split(' ').filter(|word| !own.iter().any(|prefix| word.starts_with(prefix)));
    labels
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect()
}

/// `NAMESPACE/NAME`, with `@UID` where it is not the name.
fn policy(name: &str, spec: &str) -> NetworkPolicy {
    let (name, uid) = name.split_once('@').unwrap_or((name, name));
    let (namespace, name) = name.split_once('/').unwrap();
    let spec: Value = serde_saphyr::from_str(spec).map_err(|error| format!("{error}: {spec}")).unwrap();
    let metadata = json!({"namespace": namespace, "name": name, "uid": uid, "generation": 1});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}
