//! Objects as an API server holds them: by resource, namespace and name, each change with a version of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::merge::merge;
use super::request::{Call, Many};

/// Changes that are remembered for those who watch. Who is further behind lists anew.
const REMEMBERED: usize = 1024;

/// An API group with its version, and the plural name of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Resource {
    /// `v1`, or `GROUP/VERSION`.
    pub(super) group_version: String,
    pub(super) plural: String,
}

/// What an object is found by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) resource: Resource,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

/// Why a request is not carried out, as an API server says it.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: StatusCode,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// All objects.
#[derive(Debug, Default)]
pub(super) struct Objects {
    version: u64,
    objects: BTreeMap<Key, Value>,
    /// What the files held when they were last read.
    files: BTreeMap<Key, Value>,
    changes: VecDeque<Change>,
}

#[derive(Debug)]
struct Change {
    version: u64,
    event: &'static str,
    key: Key,
    object: Value,
}

impl Key {
    /// The key of an object in a file.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let resource = Resource {
            group_version: text(&object["apiVersion"])?,
            plural: plural(object["kind"].as_str()?),
        };
        let metadata = &object["metadata"];
        Some(Self { resource, namespace: text(&metadata["namespace"]), name: text(&metadata["name"])? })
    }
}

/// The plural name that a kind has in URLs, as `kubectl api-resources` lists them.
fn plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    match singular.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ies"),
        _ if singular.ends_with(['s', 'x']) => format!("{singular}es"),
        _ => format!("{singular}s"),
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.resource.group_version, self.resource.plural)?;
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Refusal {
    pub(super) fn bad_request(message: &str) -> Self {
        Self { code: StatusCode::BAD_REQUEST, reason: "BadRequest", message: message.to_owned() }
    }

    pub(super) fn method_not_allowed(method: &Method) -> Self {
        let message = format!("object files do not know {method} here");
        Self { code: StatusCode::METHOD_NOT_ALLOWED, reason: "MethodNotAllowed", message }
    }

    fn conflict(key: &Key) -> Self {
        let message = format!("{key} has been modified; apply the change to its latest version");
        Self { code: StatusCode::CONFLICT, reason: "Conflict", message }
    }

    fn not_found(key: &Key) -> Self {
        Self { code: StatusCode::NOT_FOUND, reason: "NotFound", message: format!("there is no {key}") }
    }
}

impl Objects {
    /// The version of the last change.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Takes over what changed in the files since they were last read, and nothing else: what was written here stays.
    pub(super) fn follow(&mut self, read: Vec<(Key, Value)>) {
        let read: BTreeMap<Key, Value> = read.into_iter().collect();
        let before = std::mem::take(&mut self.files);
        let gone: BTreeSet<&Key> = before.keys().filter(|key| !read.contains_key(*key)).collect();
        for key in gone {
            if let Some(object) = self.objects.get(key).cloned() {
                self.remove(key.clone(), object);
            }
        }
        for (key, object) in &read {
            if before.get(key) != Some(object) {
                self.put(key.clone(), object.clone());
            }
        }
        self.files = read;
    }

    pub(super) fn get(&self, key: &Key) -> Result<Value, Refusal> {
        self.objects.get(key).cloned().ok_or_else(|| Refusal::not_found(key))
    }

    /// The object that a change is made to. As with API servers, one that names a version is for that alone.
    fn get_for(&self, key: &Key, change: &Value) -> Result<Value, Refusal> {
        let (object, field) = (self.get(key)?, "/metadata/resourceVersion");
        let version = change.pointer(field).and_then(Value::as_str).filter(|version| !version.is_empty());
        let is_present = object.pointer(field).and_then(Value::as_str) == version;
        if version.is_none() || is_present { Ok(object) } else { Err(Refusal::conflict(key)) }
    }

    pub(super) fn list(&self, many: &Many) -> Value {
        let chosen = self.objects.iter().filter(|(key, object)| many.chooses(key, object));
        let items: Vec<&Value> = chosen.map(|(_, object)| object).collect();
        json!({
            "apiVersion": many.resource.group_version, "kind": "List",
            "metadata": {"resourceVersion": self.version.to_string()}, "items": items,
        })
    }

    pub(super) fn create(&mut self, many: &Many, mut object: Value) -> Result<Value, Refusal> {
        let Some(name) = object["metadata"]["name"].as_str().map(str::to_owned) else {
            return Err(Refusal::bad_request("the object has no metadata.name"));
        };
        if let Some(namespace) = &many.namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        let key = Key { resource: many.resource.clone(), namespace: many.namespace.clone(), name };
        if self.objects.contains_key(&key) {
            let message = format!("there is {key} already");
            return Err(Refusal { code: StatusCode::CONFLICT, reason: "AlreadyExists", message });
        }
        Ok(self.put(key, object))
    }

