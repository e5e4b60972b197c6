//! An API server without a network: what the leader asks for is done at once, and answered.

mod api_server;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use antrea_kit::watch::WatchEvent;
use antrea_mc_core::limits::Limits;
use antrea_mc_core::membership::LeaseTimes;
use antrea_shared_api::multicluster::v1alpha1::{ResourceExport, ResourceImport};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ServiceAccount;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::action::{Action, Task};
use crate::approvals::KnownAccount;
use crate::area::Area;
use crate::event::Event;
use crate::export::Export;
use crate::imports::Import;

pub(super) const NAMESPACE: &str = "antrea-multicluster";

/// The objects of a Common Area by kind and name, and its leader.
pub(super) struct World {
    pub(super) area: Area,
    /// What members may export, once another leader begins.
    pub(super) limits: Limits,
    objects: BTreeMap<(String, String), Value>,
    version: u64,
    pub(super) now: Instant,
    pub(super) time: Timestamp,
    /// Fields that the API server drops of what the leader writes.
    pub(super) dropped: Vec<&'static str>,
    /// An announce whose status it does not take.
    pub(super) unwritable: Option<&'static str>,
}

/// What a leader does before others have a turn.
pub(super) struct Turn {
    /// How many resources it merges.
    pub(super) merges: usize,
    /// How many objects it looks at.
    pub(super) tasks: usize,
    /// What it asks for, one request a line.
    pub(super) text: String,
    /// There is nothing left to do.
    pub(super) is_last: bool,
}

impl World {
    /// A leader begins in a Common Area with these objects. What it does first has to be asked for.
    pub(super) fn of(yaml: &str) -> Self {
        let mut world = Self {
            area: Area::new(NAMESPACE, LeaseTimes::default(), Limits::default()),
            limits: Limits::default(),
            objects: BTreeMap::new(),
            version: 0,
            now: Instant::now(),
            time: "2026-11-21T09:48:00Z".parse().unwrap(),
            dropped: Vec::new(),
            unwritable: None,
        };
        for object in parse(yaml) {
            world.put(object);
        }
        world.restart();
        world
    }

    /// The leader ends, and another one begins.
    pub(super) fn restart(&mut self) {
        self.area = Area::new(NAMESPACE, LeaseTimes::default(), self.limits);
        self.list_anew();
    }

    /// The watches have been interrupted.
    pub(super) fn list_anew(&mut self) {
        let events = [
            Event::ClusterSet(WatchEvent::Resynced(self.all("ClusterSet"))),
            Event::Account(WatchEvent::Resynced(self.all_accounts())),
            Event::Announce(WatchEvent::Resynced(self.all("MemberClusterAnnounce"))),
            Event::Export(WatchEvent::Resynced(self.all_exports())),
            Event::Import(WatchEvent::Resynced(self.all_imports().into_iter().map(Box::new).collect())),
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
        let (asked, announces) = (self.area.rounds().announces, self.all("MemberClusterAnnounce"));
        self.area.learn(Event::Heard { asked, announces }, self.now);
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
            let turn = self.turn();
            text += &turn.text;
            assert!(text.lines().count() < 200, "it never ends:\n{text}");
            if turn.is_last {
                return text;
            }
        }
    }

    /// What the leader does in one turn.
    pub(super) fn turn(&mut self) -> Turn {
        let merged_before = self.area.census().merges;
        let tasks = self.area.settle(self.now);
        let merges = self.area.census().merges - merged_before;
        let is_last = tasks.is_empty() && self.area.is_settled();
        let mut turn = Turn { merges, tasks: tasks.len(), text: String::new(), is_last };
        for task in tasks {
            if let Some(action) = self.area.plan(&task, self.time).filter(|action| self.is_taken(action)) {
                turn.text += &format!("{}\n", text::line(&action));
                let asked = self.area.rounds();
                let answer = self.carry_out(&action);
                self.area.learn_answer(&action, answer, asked, self.now);
            }
        }
        turn
    }

    fn is_taken(&self, action: &Action) -> bool {
        match action {
            Action::WriteAnnounceStatus(change) => self.unwritable != Some(change.name.as_str()),
            _ => true,
        }
    }

    /// What the leader would look at now.
    pub(super) fn tasks(&mut self) -> BTreeSet<Task> {
        let mut tasks = BTreeSet::new();
        loop {
            tasks.append(&mut self.area.settle(self.now));
            if self.area.is_settled() {
                return tasks;
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

    fn remove(&mut self, kind: &str, name: &str) {
        let mut object = self.object(kind, name);
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.remove(&(kind.to_owned(), name.to_owned()));
        let event = match kind {
            "ClusterSet" => Event::ClusterSet(WatchEvent::Deleted(*read(&object))),
            "ServiceAccount" => Event::Account(WatchEvent::Deleted(account(&object))),
            "MemberClusterAnnounce" => Event::Announce(WatchEvent::Deleted(*read(&object))),
            "ResourceExport" => Event::Export(WatchEvent::Deleted(export(&object))),
            _ => Event::Import(WatchEvent::Deleted(import(&object))),
        };
        self.area.learn(event, self.now);
    }

    fn tell(&mut self, object: &Value) {
        let event = match object["kind"].as_str().unwrap() {
            "ClusterSet" => Event::ClusterSet(WatchEvent::Applied(*read(object))),
            "ServiceAccount" => Event::Account(WatchEvent::Applied(account(object))),
            "MemberClusterAnnounce" => Event::Announce(WatchEvent::Applied(*read(object))),
            "ResourceExport" => Event::Export(WatchEvent::Applied(export(object))),
            _ => Event::Import(WatchEvent::Applied(import(object))),
        };
        self.area.learn(event, self.now);
    }

    pub(super) fn all<T: DeserializeOwned>(&self, kind: &str) -> Vec<T> {
        let of_kind = self.objects.iter().filter(|((of, _), _)| of == kind);
        of_kind.map(|(_, object)| serde_json::from_value(object.clone()).unwrap()).collect()
    }

    fn all_accounts(&self) -> Vec<KnownAccount> {
        self.all::<ServiceAccount>("ServiceAccount").into_iter().map(KnownAccount::from).collect()
    }

    fn all_imports(&self) -> Vec<Import> {
        self.all::<ResourceImport>("ResourceImport").into_iter().map(Import::from).collect()
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

fn import(object: &Value) -> Box<Import> {
    Box::new(Import::from(*read::<ResourceImport>(object)))
}

fn account(object: &Value) -> KnownAccount {
    KnownAccount::from(*read::<ServiceAccount>(object))
}

fn read<T: DeserializeOwned>(object: &Value) -> Box<T> {
    Box::new(serde_json::from_value(object.clone()).unwrap())
}

fn parse(yaml: &str) -> Vec<Value> {
    let documents: Vec<&str> = yaml.split("---\n").collect();
    // More than 1,024 at a time the parser does not take.
    let documents = documents.chunks(1000).map(|some| some.join("---\n"));
    let objects = documents.flat_map(|some| serde_saphyr::from_multiple::<Value>(&some).unwrap());
    objects.filter(|object| !object.is_null()).collect()
}
