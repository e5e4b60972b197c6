//! An API server without a network: what the leader asks for is done at once, and answered.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::membership::LeaseTimes;
use antrea_shared_api::multicluster::Condition;
use antrea_shared_api::multicluster::v1alpha1::{ResourceExport, ResourceImport};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::action::Action;
use crate::area::Area;
use crate::change::Change;
use crate::event::{Answer, Event};
use crate::exports::Export;

pub(super) const NAMESPACE: &str = "antrea-multicluster";

/// The objects of a Common Area by kind and name, and its leader.
pub(super) struct World {
    pub(super) area: Area,
    objects: BTreeMap<(String, String), Value>,
    version: u64,
    pub(super) now: Instant,
    pub(super) time: Timestamp,
    /// Fields of ResourceImports that the API server does not know.
    pub(super) dropped: Vec<&'static str>,
}

impl World {
    /// A leader begins in a Common Area with these objects. What it does first has to be asked for.
    pub(super) fn of(yaml: &str) -> Self {
        let mut world = Self {
            area: Area::new(NAMESPACE, LeaseTimes::default()),
            objects: BTreeMap::new(),
            version: 0,
            now: Instant::now(),
            time: "2026-11-21T09:48:00Z".parse().unwrap(),
            dropped: Vec::new(),
        };
        for object in parse(yaml) {
            world.put(object);
        }
        world.restart();
        world
    }

    /// The leader ends, and another one begins.
    pub(super) fn restart(&mut self) {
        self.area = Area::new(NAMESPACE, LeaseTimes::default());
        let events = [
            Event::ClusterSet(WatchEvent::Resynced(self.all("ClusterSet"))),
            Event::Announce(WatchEvent::Resynced(self.all("MemberClusterAnnounce"))),
            Event::Export(WatchEvent::Resynced(self.all_exports())),
            Event::Import(WatchEvent::Resynced(self.all("ResourceImport"))),
        ];
        for event in events {
            self.area.learn(event, self.now);
        }
    }

    /// Somebody writes objects.
    pub(super) fn apply(&mut self, yaml: &str) {
        for object in parse(yaml) {
            let object = self.put(object);
            self.tell(&object);
        }
    }

    /// Somebody changes part of an object.
    pub(super) fn edit(&mut self, kind: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut object = self.object(kind, name);
        edit(&mut object);
        let object = self.put(object);
        self.tell(&object);
    }

