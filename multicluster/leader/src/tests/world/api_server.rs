//! What the API server makes of requests of the leader.

use antrea_kit::watch::WatchEvent;
use serde_json::{Value, json};

use super::{World, export, import, read};
use crate::action::Action;
use crate::event::{Answer, Event};
use crate::imports::Import;

impl World {
    pub(super) fn carry_out(&mut self, action: &Action) -> Answer {
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
        self.drop_unknown(&mut object["status"]);
        self.put(object)
    }

    fn put_import(&mut self, mut object: Value) -> Box<Import> {
        self.drop_unknown(&mut object);
        import(&self.put(object))
    }

    fn drop_unknown(&self, object: &mut Value) {
        for field in &self.dropped {
            remove_everywhere(object, field);
        }
    }

    pub(super) fn put(&mut self, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.objects.insert((text(&object["kind"]), text(&object["metadata"]["name"])), object.clone());
        object
    }
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
