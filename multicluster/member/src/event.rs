//! Events: tell the users of an object what went wrong with it.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::action::Action;
use crate::condition::{Condition, time};
use crate::kind::{Kind, Side};
use crate::objects::{Key, text};
use crate::send::FIELD_MANAGER;

/// A warning about the object `key`, with reason and message of a condition, where the object is.
pub(crate) fn warning(key: &Key, object: &Value, condition: &Condition, now: Timestamp) -> Action {
    let resource = key.kind.resource();
    // As Kubernetes' own recorder: unique, and sorted by time.
    let name = format!("{}.{:x}", key.name, now.as_nanosecond());
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": key.namespace },
        "involvedObject": {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": key.namespace,
            "name": key.name,
            "uid": text(object, "/metadata/uid"),
        },
        "type": "Warning",
        "reason": condition.reason,
        "message": condition.message,
        "firstTimestamp": time(now),
        "lastTimestamp": time(now),
        "count": 1,
        "source": { "component": FIELD_MANAGER },
        "reportingComponent": FIELD_MANAGER,
        "reportingInstance": "",
    });
    let kind = match key.kind.side() {
        Side::Local => Kind::Event,
        Side::Leader => Kind::LeaderEvent,
    };
    Action::Create(Key::new(kind, &key.namespace, &name), event)
}