    pub(super) fn replace(&mut self, key: &Key, object: Value) -> Result<Value, Refusal> {
        self.get_for(key, &object)?;
        Ok(self.put(key.clone(), object))
    }

    pub(super) fn patch(&mut self, key: &Key, patch: &Value) -> Result<Value, Refusal> {
        let mut object = self.get_for(key, patch)?;
        merge(&mut object, patch);
        Ok(self.put(key.clone(), object))
    }

    /// An object with finalizers stays, and is marked as deleted, until they are gone.
    pub(super) fn delete(&mut self, key: &Key) -> Result<Value, Refusal> {
        let mut object = self.get(key)?;
        if has_finalizers(&object) {
            object["metadata"]["deletionTimestamp"] = json!(jiff::Timestamp::now().to_string());
            return Ok(self.put(key.clone(), object));
        }
        self.remove(key.clone(), object.clone());
        Ok(object)
    }

    /// The changes that a watch has not seen, as the events that it is sent; the watch remembers that it has.
    pub(super) fn events_since(&self, call: &mut Call) -> Vec<Value> {
        let Some((many, seen)) = call.watching() else { return Vec::new() };
        let oldest = self.changes.front().map_or(self.version, |change| change.version);
        if *seen + 1 < oldest {
            *seen = self.version;
            return vec![json!({"type": "ERROR", "object": {
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 410, "reason": "Expired",
                "message": "too old resource version",
            }})];
        }
        let new = self.changes.iter().filter(|change| change.version > *seen);
        let chosen = new.filter(|change| many.chooses(&change.key, &change.object));
        let events = chosen.map(|change| json!({"type": change.event, "object": change.object})).collect();
        *seen = self.version;
        events
    }

    fn put(&mut self, key: Key, mut object: Value) -> Value {
        if !object["metadata"]["deletionTimestamp"].is_null() && !has_finalizers(&object) {
            self.remove(key, object.clone());
            return object;
        }
        let event = if self.objects.contains_key(&key) { "MODIFIED" } else { "ADDED" };
        object["metadata"]["resourceVersion"] = json!((self.version + 1).to_string());
        self.objects.insert(key.clone(), object.clone());
        self.note(event, key, object.clone());
        object
    }

    /// The last state that watches are told has the version of the removal.
    fn remove(&mut self, key: Key, mut object: Value) {
        self.objects.remove(&key);
        object["metadata"]["resourceVersion"] = json!((self.version + 1).to_string());
        self.note("DELETED", key, object);
    }

    fn note(&mut self, event: &'static str, key: Key, object: Value) {
        self.version += 1;
        self.changes.push_back(Change { version: self.version, event, key, object });
        if self.changes.len() > REMEMBERED {
            self.changes.pop_front();
        }
    }
}

fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_with_finalizers_is_gone_when_the_last_one_is() {
        let object =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "finalizers": ["a/b"]}});
        let (mut objects, key) = (Objects::default(), Key::of(&object).unwrap());
        objects.put(key.clone(), object);
        objects.delete(&key).unwrap();
        let marked = objects.get(&key).unwrap();
        assert!(marked["metadata"]["deletionTimestamp"].is_string());
        objects.patch(&key, &json!({"metadata": {"finalizers": null}})).unwrap();
        assert!(objects.get(&key).is_err());
        let events: Vec<&str> = objects.changes.iter().map(|change| change.event).collect();
        assert_eq!(events, ["ADDED", "MODIFIED", "DELETED"]);
    }

    #[test]
    fn a_change_to_an_earlier_version_is_refused() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}});
        let (mut objects, key) = (Objects::default(), Key::of(&object).unwrap());
        let first = objects.put(key.clone(), object.clone());
        let second = objects.patch(&key, &first).unwrap();
        assert_eq!(objects.patch(&key, &first).unwrap_err().code, StatusCode::CONFLICT);
        assert_eq!(objects.replace(&key, first).unwrap_err().code, StatusCode::CONFLICT);
        objects.replace(&key, second).unwrap();
        objects.patch(&key, &json!({"metadata": {"resourceVersion": ""}})).unwrap();
        objects.replace(&key, object).unwrap();
    }

    #[test]
    fn kinds_have_the_plurals_of_kubernetes() {
        for (kind, name) in [
            ("Node", "nodes"),
            ("NetworkPolicy", "networkpolicies"),
            ("Egress", "egresses"),
            ("Gateway", "gateways"),
            ("AntreaAgentInfo", "antreaagentinfos"),
        ] {
            assert_eq!(plural(kind), name);
        }
    }
}
