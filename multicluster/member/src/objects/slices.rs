//! Which EndpointSlices there are of a Service: found without looking at all others of the Namespace.

use std::collections::BTreeSet;
use std::ops::Bound;

use serde_json::Value;

use super::{Key, label};
use crate::kind::Kind;

/// The label that names the Service of an EndpointSlice.
pub const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// Namespace, Service and name of each EndpointSlice that belongs to a Service.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Slices(BTreeSet<[String; 3]>);

impl Slices {
    /// The object is there.
    pub(super) fn add(&mut self, key: &Key, object: &Value) {
        self.0.extend(entry(key, object));
    }

    /// The object, which was like this, is not there any more.
    pub(super) fn remove(&mut self, key: &Key, object: &Value) {
        if let Some(entry) = entry(key, object) {
            self.0.remove(&entry);
        }
    }

    /// The slices of a Service.
    pub(super) fn of(&self, namespace: &str, service: &str) -> impl Iterator<Item = Key> {
        let first = [namespace.to_owned(), service.to_owned(), String::new()];
        let is_one = move |[in_namespace, of_service, _]: &&[String; 3]| {
            in_namespace == namespace && of_service == service
        };
        let entries = self.0.range((Bound::Included(first), Bound::Unbounded)).take_while(is_one);
        entries.map(|[namespace, _, name]| Key::new(Kind::EndpointSlice, namespace, name))
    }
}

fn entry(key: &Key, object: &Value) -> Option<[String; 3]> {
    let service = label(object, SERVICE_LABEL).filter(|_| key.kind == Kind::EndpointSlice)?;
    Some([key.namespace.clone(), service.to_owned(), key.name.clone()])
}
