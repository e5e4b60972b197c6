//! Objects of Services without a ServiceExport, of which a cluster may have thousands. Nobody reads them before they are
//! exported: until then each is kept as JSON text, which takes a fraction of the room that it takes as a tree of values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::slices::Slices;
use super::{Change, Key, Objects, SERVICE_LABEL, label, version};
use crate::kept::compact;
use crate::kind::Kind;

/// Which objects are packed, and those that are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Packed {
    /// The kinds of objects that are known for as long as their Service has a ServiceExport. All others always are.
    kinds: BTreeSet<Kind>,
    objects: BTreeMap<Key, Text>,
    /// Which of these belong to a Service.
    slices: Slices,
}

#[derive(Clone, Debug, PartialEq)]
struct Text {
    /// The version of the object, which events are compared with: nothing is unpacked for that.
    version: u64,
    json: Box<str>,
}

impl Packed {
    /// Packs an object. Nothing is packed under its key.
    pub(super) fn put(&mut self, key: &Key, object: &Value) {
        self.slices.add(key, object);
        let json = object.to_string().into_boxed_str();
        self.objects.insert(key.clone(), Text { version: version(object), json });
    }

    /// Takes out an object as it was packed.
    pub(super) fn take(&mut self, key: &Key) -> Option<Value> {
        let packed = self.objects.remove(key)?;
        let object = serde_json::from_str(&packed.json).ok().map(compact)?;
        self.slices.remove(key, &object);
        Some(object)
    }

    /// Takes out the objects of the Service that a ServiceExport is about.
    fn take_all(&mut self, export: &Key) -> Vec<(Key, Value)> {
        let keys = keys_of(&self.slices, export).into_iter();
        keys.filter_map(|key| self.take(&key).map(|object| (key, object))).collect()
    }

    /// The version of an object; 0 where it is not packed.
    pub(super) fn version(&self, key: &Key) -> u64 {
        self.objects.get(key).map_or(0, |packed| packed.version)
    }

    /// The keys of a kind.
    pub(super) fn keys(&self, kind: Kind) -> impl Iterator<Item = &Key> {
        let from = self.objects.range(Key::new(kind, "", "")..);
        from.map(|(key, _)| key).take_while(move |key| key.kind == kind)
    }
}

/// The keys of the Service that a ServiceExport is about, and of its EndpointSlices.
fn keys_of(slices: &Slices, export: &Key) -> Vec<Key> {
    let Key { namespace, name, .. } = export;
    let service = Key::new(Kind::Service, namespace, name);
    [service].into_iter().chain(slices.of(namespace, name)).collect()
}

impl Objects {
    /// Those that pack objects of these kinds whose Service has no ServiceExport.
    pub(crate) fn keeping_exported(kinds: BTreeSet<Kind>) -> Self {
        Self { packed: Packed { kinds, ..Packed::default() }, ..Self::default() }
    }

    /// Whether an object waits for the ServiceExport of its Service.
    pub(super) fn is_to_pack(&self, key: &Key, object: &Value) -> bool {
        if !self.packed.kinds.contains(&key.kind) {
            return false;
        }
        let service = match key.kind {
            Kind::EndpointSlice => label(object, SERVICE_LABEL).unwrap_or_default(),
            _ => key.name.as_str(),
        };
        let export = Key::new(Kind::ServiceExport, &key.namespace, service);
        !self.objects.contains_key(&export)
    }

    /// A change, and those that follow from it: objects of a Service come and go with its ServiceExport.
    pub(super) fn with_its_service(&mut self, change: Change) -> Vec<Change> {
        let export = &change.key;
        let of_service = match (export.kind, &change.before) {
            (Kind::ServiceExport, None) => self.unpack(export),
            (Kind::ServiceExport, Some(_)) if !self.objects.contains_key(export) => self.pack(export),
            _ => Vec::new(),
        };
        [change].into_iter().chain(of_service).collect()
    }

    fn unpack(&mut self, export: &Key) -> Vec<Change> {
        let objects = self.packed.take_all(export).into_iter();
        objects.filter_map(|(key, object)| self.set_one(key, object)).collect()
    }

    fn pack(&mut self, export: &Key) -> Vec<Change> {
        let (mut keys, mut changes) = (keys_of(&self.slices, export), Vec::new());
        keys.retain(|key| self.packed.kinds.contains(&key.kind));
        for key in keys {
            let Some(object) = self.forget_one(&key) else { continue };
            self.packed.put(&key, &object);
            changes.push(Change { key, before: Some(object) });
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn slice(name: &str, service: &str) -> (Key, Value) {
        let metadata = json!({
            "name": name, "namespace": "shop", "resourceVersion": "7", "labels": { SERVICE_LABEL: service },
        });
        let endpoints =
            json!([{ "addresses": ["10.10.1.5"], "conditions": { "ready": true }, "hostname": "wöb\n" }]);
        let object = json!({ "metadata": metadata, "endpoints": endpoints, "ports": [{ "port": 80 }, null] });
        (Key::of(Kind::EndpointSlice, &object), object)
    }

    #[test]
    fn what_is_packed_is_unpacked_the_same() {
        let (mut packed, (key, object)) = (Packed::default(), slice("web-1", "web"));
        packed.put(&key, &object);
        assert_eq!(
            (packed.version(&key), packed.keys(Kind::EndpointSlice).collect::<Vec<_>>()),
            (7, vec![&key])
        );
        assert_eq!(packed.take(&key), Some(object));
        assert_eq!((packed.version(&key), packed), (0, Packed::default()), "something of it is left");
    }

    #[test]
    fn the_objects_of_one_service_are_taken_out() {
        let mut packed = Packed::default();
        let service = |name: &str| {
            let object = json!({ "metadata": { "name": name, "namespace": "shop" } });
            (Key::of(Kind::Service, &object), object)
        };
        let all =
            [service("web"), slice("a", "web"), slice("b", "web-2"), slice("web", "api"), service("api")];
        all.iter().for_each(|(key, object)| packed.put(key, object));
        assert_eq!(packed.take_all(&Key::new(Kind::ServiceExport, "shop", "web")), all[..2]);
        assert!(packed.take_all(&Key::new(Kind::ServiceExport, "shop-2", "api")).is_empty());
        let left: Vec<&Key> =
            [Kind::Service, Kind::EndpointSlice].iter().flat_map(|kind| packed.keys(*kind)).collect();
        assert_eq!(left, [&all[4].0, &all[2].0, &all[3].0]);
    }
}
