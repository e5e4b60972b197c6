//! What is kept of objects, which are many and large, and of which decisions need little. Code that reads another field of
//! one of these kinds adds it here.

use antrea_shared_api::multicluster::well_known::annotation::{GATEWAY, GATEWAY_IP, IMPORTED_SERVICE};
use antrea_shared_api::well_known::node_annotation::TRANSPORT_ADDRESSES;
use serde_json::{Map, Value};

use crate::kind::Kind;
use crate::objects::{SERVICE_LABEL, text};

/// What is kept of a value.
enum Kept {
    All,
    /// These fields of an object.
    Fields(&'static [(&'static str, Self)]),
    /// Of each item of a list.
    Items(&'static Self),
    /// Of the items of a list that have one of these types.
    ItemsOf(&'static [&'static str], &'static Self),
}

use Kept::{All, Fields, Items, ItemsOf};

/// The labels of a Pod.
const POD: Kept = Fields(&[(
    "metadata",
    Fields(&[("name", All), ("namespace", All), ("uid", All), ("resourceVersion", All), ("labels", All)]),
)]);

/// Whether a Node can be the Gateway, and with which addresses.
const NODE: Kept = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", All),
            ("resourceVersion", All),
            ("deletionTimestamp", All),
            ("annotations", Fields(&[(GATEWAY, All), (GATEWAY_IP, All), (TRANSPORT_ADDRESSES, All)])),
        ]),
    ),
    ("spec", Fields(&[("unschedulable", All)])),
    (
        "status",
        Fields(&[
            ("addresses", ItemsOf(&["InternalIP", "ExternalIP"], &All)),
            ("conditions", ItemsOf(&["Ready"], &Fields(&[("type", All), ("status", All)]))),
        ]),
    ),
]);

/// What a Service is exported with.
const SERVICE: Kept = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", All),
            ("namespace", All),
            ("resourceVersion", All),
            ("deletionTimestamp", All),
            ("annotations", Fields(&[(IMPORTED_SERVICE, All)])),
        ]),
    ),
    ("spec", All),
]);

/// The endpoints that a Service is exported with.
const SLICE: Kept = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", All),
            ("namespace", All),
            ("resourceVersion", All),
            ("labels", Fields(&[(SERVICE_LABEL, All)])),
        ]),
    ),
    ("addressType", All),
    ("ports", All),
    (
        "endpoints",
        Items(&Fields(&[("addresses", All), ("conditions", All), ("hostname", All), ("zone", All)])),
    ),
]);

/// Which object is gone.
const GONE: Kept =
    Fields(&[("metadata", Fields(&[("name", All), ("namespace", All), ("resourceVersion", All)]))]);

impl Kept {
    fn of(&self, value: Value) -> Value {
        match (value, self) {
            (Value::Object(fields), Fields(kept)) => {
                let keep = |(name, value): (String, Value)| {
                    let (_, kept) = kept.iter().find(|(kept, _)| *kept == name)?;
                    Some((name, kept.of(value)))
                };
                fields.into_iter().filter_map(keep).collect::<Map<_, _>>().into()
            }
            (Value::Array(items), Items(kept)) => {
                items.into_iter().map(|item| kept.of(item)).collect::<Vec<_>>().into()
            }
            (Value::Array(items), ItemsOf(types, kept)) => {
                let chosen = items.into_iter().filter(|item| types.contains(&text(item, "/type")));
                chosen.map(|item| kept.of(item)).collect::<Vec<_>>().into()
            }
            // What is not of the expected form cannot be read either, and is told to be so.
            (value, _) => value,
        }
    }
}

/// Leaves out what nobody needs and what takes room, and what only some answers have.
pub(crate) fn trim(kind: Kind, mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| name != "apiVersion" && name != "kind");
    }
    let kept = match kind {
        Kind::Pod => &POD,
        Kind::Node => &NODE,
        _ => &All,
    };
    compact(kept.of(object))
}

/// Leaves out what nobody needs of an object that is exported, and not written.
pub(crate) fn exported(kind: Kind, object: Value) -> Value {
    let kept = match kind {
        Kind::Service => &SERVICE,
        Kind::EndpointSlice => &SLICE,
        _ => &All,
    };
    compact(kept.of(object))
}

/// Leaves out all that does not matter of an object that is gone.
pub(crate) fn gone(object: Value) -> Value {
    GONE.of(object)
}