    /// Somebody deletes an object: it is gone at once, or when it has no finalizers.
    pub(super) fn delete(&mut self, kind: &str, name: &str) {
        let mut object = self.object(kind, name);
        if object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty()) {
            object["metadata"]["deletionTimestamp"] = json!(self.time.to_string());
            let object = self.put(object);
            self.tell(&object);
        } else {
            self.remove(kind, name);
        }
    }

    /// A member sends a heartbeat.
    pub(super) fn touch(&mut self, cluster: &str) {
        let time = self.time.to_string();
        self.edit("MemberClusterAnnounce", &format!("member-announce-from-{cluster}"), |object| {
            object["metadata"]["annotations"]["touch-ts"] = json!(time);
        });
    }

    /// The watch of announces is broken; the leader reads them, with the heartbeats that were sent meanwhile.
    pub(super) fn read_announces(&mut self, alive: &[&str]) {
        for cluster in alive {
            let mut object = self.object("MemberClusterAnnounce", &format!("member-announce-from-{cluster}"));
            object["metadata"]["annotations"]["touch-ts"] = json!(self.time.to_string());
            self.put(object);
        }
        let announces = self.all("MemberClusterAnnounce");
        self.area.learn(Event::Heard(announces), self.now);
    }

    /// Seconds pass, in which the leader hears these members.
    pub(super) fn wait(&mut self, seconds: u64, alive: &[&str]) {
        for second in 0..seconds {
            self.now += Duration::from_secs(1);
            self.time += Duration::from_secs(1);
            if second % 10 == 0 {
                alive.iter().for_each(|cluster| self.touch(cluster));
            }
            self.area.learn(Event::Tick, self.now);
        }
    }

    /// What the leader does now, one request a line.
    pub(super) fn actions(&mut self) -> String {
        let mut text = String::new();
        loop {
            let tasks = self.area.settle(self.now);
            if tasks.is_empty() {
                return text;
            }
            for task in tasks {
                if let Some(action) = self.area.plan(&task, self.time) {
                    text += &format!("{}\n", line(&action));
                    assert!(text.lines().count() < 200, "it never ends:\n{text}");
                    let answer = self.carry_out(&action);
                    self.area.learn_answer(&action, answer, self.now);
                }
            }
        }
    }

    pub(super) fn has(&self, kind: &str, name: &str) -> bool {
        self.objects.contains_key(&(kind.to_owned(), name.to_owned()))
    }

    pub(super) fn object(&self, kind: &str, name: &str) -> Value {
        let key = (kind.to_owned(), name.to_owned());
        self.objects.get(&key).unwrap_or_else(|| panic!("there is no {kind} {name}")).clone()
    }

    fn carry_out(&mut self, action: &Action) -> Answer {
        match action {
            Action::CreateImport(import) => {
                let object = serde_json::to_value(import).unwrap();
                Answer::Import(self.put_import(object))
            }
            Action::ChangeImport(change) => {
                let mut object = self.object("ResourceImport", &change.name);
                merge(&mut object["spec"], &change.patch);
                Answer::Import(self.put_import(object))
            }
            Action::DeleteImport(target) => {
                self.delete("ResourceImport", &target.name);
                Answer::Nothing
            }
            Action::DeleteExport(target) => {
                self.delete("ResourceExport", &target.name);
                Answer::Nothing
            }
            Action::WriteExportStatus(change) => {
                let object = self.put_status("ResourceExport", &change.name, &change.patch);
                Answer::Export(Box::new(export(&object)))
            }
            Action::WriteClusterSetStatus(change) => {
                Answer::ClusterSet(read(&self.put_status("ClusterSet", &change.name, &change.patch)))
            }
            Action::WriteAnnounceStatus(change) => {
                Answer::Announce(read(&self.put_status("MemberClusterAnnounce", &change.name, &change.patch)))
            }
            Action::KeepExportFinalizers(target, kept) => {
                let object = self.keep_finalizers("ResourceExport", &target.name, kept);
                Answer::Export(Box::new(export(&object)))
            }
            Action::KeepAnnounceFinalizers(target, kept) => {
                Answer::Announce(read(&self.keep_finalizers("MemberClusterAnnounce", &target.name, kept)))
            }
        }
    }

    /// The watch of announces is late: that one is gone is known from the answer alone.
    fn keep_finalizers(&mut self, kind: &str, name: &str, kept: &[String]) -> Value {
        let mut object = self.object(kind, name);
        object["metadata"]["finalizers"] = json!(kept);
        let object = self.put(object);
        if kept.is_empty() && !object["metadata"]["deletionTimestamp"].is_null() {
            self.objects.remove(&(kind.to_owned(), name.to_owned()));
            if kind == "ResourceExport" {
                self.area.learn(Event::Export(WatchEvent::Deleted(export(&object))), self.now);
            }
        }
        object
    }

    fn put_status(&mut self, kind: &str, name: &str, patch: &Value) -> Value {
        let mut object = self.object(kind, name);
        merge(&mut object["status"], patch);
        self.put(object)
    }

    fn put_import(&mut self, mut object: Value) -> Box<ResourceImport> {
        for field in &self.dropped {
            remove_everywhere(&mut object, field);
        }
        read(&self.put(object))
    }

    fn put(&mut self, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.objects.insert((text(&object["kind"]), text(&object["metadata"]["name"])), object.clone());
        object
    }

    fn remove(&mut self, kind: &str, name: &str) {
        let mut object = self.object(kind, name);
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.remove(&(kind.to_owned(), name.to_owned()));
        let event = match kind {
            "ClusterSet" => Event::ClusterSet(WatchEvent::Deleted(*read(&object))),
            "MemberClusterAnnounce" => Event::Announce(WatchEvent::Deleted(*read(&object))),
            "ResourceExport" => Event::Export(WatchEvent::Deleted(export(&object))),
            _ => Event::Import(WatchEvent::Deleted(read(&object))),
        };
        self.area.learn(event, self.now);
    }

    fn tell(&mut self, object: &Value) {
        let event = match object["kind"].as_str().unwrap() {
            "ClusterSet" => Event::ClusterSet(WatchEvent::Applied(*read(object))),
            "MemberClusterAnnounce" => Event::Announce(WatchEvent::Applied(*read(object))),
            "ResourceExport" => Event::Export(WatchEvent::Applied(export(object))),
            _ => Event::Import(WatchEvent::Applied(read(object))),
        };
        self.area.learn(event, self.now);
    }

    pub(super) fn all<T: DeserializeOwned>(&self, kind: &str) -> Vec<T> {
        let of_kind = self.objects.iter().filter(|((of, _), _)| of == kind);
        of_kind.map(|(_, object)| serde_json::from_value(object.clone()).unwrap()).collect()
    }

    fn all_exports(&self) -> Vec<Export> {
        self.objects
            .iter()
            .filter(|((of, _), _)| of == "ResourceExport")
            .map(|(_, object)| export(object))
            .collect()
    }
}

