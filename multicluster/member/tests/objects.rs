//! Objects written as YAML, and what becomes of them.

use std::collections::BTreeSet;
use std::fmt::Write;

use antrea_kit::watch::WatchEvent;
use antrea_mc_member::action::Action;
use antrea_mc_member::area::Area;
use antrea_mc_member::kind::Kind;
use antrea_mc_member::objects::{Change, Objects, text};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub(crate) const KINDS: [Kind; 19] = [
    Kind::Namespace,
    Kind::Node,
    Kind::Pod,
    Kind::Secret,
    Kind::Service,
    Kind::EndpointSlice,
    Kind::Endpoints,
    Kind::Event,
    Kind::Tier,
    Kind::ClusterNetworkPolicy,
    Kind::ServiceExport,
    Kind::ServiceImport,
    Kind::ClusterSet,
    Kind::Gateway,
    Kind::ClusterInfoImport,
    Kind::LabelIdentity,
    Kind::MemberClusterAnnounce,
    Kind::ResourceExport,
    Kind::ResourceImport,
];

pub(crate) fn kind_of(object: &Value) -> Kind {
    let kind = text(object, "/kind");
    KINDS.into_iter().find(|known| known.resource().kind == kind).unwrap_or_else(|| panic!("kind {kind:?}"))
}

/// The objects of YAML documents.
pub(crate) fn read(yaml: &str) -> Vec<Value> {
    let documents = yaml.split("---\n").filter(|document| !document.trim().is_empty());
    documents.map(|document| serde_saphyr::from_str(document).expect(document)).collect()
}

/// A cluster with objects, and the API server's part in their life.
pub(crate) struct Cluster {
    pub(crate) objects: Objects,
    now: i64,
    serial: u32,
}

impl Cluster {
    pub(crate) fn of(yaml: &str) -> Self {
        let (all, mut objects) = (read(yaml), Objects::default());
        for kind in KINDS {
            let of_kind = all.iter().filter(|object| kind_of(object) == kind).cloned();
            objects.learn(kind, WatchEvent::Resynced(of_kind.collect()));
        }
        Self { objects, now: 1_800_000_000, serial: 0 }
    }

    pub(crate) fn apply(&mut self, yaml: &str) {
        for object in read(yaml) {
            self.objects.learn(kind_of(&object), WatchEvent::Applied(object));
        }
    }

    pub(crate) fn delete(&mut self, kind: Kind, namespace: &str, name: &str) {
        let key = antrea_mc_member::objects::Key::new(kind, namespace, name);
        assert!(!self.objects.remove(&key).is_empty(), "{key} is not there");
    }

    /// What an area does until nothing is left to do, one request a paragraph, and its problems.
    pub(crate) fn settle(&mut self, area: &impl Area) -> String {
        let mut log = String::new();
        let mut problems = Vec::new();
        for _ in 0..10 {
            let actions = self.round(area, &mut problems);
            if actions.is_empty() {
                problems.iter().for_each(|problem| writeln!(log, "problem: {problem}").unwrap());
                return log;
            }
            for action in actions {
                writeln!(log, "{action}").unwrap();
                self.carry_out(&action);
            }
        }
        panic!("it never settles:\n{log}");
    }

    /// The same, but only the first lines: what is done to which objects.
    pub(crate) fn settle_briefly(&mut self, area: &impl Area) -> String {
        brief(&self.settle(area))
    }

    /// What an area asks for at first, whatever is answered.
    pub(crate) fn plan(&mut self, area: &impl Area) -> String {
        let actions = self.round(area, &mut Vec::new());
        actions.iter().fold(String::new(), |mut log, action| {
            writeln!(log, "{action}").unwrap();
            log
        })
    }

    fn round(&mut self, area: &impl Area, problems: &mut Vec<String>) -> Vec<Action> {
        problems.clear();
        let now = Timestamp::from_second(self.now).unwrap();
        self.now += 1;
        let subjects: BTreeSet<_> = self
            .objects
            .keys()
            .flat_map(|key| area.subjects(&self.objects, &Change { key: key.clone(), before: None }))
            .collect();
        let plans: Vec<_> = subjects.iter().map(|subject| area.plan(&self.objects, subject, now)).collect();
        problems.extend(plans.iter().flat_map(|plan| &plan.problems).map(ToString::to_string));
        plans.into_iter().flat_map(|plan| plan.actions).collect()
    }

    /// What an API server makes of a request.
    pub(crate) fn carry_out(&mut self, action: &Action) {
        let key = action.key();
        match action {
            Action::Create(_, object) => {
                let mut object = object.clone();
                self.serial += 1;
                object["metadata"]["uid"] = json!(format!("uid-{}", self.serial));
                if key.kind == Kind::Service && object["spec"]["clusterIP"].is_null() {
                    let ips = cluster_ips(&object, self.serial);
                    object["spec"]["clusterIP"] = json!(ips.first());
                    object["spec"]["clusterIPs"] = json!(ips);
                }
                // What is there already is what the request is answered with.
                if self.objects.get(key).is_none() {
                    self.objects.learn(key.kind, WatchEvent::Applied(object));
                }
            }
            Action::Patch(_, patch) | Action::PatchStatus(_, patch) => {
                let mut object = self.objects.get(key).expect("it is there").clone();
                merge(&mut object, patch);
                self.objects.learn(key.kind, WatchEvent::Applied(object));
            }
            Action::Delete(..) => {
                self.objects.remove(key);
            }
        }
    }
}

/// An address of each family of a Service, in their order; one of IPv4 where it names none.
fn cluster_ips(service: &Value, serial: u32) -> Vec<String> {
    let families = service["spec"]["ipFamilies"].as_array().cloned().unwrap_or_else(|| vec![json!("IPv4")]);
    let ip = |family: &Value| match family.as_str() {
        Some("IPv6") => format!("fd00:96::{serial}"),
        _ => format!("10.96.0.{serial}"),
    };
    families.iter().map(ip).collect()
}

fn brief(log: &str) -> String {
    let firsts = log.lines().filter(|line| !line.starts_with(' '));
    firsts.map(|line| format!("{}\n", line.trim_end())).collect()
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Map::new().into();
    }
    let target = target.as_object_mut().unwrap();
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