/// The same value in no more room than it needs: what is read grows by doubling, and is kept for long.
pub(crate) fn compact(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, compact(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(compact).collect();
            items.shrink_to_fit();
            items.into()
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::{Candidate, NodeIpKind};

    #[track_caller]
    fn check(keep: impl Fn(Value) -> Value, object: &str, kept: &str) {
        let read = |text: &str| serde_saphyr::from_str::<Value>(text).unwrap();
        assert_eq!(keep(read(object)), read(kept));
    }

    const NODE: &str = "
apiVersion: v1
kind: Node
metadata:
  name: n1
  uid: 9b1c
  resourceVersion: '7'
  labels: {kubernetes.io/os: linux}
  annotations:
    multicluster.antrea.io/gateway: 'true'
    multicluster.antrea.io/gateway-ip: 203.0.113.7
    node.antrea.io/transport-addresses: 172.18.0.9
    csi.volume.kubernetes.io/nodeid: '{\"disk\": \"n1\"}'
spec: {podCIDR: 10.10.1.0/24, podCIDRs: [10.10.1.0/24], unschedulable: false}
status:
  addresses:
  - {type: InternalIP, address: 172.18.0.1}
  - {type: ExternalIP, address: 203.0.113.1}
  - {type: Hostname, address: n1}
  capacity: {cpu: '2'}
  conditions:
  - {type: MemoryPressure, status: 'False', lastHeartbeatTime: '2026-11-21T09:48:02Z'}
  - {type: Ready, status: 'True', lastHeartbeatTime: '2026-11-21T09:48:02Z', reason: KubeletReady}
  images: [{names: [pause], sizeBytes: 1}]
  nodeInfo: {kernelVersion: '6.12'}
";

    #[test]
    fn nodes_are_kept_as_far_as_they_are_needed() {
        let kept = "
metadata:
  name: n1
  resourceVersion: '7'
  annotations:
    multicluster.antrea.io/gateway: 'true'
    multicluster.antrea.io/gateway-ip: 203.0.113.7
    node.antrea.io/transport-addresses: 172.18.0.9
spec: {unschedulable: false}
status:
  addresses:
  - {type: InternalIP, address: 172.18.0.1}
  - {type: ExternalIP, address: 203.0.113.1}
  conditions: [{type: Ready, status: 'True'}]
";
        check(|node| trim(Kind::Node, node), NODE, kept);
    }

    #[test]
    fn what_is_kept_of_a_node_makes_the_gateway_that_the_whole_would() {
        let whole: Value = serde_saphyr::from_str(NODE).unwrap();
        let read = |node: &Value| {
            [NodeIpKind::Internal, NodeIpKind::External].map(|of| Candidate::read(node, of).unwrap().1)
        };
        assert_eq!(read(&trim(Kind::Node, whole.clone())), read(&whole));
        for (field, value) in [
            ("/spec/unschedulable", Value::from(true)),
            ("/status/conditions/1/status", Value::from("False")),
        ] {
            let mut node = whole.clone();
            *node.pointer_mut(field).unwrap() = value;
            assert!(read(&node).iter().all(Result::is_err), "{field}");
            assert_eq!(read(&trim(Kind::Node, node.clone())), read(&node), "{field}");
        }
    }

    #[test]
    fn a_service_is_kept_as_far_as_it_is_exported() {
        let service = "
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  resourceVersion: '7'
  labels: {app: web}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}', multicluster.antrea.io/imported-service: 'true'}
spec: {type: ClusterIP, clusterIP: 10.96.0.7, ports: [{port: 80}], sessionAffinity: ClientIP}
status: {loadBalancer: {ingress: [{ip: 203.0.113.9}]}}
";
        let kept = "
metadata:
  name: web
  namespace: shop
  resourceVersion: '7'
  annotations: {multicluster.antrea.io/imported-service: 'true'}
spec: {type: ClusterIP, clusterIP: 10.96.0.7, ports: [{port: 80}], sessionAffinity: ClientIP}
";
        check(|service| exported(Kind::Service, service), service, kept);
    }

    #[test]
    fn endpoints_are_kept_as_far_as_they_are_exported() {
        let slice = "
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  namespace: shop
  resourceVersion: '7'
  labels: {kubernetes.io/service-name: web, endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}
  ownerReferences: [{kind: Service, name: web}]
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints:
- addresses: [10.10.1.5]
  conditions: {ready: true}
  hostname: web-0
  zone: a
  nodeName: n1
  targetRef: {kind: Pod, name: web-0, namespace: shop}
  hints: {forZones: [{name: a}]}
";
        let kept = "
metadata: {name: web-1, namespace: shop, resourceVersion: '7', labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.10.1.5], conditions: {ready: true}, hostname: web-0, zone: a}]
";
        check(|slice| exported(Kind::EndpointSlice, slice), slice, kept);
    }

    #[test]
    fn what_is_not_of_the_expected_form_stays() {
        let check = |text: &str| check(|slice| exported(Kind::EndpointSlice, slice), text, text);
        check("{metadata: none, endpoints: {addresses: []}}");
        check("{endpoints: [none, {addresses: none}]}");
        check("none");
    }
}