fn export(object: &Value) -> Export {
    Export::from(*read::<ResourceExport>(object))
}

fn read<T: DeserializeOwned>(object: &Value) -> Box<T> {
    Box::new(serde_json::from_value(object.clone()).unwrap())
}

fn parse(yaml: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        merge(&mut target[name], value);
    }
    target.as_object_mut().unwrap().retain(|_, value| !value.is_null());
}

fn remove_everywhere(value: &mut Value, field: &str) {
    match value {
        Value::Object(map) => {
            map.remove(field);
            map.values_mut().for_each(|value| remove_everywhere(value, field));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| remove_everywhere(value, field)),
        _ => {}
    }
}

/// A request, and what it writes.
fn line(action: &Action) -> String {
    match action {
        Action::CreateImport(import) => {
            format!("{action} {}", short(&serde_json::to_value(&import.spec).unwrap()))
        }
        Action::ChangeImport(change) => format!("{action} {}", short(&change.patch)),
        Action::WriteExportStatus(change) => {
            format!("tell {}: {}", change.name, conditions(&change.wanted.conditions))
        }
        Action::WriteAnnounceStatus(change) => {
            let told = format!("tell {}: {}", change.name, conditions(&change.wanted.conditions));
            told.trim_end().to_owned()
        }
        Action::WriteClusterSetStatus(Change { name, wanted, .. }) => {
            let members = wanted.cluster_statuses.iter();
            let members =
                members.map(|of| format!("\n    {}: {}", of.cluster_id, conditions(&of.conditions)));
            let (ready, total) = (wanted.ready_clusters, wanted.total_clusters);
            let members: String = members.collect();
            format!("ClusterSet {name}: {ready}/{total} {}{members}", conditions(&wanted.conditions))
        }
        _ => action.to_string(),
    }
}

/// JSON as YAML would have it on one line.
fn short(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::Object(map) => {
            format!(
                "{{{}}}",
                list(map.iter().map(|(name, value)| format!("{name}: {}", short(value))).collect())
            )
        }
        Value::Array(items) => format!("[{}]", list(items.iter().map(short).collect())),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn conditions(conditions: &[Condition]) -> String {
    let one = |of: &Condition| {
        let text = format!("{}={} {} {}", of.condition_type, of.status, of.reason, of.message);
        text.trim().to_owned()
    };
    conditions.iter().map(one).collect::<Vec<_>>().join(" | ")
}
